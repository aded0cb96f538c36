"""Approximate scores of one query in float32, to which those of other fields can be added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.index.search.expansion import Expansions
from softcosine.index.search.segment_table import SegmentTable
from softcosine.kernels.search import add_scores

__all__ = ["ApproximateScores"]


@dataclass(frozen=True, slots=True)
class ApproximateScores:
    """An expanded query whose approximate scores are added to others.

    Attributes
    ----------
    table : SegmentTable
    scores : ndarray, float32
        Scratch array, zero.
    expanded : Expansions
        Of one query.
    holds : bool
        Whether the error bound of the approximate scores holds.
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
        """Whether all scores are 0."""
        return not self.expanded.reaching[0]

    @property
    def unit(self) -> float:
        """The score that is 1 on the approximate scale."""
        return self.expanded.scales[0] * self.expanded.factors[0]

    @property
    def n_summands(self) -> int:
        """Maximum number of summands of a score."""
        return min(int(self.expanded.terms.shape[0]), self.table.longest)

    @property
    def least(self) -> float:
        """A lower bound of all nonzero scores, on the approximate scale."""
        largest, smallest = self.expanded.facts[0][:2]
        return float(smallest / largest * self.least_value)

    def add(self, segments: slice, weight: np.float32, total: NDArray[np.float32]) -> None:
        """Add `weight` times the scores of consecutive segments to `total`."""
        expanded, (_, addresses) = self.expanded, self.table.factors(None)
        add_scores(
            self.table.rows[segments], addresses[segments], expanded.terms, expanded.weights,
            expanded.scales[0], weight, self.scores, total,
        )  # fmt: skip
