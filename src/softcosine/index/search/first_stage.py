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

from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.requests import FirstStage
from softcosine.index.spaces.meaning import MeaningSearcher, QueryMeaning
from softcosine.index.spaces.plan import first_stage_plan
from softcosine.index.spaces.space import (
    Allowed,
    Top,
)
from softcosine.index.spaces.sum import FieldsSearcher

_CANDIDATES, _WITH_MEANING = 100, 1000  # docs/benchmarks/first_stage.md

# What both stages need of a query: its vectors, one per field, and its meaning.
StagedQuery = tuple[Sequence[QueryVector], QueryMeaning | None]


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


def first_stage(
    words: FieldsSearcher,
    query: StagedQuery,
    stage: FirstStage,
    *,
    k: int,
    allowed: Allowed | None = None,
    threads: int | None = 1,
) -> Top:
    """Return the candidates of a query for its k best, with their scores by `stage`'s terms."""
    shorter = words if stage.terms is None else words.limited(stage.terms)
    vectors, meaning = query
    n = n_candidates(stage, k, meaning)
    return shorter.search_batch([vectors], k=n, allowed=allowed, threads=threads)[0]


def second_stage(
    words: FieldsSearcher,
    meaning: MeaningSearcher | None,
    query: StagedQuery,
    first: Top,
    stage: FirstStage,
    *,
    k: int,
    min_score: float = 0.0,
) -> Staged:
    """Return candidates of `first_stage` with their exact scores.

    A query with a meaning is ranked by the sum of both, by `meaning`.
    """
    vectors, meant = query
    scores = first.scores
    if stage.terms is not None:  # else the first stage was exact
        scores = words.scores(vectors, first.documents)
    if meaning is not None and meant is not None:
        scores = scores + meant.weight * meaning.cosines(meant, first.documents)
    least = max(float(min_score), 0.0)
    return Staged(first, scores, n_candidates(stage, k, meant), stage, least, meant is not None)


def n_candidates(stage: FirstStage, k: int, meaning: QueryMeaning | None) -> int:
    """Return the number of candidates for the k best documents of a query."""
    return max(k, stage.candidates or (_CANDIDATES if meaning is None else _WITH_MEANING))
