"""SNOS that stores only the largest similarities, for graphs of any size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, hstack

from softcosine._ragged import running_sum
from softcosine._threads import for_each_chunk
from softcosine.lab.kernels.snos import choose_pairs, mirror_rows, weigh_pairs
from softcosine.lab.snos.kinds import Influence, Kind
from softcosine.lab.snos.trace import Change

_CHUNK_ROWS = 256

# Number of rounds that choose the entries to keep; later rounds only change their values, so that
# they converge like full matrices.
_CHOOSING_ROUNDS = 3

# In the choice of pairs, the cost of a row of a truncated matrix, in additions.
_STEPS = 1 << 15


class SparseLearner:
    """Rounds over sparse matrices.

    Every object chooses its `limit` most similar ones in each of the first rounds; ties go to lower
    numbers. A pair is kept if either chooses it, so matrices are symmetric and hold at most
    ``2 limit n`` entries. Results are the same bits on any number of threads.

    Parameters
    ----------
    kinds : sequence of Kind
    start : sequence of csr_array
        Similarities of each kind off the diagonal, symmetric, float64.
    limit : int, optional
        By default nothing is left out.

    Attributes
    ----------
    S : list of csr_array
        Off the diagonal.
    diagonals : list of ndarray
        Each diagonal before it was set to 1.
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
        squares, greatest, largest, cut = 0.0, 0.0, 0.0, False
        for number, kind in enumerate(self._kinds):
            old = self.S[number] if kind.measured else None
            if choosing:
                self.S[number], left_out = self._chosen(number)
                cut = cut or left_out
            self.S[number] = new = self._weighed(number)
            if old is not None:
                changes = np.abs((new - old).data if choosing else new.data - old.data)
                squares += float(np.sum(np.square(changes)))
                greatest = max(greatest, float(changes.max(initial=0.0)))
                largest = max(largest, float(new.data.max(initial=0.0)))
        # If nothing was left out, all rounds are the same map.
        same = not cut if choosing else self._n_rounds > _CHOOSING_ROUNDS + 1
        return Change(float(np.sqrt(squares)), greatest, largest, len(self._kinds) == 2 and same)

    def _chosen(self, number: int) -> tuple[csr_array, bool]:
        """Return the pairs of a kind to keep, as a matrix of ones, and whether any were dropped."""
        kind, (C, T, means) = self._kinds[number], self._relations[number]
        arrays = *_arrays(C), *_arrays(self._others(number)), *_arrays(T), means
        limit = max(1, kind.n - 1 if self._limit is None else min(self._limit, kind.n - 1))
        budget = np.iinfo(np.int64).max if self._limit is None else _STEPS
        counts, cut = np.zeros(kind.n, np.int64), np.zeros(kind.n, np.bool_)
        parts: dict[int, NDArray[np.int32]] = {}

        def work(first: int, last: int) -> None:
            columns = np.empty((last - first, limit), np.int32)
            rows = slice(first, last)
            choose_pairs(*arrays, first, last, limit, budget, columns, counts[rows], cut[rows])
            parts[first] = columns[np.arange(limit) < counts[rows, None]]

        for_each_chunk(work, kind.n, chunk=_CHUNK_ROWS)
        columns = np.concatenate([np.empty(0, np.int32), *(parts.pop(i) for i in sorted(parts))])
        starts = running_sum(counts)
        ones = np.ones(len(columns), np.bool_)
        chosen = csr_array((ones, columns, starts), shape=(kind.n, kind.n))
        return csr_array(chosen + chosen.T), bool(cut.any())

    def _weighed(self, number: int) -> csr_array:
        """Similarities of the kept pairs of a kind, in its current matrix."""
        kind, (C, _, _), others = self._kinds[number], self._relations[number], self._others(number)
        arrays = *_arrays(C), *_arrays(others)
        pattern = _with_small_indices(self.S[number])
        starts, columns = pattern.indptr, pattern.indices
        own, values = np.zeros(kind.n), np.zeros(len(columns))

        def work(first: int, last: int) -> None:
            weigh_pairs(*arrays, first, last, starts, columns, values, own)

        for_each_chunk(work, kind.n, chunk=_CHUNK_ROWS)
        mirror_rows(starts, columns, values, starts[:-1].copy())
        self.diagonals[number] = own
        return csr_array((values, columns, starts), shape=pattern.shape)

    def _others(self, number: int) -> csr_array:
        """Similarities of the kinds from which one is learned, as one matrix."""
        sources = [self.S[influence.of] for influence in self._kinds[number].influences]
        return sources[0] if len(sources) == 1 else _with_small_indices(block_diag(sources, "csr"))


def _relation(influences: Sequence[Influence]) -> tuple[csr_array, csr_array, NDArray[np.float64]]:
    """Return the influences side by side, the transpose, and the mean weight in its rows."""
    C = _with_small_indices(hstack([influence.C for influence in influences], "csr"))
    T = _with_small_indices(csr_array(C.T))
    return C, T, np.asarray(T.sum(axis=1)) / np.maximum(np.diff(T.indptr), 1)


def _arrays(S: csr_array) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    return S.indptr, S.indices, S.data


def _with_small_indices(S: csr_array) -> csr_array:
    """Matrix with sorted 32-bit indices."""
    S = csr_array(S)
    S.sort_indices()
    parts = S.data, S.indices.astype(np.int32, copy=False), S.indptr.astype(np.int32, copy=False)
    return csr_array(parts, shape=S.shape)
