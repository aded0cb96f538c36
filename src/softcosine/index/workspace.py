"""Scratch arrays of a search, and the expansions of its queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.index.bounds import float32_holds

__all__ = ["Expansions", "Workspace"]


@dataclass(frozen=True, slots=True)
class Expansions:
    """Expanded queries W Sᵀ W x, one after the other.

    Attributes
    ----------
    pointers : ndarray of shape (n_queries + 1,), int64
        Where each query begins in `terms` and `weights`.
    terms : ndarray of shape (n_reached,), int32
        In the order in which they are met.
    weights : ndarray of shape (n_reached,), float64
    facts : ndarray of shape (n_queries, 6), float64
        See `softcosine.kernels.search.expand_queries`.
    factors : ndarray of shape (n_queries,), float64
        What scores are multiplied by.
    """

    pointers: NDArray[np.int64]
    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    facts: NDArray[np.float64]
    factors: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.factors.shape[0])

    @property
    def scales(self) -> NDArray[np.float64]:
        """Largest weight of each query, which is 1 in float32."""
        return self.facts[:, 0].copy()

    @property
    def reaching(self) -> NDArray[np.bool_]:
        """Whether any document can have a score other than 0, for each query."""
        reached: NDArray[np.bool_] = (self.factors != 0.0) & (self.facts[:, 0] != 0.0)
        return reached

    def holding(self, least: float, most: float) -> NDArray[np.bool_]:
        """Whether the approximate scores of each query obey their error bound.

        Parameters
        ----------
        least, most : float
            Of the documents' values and factors, see `PreparedRanking`.
        """
        ranges = [
            float32_holds(smallest, largest, least=least, most=most)
            for largest, smallest in self.facts[:, :2].tolist()
        ]
        holding: NDArray[np.bool_] = np.array(ranges, bool) & (self.facts[:, 2] == 0.0)
        return holding & (self.factors > 0.0)

    def own(self, query: int) -> slice:
        """Return where the terms of a query stand."""
        return slice(self.pointers[query], self.pointers[query + 1])


class Workspace:
    """Scratch arrays of one search at a time; zero between searches where they must be."""

    def __init__(self, n_docs: int, n_terms: int) -> None:
        self.scores = np.zeros(n_docs, np.float32)
        # Room for the candidates of several queries, and of any single one.
        self.candidates = np.empty(max(2 * n_docs, 2**14), np.uint32)
        self.expansion = np.zeros(n_terms)
        self.seen = np.zeros(n_terms, np.uint8)
        self.touched = np.empty(n_terms + 1, np.int32)
