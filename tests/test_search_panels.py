"""Columns of frequent terms and panels of queries change the time of a search, but no bit."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from scipy.sparse import csr_array

from conftest import JIT
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.spaces import plan
from softcosine.index.spaces import segment_table as columns
from softcosine.index.spaces import words as panel
from softcosine.index.spaces.segment_table import frequent_columns, halves
from softcosine.kernels.panel import PANEL
from softcosine.text.weighting import Weighting
from toys import same, searcher_of, similarity_matrix, slowly

N_DOCS, N_TERMS = (2500, 40) if JIT else (100, 12)
CASES = [
    ("soft_cosine", Weighting()),
    ("soft_bm25", Weighting()),
    ("inner_product", Weighting("bm25", "smooth")),
    ("expanded_cosine", None),
    ("soft_cosine", None),
]


def collection(generator, *, real):
    """A third of the terms in nearly every document, a third in some, a third in few; ties."""
    density = np.repeat([0.9, 0.3, 0.02], N_TERMS)[::3][:N_TERMS]
    values = [0.3, 0.1 + 0.2, 1.7] if real else [1, 1, 1, 2, 300]
    X = generator.choice(values, (N_DOCS, N_TERMS)).astype(float)
    X[generator.random(X.shape) >= density] = 0
    X[generator.integers(0, N_DOCS, 40)] = X[0]
    X[generator.integers(0, N_DOCS, 5)] = 0
    return csr_array(X)


def searching_for(ranking, weighting, seed=0, cuts=()):
    generator = np.random.default_rng(seed)
    X = collection(generator, real=weighting is None)
    upper = np.triu(np.where(generator.random((N_TERMS, N_TERMS)) < 0.1, 0.3, 0), 1)
    S = similarity_matrix(upper + upper.T + np.eye(N_TERMS))
    return searcher_of(X, S, ranking, weighting, cuts=cuts)


def queries(n, seed=0):
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        terms = np.flatnonzero(generator.random(N_TERMS) < generator.choice([0.05, 0.5]))
        found.append(QueryVector(terms.astype(np.int32), generator.random(len(terms)) + 0.1))
    return found


def searched_slowly(searching, query, **settings):
    with slowly():
        return searching.search(query, **settings)


@pytest.mark.parametrize(("ranking", "weighting"), CASES)
@pytest.mark.parametrize("share", [1, 4, 50])
def test_columns_change_no_bit(ranking, weighting, share):
    with patch.multiple(columns, _SHARE=share, _FEWEST_DOCUMENTS=1):
        searching = searching_for(ranking, weighting)
        part = searching.space.parts[0]
        assert (frequent_columns(part.segment, part.ranking).values.shape[0] > 0) == (share > 1)
    for k, bound in ((1, 0.0), (10, 0.0), (10, 0.05), (N_DOCS, -np.inf)):
        for query in queries(6):
            fast = searching.search(query, k=k, min_score=bound)
            assert same(fast, searched_slowly(searching, query, k=k, min_score=bound))


@pytest.mark.parametrize(("ranking", "weighting"), CASES)
@pytest.mark.parametrize("n_queries", [2, PANEL, PANEL + 3])
def test_a_panel_changes_no_bit(ranking, weighting, n_queries):
    searching = searching_for(ranking, weighting, cuts=[N_DOCS // 3, N_DOCS // 2])
    asked = queries(n_queries)
    for settings in (
        {"k": 1},
        {"k": 10},
        {"k": 10, "min_score": 0.05},
        {"k": N_DOCS + 1, "positive": False, "min_score": -np.inf},
        {"k": 5, "sharing": True},
    ):
        alone = [searching.search(query, **settings) for query in asked]
        # Chunks of any size, and panels whatever they cost.
        with (
            patch.object(plan, "_PANEL_COST", -1.0),
            patch.object(panel, "_CHUNK", 130 if JIT else 70),
        ):
            for threads in (1, 3):
                together = searching.search_batch(asked, threads=threads, **settings)
                assert all(same(*pair) for pair in zip(alone, together, strict=True))


def test_queries_that_float32_cannot_hold_may_stand_among_others():
    X = collection(np.random.default_rng(0), real=True)
    S = similarity_matrix(np.eye(N_TERMS) - 0.1 * (np.eye(N_TERMS, k=1) + np.eye(N_TERMS, k=-1)))
    searching = searcher_of(X, S, "inner_product")
    nothing = QueryVector(np.empty(0, np.int32), np.empty(0))
    asked = [*queries(3), nothing, *queries(3, seed=1)]
    alone = [searching.search(query, k=3) for query in asked]
    with patch.object(plan, "_PANEL_COST", -1.0):
        together = searching.search_batch(asked, k=3, threads=1)
    assert all(same(*pair) for pair in zip(alone, together, strict=True))
    assert len(together[3].documents) == 0


def test_the_first_of_equal_documents_comes_first_across_chunks():
    X = csr_array(np.ones((50, 2)))
    searching = searcher_of(X, similarity_matrix(np.eye(2)), weighting=Weighting(), cuts=[20, 21])
    query = QueryVector(np.array([1], np.int32), np.ones(1))
    with patch.object(plan, "_PANEL_COST", -1.0), patch.object(panel, "_CHUNK", 7):
        for top in searching.search_batch([query] * 3, k=9, threads=1):
            assert top.documents.tolist() == list(range(9))


def test_halves_are_rounded_to_nearest():
    values = np.random.default_rng(0).random(1000, np.float32) * 1e3
    back = (halves(values).astype(np.uint32) << 16).view(np.float32)
    assert np.all(np.abs(back - values) <= values * 2.0**-8)


def test_a_matrix_of_zeros_is_searched_in_vain():
    searching = searcher_of(csr_array((40, 30)), similarity_matrix(np.eye(30)), "inner_product")
    query = QueryVector(np.arange(30, dtype=np.int32), np.ones(30))
    with patch.object(plan, "_PANEL_COST", -1.0):
        for top in searching.search_batch([query] * 2, k=3, threads=1):
            assert len(top.documents) == 0
