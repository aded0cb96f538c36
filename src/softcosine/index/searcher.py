"""The k best documents of a query vector, exactly.

Two stages (theory, "Exactness of the two-stage search"). A kernel adds up approximate scores in
float32, term after term for one query, document after document for many at once, and keeps every
document that can still be among the k best, given the proven bound of its rounding errors. One
float64 routine then scores these over the forward index, in ascending term order. A score has thus
the same bits whatever came beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.bounds import approximate_floor, float32_holds, slack
from softcosine.index.columns import frequent_columns
from softcosine.index.panel import Panel
from softcosine.index.rankings import PreparedRanking
from softcosine.index.segment import Segment
from softcosine.index.threads import n_threads
from softcosine.index.workspace import Kept, Workspace
from softcosine.kernels.documents import rank_candidates
from softcosine.kernels.panel import PANEL
from softcosine.kernels.search import expand, find_candidates
from softcosine.matrix.reading import is_number
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.norms import roots

__all__ = ["Expanded", "QueryVector", "Searcher", "Top"]

_T = TypeVar("_T")

# A pass over all documents for PANEL queries costs as much as so many passes over all postings for
# one query: measured.
_PANEL_COST = 12.0


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


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a search was asked for, checked."""

    k: int
    min_score: float
    positive: bool
    expand_postings: bool

    @property
    def minimum(self) -> float:
        """Least score that counts."""
        return max(self.min_score, 0.0) if self.positive else self.min_score

    @property
    def exclusive(self) -> bool:
        """Whether the least score itself does not count."""
        return self.positive and self.min_score <= 0.0


class Searcher:
    """Searches one segment by one ranking and one S.

    Safe to use from many threads at once.
    """

    def __init__(self, segment: Segment, S: TermSimilarityMatrix, ranking: PreparedRanking) -> None:
        self.segment = segment
        self.S = S
        self.ranking = ranking
        self._idle: list[Workspace] = []
        self._idle_panels: list[Panel] = []
        self._columns = frequent_columns(segment, ranking)
        self._frequencies = segment.document_frequencies()
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
        asked = self._asked(k, min_score, positive, expand_postings)
        return self._with_workspace(lambda space: self._search(space, query, asked))

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
        """Search many queries on several threads; the same bits as one by one."""
        asked = self._asked(k, min_score, positive, expand_postings)
        threads = min(n_threads(threads), max(1, len(queries)))
        size = min(PANEL, max(1, -(-len(queries) // threads)))
        groups = [queries[start : start + size] for start in range(0, len(queries), size)]

        def together(group: Sequence[QueryVector]) -> list[Top]:
            return self._with_workspace(lambda space: self._search_together(space, group, asked))

        def counted(results: Iterable[list[Top]]) -> list[Top]:
            tops = []
            for top in chain.from_iterable(results):
                tops.append(top)
                if progress is not None:
                    progress(len(tops), len(queries))
            return tops

        if threads == 1:
            return counted(map(together, groups))
        with ThreadPoolExecutor(threads) as pool:
            return counted(pool.map(together, groups))

    def score(self, query: QueryVector, document: int) -> float:
        """Score of one document, the same bits as in a search."""

        def work(space: Workspace) -> float:
            factor, n_touched = self._expand(space, query)
            top = self._rank(space, np.array([document], np.uint32), 1, factor, 1, -np.inf, False)
            space.clear(n_touched)
            return float(top.scores[0])

        return self._with_workspace(work)

    def expanded(self, query: QueryVector) -> Expanded:
        """Return the expansion of a query, for explanations and exports."""

        def work(space: Workspace) -> Expanded:
            factor, n = self._expand(space, query)
            terms = np.sort(space.touched[:n])
            weights = space.expansion[terms].copy()
            space.clear(n)
            return Expanded(terms, weights, factor)

        return self._with_workspace(work)

    def _with_workspace(self, task: Callable[[Workspace], _T]) -> _T:
        """Run a task with scratch arrays that no other thread uses meanwhile."""
        try:
            space = self._idle.pop()  # atomic
        except IndexError:
            space = Workspace(self.segment.n_docs, self.segment.n_terms)
        # A task that fails may leave the arrays dirty: they go back only if it ended well.
        result = task(space)
        self._idle.append(space)
        return result

    def _asked(self, k: int, min_score: float, positive: bool, expand_postings: bool) -> _Asked:
        k = min(check_k(k), max(self.segment.n_docs, 1))
        return _Asked(k, check_min_score(min_score), positive, expand_postings)

    def _search(self, space: Workspace, query: QueryVector, asked: _Asked) -> Top:
        factor, n_touched = self._expand(space, query)
        return self._finish(space, query, n_touched, factor, asked, None)

    def _search_together(
        self, space: Workspace, queries: Sequence[QueryVector], asked: _Asked
    ) -> list[Top]:
        """Search up to PANEL queries, in one pass over the documents where that is less work."""
        if len(queries) == 1:
            return [self._search(space, queries[0], asked)]
        kept: list[Kept] = []
        together: list[int] = []
        touched = 0
        for number, query in enumerate(queries):
            factor, n_touched = self._expand(space, query)
            if asked.expand_postings and self._float32_holds(space, factor):
                together.append(number)
                touched += int(self._frequencies[space.touched[:n_touched]].sum())
            kept.append(space.take(n_touched, factor))
        found: dict[int, NDArray[np.uint32]] = {}
        if touched > _PANEL_COST * self.segment.n_postings:
            found = self._find_together(kept, together, asked)
        tops = []
        for number, (query, own) in enumerate(zip(queries, kept, strict=True)):
            space.put(own)
            n_touched = own.terms.shape[0]
            candidates = found.get(number)
            tops.append(self._finish(space, query, n_touched, own.factor, asked, candidates))
        return tops

    def _finish(
        self,
        space: Workspace,
        query: QueryVector,
        n_touched: int,
        factor: float,
        asked: _Asked,
        found: NDArray[np.uint32] | None,
    ) -> Top:
        """Find the candidates of the query in the workspace, unless they are found, and rank."""
        candidates, n = None, 0
        if asked.positive and (factor == 0.0 or space.facts[0] == 0.0):
            candidates = space.candidates  # nothing is reached
        elif not asked.expand_postings:
            candidates = self.segment.documents_of(query.terms)
            n = candidates.shape[0]
        elif found is not None or self._float32_holds(space, factor):
            if found is None:
                n = self._find(space, n_touched, factor, asked.k, max(asked.minimum, 0.0))
                found = space.candidates
            else:
                n = found.shape[0]
            # With fewer than k positive scores, zeros may have to follow them.
            if n >= asked.k or asked.positive:
                candidates = found
        if candidates is None:
            n = self.segment.n_docs
            candidates = np.arange(n, dtype=np.uint32)
        top = self._rank(space, candidates, n, factor, asked.k, asked.minimum, asked.exclusive)
        space.clear(n_touched)
        return top

    def _expand(self, space: Workspace, query: QueryVector) -> tuple[float, int]:
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

    def _float32_holds(self, space: Workspace, factor: float) -> bool:
        """Whether the approximate scores of this query obey their error bound."""
        largest, smallest, n_negative = space.facts[:3].tolist()
        least, most = self.ranking.least, self.ranking.most
        holds = float32_holds(smallest, largest, least=least, most=most)
        return n_negative == 0 and factor > 0.0 and holds

    def _find(self, space: Workspace, n_touched: int, factor: float, k: int, minimum: float) -> int:
        ranking, segment, columns = self.ranking, self.segment, self._columns
        scale = float(space.facts[0])
        bound = slack(min(n_touched, self._longest), half=columns.values.shape[0] > 0)
        n: int = find_candidates(
            ranking.kind, space.touched, n_touched, space.expansion, scale,
            segment.term_groups, segment.group_starts, ranking.group_weights,
            segment.documents, segment.posting_weights, ranking.saturation32,
            columns.longest_list, columns.column_of, columns.values,
            ranking.factors32, approximate_floor(minimum, scale * factor), k,
            bound, space.scores, space.candidates,
        )  # fmt: skip
        return n

    def _find_together(
        self, kept: Sequence[Kept], together: Sequence[int], asked: _Asked
    ) -> dict[int, NDArray[np.uint32]]:
        """Find the candidates of the queries that a panel may hold, by their numbers."""
        try:
            panel = self._idle_panels.pop()
        except IndexError:
            panel = Panel(self.segment, self.ranking)
        floors, slacks = [], []
        for column, number in enumerate(together):
            query = kept[number]
            scale = float(query.facts[0])
            panel.put(column, query.terms, query.weights, scale)
            floors.append(approximate_floor(max(asked.minimum, 0.0), scale * query.factor))
            slacks.append(slack(min(query.terms.shape[0], self._longest), half=True))
        candidates = panel.candidates(asked.k, floors, slacks)
        for column, number in enumerate(together):
            panel.clear(column, kept[number].terms)
        self._idle_panels.append(panel)
        return dict(zip(together, candidates, strict=True))

    def _rank(
        self,
        space: Workspace,
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
    if is_number(min_score):
        return float(min_score)
    raise InvalidInputError(f"min_score is {min_score!r}; it must be a number.")


def check_k(k: int) -> int:
    """Return k if it is a whole number of 1 or more; InvalidInputError otherwise."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InvalidInputError(f"k is {k!r}; it must be a whole number of 1 or more.")
    return int(k)
