"""Approximate scores of one query in float32, to which those of other fields can be added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.index.search.bounds import HUGE, TINY
from softcosine.index.search.expansion import Expansions
from softcosine.index.search.segment_table import SegmentTable
from softcosine.index.search.soft_frequencies import SoftFrequencies
from softcosine.index.search.workspace import Workspace
from softcosine.kernels.search import add_scores, add_soft_frequency_scores

__all__ = ["ApproximateFrequencyScores", "ApproximateScores"]


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


@dataclass(frozen=True, slots=True)
class ApproximateFrequencyScores:
    """A query whose approximate scores by BM25 of soft frequencies are added to others.

    Attributes
    ----------
    table : SegmentTable
    space : Workspace
    frequencies : SoftFrequencies
    frequency_range : tuple of float
        The least and the greatest frequency of a term in a document.
    greatest_saturation : float
        The greatest K_d.
    """

    table: SegmentTable
    space: Workspace
    frequencies: SoftFrequencies
    frequency_range: tuple[float, float]
    greatest_saturation: float

    @property
    def empty(self) -> bool:
        """Whether all scores are 0."""
        return not (self.frequencies.shares.any() and self.frequencies.amounts.any())

    @property
    def unit(self) -> float:
        """The score that is 1 on the approximate scale."""
        return float(self.frequencies.amounts.max())

    @property
    def n_summands(self) -> int:
        """Maximum number of summands of a soft frequency and of a score."""
        terms, amounts = self.frequencies.terms, self.frequencies.amounts
        return min(len(terms), self.table.longest) + len(amounts)

    @property
    def least(self) -> float:
        """A lower bound of all nonzero scores, on the approximate scale."""
        frequency = self._shares[0] * self.frequency_range[0]
        amounts = self.frequencies.amounts
        least = float(amounts[amounts > 0].min()) / self.unit
        return least * frequency / (frequency + self.greatest_saturation)

    @property
    def holds(self) -> bool:
        """Whether the error bound of the approximate scores holds."""
        if self.frequencies.shares.min() < 0.0 or self.frequencies.amounts.min() < 0.0:
            return False
        least, most = (
            share * of for share, of in zip(self._shares, self.frequency_range, strict=True)
        )
        greatest = max(most * max(self.table.longest, 1), self.greatest_saturation)
        return least >= TINY and self._shares[0] >= TINY and greatest <= HUGE and self.least >= TINY

    @property
    def _shares(self) -> tuple[float, float]:
        """The least nonzero and the greatest share."""
        shares = self.frequencies.shares
        return float(shares[shares > 0].min()), float(shares.max())

    def add(self, segments: slice, weight: np.float32, total: NDArray[np.float32]) -> None:
        """Add `weight` times the scores of consecutive segments to `total`."""
        words = self.frequencies
        add_soft_frequency_scores(
            self.table.rows[segments], words.pointers, words.terms, words.shares.astype(np.float32),
            (words.amounts / self.unit).astype(np.float32), weight, self.space.scores,
            self.space.candidates, total,
        )  # fmt: skip
