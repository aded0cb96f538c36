"""What a space is, what a query becomes in it, and what a search selects (theory T19)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_whole, is_number, must_be
from softcosine.index.query.constraints import Mask, all_of
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.rankings import RankedSegment
from softcosine.index.spaces.bounds import relative_error
from softcosine.index.spaces.part import Part
from softcosine.index.spaces.plan import ALONE, NOTHING, Plan


class Bound(NamedTuple):
    """How far approximate scores are from exact ones (theory, "Exactness of sums of spaces").

    Attributes
    ----------
    scale : float
        Approximate scores times this are scores; 0 leaves the space out of the search.
    least : float
        A lower bound of all nonzero approximate scores, at least `TINY` of `bounds`: float32 must
        not underflow.
    n_roundings : int
        Float32 roundings of a score of which no summand is negative: its error is relative.
    half : bool
        Whether some values were rounded to the upper half of a float32.
    absolute : float
        The error of approximate scores whose summands can cancel; 0 for a relative error.
    decides : bool
        If False, float32 cannot tell the best, and every document is scored exactly.
    """

    scale: float = 0.0
    least: float = 0.0
    n_roundings: int = 0
    half: bool = False
    absolute: float = 0.0
    decides: bool = True

    @property
    def relative(self) -> float:
        """The largest relative error of a score."""
        return 0.0 if self.absolute else relative_error(self.n_roundings, half=self.half)


UNDECIDED = Bound(1.0, decides=False)


class Prepared(Protocol):
    """A query in a space: what both passes of a search, scores of ids and explanations read."""

    @property
    def bound(self) -> Bound:
        """Of the approximate scores."""

    @property
    def floor(self) -> float:
        """A document is a hit if its score here is positive and reaches this; `inf` makes none."""

    def add(self, run: slice, weight: np.float32, total: NDArray[np.float32]) -> None:
        """Add weight times approximate scores to an array.

        It has an entry for every document of a run of segments, deleted ones included, in order.
        """

    def exact(self, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of documents, given by their numbers in the snapshot, hits or not.

        The bits of each do not depend on the other documents.
        """

    def parts(self, document: int) -> list[Part]:
        """Return what sums to the exact score, up to rounding."""


class Space(Protocol):
    """A summand of a ranking."""

    def prepare(self, query: ReadyQuery) -> Prepared:
        """Return a query in this space."""


@dataclass(frozen=True, slots=True)
class Top:
    """Documents with their scores, and the plan; a search gives the best first (ties by number)."""

    documents: NDArray[np.int64]
    scores: NDArray[np.float64]
    plan: Plan = ALONE

    @classmethod
    def of(
        cls,
        documents: NDArray[np.int64],
        scores: NDArray[np.float64],
        kept: NDArray[np.bool_],
        k: int,
        plan: Plan = ALONE,
    ) -> Self:
        """Return the k best of the documents that a mask keeps."""
        documents, scores = documents[kept], scores[kept]
        best = np.lexsort((documents, -scores))[:k]
        return cls(documents[best], scores[best], plan)

    @classmethod
    def together(cls, tops: Sequence[Self]) -> Self:
        """Return the results of all, one after the other."""
        documents = np.concatenate([one.documents for one in tops])
        scores = np.concatenate([one.scores for one in tops])
        plans = [one.plan for one in tops]
        plan = next((one for one in plans if one.method != NOTHING.method), plans[0])
        return cls(documents, scores, plan)

    @classmethod
    def joined(cls, tops: Sequence[Self]) -> Self:
        """Return the results of all, which have different documents, in the order of a search."""
        top = cls.together(tops)
        return top.at(np.lexsort((top.documents, -top.scores)))

    def at(self, places: NDArray[np.int64] | slice) -> Self:
        """Return the results at some places."""
        return replace(self, documents=self.documents[places], scores=self.scores[places])

    def best(self, k: int) -> Self:
        """Return the first k results."""
        return self.at(slice(k))

    def renumbered(self, numbers: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Top:
        """Return the same results with other, ascending document numbers."""
        return replace(self, documents=numbers(self.documents))


NO_DOCUMENTS = Top(np.empty(0, np.int64), np.empty(0), NOTHING)

# For each prepared segment, a mask of allowed documents; None for all.
Allowed = Sequence[Mask | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a search selects, as checked where it was requested.

    Attributes
    ----------
    k : int
        Maximum number of documents, at least 1.
    min_score : float
        Minimum score; may be ``-inf``.
    positive : bool
        Whether to return only documents of positive score.
    allowed : sequence of ndarray of shape (n_docs,), bool, or None, optional
        For each segment, a mask of allowed documents; deleted documents are never returned.
    threads : int, optional
        Maximum number for all queries together, or inside a single one; by default all. Results do
        not depend on it.
    """

    k: int
    min_score: float = 0.0
    positive: bool = True
    allowed: Allowed | None = None
    threads: int | None = None

    @property
    def minimum(self) -> float:
        """The minimum score."""
        return float(max(self.min_score, 0.0) if self.positive else self.min_score)

    @property
    def exclusive(self) -> bool:
        """Whether scores must be above the minimum."""
        return self.positive and self.min_score <= 0.0

    def within(self, n_docs: int) -> Limits:
        """Return the limits of a search among a number of documents."""
        return self if self.k <= n_docs else replace(self, k=max(n_docs, 1))

    def masks(self, parts: Sequence[RankedSegment]) -> list[Mask]:
        """Return the documents of each segment that can be selected."""
        allowed = self.allowed or [None] * len(parts)
        return [
            np.ones(part.segment.n_docs, np.bool_)
            if (mask := all_of([part.live, own])) is None
            else mask
            for part, own in zip(parts, allowed, strict=True)
        ]

    def inside(self, n_queries: int) -> Limits:
        """Return the limits of each of several queries."""
        return self if n_queries == 1 or self.threads == 1 else replace(self, threads=1)

    def best(self, documents: NDArray[np.int64], scores: NDArray[np.float64], plan: Plan) -> Top:
        """Return the k best of some documents."""
        kept = scores > self.minimum if self.exclusive else scores >= self.minimum
        return Top.of(documents, scores, kept, self.k, plan)


def documents_in(parts: Sequence[RankedSegment], masks: Sequence[Mask]) -> NDArray[np.int64]:
    """Return the numbers of the documents of segments that are in their masks."""
    pairs = zip(masks, parts, strict=True)
    return np.concatenate([np.flatnonzero(mask) + part.first for mask, part in pairs])


def check_min_score(min_score: float, name: str = "min_score") -> float:
    """Return a minimum if it is a number; InvalidInputError otherwise."""
    if is_number(min_score):
        return float(min_score)
    raise must_be(name, min_score, "a number")


def check_k(k: int) -> int:
    """Return k if it is an integer of at least 1; InvalidInputError otherwise."""
    check_whole("k", k)
    return int(k)
