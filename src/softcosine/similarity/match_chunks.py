"""Matches of a chunk of terms, and the neighbours of all terms built from the chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine._threads import for_each_chunk
from softcosine.similarity.neighbors import Neighbors, StringOrder


@dataclass(frozen=True, slots=True)
class MatchChunk:
    """Consecutive query terms and their matches.

    Attributes
    ----------
    first : int
        Number of the first term.
    ends : ndarray of shape (n_rows,), int64
        Where the pairs of each term end.
    columns : ndarray of shape (n_pairs,), int32
        Positions of the matching strings, unordered.
    similarities : ndarray of shape (n_pairs,), float32
        Pairs not above 0 are ignored.
    """

    first: int
    ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    similarities: NDArray[np.float32]

    def rows(self) -> NDArray[np.int64]:
        """Return the query term of every pair, counted from `first`."""
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))


def best_of_chunks(
    find: Callable[[int, int], Iterable[MatchChunk]],
    *,
    n_terms: int,
    chunk: int,
    among: tuple[str, ...],
    max_neighbors: int,
    order: StringOrder,
) -> Neighbors:
    """Search for the terms in chunks, in threads; return the best neighbours of each term.

    Only the best neighbours and the chunks in progress are in memory.

    Parameters
    ----------
    find : callable
        Called as ``find(first, last)``; yields the matches of these terms in one or more chunks.
    n_terms, chunk : int
        Number of terms, at least 1, and number of terms per chunk.
    among, max_neighbors, order
        As for `Neighbors.from_pairs`.
    """
    order.keys(among)  # cache the keys before the threads start
    parts: dict[int, Neighbors] = {}

    def work(first: int, last: int) -> None:
        for found in find(first, last):
            pairs = found.rows(), found.columns, found.similarities
            parts[found.first] = order.best(
                among, pairs, n_terms=len(found.ends), max_neighbors=max_neighbors
            )

    for_each_chunk(work, n_terms, chunk=chunk)
    return Neighbors.concatenated([parts[first] for first in sorted(parts)])
