"""Parameters of the library as JSON types, for the bodies of requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Text = str | Sequence[str] | Mapping[str, str]


def query_of(query: Any) -> Any:
    """Return a query as JSON types."""
    if isinstance(query, Mapping):
        return {name: query_of(own) for name, own in query.items()}
    return list(query) if isinstance(query, Iterable) and not isinstance(query, str) else query


def mapping_of(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a mapping as a dictionary; another value as it is, for the server to refuse."""
    return dict(value) if isinstance(value, Mapping) else value


def pair_body(pair: tuple[str, str]) -> dict[str, str]:
    """Return a pair of words."""
    word, other = pair
    return {"word": word, "other": other}


def document_body(id: Any, text: Any, metadata: Any) -> dict[str, Any]:
    """Return a document."""
    return {"id": id, "text": query_of(text), "metadata": mapping_of(metadata)}
