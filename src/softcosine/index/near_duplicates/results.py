"""Results: similar pairs of documents, and nearest neighbors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NeighborGraph", "PairBlock"]


@dataclass(frozen=True, slots=True)
class PairBlock:
    """Pairs of documents, ordered by (first, second).

    Attributes
    ----------
    first, second : ndarray of shape (n,), int64
        Numbers of the documents.
    similarities : ndarray of shape (n,), float64
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    similarities: NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return int(self.first.shape[0])

    def to_pandas(self) -> pd.DataFrame:
        """Return a table, one row per pair: first, second, similarity."""
        from softcosine.index.search.frames import data_frame

        return data_frame(
            {"first": self.first, "second": self.second, "similarity": self.similarities}
        )


@dataclass(frozen=True, slots=True)
class NeighborGraph:
    """The nearest neighbors of every document that has any, best first; ties by number.

    Attributes
    ----------
    documents : ndarray of shape (n,), int64
        Document numbers, ascending.
    starts : ndarray of shape (n + 1,), int64
        Offset of each document in `neighbors` and `similarities`.
    neighbors : ndarray, int64
    similarities : ndarray, float64
    """

    documents: NDArray[np.int64]
    starts: NDArray[np.int64]
    neighbors: NDArray[np.int64]
    similarities: NDArray[np.float64]

    def of(self, document: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the neighbors and similarities of a document; empty if it has none."""
        place = int(np.searchsorted(self.documents, document))
        if place == self.documents.shape[0] or self.documents[place] != document:
            return np.empty(0, np.int64), np.empty(0)
        part = slice(self.starts[place], self.starts[place + 1])
        return self.neighbors[part], self.similarities[part]

    def blocks(self, size: int = 4096) -> Iterator[PairBlock]:
        """Yield (document, neighbor, similarity) of some documents at a time."""
        for begin in range(0, self.documents.shape[0], size):
            end = min(begin + size, self.documents.shape[0])
            part = slice(self.starts[begin], self.starts[end])
            lengths = np.diff(self.starts[begin : end + 1])
            first = np.repeat(self.documents[begin:end], lengths)
            yield PairBlock(first, self.neighbors[part], self.similarities[part])

    def to_pandas(self) -> pd.DataFrame:
        """Return a table, one row per neighbor: document, rank (from 1), neighbor, similarity."""
        from softcosine.index.search.frames import data_frame

        lengths = np.diff(self.starts)
        return data_frame(
            {
                "document": np.repeat(self.documents, lengths),
                "rank": np.arange(len(self.neighbors)) - np.repeat(self.starts[:-1], lengths) + 1,
                "neighbor": self.neighbors,
                "similarity": self.similarities,
            }
        )
