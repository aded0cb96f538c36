"""Pictures: their numbers against what the index says, and the files that come of them."""

from __future__ import annotations

import json
import struct
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from softcosine.errors import (
    InvalidInputError,
    MissingDependencyError,
    UnknownDocumentError,
    UnknownTermError,
)
from softcosine.evaluate.plots import drawing
from softcosine.evaluate.plots.heat_maps import grouped
from softcosine.index.search.explanation import Explanation
from softcosine.index.soft_index import SoftIndex
from softcosine.index.spaces.part import Part
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.plots import (
    HeatMap,
    explanation_bars,
    similarity_heat_map,
    term_heat_map,
    word_heat_map,
)
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
from toys import ToySource, similarity_matrix

WORDS = ["ant", "bee", "cat", "dog", "eel", "fox"]
SOURCE = ToySource({("ant", "bee"): 0.6, ("cat", "dog"): 0.5, ("dog", "fox"): 0.3})
MAGIC = {".png": b"\x89PNG\r\n", ".svg": b"<?xml", ".PDF": b"%PDF"}
PICTURES = ("heat", "bars")
TROUBLE = [
    "$x_1$ \\frac{", "日本語の長い長い文字列です" * 3, "line\nbreak\ttab\0", "שלום 🐱\ufe0f", "",
]  # fmt: skip


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    rng = np.random.default_rng(3)
    made = [" ".join(rng.choice(WORDS[:3] if i % 2 else WORDS[3:], 5)) for i in range(36)]
    return [*made, "", "ant ant", "ant ant"]


@pytest.fixture(scope="module")
def index(texts) -> SoftIndex:
    return SoftIndex.from_texts(
        texts,
        ids=[f"d{i}" for i in range(len(texts))],
        source=SOURCE,
        encoder=None,
    )


def picture(index, name):
    made = {
        "heat": lambda: similarity_heat_map(index, ["d0", "d1", "d2", "d3"], title="four"),
        "bars": lambda: explanation_bars(index.explain("ant dog", "d0"), max_parts=2),
    }
    return made[name]()


# Files


@pytest.mark.parametrize("suffix", MAGIC)
@pytest.mark.parametrize("name", PICTURES)
def test_equal_pictures_give_equal_files(index, tmp_path, name, suffix):
    pytest.importorskip("matplotlib")
    contents = []
    for turn in range(2):
        path = tmp_path / f"{turn}{suffix}"
        picture(index, name).save(path)
        contents.append(path.read_bytes())
    assert contents[0].startswith(MAGIC[suffix])
    assert contents[0] == contents[1]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_shown_by_notebooks_and_written_as_json(index, name):
    pytest.importorskip("matplotlib")
    made = picture(index, name)
    shown = made._repr_png_()
    width, height = struct.unpack(">II", shown[16:24])
    assert 300 < width < 4000
    assert 100 < height < 4000
    assert json.loads(json.dumps(made.to_dict())) == made.to_dict()
    assert made.figure().axes


def test_the_settings_of_a_user_change_nothing(index, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    made = picture(index, "bars")
    made.save(tmp_path / "a.png")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "savefig.dpi": 10}):
        made.save(tmp_path / "b.png")
        assert matplotlib.rcParams["font.size"] == 30
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_name_that_tells_no_kind_or_no_folder_is_refused(index, tmp_path):
    made = picture(index, "heat")
    with pytest.raises(InvalidInputError, match=r"x\.gif: a picture is saved as \.png"):
        made.save(tmp_path / "x.gif")
    with pytest.raises(FileNotFoundError, match="nowhere does not exist; create it first"):
        made.save(tmp_path / "nowhere" / "x.png")


def test_nothing_is_left_of_a_picture_that_cannot_be_written(index, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "x.png").mkdir()
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the system
        picture(index, "heat").save(tmp_path / "x.png")
    assert [path.name for path in tmp_path.iterdir()] == ["x.png"]


@pytest.mark.parametrize("name", PICTURES)
def test_without_matplotlib_the_numbers_are_there_and_saving_says_what_to_install(
    index, tmp_path, monkeypatch, name
):
    for module in [*sys.modules]:
        if module.split(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    made = picture(index, name)
    assert made.to_dict()
    assert made._repr_png_() is None
    with pytest.raises(MissingDependencyError, match=r"pip install 'softcosine\[plots\]'"):
        made.save(tmp_path / "x.png")
    assert list(tmp_path.iterdir()) == []


# Labels


def test_labels_are_cut_in_the_middle_and_stay_in_one_line():
    pytest.importorskip("matplotlib")
    assert drawing.label("src/a/very/long/path/to/some/file_12.txt", 20) == "src/a/very/lo…12.txt"
    assert drawing.label("short", 5) == "short"
    assert drawing.label(" a\nb\t c ", 9) == "a b c"
    assert len(drawing.label("x" * 100, 12)) == 12
    assert (
        drawing.label("\N{CJK UNIFIED IDEOGRAPH-9F98}" * 100, 12).count("\N{REPLACEMENT CHARACTER}")
        <= 1
    )


@given(st.text(max_size=60), st.integers(4, 40))
def test_every_label_fits_and_can_be_drawn(text, width):
    pytest.importorskip("matplotlib")
    cut = drawing.label(text, width)
    assert drawing.columns(cut) <= width
    assert drawing.drawable(cut) == cut
    assert "\n" not in cut


def test_what_no_font_has_is_drawn_without_a_warning(tmp_path):
    pytest.importorskip("matplotlib")
    index = SoftIndex.from_texts(
        ["ant bee", "ant", "bee", "ant ant bee", "bee bee ant"], ids=[*TROUBLE[:4], "x"],
        source=SOURCE,
    )  # fmt: skip
    similarity_heat_map(index, title=" ".join(TROUBLE)).save(tmp_path / "heat.png")
    explanation_bars(index.explain("ant", TROUBLE[0])).save(tmp_path / "bars.png")
    parts = tuple(Part(word, word, 0.5, 0.1, False, word) for word in TROUBLE)
    explanation_bars(Explanation(TROUBLE[0], TROUBLE[1], 0.5, parts, "soft_cosine")).save(
        tmp_path / "own.svg"
    )
    assert len(list(tmp_path.iterdir())) == 3


# Heat maps


def test_a_heat_map_has_what_similar_documents_score(index, texts):
    ids = [f"d{i}" for i in (3, 0, 38, 1, 36)]
    heat = similarity_heat_map(index, ids, order="given")
    assert heat.labels == tuple(ids)
    assert heat.unit == "soft cosine"
    assert_close(heat.values, heat.values.T)
    for row, id in enumerate(ids):
        found = {hit.id: hit.score for hit in index.similar(id, k=100)}
        expected = [found.get(other, 0.0) for other in ids]
        expected[row] = 1.0 if texts[int(id[1:])] else 0.0
        assert_close(heat.values[row], expected)


@given(st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_a_heat_map_has_the_soft_cosines_of_the_definition(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, len(WORDS)))
    S = rng.choice([0.0, 0.0, 0.1, 0.15], (len(WORDS), len(WORDS)))
    S = np.maximum(S, S.T)
    np.fill_diagonal(S, 1.0)
    index = SoftIndex.from_texts(
        [np.repeat(WORDS, counts).tolist() for counts in X],
        S=similarity_matrix(S, Vocabulary(WORDS)), weighting=Weighting(tf="raw", idf="none"),
    )  # fmt: skip
    ids = [str(i) for i in rng.permutation(n)]
    heat = similarity_heat_map(index, ids, order="given")
    own = X[[int(id) for id in ids]].astype(float)
    assert_close(heat.values, oracle.soft_cosine(own, own, S))
    by_group = similarity_heat_map(index, ids)
    places = [by_group.labels.index(id) for id in ids]
    assert_close(by_group.values[np.ix_(places, places)], heat.values)


def test_pairs_of_the_index_are_the_cells_to_the_bit(index):
    ids = [f"d{i}" for i in range(20)]
    heat = similarity_heat_map(index, ids, order="given")
    pairs = {(p.id, p.other): p.score for p in index.pairs(min_similarity=0.01)}
    for i, first in enumerate(ids):
        for j in range(i + 1, len(ids)):
            assert heat.values[i, j] == pairs.get((first, ids[j]), 0.0)


def test_all_documents_of_a_small_index_are_drawn_but_deleted_ones(tmp_path):
    index = SoftIndex.create(tmp_path / "i", plain=True)
    with index.writer() as writer:
        for id in "abcd":
            writer.add(id, f"ant {id * 3}")
    with index.writer() as writer:
        writer.delete("b")
        writer.add("e", "ant bee")
    assert similarity_heat_map(index, order="given").labels == ("a", "c", "d", "e")
    with pytest.raises(UnknownDocumentError, match="'b'"):
        similarity_heat_map(index, ["a", "b"])


def test_several_fields_are_summed_by_their_weights(tmp_path):
    texts = [{"title": "ant", "body": "cat dog"}, {"title": "bee", "body": "dog"},
             {"title": "ant ant", "body": ""}]  # fmt: skip
    index = SoftIndex.from_texts(texts, fields={"title": 2, "body": 1}, source=SOURCE, encoder=None)
    heat = similarity_heat_map(index, order="given")
    assert heat.unit == "soft cosine: 2 title + body"
    assert_close(np.diag(heat.values), [3.0, 3.0, 2.0])
    scores = {hit.id: hit.score for hit in index.similar("0")}
    assert_close(heat.values[0, 1:], [scores["1"], scores["2"]])
    heat.save(tmp_path / "h.png")
    explanation_bars(index.explain("ant dog", "0")).save(tmp_path / "b.png")
    assert explanation_bars(index.explain("ant dog", "0")).parts[0].field == "title"


@pytest.mark.parametrize("n", [0, 1, 2, 13, 61])
def test_few_and_many_documents_are_drawn(tmp_path, n):
    pytest.importorskip("matplotlib")
    index = SoftIndex.from_texts([" ".join(WORDS[: i % 6 + 1]) for i in range(n)], source=SOURCE)
    heat = similarity_heat_map(index)
    assert sorted(heat.labels) == sorted(str(i) for i in range(n))
    heat.save(tmp_path / "h.png")


def test_labels_stand_in_for_ids(index):
    heat = similarity_heat_map(index, ["d0", "d1"], labels=["zero", "one"], order="given")
    assert heat.labels == ("zero", "one")
    with pytest.raises(InvalidInputError, match="1 labels for 2 documents"):
        similarity_heat_map(index, ["d0", "d1"], labels=["zero"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ids": "d0"}, "ids is of type str"),
        ({"ids": 3}, "ids is of type int"),
        ({"ids": ["d0", 3]}, "or holds something else"),
        ({"ids": ["d0", "d1", "d0"]}, "the id 'd0' comes twice"),
        ({"ids": [f"d{i}" for i in range(201)]}, "at most 200 rows, not 201"),
        ({"order": "up"}, "order is 'up'; it must be one of similarity, given"),
        ({"ranking": "soft_bm25"}, "'soft_bm25' tells a query from a document"),
        ({"ranking": "best"}, "best"),
    ],
)
def test_a_heat_map_says_what_it_needs(index, arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        similarity_heat_map(index, **arguments)


def test_what_is_no_index_is_refused(index):
    for call in (similarity_heat_map, lambda given: word_heat_map(given, "ant")):
        with pytest.raises(InvalidInputError, match="the index is of type dict; pass a SoftIndex"):
            call({})
    with pytest.raises(InvalidInputError, match="the explanation is of type str"):
        explanation_bars("why")
    with pytest.raises(InvalidInputError, match="S is of type list"):
        term_heat_map([], [])


def test_more_documents_than_a_heat_map_has_rows_are_refused():
    index = SoftIndex.from_texts(["ant"] * 201, source=SOURCE)
    with pytest.raises(InvalidInputError, match="not 201; pass the ids of fewer"):
        similarity_heat_map(index)


def test_an_asymmetric_matrix_compares_no_documents():
    S = similarity_matrix([[1.0, 0.5], [0.0, 1.0]], Vocabulary(["ant", "bee"]))
    index = SoftIndex.from_texts(["ant", "bee"], S=S)
    with pytest.raises(InvalidInputError, match="comparing documents"):
        similarity_heat_map(index)


def test_similar_rows_stand_together():
    values = np.eye(6)
    for group in ([0, 2, 4], [1, 3, 5]):
        values[np.ix_(group, group)] = 0.8
    order = grouped(values).tolist()
    assert {order[0] % 2, order[1] % 2, order[2] % 2} == {0}
    assert sorted(order) == list(range(6))
    assert grouped(np.ones((2, 2))).tolist() == [0, 1]


@given(st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_an_order_holds_every_row_once_whatever_the_similarities(n, seed):
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 0.5, 1.0, -0.25], (n, n))
    for linkage in ("ward", "average"):
        assert sorted(grouped(values, linkage).tolist()) == list(range(n))


def test_a_map_of_terms_has_the_entries_of_s(tmp_path):
    values = np.array([[1, 0.5, 0, -0.2], [0.5, 1, 0.1, 0], [0, 0.1, 1, 0], [-0.2, 0, 0, 1]])
    S = similarity_matrix(values, Vocabulary(["ant", "bee", "cat", "dog"]))
    heat = term_heat_map(S, ["dog", "ant", "cat"], order="given", title="three")
    assert heat.labels == ("dog", "ant", "cat")
    assert_close(heat.values, S.to_scipy().toarray()[np.ix_([3, 0, 2], [3, 0, 2])])
    heat.save(tmp_path / "x.png")  # of negative similarities too
    with pytest.raises(UnknownTermError, match="eel"):
        term_heat_map(S, ["eel"])
    with pytest.raises(InvalidInputError, match="the term 'ant' comes twice"):
        term_heat_map(S, ["ant", "ant"])
    assert term_heat_map(S, []).values.shape == (0, 0)


def test_a_map_of_terms_shows_the_words_that_stand_for_stems():
    index = SoftIndex.from_texts(["flat tyres", "a puncture"])
    stem = index.vocabulary.term(int(index.parse("tyres").terms[0]))
    assert term_heat_map(index.S, [stem]).labels == ("tyres",)


def test_words_bring_their_neighbors_whether_or_not_they_are_indexed():
    source = ToySource({("ant", "bee"): 0.6, ("ant", "emmet"): 0.9, ("bee", "emmet"): 0.2,
                        ("emmet", "mite"): 0.4, ("ant", "mite"): 0.3})  # fmt: skip
    index = SoftIndex.from_texts(["ant bee", "cat"], source=source)
    inside = word_heat_map(index, "ant", k=5, order="given")
    assert inside.labels == ("ant", "bee")
    assert_close(inside.values[0, 1], index.S.similarity("ant", "bee"))
    outside = word_heat_map(index, ["emmet", "mite", "ant"], k=1, order="given")
    assert outside.labels == ("emmet", "ant", "mite", "bee")
    neighbors = dict(index.neighbors("emmet"))
    assert_close(outside.values[0, 1], neighbors["ant"])
    assert_close(outside.values, outside.values.T)
    assert outside.values[0, 2] > 0
    assert_close(np.diag(outside.values), np.ones(4))


def test_words_that_nobody_knows_or_that_are_several_are_refused(index):
    with pytest.raises(UnknownTermError, match="'zzz' stands in no document"):
        word_heat_map(index, ["ant", "zzz"])
    with pytest.raises(InvalidInputError, match="'ant bee' holds 2 terms"):
        word_heat_map(index, "ant bee")
    with pytest.raises(InvalidInputError, match="holds 0 terms"):
        word_heat_map(index, "  ")
    with pytest.raises(InvalidInputError, match="k is 0"):
        word_heat_map(index, "ant", k=0)
    with pytest.raises(InvalidInputError, match="words is of type int"):
        word_heat_map(index, 3)


def test_words_may_not_bring_more_than_a_heat_map_holds():
    n = 230
    S = np.eye(n)
    S[0] = S[:, 0] = 0.01
    S[0, 0] = 1.0
    words = [f"w{i:03}" for i in range(n)]
    index = SoftIndex.from_texts([words], S=similarity_matrix(S, Vocabulary(words)))
    assert len(word_heat_map(index, "w000", k=199)) == 200
    with pytest.raises(InvalidInputError, match="not 201; take fewer words"):
        word_heat_map(index, "w000", k=200)


# Explanations


@pytest.mark.parametrize("max_parts", [1, 2, 3, 200])
def test_bars_sum_to_the_score(index, max_parts):
    for query in ("ant dog fox", "bee", "zzz"):
        why = index.explain(query, "d1")
        bars = explanation_bars(why, max_parts=max_parts)
        total = sum(part.contribution for part in bars.parts) + bars.rest_exact + bars.rest_near
        assert_close(total, why.score)
        assert len(bars.parts) + bars.n_rest == len(why.parts)
        assert bars.parts == why.parts[:max_parts]
        same, near, meaning = bars._lengths().sum(axis=0)
        assert_close(same, sum(part.contribution for part in why.parts if part.exact))
        assert_close(same + near, why.score)
        assert meaning == 0.0


def test_bars_of_no_parts_and_of_parts_below_zero_are_drawn(index, tmp_path):
    pytest.importorskip("matplotlib")
    explanation_bars(index.explain("zzz", "d1")).save(tmp_path / "none.png")
    parts = (Part("a", "a", 1.0, 0.9, True), Part("a", "b", -0.5, -0.4, False),
             Part("b", "a", 0.1, 0.05, False), Part("b", "b", 1.0, -0.2, True))  # fmt: skip
    bars = explanation_bars(Explanation("a b", "d", 0.35, parts, "soft_cosine"), max_parts=2)
    assert_close([bars.rest_exact, bars.rest_near], [-0.2, 0.05])
    bars.save(tmp_path / "below.png")


@pytest.mark.parametrize("max_parts", [0, 201, 2.0, True, None])
def test_a_number_of_bars_that_is_none_is_refused(index, max_parts):
    with pytest.raises(InvalidInputError, match="max_parts is"):
        explanation_bars(index.explain("ant", "d0"), max_parts=max_parts)


def test_heat_maps_compare_by_being_the_same():
    heat = HeatMap(("a",), np.ones((1, 1)), "soft cosine")
    assert heat in [heat]
    assert heat != HeatMap(heat.labels, heat.values, heat.unit)
    assert len(heat) == 1


def test_a_map_of_terms_reads_no_other_rows():
    S = TermSimilarityMatrix.identity(Vocabulary(WORDS))
    assert_close(term_heat_map(S, ["fox", "ant"]).values, np.eye(2))


def test_names_of_fields_are_no_formulas(tmp_path):
    fields = {"a$\\frac$": 1.0, "b": 2.0}
    texts = [dict.fromkeys(fields, "cat dog"), dict.fromkeys(fields, "cat tea")]
    index = SoftIndex.from_texts(texts, fields=fields, plain=True)
    similarity_heat_map(index).save(tmp_path / "heat.png")


def test_an_index_without_texts_is_drawn(tmp_path):
    index = SoftIndex.create(tmp_path / "i", plain=True, keep_texts=False)
    with index.writer() as writer:
        for i in range(5):
            writer.add(str(i), "ant bee")
    assert np.all(similarity_heat_map(index).values > 0.99)
