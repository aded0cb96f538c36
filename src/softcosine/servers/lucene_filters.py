"""Metadata filters of Lucene, on the tokens of `softcosine.servers.filter_tokens`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from softcosine.index.query.filters import Where
from softcosine.servers.features import MOST_CONDITIONS
from softcosine.servers.filter_tokens import Comparison, TokenFilters
from softcosine.servers.lucene_classes import java_set

__all__ = ["filter_of"]


def filter_of(where: Where, lucene: Any) -> Any | None:
    """Return a query that holds for the same metadata; None if Lucene cannot tell.

    That is so for the order of strings, strings inside of strings, numbers from 2**53 on, and more
    than 32 conditions.
    """
    return where.translated(_Filters(lucene))


class _Filters(TokenFilters[Any]):
    """A `FilterLanguage`, given the package of Lucene's classes."""

    most_conditions = MOST_CONDITIONS

    def __init__(self, lucene: Any) -> None:
        super().__init__()
        self._lucene = lucene

    def having(self, wanted: Sequence[str]) -> Any:
        values = [self._lucene.util.BytesRef(token) for token in wanted]
        return self._lucene.search.TermInSetQuery("tokens", java_set(values))

    def compared(self, key: str, operator: Comparison, number: float) -> Any:
        value, least, most = float(number), -math.inf, math.inf
        if operator in ("gt", "gte"):
            least = math.nextafter(value, math.inf) if operator == "gt" else value
        else:
            most = math.nextafter(value, -math.inf) if operator == "lt" else value
        return self._lucene.document.DoublePoint.newRangeQuery(f"number {key}", least, most)

    def all(self, parts: Sequence[Any]) -> Any:
        occur = self._lucene.search.BooleanClause.Occur
        every = [(self._lucene.search.MatchAllDocsQuery(), occur.FILTER)]
        return self._boolean([(part, occur.FILTER) for part in parts] or every)

    def any(self, parts: Sequence[Any]) -> Any:
        if not parts:
            return self._lucene.search.MatchNoDocsQuery()
        return self._boolean(
            [(part, self._lucene.search.BooleanClause.Occur.SHOULD) for part in parts]
        )

    def negation(self, part: Any) -> Any:
        occur = self._lucene.search.BooleanClause.Occur
        every = self._lucene.search.MatchAllDocsQuery()
        return self._boolean([(every, occur.FILTER), (part, occur.MUST_NOT)])

    def _boolean(self, clauses: Sequence[tuple[Any, Any]]) -> Any:
        query = self._lucene.search.BooleanQuery.Builder()
        for part, occur in clauses:
            query.add(part, occur)
        return query.build()
