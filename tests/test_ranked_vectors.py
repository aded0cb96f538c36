"""Vectors of an index: their dot products are its scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as own
from softcosine import SoftIndex, SoftNeighbors
from softcosine.index.search.execution import Search, SearchRequest
from softcosine.index.search.ranked_vectors import RankedVectors
from toys import similarity_matrix

RANKINGS = ["soft_cosine", "inner_product", "expanded_cosine", "soft_bm25"]


@given(own.collections(), st.sampled_from(RANKINGS), st.integers(1, 5))
def test_products_of_vectors_are_scores(c, ranking, rows):
    S = similarity_matrix(c.S)
    neighbors = SoftNeighbors(S, ranking=ranking).fit(c.counts)
    vectors = RankedVectors(neighbors.searcher_)
    blocks = list(vectors.documents(rows=rows))
    numbers = np.concatenate([np.empty(0, np.int64), *(own for own, _ in blocks)])
    assert numbers.tolist() == list(range(len(c.counts)))
    assert len(vectors) == len(c.counts)
    queries = vectors.queries(neighbors.query_vectors(c.queries)).expanded(S)
    matches = neighbors.search(c.queries, k=max(1, len(c.counts)))
    for query, (ids, scores) in enumerate(zip(matches.ids, matches.scores, strict=True)):
        expected = np.zeros(len(c.counts))
        expected[ids] = scores
        products = [(block @ queries[[query]].T).toarray().ravel() for _, block in blocks]
        np.testing.assert_allclose(np.concatenate([[], *products]), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("ranking", RANKINGS)
def test_words_outside_and_deleted_documents_count_as_in_a_search(tmp_path, ranking):
    texts = ["a puncture in the tyre", "tea is cold", "the bicycle stands outside", "hot soup"]
    SoftIndex.from_texts(texts, encoder=None).save(tmp_path / "faq")
    index = SoftIndex.open(tmp_path / "faq")
    with index.writer() as writer:
        writer.delete("1")
    (searcher,) = index.searcher(ranking).searchers
    vectors = RankedVectors(searcher)
    asked = ["kitten motorcycle", "drinks tyre", "qqqq"]
    search = Search.of_queries(index.snapshot, SearchRequest(ranking=ranking, ask="words"), None)
    queries = vectors.queries([one.vectors[0] for one in search.all_ready(asked)])
    assert queries.outside.nnz > 0
    expanded = queries.expanded(index.S)
    (numbers, rows), *_ = vectors.documents()
    assert len(vectors) == 3
    for number, query in enumerate(asked):
        found = {hit.id: hit.score for hit in index.search(query, ranking=ranking)}
        products = (rows @ expanded[[number]].T).toarray().ravel()
        for document, score in zip(numbers.tolist(), products.tolist(), strict=True):
            expected = found.get(index.documents.id(document), 0.0)
            assert score == pytest.approx(expected, rel=1e-9, abs=1e-12)
