"""An engine with the state of the index that it holds, and its search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Report
from softcosine._threads import in_threads, n_threads
from softcosine._validation import check_whole
from softcosine.engines.contents import Contents, rows_of_slots, vectors_of_slots
from softcosine.engines.engine import Block, Engine, Vectors
from softcosine.engines.registry import engine_by_name
from softcosine.engines.route_choice import N_DIMENSIONS, made_route
from softcosine.engines.row_space import RowSpace
from softcosine.engines.subject import EngineQuery, Subject
from softcosine.errors import InvalidInputError
from softcosine.index.search.plan import NOTHING, Plan
from softcosine.index.search.rankings import TITLES
from softcosine.index.search.top_docs import QueryVector, Top

__all__ = ["EngineRequest", "State", "told"]

_ROUNDING = 2.0**-20  # error of a float32 product of vectors of length 1
# Lengths of vectors whose coordinates float32 holds at full precision, except negligible ones.
_SMALLEST, _LARGEST = 1e-30, 1e38


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """The requested engine.

    Attributes
    ----------
    name : str
    settings : mapping
        Settings of the engine.
    route : str
    n_dimensions : int
    max_memory : int or None
    """

    name: str
    settings: Mapping[str, Any]
    route: str = "auto"
    n_dimensions: int = N_DIMENSIONS
    max_memory: int | None = None

    def engine(self) -> Engine:
        """Return a new, empty engine."""
        return engine_by_name(self.name, self.settings)


@dataclass(frozen=True, slots=True)
class State:
    """An engine and its contents; an update replaces the whole state.

    Attributes
    ----------
    asked : EngineRequest
    subject : Subject
    contents : Contents
    space : RowSpace or None
        None if there are no vectors.
    engine : Engine
        Empty if there are no vectors.
    why : str
        Why ``auto`` did not choose the basis; empty otherwise.
    """

    asked: EngineRequest
    subject: Subject
    contents: Contents
    space: RowSpace | None
    engine: Engine
    why: str = ""

    @classmethod
    def made(
        cls, asked: EngineRequest, subject: Subject, *, threads: int | None, progress: Report
    ) -> State:
        """Choose the route and build the engine."""
        engine, workers = asked.engine(), n_threads(threads)
        progress("weighing documents", 0, None)
        contents = Contents.of(subject.ranked)
        if not len(contents.numbers):
            return cls(asked, subject, contents, None, engine)
        route, why = made_route(
            asked.route, subject.ranked,
            n_dimensions=asked.n_dimensions, max_memory=asked.max_memory, progress=progress,
        )  # fmt: skip
        space = RowSpace.of(route, subject.ranked, engine.capabilities)
        vectors = vectors_of_slots(space, subject.ranked, contents)
        engine.build(told(vectors, progress), threads=workers)
        return cls(asked, subject, contents, space, engine, why)

    def plan(self, n_exact: int = 0) -> Plan:
        """Return the plan of a query, given the number of candidates that the index scores."""
        if self.space is None:
            return NOTHING
        route, kind = self.space.route, "exact" if self.engine.capabilities.exact else "approximate"
        reason = (
            f"{kind} search of {route.n_dimensions:,} dimensions, {route.name}, by "
            f"{TITLES[self.subject.vector_ranking]}"
        )
        if n_exact:
            reason += f"; the best {n_exact:,} scored exactly by {TITLES[self.subject.ranking]}"
        return Plan(self.asked.name, reason, proven=False, n_candidates=n_exact or None)

    def find(
        self,
        queries: Sequence[EngineQuery],
        k: int,
        *,
        min_score: float = -np.inf,
        rerank: int = 0,
        width: int | None = None,
        threads: int | None = None,
    ) -> list[Top]:
        """Return at most k documents per query, by (score descending, number ascending).

        Parameters
        ----------
        queries : sequence of EngineQuery
        k : int
        min_score : float
            Documents below it are left out; for a SoftIndex also those with a score of 0 or less.
            If the index scores the candidates, the queries have this limit.
        rerank : int
            Number of the engine's candidates that the index ranks; 0 for the engine's own scores.
        width, threads
            See `Engine.search`.
        """
        check_whole("width", width, most=2**31 - 1, optional=True)
        workers, n_found = n_threads(threads), max(k, rerank)
        plan = self.plan(n_found if rerank else 0)

        def top(pair: tuple[EngineQuery, tuple[NDArray[np.int64], NDArray[np.float64]]]) -> Top:
            query, found = pair
            documents, scores = self._with_zeros(*found, k)
            if rerank:
                return replace(query.rank(documents), plan=query.plan(plan))
            kept = scores >= min_score
            if self.subject.positive:
                kept &= scores > 0
            return Top.of(documents, scores, kept, k, plan)

        vectors = [query.vectors[0] for query in queries]
        found = self._found(vectors, n_found, width, workers, exact=rerank > 0)
        return in_threads(top, list(zip(queries, found, strict=True)), workers)

    def query_rows(self, vectors: Sequence[QueryVector]) -> Block:
        """Return vectors whose dot products with the documents' are the scores, in float32.

        Raises
        ------
        InvalidInputError
            If a vector overflows float32.
        """
        if self.space is None:
            return np.zeros((len(vectors), 0), np.float32)
        rows, factors = self.space.queries(self.subject.ranked.queries(vectors), self.subject.S)
        factors = factors * self.subject.weight
        beyond = (factors > 0) & ~((factors > _SMALLEST) & (factors < _LARGEST))
        if beyond.any():
            place = int(np.argmax(beyond))
            raise InvalidInputError(
                f"the vector of query {place} has the length {factors[place]:.3g}, beyond float32; "
                "multiply the queries or the documents by a constant, which keeps the order, or "
                "rank by soft_cosine."
            )
        return (rows * factors[:, None]).astype(np.float32)

    def document_ids(self) -> list[str | int | None]:
        """Return the document of each slot; see `Subject.ids`."""
        return self.subject.ids(self.contents.numbers)

    def document_rows(self) -> Block:
        """Return the vectors passed to the engine, slot by slot; zeros for deleted ones."""
        if self.space is None:
            return np.zeros((0, 0), np.float32)
        return rows_of_slots(self.space, self.subject.ranked, self.contents)

    def _found(
        self,
        vectors: Sequence[QueryVector],
        k: int,
        width: int | None,
        threads: int,
        *,
        exact: bool,
    ) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Return documents and the engine's scores for them, in any order.

        Parameters
        ----------
        exact : bool
            Whether all of them are scored exactly afterwards.
        """
        nothing = np.empty(0, np.int64), np.empty(0)
        found = [nothing] * len(vectors)
        n_live = self.contents.n_live
        if self.space is None or not n_live or not vectors:
            return found
        queries = self.subject.ranked.queries(vectors)
        rows, factors = self.space.queries(queries, self.subject.S)
        reaching = np.flatnonzero(factors > 0)
        if not reaching.size:
            return found
        answer = self.engine.search(
            rows[reaching], min(k, n_live), width=width, threads=min(threads, len(reaching))
        )
        numbers = self.contents.numbers
        for place, query in enumerate(reaching.tolist()):
            slots = answer.slots[place]
            scores = answer.scores[place].astype(np.float64)
            there = (slots >= 0) & (slots < len(numbers)) & np.isfinite(scores)
            there[there] = numbers[slots[there]] >= 0
            documents, scores = numbers[slots[there]], scores[there]
            doubtful = np.abs(scores) < _ROUNDING
            scores *= factors[query] * self.subject.weight
            if self.subject.positive and not exact and doubtful.any():
                # Whether the score is above 0 decides whether a document is a result.
                scores[doubtful] = self.subject.scores(vectors[query], documents[doubtful])
            finite = np.isfinite(scores)
            found[query] = documents[finite], scores[finite]
        return found

    def _with_zeros(
        self, documents: NDArray[np.int64], scores: NDArray[np.float64], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Add documents of score 0, if they can be results."""
        if self.subject.positive:
            return documents, scores
        zeros = self.contents.zeros[:k]
        if not len(documents):  # no term of the query matches: all documents have score 0
            zeros = np.sort(np.concatenate([self.contents.numbers, self.contents.zeros]))
            zeros = zeros[zeros >= 0][:k]
        return np.concatenate([documents, zeros]), np.concatenate([scores, np.zeros(len(zeros))])


def told(vectors: Vectors, progress: Report) -> Vectors:
    """Return the same vectors; reading them reports progress."""

    def blocks() -> Any:
        done = 0
        for block in vectors.blocks():
            progress("building the engine's index", done, vectors.n)
            yield block
            done += block.shape[0]

    return Vectors(vectors.n, vectors.n_dimensions, blocks)
