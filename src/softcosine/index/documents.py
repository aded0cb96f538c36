"""The documents' ids, texts and metadata, in memory or in a read-only SQLite file."""

from __future__ import annotations

import errno
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from softcosine.errors import (
    CorruptIndexError,
    DuplicateIdError,
    InvalidInputError,
    UnknownDocumentError,
)

__all__ = ["Documents", "MemoryDocuments", "StoredDocuments", "write_documents"]

Metadata = Mapping[str, Any]

# So many documents are read at once where all are.
_BLOCK = 1024
_FEW = 64  # where their texts, which may be long, are read too
# SQLite takes at least so many values in a statement.
_ASKED_AT_ONCE = 500
# Smaller files are read whole: an open one keeps a descriptor, of which a process has a thousand.
_OPENED_BYTES = 1 << 20


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

    def all_metadata(self) -> Iterator[dict[str, Any]]:
        """Give the metadata of every document, in order of number; faster than one by one."""
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
        Each serialisable as JSON.
    keep_texts : bool
        False forgets the texts.

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
    ) -> None:
        self._n_docs = len(texts)
        self._texts = texts if keep_texts else None
        self._ids = None if ids is None else checked_ids(ids, len(texts))
        self._numbers = (
            None if self._ids is None else {id: number for number, id in enumerate(self._ids)}
        )
        self._metadata = None if metadata is None else _checked_metadata(metadata, len(texts))

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
        return _loaded(None if self._metadata is None else self._metadata[number])

    def all_metadata(self) -> Iterator[dict[str, Any]]:
        """Give the metadata of every document, in order of number."""
        for first in range(0, len(self), _BLOCK):
            last = min(first + _BLOCK, len(self))
            block = None if self._metadata is None else _block_loaded(self._metadata[first:last])
            yield from block or (self.metadata(number) for number in range(first, last))

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
        raise _unknown(id)


class StoredDocuments:
    """Documents in the SQLite file that `write_documents` wrote, opened read-only."""

    def __init__(self, path: Path, n_docs: int) -> None:
        self._n_docs = n_docs
        self._path = path
        self._lock = threading.Lock()
        self._keeps_texts: bool | None = None
        # immutable=1: no locks and no journal, so that it works on read-only media.
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        try:
            small = 0 < path.stat().st_size < _OPENED_BYTES
            if small and hasattr(sqlite3.Connection, "deserialize"):
                self._connection = sqlite3.connect(":memory:", check_same_thread=False)
                self._connection.deserialize(path.read_bytes())
            else:
                self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        except (sqlite3.Error, OSError) as error:
            raise CorruptIndexError(f"{path} cannot be opened: {error}") from error

    def __len__(self) -> int:
        return self._n_docs

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredDocuments, (self._path, self._n_docs)

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()

    @property
    def keeps_texts(self) -> bool:
        """Whether texts are kept."""
        if self._keeps_texts is None:
            columns = "SELECT count(*) FROM pragma_table_info('documents') WHERE name = ?"
            self._keeps_texts = self._select(columns, "text") == [(1,)]
        return self._keeps_texts

    def id(self, number: int) -> str:
        """Return the id of a document."""
        return self._text("SELECT id FROM documents WHERE number = ?", number)

    def text(self, number: int) -> str:
        """Return the text of a document; empty if texts are not kept."""
        if not self.keeps_texts:
            return ""
        return self._text("SELECT text FROM documents WHERE number = ?", number)

    def metadata(self, number: int) -> dict[str, Any]:
        """Return the metadata of a document; empty if it has none."""
        row = self._row("SELECT metadata FROM documents WHERE number = ?", number)
        return self._loaded(row[0], number)

    def _loaded(self, stored: Any, number: int) -> dict[str, Any]:
        try:
            return _loaded(stored)
        except (TypeError, ValueError) as error:
            raise CorruptIndexError(
                f"{self._path}: the metadata of document number {number} cannot be read: {error}."
            ) from error

    def all_metadata(self) -> Iterator[dict[str, Any]]:
        """Give the metadata of every document, in order of number."""
        statement = "SELECT metadata FROM documents WHERE number BETWEEN ? AND ? ORDER BY number"
        for first in range(0, len(self), _BLOCK):
            last = min(first + _BLOCK, len(self))
            rows = self._select(statement, first, last - 1)
            block = _block_loaded([row[0] for row in rows]) if len(rows) == last - first else None
            # One by one names the document that cannot be read.
            yield from block or (self.metadata(number) for number in range(first, last))

    def number(self, id: str) -> int:
        """Return the number of a document."""
        if isinstance(id, str):
            rows = self._select("SELECT number FROM documents WHERE id = ?", _encoded(id))
            if rows:
                return int(rows[0][0])
        raise _unknown(id)

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of those of some ids that there are."""
        found: dict[str, int] = {}
        for first in range(0, len(ids), _ASKED_AT_ONCE):
            asked = [_encoded(id) for id in ids[first : first + _ASKED_AT_ONCE]]
            places = ", ".join("?" * len(asked))
            statement = f"SELECT id, number FROM documents WHERE id IN ({places})"
            found.update((_decoded(id), int(n)) for id, n in self._select(statement, *asked))
        return found

    def all_ids(self) -> Iterator[str]:
        """Give the id of every document, in order of number."""
        for number, row in enumerate(self._rows("id")):
            yield self._decoded(row[0], number)

    def all_documents(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Give id, text and metadata of every document, in order of number."""
        texts = ["text"] if self.keeps_texts else []
        for number, (id, metadata, *text) in enumerate(self._rows("id", "metadata", *texts)):
            shown = self._decoded(text[0], number) if text else ""
            yield self._decoded(id, number), shown, self._loaded(metadata, number)

    def _rows(self, *columns: str) -> Iterator[tuple[Any, ...]]:
        named = ", ".join(columns)
        statement = f"SELECT {named} FROM documents WHERE number BETWEEN ? AND ? ORDER BY number"
        for first in range(0, len(self), _FEW):
            last = min(first + _FEW, len(self))
            rows = self._select(statement, first, last - 1)
            if len(rows) < last - first:
                raise CorruptIndexError(
                    f"{self._path} has {len(rows)} of the documents number {first} to {last - 1}."
                )
            yield from rows

    def _text(self, statement: str, number: int) -> str:
        return self._decoded(self._row(statement, number)[0], number)

    def _decoded(self, stored: Any, number: int) -> str:
        try:
            return _decoded(stored)
        except (TypeError, ValueError) as error:
            raise CorruptIndexError(
                f"{self._path}: document number {number} cannot be read: {error}."
            ) from error

    def _row(self, statement: str, number: int) -> tuple[Any, ...]:
        rows = self._select(statement, int(number))
        if not rows or not isinstance(rows[0][0], str | bytes | None):
            raise CorruptIndexError(f"{self._path} has no document number {number}.")
        return rows[0]

    def _select(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise CorruptIndexError(f"{self._path} cannot be read: {error}") from error


def write_documents(documents: Documents, path: Path) -> None:
    """Write documents to a new SQLite file that `StoredDocuments` opens; OSError if it cannot."""
    try:
        _write_documents(documents, path)
    except sqlite3.Error as error:
        full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
        number = errno.ENOSPC if full else errno.EIO
        raise OSError(number, f"cannot be written: {error}", str(path)) from error


def _write_documents(documents: Documents, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # The file is written once, aside, and synced as a whole: no journal is needed.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        # Where texts are not kept, there is no column for them.
        texts = ["text"] if documents.keeps_texts else []
        columns = ["number INTEGER PRIMARY KEY", "id", *texts, "metadata TEXT"]
        connection.execute(f"CREATE TABLE documents ({', '.join(columns)})")
        connection.execute("BEGIN")
        connection.executemany(
            f"INSERT INTO documents VALUES ({', '.join('?' * len(columns))})",
            (
                (
                    number,
                    _encoded(documents.id(number)),
                    *([_encoded(documents.text(number))] if texts else []),
                    json.dumps(facts) if facts else None,
                )
                for number, facts in enumerate(documents.all_metadata())
            ),
        )
        connection.execute("CREATE UNIQUE INDEX documents_by_id ON documents (id)")
        connection.execute("COMMIT")


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


def _checked_metadata(metadata: Iterable[Metadata | None], n_docs: int) -> list[str | None]:
    """Return metadata as JSON: an index gives the same before and after it is saved."""
    if isinstance(metadata, str | Mapping) or not isinstance(metadata, Iterable):
        raise InvalidInputError(
            f"metadata is of type {type(metadata).__name__}; pass a list of mappings, one a "
            "document."
        )
    checked = []
    for number, value in enumerate(metadata):
        if value is not None and not isinstance(value, Mapping):
            raise InvalidInputError(
                f"the metadata of document {number} is of type {type(value).__name__}; pass a "
                "mapping or None."
            )
        try:
            checked.append(json.dumps(dict(value), allow_nan=False) if value else None)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(
                f"the metadata of document {number} cannot be written as JSON: {error}."
            ) from error
    if len(checked) != n_docs:
        raise InvalidInputError(f"{len(checked)} metadata were given for {n_docs} documents.")
    return checked


def _loaded(metadata: str | None) -> dict[str, Any]:
    return {} if metadata is None else dict(json.loads(metadata))


def _block_loaded(stored: Sequence[str | None]) -> list[dict[str, Any]] | None:
    """Load many documents' metadata in one go; None where that may differ from one by one."""
    try:
        loaded = json.loads(f"[{','.join('{}' if one is None else one for one in stored)}]")
    except (TypeError, ValueError, RecursionError):
        return None
    sound = len(loaded) == len(stored) and all(type(one) is dict for one in loaded)
    return loaded if sound else None


def _unknown(id: object) -> UnknownDocumentError:
    shown = repr(id)
    shown = shown if len(shown) <= 200 else f"{shown[:199]}…"
    return UnknownDocumentError(f"there is no document with the id {shown} in the index.")


def _encoded(text: str) -> str | bytes:
    """Return what SQLite can hold: bytes for a text with lone surrogates or NUL characters."""
    if "\0" not in text:
        try:
            text.encode()
            return text
        except UnicodeEncodeError:
            pass
    return text.encode("utf-8", "surrogatepass")


def _decoded(stored: Any) -> str:
    if not isinstance(stored, str | bytes):
        raise TypeError("there is no text")
    return stored.decode("utf-8", "surrogatepass") if isinstance(stored, bytes) else stored
