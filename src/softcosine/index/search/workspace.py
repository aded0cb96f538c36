"""Scratch arrays of a search."""

from __future__ import annotations

import numpy as np

__all__ = ["Workspace"]


class Workspace:
    """Scratch arrays for one search at a time; arrays that must be zero are zeroed after use."""

    def __init__(self, n_docs: int, n_terms: int) -> None:
        self.scores = np.zeros(n_docs, np.float32)
        # Room for the candidates of several queries, or of any single query.
        self.candidates = np.empty(max(2 * n_docs, 2**14), np.uint32)
        self.approximate = np.empty(self.candidates.shape[0], np.float32)
        self.expansion = np.zeros(n_terms)
        self.seen = np.zeros(n_terms, np.uint8)
        self.touched = np.empty(n_terms + 1, np.int32)
