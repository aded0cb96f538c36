"""Pairs and groups of documents by meaning, and by words and meaning."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from softcosine.errors import InvalidInputError
from softcosine.index.near_duplicates import meaning
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.soft_index import SoftIndex
from softcosine.index.spaces.sum import meaning_of
from softcosine.index.writer.document_vectors import DocumentEncoder
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from toy_encoder import DIMENSIONS, ToyEncoder

WORDS = ["red", "green", "blue", "tea", "pot", "moon"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), max_size=12)
NUMBERS = st.sets(st.integers(0, 11))
BY = pytest.mark.parametrize("by", ["meaning", "both"])


class Opposed(ToyEncoder):
    """Gives words opposite and equal vectors, so that cosines are negative, 0 and tied."""

    def encode(self, texts, /):
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.split():
                place = WORDS.index(word)
                row[place // 2] += (-1) ** place
            row[-1] += 1e-3
        return rows


def made(texts, *, last=(), deleted=(), unread=()):
    """An index of several segments, which end with `last`; some have no coordinates."""
    encoder, added = Opposed(), list(enumerate(texts))
    with TemporaryDirectory() as folder:
        path = f"{folder}/x"
        SoftIndex.create(path, plain=True, encoder=encoder)
        while added:
            end = next((i for i, (number, _) in enumerate(added, 1) if number in last), len(added))
            without = patch.object(DocumentEncoder, "coordinates", return_value=None)
            with (
                without if added[0][0] in unread else nullcontext(),
                SoftIndex.open(path, encoder=encoder).writer(merge=None) as writer,
            ):
                for number, text in added[:end]:
                    writer.add(str(number), text)
            added = added[end:]
        with SoftIndex.open(path).writer(merge=None) as writer:
            for number in deleted:
                if number < len(texts):
                    writer.delete(str(number))
        # The copy is in memory, where that of an index in a folder would be its path.
        return pickle.loads(pickle.dumps(SoftIndex.open(path).with_note("")))


def similarities(index, by):
    """The similarity of each pair, with the earlier document as the query."""
    ids, found = list(index), {}
    meaning = meaning_of(index.snapshot)
    numbers = {id: index.documents.number(id) for id in ids}
    for place, id in enumerate(ids):
        unit = meaning.unit(numbers[id])
        for other in ids[place + 1 :]:
            if by == "both":
                found[id, other] = index.explain_similar(id, other, meaning=1).score / 2
            elif unit is not None and meaning.unit(numbers[other]) is not None:
                query = meaning.prepare(ReadyQuery((), unit))
                found[id, other] = query.exact(np.array([numbers[other]]))[0]
    return found


def pairs(index, **options):
    return [tuple(pair) for pair in index.pairs(**options)]


def nearest(found, k, minimum=0.0):
    """The k best others of each document, from the similarities of all pairs."""
    rows = []
    for id in dict.fromkeys(id for pair in found for id in pair):
        others = [
            (-score, int(a if b == id else b))
            for (a, b), score in found.items()
            if id in (a, b) and score > 0 and score >= minimum
        ]
        rows += [(id, str(other), -score) for score, other in sorted(others)[:k]]
    return sorted(rows, key=lambda row: int(row[0]))


def check(index, by, *, k, minimum, threads=1):
    found = similarities(index, by)
    expected = [(a, b, score) for (a, b), score in found.items() if score >= minimum]
    assert pairs(index, by=by, min_similarity=minimum, threads=threads) == expected
    graph = pairs(index, by=by, k=k, threads=threads)
    assert sorted(graph, key=lambda row: int(row[0])) == nearest(found, k)


@BY
@given(
    TEXTS,
    st.sets(st.integers(0, 11), max_size=2),
    NUMBERS,
    NUMBERS,
    st.integers(1, 4),
    st.sampled_from([0.01, 0.5, 0.9]),
)
def test_pairs_and_neighbors_are_those_of_single_searches_to_the_bit(
    by, texts, last, deleted, unread, k, minimum
):
    if texts:
        index = made(texts, last=last, deleted=deleted, unread=unread)
        check(index, by, k=k, minimum=minimum)


@BY
@given(TEXTS)
def test_the_similarity_is_that_of_the_definition(by, texts):
    if not texts:
        return
    index = made(texts)
    rows = np.array([index.snapshot.meaning.coordinates(Opposed().encode([t]))[0] for t in texts])
    rows = rows * (np.array([bool(text.strip()) for text in texts])[:, np.newaxis])
    units = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    cosines = oracle.above_chance(units @ units.T, index.snapshot.settings.mean_cosine)
    cosines[~rows.any(axis=1)] = 0.0
    cosines[:, ~rows.any(axis=1)] = 0.0
    if by == "both":
        hits = [{hit.id: hit.score for hit in index.similar(id, k=99, meaning=0)} for id in index]
        words = [[own.get(id, 0.0) for id in index] for own in hits]
        cosines = (cosines + np.array(words)) / 2
    places = zip(*np.triu_indices(len(texts), 1), strict=True)
    expected = {(str(i), str(j)): cosines[i, j] for i, j in places}
    found = {(a, b): score for a, b, score in pairs(index, by=by, min_similarity=0.3)}
    assert found == pytest.approx({pair: expected[pair] for pair in found})
    assert all(score < 0.3 + 1e-9 for pair, score in expected.items() if pair not in found)


def random_texts(n, seed):
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, generator.integers(0, 5))) for _ in range(n)]


@BY
@pytest.mark.parametrize("threads", [1, 3])
def test_many_panels_and_blocks_give_the_same_as_single_searches(by, threads, monkeypatch):
    monkeypatch.setattr(meaning, "_PANEL", 16)
    monkeypatch.setattr(meaning, "_BLOCK", 10)
    index = made(random_texts(90, 1), last={40, 70}, deleted={3, 77}, unread={41})
    for k in (1, 5):
        check(index, by, k=k, minimum=0.7, threads=threads)


def test_negative_similarities_of_terms_change_nothing():
    texts = random_texts(40, 2)
    index = made(texts)
    values = np.eye(len(index.vocabulary))
    values[0, 1] = values[1, 0] = -0.4
    S = TermSimilarityMatrix.from_matrix(values, index.vocabulary)
    index.set_similarity(S)
    check(index, "both", k=3, minimum=0.4)


@BY
@pytest.mark.parametrize("method", ["components", "leaders"])
def test_groups_follow_from_the_pairs(by, method):
    index = made(random_texts(60, 3), last={20})
    found = similarities(index, by)
    groups = index.dedupe(by=by, method=method, min_similarity=0.95)
    members = {group.id: [tuple(one) for one in group.others] for group in groups}
    assert members
    for id, others in members.items():
        assert [(id, other, found[id, other]) for _, other, _ in others] == others
    if method == "leaders":
        assert all(score >= 0.95 for others in members.values() for _, _, score in others)
    else:
        alone = set(index) - {
            id for group in groups for id in (group.id, *(o for _, o, _ in group.others))
        }
        assert not any(score >= 0.95 and {a, b} & alone for (a, b), score in found.items())


def test_several_fields_have_pairs_by_meaning_alone():
    index = SoftIndex.from_texts(
        [{"title": "tea", "body": "red"}, {"title": "red", "body": "tea"}],
        fields={"title": 2.0, "body": 1.0}, plain=True, encoder=Opposed(),
    )  # fmt: skip
    assert pairs(index, by="meaning", min_similarity=0.9) == [("0", "1", pytest.approx(1.0))]
    with pytest.raises(InvalidInputError, match="fields title, body"):
        index.pairs(by="both", min_similarity=0.9)


def test_what_cannot_be_compared_is_refused():
    index = made(["red", "tea"])
    with pytest.raises(InvalidInputError, match="cosines of this index are at most 1"):
        index.pairs(by="meaning", min_similarity=1.1)
    with pytest.raises(InvalidInputError, match="compared by meaning; leave it out"):
        index.pairs(by="meaning", min_similarity=0.5, ranking="inner_product")
    with pytest.raises(InvalidInputError, match="by"):
        index.pairs(by="sound", min_similarity=0.5)
    plain = SoftIndex.from_texts(["red"], plain=True)
    with pytest.raises(InvalidInputError, match="no coordinates"):
        plain.dedupe(by="both")
