"""The words of one field, and rankings of them that are sums over the expanded query.

Two passes (theory, "Exactness of the two-stage search"). The first adds up approximate scores in
float32, term by term for one query or document by document for many queries. It keeps every
document that can be among the k best, given a proven bound of the rounding errors. The second
scores these candidates in float64 over the forward index, in ascending term order. So the bits of
a score do not depend on other documents or queries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline, has_deadline
from softcosine._ragged import running_sum
from softcosine._threads import in_threads, n_threads
from softcosine.errors import CorruptIndexError
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.rankings import RankedSegment
from softcosine.index.segment.segment import MAX_DOCS
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.spaces.bounds import approximate_floor, slack
from softcosine.index.spaces.expansion import (
    Expanded,
    Expander,
    Expansions,
    Workspace,
    heaviest_terms,
    impacts_of,
)
from softcosine.index.spaces.part import Part
from softcosine.index.spaces.plan import ALL, ALONE, Plan, panel_plan
from softcosine.index.spaces.segment_table import SegmentTable
from softcosine.index.spaces.space import (
    NO_DOCUMENTS,
    UNDECIDED,
    Bound,
    Limits,
    Prepared,
    Top,
    documents_in,
)
from softcosine.kernels.documents import rank_candidates, score_documents
from softcosine.kernels.panel import PANEL, clear_panel, fill_panel, score_panel
from softcosine.kernels.search import add_scores, find_candidates, select_candidates
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

# Documents scored at a time: 4 MiB of scores, an odd number of cache lines per query.
_CHUNK = 16_400


class Panel:
    """A matrix of up to PANEL expanded queries, and scratch arrays; empty between passes.

    Takes 128 bytes per term. For one pass at a time.
    """

    def __init__(self, n_terms: int) -> None:
        self.weights = np.zeros((n_terms, PANEL), np.uint16)
        self._scores = np.empty((PANEL, _CHUNK), np.float32)
        self._candidates = np.empty(_CHUNK, np.uint32)
        self._approximate = np.empty(_CHUNK, np.float32)

    def candidates(
        self,
        part: RankedSegment,
        factors: NDArray[np.float32],
        numbers: NDArray[np.int64],
        heaps: NDArray[np.float32],
        floors: NDArray[np.float32],
        slacks: NDArray[np.float64],
    ) -> list[tuple[NDArray[np.uint32], NDArray[np.float32]]]:
        """Return the candidates of each query in one segment, ascending, with their scores.

        See `select_candidates`.

        Parameters
        ----------
        part : RankedSegment
        factors : ndarray of shape (n_docs,), float32
        numbers : ndarray of shape (n_columns,), int64
            Query of each column; queries without a column have no candidates.
        heaps : ndarray of shape (n_queries, k), float32
            The largest scores of earlier segments; updated with those of this segment.
        floors, slacks : ndarray of shape (n_queries,)
        """
        segment, ranking = part.segment, part.ranking
        documents = [[self._candidates[:0]] for _ in floors]
        approximate = [[self._approximate[:0]] for _ in floors]
        for start in range(0, segment.n_docs, _CHUNK):
            stop = min(start + _CHUNK, segment.n_docs)
            score_panel(
                ranking.kind, *segment.forward, ranking.table,
                ranking.saturation32, segment.reals, self.weights, start, stop,
                self._scores,
            )  # fmt: skip
            for column, query in enumerate(numbers.tolist()):
                scores = self._scores[column, : stop - start]
                n = select_candidates(
                    scores, factors[start:stop], start, heaps[query], floors[query],
                    slacks[query], self._candidates, self._approximate,
                )  # fmt: skip
                documents[query].append(self._candidates[:n].copy())
                approximate[query].append(self._approximate[:n].copy())
        return [
            (np.concatenate(numbers), np.concatenate(scores))
            for numbers, scores in zip(documents, approximate, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of several queries.

    Attributes
    ----------
    starts : ndarray of shape (n_segments * n_queries + 1,), int64
        Offset of each list; list ``s * n_queries + q`` has the candidates of query q in segment s.
    documents : ndarray, uint32
        Numbers within the segment, ascending in each list.
    approximate : ndarray, float32
        Their scores of the first stage.
    bounds : ndarray of shape (n_queries,), float32
        Candidates below it cannot be among the best.
    """

    starts: NDArray[np.int64]
    documents: NDArray[np.uint32]
    approximate: NDArray[np.float32]
    bounds: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        lists: Sequence[tuple[NDArray[np.uint32], NDArray[np.float32]]],
        bounds: NDArray[np.float32],
    ) -> Self:
        """Return the candidates, given lists of documents and their scores."""
        starts = running_sum(documents.shape[0] for documents, _ in lists)
        documents, approximate = zip(*lists, strict=True)
        return cls(starts, np.concatenate(documents), np.concatenate(approximate), bounds)

    @property
    def lists(self) -> list[tuple[NDArray[np.uint32], NDArray[np.float32]]]:
        """The documents and scores of each list."""
        return [
            (self.documents[begin:end], self.approximate[begin:end])
            for begin, end in pairwise(self.starts.tolist())
        ]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of candidates of each query, shape (n_queries,)."""
        sizes = self.starts[1:] - self.starts[:-1]
        sums: NDArray[np.int64] = sizes.reshape(-1, self.bounds.shape[0]).sum(axis=0)
        return sums


# Minimum postings of a query that runs on several threads: about 15 ms on one thread.
_DIVIDED = 2**24

_SEGMENTS_AT_ONCE = 4  # between two looks at a deadline


class Words(ABC):
    """The words of one field: segments prepared for one ranking, and one S. Thread-safe.

    Parameters
    ----------
    parts : sequence of RankedSegment
        Prepared segments, at least one, in order of document numbers, all for the same ranking.
    S : TermSimilarityMatrix
    field : int
        Its place among the fields of the index.
    name : str
        The name that explanations show; empty if there is one field.

    Attributes
    ----------
    ranking : PreparedRanking
        Of the first segment; all share its term weights and parameters.
    fitted : dict
        What is computed once for its documents, such as a basis.
    """

    def __init__(
        self,
        parts: Sequence[RankedSegment],
        S: TermSimilarityMatrix,
        field: int = 0,
        name: str = "",
    ) -> None:
        self.parts, self.S = tuple(parts), S
        self.field, self.name = field, name
        self.ranking = self.parts[0].ranking
        self.fitted: dict[str, Any] = {}
        self.table = SegmentTable(self.parts, len(S))
        self._largest = max(part.segment.n_docs for part in self.parts)
        self._firsts = np.array([part.first for part in self.parts], np.int64)
        self.idle: list[Workspace] = []

    def __reduce__(self) -> tuple[Any, ...]:
        # Addresses are only valid in this process.
        return type(self), (self.parts, self.S, self.field, self.name)

    @cached_property
    def greatest_impacts(self) -> NDArray[np.float64]:
        """See `softcosine.index.spaces.expansion.impacts_of`; computed on first access."""
        return impacts_of(self.parts, len(self.S))

    @abstractmethod
    def prepare(self, query: ReadyQuery) -> PreparedWords:
        """Return a query in this space.

        Raises
        ------
        IndefiniteMatrixError
            If the ranking needs the soft norm of a query and x'Sx is negative.
        InvalidInputError
            If scores could overflow float64.
        """

    def part_of(self, document: int) -> tuple[RankedSegment, int]:
        """Return the prepared segment of a document, and its number in the segment."""
        part = self.parts[int(np.searchsorted(self._firsts, document, "right")) - 1]
        return part, document - part.first

    def take(self) -> Workspace:
        """Return scratch arrays that no other thread uses.

        They go back to `idle` only after success, because a failed task can leave nonzero arrays.
        """
        try:
            return self.idle.pop()  # atomic
        except IndexError:
            return Workspace(self._largest, len(self.S))

    def scored(
        self,
        documents: NDArray[np.integer],
        score: Callable[[NDArray[np.int64], NDArray[np.float64]], int],
    ) -> NDArray[np.float64]:
        """Return the scores of documents, which a kernel writes for some at a time.

        It returns the number of a segment in which a document has no score, or -1.
        """
        scores, numbers = np.empty(len(documents)), np.ascontiguousarray(documents, np.int64)
        for begin in range(0, len(documents), MAX_DOCS):
            check_deadline()
            some = slice(begin, begin + MAX_DOCS)
            self.check_scored(score(numbers[some], scores[some]))
        return scores

    def check_scored(self, wrong: int) -> None:
        """Raise CorruptIndexError if a segment (-1: none) has a document without a score."""
        if wrong < 0:
            return
        part = self.parts[wrong]
        part.segment.check()
        raise CorruptIndexError(  # although each entry is valid on its own
            f"a document among the {part.segment.n_docs} from number {part.first} on has no score: "
            "a file has changed since it was written. `softcosine admin check` tells which; "
            "rebuild the index, or restore the file from a copy."
        )


# Terms, and their greatest impacts; the others have none.
Impacts = tuple[NDArray[np.int32], NDArray[np.float64]]


class PreparedWords(Prepared):
    """A query in the words of a field."""

    floor = 0.0

    def __init__(self, space: Words, query: ReadyQuery) -> None:
        self.space, self.query = space, query
        self.vector = query.vectors[space.field]

    @property
    @abstractmethod
    def expanded(self) -> Expanded:
        """The expansion of the query; without saturation where the ranking is not linear."""

    def bounding(self, impacts: NDArray[np.float64]) -> Expanded:
        """Return weights whose sum times impacts is at least a score: for sums, the expansion."""
        return self.expanded

    @abstractmethod
    def keeping(self, terms: NDArray[np.int32]) -> PreparedWords:
        """Return the query with some of the terms that it reaches."""

    def heaviest(self, n: int, impacts: Impacts | None = None) -> PreparedWords:
        """Return the query by its own and its heaviest terms alone; see `heaviest_terms`.

        `impacts` are in place of `Words.greatest_impacts`.
        """
        if impacts is None:
            greatest = self.space.greatest_impacts
        else:
            greatest = np.zeros(len(self.space.S))
            greatest[impacts[0]] = impacts[1]
        bound = self.bounding(greatest)
        kept = heaviest_terms(bound.terms, bound.weights, greatest, self.vector.terms, n=n)
        return self.keeping(bound.terms[kept])

    @abstractmethod
    def weights_in(self, document: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return the weight of each word in a document, of each word outside, and their factor."""

    def parts(self, document: int) -> list[Part]:
        """Return the contribution of each pair of words to the score of a document."""
        space = self.space
        part, local = space.part_of(document)
        terms, values = part.coordinates(local, local + 1)
        held = dict(zip(terms.tolist(), values.tolist(), strict=True))
        weights, outside, factor = self.weights_in(document)
        parsed, term_of = self.query.parsed[space.field], space.S.vocabulary.term
        parts = []
        for word, weight, j, similarity, exact in parsed.pairs(space.S, weights, outside):
            contribution = weight * similarity * held.get(j, 0.0) * factor
            if contribution != 0.0:
                parts.append(Part(word, term_of(j), similarity, contribution, exact, space.name))
        return parts


class Linear(Words):
    """Words ranked by sums over the expansion W Sᵀ W x (theory T3, T12, T15)."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._n_postings = sum(part.segment.n_postings for part in self.parts)
        self.least = min(part.ranking.least for part in self.parts)
        self.most = max(part.ranking.most for part in self.parts)
        self.expander = Expander(self.S, self.ranking, reach=self.most * self.table.longest)
        self._frequencies = FieldStatistics.of(
            [part.segment for part in self.parts], len(self.S)
        ).document_frequencies
        self._idle_panels: list[Panel] = []

    def prepare(self, query: ReadyQuery) -> PreparedLinear:
        """Return a query in this space; errors are those of `Words.prepare`."""
        return PreparedLinear(self, query)

    def best(self, queries: Sequence[ReadyQuery], limits: Limits) -> list[Top]:
        """Return the k best documents of each query; results do not depend on the batch.

        Queries are expanded together, and one kernel adds, scales and selects. Errors are those of
        `Words.prepare`.
        """
        vectors = [query.vectors[self.field] for query in queries]
        n = min(n_threads(limits.threads), max(1, len(vectors)))
        size = min(PANEL, max(1, -(-len(vectors) // n)))
        groups = [vectors[start : start + size] for start in range(0, len(vectors), size)]
        inside = limits.inside(len(vectors))

        def search(group: Sequence[QueryVector]) -> list[Top]:
            workspace = self.take()
            tops = self.best_of(workspace, self.expander.expand(workspace, group), inside)
            self.idle.append(workspace)
            return tops

        return list(chain.from_iterable(in_threads(search, groups, n)))

    def exact(
        self,
        workspace: Workspace,
        expanded: Expansions,
        number: int,
        documents: NDArray[np.integer],
    ) -> NDArray[np.float64]:
        """Return the scores of documents by one of some expanded queries."""
        own = expanded.own(number)
        terms = expanded.terms[own]
        workspace.expansion[terms] = expanded.weights[own]
        given = self.table.rows, self.ranking.k1, self.ranking.rounded_one, workspace.expansion
        scores = self.scored(documents, partial(score_documents, *given, expanded.factors[number]))
        workspace.expansion[terms] = 0.0
        return scores

    def best_of(self, workspace: Workspace, expanded: Expansions, limits: Limits) -> list[Top]:
        """Search up to PANEL queries: find candidates in each segment, then score them."""
        limits = limits.within(sum(part.segment.n_docs for part in self.parts))
        reaching = expanded.reaching
        holding = expanded.holding(self.least, self.most)
        chosen = [holds and reaches for holds, reaches in zip(holding, reaching, strict=True)]
        plan = ALONE
        if len(expanded) > 1:
            reached = expanded.terms
            if not all(chosen):
                reached = reached[np.repeat(chosen, np.diff(expanded.pointers))]
            n_touched = int(self._frequencies[reached].sum())
            plan = panel_plan(sum(chosen), n_touched, self._n_postings)
        find = self._find_together if plan.method == "panel" else self._find
        candidates = find(workspace, expanded, chosen, limits)
        settled = chosen
        if not limits.positive:
            # With fewer than k positive scores, zeros may be needed too.
            n_found = candidates.sizes.tolist()
            settled = [good and n >= limits.k for good, n in zip(chosen, n_found, strict=True)]
        tops = self._rank(workspace, expanded, candidates, limits, plan)
        for number, (reaches, is_settled) in enumerate(zip(reaching, settled, strict=True)):
            if limits.positive and not reaches:
                tops[number] = NO_DOCUMENTS
            elif not is_settled:
                documents = documents_in(self.parts, limits.masks(self.parts))
                scores = self.exact(workspace, expanded, number, documents)
                tops[number] = limits.best(documents, scores, ALL)
        return tops

    def _bounds(
        self, expanded: Expansions, limits: Limits, *, half: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the minimum approximate score and the slack of each query."""
        floors, slacks = [], []
        lengths = pairwise(expanded.pointers.tolist())
        for scale, factor, (begin, end) in zip(
            expanded.scales, expanded.factors, lengths, strict=True
        ):
            unit = scale * factor
            floors.append(approximate_floor(limits.minimum, unit) if unit > 0 else 0.0)
            slacks.append(slack(min(end - begin, self.table.longest), half=half))
        return np.array(floors, np.float32), np.array(slacks)

    def _find(
        self, workspace: Workspace, expanded: Expansions, chosen: list[bool], limits: Limits
    ) -> Candidates:
        """Find candidates in the postings; thresholds rise from segment to segment."""
        floors, slacks = self._bounds(expanded, limits, half=self.table.half)
        _factors, addresses = self.table.factors(limits.allowed)  # keeps the addressed arrays alive
        wanted, scales = np.array(chosen, np.uint8), np.array(expanded.scales)

        def of(run: slice, workspace: Workspace) -> tuple[NDArray[np.float32], Candidates]:
            heaps = np.zeros((len(expanded), limits.k), np.float32)
            n_lists, begin = (run.stop - run.start) * len(expanded), 0
            starts = np.zeros(n_lists + 1, np.int64)
            documents, approximate = workspace.candidates, workspace.approximate
            at_once = _SEGMENTS_AT_ONCE if has_deadline() else run.stop - run.start
            end = min(run.start + at_once, run.stop)
            while True:
                check_deadline()
                some = slice(run.start, end)
                begin = find_candidates(
                    self.table.rows[some], addresses[some], expanded.pointers, expanded.terms,
                    expanded.weights, scales, wanted, floors, heaps, slacks, workspace.scores,
                    begin, starts, documents, approximate,
                )  # fmt: skip
                if begin == n_lists:
                    bounds = _least(heaps, floors, slacks)
                    return heaps, Candidates(starts, documents, approximate, bounds)
                if begin == (end - run.start) * len(expanded):
                    end = min(end + at_once, run.stop)
                    continue
                documents = np.concatenate([documents, np.empty_like(documents)])
                approximate = np.concatenate([approximate, np.empty_like(approximate)])

        runs = self._runs(expanded, limits)
        if len(runs) == 1:
            return of(runs[0], workspace)[1]

        def apart(run: slice) -> tuple[NDArray[np.float32], Candidates]:
            scratch = self.take()
            copied = _copied(*of(run, scratch))
            self.idle.append(scratch)
            return copied

        results = in_threads(apart, runs, len(runs))
        heaps = np.partition(
            np.concatenate([heap for heap, _ in results], axis=1), -limits.k, axis=1
        )
        bounds = _least(heaps[:, -limits.k :], floors, slacks)
        lists = [documents for _, candidates in results for documents in candidates.lists]
        return Candidates.of(lists, bounds)

    def _runs(self, expanded: Expansions, limits: Limits) -> list[slice]:
        """Split the segments into one run per thread, with about equal numbers of postings."""
        whole = [slice(0, len(self.parts))]
        if limits.threads == 1 or len(expanded) > 1 or len(self.parts) == 1:
            return whole
        if self._n_postings < _DIVIDED or self._frequencies[expanded.terms].sum() < _DIVIDED:
            return whole
        n = min(n_threads(limits.threads), len(self.parts))
        ends = np.cumsum([part.segment.n_postings for part in self.parts])
        cuts = np.searchsorted(ends, ends[-1] * np.arange(1, n) / n) + 1
        bounds = sorted({0, len(self.parts), *cuts.tolist()})
        return [slice(begin, end) for begin, end in pairwise(bounds)]

    def _find_together(
        self, workspace: Workspace, expanded: Expansions, chosen: list[bool], limits: Limits
    ) -> Candidates:
        """Find the candidates of all queries in one pass over the documents."""
        try:
            panel = self._idle_panels.pop()
        except IndexError:
            panel = Panel(len(self.S))
        numbers = np.flatnonzero(chosen)
        for column, query in enumerate(numbers.tolist()):
            reached = expanded.own(query)
            scale = expanded.facts[query][0]
            fill_panel(
                expanded.terms[reached], expanded.weights[reached], scale, column, panel.weights
            )
        floors, slacks = self._bounds(expanded, limits, half=True)
        heaps = np.zeros((len(expanded), limits.k), np.float32)
        lists = []
        for part, factors in zip(self.parts, self.table.factors(limits.allowed)[0], strict=True):
            lists += panel.candidates(part, factors, numbers, heaps, floors, slacks)
        for column, query in enumerate(numbers.tolist()):
            clear_panel(expanded.terms[expanded.own(query)], column, panel.weights)
        self._idle_panels.append(panel)
        return Candidates.of(lists, _least(heaps, floors, slacks))

    def _rank(
        self,
        workspace: Workspace,
        expanded: Expansions,
        candidates: Candidates,
        limits: Limits,
        plan: Plan,
    ) -> list[Top]:
        """Score the candidates exactly, and return the best."""
        check_deadline()
        places = running_sum(np.minimum(candidates.sizes, limits.k))
        n_ranked = np.zeros(len(expanded), np.int64)
        documents, scores = np.empty(places[-1], np.int64), np.empty(places[-1])
        wrong = rank_candidates(
            self.table.rows, self.ranking.k1, self.ranking.rounded_one,
            expanded.pointers, expanded.terms, expanded.weights, np.array(expanded.factors),
            candidates.starts, candidates.documents, candidates.approximate, candidates.bounds,
            limits.minimum, limits.exclusive, workspace.expansion, places, n_ranked, documents,
            scores,
        )  # fmt: skip
        self.check_scored(wrong)
        return [
            Top(documents[begin : begin + n], scores[begin : begin + n], plan)
            for begin, n in zip(places.tolist(), n_ranked.tolist(), strict=False)
        ]


class PreparedLinear(PreparedWords):
    """A query expanded by S."""

    def __init__(
        self, space: Linear, query: ReadyQuery, expansions: Expansions | None = None
    ) -> None:
        super().__init__(space, query)
        self.space: Linear = space
        if expansions is None:
            workspace = space.take()
            expansions = space.expander.expand(workspace, [self.vector])
            space.idle.append(workspace)
        self.expansions = expansions

    @cached_property
    def bound(self) -> Bound:
        """Of the approximate scores."""
        ((largest, smallest, *_),), (factor,) = self.expansions.facts, self.expansions.factors
        space, unit = self.space, largest * factor
        if not self.expansions.reaching[0]:
            return Bound()
        if not self.expansions.holding(space.least, space.most)[0] or unit == 0.0:
            return UNDECIDED
        n_summands = min(len(self.expansions.terms), space.table.longest)
        return Bound(unit, float(smallest / largest * space.least), n_summands, space.table.half)

    def add(self, run: slice, weight: np.float32, total: NDArray[np.float32]) -> None:
        """Add weight times the approximate scores of a run of segments to an array."""
        table, expanded = self.space.table, self.expansions
        _, addresses = table.factors(None)
        workspace = self.space.take()
        add_scores(
            table.rows[run], addresses[run], expanded.terms, expanded.weights,
            expanded.facts[0][0], weight, workspace.scores, total,
        )  # fmt: skip
        self.space.idle.append(workspace)

    def best(self, limits: Limits) -> Top:
        """Return the k best documents; one kernel adds, scales and selects."""
        workspace = self.space.take()
        (top,) = self.space.best_of(workspace, self.expansions, limits)
        self.space.idle.append(workspace)
        return top

    def exact(self, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of documents, in the given order."""
        workspace = self.space.take()
        scores = self.space.exact(workspace, self.expansions, 0, documents)
        self.space.idle.append(workspace)
        return scores

    @property
    def expanded(self) -> Expanded:
        """The expansion of the query, by ascending term."""
        whole = self.expansions
        order = np.argsort(whole.terms)
        return Expanded(whole.terms[order], whole.weights[order], float(whole.factors[0]))

    def keeping(self, terms: NDArray[np.int32]) -> PreparedLinear:
        """Return the query with some of the terms that it reaches."""
        kept = np.isin(self.expansions.terms, terms)
        return PreparedLinear(self.space, self.query, self.expansions.kept([kept]))

    def weights_in(self, document: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return the weight of each word in a document, of each word outside, and their factor."""
        part, local = self.space.part_of(document)
        factor = float(self.expansions.factors[0]) * float(part.ranking.factors[local])
        return self.vector.weights, self.vector.extra_weights, factor


def _copied(
    heaps: NDArray[np.float32], candidates: Candidates
) -> tuple[NDArray[np.float32], Candidates]:
    """Copy candidates out of the scratch arrays."""
    return heaps, Candidates.of(candidates.lists, candidates.bounds)


def _least(
    heaps: NDArray[np.float32], floors: NDArray[np.float32], slacks: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Return the minimum approximate score of a candidate of each query."""
    bounds: NDArray[np.float32] = (np.maximum(heaps[:, 0], floors) * slacks).astype(np.float32)
    return bounds
