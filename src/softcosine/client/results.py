"""JSON of a server as the results of the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from softcosine.index.near_duplicates.similar import SimilarGroup, SimilarPair
from softcosine.index.query.suggestions import Candidate, Suggestion
from softcosine.index.search.explanation import Explanation, Part
from softcosine.index.search.facets import FacetCount, Facets
from softcosine.index.search.highlights import Mark, Snippet
from softcosine.index.search.plan import Plan
from softcosine.index.search.results import Hit, Hits, Listing
from softcosine.index.search.top_docs import Top
from softcosine.index.segment.documents import Document

__all__ = [
    "Changed",
    "changed_of",
    "document_of",
    "explanation_of",
    "group_of",
    "hits_of",
    "listing_of",
    "pair_of",
    "top_of",
]

_Record = Mapping[str, Any]


class Changed(NamedTuple):
    """What a commit has changed.

    Attributes
    ----------
    added, replaced : int
        Numbers of documents.
    commit : str
        Checksum of the commit.
    deleted, updated : int
        Numbers of documents deleted, and given other metadata.
    missing : int
        Number of ids to delete that no document had.
    """

    added: int
    replaced: int
    commit: str
    deleted: int = 0
    updated: int = 0
    missing: int = 0


def changed_of(record: _Record) -> Changed:
    """Return what an answer says about a commit."""
    return Changed(**record)


def document_of(record: _Record) -> Document:
    """Return a document."""
    return Document(record["id"], record["text"], record["metadata"])


def hits_of(record: _Record) -> Hits:
    """Return the hits of the answer to a search."""
    suggestions = tuple(
        Suggestion(
            one["word"],
            tuple(
                Candidate(other["word"], other["distance"], other["documents"], other["similarity"])
                for other in one["candidates"]
            ),
        )
        for one in record["suggestions"]
    )
    return Hits(
        query=record["query"],
        ranking=record["ranking"],
        hits=tuple(map(_hit_of, record["hits"])),
        outside=tuple(record["outside_words"]),
        unknown=tuple(record["unknown_words"]),
        left_out=tuple(record["left_out_words"]),
        required=tuple(record["required"]),
        excluded=tuple(record["excluded"]),
        offset=record["offset"],
        plan=Plan(**record["plan"]),
        mmr=record.get("mmr"),
        facets=_facets_of(record),
        missing_shards=tuple(record.get("missing_shards") or ()),
        _suggest=lambda: suggestions,
    )


def explanation_of(record: _Record) -> Explanation:
    """Return an explanation."""
    parts = tuple(Part(**part) for part in record["parts"])
    return Explanation(record["query"], record["id"], record["score"], parts, record["ranking"])


def listing_of(record: _Record) -> Listing:
    """Return documents that pass a filter."""
    documents = tuple(map(document_of, record["documents"]))
    return Listing(documents, record["total"], record["offset"], _facets_of(record))


def top_of(record: _Record) -> Top:
    """Return the numbers and scores of the answer to a search."""
    hits = record["hits"]
    numbers = np.array([hit["number"] for hit in hits], np.int64)
    return Top(numbers, np.array([hit["score"] for hit in hits]), Plan(**record["plan"]))


def pair_of(record: _Record) -> SimilarPair:
    """Return a similar pair."""
    return SimilarPair(**record)


def group_of(record: _Record) -> SimilarGroup:
    """Return a group of near duplicates."""
    return SimilarGroup(record["id"], tuple(map(pair_of, record["others"])))


def _hit_of(record: _Record) -> Hit:
    shown = record["highlights"]
    passage = Snippet(shown["text"], tuple(Mark(**mark) for mark in shown["marks"]))
    return Hit(
        record["id"], record["score"], record["text"], record["metadata"], record["number"],
        record["title"], lambda _: passage,
    )  # fmt: skip


def _facets_of(record: _Record) -> Facets:
    return {
        key: tuple(FacetCount(one["value"], one["documents"]) for one in counts)
        for key, counts in (record.get("facets") or {}).items()
    }
