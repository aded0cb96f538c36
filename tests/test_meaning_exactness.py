"""The best documents by words and meaning are those of a pass over all documents, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import JIT
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.query.ready_query import FLOOR, ReadyQuery
from softcosine.index.segment.coordinates import Coordinates
from softcosine.index.spaces.meaning import Meaning
from softcosine.index.spaces.plan import MEANING, MEANING_ALL, MEANING_ALONE
from softcosine.index.spaces.space import Limits
from softcosine.index.spaces.sum import Sum
from softcosine.text.weighting import Weighting
from toys import similarity_matrix, space_of, summed

N_DOCS, N_TERMS = (2500, 30) if JIT else (300, 10)
CUTS = (N_DOCS // 3, N_DOCS // 2)
WEIGHTS = (1e-6, 0.25, 40.0, 1e6)


def similarities(random, signs):
    upper = np.triu(random.choice([0.0, 0.3, 0.7], (N_TERMS, N_TERMS), p=[0.9, 0.05, 0.05]), 1)
    upper *= random.choice(signs, upper.shape)
    return similarity_matrix(upper + upper.T + np.eye(N_TERMS))


def counts(random):
    X = np.where(random.random((N_DOCS, N_TERMS)) < 0.8, 0, random.integers(1, 6, N_TERMS))
    X[random.integers(0, N_DOCS, N_DOCS // 5)] = X[0]  # ties
    X[random.integers(0, N_DOCS, N_DOCS // 5)] = 0
    return X * 1.0


def query(random, n_words):
    terms = np.sort(random.choice(N_TERMS, n_words, replace=False)).astype(np.int32)
    return QueryVector(terms, random.choice([1.0, 0.7, 3.3], n_words))


def made(random, weights, dimensions, signs=(1.0,), live=None, ranking="soft_bm25", slope=1.0):
    """Words of several fields, and meaning."""
    S = similarities(random, signs)
    settings = {"cuts": CUTS, "live": live}
    spaces = [
        space_of(counts(random), S, ranking, Weighting(), field=field, **settings)
        for field in range(len(weights))
    ]
    vectors = random.integers(-127, 128, (N_DOCS, dimensions)).astype(np.int8)
    vectors[random.integers(0, N_DOCS, N_DOCS // 5)] = vectors[0]
    vectors[random.integers(0, N_DOCS, N_DOCS // 5)] = 0
    first, _, last = np.split(vectors, CUTS)
    own = [Coordinates.of(first), None, Coordinates.of(last)]  # a segment that was not encoded
    return summed(spaces, weights).ranking, meaning_of(spaces, own, slope)


def meaning_of(spaces, coordinates, slope=1.0):
    segments = [
        [part.segment for part in parts] for parts in zip(*(s.parts for s in spaces), strict=True)
    ]
    return Meaning(segments, [part.first for part in spaces[0].parts], coordinates, slope)


def searched(words, meaning, weight, query, k, least=0.0, allowed=None):
    ranking = Sum(words.segments, ((1.0, words), (weight, meaning)))
    (top,) = ranking.best([query], Limits(k=k, min_score=least, allowed=allowed))
    return (top.documents.tolist(), top.scores.tolist()), top.plan


def best(words, meaning, weight, query, k, least, allowed):
    """Ids and scores of the definition, by the exact routines alone."""
    documents = np.flatnonzero(allowed)
    of_words = words.prepare(query).exact(documents)
    cosines = meaning.prepare(query).exact(documents)
    scores = of_words + weight * cosines
    hits = ((of_words > 0) | (cosines >= FLOOR)) & (scores > 0) & (scores >= least)
    order = np.lexsort((documents[hits], -scores[hits]))[:k]
    return documents[hits][order].tolist(), scores[hits][order].tolist()


@pytest.mark.parametrize("signs", [(1.0,), (1.0, -1.0)])
@pytest.mark.parametrize("weights", [(1.0,), (2.0, 1e-3)])
@pytest.mark.parametrize(
    ("dimensions", "ranking", "slope"),
    [
        (1, "soft_bm25", 1.0), (2, "soft_bm25", 1.0), (256, "soft_bm25", 1.0),
        (2, "soft_tf_bm25", 1.0), (2, "soft_bm25", 0.85), (256, "soft_tf_bm25", 8.5),
    ],
)  # fmt: skip
def test_searches_agree_with_a_pass_over_all_documents(dimensions, ranking, slope, weights, signs):
    random = np.random.default_rng(dimensions + 1)
    live, where = random.random(N_DOCS) < 0.8, random.random(N_DOCS) < 0.6
    words, meaning = made(random, weights, dimensions, signs, live, ranking, slope)
    for n_words, weight, k in zip((0, 1, 2, 5), WEIGHTS, (1, 7, 50, N_DOCS), strict=True):
        vectors = [query(random, n_words) for _ in weights]
        near = random.choice(meaning.coordinates[0].vectors)
        unit = near / 64 + random.standard_normal(dimensions)
        terms = vectors[0].terms[:n_words].tolist() if n_words in (1, 2) else []
        third = float(np.float32(1 / 3))
        every = tuple(
            (((term,), 1.0), (((term + 1) % N_TERMS, (term + 2) % N_TERMS), third))
            for term in terms
        )
        asked = ReadyQuery(tuple(vectors), unit / np.linalg.norm(unit), every)
        _, scores = best(words, meaning, weight, asked, k, 0.0, live)
        middle = scores[len(scores) // 2] if scores else 1.0
        for least in (0.0, middle, np.nextafter(middle, np.inf)):
            for mask in (None, where):
                among = live if mask is None else live & mask
                right = best(words, meaning, weight, asked, k, least, among)
                allowed = None if mask is None else np.split(mask, CUTS)
                found, plan = searched(words, meaning, weight, asked, k, least, allowed)
                assert found == right
                fast = MEANING_ALONE if n_words == 0 else MEANING
                assert plan == fast or (plan == MEANING_ALL and -1.0 in signs)


@pytest.mark.parametrize("slope", [1.0, 0.9, 4.7])
def test_cosines_that_differ_in_the_last_bits_are_told_apart(slope):
    random = np.random.default_rng(0)
    words, meaning = made(random, (1.0,), 2, slope=slope)
    nothing, every = query(random, 0), np.ones(N_DOCS, bool)
    for angle in np.linspace(0.0, 2 * np.pi, 25):
        asked = ReadyQuery((nothing,), np.array([np.cos(angle), np.sin(angle)]))
        for k in (1, 10, 100):
            right = best(words, meaning, 1.0, asked, k, 0.0, every)
            assert searched(words, meaning, 1.0, asked, k)[0] == right


@pytest.mark.parametrize("slope", [1.0, 0.9, 4.7])
def test_the_floor_is_that_of_the_exact_cosine(slope):
    # Exact cosines of about FLOOR, in float32 above or below it; the query has no words.
    random = np.random.default_rng(0)
    words, _ = made(random, (1.0,), 2)
    vectors = np.stack([np.arange(N_DOCS) % 127 + 1, np.zeros(N_DOCS)], axis=1).astype(np.int8)
    own = [Coordinates.of(some) for some in np.split(vectors, CUTS)]
    meaning = meaning_of([words.summands[0][1]], own, slope)
    nothing, floor = query(random, 0), 1 - (1 - FLOOR) / slope
    every = np.ones(N_DOCS, bool)
    for first in (floor, np.nextafter(floor, 0), np.nextafter(floor, 1), floor * (1 + 1e-8)):
        asked = ReadyQuery((nothing,), np.array([first, np.sqrt(1 - first**2)]))
        right = best(words, meaning, 40.0, asked, N_DOCS, 0.0, every)
        assert searched(words, meaning, 40.0, asked, N_DOCS)[0] == right


def test_documents_below_the_floor_exclude_no_hit():
    X = np.zeros((3, 2))
    X[2, 0] = 1.0
    space = space_of(X, similarity_matrix(np.eye(2)), "soft_bm25", Weighting())
    own = Coordinates.of(np.array([[19, 100], [15, 100], [0, 1]], np.int8))
    words, meaning = summed([space], [1.0]).ranking, meaning_of([space], [own])
    vector = QueryVector(np.array([0], np.int32), np.array([1e-3]))
    asked = ReadyQuery((vector,), np.array([1.0, 0.0]))
    assert searched(words, meaning, 1e6, asked, 1)[0][0] == [2]
