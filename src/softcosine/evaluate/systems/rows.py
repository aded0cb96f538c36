"""Documents as rows of a matrix, ranked by their products with queries in one total order.

A score has the same bits for one query or a batch, and for ranking or scoring: matrix products,
whose bits depend on their shapes, only select candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.evaluate.systems.system import Ranked

_BLOCK = 1 << 22  # scores held at once
_VANISHED = 1e-9  # shorter rows are rounding errors of zero
_EPSILON = float(np.finfo(np.float64).eps)


class Rows(Protocol):
    """Matrix of documents that is multiplied with queries of the same width."""

    def ranked(self, queries: Any, *, k: int) -> Ranked:
        """Return the `k` best documents for each query."""
        ...

    def scored(
        self, queries: Any, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Return the scores of given documents for each query."""
        ...


def best(
    numbers: NDArray[np.int64], scores: NDArray[np.float64], *, k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the k best documents with a score other than 0; equal scores in document order."""
    found = np.flatnonzero(scores)
    numbers, scores = numbers[found], scores[found]
    if len(scores) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        among = np.flatnonzero(scores >= least)
        numbers, scores = numbers[among], scores[among]
    order = np.lexsort((numbers, -scores))[:k]
    return numbers[order], scores[order]


def ranked_lists(
    lists: Iterable[tuple[NDArray[np.int64], NDArray[np.float64]]], *, n_queries: int, k: int
) -> Ranked:
    """Return the results of all queries; each list can have fewer than k documents."""
    numbers = np.full((n_queries, k), -1, np.int64)
    scores = np.zeros((n_queries, k))
    for row, (own_numbers, own_scores) in enumerate(lists):
        numbers[row, : len(own_numbers)] = own_numbers
        scores[row, : len(own_scores)] = own_scores
    return Ranked(numbers, scores)


def unit_rows(matrix: Any) -> Any:
    """Return the rows, sparse or dense, divided by their lengths; vanishing rows become zero."""
    if isinstance(matrix, csr_array):
        lengths = np.sqrt(np.asarray((matrix * matrix).sum(axis=1), np.float64))
        unit = matrix.copy()
        unit.data = unit.data * np.repeat(_reciprocal(lengths, 0.0), np.diff(unit.indptr))
        return unit
    lengths = np.sqrt((matrix * matrix).sum(axis=1))
    return np.ascontiguousarray(matrix * _reciprocal(lengths, _VANISHED)[:, None])


def _reciprocal(lengths: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > least)


class SparseRows:
    """Sparse documents over terms; a score is a sum over the query's terms in their order.

    Parameters
    ----------
    rows : csr_array of shape (n_docs, n_terms), float64
    """

    def __init__(self, rows: csr_array) -> None:
        self._rows = rows
        self._postings = csr_array(rows.T.tocsr())

    def row(self, number: int) -> csr_array:
        """Return one document."""
        return self._rows[[number]]

    def ranked(self, queries: csr_array, *, k: int) -> Ranked:
        """Return the `k` best documents for each row of `queries`, sorted by terms."""
        size = max(1, _BLOCK // max(1, self._rows.shape[0]))

        def lists() -> Iterable[tuple[NDArray[np.int64], NDArray[np.float64]]]:
            for start in range(0, queries.shape[0], size):
                block = csr_array(queries[start : start + size] @ self._postings)
                for row in range(block.shape[0]):
                    own = slice(block.indptr[row], block.indptr[row + 1])
                    yield best(block.indices[own].astype(np.int64), block.data[own], k=k)

        return ranked_lists(lists(), n_queries=queries.shape[0], k=k)

    def scored(
        self, queries: csr_array, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Score given documents for each row of `queries`."""
        return [
            (queries[[row]] @ csr_array(self._rows[numbers].T.tocsr())).toarray().ravel()
            for row, numbers in enumerate(candidates)
        ]


class DenseRows:
    """Dense documents; a score is a scalar product in float64.

    A matrix product and a bound of its rounding errors select the documents that can be among the
    best; these are multiplied with the query one by one.

    Parameters
    ----------
    rows : ndarray of shape (n_docs, dimensions), float64
    """

    def __init__(self, rows: NDArray[np.float64]) -> None:
        self._rows = np.ascontiguousarray(rows, np.float64)
        self._lengths = np.sqrt((self._rows * self._rows).sum(axis=1))

    def ranked(self, queries: NDArray[np.float64], *, k: int) -> Ranked:
        """Return the `k` best documents for each row of `queries`."""
        if not self._lengths.any():  # their width can be unknown
            return ranked_lists((), n_queries=len(queries), k=k)
        n_docs, dimensions = self._rows.shape
        size = max(1, _BLOCK // max(1, n_docs))
        longest = float(self._lengths.max(initial=0.0))

        def lists() -> Iterable[tuple[NDArray[np.int64], NDArray[np.float64]]]:
            for start in range(0, len(queries), size):
                block = queries[start : start + size]
                products = block @ self._rows.T
                lengths = np.sqrt((block * block).sum(axis=1))
                slacks = 4.0 * (dimensions + 2) * _EPSILON * longest * lengths
                for query, scores, slack in zip(block, products, slacks.tolist(), strict=True):
                    numbers = _candidates(scores, self._lengths > 0.0, k=k, slack=slack)
                    yield best(numbers, self._products(query, numbers), k=k)

        return ranked_lists(lists(), n_queries=len(queries), k=k)

    def scored(
        self, queries: NDArray[np.float64], candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Score given documents for each row of `queries`."""
        if not self._lengths.any():
            return [np.zeros(len(numbers)) for numbers in candidates]
        return [
            self._products(query, numbers)
            for query, numbers in zip(queries, candidates, strict=True)
        ]

    def _products(
        self, query: NDArray[np.float64], numbers: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        # A sum along a row has the same bits for any number of rows.
        products: NDArray[np.float64] = (self._rows[numbers] * query).sum(axis=1)
        return products


def _candidates(
    scores: NDArray[np.float64], usable: NDArray[np.bool_], *, k: int, slack: float
) -> NDArray[np.int64]:
    """Return the documents that can be among the k best with an exact score other than 0."""
    sure = scores[usable & (np.abs(scores) > slack)]
    if len(sure) <= k:
        return np.flatnonzero(usable)
    least = np.partition(sure, len(sure) - k)[len(sure) - k]
    return np.flatnonzero(usable & (scores >= least - 2.0 * slack))
