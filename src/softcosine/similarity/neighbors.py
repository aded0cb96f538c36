"""`Neighbors`: the result type of every source, in one total order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine._threads import for_each_chunk
from softcosine.kernels.ordering import best_of_rows
from softcosine.similarity.identity_cache import LastTuple

# Query terms, positions of their neighbours, and similarities, each of shape (n_pairs,).
Pairs = tuple[NDArray[Any], NDArray[Any], NDArray[np.float32]]
NO_PAIRS: Pairs = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))

_CHUNK_ROWS = 512


def pairs_of(found: Sequence[tuple[int, int, float]]) -> Pairs:
    """Return pairs given as term, position and similarity."""
    rows, columns, values = np.array(found, np.float64).reshape(-1, 3).T
    return rows.astype(np.int64), columns.astype(np.int64), values.astype(np.float32)


class StringOrder:
    """Code point order of the strings of a searched sequence; caches that of the last tuple."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = LastTuple[NDArray[np.int64]]()

    def keys(
        self, among: Sequence[str], columns: NDArray[np.integer[Any]] | None = None
    ) -> NDArray[np.int64]:
        """Return ``rank << 32 | position`` of every string, shape (n_among,).

        Equal strings have one rank.

        Parameters
        ----------
        among : sequence of str
        columns : ndarray of integers, optional
            Positions that need a key. For a tuple, all strings get one.
        """
        return self._last.get(among, lambda: _keys(among, columns))

    def best(
        self, among: Sequence[str], *parts: Pairs, n_terms: int, max_neighbors: int
    ) -> Neighbors:
        """Return the best of one or more groups of pairs; see `Neighbors.from_pairs`."""
        pairs = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        return Neighbors.from_pairs(
            *pairs, n_terms=n_terms, among=among, max_neighbors=max_neighbors, order=self
        )


def _keys(among: Sequence[str], columns: NDArray[np.integer[Any]] | None) -> NDArray[np.int64]:
    """Return the keys of `StringOrder.keys`."""
    keys = np.arange(len(among), dtype=np.int64)
    positions = keys
    if columns is not None and not isinstance(among, tuple):
        matter = np.zeros(len(among), np.bool_)
        matter[columns] = True
        positions = np.flatnonzero(matter)
    strings = [among[i] for i in positions.tolist()]
    rank = {string: number for number, string in enumerate(sorted(set(strings)))}
    keys[positions] |= np.fromiter((rank[s] for s in strings), np.int64, len(strings)) << 32
    return keys


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The most similar strings of each query term.

    The neighbours of a term are ordered by decreasing similarity, ties by the code point order of
    the strings. A term is never its own neighbour.

    Attributes
    ----------
    indptr : ndarray of shape (n_terms + 1,), int64
        Neighbours of term ``i`` are at ``indptr[i]:indptr[i + 1]``.
    indices : ndarray of shape (n_pairs,), int32
        Positions in the searched sequence.
    similarities : ndarray of shape (n_pairs,), float32
        In (0, 1].
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    similarities: NDArray[np.float32]

    def __len__(self) -> int:
        """Return the number of query terms."""
        return len(self.indptr) - 1

    def of(self, i: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Positions and similarities of the neighbours of the `i`-th query term."""
        part = slice(self.indptr[i], self.indptr[i + 1])
        return self.indices[part], self.similarities[part]

    def rows(self) -> NDArray[np.int64]:
        """Return the number of the query term of every pair, shape (n_pairs,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.indptr))

    def pairs(self) -> Pairs:
        """Return query terms, positions and similarities of all pairs."""
        return self.rows(), self.indices, self.similarities

    @classmethod
    def none(cls, n_terms: int) -> Neighbors:
        """Return no neighbours for `n_terms` terms."""
        return cls(np.zeros(n_terms + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))

    @classmethod
    def concatenated(cls, parts: Sequence[Neighbors]) -> Neighbors:
        """Return the neighbours of consecutive groups of terms as one."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls.none(0)
        return cls(
            running_sum(np.concatenate([np.diff(part.indptr) for part in parts])),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.similarities for part in parts]),
        )

    def of_some(self, numbers: NDArray[np.integer[Any]], n_terms: int) -> Neighbors:
        """Return the neighbours of `n_terms` terms, of which only those of `numbers` have any.

        Parameters
        ----------
        numbers : ndarray of shape (len(self),), integers
            Number of each query term among all terms, ascending.
        n_terms : int
        """
        counts = np.zeros(n_terms, np.int64)
        counts[numbers] = np.diff(self.indptr)
        return Neighbors(running_sum(counts), self.indices, self.similarities)

    @classmethod
    def from_pairs(
        cls,
        rows: NDArray[np.integer[Any]],
        columns: NDArray[np.integer[Any]],
        similarities: NDArray[np.floating[Any]],
        *,
        n_terms: int,
        among: Sequence[str],
        max_neighbors: int,
        order: StringOrder | None = None,
    ) -> Neighbors:
        """Sort unordered pairs, and keep the best of each term.

        Parameters
        ----------
        rows, columns : ndarray of shape (n_pairs,), integers
            Number of the query term and position in `among`, in any order. Of duplicates the
            greatest similarity counts.
        similarities : ndarray of shape (n_pairs,), floats
            At most 1; pairs not above 0 are dropped.
        n_terms : int
            Number of query terms.
        among : sequence of str
            The searched strings.
        max_neighbors : int
            Limit per term.
        order : StringOrder, optional
            Caches the order of the strings of a tuple between calls.
        """
        similarities = similarities.astype(np.float32, copy=False)
        if len(rows) and (np.diff(rows) < 0).any():
            by_row = np.argsort(rows, kind="stable")
            rows, columns, similarities = rows[by_row], columns[by_row], similarities[by_row]
        counts = np.bincount(rows, minlength=n_terms)
        starts = running_sum(counts)
        keys = (StringOrder() if order is None else order).keys(among, columns)
        columns = np.require(columns, np.int32, ["C", "W"])
        similarities = np.require(similarities, np.float32, ["C", "W"])
        best_starts = running_sum(np.minimum(counts, min(max_neighbors, len(similarities))))
        best = np.empty(best_starts[-1], np.float32)
        chosen = np.empty(best_starts[-1], np.int64)
        kept = np.zeros(n_terms, np.int64)

        def work(first: int, last: int) -> None:
            best_of_rows(
                starts, columns, similarities, keys, best_starts, first, last, best, chosen, kept
            )

        if len(best):
            for_each_chunk(work, n_terms, chunk=_CHUNK_ROWS)
        indptr = running_sum(kept)
        if indptr[-1] < len(best):
            place = np.arange(len(best)) - np.repeat(best_starts[:-1], np.diff(best_starts))
            filled = place < np.repeat(kept, np.diff(best_starts))
            best, chosen = best[filled], chosen[filled]
        return cls(indptr, (chosen & 0xFFFFFFFF).astype(np.int32), best)

    def where(self, stay: NDArray[np.bool_], *, max_neighbors: int) -> Neighbors:
        """Return the pairs where `stay` is true, limited to the best of each term.

        Parameters
        ----------
        stay : ndarray of shape (n_pairs,), bool
        max_neighbors : int
        """
        before = running_sum(stay)
        place = before[:-1] - np.repeat(before[self.indptr[:-1]], np.diff(self.indptr))
        stay = stay & (place < max_neighbors)
        indptr = running_sum(stay)[self.indptr]
        return Neighbors(indptr, self.indices[stay], self.similarities[stay])
