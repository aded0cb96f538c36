"""Exact nearest neighbours among unit vectors, in blocks; each pair of vectors is computed once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import report
from softcosine._threads import Workers
from softcosine.kernels.selection import keep_candidates, rank_candidates

_BLOCK_ROWS = 1024
_BLOCK_COLUMNS = 4096
_ROOM = 64  # least room for candidates beyond the k best
_CHUNK_ROWS = 32  # rows of a block per task of a thread
_CHUNK_COLUMNS = 256
_CHUNK_RANKED = 64  # rows per task of the exact recomputation
_CHUNK_ANSWER = 1 << 21  # candidates copied at a time
_ANY = 1e30  # a margin that every cosine is within
_MOST_CANDIDATES = 1 << 28  # that all vectors may have room for at once: 2 GB


@dataclass(frozen=True, slots=True)
class UnitVectors:
    """Unit vectors of strings.

    Attributes
    ----------
    units : ndarray of shape (n, dimensions), float32
    scales : ndarray of shape (n,), float64
        See `softcosine.kernels.selection.unit_rows`.
    strings : ndarray of shape (n,), int32
        Number of the string; equal for equal strings.
    """

    units: NDArray[np.float32]
    scales: NDArray[np.float64]
    strings: NDArray[np.int32]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays, in the order of the kernels' arguments."""
        return self.units, self.scales, self.strings

    def __len__(self) -> int:
        """Return the number of vectors."""
        return len(self.scales)


@dataclass(frozen=True, slots=True)
class _NearestLists:
    """Lists of candidates for the nearest vectors, one per row.

    Attributes
    ----------
    values : ndarray of shape (n_rows, capacity), float32
        Approximate cosines, finally similarities.
    columns : ndarray of shape (n_rows, capacity), int32
    sizes : ndarray of shape (n_rows,), int32
    bounds : ndarray of shape (n_rows,), float32
        Lower bound: a candidate's cosine must exceed it.
    """

    values: NDArray[np.float32]
    columns: NDArray[np.int32]
    sizes: NDArray[np.int32]
    bounds: NDArray[np.float32]

    @classmethod
    def none(cls, n_rows: int, k: int, floor: np.float32) -> _NearestLists:
        """Return empty lists."""
        shape = (n_rows, _capacity(k))
        return cls(
            np.empty(shape, np.float32),
            np.empty(shape, np.int32),
            np.zeros(n_rows, np.int32),
            np.full(n_rows, floor, np.float32),
        )

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays, in the order of the kernels' arguments."""
        return self.values, self.columns, self.sizes, self.bounds

    def answer(
        self, rows: NDArray[np.intp] | slice
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """Return counts, columns and similarities of some rows."""
        counts = self.sizes[rows].astype(np.int64)
        filled = np.arange(self.values.shape[1]) < counts[:, None]
        return counts, self.columns[rows][filled], self.values[rows][filled]


class Nearest:
    r"""Exact search for the nearest vectors.

    Blocks of cosines are computed by a float32 matrix product. A cosine close enough to the k-th
    best of its row makes a candidate; candidates are finally recomputed as in
    `softcosine.kernels.selection.pair_similarities`. Blocks fit into the processor's cache, so that
    writing and scanning them is cheap.

    Parameters
    ----------
    vectors : UnitVectors
        The searched vectors. Ties are ordered by vector number.
    threshold, exponent : float
        See `softcosine.similarity.embeddings.embedding.EmbeddingSimilarity`.
    """

    __slots__ = ("_exponent", "_margin", "_threshold", "_vectors")

    def __init__(self, vectors: UnitVectors, *, threshold: float, exponent: float) -> None:
        self._vectors = vectors
        self._threshold = np.float32(threshold)
        self._exponent = exponent
        # A float32 dot product of d terms errs by at most d 2**-24 for vectors of unit length. Two
        # such errors, the scales, and cosines that the rounding of their power makes equal.
        error = (vectors.units.shape[1] + 8) * 2.0**-24
        self._margin = np.float32(2.0 * error + min(2.0**-21 / min(exponent, 1.0), _ANY))

    def of(
        self, rows: UnitVectors, k: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]]:
        """Yield the k nearest of other vectors, in blocks of rows.

        The string of the row itself is excluded. Memory: a block of cosines, and the result.

        Yields
        ------
        counts : ndarray of shape (n_rows,), int64
            Number of neighbours of consecutive rows.
        columns : ndarray of shape (counts.sum(),), int32
            Numbers of the nearest vectors, best first.
        similarities : ndarray of shape (counts.sum(),), float32
        """
        columns = self._vectors
        for start in range(0, len(rows), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            block_rows = UnitVectors(rows.units[part], rows.scales[part], rows.strings[part])
            found = self._none(len(block_rows), k)
            width = max(_BLOCK_COLUMNS, _BLOCK_ROWS * _BLOCK_COLUMNS // len(block_rows))
            space = np.empty(len(block_rows) * min(width, len(columns)), np.float32)
            with Workers() as workers:
                for first in range(0, len(columns), width):
                    near = columns.units[first : first + width]
                    block = _cosines(block_rows.units, near, space)
                    self._keep(workers, block, (0, first), block_rows, found, k)
                self._rank(workers, block_rows, found, k)
            report(min(start + _BLOCK_ROWS, len(rows)), len(rows))
            yield found.answer(slice(None))

    def has_room(self, k: int) -> bool:
        """Whether the candidates in `of_each` take at most 2 GB."""
        return len(self._vectors) * _capacity(k) <= _MOST_CANDIDATES

    def of_each(
        self, order: NDArray[np.intp], k: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]]:
        """Yield the k nearest of the searched vectors themselves; the same bits as `of`.

        Every cosine is used for both of its vectors, so this takes little more than half the time.
        Memory: candidates of all vectors at once, 8 bytes each, 1.5 k or k + 64 per vector; see
        `has_room`.

        Parameters
        ----------
        order : ndarray of shape (n,), integers
            Order in which the vectors are yielded.
        k : int
            1 or more.

        Yields
        ------
        counts, columns, similarities : ndarray
            See `of`.
        """
        vectors = self._vectors
        n = len(vectors)
        found = self._none(n, k)
        space = np.empty(min(_BLOCK_ROWS, n) * min(_BLOCK_COLUMNS, n), np.float32)
        done = 0
        with Workers() as workers:
            for row in range(0, n, _BLOCK_ROWS):
                rows = vectors.units[row : row + _BLOCK_ROWS]
                for column in range(row, n, _BLOCK_COLUMNS):
                    near = vectors.units[column : column + _BLOCK_COLUMNS]
                    block = _cosines(rows, near, space)
                    self._keep(workers, block, (row, column), vectors, found, k)
                    # Pairs within the rows were already used for both vectors.
                    beyond = min(max(row + len(rows) - column, 0), len(near))
                    self._keep(
                        workers, block, (row, column), vectors, found, k, by_column_from=beyond
                    )
                    done += len(rows) * (2 * len(near) - beyond)
                    report(done // n, n)
            self._rank(workers, vectors, found, k)
        step = max(1, _CHUNK_ANSWER // _capacity(k))
        for start in range(0, n, step):
            yield found.answer(order[start : start + step])

    def _none(self, n_rows: int, k: int) -> _NearestLists:
        return _NearestLists.none(n_rows, k, self._threshold - self._margin)

    def _keep(
        self,
        workers: Workers,
        block: NDArray[np.float32],
        place: tuple[int, int],
        rows: UnitVectors,
        found: _NearestLists,
        k: int,
        *,
        by_column_from: int | None = None,
    ) -> None:
        """Scan a block, whose first pair is at `place`, for candidates of its rows, or columns.

        Each owner belongs to one thread.
        """
        columns = self._vectors
        by_column = by_column_from is not None
        first = by_column_from or 0
        limits = k, self._threshold, self._exponent, self._margin

        def work(start: int, stop: int) -> None:
            own, all_ = (first + start, first + stop), (0, block.shape[1 - by_column])
            part = (*all_, *own) if by_column else (*own, *all_)
            where = block, *place, *part, by_column
            keep_candidates(*where, *rows.arrays, *columns.arrays, *limits, *found.arrays)

        n = block.shape[by_column] - first
        workers.for_each_chunk(work, n, chunk=_CHUNK_COLUMNS if by_column else _CHUNK_ROWS)

    def _rank(self, workers: Workers, rows: UnitVectors, found: _NearestLists, k: int) -> None:
        vectors = (*rows.arrays[:2], *self._vectors.arrays[:2])
        limits = k, self._threshold, self._exponent, self._margin

        def work(start: int, stop: int) -> None:
            rank_candidates(*vectors, *limits, start, stop, *found.arrays)

        workers.for_each_chunk(work, len(rows), chunk=_CHUNK_RANKED)


def _capacity(k: int) -> int:
    """Room for candidates per row, before all but the k best are dropped."""
    return k + max(_ROOM, k // 2)


def _cosines(
    rows: NDArray[np.float32], columns: NDArray[np.float32], space: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the approximate cosines of all pairs, shape (n_rows, n_columns), stored in `space`."""
    shape = (len(rows), len(columns))
    block = space[: shape[0] * shape[1]].reshape(shape)
    if len(rows) == 1:  # a general matrix product would be several times slower
        np.matmul(columns, rows[0], out=block[0])
    else:
        np.matmul(rows, columns.T, out=block)
    return block
