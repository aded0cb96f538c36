"""Metadata filters of Elasticsearch, on the tokens of `softcosine.servers.filter_tokens`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softcosine.index.query.filters import Where
from softcosine.index.segment.metadata_columns import Path
from softcosine.servers import filter_tokens as tokens

__all__ = ["filter_of"]

_MOST = 65_536  # values of a `terms` query


def filter_of(where: Where) -> dict[str, Any] | None:
    """Return a filter that holds for the same metadata; None if the server cannot tell.

    That is so for the order of strings, strings inside of strings, and numbers from 2**53 on.
    """
    try:
        return where.translated(_Filters())
    except _UntranslatableError:
        return None


class _UntranslatableError(Exception):
    """The server cannot express a condition."""


class _Filters:
    """A `FilterLanguage`."""

    def condition(self, path: Path, operator: str, value: Any) -> dict[str, Any]:
        if operator in _NEGATED:
            return self.negation(self.condition(path, _NEGATED[operator], value))
        if operator == "==":
            return _having([tokens.value_token(path, value)])
        if operator == "in":
            return _having([tokens.value_token(path, one) for one in value])
        if operator == "exists":
            held = _having([tokens.existence_token(path)])
            return held if value else self.negation(held)
        if operator == "contains" and not isinstance(value, str):
            return _having([tokens.element_token(path, value)])
        if operator in _RANGES and not isinstance(value, str) and abs(value) < tokens.EXACT:
            own = {"term": {"numbers.key": tokens.number_key(path)}}
            limits = {"range": {"numbers.value": {_RANGES[operator]: value}}}
            return {"nested": {"path": "numbers", "query": {"bool": {"filter": [own, limits]}}}}
        raise _UntranslatableError

    def all(self, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return {"bool": {"filter": list(parts)}} if parts else {"match_all": {}}

    def any(self, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
        if not parts:
            return {"match_none": {}}
        return {"bool": {"should": list(parts), "minimum_should_match": 1}}

    def negation(self, part: dict[str, Any]) -> dict[str, Any]:
        return {"bool": {"must_not": [part]}}


_NEGATED = {"!=": "==", "not in": "in"}
_RANGES = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


def _having(wanted: list[str]) -> dict[str, Any]:
    """Return a filter of documents with any of the tokens."""
    if len(wanted) > _MOST:
        raise _UntranslatableError
    return {"terms": {"tokens": wanted}}
