"""Which documents of a selection are nearest to each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.index.fields import FieldsSearcher
from softcosine.index.snapshot import Snapshot
from softcosine.plots.compared import document_vectors

__all__ = ["Neighborhoods", "neighborhoods"]


@dataclass(frozen=True, slots=True, eq=False)
class Neighborhoods:
    """The nearest of some documents to each of them, itself left out.

    Attributes
    ----------
    numbers : ndarray of shape (n,), int64, ascending
        Of the documents.
    graph : csr_array of shape (n, n), float64
        In each row the similarities of at most k others, best first; rows and columns are places
        in `numbers`.
    """

    numbers: NDArray[np.int64]
    graph: csr_array

    def among(self, chosen: NDArray[np.bool_]) -> Neighborhoods:
        """Return the neighbourhoods of some of the documents; no others may be their neighbours."""
        return Neighborhoods(self.numbers[chosen], csr_array(self.graph[chosen][:, chosen]))


def neighborhoods(
    snapshot: Snapshot,
    searcher: FieldsSearcher,
    numbers: NDArray[np.int64],
    *,
    k: int,
    threads: int | None,
) -> Neighborhoods:
    """Return the k most similar documents of each, exactly.

    Parameters
    ----------
    snapshot : Snapshot
    searcher : FieldsSearcher
        Of a ranking that compares documents alike in both directions.
    numbers : ndarray of shape (n,), int64, ascending
        Live documents; no others are looked for.
    k : int
        Documents with fewer similar ones have fewer; ties go to the earlier document.
    threads : int or None
    """
    allowed = []
    for segment, first in zip(snapshot.segments, snapshot.documents.firsts, strict=True):
        mask = np.zeros(segment.n_docs, np.bool_)
        begin, end = np.searchsorted(numbers, [first, first + segment.n_docs])
        mask[numbers[begin:end] - first] = True
        allowed.append(mask)
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
