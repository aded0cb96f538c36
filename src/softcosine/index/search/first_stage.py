"""The first stage of a search whose scores others are added to: approximate, in float32."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.index.search.expansion import Expansions
from softcosine.index.search.segment_table import SegmentTable
from softcosine.kernels.search import add_scores

__all__ = ["FirstStage"]


@dataclass(frozen=True, slots=True)
class FirstStage:
    """An expanded query, whose approximate scores are to be added up.

    Attributes
    ----------
    table : SegmentTable
    scores : ndarray, float32
        Scratch, zero.
    expanded : Expansions
        Of the one query.
    holds : bool
        Whether the approximate scores obey their error bound.
    least_value : float
        See `PreparedRanking.least`.
    """

    table: SegmentTable
    scores: NDArray[np.float32]
    expanded: Expansions
    holds: bool
    least_value: float

    @property
    def empty(self) -> bool:
        """Whether no document can have a score other than 0."""
        return not self.expanded.reaching[0]

    @property
    def unit(self) -> float:
        """The score that is 1 on the approximate scale."""
        return self.expanded.scales[0] * self.expanded.factors[0]

    @property
    def n_summands(self) -> int:
        """The most that any document's score has."""
        return min(int(self.expanded.terms.shape[0]), self.table.longest)

    @property
    def least(self) -> float:
        """A lower bound of all scores but zeros, on the approximate scale."""
        largest, smallest = self.expanded.facts[0][:2]
        return float(smallest / largest * self.least_value)

    def add(self, segments: slice, weight: np.float32, total: NDArray[np.float32]) -> None:
        """Add `weight` times the scores of some segments, one after the other, to `total`."""
        expanded, (_, addresses) = self.expanded, self.table.factors(None)
        add_scores(
            self.table.rows[segments], addresses[segments], expanded.terms, expanded.weights,
            expanded.scales[0], weight, self.scores, total,
        )  # fmt: skip
