"""Approximate scores of one query in float32, summed over fields, and the candidates by them.

The bound of the rounding errors is that of one field plus a few roundings (theory, "Exactness of
the two-stage search").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine.index.query.constraints import Mask, all_of
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.rankings import RankedSegment
from softcosine.index.segment.segment import MAX_DOCS
from softcosine.index.spaces.bounds import TINY, approximate_floor, slack
from softcosine.index.spaces.plan import ALL, SHARING, Plan
from softcosine.index.spaces.space import (
    NO_DOCUMENTS,
    Limits,
    Top,
)
from softcosine.kernels.search import select_candidates


@dataclass(frozen=True, slots=True)
class ApproximateScores:
    """The approximate scores of a query, to be added up.

    Attributes
    ----------
    add : callable
        Adds the scores of consecutive segments, times a weight, to an array.
    unit : float
        The score that is 1 on the approximate scale; 0 if no document has a score.
    least : float
        A lower bound of all nonzero scores, on the approximate scale.
    n_summands : int
        Maximum number of roundings of a score, for the error bound.
    half : bool
        Whether some values were rounded to the upper half of a float32.
    """

    add: Callable[[slice, np.float32, NDArray[np.float32]], object] = lambda *_: None
    unit: float = 0.0
    least: float = 0.0
    n_summands: int = 0
    half: bool = False


class _FieldSearcher(Protocol):
    """A `Searcher` of one field, as sums over fields need it."""

    @property
    def parts(self) -> Sequence[RankedSegment]: ...
    def approximate_scores(
        self, query: QueryVector, /
    ) -> AbstractContextManager[ApproximateScores | None]: ...


@contextmanager
def field_sums(
    searchers: Sequence[_FieldSearcher], weights: Sequence[float], vectors: Sequence[QueryVector]
) -> Iterator[ApproximateScores | None]:
    """Yield the weighted sum of the scores in every field; None if float32 cannot decide."""
    with ExitStack() as stack:
        stages, units = [], []
        for searcher, weight, vector in zip(searchers, weights, vectors, strict=True):
            stage = stack.enter_context(searcher.approximate_scores(vector))
            if stage is None:
                yield None
                return
            if stage.unit:
                stages.append(stage)
                units.append(weight * stage.unit)
        if not stages:
            yield ApproximateScores()
            return
        unit = max(units)
        # Scores of a field of small weight must not underflow in float32.
        shares = [own / unit for own in units] if 0.0 < unit < np.inf else [0.0]
        least = min(share * one.least for share, one in zip(shares, stages, strict=False))
        if least < TINY:
            yield None
            return

        def add(segments: slice, weight: np.float32, total: NDArray[np.float32]) -> None:
            for share, stage in zip(shares, stages, strict=True):
                stage.add(segments, weight * np.float32(share), total)

        # A share is rounded and multiplied with a score; the product is added to those before.
        n_summands = max(stage.n_summands for stage in stages) + 2 + len(stages)
        yield ApproximateScores(add, unit, least, n_summands, any(one.half for one in stages))


def best_by_sums(
    searchers: Sequence[_FieldSearcher],
    weights: Sequence[float],
    vectors: Sequence[QueryVector],
    limits: Limits,
    scores: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    plan: Plan,
) -> Top:
    """Return the best documents: candidates by the sum over fields, and their exact `scores`."""
    chunks = None
    if limits.expand_postings and limits.positive:
        chunks = summed_candidates(searchers, weights, vectors, limits)
    if chunks is None:  # float32 cannot decide, or they share a term with the query
        return best_of_all(searchers, vectors, limits, scores)
    if not chunks:
        return NO_DOCUMENTS
    documents = np.concatenate(chunks)
    return limits.best(documents, scores(documents), plan)


def best_of_all(
    searchers: Sequence[_FieldSearcher],
    vectors: Sequence[QueryVector],
    limits: Limits,
    scores: Callable[[NDArray[np.int64]], NDArray[np.float64]],
) -> Top:
    """Return the best of all documents that a query may return, each scored exactly."""
    masks = matching(searchers, vectors, limits)
    documents = np.concatenate(documents_in(masks, searchers[0].parts))
    return limits.best(documents, scores(documents), ALL if limits.expand_postings else SHARING)


def matching(
    searchers: Sequence[_FieldSearcher], vectors: Sequence[QueryVector], limits: Limits
) -> list[Mask]:
    """Return the documents of each segment that a query may return.

    With ``expand_postings=False``, they share a term with the query in some field.
    """
    masks = []
    for number, part in enumerate(searchers[0].parts):
        mask = all_of([part.live, None if limits.allowed is None else limits.allowed[number]])
        if mask is None:
            mask = np.ones(part.segment.n_docs, np.bool_)
        if not limits.expand_postings:
            sharing = np.zeros_like(mask)
            for searcher, vector in zip(searchers, vectors, strict=True):
                sharing[searcher.parts[number].segment.documents_of(vector.terms)] = True
            mask &= sharing
        masks.append(mask)
    return masks


def documents_in(masks: Sequence[Mask], parts: Sequence[RankedSegment]) -> list[NDArray[np.int64]]:
    """Return the numbers of the documents of each segment that are in its mask."""
    return [np.flatnonzero(mask) + part.first for mask, part in zip(masks, parts, strict=True)]


def summed_candidates(
    searchers: Sequence[_FieldSearcher],
    weights: Sequence[float],
    vectors: Sequence[QueryVector],
    limits: Limits,
) -> list[NDArray[np.int64]] | None:
    """Return all documents that can be among the k best with a positive score.

    Returns
    -------
    list of ndarray, int64, or None
        Document numbers, one ascending array per run of segments; an empty list if no document
        has a score; None if float32 cannot decide.
    """
    parts = searchers[0].parts
    allowed = limits.allowed or [None] * len(parts)
    with field_sums(searchers, weights, vectors) as sums:
        if sums is None or not sums.unit:
            return None if sums is None else []
        floor = approximate_floor(limits.minimum, sums.unit)
        bound = slack(sums.n_summands, half=sums.half)
        n_docs = sum(part.segment.n_docs for part in parts)
        heap = np.zeros(min(limits.k, max(1, n_docs)), np.float32)
        chunks = []
        for run in _runs(parts):
            check_deadline()
            ones = [np.ones(part.segment.n_docs, np.float32) for part in parts[run]]
            for own, part, mask in zip(ones, parts[run], allowed[run], strict=True):
                if (answers := all_of([part.live, mask])) is not None:
                    own[~answers] = 0.0
            factors = np.concatenate(ones)
            total = np.zeros_like(factors)
            sums.add(run, np.float32(1.0), total)
            candidates, scores = np.empty(len(total), np.uint32), np.empty(len(total), np.float32)
            n = select_candidates(total, factors, 0, heap, floor, bound, candidates, scores)
            chunks.append(candidates[:n].astype(np.int64) + parts[run.start].first)
        return chunks


def _runs(parts: Sequence[RankedSegment]) -> Iterator[slice]:
    """Yield runs of adjacent segments; small segments share a run."""
    begin, n_docs = 0, 0
    for end, part in enumerate(parts, 1):
        n_docs += part.segment.n_docs
        if n_docs >= MAX_DOCS or end == len(parts):
            yield slice(begin, end)
            begin, n_docs = end, 0
