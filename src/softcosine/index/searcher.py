"""The k best documents of a query vector, exactly.

Two stages (theory, "Exactness of the two-stage search"). A term-at-a-time kernel accumulates
approximate scores in float32 and keeps every document that can still be among the k best, given
the proven bound of its rounding errors. One float64 routine then scores these over the forward
index, in ascending term order. A score has thus the same bits whatever came beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.rankings import PreparedRanking
from softcosine.index.segment import Segment
from softcosine.index.threads import n_threads
from softcosine.kernels.documents import rank_candidates
from softcosine.kernels.search import clear, expand, find_candidates
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.norms import roots

__all__ = ["Expanded", "QueryVector", "Searcher", "Top"]

_T = TypeVar("_T")

_UNIT_ROUNDOFF = 2.0**-24  # of float32
_OTHER_ROUNDINGS = 16  # of one weight, value and factor, beside the sums
_TINY, _HUGE = 1e-30, 1e30  # float32 neither vanishes nor overflows between, with room to spare


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A query's coordinates W x, and what its words outside the vocabulary add.

    Attributes
    ----------
    terms : ndarray of shape (m,), int32, ascending
    weights : ndarray of shape (m,), float64
    extra_terms : ndarray of shape (e,), int32
        Indexed terms that outside words are similar to.
    extra_values : ndarray of shape (e,), float64
        What they add to Sᵀ W x there.
    extra_norm : float
        What they add to x'WSWx.
    """

    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    extra_terms: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    extra_values: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    extra_norm: float = 0.0


@dataclass(frozen=True, slots=True)
class Top:
    """Documents by (score descending, number ascending)."""

    documents: NDArray[np.uint32]
    scores: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Expanded:
    """An expanded query: W Sᵀ W x by term, and what scores are multiplied by."""

    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    factor: float


class _Workspace:
    """Scratch arrays of one search at a time; zero between searches."""

    def __init__(self, n_docs: int, n_terms: int) -> None:
        self.scores = np.zeros(n_docs, np.float32)
        self.candidates = np.empty(n_docs, np.uint32)
        self.expansion = np.zeros(n_terms)
        self.seen = np.zeros(n_terms, np.uint8)
        self.touched = np.empty(n_terms, np.int32)
        self.facts = np.zeros(6)


class Searcher:
    """Searches one segment by one ranking and one S.

    Safe to use from many threads at once.
    """

    def __init__(self, segment: Segment, S: TermSimilarityMatrix, ranking: PreparedRanking) -> None:
        self.segment = segment
        self.S = S
        self.ranking = ranking
        self._idle: list[_Workspace] = []
        lengths = np.diff(segment.pointers)
        self._longest = int(lengths.max(initial=0))

    def search(
        self,
        query: QueryVector,
        *,
        k: int,
        min_score: float = 0.0,
        positive: bool = True,
        expand_postings: bool = True,
    ) -> Top:
        """Return the k best documents.

        Parameters
        ----------
        query : QueryVector
        k : int
            1 or more; fewer are returned where fewer qualify.
        min_score : float
            Documents below it are left out. May be ``-inf``.
        positive : bool
            Whether documents of score 0 or less are left out.
        expand_postings : bool
            False looks only at documents that share a term with the query (theory T12); their
            scores stay the same.

        Raises
        ------
        IndefiniteMatrixError
            If the ranking needs the query's soft norm and x'Sx is negative.
        InvalidInputError
            If k or min_score is no number that it can be, or scores may leave float64's range.
        """
        check_min_score(min_score)
        k = min(check_k(k), max(self.segment.n_docs, 1))
        return self._with_workspace(
            lambda work: self._search(work, query, k, min_score, positive, expand_postings)
        )

    def search_batch(
        self,
        queries: Sequence[QueryVector],
        *,
        k: int,
        min_score: float = 0.0,
        positive: bool = True,
        expand_postings: bool = True,
        threads: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Top]:
        """Search many queries, each by one thread; the same bits as one by one."""
        threads = min(n_threads(threads), max(1, len(queries)))

        def one(query: QueryVector) -> Top:
            return self.search(
                query,
                k=k,
                min_score=min_score,
                positive=positive,
                expand_postings=expand_postings,
            )

        def counted(results: object) -> list[Top]:
            tops = []
            for top in results:  # type: ignore[attr-defined]
                tops.append(top)
                if progress is not None:
                    progress(len(tops), len(queries))
            return tops

        if threads == 1:
            return counted(map(one, queries))
        with ThreadPoolExecutor(threads) as pool:
            return counted(pool.map(one, queries))

    def score(self, query: QueryVector, document: int) -> float:
        """Score of one document, the same bits as in a search."""

        def work(space: _Workspace) -> float:
            factor, n_touched = self._expand(space, query)
            top = self._rank(space, np.array([document], np.uint32), 1, factor, 1, -np.inf, False)
            clear(space.touched, n_touched, space.expansion, space.seen)
            return float(top.scores[0])

        return self._with_workspace(work)

    def expanded(self, query: QueryVector) -> Expanded:
        """Return the expansion of a query, for explanations and exports."""

        def work(space: _Workspace) -> Expanded:
            factor, n = self._expand(space, query)
            terms = np.sort(space.touched[:n])
            weights = space.expansion[terms].copy()
            clear(space.touched, n, space.expansion, space.seen)
            return Expanded(terms, weights, factor)

        return self._with_workspace(work)

    def _with_workspace(self, task: Callable[[_Workspace], _T]) -> _T:
        """Run a task with scratch arrays that no other thread uses meanwhile."""
        try:
            space = self._idle.pop()  # atomic
        except IndexError:
            space = _Workspace(self.segment.n_docs, self.segment.n_terms)
        # A task that fails may leave the arrays dirty: they go back only if it ended well.
        result = task(space)
        self._idle.append(space)
        return result

    def _search(
        self,
        space: _Workspace,
        query: QueryVector,
        k: int,
        min_score: float,
        positive: bool,
        expand_postings: bool,
    ) -> Top:
        factor, n_touched = self._expand(space, query)
        exclusive = positive and min_score <= 0.0
        minimum = max(min_score, 0.0) if positive else min_score
        candidates, n = None, 0
        if positive and (factor == 0.0 or space.facts[0] == 0.0):
            candidates = space.candidates  # nothing is reached
        elif not expand_postings:
            candidates = self.segment.documents_of(query.terms)
            n = candidates.shape[0]
        elif self._float32_holds(space, factor):
            n = self._find(space, n_touched, factor, k, max(minimum, 0.0))
            # With fewer than k positive scores, zeros may have to follow them.
            if n >= k or positive:
                candidates = space.candidates
        if candidates is None:
            n = self.segment.n_docs
            candidates = np.arange(n, dtype=np.uint32)
        top = self._rank(space, candidates, n, factor, k, minimum, exclusive)
        clear(space.touched, n_touched, space.expansion, space.seen)
        return top

    def _expand(self, space: _Workspace, query: QueryVector) -> tuple[float, int]:
        """Fill the workspace with the expansion; the query's factor and the terms it reaches."""
        ranking = self.ranking
        n_touched = expand(
            query.terms, query.weights, *self.S.arrays, query.extra_terms, query.extra_values,
            ranking.term_weights, space.expansion, space.seen, space.touched, space.facts,
        )  # fmt: skip
        factor = 1.0
        if ranking.normalization != "none":
            square = float(space.facts[3]) + query.extra_norm
            size = abs(square)
            if ranking.normalization == "ordinary":
                square = size = float(space.facts[4])
            elif not self.S.non_negative:
                size = self._size(query)
            norm = float(roots(np.array([square]), np.array([size]))[0])
            factor = 1.0 / norm if norm > 0.0 else 0.0
        reach = float(space.facts[0]) * ranking.most * self._longest * max(factor, 1.0)
        if space.facts[5] > 0 or reach == np.inf:
            raise InvalidInputError(
                "the scores of this query may leave the range of float64; scale the query, the "
                "documents or the entries of S down."
            )
        return factor, n_touched

    def _size(self, query: QueryVector) -> float:
        """x'W|S|Wx of a query: what rounding may have cost is relative to it."""
        indptr, indices, data = self.S.arrays
        x = np.zeros(self.segment.n_terms)
        x[query.terms] = np.abs(query.weights)
        total = abs(query.extra_norm)
        for term in query.terms:
            row = slice(indptr[term], indptr[term + 1])
            total += x[term] * float(np.abs(data[row]).astype(np.float64) @ x[indices[row]])
        return float(total)

    def _float32_holds(self, space: _Workspace, factor: float) -> bool:
        """Whether the approximate scores of this query obey their error bound."""
        largest, smallest, n_negative = space.facts[:3]
        return bool(
            n_negative == 0
            and 0.0 < largest < np.inf
            and factor > 0.0
            and smallest / largest * self.ranking.least >= _TINY
            and self.ranking.most <= _HUGE
        )

    def _find(
        self, space: _Workspace, n_touched: int, factor: float, k: int, minimum: float
    ) -> int:
        ranking, segment = self.ranking, self.segment
        scale = float(space.facts[0])
        gamma = (min(n_touched, self._longest) + _OTHER_ROUNDINGS) * _UNIT_ROUNDOFF
        gamma /= 1.0 - gamma
        # One more unit downwards for rounding the bound itself to float32.
        slack = (1.0 - gamma) / (1.0 + gamma) * (1.0 - 4 * _UNIT_ROUNDOFF)
        floor = np.float32(min(minimum / (scale * factor), _HUGE)) if minimum > 0 else np.float32(0)
        n: int = find_candidates(
            ranking.kind, space.touched, n_touched, space.expansion, scale,
            segment.term_groups, segment.group_starts, ranking.group_weights,
            segment.documents, segment.posting_weights, ranking.saturation32,
            ranking.factors32, floor, k, slack, space.scores, space.candidates,
        )  # fmt: skip
        return n

    def _rank(
        self,
        space: _Workspace,
        candidates: NDArray[np.uint32],
        n_candidates: int,
        factor: float,
        k: int,
        minimum: float,
        exclusive: bool,
    ) -> Top:
        ranking, segment = self.ranking, self.segment
        size = min(k, n_candidates)
        documents, scores = np.empty(size, np.uint32), np.empty(size)
        if size == 0:
            return Top(documents, scores)
        n = rank_candidates(
            ranking.kind, segment.pointers, segment.terms, segment.levels, ranking.table,
            ranking.saturation, ranking.k1, segment.reals, ranking.factors, space.expansion,
            factor, candidates, n_candidates, minimum, exclusive, documents, scores,
        )  # fmt: skip
        return Top(documents[:n], scores[:n])


def check_min_score(min_score: float) -> float:
    """Return min_score if it is a number; InvalidInputError otherwise."""
    if (
        isinstance(min_score, bool)
        or not isinstance(min_score, int | float | np.integer | np.floating)
        or np.isnan(min_score)
    ):
        raise InvalidInputError(f"min_score is {min_score!r}; it must be a number.")
    return float(min_score)


def check_k(k: int) -> int:
    """Return k if it is a whole number of 1 or more; InvalidInputError otherwise."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InvalidInputError(f"k is {k!r}; it must be a whole number of 1 or more.")
    return int(k)
