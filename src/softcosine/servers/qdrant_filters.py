"""Metadata filters of Qdrant, on the tokens of `softcosine.servers.filter_tokens`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qdrant_client import models

from softcosine.index.query.filters import Where
from softcosine.index.segment.metadata_columns import Path
from softcosine.servers import filter_tokens as tokens

__all__ = ["filter_of"]


def filter_of(where: Where) -> models.Filter | None:
    """Return a filter that holds for the same metadata; None if Qdrant cannot tell.

    That is so for the order of strings, strings inside of strings, and numbers from 2**53 on.
    """
    try:
        return where.translated(_Filters())
    except _UntranslatableError:
        return None


class _UntranslatableError(Exception):
    """Qdrant cannot express a condition."""


class _Filters:
    """A `FilterLanguage`."""

    def condition(self, path: Path, operator: str, value: Any) -> models.Filter:
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
            limits = models.Range(**{_RANGES[operator]: value})
            key = f"numbers.{tokens.number_key(path)}"
            return models.Filter(must=[models.FieldCondition(key=key, range=limits)])
        raise _UntranslatableError

    def all(self, parts: Sequence[models.Filter]) -> models.Filter:
        return models.Filter(must=list(parts))

    def any(self, parts: Sequence[models.Filter]) -> models.Filter:
        return models.Filter(should=list(parts)) if parts else _having([])

    def negation(self, part: models.Filter) -> models.Filter:
        return models.Filter(must_not=[part])


_NEGATED = {"!=": "==", "not in": "in"}
_RANGES = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


def _having(wanted: list[str]) -> models.Filter:
    """Return a filter of documents with any of the tokens."""
    match = models.MatchAny(any=wanted or [""])  # which no document has
    return models.Filter(must=[models.FieldCondition(key="tokens", match=match)])
