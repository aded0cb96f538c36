"""Nearest neighbours within a selection of documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._ragged import running_sum
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.near_duplicates.all_pairs import NeighborGraph, nearest_neighbors
from softcosine.index.near_duplicates.similar import compared
from softcosine.index.requests import By
from softcosine.plots.compared import compared_searcher, document_vectors

__all__ = ["Neighborhoods", "neighborhoods"]


@dataclass(frozen=True, slots=True, eq=False)
class Neighborhoods:
    """Nearest neighbours of documents within a selection, without the document itself.

    Attributes
    ----------
    numbers : ndarray of shape (n,), int64, ascending
        The selected documents.
    graph : csr_array of shape (n, n), float64
        Similarities of at most k neighbours per row, best first; rows and columns are positions
        in `numbers`.
    """

    numbers: NDArray[np.int64]
    graph: csr_array

    def connected(self) -> tuple[NDArray[np.bool_], csr_array]:
        """Return which documents have a neighbour, and the graph of these."""
        rows = np.repeat(np.arange(len(self.numbers)), np.diff(self.graph.indptr))
        there = np.ones(self.graph.nnz, np.bool_)
        while True:
            counts = np.bincount(rows[there], minlength=len(self.numbers))
            drawn = counts > 0
            # Being a neighbour is mutual, except for similarities that rounding turns into 0.
            kept = there & drawn[self.graph.indices]
            if np.array_equal(kept, there):
                break
            there = kept
        places = np.cumsum(drawn) - 1
        pointers = running_sum(counts[drawn])
        n = int(drawn.sum())
        graph = csr_array(
            (self.graph.data[there], places[self.graph.indices[there]], pointers), shape=(n, n)
        )
        return drawn, graph

    def nearest(self, k: int) -> Neighborhoods:
        """Return the first k neighbours of each document."""
        ranks = np.arange(self.graph.nnz) - np.repeat(
            self.graph.indptr[:-1], np.diff(self.graph.indptr)
        )
        kept = ranks < k
        pointers = running_sum(kept)[self.graph.indptr]
        graph = csr_array(
            (self.graph.data[kept], self.graph.indices[kept], pointers), shape=self.graph.shape
        )
        return Neighborhoods(self.numbers, graph)


def neighborhoods(
    snapshot: Snapshot,
    numbers: NDArray[np.int64],
    *,
    k: int,
    by: By = "words",
    threads: int | None,
) -> Neighborhoods:
    """Return the k most similar documents of each, exactly.

    Parameters
    ----------
    snapshot : Snapshot
    numbers : ndarray of shape (n,), int64, ascending
        Live documents; only they can be neighbours.
    k : int
        Maximum number of neighbours; ties go to the earlier document.
    by : {"words", "meaning", "both"}
        See `SoftIndex.pairs`; words of several fields count by their weighted sum.
    threads : int or None

    Raises
    ------
    InvalidInputError
        If S is not symmetric, or documents cannot be compared in this way.
    """
    allowed = []
    for segment, first in zip(snapshot.segments, snapshot.documents.firsts, strict=True):
        mask = np.zeros(segment.n_docs, np.bool_)
        begin, end = np.searchsorted(numbers, [first, first + segment.n_docs])
        mask[numbers[begin:end] - first] = True
        allowed.append(mask)
    if by != "words":
        found = nearest_neighbors(compared(snapshot, by, allowed=allowed), k=k, threads=threads)
        return _within(numbers, found)
    searcher = compared_searcher(snapshot, "soft_cosine")
    queries = [document_vectors(snapshot, searcher, number) for number in numbers.tolist()]
    tops = searcher.search_batch(queries, k=k + 1, allowed=allowed, threads=threads)
    pointers, others, similarities = [0], [np.empty(0, np.int64)], [np.empty(0)]
    for number, top in zip(numbers.tolist(), tops, strict=True):
        kept = np.flatnonzero(top.documents != number)[:k]
        others.append(np.searchsorted(numbers, top.documents[kept]))
        similarities.append(top.scores[kept])
        pointers.append(pointers[-1] + len(kept))
    n = len(numbers)
    graph = csr_array(
        (np.concatenate(similarities), np.concatenate(others), np.array(pointers)), shape=(n, n)
    )
    return Neighborhoods(numbers, graph)


def _within(numbers: NDArray[np.int64], found: NeighborGraph) -> Neighborhoods:
    """Return neighbours by document number as positions in a selection."""
    lengths = np.zeros(len(numbers), np.int64)
    lengths[np.searchsorted(numbers, found.documents)] = np.diff(found.starts)
    graph = csr_array(
        (
            found.similarities,
            np.searchsorted(numbers, found.neighbors),
            running_sum(lengths),
        ),
        shape=(len(numbers), len(numbers)),
    )
    return Neighborhoods(numbers, graph)
