"""Columns of S that are filled pair by pair (theory T6)."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._ragged import running_sum
from softcosine.kernels.assembly import assemble_symmetric, lay_out_symmetric
from softcosine.matrix.entries import compressed
from softcosine.similarity.neighbors import Neighbors

__all__ = ["GrowingColumns"]


class GrowingColumns:
    """Off-diagonal entries of a symmetric S under construction, limited per column.

    Parameters
    ----------
    n_terms : int
    limit : int
        Limit of entries per column.
    dominant : bool
        Whether the sum of a column's absolute entries must also stay below 1.
    """

    def __init__(self, n_terms: int, *, limit: int, dominant: bool = False) -> None:
        self._limit = limit
        self._dominant = dominant
        self._columns = np.zeros((n_terms, 0), np.int32)
        self._values = np.zeros((n_terms, 0), np.float32)
        self._counts = np.zeros(n_terms, np.int32)
        self._sums = np.zeros(n_terms, np.float64)

    @classmethod
    def holding(cls, entries: csr_array, *, limit: int, dominant: bool = False) -> Self:
        """Return columns with the off-diagonal entries of a symmetric matrix, even beyond `limit`.

        Parameters
        ----------
        entries : csr_array of shape (n_terms, n_terms), float32
            Its diagonal is ignored.
        """
        made = cls(entries.shape[0], limit=limit, dominant=dominant)
        coo = entries.tocoo()
        (rows, columns), values = coo.coords, coo.data
        beside = rows != columns
        rows, columns, values = rows[beside], columns[beside], values[beside]
        counts = np.bincount(rows, minlength=entries.shape[0])
        made._widen(int(counts.max(initial=0)))
        used = np.arange(made._columns.shape[1]) < counts[:, None]
        made._columns[used], made._values[used] = columns, values
        made._counts[:] = counts
        np.add.at(made._sums, rows, np.abs(values).astype(np.float64))
        return made

    def enter(self, neighbors: Neighbors, order: NDArray[np.int32]) -> None:
        """Let columns choose from their candidates, column by column.

        A pair is entered on both sides, with the similarity of the choosing column, while neither
        column is full.

        Parameters
        ----------
        neighbors : Neighbors
            Candidates of term i in row i, best first.
        order : ndarray of shape (n_choosing,), int32
            Columns that choose, in order; others can only be chosen.
        """
        indptr = np.ascontiguousarray(neighbors.indptr, np.int64)
        indices = np.ascontiguousarray(neighbors.indices, np.int32)
        # Upper bound per column: its candidates, plus the columns with it as a candidate.
        named = np.diff(indptr) + np.bincount(indices, minlength=len(self._counts))
        self._widen(int(np.minimum(self._counts + named, self._limit).max(initial=0)))
        assemble_symmetric(
            indptr, indices, np.ascontiguousarray(neighbors.similarities, np.float32), order,
            self._limit, self._dominant, self._columns, self._values, self._counts, self._sums,
        )  # fmt: skip

    def open(self) -> NDArray[np.bool_]:
        """Which columns are not full, shape (n_terms,)."""
        return np.asarray(self._counts < self._limit)

    def to_csr(self) -> csr_array:
        """Return the entries with unit diagonal, column indices ascending."""
        indptr = running_sum(self._counts + 1)
        indices = np.empty(indptr[-1], np.int32)
        values = np.empty(indptr[-1], np.float32)
        lay_out_symmetric(
            self._columns, self._values, self._counts, indptr[:-1].copy(), indices, values
        )
        return compressed(indptr, indices, values)

    def _widen(self, width: int) -> None:
        more = width - self._columns.shape[1]
        if more > 0:
            self._columns = np.pad(self._columns, ((0, 0), (0, more)))
            self._values = np.pad(self._values, ((0, 0), (0, more)))
