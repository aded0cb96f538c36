"""Stored fields of documents: ids, texts and metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import UnknownDocumentError
from softcosine.index.segment.metadata_updates import MetadataUpdates

# Documents read at once when all are read.
_BLOCK = 1024


class Document(NamedTuple):
    """A document as it was added; its text is empty if texts are not stored."""

    id: str
    text: str
    metadata: dict[str, Any]


def title_of(document: Document, fields: Sequence[str]) -> str | None:
    """Return the title of a document: ``title`` of its metadata, or the field ``title``.

    Parameters
    ----------
    document : Document
        Its text has one line per field.
    fields : sequence of str
        Field names, in order. If a field contains line breaks, a first field ``title`` ends at the
        first break, a last one begins after the last break, and one in between is not found.
    """
    given = document.metadata.get("title")
    if isinstance(given, str | int | float) and not isinstance(given, bool):
        return str(given) or None
    if "title" not in fields or len(fields) == 1:
        return None
    place, lines = fields.index("title"), document.text.split("\n")
    if len(lines) == len(fields) or place == 0:
        return lines[place] or None
    return lines[-1] or None if place == len(fields) - 1 else None


class WrittenDocuments(Protocol):
    """Documents that are read once, to be written."""

    @property
    def keeps_texts(self) -> bool:
        """Whether texts are stored; otherwise they are empty."""
        ...

    @property
    def insertion_numbers(self) -> NDArray[np.int64] | None:
        """In a shard, the numbers of the documents in the order of insertion into all shards.

        Of the shape (n_docs,), ascending; None elsewhere.
        """
        ...

    def all_documents(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield id, text and metadata (JSON) of every document, in order of number."""
        ...


class Documents(WrittenDocuments, Protocol):
    """The stored fields of documents, by number (order of insertion, from 0)."""

    def __len__(self) -> int: ...

    def id(self, number: int) -> str:
        """Return the id of a document."""
        ...

    def text(self, number: int) -> str:
        """Return the text of a document."""
        ...

    def metadata(self, number: int) -> dict[str, Any]:
        """Return the metadata of a document; empty if it has none."""
        ...

    def records(self, numbers: Sequence[int]) -> list[Document]:
        """Return some documents, in the given order; faster than one by one."""
        ...

    def all_metadata(self) -> Iterator[dict[str, Any]]:
        """Yield the metadata of every document, in order of number; faster than one by one."""
        ...

    def all_ids(self) -> Iterator[str]:
        """Yield the id of every document, in order of number."""
        ...

    def number(self, id: str) -> int:
        """Return the number of a document; UnknownDocumentError if no document has the id."""
        ...

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of those ids that exist."""
        ...

    @property
    def updates(self) -> MetadataUpdates:
        """Later updates of the metadata."""
        ...

    def with_updates(self, updates: MetadataUpdates) -> Documents:
        """Return the documents with other metadata updates; this object does not change."""
        ...


class MemoryDocuments:
    """Stored fields in memory.

    Parameters
    ----------
    texts : sequence of str
    ids : sequence of str, optional
        Distinct; the numbers in decimal by default.
    metadata : sequence of str or None, optional
        As JSON.
    keep_texts : bool
        If False, the texts are dropped.
    updates : MetadataUpdates, optional
        Updated metadata.
    insertion_numbers : ndarray of shape (n_docs,), int64, optional
    """

    def __init__(
        self,
        texts: Sequence[str],
        *,
        ids: Sequence[str] | None = None,
        metadata: Sequence[str | None] | None = None,
        keep_texts: bool = True,
        updates: MetadataUpdates | None = None,
        insertion_numbers: NDArray[np.int64] | None = None,
    ) -> None:
        self._n_docs = len(texts)
        self._texts = texts if keep_texts else None
        self._ids = list(map(str, range(len(texts)))) if ids is None else ids
        self._numbers = {id: number for number, id in enumerate(self._ids)}
        self._metadata = metadata or [None] * len(texts)
        self.updates = MetadataUpdates.none() if updates is None else updates
        self.insertion_numbers = insertion_numbers

    def with_updates(self, updates: MetadataUpdates) -> MemoryDocuments:
        """Return the documents with other metadata updates; this object does not change."""
        other = copy(self)
        other.updates = updates
        return other

    def __len__(self) -> int:
        return self._n_docs

    @property
    def keeps_texts(self) -> bool:
        """Whether texts are stored."""
        return self._texts is not None

    def id(self, number: int) -> str:
        """Return the id of a document."""
        return self._ids[number]

    def text(self, number: int) -> str:
        """Return the text of a document; empty if texts are not stored."""
        return "" if self._texts is None else self._texts[number]

    def metadata(self, number: int) -> dict[str, Any]:
        """Return the metadata of a document; empty if it has none."""
        return loaded(self.updates.of([number]).get(number, self._metadata[number]))

    def records(self, numbers: Sequence[int]) -> list[Document]:
        """Return some documents, in the given order."""
        return [Document(self.id(n), self.text(n), self.metadata(n)) for n in numbers]

    def all_metadata(self) -> Iterator[dict[str, Any]]:
        """Yield the metadata of every document, in order of number."""
        for first in range(0, len(self), _BLOCK):
            last = min(first + _BLOCK, len(self))
            stored = list(self._metadata[first:last])
            for number, own in self.updates.within(first, last).items():
                stored[number - first] = own
            yield from block_loaded(stored) or map(loaded, stored)

    def all_ids(self) -> Iterator[str]:
        """Yield the id of every document, in order of number."""
        return iter(self._ids)

    def all_documents(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield id, text and metadata (JSON) of every document, in order of number."""
        updated = self.updates.all()
        for number, (id, metadata) in enumerate(zip(self._ids, self._metadata, strict=True)):
            yield id, self.text(number), updated.get(number, metadata)

    def number(self, id: str) -> int:
        """Return the number of a document."""
        if isinstance(id, str) and id in self._numbers:
            return self._numbers[id]
        raise unknown_document(id)

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of those ids that exist."""
        return {id: self._numbers[id] for id in ids if id in self._numbers}


def loaded(metadata: str | None) -> dict[str, Any]:
    """Return the metadata of a document, given as JSON."""
    return {} if metadata is None else dict(json.loads(metadata))


def block_loaded(stored: Sequence[str | None]) -> list[dict[str, Any]] | None:
    """Return the metadata of many documents at once; None if they must be parsed one by one."""
    try:
        found = json.loads(f"[{','.join('{}' if one is None else one for one in stored)}]")
    except (TypeError, ValueError, RecursionError):
        return None
    sound = len(found) == len(stored) and all(type(one) is dict for one in found)
    return found if sound else None


def unknown_document(id: object) -> UnknownDocumentError:
    """Return the error for an id that no document has."""
    shown = repr(id)
    shown = shown if len(shown) <= 200 else f"{shown[:199]}…"
    return UnknownDocumentError(f"there is no document with the id {shown} in the index.")
