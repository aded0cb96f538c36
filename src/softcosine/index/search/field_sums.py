"""Candidates of a search over several fields, by the sum of their approximate scores.

The bound of the rounding errors is that of one field plus a few roundings (theory, "Exactness of
the two-stage search").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine.index.search.approximate_scores import ApproximateFrequencyScores, ApproximateScores
from softcosine.index.search.bounds import TINY, approximate_floor, slack
from softcosine.index.search.parts import Part
from softcosine.index.search.searcher import Allowed, Searcher
from softcosine.index.search.top_docs import QueryVector
from softcosine.index.segment.segment import MAX_DOCS
from softcosine.kernels.search import select_candidates

__all__ = ["FieldSums", "field_sums", "summed_candidates"]


@dataclass(frozen=True, slots=True)
class FieldSums:
    """The first stages of all fields that have a score, to be added up.

    Attributes
    ----------
    stages : tuple of ApproximateScores or ApproximateFrequencyScores
    shares : tuple of float
        Factor of each stage.
    unit : float
        The score that is 1 in the sums; 0 if no document has a score.
    """

    stages: tuple[ApproximateScores | ApproximateFrequencyScores, ...] = ()
    shares: tuple[float, ...] = ()
    unit: float = 0.0

    def add(self, segments: range, total: NDArray[np.float32]) -> None:
        """Add the scores of the documents of consecutive segments to `total`."""
        for share, stage in zip(self.shares, self.stages, strict=True):
            stage.add(slice(segments.start, segments.stop), np.float32(share), total)

    @property
    def n_summands(self) -> int:
        """Maximum number of roundings of a sum, for an error bound."""
        # A share is rounded and multiplied with a score; the product is added to those before.
        return max(stage.n_summands for stage in self.stages) + 2 + len(self.stages)

    @property
    def half(self) -> bool:
        """Whether some values were rounded to the upper half of a float32."""
        return any(stage.table.half for stage in self.stages)


@contextmanager
def field_sums(
    searchers: Sequence[Searcher], weights: Sequence[float], vectors: Sequence[QueryVector]
) -> Iterator[FieldSums | None]:
    """Yield the first stages of a query in every field; None if float32 cannot decide."""
    with ExitStack() as stack:
        stages, units = [], []
        for searcher, weight, vector in zip(searchers, weights, vectors, strict=True):
            stage = stack.enter_context(searcher.approximate_scores(vector))
            if stage.empty:
                continue
            if not stage.holds:
                yield None
                return
            stages.append(stage)
            units.append(weight * stage.unit)
        unit = max(units, default=0.0)
        # Scores of a field of small weight must not underflow in float32.
        shares = [own / unit for own in units] if 0.0 < unit < np.inf else []
        least = [share * one.least for share, one in zip(shares, stages, strict=False)]
        if stages and (not shares or min(least) < TINY):
            yield None
            return
        yield FieldSums(tuple(stages), tuple(shares), unit)


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
    with field_sums(searchers, weights, vectors) as sums:
        if sums is None or not sums.stages:
            return None if sums is None else []
        floor = approximate_floor(max(min_score, 0.0), sums.unit)
        bound = slack(sums.n_summands, half=sums.half)
        heap = np.zeros(min(k, max(1, sum(part.segment.n_docs for part in parts))), np.float32)
        found = []
        for segments in _runs(parts):
            check_deadline()
            ones = np.concatenate([
                _answers(parts[number], None if allowed is None else allowed[number])
                for number in segments
            ])  # fmt: skip
            total = np.zeros_like(ones)
            sums.add(segments, total)
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
