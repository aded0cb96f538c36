"""Documents that may be answers, query by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Candidates"]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates of some queries in one part.

    Attributes
    ----------
    starts : ndarray of shape (n_queries + 1,), int64
        Where each query begins in `documents`.
    documents : ndarray, uint32
        Numbers within the part, ascending for each query.
    """

    starts: NDArray[np.int64]
    documents: NDArray[np.uint32]

    @classmethod
    def nothing(cls, n_queries: int) -> Self:
        """Return no candidates."""
        return cls(np.zeros(n_queries + 1, np.int64), np.empty(0, np.uint32))

    @classmethod
    def copied(cls, starts: NDArray[np.int64], documents: NDArray[np.uint32]) -> Self:
        """Take candidates out of a scratch array."""
        return cls(starts, documents[: starts[-1]].copy())

    @classmethod
    def joined(cls, pieces: Sequence[Self]) -> Self:
        """Join the candidates of successive queries."""
        if len(pieces) == 1:
            return pieces[0]
        sizes = np.concatenate([np.diff(piece.starts) for piece in pieces])
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(starts, np.concatenate([piece.documents for piece in pieces]))

    def replaced(self, others: Mapping[int, NDArray[np.uint32]]) -> Self:
        """Return the candidates with other ones for some queries."""
        lists = [
            others.get(query, self.documents[self.starts[query] : self.starts[query + 1]])
            for query in range(self.starts.shape[0] - 1)
        ]
        starts = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([documents.shape[0] for documents in lists], out=starts[1:])
        return type(self)(starts, np.concatenate([np.empty(0, np.uint32), *lists]))
