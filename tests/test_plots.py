"""Pictures: their numbers against what the index says, and the files that come of them."""

from __future__ import annotations

import json
import struct
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import oracle
from softcosine.errors import (
    InvalidInputError,
    MissingDependencyError,
    UnknownDocumentError,
    UnknownTermError,
)
from softcosine.evaluate.plots import drawing
from softcosine.evaluate.plots.document_map import (
    DocumentMap,
    Neighborhoods,
    kept_neighbors,
    laid_out,
    neighborhoods,
)
from softcosine.evaluate.plots.heat_maps import grouped
from softcosine.evaluate.plots.layout import pull, push
from softcosine.evaluate.plots.regions import regions_of
from softcosine.index.search.explanation import Explanation, Part
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.plots import (
    HeatMap,
    document_map,
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
PICTURES = ("heat", "map", "bars")
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
        metadata=[{"kind": ["odd", "even"][i % 2], "deep": {"n": i}} for i in range(len(texts))],
        source=SOURCE,
        encoder=None,
    )


def picture(index, name):
    made = {
        "heat": lambda: similarity_heat_map(index, ["d0", "d1", "d2", "d3"], title="four"),
        "map": lambda: document_map(index, color_by="kind"),
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
        metadata=[{"$a_": value} for value in TROUBLE], source=SOURCE,
    )  # fmt: skip
    similarity_heat_map(index, title=" ".join(TROUBLE)).save(tmp_path / "heat.png")
    document_map(index, color_by="$a_").save(tmp_path / "map.png")
    explanation_bars(index.explain("ant", TROUBLE[0])).save(tmp_path / "bars.png")
    parts = tuple(Part(word, word, 0.5, 0.1, False, word) for word in TROUBLE)
    explanation_bars(Explanation(TROUBLE[0], TROUBLE[1], 0.5, parts, "soft_cosine")).save(
        tmp_path / "own.svg"
    )
    assert len(list(tmp_path.iterdir())) == 4


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
            writer.add(id, f"ant {id * 3}", {"kind": id})
    with index.writer() as writer:
        writer.delete("b")
        writer.add("e", "ant bee")
    assert similarity_heat_map(index, order="given").labels == ("a", "c", "d", "e")
    with pytest.raises(UnknownDocumentError, match="'b'"):
        similarity_heat_map(index, ["a", "b"])
    drawn = document_map(index, color_by="kind")
    assert drawn.ids == ("a", "c", "d", "e")
    assert drawn.values == ("a", "c", "d", None)


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
    document_map(index).save(tmp_path / "m.png")
    explanation_bars(index.explain("ant dog", "0")).save(tmp_path / "b.png")
    assert explanation_bars(index.explain("ant dog", "0")).parts[0].field == "title"


@pytest.mark.parametrize("n", [0, 1, 2, 13, 61])
def test_few_and_many_documents_are_drawn(tmp_path, n):
    pytest.importorskip("matplotlib")
    index = SoftIndex.from_texts([" ".join(WORDS[: i % 6 + 1]) for i in range(n)], source=SOURCE)
    heat = similarity_heat_map(index)
    assert sorted(heat.labels) == sorted(str(i) for i in range(n))
    heat.save(tmp_path / "h.png")
    if n <= 13:
        drawn = document_map(index)
        assert len(drawn) + len(drawn.left_out) == n
        drawn.save(tmp_path / "m.png")


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
    for call in (similarity_heat_map, document_map, lambda given: word_heat_map(given, "ant")):
        with pytest.raises(InvalidInputError, match="the index is of type dict; pass a SoftIndex"):
            call({})
    with pytest.raises(InvalidInputError, match="the explanation is of type str"):
        explanation_bars("why")
    with pytest.raises(InvalidInputError, match="S is of type list"):
        term_heat_map([], [])


def test_more_documents_than_a_heat_map_has_rows_belong_on_a_map():
    index = SoftIndex.from_texts(["ant"] * 201, source=SOURCE)
    with pytest.raises(InvalidInputError, match="not 201; document_map draws"):
        similarity_heat_map(index)


def test_an_asymmetric_matrix_compares_no_documents():
    S = similarity_matrix([[1.0, 0.5], [0.0, 1.0]], Vocabulary(["ant", "bee"]))
    index = SoftIndex.from_texts(["ant", "bee"], S=S)
    for call in (similarity_heat_map, document_map):
        with pytest.raises(InvalidInputError, match="comparing documents"):
            call(index)


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


# Maps


@given(st.integers(0, 70), st.integers(0, 2**32 - 1))
def test_pushes_and_pulls_are_those_of_their_formulas(n, seed):
    rng = np.random.default_rng(seed)
    places = rng.normal(scale=3.0, size=(2, n)).round(1)
    x, y = (np.ascontiguousarray(row) for row in places)
    pushed, nearness = [np.full(n, np.nan) for _ in range(2)], np.full(n, np.nan)
    push(x, y, *pushed, nearness)
    apart = places[:, :, None] - places[:, None, :]
    q = 1.0 / (1.0 + (apart**2).sum(axis=0))
    assert_close(nearness, q.sum(axis=1) - 1.0)
    assert_close(np.array(pushed), (q**2 * apart).sum(axis=2))
    links = csr_array(rng.choice([0.0, 0.25, 1.0], (n, n)))
    pulled = [np.full(n, np.nan) for _ in range(2)]
    pull(links.indptr.astype(np.int64), links.indices.astype(np.int32), links.data, x, y, *pulled)
    assert_close(np.array(pulled), (links.toarray() * q * apart).sum(axis=2))


def rings(*sizes):
    """Groups of documents, each similar to the others of its group."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    similar = np.where(owner[:, None] == owner, 0.9, 0.01)
    np.fill_diagonal(similar, 0.0)
    return owner, csr_array(similar)


def test_groups_lie_apart_on_the_map():
    owner, graph = rings(8, 6, 7)
    places = laid_out(graph)
    assert places.shape == (21, 2)
    assert np.abs(places).max() == 1.0
    middles = np.array([places[owner == group].mean(axis=0) for group in range(3)])
    for place, group in zip(places, owner, strict=True):
        assert np.argmin(((middles - place) ** 2).sum(axis=1)) == group
    assert np.array_equal(laid_out(graph), places)


@pytest.mark.parametrize("graph", [
    [[0, 1], [1, 0]],
    [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]],  # two pairs
    np.ones((5, 5)) - np.eye(5),
    np.eye(7, k=1) + np.eye(7, k=-1),
])  # fmt: skip
def test_tiny_graphs_have_places_of_their_own(graph):
    places = laid_out(csr_array(np.array(graph, np.float64)))
    assert np.isfinite(places).all()
    assert len(np.unique(places.round(6), axis=0)) == len(places)
    assert np.ptp(places[:, 0]) >= np.ptp(places[:, 1]) - 1e-9


def test_the_share_of_neighbors_kept_is_counted():
    graph = csr_array(
        np.array([[0, 0.9, 0.1, 0], [0.9, 0, 0, 0.1], [0.2, 0, 0, 0.1], [0, 1, 0, 0]])
    )
    places = np.array([[0.0, 0.0], [0.1, 0.0], [0.5, 0.0], [0.7, 0.0]])
    # 0 has 1 (kept), 1 has 0 (kept), 2 has 0 (not 3), 3 has 1 (not 2)
    assert kept_neighbors(graph, places, k=1) == 0.5
    assert kept_neighbors(csr_array((0, 0)), np.zeros((0, 2))) == 1.0


@pytest.mark.parametrize("threads", [1, 3])
def test_neighborhoods_are_those_that_similar_documents_have(tmp_path, texts, threads):
    index = SoftIndex.create(tmp_path / "i", source=SOURCE)
    for begin in (0, 20):  # in two segments
        with index.writer(merge=None) as writer:
            for number, text in enumerate(texts[begin : begin + 20], begin):
                writer.add(f"d{number}", text, {"odd": number % 2})
    with index.writer(merge=None) as writer:
        writer.delete("d4")
    numbers = index.documents.numbers
    assert len(numbers) == len(texts) - 1
    chosen = numbers[::2]
    ids = [index.documents.id(number) for number in chosen.tolist()]
    found = neighborhoods(index.snapshot, chosen, k=3, threads=threads)
    for row, id in enumerate(ids):
        hits = [hit for hit in index.similar(id, k=100) if hit.id in ids][:3]
        own = slice(found.graph.indptr[row], found.graph.indptr[row + 1])
        assert [ids[place] for place in found.graph.indices[own]] == [hit.id for hit in hits]
        assert found.graph.data[own].tolist() == [hit.score for hit in hits]


def test_documents_like_no_other_are_left_out_whatever_rounding_says():
    # 1 is near nobody, though 0 takes it for a neighbour; then 0 has none either
    graph = csr_array(
        (
            np.array([1e-17, 0.5, 0.4, 0.9, 0.5]),
            np.array([1, 3, 4, 2, 2]),
            np.array([0, 1, 1, 3, 4, 5]),
        ),
        shape=(5, 5),
    )
    found = Neighborhoods(np.arange(5) * 7, graph)
    drawn, own = found.connected()
    assert drawn.tolist() == [False, False, True, True, True]
    assert own.indptr.tolist() == [0, 2, 3, 4]
    assert own.indices.tolist() == [1, 2, 0, 0]
    assert own.data.tolist() == [0.5, 0.4, 0.9, 0.5]
    assert found.nearest(1).graph.indices.tolist() == [1, 3, 2, 2]
    assert Neighborhoods(np.arange(2), csr_array((2, 2))).connected()[1].shape == (0, 0)


def test_regions_are_named_by_what_sets_them_apart():
    rng = np.random.default_rng(0)
    middles = np.array([[-0.8, -0.8], [0.8, 0.8]])
    owner = np.repeat([0, 1], [30, 20])
    places = middles[owner] + rng.normal(scale=0.03, size=(50, 2))
    X = np.zeros((50, 4))
    X[:, 0] = 1  # stands everywhere
    X[owner == 0, 1] = 1
    X[owner == 0, 2] = 1  # says the same
    X[owner == 1, 3] = 1
    S = np.eye(4)
    S[1, 2] = S[2, 1] = 0.8
    regions, owners = regions_of(places, csr_array(X), similarity_matrix(S, Vocabulary(WORDS[:4])))
    assert [region.words for region in regions] == [("bee",), ("dog",)]
    assert [region.n_documents for region in regions] == [30, 20]
    assert np.array_equal(owners, owner)
    for region, middle in zip(regions, middles, strict=True):
        assert np.hypot(region.x - middle[0], region.y - middle[1]) < 0.1


def test_stop_words_name_no_region_unless_nothing_else_does():
    rng = np.random.default_rng(0)
    owner = np.repeat([0, 1], 20)
    places = np.array([[-0.8, -0.8], [0.8, 0.8]])[owner] + rng.normal(scale=0.03, size=(40, 2))
    X = np.zeros((40, 4))
    X[owner == 0, :2] = 1
    X[:3, 1] = 0  # tells less than the function word
    X[owner == 1, 2] = 1
    vocabulary = Vocabulary(["an", "bee", "how", "tea"])
    S = similarity_matrix(np.eye(4), vocabulary)
    words = {"an", "how"}
    regions, _ = regions_of(places, csr_array(X), S, stop_words=words)
    assert sorted(region.words for region in regions) == [("bee",), ("how",)]
    regions, _ = regions_of(places, csr_array(X), S)
    assert ("an", "bee") in [region.words for region in regions]


def test_a_map_of_english_is_named_without_its_stop_words():
    texts = [f"how do an elephant and its calf {i} walk" for i in range(12)]
    texts += [f"green tea of leaves {i} steeped" for i in range(12)]
    made = document_map(SoftIndex.from_texts(texts, language="english"), threads=1)
    named = {word for region in made.regions for word in region.words}
    assert named
    assert not named & {"how", "do", "an", "and", "its", "of"}


def test_a_few_documents_make_no_region():
    S = similarity_matrix(np.eye(2))
    regions, owners = regions_of(np.zeros((4, 2)), csr_array(np.ones((4, 2))), S)
    assert regions == ()
    assert owners.tolist() == [-1] * 4
    assert regions_of(np.zeros((0, 2)), csr_array((0, 2)), S)[0] == ()


def test_a_map_is_of_the_index_and_says_how_true_it_is(index):
    drawn = document_map(index, color_by="kind", threads=1)
    assert drawn.left_out == ("d36",)
    assert len(drawn) == 38
    assert drawn.values[:2] == ("odd", "even")
    assert drawn.n_candidates == 39
    assert 0.0 < drawn.kept_neighbors <= 1.0
    again = document_map(index, color_by="kind", threads=2)
    assert np.array_equal(drawn.places, again.places)
    assert drawn.to_dict() == again.to_dict()
    assert "39 documents; 1 left out, like no other; " in drawn.caption
    twins = drawn.places[drawn.ids.index("d37")] - drawn.places[drawn.ids.index("d38")]
    assert np.hypot(*twins) < 0.25
    assert document_map(index, color_by="deep.n").values[5] == 5


def test_a_sample_of_what_passes_a_filter_is_drawn(index):
    drawn = document_map(index, where={"kind": "even"}, max_documents=10)
    assert drawn.n_candidates == 19
    assert len(drawn) == 10
    assert all(int(id[1:]) % 2 for id in drawn.ids)
    assert drawn.caption.startswith("a sample of 10 of 19 documents")
    other = document_map(index, where={"kind": "even"}, max_documents=10, random_state=1)
    assert other.ids != drawn.ids
    assert document_map(index, where={"kind": "none"}).ids == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_documents": 0}, "max_documents is 0; it must be a whole number from 1 to 20,000"),
        ({"max_documents": 20_001}, "max_documents is 20001"),
        ({"n_neighbors": 0}, "n_neighbors is 0"),
        ({"n_neighbors": 1.5}, "n_neighbors is 1.5"),
        ({"color_by": "size"}, "no document has the field 'size'.*they have 'kind', 'deep'"),
        ({"color_by": 3}, "color_by is 3"),
        ({"where": {"kind": {"like": 1}}}, "like"),
    ],
)
def test_a_map_says_what_it_needs(index, arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        document_map(index, **arguments)


def test_an_index_without_metadata_or_texts_is_drawn(tmp_path):
    index = SoftIndex.create(tmp_path / "i", plain=True, keep_texts=False)
    with index.writer() as writer:
        for i in range(5):
            writer.add(str(i), "ant bee")
    assert len(document_map(index)) == 5
    assert np.all(similarity_heat_map(index).values > 0.99)
    with pytest.raises(InvalidInputError, match="they have none at all"):
        document_map(index, color_by="x")


def test_the_progress_of_a_map_is_told(index):
    told = []
    document_map(index, progress=lambda *step: told.append(step))
    assert told[0] == ("comparing documents", 0, None)
    assert told[-1] == ("laying out", 750, 750)


def drawn_in_colors(values):
    n = len(values)
    places = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    ids = tuple(map(str, range(n)))
    return DocumentMap(ids, places, (), (-1,) * n, tuple(values), "c", n)


@pytest.mark.parametrize(
    ("values", "entries"),
    [
        (["a", "b"] * 20, ["a", "b"]),
        ([True, False, None] * 20, ["false", "true", "none"]),
        ([10, 9, 2.5, "x"] * 10, ["2.5", "9", "10", "x"]),
        ([["x", 1]] * 40, ['["x", 1]']),
        ([f"v{i:02}" for i in range(20)] * 2, [f"v{i:02}" for i in range(20)]),
        ([f"v{min(i, 40):02}" for i in range(60)], 20),
    ],
)
def test_colors_are_told_by_a_legend(values, entries):
    pytest.importorskip("matplotlib")
    (legend,) = drawn_in_colors(values).figure().legends
    shown = [text.get_text() for text in legend.get_texts()]
    if entries == 20:
        assert len(shown) == 20
        assert shown[-1] == "22 others"
        assert "v40" in shown
    else:
        assert shown == entries


def test_many_numbers_are_told_by_a_scale():
    pytest.importorskip("matplotlib")
    figure = drawn_in_colors([*range(1990, 2030), None]).figure()
    assert not figure.legends
    assert len(figure.axes) == 2


def test_names_of_regions_do_not_overlap(index):
    pytest.importorskip("matplotlib")
    from softcosine.evaluate.plots.regions import Region

    made = drawn_in_colors([""] * 60)
    regions = (Region(("ant", "bee"), 0.0, 0.0, 9), Region(("cat",), 0.01, 0.0, 8),
               Region(("dog",), 0.7, 0.7, 7), Region((), -0.7, -0.7, 6))  # fmt: skip
    figure = DocumentMap(made.ids, made.places, regions, made.region_of, n_candidates=60).figure()
    assert [text.get_text() for text in figure.axes[0].texts] == ["ant\nbee", "dog"]


def test_heat_maps_compare_by_being_the_same():
    heat = HeatMap(("a",), np.ones((1, 1)), "soft cosine")
    assert heat in [heat]
    assert heat != HeatMap(heat.labels, heat.values, heat.unit)
    assert len(heat) == 1


def test_a_map_of_terms_reads_no_other_rows():
    S = TermSimilarityMatrix.identity(Vocabulary(WORDS))
    assert_close(term_heat_map(S, ["fox", "ant"]).values, np.eye(2))


def test_numbers_beyond_float64_color_a_map_as_kinds(tmp_path):
    texts = [f"ant bee word{n}" for n in range(40)]
    metadata = [{"c": 10**400 if n == 3 else n} for n in range(40)]
    index = SoftIndex.from_texts(texts, metadata=metadata, plain=True)
    document_map(index, color_by="c").save(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_names_of_fields_are_no_formulas(tmp_path):
    fields = {"a$\\frac$": 1.0, "b": 2.0}
    texts = [dict.fromkeys(fields, "cat dog"), dict.fromkeys(fields, "cat tea")]
    index = SoftIndex.from_texts(texts, fields=fields, plain=True)
    similarity_heat_map(index).save(tmp_path / "heat.png")
