"""BM25 of soft frequencies: what it is without similarities, its bound, and where it is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import strategies as own
from softcosine.errors import InvalidInputError
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.requests import SearchOptions
from softcosine.index.search.execution import Search
from softcosine.index.search.vectors import RankedVectors
from softcosine.index.soft_index import SoftIndex
from softcosine.index.spaces.frequencies import SoftFrequencies
from softcosine.text.weighting import Weighting
from toys import ToySource, ready, searcher_of, similarity_matrix

RANKING = "soft_tf_bm25"


@given(own.collections(), st.sampled_from([0.0, 0.5, 1.6]))
def test_without_similarities_it_is_bm25(c, k1):
    S = similarity_matrix(np.eye(c.n_terms))
    searcher = searcher_of(c.counts, S, RANKING, Weighting(k1=k1))
    bm25 = oracle.soft_bm25(c.queries, c.counts, np.eye(c.n_terms), k1=k1)
    for row, right in zip(c.queries, bm25, strict=True):
        found = searcher.scores(vector(row, searcher), np.arange(c.n_docs))
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12)


@given(own.collections(matrices=own.similarity_matrices))
def test_a_word_adds_no_more_than_its_own_frequency_could(c):
    """However many similar words a document has."""
    S = similarity_matrix(c.S)
    searcher = searcher_of(c.counts, S, RANKING, Weighting())
    idf, k1 = searcher.space.ranking.term_weights, searcher.space.ranking.k1
    for row in c.queries:
        found = searcher.scores(vector(row, searcher), np.arange(c.n_docs))
        assert (found <= (row @ idf) * (k1 + 1) * (1 + 1e-12)).all()


@given(
    own.collections(matrices=own.similarity_matrices),
    st.sampled_from([0.0, 1e-12, 0.5, 1.6]),
    st.sampled_from([0.0, 0.75, 1.0]),
)
def test_a_sum_of_bounding_weights_times_impacts_is_at_least_the_score(c, k1, b):
    searcher = searcher_of(c.counts, similarity_matrix(c.S), RANKING, Weighting(k1=k1, b=b))
    impacts = oracle.tf(c.counts, "bm25", k1=k1, b=b).T
    assert searcher.space.greatest_impacts == pytest.approx(impacts.max(axis=1), rel=1e-9)
    for row in c.queries:
        query = vector(row, searcher)
        bounding = searcher.space.prepare(ready(query)).bounding(searcher.space.greatest_impacts)
        scores = searcher.scores(query, np.arange(c.n_docs))
        assert (bounding.weights >= 0).all()
        bounds = bounding.weights @ impacts[bounding.terms]
        assert (scores <= bounds * (1 + 1e-9)).all()
        if np.array_equal(c.S, np.eye(c.n_terms)):
            assert bounds == pytest.approx(scores, rel=1e-9)


def test_the_bound_of_one_similar_word_is_met_where_it_is_most_frequent():
    index = SoftIndex.from_texts(
        ["b b b b", "b", "c c"], source=ToySource({("a", "b"): 0.5}, known=["c"]), language="none",
    )  # fmt: skip
    ((_, space),) = index.words().summands
    (query,) = Search.of(index.snapshot, SearchOptions(ask="words")).all_ready(["a"])
    bounding = space.prepare(query).bounding(space.greatest_impacts)
    bound = bounding.weights @ space.greatest_impacts[bounding.terms]
    assert bound == pytest.approx(index.search("a").hits[0].score, rel=1e-5)


def vector(row, searcher):
    terms = np.flatnonzero(row).astype(np.int32)
    return QueryVector(terms, row[terms] * searcher.space.ranking.term_weights[terms])


def test_similar_units_do_not_drown_the_other_word():
    texts = ["KiB MiB GiB " * 20, "swap of one KiB"] + ["nothing of it"] * 8
    units = ("kib", "mib", "gib")
    pairs = {(a, b): 0.7 for a in units for b in units if a < b}
    source = ToySource(pairs, known=["swap"])
    index = SoftIndex.from_texts(texts, source=source, language="none")
    assert index.search("swap KiB", ranking="soft_bm25").hits[0].id == "0"
    hits = index.search("swap KiB", ranking=RANKING).hits
    assert [hit.id for hit in hits] == ["1", "0"]


def test_words_outside_the_vocabulary_have_soft_frequencies():
    texts = ["tyre tyre pump", "wheel", "pump of a wheel", "tea"]
    source = ToySource({("tire", "tyre"): 0.8, ("tire", "wheel"): 0.4})
    index = SoftIndex.from_texts(texts, source=source, language="none", ranking=RANKING)
    vocabulary = ["a", "of", "pump", "tea", "tire", "tyre", "wheel"]
    counts = np.array([[text.split().count(word) for word in vocabulary] for text in texts]) * 1.0
    S = np.eye(7)
    S[4, 5] = S[5, 4] = 0.8 / np.sqrt(1.2)  # balanced
    S[4, 6] = S[6, 4] = 0.4 / np.sqrt(1.2)
    (right,) = oracle.soft_tf_bm25(np.eye(7)[[4]] + np.eye(7)[[2]], counts, S, k1=1.6)
    found = {hit.id: hit.score for hit in index.search("tire pump").hits}
    assert found == pytest.approx({str(d): score for d, score in enumerate(right) if score > 0})
    for id, score in found.items():
        explained = index.explain("tire pump", id)
        assert explained.score == score
        assert sum(part.contribution for part in explained.parts) == pytest.approx(score)


def test_a_batch_and_documents_as_queries_have_the_scores_of_a_search():
    texts = ["bicycle tyre", "a bike and its tyre", "tea", "the cup of tea"]
    index = SoftIndex.from_texts(texts, ranking=RANKING)
    batch = index.search_batch(texts)
    assert batch == [index.search(text) for text in texts]
    assert next(hit.id for hit in index.similar("0", ranking=RANKING)) == "1"


def test_weights_of_snippets_are_those_without_saturation():
    S = similarity_matrix([[1, 0.5], [0.5, 1]])
    searcher = searcher_of([[1, 0], [0, 2], [1, 1]], S, RANKING, Weighting())
    query = QueryVector(np.array([0], np.int32), searcher.space.ranking.term_weights[:1])
    words = SoftFrequencies.of(S, searcher.space.ranking, query)
    idf, factor = searcher.space.ranking.term_weights, searcher.space.ranking.k1 + 1
    np.testing.assert_allclose(words.expanded.weights, np.array([1, 0.5]) * idf * factor)


def test_products_and_pairs_are_refused():
    index = SoftIndex.from_texts(["one tyre", "two tyres"], ranking=RANKING)
    with pytest.raises(InvalidInputError, match="scores by soft_tf_bm25 are not products"):
        RankedVectors(index.words().summands[0][1])
    with pytest.raises(InvalidInputError, match="pairs are not found by soft_tf_bm25"):
        index.pairs(min_similarity=0.5, ranking=RANKING)
