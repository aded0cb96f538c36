"""Scratch arrays of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.kernels.search import clear

__all__ = ["Kept", "Workspace"]


@dataclass(frozen=True, slots=True)
class Kept:
    """An expansion taken out of a workspace, to be put back later."""

    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    facts: NDArray[np.float64]
    factor: float


class Workspace:
    """Scratch arrays of one search at a time; zero between searches."""

    def __init__(self, n_docs: int, n_terms: int) -> None:
        self.scores = np.zeros(n_docs, np.float32)
        self.candidates = np.empty(n_docs, np.uint32)
        self.expansion = np.zeros(n_terms)
        self.seen = np.zeros(n_terms, np.uint8)
        self.touched = np.empty(n_terms + 1, np.int32)
        self.facts = np.zeros(6)

    def take(self, n_touched: int, factor: float) -> Kept:
        """Take an expansion out."""
        terms = self.touched[:n_touched].copy()
        kept = Kept(terms, self.expansion[terms], self.facts.copy(), factor)
        self.clear(n_touched)
        return kept

    def put(self, kept: Kept) -> None:
        """Put an expansion back."""
        self.touched[: kept.terms.shape[0]] = kept.terms
        self.expansion[kept.terms] = kept.weights
        self.facts[:] = kept.facts

    def clear(self, n_touched: int) -> None:
        """Set what an expansion left behind to zero."""
        clear(self.touched, n_touched, self.expansion, self.seen)
