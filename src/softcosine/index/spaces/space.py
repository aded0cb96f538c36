"""Query vectors and top docs: the input and output of a searcher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_whole, is_number, must_be
from softcosine.index.query.constraints import Mask
from softcosine.index.spaces.plan import ALONE, NOTHING, Plan


@dataclass(frozen=True, slots=True)
class Top:
    """Top docs by decreasing score (ties by number), and the plan of the search."""

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
        every = np.ones(len(top.scores), bool)
        return cls.of(top.documents, top.scores, every, len(every), top.plan)

    def at(self, places: NDArray[np.int64] | slice) -> Top:
        """Return the results at some places."""
        return replace(self, documents=self.documents[places], scores=self.scores[places])

    def best(self, k: int) -> Top:
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
    """What a search selects: the options of every searcher.

    Attributes
    ----------
    k : int
        Maximum number of documents, at least 1.
    min_score : float
        Minimum score; may be ``-inf``.
    positive : bool
        Whether to return only documents of positive score.
    expand_postings : bool
        If False, only documents that share a term with the query match (theory T12); their scores
        do not change.
    allowed : sequence of ndarray of shape (n_docs,), bool, or None, optional
        For each segment, a mask of allowed documents; deleted documents are never returned.
    threads : int, optional
        For a query that searches alone.

    Raises
    ------
    InvalidInputError
        If k or min_score is invalid.
    """

    k: int
    min_score: float = 0.0
    positive: bool = True
    expand_postings: bool = True
    allowed: Allowed | None = None
    threads: int | None = 1

    def __post_init__(self) -> None:
        check_k(self.k)
        check_min_score(self.min_score)

    def within(self, n_docs: int) -> Limits:
        """Return the same for so many documents."""
        return replace(self, k=min(self.k, max(n_docs, 1)))

    @property
    def minimum(self) -> float:
        """The minimum score."""
        return float(max(self.min_score, 0.0) if self.positive else self.min_score)

    @property
    def exclusive(self) -> bool:
        """Whether scores must be above the minimum."""
        return self.positive and self.min_score <= 0.0

    def best(self, documents: NDArray[np.int64], scores: NDArray[np.float64], plan: Plan) -> Top:
        """Return the k best of some documents."""
        kept = scores > self.minimum if self.exclusive else scores >= self.minimum
        return Top.of(documents, scores, kept, self.k, plan)


@dataclass(frozen=True, slots=True)
class Expanded:
    """An expanded query W Sᵀ W x by term, and the factor of its scores."""

    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    factor: float


def check_min_score(min_score: float, name: str = "min_score") -> float:
    """Return a minimum if it is a number; InvalidInputError otherwise."""
    if is_number(min_score):
        return float(min_score)
    raise must_be(name, min_score, "a number")


def check_k(k: int) -> int:
    """Return k if it is an integer of at least 1; InvalidInputError otherwise."""
    check_whole("k", k)
    return int(k)
