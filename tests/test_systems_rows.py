"""Rows ranked by products: the total order, and bits that depend on nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from softcosine.evaluate.systems import rows as rows_module
from softcosine.evaluate.systems.rows import DenseRows, SparseRows, best, unit_rows

VALUES = (0.0, 0.0, 1.0, 0.1, 0.3, -0.3, 1e-9)


@st.composite
def matrices(draw, *, signed=True):
    """Rows of few values, so that many products are equal, or differ by rounding alone."""
    width = draw(st.integers(1, 6))
    values = st.sampled_from(VALUES if signed else tuple(map(abs, VALUES)))
    row = st.lists(values, min_size=width, max_size=width)
    distinct = draw(st.lists(row, min_size=1, max_size=5))
    picks = st.lists(st.integers(0, len(distinct) - 1), min_size=1, max_size=12)
    documents = [distinct[i] for i in draw(picks)]
    queries = draw(st.lists(row, min_size=1, max_size=4))
    return np.array(documents), np.array(queries)


def check(rows, documents, queries, take):
    everything = np.arange(len(documents))
    scores = rows.scored(take(queries, slice(None)), [everything] * len(queries))
    np.testing.assert_allclose(scores, queries @ documents.T, atol=1e-12)
    for k in (1, 3, len(documents) + 2):
        ranked = rows.ranked(take(queries, slice(None)), k=k)
        for row, own in enumerate(scores):
            expected = sorted(everything.tolist(), key=lambda n, own=own: (-own[n], n))
            expected = [n for n in expected if own[n] != 0][:k]
            assert [n for n in ranked.numbers[row].tolist() if n >= 0] == expected
            assert ranked.scores[row].tolist() == [*own[expected], *[0.0] * (k - len(expected))]
            alone = rows.ranked(take(queries, slice(row, row + 1)), k=k)
            assert alone.scores[0].tolist() == ranked.scores[row].tolist()
            assert alone.numbers[0].tolist() == ranked.numbers[row].tolist()


@given(matrices())
def test_dense_rows_rank_by_exact_products_then_by_number(pair):
    documents, queries = pair
    check(DenseRows(documents), documents, queries, lambda queries, part: queries[part])


@given(matrices(signed=False))
def test_sparse_rows_rank_by_exact_products_then_by_number(pair):
    documents, queries = pair
    rows = SparseRows(csr_array(documents))
    check(rows, documents, queries, lambda queries, part: csr_array(queries[part]))


@pytest.mark.parametrize("kind", [DenseRows, lambda X: SparseRows(csr_array(X))])
def test_blocks_of_queries_change_nothing(monkeypatch, kind):
    rng = np.random.default_rng(3)
    documents, queries = rng.random((40, 7)), rng.random((9, 7))
    documents[20:] = documents[:20]
    given = queries if kind is DenseRows else csr_array(queries)
    whole = kind(documents).ranked(given, k=5)
    monkeypatch.setattr(rows_module, "_BLOCK", 80)  # two queries at a time
    cut = kind(documents).ranked(given, k=5)
    np.testing.assert_array_equal(whole.numbers, cut.numbers)
    np.testing.assert_array_equal(whole.scores, cut.scores)


def test_negative_scores_are_found_after_positive_ones_and_zeros_are_not():
    numbers, scores = best(np.arange(5), np.array([-1.0, 0.0, 2.0, -0.5, 2.0]), k=9)
    assert numbers.tolist() == [2, 4, 3, 0]
    assert scores.tolist() == [2.0, 2.0, -0.5, -1.0]


def test_rows_without_a_direction_become_zero():
    dense = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [1e-17, 0.0]]))
    np.testing.assert_allclose(dense, [[0.6, 0.8], [0, 0], [0, 0]])
    sparse = unit_rows(csr_array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(sparse.toarray(), [[0.6, 0.8], [0, 0]])
