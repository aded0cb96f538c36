"""The two stages of a search on a server: candidates by few terms, then the exact scores."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import ServerError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.filters import Where
from softcosine.index.search.bounds import SUM_MARGIN, cosine_error
from softcosine.index.search.candidate_queries import CandidateQuery
from softcosine.index.search.first_stage import FirstStage
from softcosine.index.search.meaning import FLOOR, QueryMeaning
from softcosine.index.search.plan import Plan
from softcosine.index.search.top_docs import QueryVector, Top
from softcosine.servers.marker import Marker
from softcosine.servers.query_terms import SentTerms, query_terms
from softcosine.servers.server import Candidates, Server, TooManyClausesError

__all__ = ["TwoStageSearch"]

_CANDIDATES = 100  # of a ranking that is a sum over terms
_INEXACT = 300  # where the server's sum is a bound, or meaning adds (docs/decisions.md, 95)
_WIDER = 10  # times as many candidates where the server cannot filter


@dataclass(frozen=True, slots=True)
class _Nearest:
    """The documents whose coordinates are nearest to a query.

    Attributes
    ----------
    documents : ndarray of shape (m,), int64
    most : float
        Upper bound of the cosine of any other document.
    weight : float
        Factor of a cosine in a score.
    complete : bool
        False for a partial answer.
    by_index : bool
        Whether the index found them.
    """

    documents: NDArray[np.int64]
    most: float
    weight: float
    complete: bool = True
    by_index: bool = False


@dataclass(frozen=True, slots=True)
class TwoStageSearch:
    """Searches for candidates on a server, of a collection that holds the snapshot's documents."""

    server: Server
    marker: Marker
    snapshot: Snapshot
    stage: FirstStage
    where: Where | None
    k: int
    min_score: float
    exact: bool = False
    timeout: float | None = None
    _filter: object = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.where is not None:
            object.__setattr__(self, "_filter", self.server.filter(self.where))

    def find(self, query: CandidateQuery) -> Top:
        """Return the best documents of a query, with the plan."""
        n = max(self.stage.candidates or self._usual(query), self.k)
        if self.where is not None and self._filter is None:
            n *= _WIDER
        limit = self.server.max_candidates or sys.maxsize
        n = min(n, limit)
        while True:
            sent, batches, words = self._by_batches(query.vectors, n)
            near = None if query.meaning is None else self._by_meaning(query, query.meaning, n)
            numbers = self._numbers([id for one in words for id in one.ids])
            if near is not None:
                numbers = np.union1d(numbers, near.documents)
            top = query.rank(numbers)
            doubt = ""
            if len(numbers) < self.marker.n_docs:
                doubt = self._doubt(sent.rest, batches, words, near, n, top)
            every = all(len(one.ids) < n for one in words)
            every = every and (near is None or len(near.documents) < n)
            if not (self.exact and doubt) or every or n >= min(self.marker.n_docs, limit):
                break
            n = min(4 * n, limit)
        plan = self._plan(sent, len(batches), len(numbers), near, doubt)
        return Top(top.documents, top.scores, plan)

    def _usual(self, query: CandidateQuery) -> int:
        """Return the default number of candidates, of words and of meaning each."""
        linear = self.snapshot.searcher(self.marker.ranking).ranking.linear
        return _CANDIDATES if linear and query.meaning is None else _INEXACT

    def sent(self, vectors: Sequence[QueryVector]) -> SentTerms:
        """Return the terms of the first stage of a query, given its vector for every field."""
        searcher = self.snapshot.searcher(self.marker.ranking)
        if self.exact:
            return query_terms(searcher, vectors, n=None)
        return query_terms(searcher, vectors, n=self.stage.terms, most=self.server.max_terms)

    def _by_batches(
        self, vectors: Sequence[QueryVector], n: int
    ) -> tuple[SentTerms, list[SentTerms], list[Candidates]]:
        """Return the terms, their batches that the server takes, and its best n by each."""
        while True:
            sent = self.sent(vectors)
            batches = sent.batches(self.server.max_terms)
            try:
                return sent, batches, [self.by_words(batch, n) for batch in batches]
            except TooManyClausesError:
                most = self.server.max_terms
                if most is None or most >= len(batches[0].terms):
                    raise

    def by_words(self, sent: SentTerms, n: int) -> Candidates:
        """Return the best n documents of the server by the terms of one batch."""
        return self.server.search(
            sent.terms, sent.weights, n, filter=self._filter, timeout=self.timeout
        )

    def _by_meaning(self, query: CandidateQuery, meaning: QueryMeaning, n: int) -> _Nearest:
        """Return the documents nearest to a query, by the server or, if it cannot, the index."""
        unit, found = meaning.unit, None
        if self.marker.dimensions:
            found = self.server.nearest(unit, n, filter=self._filter, timeout=self.timeout)
        if found is None:
            top = query.nearest(n)
            most = float(top.scores[-1]) if len(top.scores) >= n else np.nextafter(FLOOR, 0.0)
            return _Nearest(top.documents, float(most), meaning.weight, by_index=True)
        most = 0.0  # of documents without coordinates
        if len(found.ids) >= n:
            most = min(1.0, max(0.0, float(found.scores[-1]) + 2 * cosine_error(len(unit))))
        return _Nearest(self._numbers(found.ids), most, meaning.weight, complete=found.complete)

    def _numbers(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of candidates."""
        numbers = self.snapshot.documents.numbers_of(ids)
        if len(numbers) < len({*ids}):
            missing = next(id for id in ids if id not in numbers)
            raise ServerError(
                self.server.name, self.server.address,
                f"it returned the document {missing!r}, which is not in the index: somebody else "
                "wrote to the collection. Run softcosine sync INDEX URL.",
            )  # fmt: skip
        return np.array(sorted(numbers.values()), np.int64)

    def _doubt(
        self,
        rest: float,
        batches: Sequence[SentTerms],
        words: Sequence[Candidates],
        near: _Nearest | None,
        n: int,
        top: Top,
    ) -> str:
        """Return why a document that is no candidate could be a result; empty if none can.

        A score is at most the sum of the server's scores by batches with their errors, plus what
        the terms left out can add, plus the greatest cosine that a document can have that is not
        among the nearest ones. Without words of the query, it is only a result from a cosine of
        `FLOOR` on.
        """
        if self.marker.ranking in ("soft_cosine", "expanded_cosine"):
            return "the norms on the server are those of an earlier S and idf"
        if not all(one.complete for one in words) or (near is not None and not near.complete):
            return "the answer of the server is partial or approximate"
        bound = 0.0
        for batch, one in zip(batches, words, strict=True):
            error = self.server.relative_error(len(batch.terms))
            if error is None:
                return "the error of the server's arithmetic is unknown"
            last = float(one.scores[-1]) if len(one.ids) >= n else 0.0
            bound += last * batch.scale * (1.0 + error)
        bound *= self.marker.inflation(self.snapshot)
        bound += rest
        if near is not None and (bound > 0.0 or near.most >= FLOOR):
            bound += near.weight * near.most
        bound *= SUM_MARGIN
        wanted = max(self.min_score, 0.0)
        if len(top.scores) >= self.k:
            wanted = float(top.scores[self.k - 1])
        if bound < wanted or bound == 0.0:
            return ""
        return (
            f"other documents could score up to {bound:.4g}, and the last result has {wanted:.4g}"
        )

    def _plan(
        self, sent: SentTerms, n_batches: int, n_candidates: int, near: _Nearest | None, doubt: str
    ) -> Plan:
        parts = f" in {n_batches:,} batches" if n_batches > 1 else ""
        most = self.server.max_terms
        if most is not None and len(sent.terms) == most < sent.n_all:
            parts = " (as many as the server takes)"
        reason = (
            f"{len(sent.terms):,} of {sent.n_all:,} terms{parts}, {n_candidates:,} candidates of "
            f"{self.server.name}, scored exactly by the index"
        )
        if near is not None and near.by_index:
            reason += "; the nearest by meaning are the index's"
        if self.where is not None:
            where = "the index" if self._filter is None else self.server.name
            reason += f"; filtered by {where}"
        reason += f"; not proven: {doubt}" if doubt else "; proven"
        return Plan(
            self.server.name, reason, n_terms=len(sent.terms), n_candidates=n_candidates,
            proven=not doubt,
        )  # fmt: skip
