"""Queries whose candidates another system finds, such as an engine or a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.encoding import IndexEncoder
from softcosine.index.search.execution import Page, ReadyQuery, Search, SearchRequest
from softcosine.index.search.meaning import QueryMeaning
from softcosine.index.search.plan import Plan
from softcosine.index.search.results import Hits
from softcosine.index.search.top_docs import QueryVector, Top

__all__ = ["CandidateQuery", "candidate_queries", "execute_among", "vectors_of"]


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """A query whose candidates another system finds.

    Attributes
    ----------
    vectors : tuple of QueryVector
        One per field, by the ranking that finds the candidates.
    """

    _search: Search
    _query: ReadyQuery
    vectors: tuple[QueryVector, ...]

    @property
    def meaning(self) -> QueryMeaning | None:
        """The meaning of the query; None for a search by words alone."""
        return self._query.meaning

    def rank(self, documents: NDArray[np.int64]) -> Top:
        """Return the best of some documents, given by number, which may repeat.

        They pass the filter and the constraints, and have the scores and the order of the index.
        """
        return self._search.best_of(self._query, documents)

    def nearest(self, n: int) -> Top:
        """Return the n nearest documents that pass these, of a cosine of at least `FLOOR`.

        The scores are the cosines. Only for a query with a meaning.
        """
        return self._search.nearest(self._query, n)

    def best(self) -> Top:
        """Return the best documents of the whole index."""
        (found,) = self._search.found([self._query])
        return self._search.best(self._query, found)

    def plan(self, plan: Plan) -> Plan:
        """Return the plan of the other system with the origin of the query's coordinates."""
        return self._search.planned(self._query, plan)

    def hits(self, top: Top) -> Hits:
        """Return the page of some results, with their documents."""
        (hits,) = self._search.hits([Page(self._query, self._search.page(top), {})])
        return hits


def candidate_queries(
    snapshot: Snapshot,
    queries: Sequence[str | Sequence[str]],
    request: SearchRequest,
    encoder: IndexEncoder | None = None,
    *,
    vectors_by: str | None = None,
    plain: bool = False,
) -> list[CandidateQuery]:
    """Return queries whose candidates another system finds.

    Parameters
    ----------
    snapshot, queries, request, encoder
        See `execute`. Of the orders of the request, the order by score is the only one.
    vectors_by : str, optional
        The ranking that finds the candidates; by default that of the request.
    plain : bool
        Whether the other system has no constraints.

    Raises
    ------
    InvalidInputError
        Also if a query has constraints, and `plain` is true.
    """
    search = Search.of_queries(snapshot, request, encoder)
    ready = search.all_ready(queries)
    if plain and any(query.constraints for query in ready):
        raise InvalidInputError(
            "+words, -words and phrases are for the index's own search; leave them out, or search "
            "the index itself."
        )
    by = search if vectors_by is None else replace(search, searcher=snapshot.searcher(vectors_by))
    same = by.searcher is search.searcher
    return [
        CandidateQuery(search, one, one.vectors if same else by.vectors(one.parsed))
        for one in ready
    ]


def execute_among(
    find: Callable[[CandidateQuery], Top],
    snapshot: Snapshot,
    queries: Sequence[str | Sequence[str]],
    request: SearchRequest,
    encoder: IndexEncoder | None = None,
) -> list[Hits]:
    """Return the hits of queries among candidates that another system finds.

    `find` returns a result of `CandidateQuery.rank` with its own plan. Of the request's orders, the
    order by score is the only one.
    """

    def hits(query: CandidateQuery) -> Hits:
        top = find(query)
        return query.hits(replace(top, plan=query.plan(top.plan)))

    return [hits(query) for query in candidate_queries(snapshot, queries, request, encoder)]


def vectors_of(
    snapshot: Snapshot, queries: Sequence[str | Sequence[str]], ranking: str | None = None
) -> list[tuple[QueryVector, ...]]:
    """Return the vectors of queries without constraints: one tuple per query, one per field."""
    request = SearchRequest(ranking=ranking, ask="words")
    return [query.vectors for query in candidate_queries(snapshot, queries, request, plain=True)]
