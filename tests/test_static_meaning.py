"""Coordinates of documents that no encoder has read: sums over the query table."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softcosine as sc
from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.index.query.ready_query import FLOOR, FLOOR_OF_UNKNOWN
from softcosine.index.search.execution import FEW_WORDS
from softcosine.index.segment.coordinates import Coordinates
from softcosine.similarity.embeddings.word_pieces import WordPieces
from softcosine.space.meaning import MeaningSpace
from softcosine.space.meaning_file import bundled_static
from toy_encoder import DIMENSIONS, ToyEncoder, toy_space

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


def test_documents_are_not_added_without_the_encoder_of_an_index(tmp_path):
    index = made(["green tea", "moon"], encoder=ToyEncoder())
    index.save(tmp_path / "x")
    index = sc.SoftIndex.open(tmp_path / "x")
    with index.writer() as writer:
        with pytest.raises(InvalidInputError, match="would rank below the others"):
            writer.add("new", "a flat tyre")
        writer.delete("1")
    assert list(sc.SoftIndex.open(tmp_path / "x")) == ["0"]
    index = sc.SoftIndex.open(tmp_path / "x", encoder=ToyEncoder())
    with index.writer() as writer:
        writer.add("new", "a flat tyre")
    assert index.snapshot.n_encoded == 2


def test_vectors_that_were_guessed_by_an_older_version_are_read_by_encode():
    own = Coordinates.of(np.array([[1, 2], [3, 4], [5, 6]], np.int8))
    marks = np.packbits(np.array([False, True, False]))
    read = Coordinates.from_arrays({**own.to_arrays(), "estimated": marks}, 3, 2)
    assert read.known.tolist() == [True, False, True]
    assert read.vectors.tolist() == [[1, 2], [0, 0], [5, 6]]
    read.check()
    with pytest.raises(CorruptIndexError, match="estimated"):
        Coordinates.from_arrays({**own.to_arrays(), "estimated": np.zeros(2, "u1")}, 3, 2)


def test_the_command_line_indexes_without_an_encoder(run, tmp_path):
    file = tmp_path / "docs.jsonl"
    file.write_text('{"id": "car", "text": "my car has a flat tire"}\n{"id": "b", "text": "tea"}\n')
    path = tmp_path / "x.index"
    assert "table of word pieces" in run("index", file, "-o", path, "--encoder", "static")
    shown = " ".join(run("info", path).split())
    assert "static, 256 dimensions; 2 of 2 documents by the query table; weight 10 in" in shown
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
