"""Coordinates of documents that no encoder has read: sums over the query table, and estimates."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softcosine as sc
from softcosine.errors import CorruptIndexError, InvalidInputError, SoftCosineWarning
from softcosine.index.directory.check import check_index
from softcosine.index.directory.store import Store
from softcosine.index.search.execution import FEW_WORDS
from softcosine.index.search.meaning import FLOOR, FLOOR_OF_UNKNOWN
from softcosine.index.segment.coordinates import Coordinates
from softcosine.index.writer import document_vectors
from softcosine.similarity.embeddings.word_pieces import WordPieces
from softcosine.space.meaning import MeaningSpace
from softcosine.space.meaning_file import bundled_static
from softcosine.space.static_correction import StaticCorrection
from toy_encoder import DIMENSIONS, ToyEncoder, toy_space, vector

WORDS = ("flat", "tyre", "moon", "tea", "green", "wheel", "red", "night")
SPACE = toy_space([*WORDS, "sun"])
texts = st.lists(
    st.lists(st.sampled_from((*WORDS, "zzz")), max_size=6).map(" ".join), min_size=1, max_size=9
)
queries = st.lists(st.sampled_from((*WORDS, "sun", "zzz")), min_size=1, max_size=4).map(" ".join)


def made(documents, **options):
    given = {"encoder": "static", "meaning_space": SPACE, "plain": True, "language": "english"}
    return sc.SoftIndex.from_texts(documents, **{**given, **options})


def shown(hits):
    return [(hit.id, hit.score) for hit in hits]


def sums(text):
    """The sum of the coordinates of a text's pieces, one by one."""
    total = np.zeros(DIMENSIONS)
    for number in SPACE.table.piece_numbers(text):
        total += SPACE.table.coordinates([number])[0]
    return total


@given(texts)
def test_sums_are_those_of_the_pieces_whatever_the_other_texts(documents):
    together = SPACE.table.sums(documents)
    np.testing.assert_allclose(together, [sums(text) for text in documents], atol=1e-12)
    for row, text in zip(together, documents, strict=True):
        assert SPACE.table.sums([text])[0].tobytes() == row.tobytes()


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_texts_are_split_as_others(text):
    pieces = WordPieces(["a"])
    assert pieces.split(f"{text} \u00e9") == [*pieces.split(text), "e"]


@given(texts, queries, st.sampled_from((0.25, 10.0, 1e6)))
def test_a_score_is_that_of_words_plus_the_cosine_of_the_rounded_sums(documents, query, weight):
    index = made(documents)
    words = np.zeros(len(documents))
    for hit in index.search(query, k=99, ask="words"):
        words[int(hit.id)] = hit.score
    rows = np.array([sums(text) for text in documents])
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = np.rint(127 * np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0))
    static = SPACE.static_query(
        [(word, 1.0) for word in query.split()], index.snapshot.piece_frequencies
    )
    cosines = np.zeros(len(rows))
    if static is not None:
        lengths = np.linalg.norm(rows, axis=1)
        cosines = np.divide(
            rows @ static.vector, lengths, out=np.zeros(len(rows)), where=lengths > 0
        )
    asked = set(query.split())
    if len(query.split()) <= FEW_WORDS and asked <= set(" ".join(documents).split()):
        cosines = cosines + [asked <= set(text.split()) for text in documents]
    scores = words + weight * cosines
    unknown = asked and asked.isdisjoint(" ".join(documents).split())
    floor = FLOOR_OF_UNKNOWN if unknown else FLOOR
    hits = ((words > 0) | (cosines >= floor)) & (scores > 0)
    right = {str(i): scores[i] for i in np.flatnonzero(hits).tolist()}
    found = index.search(query, k=99, meaning=weight)
    near = {id for id, score in right.items() if score < 1e-9 * weight}
    near |= {str(i) for i in np.flatnonzero(np.isclose(cosines, floor)).tolist()}
    assert {hit.id for hit in found} - near == right.keys() - near
    for hit in found:
        assert hit.score == pytest.approx(right[hit.id], rel=1e-12, abs=1e-12 * weight)


@given(texts, queries)
def test_scores_have_the_same_bits_in_any_segments(documents, query):
    right = shown(made(documents).search(query, k=99))
    apart = sc.SoftIndex.create(
        encoder="static", meaning_space=SPACE, plain=True, language="english"
    )
    for number, text in enumerate(documents):
        with apart.writer(merge=None) as writer:
            writer.add(str(number), text)
    assert shown(apart.search(query, k=99)) == right
    with apart.writer() as writer:
        writer.merge()
    assert shown(apart.search(query, k=99)) == right


def test_an_index_without_an_encoder_is_asked_by_the_query_table(tmp_path):
    index = made(["green tea", "a flat tyre", ""])
    index.save(tmp_path / "x")
    index = sc.SoftIndex.open(tmp_path / "x", verify=True)
    hits = index.search("tea", meaning=3.0)
    assert hits.plan.ask == "static"
    assert "2 of 3 documents have coordinates" in hits.plan.reason
    assert index.snapshot.settings.meaning_weights["soft_bm25"] == 10.0
    with index.writer() as writer:
        writer.add("new", "green tea")
        assert writer.encode() == 0
    first, second = index.search("tea")
    assert {first.id, second.id} == {"0", "new"}
    assert first.score == second.score
    assert index.search("tea", ask="words").plan.ask == "words"
    with pytest.raises(InvalidInputError, match="no encoder has read"):
        index.search("tea", ask="encoder")
    with pytest.raises(InvalidInputError, match="this index has no encoder"):
        sc.SoftIndex.open(tmp_path / "x", encoder=ToyEncoder())


def test_the_bundled_table_is_not_copied_into_an_index(tmp_path):
    index = sc.SoftIndex.from_texts(["my car has a flat tire", "how to brew tea"], encoder="static")
    index.save(tmp_path / "x")
    opened = sc.SoftIndex.open(tmp_path / "x")
    assert opened.snapshot.meaning is bundled_static()
    assert sum(file.stat().st_size for file in (tmp_path / "x").rglob("*")) < 200_000
    assert shown(opened.search("automobile")) == shown(index.search("automobile"))
    assert opened.search("automobile").ids[0] == "0"


def test_an_encoder_replaces_the_sums(tmp_path):
    documents = ["green tea", "the moon", "a flat tyre"]
    index = made(documents)
    with index.writer() as writer:
        assert writer.encode(ToyEncoder(), meaning_space=SPACE) == 3
    anew = made(documents, encoder=ToyEncoder())
    assert index.snapshot.settings.meaning_weights == anew.snapshot.settings.meaning_weights
    for ask in ("static", "encoder"):
        assert shown(index.search("moon tea", ask=ask)) == shown(anew.search("moon tea", ask=ask))


def test_an_encoder_that_fails_leaves_the_sums():
    class Failing(ToyEncoder):
        def encode(self, texts):
            raise RuntimeError("no memory")

    documents = ["green tea", "the moon", "a flat tyre"]
    index = made(documents)
    with index.writer() as writer:
        with pytest.raises(RuntimeError, match="no memory"):
            writer.encode(Failing(), meaning_space=SPACE)
        writer.add("3", "night")
    anew = made([*documents, "night"])
    assert shown(index.search("moon tea")) == shown(anew.search("moon tea"))
    assert index.snapshot.meaning.static


def test_an_index_of_words_gets_sums_later():
    documents = ["green tea", "the moon", "a flat tyre"]
    plain = made(documents, encoder=None, meaning_space=None)
    with plain.writer() as writer:
        assert writer.encode("static", meaning_space=SPACE) == 3
    assert shown(plain.search("moon tea")) == shown(made(documents).search("moon tea"))


def test_what_sums_cannot_use_is_refused(tmp_path):
    bare = MeaningSpace("toy", encoder_dimensions=DIMENSIONS)
    with pytest.raises(InvalidInputError, match="has no query table"):
        made(["x"], meaning_space=bare)
    with pytest.raises(InvalidInputError, match="'static' has none"):
        made(["x"], encoder_cache=tmp_path / "cache")
    with pytest.raises(InvalidInputError, match="give it another name"):
        made(["x"], encoder=ToyEncoder("static"), meaning_space=None)


@pytest.fixture
def partly(tmp_path):
    """An index of which an encoder has read half of the documents."""
    random = np.random.default_rng(0)
    documents = [" ".join(random.choice(WORDS, random.integers(1, 6))) for _ in range(40)]
    index = sc.SoftIndex.create(
        tmp_path / "x", encoder=ToyEncoder(), meaning_space=SPACE, plain=True, language="english"
    )
    with index.writer() as writer:
        writer.add_many(map(str, range(20)), documents[:20])
    index = sc.SoftIndex.open(tmp_path / "x")
    with (
        pytest.warns(SoftCosineWarning, match="20 documents get estimated coordinates"),
        index.writer(merge=None) as writer,
    ):
        writer.add_many(map(str, range(20, 40)), documents[20:])
    return index, documents, tmp_path / "x"


def test_documents_without_their_encoder_are_estimated_until_it_reads_them(partly):
    index, documents, path = partly
    assert (index.snapshot.n_encoded, index.snapshot.n_estimated) == (20, 20)
    _, last = [segment.coordinates for segment in index.snapshot.segments]
    assert np.array_equal(last.vectors, SPACE.static_coordinates(documents[20:]))
    hits = index.search("night", ask="static", k=99)
    assert "20 of 40 documents are encoded, the coordinates of 20 are estimated" in hits.plan.reason
    with index.writer() as writer:
        writer.merge()
        writer.delete("0")
        writer.delete("39")
    assert shown(index.search("night", ask="static", k=99)) == [
        pair for pair in shown(index.search("night", ask="static", k=99)) if pair[0] != "39"
    ]
    assert (index.snapshot.n_encoded, index.snapshot.n_estimated) == (19, 19)
    assert sc.SoftIndex.open(path, verify=True).snapshot.n_estimated == 19
    pairs = index.pairs(min_similarity=0.01, by="meaning")
    assert {str(number) for number in range(20, 39)} <= {id for pair in pairs for id in pair[:2]}
    with index.writer() as writer:
        assert writer.encode(ToyEncoder()) == 19
    assert (index.snapshot.n_encoded, index.snapshot.n_estimated) == (38, 0)
    anew = made(documents[1:39], encoder=ToyEncoder(), ids=[str(i) for i in range(1, 39)])
    assert shown(index.search("night", k=99)) == shown(anew.search("night", k=99))


def test_encoded_documents_teach_the_estimates_of_others(tmp_path, monkeypatch):
    monkeypatch.setattr(document_vectors, "_LEAST", 20)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(DIMENSIONS, DIMENSIONS)))[0]

    class Turned(ToyEncoder):
        """An encoder whose vectors are the sums of the table, turned."""

        def encode(self, texts):
            return np.array([turn @ vector(text) for text in texts], np.float32)

    random = np.random.default_rng(0)
    documents = [" ".join(random.choice(WORDS, random.integers(2, 6))) for _ in range(120)]
    index = sc.SoftIndex.create(
        tmp_path / "x", encoder=Turned(), meaning_space=SPACE, plain=True, language="english"
    )
    with index.writer() as writer:
        writer.add_many(map(str, range(100)), documents[:100])
        writer.add("blank", "")
    index = sc.SoftIndex.open(tmp_path / "x")
    with pytest.warns(SoftCosineWarning, match="estimated"), index.writer(merge=None) as writer:
        writer.add_many(map(str, range(100, 121)), [*documents[100:], "zzz"])
    vectors = index.snapshot.segments[-1].coordinates.vectors.astype(float)
    assert not vectors[20].any()
    right = np.array([turn @ vector(text) for text in documents[100:]])
    cosines = (vectors[:20] * right).sum(axis=1)
    cosines /= np.linalg.norm(vectors[:20], axis=1) * np.linalg.norm(right, axis=1)
    assert cosines.min() > 0.9
    static = SPACE.table.sums(documents[100:])
    before = (static * right).sum(axis=1)
    before /= np.linalg.norm(static, axis=1) * np.linalg.norm(right, axis=1)
    assert before.mean() < 0.5


def test_a_correction_is_a_ridge_regression_of_unit_vectors():
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 4))
    Y = random.integers(-127, 128, (50, 4)).astype(np.int8)
    correction = StaticCorrection.fitted(X, Y)
    A = X / np.linalg.norm(X, axis=1, keepdims=True)
    B = Y / np.linalg.norm(Y.astype(float), axis=1, keepdims=True)
    A0, B0 = A - A.mean(axis=0), B - B.mean(axis=0)
    root = np.sqrt(0.1 * np.square(A0).sum() / 4)
    W = np.linalg.lstsq(
        np.concatenate([A0, root * np.eye(4)]), np.concatenate([B0, np.zeros((4, 4))])
    )[0]
    np.testing.assert_allclose(correction.corrected(X), A0 @ W + B.mean(axis=0))
    assert not correction.corrected(np.zeros((2, 4))).any()
    same = StaticCorrection.fitted(np.ones((9, 4)), np.tile(Y[:1], (9, 1)))  # no variance
    np.testing.assert_allclose(same.corrected(np.ones((1, 4)))[0], B[0])


def test_marks_of_estimates_are_checked(partly):
    index, _, path = partly
    own = index.snapshot.segments[-1].coordinates
    marked = Coordinates.from_arrays(own.to_arrays(), 20, DIMENSIONS)
    assert marked.estimated.all()
    assert not marked.encoded.any()
    marked.check()
    with pytest.raises(CorruptIndexError, match="marked as estimated"):
        replace(Coordinates.none(3, 2), estimated=np.ones(3, bool)).check()
    with pytest.raises(CorruptIndexError, match="estimated"):
        Coordinates.from_arrays({**own.to_arrays(), "estimated": np.zeros(2, "u1")}, 20, DIMENSIONS)
    check_index(Store.open(path))


def test_the_command_line_indexes_without_an_encoder(run, tmp_path):
    file = tmp_path / "docs.jsonl"
    file.write_text('{"id": "car", "text": "my car has a flat tire"}\n{"id": "b", "text": "tea"}\n')
    path = tmp_path / "x.index"
    assert "Ranked by words and meaning, without an encoder" in run(
        "index", file, "-o", path, "--encoder", "static"
    )
    shown = " ".join(run("info", path).split())
    assert "static, 256 dimensions; all documents by the query table; weight 10 in" in shown
    found = json.loads(run("search", path, "automobile", "--json"))
    assert (found["plan"]["ask"], found["hits"][0]["id"]) == ("static", "car")
    assert "not installed" not in run("search", path, "automobile", "--explain")
    assert "no encoder has read" in run("search", path, "x", "--ask", "encoder", code=2)
    assert "this index has no encoder" in run("add", path, file, "--encoder", "minilm", code=2)
    run("add", path, file)


def test_evaluations_know_the_way_without_an_encoder():
    from softcosine.evaluate.documents import Documents
    from softcosine.evaluate.systems.soft import Soft

    documents = Documents.of(["my car has a flat tire", "how to brew tea"])
    fitted = Soft(encoder="static").fit(documents)
    ranked = fitted.ranked(Documents.of(["automobile"]), k=2)
    index = sc.SoftIndex.from_texts(list(documents.texts), encoder="static")
    (hit,) = index.search("automobile")
    assert (ranked.numbers[0, 0], ranked.scores[0, 0]) == (0, pytest.approx(hit.score))
