"""Search in two stages: candidates by the heaviest terms of the query, then their exact scores.

The candidates are the best documents by the terms of `heaviest_terms`, found by the exact search of
a shorter query, so they do not depend on segments, batches and threads. The second stage scores
them as any search does. So each score is exact, but a document that is no candidate is missing; the
plan of the hits says whether that can be (theory, "First stage by some terms").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from softcosine.index.requests import FirstStage
from softcosine.index.search.bounds import SUM_MARGIN
from softcosine.index.search.fields import FieldsSearcher
from softcosine.index.search.heaviest_terms import LeftOut
from softcosine.index.search.meaning import MeaningSearcher, QueryMeaning
from softcosine.index.search.plan import first_stage_plan
from softcosine.index.search.top_docs import Allowed, QueryVector, Top

_CANDIDATES, _WITH_MEANING = 100, 1000  # docs/benchmarks/first_stage.md

# What both stages need of a query: its vectors, one per field, and its meaning.
StagedQuery = tuple[Sequence[QueryVector], QueryMeaning | None]


@dataclass(frozen=True, slots=True)
class Staged:
    """The candidates of a first stage, with their exact scores.

    Attributes
    ----------
    first : Top
        Their scores by the terms of the first stage.
    scores : ndarray of shape (n_candidates,), float64
    n : int
        Maximum number of candidates.
    least : float
        Minimum score.
    weight : float
        Of the query's meaning; 0 without.
    rounded_one : float
        See `PreparedRanking`.
    left_out : LeftOut or None
        None if the first stage keeps all terms.
    """

    first: Top
    scores: NDArray[np.float64]
    n: int
    least: float
    weight: float
    rounded_one: float
    left_out: LeftOut | None

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the candidates among the documents of all, which have different documents."""
        n = parts[0].n
        first = Top.together([one.first for one in parts])
        scores = np.concatenate([one.scores for one in parts])
        best = np.lexsort((first.documents, -first.scores))[:n]
        return replace(parts[0], first=first.at(best), scores=scores[best])

    def renumbered(self, numbers: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Staged:
        """Return the same candidates with other, ascending document numbers."""
        return replace(self, first=self.first.renumbered(numbers))

    @property
    def searched_exactly(self) -> bool:
        """Whether no document is a candidate by words, so that meaning must search them all."""
        return self.weight > 0 and not len(self.scores)

    def best(self, k: int) -> Top:
        """Return the k best candidates by their exact scores, and a plan that says what is sure."""
        documents, scores, left_out = self.first.documents, self.scores, self.left_out or LeftOut()
        top = Top.of(documents, scores, (scores > 0) & (scores >= self.least), k)
        # The most that a document can score that is no candidate.
        most = float(self.first.scores[-1]) if len(documents) == self.n else 0.0
        most = ((most + left_out.most) * self.rounded_one + self.weight) * SUM_MARGIN
        enough = float(top.scores[-1]) if len(top.scores) == k else self.least
        n_terms = None if self.left_out is None else (left_out.n_kept, left_out.n_terms)
        plan = first_stage_plan(
            n_terms, len(documents),
            proven=most < enough or (left_out.most == 0.0 and not self.weight),
        )  # fmt: skip
        return replace(top, plan=plan)


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
    scores, left_out, weight = first.scores, None, 0.0
    if stage.terms is not None:  # else the first stage was exact
        scores, left_out = words.second_stage(vectors, first.documents, stage.terms)
    if meaning is not None and meant is not None:
        weight = meant.weight
        scores = scores + weight * meaning.cosines(meant.unit, first.documents)
    least, rounded_one = max(float(min_score), 0.0), words.ranking.rounded_one
    n = n_candidates(stage, k, meant)
    return Staged(first, scores, n, least, weight, rounded_one, left_out)


def n_candidates(stage: FirstStage, k: int, meaning: QueryMeaning | None) -> int:
    """Return the number of candidates for the k best documents of a query."""
    return max(k, stage.candidates or (_CANDIDATES if meaning is None else _WITH_MEANING))
