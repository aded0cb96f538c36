"""Search in two stages: candidates by the heaviest terms of the query, then their exact scores.

The candidates are the best documents by the terms of `heaviest_terms`, found by the exact search of
a shorter query, so they do not depend on segments, batches and threads. The second stage scores
them as any search does. So each score is exact, but a document that is no candidate is missing
(theory, "First stage by some terms").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.requests import FirstStage
from softcosine.index.spaces.plan import first_stage_plan
from softcosine.index.spaces.space import Top
from softcosine.index.spaces.sum import PreparedSum, Sum
from softcosine.index.spaces.words import Words

_CANDIDATES, _WITH_MEANING = 100, 1000  # docs/benchmarks/first_stage.md


@dataclass(frozen=True, slots=True)
class Staged:
    """The candidates of a first stage, with their exact scores.

    Attributes
    ----------
    first : Top
        Their scores by the terms of the first stage, at most `n`.
    scores : ndarray of shape (n_candidates,), float64
    n : int
    stage : FirstStage
    least : float
        Minimum score.
    by_meaning : bool
        Whether meaning counts.
    """

    first: Top
    scores: NDArray[np.float64]
    n: int
    stage: FirstStage
    least: float
    by_meaning: bool

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the candidates among the documents of all, which have different documents."""
        first = Top.together([one.first for one in parts])
        scores = np.concatenate([one.scores for one in parts])
        best = np.lexsort((first.documents, -first.scores))[: parts[0].n]
        return replace(parts[0], first=first.at(best), scores=scores[best])

    def renumbered(self, numbers: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Staged:
        """Return the same candidates with other, ascending document numbers."""
        return replace(self, first=self.first.renumbered(numbers))

    @property
    def searched_exactly(self) -> bool:
        """Whether no document is a candidate by words, so that meaning must search them all."""
        return self.by_meaning and not len(self.scores)

    def best(self, k: int) -> Top:
        """Return the k best candidates by their exact scores."""
        documents, scores = self.first.documents, self.scores
        proven = self.stage.terms is None and not self.by_meaning
        plan = first_stage_plan(self.stage, len(documents), proven=proven)
        return Top.of(documents, scores, (scores > 0) & (scores >= self.least), k, plan)


def by_heaviest_terms(query: ReadyQuery, words: Sum[Words], n: int | None) -> PreparedSum:
    """Return a query by the own and heaviest terms of each field; by all for None."""
    prepared = [(weight, space.prepare(query)) for weight, space in words.summands]
    if n is not None:
        every = query.impacts or (None,) * len(prepared)
        pairs = zip(prepared, every, strict=True)
        prepared = [(weight, one.heaviest(n, impacts)) for (weight, one), impacts in pairs]
    return PreparedSum(words.segments, tuple(prepared))


def n_candidates(stage: FirstStage, k: int, query: ReadyQuery) -> int:
    """Return the number of candidates for the k best documents of a query."""
    return max(k, stage.candidates or (_CANDIDATES if query.unit is None else _WITH_MEANING))
