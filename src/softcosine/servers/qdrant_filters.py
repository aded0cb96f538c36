"""Metadata filters of Qdrant, on the tokens of `softcosine.servers.filter_tokens`."""

from __future__ import annotations

from collections.abc import Sequence

from qdrant_client import models

from softcosine.index.query.filters import Where
from softcosine.servers.filter_tokens import Comparison, TokenFilters

__all__ = ["filter_of"]


def filter_of(where: Where) -> models.Filter | None:
    """Return a filter that holds for the same metadata; None if Qdrant cannot tell.

    That is so for the order of strings, strings inside of strings, and numbers from 2**53 on.
    """
    return where.translated(_Filters())


class _Filters(TokenFilters[models.Filter]):
    """A `FilterLanguage`."""

    def having(self, wanted: Sequence[str]) -> models.Filter:
        match = models.MatchAny(any=[*wanted] or [""])  # which no document has
        return models.Filter(must=[models.FieldCondition(key="tokens", match=match)])

    def compared(self, key: str, operator: Comparison, number: float) -> models.Filter:
        limits = models.Range(**{operator: number})
        return models.Filter(must=[models.FieldCondition(key=f"numbers.{key}", range=limits)])

    def all(self, parts: Sequence[models.Filter]) -> models.Filter:
        return models.Filter(must=list(parts))

    def any(self, parts: Sequence[models.Filter]) -> models.Filter:
        return models.Filter(should=list(parts)) if parts else self.having([])

    def negation(self, part: models.Filter) -> models.Filter:
        return models.Filter(must_not=[part])
