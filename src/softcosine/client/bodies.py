"""Parameters of the library as JSON types, for the bodies of requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from softcosine.index.requests import FirstStage

__all__ = ["Text", "document_body", "mapping_of", "pair_body", "query_of", "search_body"]

Text = str | Sequence[str] | Mapping[str, str]


def search_body(
    *,
    where: Mapping[str, Any] | None = None,
    first_stage: FirstStage | int | None = None,
    sort: str | Sequence[str] | None = None,
    facets: Sequence[str] = (),
    **options: Any,
) -> Any:
    """Return a function that gives the body of a search for a query."""
    body = {
        **options,
        "where": mapping_of(where),
        "first_stage": asdict(first_stage) if isinstance(first_stage, FirstStage) else first_stage,
        "sort": sort if sort is None or isinstance(sort, str) else list(sort),
        "facets": facets if isinstance(facets, str) else list(facets),
    }
    return lambda query: {"q": query_of(query), **body}


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
