"""Candidates of the first stage, by segment and query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum

__all__ = ["Candidates"]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of several queries.

    Attributes
    ----------
    starts : ndarray of shape (n_segments * n_queries + 1,), int64
        Offset of each list; list ``s * n_queries + q`` has the candidates of query q in segment s.
    documents : ndarray, uint32
        Numbers within the segment, ascending in each list.
    approximate : ndarray, float32
        Their scores of the first stage.
    bounds : ndarray of shape (n_queries,), float32
        Candidates below it cannot be among the best.
    """

    starts: NDArray[np.int64]
    documents: NDArray[np.uint32]
    approximate: NDArray[np.float32]
    bounds: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        lists: Sequence[tuple[NDArray[np.uint32], NDArray[np.float32]]],
        bounds: NDArray[np.float32],
    ) -> Self:
        """Return the candidates, given lists of documents and their scores."""
        starts = running_sum(documents.shape[0] for documents, _ in lists)
        documents, approximate = zip(*lists, strict=True)
        return cls(starts, np.concatenate(documents), np.concatenate(approximate), bounds)

    @property
    def lists(self) -> list[tuple[NDArray[np.uint32], NDArray[np.float32]]]:
        """The documents and scores of each list."""
        return [
            (self.documents[begin:end], self.approximate[begin:end])
            for begin, end in pairwise(self.starts.tolist())
        ]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of candidates of each query, shape (n_queries,)."""
        sizes = self.starts[1:] - self.starts[:-1]
        sums: NDArray[np.int64] = sizes.reshape(-1, self.bounds.shape[0]).sum(axis=0)
        return sums

    def replaced(self, others: Mapping[int, Sequence[NDArray[np.uint32]]]) -> Self:
        """Return the candidates with those of some queries replaced, given for each segment."""
        lists = self.lists
        for i in range(len(lists)):
            segment, query = divmod(i, self.bounds.shape[0])
            if query in others:
                documents = others[query][segment]
                lists[i] = documents, np.full(documents.shape[0], np.inf, np.float32)
        return self.of(lists, self.bounds)
