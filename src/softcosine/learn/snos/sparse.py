"""SNOS that keeps the greatest similarities of everything, for graphs of any size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, hstack

from softcosine.kernels.snos import mirror_rows, spread_chosen, spread_kept
from softcosine.learn.snos.kinds import Influence, Kind
from softcosine.learn.snos.trace import Change
from softcosine.sources.threads import for_each_chunk

__all__ = ["SparseLearner"]

_CHUNK_ROWS = 256

# So many rounds choose which entries to keep; the later ones only change their values, so that
# they converge as those of whole matrices do.
_CHOOSING_ROUNDS = 5


class SparseLearner:
    """Rounds over sparse matrices.

    Every object chooses its `limit` most similar ones in each of the first rounds, ties by number;
    a pair stays that either chose, so that matrices are symmetric and hold at most ``2 limit n``
    entries. The same bits on any number of threads.

    Parameters
    ----------
    kinds : sequence of Kind
    start : sequence of csr_array
        Similarities of each kind off the diagonal, symmetric, float64.
    limit : int, optional
        Without one nothing is left out.

    Attributes
    ----------
    S : list of csr_array
        Off the diagonal.
    diagonals : list of ndarray
        What stood on each diagonal before it was set to 1.
    """

    def __init__(
        self, kinds: Sequence[Kind], start: Sequence[csr_array], limit: int | None
    ) -> None:
        self._kinds = kinds
        self._limit = limit
        self._n_rounds = 0
        self._relations = [_relation(kind.influences) for kind in kinds]
        self.S = [_with_small_indices(S) for S in start]
        self.diagonals = [np.zeros(kind.n) for kind in kinds]

    def round(self) -> Change:
        """Learn every kind once."""
        self._n_rounds += 1
        choosing = self._n_rounds <= _CHOOSING_ROUNDS
        squares, lost, greatest, largest = 0.0, 0.0, 0.0, 0.0
        for number, kind in enumerate(self._kinds):
            learn = self._chosen if choosing else self._kept
            S, left_out = learn(number)
            lost = max(lost, left_out)
            if kind.measured:
                changes = np.abs((S - self.S[number]).data if choosing else S.data - self.S[number].data)
                squares += float(np.sum(np.square(changes)))
                greatest = max(greatest, float(changes.max(initial=0.0)))
                largest = max(largest, float(S.data.max(initial=0.0)))
            self.S[number] = S
        # Where nothing was left out, all rounds are the same map.
        affine = len(self._kinds) == 2 and (lost == 0.0 or self._n_rounds > _CHOOSING_ROUNDS + 1)
        return Change(float(np.sqrt(squares)), greatest, largest, lost, affine)

    def _chosen(self, number: int) -> tuple[csr_array, float]:
        kind, arrays = self._kinds[number], self._arrays(number)
        limit = max(min(kind.n - 1, kind.n if self._limit is None else self._limit), 0)
        if not kind.measured:  # what it was is not asked for again
            self.S[number] = csr_array((kind.n, kind.n))
        lost, own = np.zeros(kind.n), np.zeros(kind.n)
        counts = np.zeros(kind.n, np.int64)
        parts: dict[int, tuple[NDArray[np.int32], NDArray[np.float64]]] = {}

        def work(first: int, last: int) -> None:
            columns = np.empty((last - first, limit), np.int32)
            values = np.empty((last - first, limit))
            spread_chosen(
                *arrays, first, last, limit, columns, values,
                counts[first:last], own[first:last], lost[first:last],
            )  # fmt: skip
            filled = np.arange(limit) < counts[first:last, None]
            parts[first] = columns[filled], values[filled]

        for_each_chunk(work, kind.n, chunk=_CHUNK_ROWS)
        self.diagonals[number] = own
        ordered = [parts.pop(first) for first in sorted(parts)]
        columns = np.concatenate([np.empty(0, np.int32), *(part[0] for part in ordered)])
        values = np.concatenate([np.empty(0), *(part[1] for part in ordered)])
        del ordered
        starts = np.zeros(kind.n + 1, np.int64)
        np.cumsum(counts, out=starts[1:])
        chosen = csr_array((values, columns, starts), shape=(kind.n, kind.n))
        both = _with_small_indices(csr_array(chosen.maximum(chosen.T)))
        return both, float(np.sqrt(lost.sum()))

    def _kept(self, number: int) -> tuple[csr_array, float]:
        kind, arrays, S = self._kinds[number], self._arrays(number), self.S[number]
        lost, own, values = np.zeros(kind.n), np.zeros(kind.n), np.zeros(S.nnz)

        def work(first: int, last: int) -> None:
            spread_kept(*arrays, first, last, S.indptr, S.indices, values, own, lost)

        for_each_chunk(work, kind.n, chunk=_CHUNK_ROWS)
        mirror_rows(S.indptr, S.indices, values, S.indptr[:-1].copy())
        self.diagonals[number] = own
        kept = csr_array((values, S.indices, S.indptr), shape=S.shape)
        return kept, float(np.sqrt(lost.sum()))

    def _arrays(self, number: int) -> list[NDArray[np.int32] | NDArray[np.float64]]:
        """Arrays of C, of the others' similarities and of Cᵀ, as the kernels take them."""
        sources = [self.S[influence.of] for influence in self._kinds[number].influences]
        S = sources[0] if len(sources) == 1 else _with_small_indices(block_diag(sources, "csr"))
        C, T = self._relations[number]
        return [array for M in (C, S, T) for array in (M.indptr, M.indices, M.data)]


def _relation(influences: Sequence[Influence]) -> tuple[csr_array, csr_array]:
    """Return the influences side by side, and the transpose."""
    C = hstack([influence.C for influence in influences], "csr")
    return _with_small_indices(C), _with_small_indices(csr_array(C.T))


def _with_small_indices(S: csr_array) -> csr_array:
    """Matrix with indices of 32 bits in order, float64."""
    S = csr_array(S, dtype=np.float64)
    S.sort_indices()
    parts = S.data, S.indices.astype(np.int32, copy=False), S.indptr.astype(np.int32, copy=False)
    return csr_array(parts, shape=S.shape)
