"""Candidates of a search over several fields, by the sum of their approximate scores.

The bound of the rounding errors is that of one field plus a few roundings (theory, "Exactness of
the two-stage search").
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray

from softcosine.index.search.bounds import TINY, approximate_floor, slack
from softcosine.index.search.parts import Part
from softcosine.index.search.searcher import Allowed, Searcher
from softcosine.index.search.top_docs import QueryVector
from softcosine.index.segment.segment import MAX_DOCS
from softcosine.kernels.search import select_candidates

__all__ = ["summed_candidates"]


def summed_candidates(
    searchers: Sequence[Searcher],
    weights: Sequence[float],
    vectors: Sequence[QueryVector],
    *,
    k: int,
    min_score: float,
    allowed: Allowed | None,
) -> list[NDArray[np.int64]] | None:
    """Return all documents that can be among the k best with a positive score.

    Returns
    -------
    list of ndarray, int64, or None
        Document numbers, one ascending array per run of segments; an empty list if no document
        has a score; None if float32 cannot decide.
    """
    parts = searchers[0].parts
    with ExitStack() as stack:
        stages, units = [], []
        for searcher, weight, vector in zip(searchers, weights, vectors, strict=True):
            stage = stack.enter_context(searcher.first_stage(vector))
            if stage.empty:
                continue
            if not stage.holds:
                return None
            stages.append(stage)
            units.append(weight * stage.unit)
        if not stages:
            return []
        unit = max(units)
        if not 0.0 < unit < np.inf:
            return None
        # Scores of a field of small weight must not underflow in float32.
        shares = [own / unit for own in units]
        if min(share * stage.least for share, stage in zip(shares, stages, strict=True)) < TINY:
            return None
        floor = approximate_floor(max(min_score, 0.0), unit)
        # A share is rounded and multiplied with a score; the product is added to those before.
        n_summands = max(stage.n_summands for stage in stages) + 2 + len(stages)
        bound = slack(n_summands, half=any(stage.table.half for stage in stages))
        heap = np.zeros(min(k, max(1, sum(part.segment.n_docs for part in parts))), np.float32)
        found = []
        for segments in _runs(parts):
            ones = np.concatenate([
                _answers(parts[number], None if allowed is None else allowed[number])
                for number in segments
            ])  # fmt: skip
            total = np.zeros_like(ones)
            for share, stage in zip(shares, stages, strict=True):
                stage.add(slice(segments.start, segments.stop), np.float32(share), total)
            candidates, scores = np.empty(len(total), np.uint32), np.empty(len(total), np.float32)
            n = select_candidates(total, ones, 0, heap, floor, bound, candidates, scores)
            found.append(candidates[:n].astype(np.int64) + parts[segments.start].first)
        return found


def _runs(parts: Sequence[Part]) -> list[range]:
    """Return runs of adjacent segments; small segments share a run."""
    runs, begin, n_docs = [], 0, 0
    for end, part in enumerate(parts, 1):
        n_docs += part.segment.n_docs
        if n_docs >= MAX_DOCS or end == len(parts):
            runs.append(range(begin, end))
            begin, n_docs = end, 0
    return runs


def _answers(part: Part, allowed: NDArray[np.bool_] | None) -> NDArray[np.float32]:
    """Return 1 for each allowed document of a segment, 0 for the others."""
    ones = np.ones(part.segment.n_docs, np.float32)
    for mask in (part.live, allowed):
        if mask is not None:
            ones[~mask] = 0.0
    return ones
