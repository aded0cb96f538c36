"""Entries of new terms, stored beside a large S that is not copied."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.kernels.assembly import append_to_rows, assemble_symmetric
from softcosine.matrix.entries import compressed
from softcosine.similarity.neighbors import Neighbors

__all__ = ["AddedColumns", "with_added"]


def with_added(S: csr_array, added: csr_array, new: NDArray[np.bool_]) -> csr_array:
    """Return S with the entries of new terms.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
        Column indices ascending; the rows and columns of new terms are empty.
    added : csr_array of shape (n_terms, n_terms), float32
        Column indices ascending; every entry belongs to a new term.
    new : ndarray of shape (n_terms,), bool
        If the new terms come last, S is copied once, row by row; otherwise the matrices are merged.
    """
    if added.nnz == 0:
        return S
    n_old = int(np.count_nonzero(~new))
    if new[:n_old].any():
        merged = csr_array(S + added, dtype=np.float32)
        merged.sort_indices()
        return merged
    # Here every added entry of an old row has a greater column than the old entries.
    indptr = S.indptr.astype(np.int64) + added.indptr
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    append_to_rows(*_arrays(S), *_arrays(added), indptr, indices, data)
    return compressed(indptr, indices, data)


class AddedColumns:
    """Entries that new terms add to a symmetric S; like `GrowingColumns`, without a copy of S.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
        The rows of new terms are empty; the other rows store the diagonal.
    new : ndarray of shape (n_terms,), bool
    limit : int
        Limit of off-diagonal entries per column; columns of S may have more.
    dominant : bool
        Whether the sum of a column's absolute entries must also stay below 1.
    """

    def __init__(
        self, S: csr_array, new: NDArray[np.bool_], *, limit: int, dominant: bool = False
    ) -> None:
        self._new = new
        self._limit = limit
        self._dominant = dominant
        self._counts = (np.diff(S.indptr) - ~new).astype(np.int32)
        self._sums = _sums_beside(S) if dominant else np.zeros(len(new), np.float64)
        numbers = np.flatnonzero(new).astype(np.int32)
        self._rows, self._columns = [numbers], [numbers]
        self._values = [np.ones(len(numbers), np.float32)]

    def enter(self, neighbors: Neighbors, order: NDArray[np.int32]) -> None:
        """Let new columns choose from their candidates, column by column.

        Parameters
        ----------
        neighbors : Neighbors
            Candidates of term i in row i, best first; none for old terms.
        order : ndarray of shape (n_choosing,), int32
            Columns that choose, in order; new ones only.
        """
        neighbors = self._not_held(neighbors)
        # The kernel gets the affected columns only, renumbered.
        touched = np.unique(np.concatenate([order, neighbors.indices])).astype(np.int32)
        n = len(touched)
        indptr = np.append(0, np.cumsum(np.diff(neighbors.indptr)[touched]))
        candidates = np.searchsorted(touched, neighbors.indices).astype(np.int32)
        before = self._counts[touched]
        named = np.diff(indptr) + np.bincount(candidates, minlength=n)
        width = int(np.minimum(before + named, self._limit).max(initial=0))
        # Existing entries are not among the candidates; they get a number that no candidate has.
        columns = np.full((n + 1, width), n, np.int32)
        values = np.zeros((n + 1, width), np.float32)
        counts, sums = np.append(before, np.int32(0)), np.append(self._sums[touched], 0.0)
        assemble_symmetric(
            np.append(indptr, indptr[-1]), candidates,
            np.ascontiguousarray(neighbors.similarities, np.float32),
            np.searchsorted(touched, order).astype(np.int32),
            self._limit, self._dominant, columns, values, counts, sums,
        )  # fmt: skip
        place = np.arange(width)
        fresh = (place >= before[:, None]) & (place < counts[:n, None])
        self._rows.append(np.repeat(touched, counts[:n] - before))
        self._columns.append(touched[columns[:n][fresh]])
        self._values.append(values[:n][fresh])
        self._counts[touched] = counts[:n]
        self._sums[touched] = sums[:n]

    def open(self) -> NDArray[np.bool_]:
        """Which columns are not full, shape (n_terms,)."""
        return np.asarray(self._counts < self._limit)

    def to_csr(self) -> csr_array:
        """Return the new entries with the diagonal of new terms, column indices ascending."""
        n = len(self._new)
        ends = (np.concatenate(self._rows), np.concatenate(self._columns))
        added = csr_array((np.concatenate(self._values), ends), shape=(n, n), dtype=np.float32)
        added.sort_indices()
        return added

    def _not_held(self, neighbors: Neighbors) -> Neighbors:
        """Return the candidates without pairs that were entered before."""
        if len(self._rows) == 1:  # only the diagonal
            return neighbors
        n = len(self._new)
        held = np.concatenate(self._rows).astype(np.int64) * n + np.concatenate(self._columns)
        stay = ~np.isin(neighbors.rows() * n + neighbors.indices, held)
        return neighbors.where(stay, max_neighbors=len(stay))


def _sums_beside(S: csr_array) -> NDArray[np.float64]:
    """Sum of the absolute off-diagonals of every row."""
    rows = np.repeat(np.arange(S.shape[0], dtype=np.int32), np.diff(S.indptr))
    sizes = np.where(rows == S.indices, np.float32(0.0), np.abs(S.data))
    return np.bincount(rows, weights=sizes, minlength=S.shape[0]).astype(np.float64)


def _arrays(
    S: csr_array,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    return (
        np.ascontiguousarray(S.indptr, np.int64),
        np.require(S.indices, np.int32, ["C", "W"]),
        np.require(S.data, np.float32, ["C", "W"]),
    )
