"""The k best documents of a query vector, exactly.

Two stages (theory, "Exactness of the two-stage search"). A kernel adds up approximate scores in
float32, term after term for one query, document after document for many at once, and keeps every
document that can still be among the k best, given the proven bound of its rounding errors. One
float64 routine then scores these over the forward index, in ascending term order. A score has thus
the same bits whatever came beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.bounds import approximate_floor, float32_holds, slack
from softcosine.index.first_stage import FirstStage, Prepared
from softcosine.index.panel import Panel
from softcosine.index.parts import Part
from softcosine.index.plan import ALL, ALONE, NOTHING, SHARING, Plan, panel_plan
from softcosine.index.rankings import PreparedRanking
from softcosine.index.statistics import FieldStatistics
from softcosine.index.threads import n_threads
from softcosine.index.values import Expanded, QueryVector, Top, check_k, check_min_score, merged
from softcosine.index.workspace import Kept, Workspace
from softcosine.kernels.documents import rank_candidates, score_documents
from softcosine.kernels.panel import PANEL
from softcosine.kernels.search import expand, find_candidates
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.norms import roots

__all__ = ["Allowed", "Searcher"]

_T = TypeVar("_T")

# For each part, which of its documents may be answers; None for all.
Allowed = Sequence["NDArray[np.bool_] | None"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a search was asked for, checked."""

    k: int
    min_score: float
    positive: bool
    expand_postings: bool
    allowed: Allowed

    @property
    def minimum(self) -> float:
        """Least score that counts."""
        return max(self.min_score, 0.0) if self.positive else self.min_score

    @property
    def exclusive(self) -> bool:
        """Whether the least score itself does not count."""
        return self.positive and self.min_score <= 0.0


class Searcher:
    """Searches the parts of an index by one ranking and one S.

    Safe to use from many threads at once.

    Parameters
    ----------
    parts : sequence of Part
        At least one, in the order of their documents' numbers, all prepared for one ranking.
    S : TermSimilarityMatrix
    """

    def __init__(self, parts: Sequence[Part], S: TermSimilarityMatrix) -> None:
        self.parts = tuple(parts)
        self.S = S
        self._segments = [Prepared.of(part) for part in self.parts]
        self._largest = max(part.segment.n_docs for part in self.parts)
        self._n_docs = sum(part.segment.n_docs for part in self.parts)
        self._n_postings = sum(part.segment.n_postings for part in self.parts)
        self._longest = max(prepared.longest for prepared in self._segments)
        self._half = any(prepared.half for prepared in self._segments)
        self._least = min(part.ranking.least for part in self.parts)
        self._most = max(part.ranking.most for part in self.parts)
        self._firsts = np.array([part.first for part in self.parts], np.int64)
        self._frequencies = FieldStatistics.of(
            [part.segment for part in self.parts], len(S)
        ).document_frequencies
        self._idle: list[Workspace] = []
        self._idle_panels: list[Panel] = []

    @property
    def ranking(self) -> PreparedRanking:
        """What the ranking has of its own, whatever the part: term weights, settings."""
        return self.parts[0].ranking

    def part_of(self, document: int) -> tuple[Part, int]:
        """Return the part that holds a document, and the document's number there."""
        part = self.parts[int(np.searchsorted(self._firsts, document, "right")) - 1]
        return part, document - part.first

    def search(
        self,
        query: QueryVector,
        *,
        k: int,
        min_score: float = 0.0,
        positive: bool = True,
        expand_postings: bool = True,
        allowed: Allowed | None = None,
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
        allowed : sequence of ndarray of shape (n_docs,), bool, or None, optional
            For each part, which of its documents may be answers, deleted ones aside.

        Raises
        ------
        IndefiniteMatrixError
            If the ranking needs the query's soft norm and x'Sx is negative.
        InvalidInputError
            If k or min_score is no number that it can be, or scores may leave float64's range.
        """
        asked = self._asked(k, min_score, positive, expand_postings, allowed)
        return self._with_workspace(lambda space: self._search(space, query, asked))

    def search_batch(
        self,
        queries: Sequence[QueryVector],
        *,
        k: int,
        min_score: float = 0.0,
        positive: bool = True,
        expand_postings: bool = True,
        allowed: Allowed | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Top]:
        """Search many queries on several threads; the same bits as one by one."""
        asked = self._asked(k, min_score, positive, expand_postings, allowed)
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
        return float(self.scores(query, np.array([document]))[0])

    def scores(self, query: QueryVector, documents: NDArray[np.integer]) -> NDArray[np.float64]:
        """Scores of some documents, the same bits as in a search, in the order given."""

        def work(space: Workspace) -> NDArray[np.float64]:
            factor, n_touched = self._expand(space, query)
            found = np.empty(len(documents))
            owners = np.searchsorted(self._firsts, documents, "right") - 1
            for number in np.unique(owners).tolist():
                part, own = self.parts[number], owners == number
                local = (documents[own] - part.first).astype(np.uint32)
                found[own] = _scores(part, space, local, factor)
            space.clear(n_touched)
            return found

        return self._with_workspace(work)

    @contextmanager
    def first_stage(self, query: QueryVector) -> Iterator[FirstStage]:
        """Give the first stage of a search, whose scores others may be added to."""
        space = self._taken()
        factor, n_touched = self._expand(space, query)
        yield FirstStage(
            self._segments,
            space,
            n_touched,
            factor,
            self._float32_holds(space, factor),
            self._longest,
        )
        space.clear(n_touched)
        self._idle.append(space)

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
        space = self._taken()
        # A task that fails may leave the arrays dirty: they go back only if it ended well.
        result = task(space)
        self._idle.append(space)
        return result

    def _taken(self) -> Workspace:
        try:
            return self._idle.pop()  # atomic
        except IndexError:
            return Workspace(self._largest, len(self.S))

    def _asked(
        self,
        k: int,
        min_score: float,
        positive: bool,
        expand_postings: bool,
        allowed: Allowed | None,
    ) -> _Asked:
        k = min(check_k(k), max(self._n_docs, 1))
        masks: list[NDArray[np.bool_] | None] = [part.live for part in self.parts]
        if allowed is not None:
            masks = [_both(live, mask) for live, mask in zip(masks, allowed, strict=True)]
        return _Asked(k, check_min_score(min_score), positive, expand_postings, masks)

    def _search(self, space: Workspace, query: QueryVector, asked: _Asked) -> Top:
        factor, n_touched = self._expand(space, query)
        return self._finish(space, query, n_touched, factor, asked, None, ALONE)

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
        plan = panel_plan(len(together), touched, self._n_postings)
        found: dict[int, list[NDArray[np.uint32]]] = {}
        if plan.together:
            found = self._find_together(kept, together, asked)
        tops = []
        for number, (query, own) in enumerate(zip(queries, kept, strict=True)):
            space.put(own)
            n_touched = own.terms.shape[0]
            candidates = found.get(number)
            tops.append(self._finish(space, query, n_touched, own.factor, asked, candidates, plan))
        return tops

    def _finish(
        self,
        space: Workspace,
        query: QueryVector,
        n_touched: int,
        factor: float,
        asked: _Asked,
        found: list[NDArray[np.uint32]] | None,
        plan: Plan,
    ) -> Top:
        """Find the candidates of the query in the workspace, unless they are found, and rank."""
        candidates: list[NDArray[np.uint32]] | None = None
        if asked.positive and (factor == 0.0 or space.facts[0] == 0.0):
            candidates, plan = [np.empty(0, np.uint32)] * len(self.parts), NOTHING
        elif not asked.expand_postings:
            candidates, plan = self._sharing(query, asked), SHARING
        elif found is not None or self._float32_holds(space, factor):
            if found is None:
                found = self._find(space, n_touched, factor, asked)
            # With fewer than k positive scores, zeros may have to follow them.
            if asked.positive or sum(part.shape[0] for part in found) >= asked.k:
                candidates = found
        if candidates is None:
            plan = ALL
            candidates = [
                np.arange(part.segment.n_docs, dtype=np.uint32)
                if mask is None
                else np.flatnonzero(mask).astype(np.uint32)
                for part, mask in zip(self.parts, asked.allowed, strict=True)
            ]
        top = self._rank(space, candidates, factor, asked, plan)
        space.clear(n_touched)
        return top

    def _sharing(self, query: QueryVector, asked: _Asked) -> list[NDArray[np.uint32]]:
        """Find the documents that share a term with the query."""
        sharing = [part.segment.documents_of(query.terms) for part in self.parts]
        return [
            documents if mask is None else documents[mask[documents]]
            for documents, mask in zip(sharing, asked.allowed, strict=True)
        ]

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
        reach = float(space.facts[0]) * self._most * self._longest * max(factor, 1.0)
        if space.facts[5] > 0 or reach == np.inf:
            raise InvalidInputError(
                "the scores of this query may leave the range of float64; scale the query, the "
                "documents or the entries of S down."
            )
        return factor, n_touched

    def _size(self, query: QueryVector) -> float:
        """x'W|S|Wx of a query: what rounding may have cost is relative to it."""
        indptr, indices, data = self.S.arrays
        x = np.zeros(len(self.S))
        x[query.terms] = np.abs(query.weights)
        total = abs(query.extra_norm)
        for term in query.terms:
            row = slice(indptr[term], indptr[term + 1])
            total += x[term] * float(np.abs(data[row]).astype(np.float64) @ x[indices[row]])
        return float(total)

    def _float32_holds(self, space: Workspace, factor: float) -> bool:
        """Whether the approximate scores of this query obey their error bound."""
        largest, smallest, n_negative = space.facts[:3].tolist()
        holds = float32_holds(smallest, largest, least=self._least, most=self._most)
        return n_negative == 0 and factor > 0.0 and holds

    def _find(
        self, space: Workspace, n_touched: int, factor: float, asked: _Asked
    ) -> list[NDArray[np.uint32]]:
        """Find the candidates in each part, with a threshold that rises from part to part."""
        scale = float(space.facts[0])
        floor = approximate_floor(max(asked.minimum, 0.0), scale * factor)
        heap = np.zeros(asked.k, np.float32)
        # One bound for all: the threshold may come from a part with columns, whose values are
        # coarse, and meet the scores of one without.
        bound = slack(min(n_touched, self._longest), half=self._half)
        found = []
        for prepared, mask in zip(self._segments, asked.allowed, strict=True):
            n = find_candidates(
                *prepared.postings(space, n_touched, scale), prepared.factors(mask),
                floor, heap, bound, prepared.scores(space), space.candidates,
            )  # fmt: skip
            found.append(space.candidates[:n].copy())
        return found

    def _find_together(
        self, kept: Sequence[Kept], together: Sequence[int], asked: _Asked
    ) -> dict[int, list[NDArray[np.uint32]]]:
        """Find the candidates of the queries that a panel may hold, by their numbers."""
        try:
            panel = self._idle_panels.pop()
        except IndexError:
            panel = Panel(len(self.S))
        floors, slacks = [], []
        for column, number in enumerate(together):
            query = kept[number]
            scale = float(query.facts[0])
            panel.put(column, query.terms, query.weights, scale)
            floors.append(approximate_floor(max(asked.minimum, 0.0), scale * query.factor))
            slacks.append(slack(min(query.terms.shape[0], self._longest), half=True))
        heaps = np.zeros((len(together), asked.k), np.float32)
        found: list[list[NDArray[np.uint32]]] = [[] for _ in together]
        for prepared, mask in zip(self._segments, asked.allowed, strict=True):
            factors = prepared.factors(mask)
            of_part = panel.candidates(prepared.part, factors, heaps, floors, slacks)
            for own, candidates in zip(found, of_part, strict=True):
                own.append(candidates)
        for column, number in enumerate(together):
            panel.clear(column, kept[number].terms)
        self._idle_panels.append(panel)
        return dict(zip(together, found, strict=True))

    def _rank(
        self,
        space: Workspace,
        candidates: Sequence[NDArray[np.uint32]],
        factor: float,
        asked: _Asked,
        plan: Plan,
    ) -> Top:
        tops = []
        for part, own in zip(self.parts, candidates, strict=True):
            size = min(asked.k, own.shape[0])
            if size == 0:
                continue
            ranking, segment = part.ranking, part.segment
            documents, scores = np.empty(size, np.uint32), np.empty(size)
            n = rank_candidates(
                ranking.kind, segment.pointers, segment.terms, segment.levels, ranking.table,
                ranking.saturation, ranking.k1, segment.reals, ranking.factors, space.expansion,
                factor, own, own.shape[0], asked.minimum, asked.exclusive, documents, scores,
            )  # fmt: skip
            tops.append(Top(documents[:n].astype(np.int64) + part.first, scores[:n], plan))
        return merged(tops, asked.k, plan)


def _scores(
    part: Part, space: Workspace, documents: NDArray[np.uint32], factor: float
) -> NDArray[np.float64]:
    """Scores of some documents of a part, in their order."""
    ranking, segment = part.ranking, part.segment
    scores = np.empty(documents.shape[0])
    score_documents(
        ranking.kind, segment.pointers, segment.terms, segment.levels, ranking.table,
        ranking.saturation, ranking.k1, segment.reals, ranking.factors, space.expansion,
        factor, documents, scores,
    )  # fmt: skip
    return scores


def _both(
    left: NDArray[np.bool_] | None, right: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    if left is None or right is None:
        return left if right is None else right
    return left & right
