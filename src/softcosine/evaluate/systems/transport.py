"""Word mover's distance and its relaxations between a text and many documents.

A text is a set of points, one per word, each with its share of the text; the distance is the
minimum cost of moving the shares of one text to the points of the other (Kusner et al. 2015). The
relaxation moves each share to the nearest point, in either direction: a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.errors import MissingDependencyError

Solver = Callable[..., Any]

_SAME = 1e-14  # squared distance of points that differ only by rounding
_TOGETHER = 512  # documents per block of word costs
_ROUNDING = 1e-9  # tolerance by which bounds can exceed distances


@dataclass(frozen=True, slots=True)
class Query:
    """A text to compare with the documents.

    Attributes
    ----------
    shares : ndarray of shape (n_own,), float64
        Shares of its distinct words; their sum is 1.
    costs : ndarray of shape (n_words, n_own), float64
        Distances from every word of the documents to each of its words.
    """

    shares: NDArray[np.float64]
    costs: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Movable:
    """Documents as shares of their words, with the points of the words.

    Attributes
    ----------
    shares : csr_array of shape (n_docs, n_words), float64
        Each row sums to 1, or is empty.
    points : ndarray of shape (n_words, dimensions), float64
        Vectors of unit length.
    """

    shares: csr_array
    points: NDArray[np.float64]

    @classmethod
    def of(cls, weighted: csr_array, points: NDArray[np.float64]) -> Movable:
        """Return weighted documents with normalised rows and points."""
        sums = np.asarray(weighted.sum(axis=1), np.float64).ravel()
        shares = csr_array(weighted, dtype=np.float64, copy=True)
        shares.data = shares.data / np.repeat(sums, np.diff(shares.indptr))
        lengths = np.sqrt((points * points).sum(axis=1))
        return cls(shares, points / np.where(lengths > 0, lengths, 1.0)[:, None])

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each document has a word with a point, shape (n_docs,)."""
        known: NDArray[np.bool_] = np.diff(self.shares.indptr) > 0
        return known

    def only(self, document: int) -> Movable:
        """Return one document with only its own words."""
        words, shares = self.words_of(document)
        return Movable(csr_array(shares[None, :]), self.points[words])

    def query(self, other: Movable, row: int) -> Query | None:
        """Return a row of other texts as a query; None if no word has a point."""
        own = slice(other.shares.indptr[row], other.shares.indptr[row + 1])
        if own.start == own.stop:
            return None
        points = other.points[other.shares.indices[own]]
        squares = 2.0 - 2.0 * (self.points @ points.T)
        squares[squares < _SAME] = 0.0
        return Query(other.shares.data[own].copy(), np.sqrt(squares))

    def words_of(self, document: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return a document's words and their shares."""
        own = slice(self.shares.indptr[document], self.shares.indptr[document + 1])
        return self.shares.indices[own], self.shares.data[own]

    def to_query(self, query: Query) -> NDArray[np.float64]:
        """Return the cost of moving each document to the nearest words of the query.

        Linear in the sum of the documents' lengths; 0 for documents without points.
        """
        costs: NDArray[np.float64] = self.shares @ query.costs.min(axis=1)
        return costs

    def from_query(self, query: Query, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cost of moving the query to the nearest words of some documents.

        All documents must have points. Linear in their lengths times that of the query.
        """
        costs = np.empty(len(documents))
        for start in range(0, len(documents), _TOGETHER):
            chosen = csr_array(self.shares[documents[start : start + _TOGETHER]])
            nearest = np.minimum.reduceat(query.costs[chosen.indices], chosen.indptr[:-1], axis=0)
            costs[start : start + _TOGETHER] = (nearest * query.shares).sum(axis=1)
        return costs

    def relaxed(self, query: Query, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the larger of both relaxed costs for some documents with points."""
        return np.maximum(self.to_query(query)[documents], self.from_query(query, documents))

    def relaxed_nearest(
        self, query: Query, *, k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the documents that can be among the k nearest by the larger relaxed cost.

        One direction is cheap for all documents, and is a lower bound of the larger cost.

        Returns
        -------
        documents : ndarray of shape (n,), int64
            The k nearest, and others.
        costs : ndarray of shape (n,), float64
        """
        known = np.flatnonzero(self.known)
        bounds = self.to_query(query)[known]
        order = np.argsort(bounds, kind="stable")
        costs = np.empty(0)
        for start in range(0, len(order), _TOGETHER):
            group = order[start : start + _TOGETHER]
            if len(costs) >= k and bounds[group[0]] > kth(costs, k) + _ROUNDING:
                break
            moved = self.from_query(query, known[group])
            costs = np.concatenate([costs, np.maximum(bounds[group], moved)])
        return known[order[: len(costs)]], costs


def kth(costs: NDArray[np.float64], k: int) -> float:
    """Return the k-th smallest of at least k costs."""
    return float(np.partition(costs, k - 1)[k - 1])


def emd(
    solve: Solver, query: Query, words: NDArray[np.int32], shares: NDArray[np.float64]
) -> float:
    """Return the minimum cost of moving a query to the words of a document."""
    costs = np.ascontiguousarray(query.costs[words].T)
    return max(0.0, float(solve(query.shares, shares, costs, check_marginals=False)))


def solver() -> Solver:
    """Return the exact solver of POT.

    Raises
    ------
    MissingDependencyError
    """
    try:
        from ot import emd2
    except ImportError as error:
        raise MissingDependencyError("POT", "evaluate", "Word mover's distance") from error
    solve: Solver = emd2
    return solve
