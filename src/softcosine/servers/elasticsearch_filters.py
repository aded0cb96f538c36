"""Metadata filters of Elasticsearch, on the tokens of `softcosine.servers.filter_tokens`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softcosine.index.query.filters import UntranslatableError, Where
from softcosine.servers.features import MOST_CONDITIONS
from softcosine.servers.filter_tokens import Comparison, TokenFilters

__all__ = ["filter_of"]

_MOST = 65_536  # values of a `terms` query


def filter_of(where: Where) -> dict[str, Any] | None:
    """Return a filter that holds for the same metadata; None if the server cannot tell.

    That is so for the order of strings, strings inside of strings, numbers from 2**53 on, and more
    than 32 conditions.
    """
    return where.translated(_Filters())


class _Filters(TokenFilters[dict[str, Any]]):
    """A `FilterLanguage`."""

    most_conditions = MOST_CONDITIONS

    def having(self, wanted: Sequence[str]) -> dict[str, Any]:
        if len(wanted) > _MOST:
            raise UntranslatableError
        return {"terms": {"tokens": list(wanted)}}

    def compared(self, key: str, operator: Comparison, number: float) -> dict[str, Any]:
        own = {"term": {"numbers.key": key}}
        limits = {"range": {"numbers.value": {operator: number}}}
        return {"nested": {"path": "numbers", "query": {"bool": {"filter": [own, limits]}}}}

    def all(self, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return {"bool": {"filter": list(parts)}} if parts else {"match_all": {}}

    def any(self, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
        if not parts:
            return {"match_none": {}}
        return {"bool": {"should": list(parts), "minimum_should_match": 1}}

    def negation(self, part: dict[str, Any]) -> dict[str, Any]:
        return {"bool": {"must_not": [part]}}
