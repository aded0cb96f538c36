"""Comparison of documents of an index with each other."""

from __future__ import annotations

from typing import Any

from softcosine._validation import check_type
from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.query_vectors import ParsedQuery, query_vector
from softcosine.index.rankings import TITLES
from softcosine.index.search.fields import FieldsSearcher, searcher_of_index
from softcosine.index.search.searchable import Searchable

# Rankings that do not depend on which of two documents is the query, as for pairs.
_SYMMETRIC = ("soft_cosine", "inner_product")


def snapshot_of(index: Searchable) -> Snapshot:
    """Return the snapshot of an index; InvalidInputError for another object."""
    check_type("the index", index, Searchable, "pass a SoftIndex")
    return index.snapshot


def compared_searcher(snapshot: Snapshot, ranking: str) -> FieldsSearcher:
    """Return the searcher that compares documents.

    Raises
    ------
    InvalidInputError
        If the ranking or S is not symmetric.
    """
    searcher = searcher_of_index(snapshot, ranking)
    if ranking not in _SYMMETRIC:
        raise InvalidInputError(
            f"documents are compared by {' or '.join(_SYMMETRIC)}; {ranking!r} tells a query from "
            "a document."
        )
    snapshot.S.require_symmetric("comparing documents")
    return searcher


def document_vectors(snapshot: Snapshot, searcher: FieldsSearcher, number: int) -> tuple[Any, ...]:
    """Return a document as a query, one vector per field."""
    return tuple(
        query_vector(ParsedQuery(terms, frequencies, ()), one.ranking, snapshot.S, snapshot.source)
        for (terms, frequencies), one in zip(snapshot.rows(number), searcher.searchers, strict=True)
    )


def unit_of(snapshot: Snapshot, ranking: str) -> str:
    """Return the name of the similarity; with several fields, of the sum."""
    if len(snapshot.fields) == 1:
        return TITLES[ranking]
    summed = " + ".join(
        field.name if field.weight == 1 else f"{field.weight:g} {field.name}"
        for field in snapshot.fields
    )
    return f"{TITLES[ranking]}: {summed}"
