"""Stored fields of documents: ids, texts and metadata."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, UnknownDocumentError
from softcosine.files import LONGEST_TITLE
from softcosine.index.segment.metadata_updates import MetadataUpdates

# Documents read at once when all are read.
_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Reading:
    """How a context reads the stored documents of results.

    Attributes
    ----------
    count : callable
        Called with the size of each document in bytes; raises if there are too many.
    texts : bool
        Whether texts are read; otherwise they are empty.
    """

    count: Callable[[int], None] = lambda n_bytes: None
    texts: bool = True


reading: ContextVar[Reading] = ContextVar("softcosine_reading", default=Reading())  # noqa: B039  # it is frozen


class Document(NamedTuple):
    """A document as it was added; its text is empty if texts are not stored."""

    id: str
    text: str
    metadata: dict[str, Any]


def title_of(document: Document, fields: Sequence[str]) -> str | None:
    """Return the title of a document: ``title`` of its metadata, or a field.

    That is the field ``title``, or else the first of several, unless it is long.

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
    if len(fields) == 1:
        return None
    place, lines = (
        list(fields).index("title") if "title" in fields else 0,
        document.text.split("\n"),
    )
    if "title" not in fields and len(lines[0]) > LONGEST_TITLE:
        return None
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


class Documents(ABC):
    """The stored fields of documents, by number (order of insertion, from 0).

    Attributes
    ----------
    updates : MetadataUpdates
        Later updates of the metadata.
    insertion_numbers : ndarray of shape (n_docs,), int64, or None
        See `WrittenDocuments`.
    """

    def __init__(
        self,
        n_docs: int,
        updates: MetadataUpdates | None,
        insertion_numbers: NDArray[np.int64] | None,
    ) -> None:
        self._n_docs = n_docs
        self.updates = MetadataUpdates() if updates is None else updates
        self.insertion_numbers = insertion_numbers

    def with_updates(self, updates: MetadataUpdates) -> Self:
        """Return the documents with other metadata updates; this object does not change."""
        other = copy(self)
        other.updates = updates
        return other

    def __len__(self) -> int:
        return self._n_docs

    @property
    @abstractmethod
    def keeps_texts(self) -> bool:
        """Whether texts are stored."""

    @abstractmethod
    def id(self, number: int) -> str:
        """Return the id of a document."""

    @abstractmethod
    def text(self, number: int) -> str:
        """Return the text of a document; empty if texts are not stored."""

    def metadata(self, number: int) -> dict[str, Any]:
        """Return the metadata of a document; empty if it has none."""
        updated = self.updates.of([number])
        stored = updated[number] if number in updated else self._metadata_of(number)
        return self._loaded(stored, number)

    @abstractmethod
    def _metadata_of(self, number: int) -> str | None:
        """Return the metadata of a document as they were added, as JSON."""

    @abstractmethod
    def _metadata_within(self, first: int, stop: int) -> list[str | None]:
        """Return the same for consecutive documents; of damaged ones, too few."""

    def _loaded(self, stored: str | None, number: int) -> dict[str, Any]:
        return loaded(stored)

    def records(self, numbers: Sequence[int]) -> list[Document]:
        """Return some documents, in the given order; faster than one by one."""
        return [Document(self.id(n), self.text(n), self.metadata(n)) for n in numbers]

    def all_metadata(self) -> Iterator[dict[str, Any]]:
        """Yield the metadata of every document, in order of number; faster than one by one."""
        for first in range(0, len(self), _BLOCK):
            stop = min(first + _BLOCK, len(self))
            stored, block = self._metadata_within(first, stop), None
            if len(stored) == stop - first:
                for number, own in self.updates.of(range(first, stop)).items():
                    stored[number - first] = own
                block = _block_loaded(stored)
            # One by one, so that an error names the unreadable document.
            yield from block or map(self.metadata, range(first, stop))

    @abstractmethod
    def all_ids(self) -> Iterator[str]:
        """Yield the id of every document, in order of number."""

    @abstractmethod
    def all_documents(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield id, text and metadata (JSON) of every document, in order of number."""

    def number(self, id: str) -> int:
        """Return the number of a document; UnknownDocumentError if no document has the id."""
        number = self.numbers([id]).get(id) if isinstance(id, str) else None
        if number is None:
            raise unknown_document(id)
        return number

    @abstractmethod
    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of those ids that exist."""


class MemoryDocuments(Documents):
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
    insertion_numbers : ndarray of shape (n_docs,), int64, optional
    """

    def __init__(
        self,
        texts: Sequence[str],
        *,
        ids: Sequence[str] | None = None,
        metadata: Sequence[str | None] | None = None,
        keep_texts: bool = True,
        insertion_numbers: NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(len(texts), None, insertion_numbers)
        self._texts = texts if keep_texts else None
        self._ids = list(map(str, range(len(texts)))) if ids is None else ids
        self._numbers = {id: number for number, id in enumerate(self._ids)}
        self._metadata = metadata or [None] * len(texts)

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

    def _metadata_of(self, number: int) -> str | None:
        return self._metadata[number]

    def _metadata_within(self, first: int, stop: int) -> list[str | None]:
        return list(self._metadata[first:stop])

    def all_ids(self) -> Iterator[str]:
        """Yield the id of every document, in order of number."""
        return iter(self._ids)

    def all_documents(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield id, text and metadata (JSON) of every document, in order of number."""
        updated = self.updates.all()
        for number, (id, metadata) in enumerate(zip(self._ids, self._metadata, strict=True)):
            yield id, self.text(number), updated.get(number, metadata)

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of those ids that exist."""
        return {id: self._numbers[id] for id in ids if id in self._numbers}


def loaded(metadata: str | None) -> dict[str, Any]:
    """Return the metadata of a document, given as JSON."""
    return {} if metadata is None else dict(json.loads(metadata))


def _block_loaded(stored: Sequence[str | None]) -> list[dict[str, Any]] | None:
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
    shown = shown if len(shown) <= 80 else f"{shown[:79]}…"
    return UnknownDocumentError(f"there is no document with the id {shown} in the index.")


def checked_id(id: object, place: int | None = None) -> str:
    """Return an id; InvalidInputError if it is not a string, with its place in a sequence."""
    if not isinstance(id, str):
        owner = "" if place is None else f" of document {place}"
        raise InvalidInputError(
            f"the id{owner} is {id!r}, of type {type(id).__name__}; ids are strings, so pass "
            "str(id)."
        )
    return id
