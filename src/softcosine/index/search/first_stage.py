"""The first stage of a search, part by part: approximate scores in float32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.index.search.expansion import Expansions
from softcosine.index.search.parts import Part
from softcosine.index.segment.dense_columns import Columns, frequent_columns
from softcosine.kernels.search import add_scores

__all__ = ["FirstStage", "Prepared"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A part, and what is derived of it for searching."""

    part: Part
    columns: Columns
    longest: int

    @classmethod
    def of(cls, part: Part) -> Prepared:
        """Derive it."""
        longest = int(np.diff(part.segment.pointers).max(initial=0))
        return cls(part, frequent_columns(part.segment, part.ranking), longest)

    @property
    def half(self) -> bool:
        """Whether some values were rounded to the upper half of a float32."""
        return bool(self.columns.values.shape[0] > 0)

    def factors(self, mask: NDArray[np.bool_] | None) -> NDArray[np.float32]:
        """Return the documents' factors: 0, so that it is no candidate, for each off the mask."""
        factors = self.part.ranking.factors32
        return factors if mask is None else np.where(mask, factors, np.float32(0.0))

    @property
    def postings(self) -> tuple[Any, ...]:
        """The arguments by which kernels walk the part's postings."""
        ranking, segment, columns = self.part.ranking, self.part.segment, self.columns
        return (
            segment.term_groups, segment.group_starts, ranking.group_weights, segment.documents,
            segment.posting_weights, ranking.saturation32,
            columns.longest_list, columns.column_of, columns.values,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FirstStage:
    """An expanded query, to be added up part by part.

    Attributes
    ----------
    prepared : list of Prepared
    scores : ndarray, float32
        Scratch, zero.
    expanded : Expansions
        Of the one query.
    holds : bool
        Whether the approximate scores obey their error bound.
    longest : int
        Most terms of a document.
    """

    prepared: list[Prepared]
    scores: NDArray[np.float32]
    expanded: Expansions
    holds: bool
    longest: int

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
        return min(int(self.expanded.terms.shape[0]), self.longest)

    @property
    def half(self) -> bool:
        """Whether some values were rounded to the upper half of a float32."""
        return any(prepared.half for prepared in self.prepared)

    @property
    def least(self) -> float:
        """A lower bound of all scores but zeros, on the approximate scale."""
        largest, smallest = self.expanded.facts[0][:2]
        return float(smallest / largest * min(one.part.ranking.least for one in self.prepared))

    def add(self, number: int, weight: np.float32, total: NDArray[np.float32]) -> None:
        """Add `weight` times the scores of a part, on the approximate scale, to `total`."""
        prepared, expanded = self.prepared[number], self.expanded
        add_scores(
            prepared.part.ranking.kind, expanded.terms, expanded.weights,
            expanded.scales[0], *prepared.postings, prepared.factors(None), weight,
            self.scores[: total.shape[0]], total,
        )  # fmt: skip
