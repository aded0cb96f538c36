"""The pairs of S as learnable parameters, and products of documents as functions of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._ragged import running_sum
from softcosine.errors import InvalidInputError
from softcosine.kernels.pair_products import (
    count_pair_products,
    fill_pair_products,
    sampled_products,
)
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PairPattern:
    """Pairs of different terms with an entry in a symmetric S, numbered.

    Attributes
    ----------
    S : TermSimilarityMatrix
    rows, columns : ndarray of shape (n_pairs,), int32
        Terms i < j of every pair.
    given : ndarray of shape (n_pairs,), float64
        s_ij.
    """

    S: TermSimilarityMatrix
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    given: _Floats
    _pointers: NDArray[np.int64]
    _terms: NDArray[np.int32]
    _pairs: NDArray[np.int32]

    @classmethod
    def of(cls, S: TermSimilarityMatrix) -> PairPattern:
        """Return the pairs of S, numbered row by row.

        Raises
        ------
        InvalidInputError
            If S is asymmetric or has negative entries.
        """
        checked_similarity(S).require_symmetric("learning its pairs")
        if not S.non_negative:
            raise InvalidInputError(
                "S has negative entries; learned similarities are 0 or more. Build S from a "
                "source, or replace them by 0."
            )
        indptr, indices, data = S.arrays
        numbers = np.repeat(np.arange(len(S), dtype=np.int32), np.diff(indptr))
        off = (numbers != indices) & (data != 0)
        rows, columns = numbers[off], indices[off]
        upper = rows < columns
        pointers = running_sum(np.bincount(rows, minlength=len(S)))
        # Entries above the diagonal are in ascending order of pairs, and so are those below it once
        # transposed.
        pairs = np.empty(len(rows), np.int32)
        n_pairs = int(upper.sum())
        pairs[upper] = np.arange(n_pairs, dtype=np.int32)
        below = np.flatnonzero(~upper)
        pairs[below[np.lexsort((rows[below], columns[below]))]] = np.arange(n_pairs, dtype=np.int32)
        return cls(
            S,
            np.ascontiguousarray(rows[upper]),
            np.ascontiguousarray(columns[upper]),
            data[off][upper].astype(np.float64),
            pointers,
            np.ascontiguousarray(columns),
            pairs,
        )

    def __len__(self) -> int:
        return len(self.given)

    def products(
        self, X: csr_array, Y: csr_array, x_rows: NDArray[np.int64], y_rows: NDArray[np.int64]
    ) -> csr_array:
        """Return the contribution of each pair to the inner products of rows of X with rows of Y.

        The soft inner product of the rows p is ``x @ y + (products @ similarities)[p]``.

        Parameters
        ----------
        X, Y : csr_array of shape (any, n_terms), float64
        x_rows, y_rows : ndarray of shape (n,), int64

        Returns
        -------
        csr_array of shape (n, n_pairs), float64
            Unordered; an entry is stored twice where both documents have both terms.
        """
        operands = (*_arrays(X), *_arrays(Y), x_rows, y_rows, self._pointers, self._terms)
        scratch, counts = np.zeros(len(self.S)), np.empty(len(x_rows), np.int64)
        count_pair_products(*operands, scratch, counts)
        starts = running_sum(counts)
        pairs, values = np.empty(starts[-1], np.int32), np.empty(starts[-1])
        fill_pair_products(*operands, self._pairs, scratch, starts, pairs, values)
        if starts[-1] <= np.iinfo(np.int32).max:
            starts = starts.astype(np.int32)
        return csr_array((values, pairs, starts), shape=(len(x_rows), len(self)))

    def sampled(self, left: _Floats, right: _Floats) -> _Floats:
        """Return ``left[i] @ right[j] + left[j] @ right[i]`` for every pair, shape (n_pairs,).

        Parameters
        ----------
        left, right : ndarray of shape (n_terms, any), float64
        """
        out = np.empty(len(self))
        sampled_products(
            self.rows, self.columns, np.ascontiguousarray(left), np.ascontiguousarray(right), out
        )
        return out

    def with_diagonal(self, values: _Floats, diagonal: _Floats) -> csr_array:
        """Return the symmetric matrix of pairs and diagonal, (n_terms, n_terms), float64."""
        n = len(self.S)
        numbers = np.arange(n, dtype=np.int32)
        rows = np.concatenate([self.rows, self.columns, numbers])
        columns = np.concatenate([self.columns, self.rows, numbers])
        return csr_array((np.concatenate([values, values, diagonal]), (rows, columns)), (n, n))

    def normalized(
        self, values: _Floats, diagonal: _Floats, **settings: Any
    ) -> tuple[TermSimilarityMatrix, _Floats]:
        """Return a symmetric matrix M as S with unit diagonal and term weights W: M = W S W.

        Parameters
        ----------
        values : ndarray of shape (n_pairs,), float64
            Entries of the pairs; zeros are left out.
        diagonal : ndarray of shape (n_terms,), float64
            Above 0.
        **settings
            Added to the settings of S.

        Returns
        -------
        S : TermSimilarityMatrix
        term_weights : ndarray of shape (n_terms,), float64
        """
        weights = np.sqrt(diagonal)
        scaled = values / (weights[self.rows] * weights[self.columns])
        matrix = self.with_diagonal(scaled, np.ones(len(self.S))).astype(np.float32)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        S = TermSimilarityMatrix.from_entries(
            matrix,
            self.S.vocabulary,
            representatives=self.S.representatives,
            settings={**self.S.settings, **settings},
        )
        return S, weights


def own_products(pattern: PairPattern, X: csr_array) -> csr_array:
    """Return the contribution of each pair to every squared soft norm, (n_docs, n_pairs)."""
    numbers = np.arange(X.shape[0])
    products = pattern.products(X, X, numbers, numbers)
    products.sum_duplicates()
    return products


def _arrays(X: csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32], _Floats]:
    return (
        np.require(X.indptr, np.int64, "C"),
        np.require(X.indices, np.int32, "C"),
        np.require(X.data, np.float64, "C"),
    )
