"""Approximate scores of one query in float32, summed over fields, and the candidates by them.

The bound of the rounding errors is that of one field plus a few roundings (theory, "Exactness of
the two-stage search").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine.index.query.constraints import Mask, all_of
from softcosine.index.rankings import Part
from softcosine.index.search.bounds import TINY, approximate_floor, slack
from softcosine.index.search.top_docs import QueryVector
from softcosine.index.segment.segment import MAX_DOCS
from softcosine.kernels.search import select_candidates

if TYPE_CHECKING:
    from softcosine.index.search.searcher import Searcher

__all__ = ["ApproximateScores", "field_sums", "summed_candidates"]


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


@contextmanager
def field_sums(
    searchers: Sequence[Searcher], weights: Sequence[float], vectors: Sequence[QueryVector]
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


def summed_candidates(
    searchers: Sequence[Searcher],
    weights: Sequence[float],
    vectors: Sequence[QueryVector],
    *,
    k: int,
    min_score: float,
    allowed: Sequence[Mask | None] | None,
) -> list[NDArray[np.int64]] | None:
    """Return all documents that can be among the k best with a positive score.

    Returns
    -------
    list of ndarray, int64, or None
        Document numbers, one ascending array per run of segments; an empty list if no document
        has a score; None if float32 cannot decide.
    """
    parts = searchers[0].parts
    allowed = allowed or [None] * len(parts)
    with field_sums(searchers, weights, vectors) as sums:
        if sums is None or not sums.unit:
            return None if sums is None else []
        floor = approximate_floor(max(min_score, 0.0), sums.unit)
        bound = slack(sums.n_summands, half=sums.half)
        heap = np.zeros(min(k, max(1, sum(part.segment.n_docs for part in parts))), np.float32)
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


def _runs(parts: Sequence[Part]) -> Iterator[slice]:
    """Yield runs of adjacent segments; small segments share a run."""
    begin, n_docs = 0, 0
    for end, part in enumerate(parts, 1):
        n_docs += part.segment.n_docs
        if n_docs >= MAX_DOCS or end == len(parts):
            yield slice(begin, end)
            begin, n_docs = end, 0
