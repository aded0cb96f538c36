"""The documents' ids, texts and metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from softcosine.errors import (
    DuplicateIdError,
    InvalidInputError,
    UnknownDocumentError,
)
from softcosine.index.metadata_values import Default, metadata_json

__all__ = [
    "Document",
    "Documents",
    "MemoryDocuments",
    "block_loaded",
    "checked_ids",
    "loaded",
    "title_of",
    "unknown_document",
]

Metadata = Mapping[str, Any]

# So many documents are read at once where all are.
_BLOCK = 1024


class Document(NamedTuple):
    """A document as it was added; its text is empty where texts are not kept."""

    id: str
    text: str
    metadata: dict[str, Any]


def title_of(document: Document, fields: Sequence[str]) -> str | None:
    """Return a document's title: what its metadata name so, or else its field of that name.

    Parameters
    ----------
    document : Document
        Its text has a field a line.
    fields : sequence of str
        Names of the index's fields, in order. Where one holds line breaks, a ``title`` first among
        them ends at the first, one that is last begins at the last, and one between is not found.
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


class Documents(Protocol):
    """What an index knows of its documents beside their terms; numbers count insertions from 0."""

    def __len__(self) -> int: ...

    @property
    def keeps_texts(self) -> bool:
        """Whether texts are kept; `text` gives an empty one where they are not."""
        ...

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
        """Return some documents, in the order given; faster than one by one."""
        ...

    def all_metadata(self) -> Iterator[dict[str, Any]]:
        """Give the metadata of every document, in order of number; faster than one by one."""
        ...

    def all_ids(self) -> Iterator[str]:
        """Give the id of every document, in order of number."""
        ...

    def number(self, id: str) -> int:
        """Return the number of a document; UnknownDocumentError if there is none of that id."""
        ...


class MemoryDocuments:
    """Documents in lists.

    Parameters
    ----------
    texts : sequence of str
    ids : sequence of str, optional
        Distinct; the numbers in decimal by default.
    metadata : sequence of mappings or None, optional
    keep_texts : bool
        False forgets the texts.
    default : callable, optional
        See `softcosine.index.metadata_values.json_of`.

    Raises
    ------
    DuplicateIdError, InvalidInputError
    """

    def __init__(
        self,
        texts: Sequence[str],
        *,
        ids: Iterable[str] | None = None,
        metadata: Iterable[Metadata | None] | None = None,
        keep_texts: bool = True,
        default: Default | None = None,
    ) -> None:
        self._n_docs = len(texts)
        self._texts = texts if keep_texts else None
        self._ids = None if ids is None else checked_ids(ids, len(texts))
        self._numbers = (
            None if self._ids is None else {id: number for number, id in enumerate(self._ids)}
        )
        self._metadata = (
            None if metadata is None else _checked_metadata(metadata, len(texts), default)
        )

    def __len__(self) -> int:
        return self._n_docs

    @property
    def keeps_texts(self) -> bool:
        """Whether texts are kept."""
        return self._texts is not None

    def id(self, number: int) -> str:
        """Return the id of a document."""
        return str(number) if self._ids is None else self._ids[number]

    def text(self, number: int) -> str:
        """Return the text of a document; empty if texts are not kept."""
        return "" if self._texts is None else self._texts[number]

    def metadata(self, number: int) -> dict[str, Any]:
        """Return the metadata of a document; empty if it has none."""
        return loaded(None if self._metadata is None else self._metadata[number])

    def records(self, numbers: Sequence[int]) -> list[Document]:
        """Return some documents, in the order given."""
        return [Document(self.id(n), self.text(n), self.metadata(n)) for n in numbers]

    def all_metadata(self) -> Iterator[dict[str, Any]]:
        """Give the metadata of every document, in order of number."""
        for first in range(0, len(self), _BLOCK):
            last = min(first + _BLOCK, len(self))
            block = None if self._metadata is None else block_loaded(self._metadata[first:last])
            yield from block or (self.metadata(number) for number in range(first, last))

    def all_ids(self) -> Iterator[str]:
        """Give the id of every document, in order of number."""
        return map(self.id, range(len(self)))

    def number(self, id: str) -> int:
        """Return the number of a document."""
        if self._numbers is None:
            # No number has more digits; Python refuses to read very long ones.
            if isinstance(id, str) and id.isdecimal() and len(id) < 20:
                number = int(id)
                if number < len(self) and id == str(number):
                    return number
        elif isinstance(id, str) and id in self._numbers:
            return self._numbers[id]
        raise unknown_document(id)


def checked_ids(ids: Iterable[str], n_docs: int) -> list[str]:
    """Return the ids as a list, checked: strings, distinct, one a document."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InvalidInputError(
            f"ids is of type {type(ids).__name__}; pass a list of strings, one a document."
        )
    checked = list(ids)
    if len(checked) != n_docs:
        raise InvalidInputError(f"{len(checked)} ids were given for {n_docs} documents.")
    first: dict[str, int] = {}
    for number, id in enumerate(checked):
        if not isinstance(id, str):
            raise InvalidInputError(
                f"the id of document {number} is {id!r}, of type {type(id).__name__}; ids are "
                "strings, so pass str(id)."
            )
        if id in first:
            raise DuplicateIdError(
                f"documents {first[id]} and {number} have the same id {id!r}; ids must be distinct."
            )
        first[id] = number
    return checked


def _checked_metadata(
    metadata: Iterable[Metadata | None], n_docs: int, default: Default | None
) -> list[str | None]:
    """Return metadata as JSON: an index gives the same before and after it is saved."""
    if isinstance(metadata, str | Mapping) or not isinstance(metadata, Iterable):
        raise InvalidInputError(
            f"metadata is of type {type(metadata).__name__}; pass a list of mappings, one a "
            "document."
        )
    checked = [metadata_json(number, value, default) for number, value in enumerate(metadata)]
    if len(checked) != n_docs:
        raise InvalidInputError(f"{len(checked)} metadata were given for {n_docs} documents.")
    return checked


def loaded(metadata: str | None) -> dict[str, Any]:
    """Load a document's metadata."""
    return {} if metadata is None else dict(json.loads(metadata))


def block_loaded(stored: Sequence[str | None]) -> list[dict[str, Any]] | None:
    """Load many documents' metadata in one go; None where that may differ from one by one."""
    try:
        found = json.loads(f"[{','.join('{}' if one is None else one for one in stored)}]")
    except (TypeError, ValueError, RecursionError):
        return None
    sound = len(found) == len(stored) and all(type(one) is dict for one in found)
    return found if sound else None


def unknown_document(id: object) -> UnknownDocumentError:
    """Return the error of an id that no document has."""
    shown = repr(id)
    shown = shown if len(shown) <= 200 else f"{shown[:199]}…"
    return UnknownDocumentError(f"there is no document with the id {shown} in the index.")
