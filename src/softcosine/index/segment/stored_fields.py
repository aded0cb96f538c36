"""Stored fields: the ids, texts and metadata of documents in a read-only SQLite file."""

from __future__ import annotations

import errno
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError
from softcosine.index.segment.documents import (
    Document,
    WrittenDocuments,
    block_loaded,
    loaded,
    unknown_document,
)
from softcosine.index.segment.metadata_updates import MetadataUpdates
from softcosine.storage import linked, open_regular

# Documents read at once when all are read.
_BLOCK = 1024
_FEW = 64  # when their texts, which may be long, are read too
# SQLite accepts at least this many values in a statement.
_ASKED_AT_ONCE = 500
# Smaller files are read into memory: an open file takes one of about 1,000 descriptors.
_OPENED_BYTES = 1 << 20
_COLUMNS = ("number INTEGER PRIMARY KEY", "id", "text", "metadata TEXT")
_INDEX = "CREATE UNIQUE INDEX documents_by_id ON documents (id)"


class StoredDocuments:
    """Stored documents of a segment, opened read-only from the file of `write_documents`.

    The file is not trusted. Only the table and the index of `write_documents` are accepted, because
    a view could run forever; no more rows are read than can exist; and a document number read from
    it is below `n_docs`.

    Parameters
    ----------
    path : Path
    n_docs : int
    updates : MetadataUpdates, optional
        Updated metadata.
    insertion_numbers : ndarray of shape (n_docs,), int64, optional
    """

    def __init__(
        self,
        path: Path,
        n_docs: int,
        updates: MetadataUpdates | None = None,
        insertion_numbers: NDArray[np.int64] | None = None,
    ) -> None:
        self._n_docs = n_docs
        self._path = path
        self.updates = MetadataUpdates.none() if updates is None else updates
        self.insertion_numbers = insertion_numbers
        self._lock = threading.Lock()
        self._keeps_texts: bool | None = None
        # immutable=1: no locks and no journal, so that it works on read-only media.
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        try:
            small = 0 < path.stat().st_size < _OPENED_BYTES
            if small and hasattr(sqlite3.Connection, "deserialize"):
                self._connection = sqlite3.connect(":memory:", check_same_thread=False)
                with open_regular(path) as file:
                    self._connection.deserialize(file.read(_OPENED_BYTES))
            else:
                self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        except (sqlite3.Error, OSError) as error:
            raise CorruptIndexError(f"{path} cannot be opened: {error}") from error

    def __len__(self) -> int:
        return self._n_docs

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredDocuments, (
            self._path, self._n_docs, self.updates, self.insertion_numbers,
        )  # fmt: skip

    def linked(self, path: Path) -> bool:
        """Link the file to that of these documents, in a part beside theirs; False if it cannot."""
        beside = path.parents[1] == self._path.parents[1]
        return beside and not self.updates and linked(self._path, path)

    def with_updates(self, updates: MetadataUpdates) -> StoredDocuments:
        """Return the documents with other metadata updates; this object does not change."""
        return StoredDocuments(self._path, self._n_docs, updates, self.insertion_numbers)

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()

    @property
    def keeps_texts(self) -> bool:
        """Whether texts are stored."""
        if self._keeps_texts is None:
            self._keeps_texts = self._checked_schema()
        return self._keeps_texts

    def _checked_schema(self) -> bool:
        """Whether there is a text column; CorruptIndexError if the schema is wrong."""
        found = self._rows_of("SELECT sql FROM sqlite_master ORDER BY rowid", (), 2)
        for texts in (True, False):
            if found == [(_table(texts=texts),), (_INDEX,)]:
                return texts
        raise CorruptIndexError(
            f"{self._path} holds something other than the table and the index of documents; "
            "rebuild the index."
        )

    def id(self, number: int) -> str:
        """Return the id of a document."""
        return self._text("SELECT id FROM documents WHERE number = ?", number)

    def text(self, number: int) -> str:
        """Return the text of a document; empty if texts are not stored."""
        if not self.keeps_texts:
            return ""
        return self._text("SELECT text FROM documents WHERE number = ?", number)

    def metadata(self, number: int) -> dict[str, Any]:
        """Return the metadata of a document; empty if it has none."""
        updated = self.updates.of([number])
        if number in updated:
            return self._loaded(updated[number], number)
        row = self._row("SELECT metadata FROM documents WHERE number = ?", number)
        return self._loaded(row[0], number)

    def _loaded(self, stored: Any, number: int) -> dict[str, Any]:
        try:
            return loaded(stored)
        except (TypeError, ValueError, RecursionError) as error:
            place = self.updates.path if self.updates.of([number]) else self._path
            raise CorruptIndexError(
                f"{place}: the metadata of document number {number} cannot be read: {error}."
            ) from error

    def all_metadata(self) -> Iterator[dict[str, Any]]:
        """Yield the metadata of every document, in order of number."""
        statement = "SELECT metadata FROM documents WHERE number BETWEEN ? AND ? ORDER BY number"
        for first in range(0, len(self), _BLOCK):
            last = min(first + _BLOCK, len(self))
            rows = self._select(statement, first, last - 1, most=last - first)
            block = None
            if len(rows) == last - first:
                stored = [row[0] for row in rows]
                for number, own in self.updates.within(first, last).items():
                    stored[number - first] = own
                block = block_loaded(stored)
            # One by one, so that the error names the unreadable document.
            yield from block or (self.metadata(number) for number in range(first, last))

    def number(self, id: str) -> int:
        """Return the number of a document."""
        if isinstance(id, str):
            rows = self._select("SELECT number FROM documents WHERE id = ?", _encoded(id), most=1)
            if rows:
                return self._number(rows[0][0])
        raise unknown_document(id)

    def _number(self, stored: Any) -> int:
        """Return a stored document number; CorruptIndexError if it is invalid."""
        if type(stored) is not int or not 0 <= stored < self._n_docs:
            raise CorruptIndexError(
                f"{self._path} gives a document the number {stored!r}, but its {self._n_docs} "
                "documents are numbered from 0; rebuild the index."
            )
        return stored

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of those ids that exist."""
        found: dict[str, int] = {}
        for first in range(0, len(ids), _ASKED_AT_ONCE):
            asked = [_encoded(id) for id in ids[first : first + _ASKED_AT_ONCE]]
            places = ", ".join("?" * len(asked))
            statement = f"SELECT id, number FROM documents WHERE id IN ({places})"
            for id, stored in self._select(statement, *asked, most=len(asked)):
                number = self._number(stored)
                found[self._decoded(id, number)] = number
        return found

    def all_ids(self) -> Iterator[str]:
        """Yield the id of every document, in order of number."""
        for number, row in enumerate(self._rows("id")):
            yield self._decoded(row[0], number)

    def all_documents(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield id, text and metadata (JSON, checked) of every document, in order of number."""
        texts, updated = ["text"] if self.keeps_texts else [], self.updates.all()
        for number, (id, metadata, *text) in enumerate(self._rows("id", "metadata", *texts)):
            shown = self._decoded(text[0], number) if text else ""
            stored = updated.get(number, metadata)
            yield self._decoded(id, number), shown, stored if self._loaded(stored, number) else None

    def records(self, numbers: Sequence[int]) -> list[Document]:
        """Return some documents, in the given order."""
        texts = ", text" if self.keeps_texts else ", ''"
        found: dict[int, Document] = {}
        updated = self.updates.of(numbers)
        for first in range(0, len(numbers), _ASKED_AT_ONCE):
            asked = [int(number) for number in numbers[first : first + _ASKED_AT_ONCE]]
            places = ", ".join("?" * len(asked))
            statement = f"SELECT number, id, metadata{texts} FROM documents WHERE number IN "
            rows = self._select(f"{statement}({places})", *asked, most=len(asked))
            for number, id, metadata, text in rows:
                shown = self._decoded(text, number)
                facts = self._loaded(updated.get(number, metadata), number)
                found[number] = Document(self._decoded(id, number), shown, facts)
        if missing := [number for number in numbers if number not in found]:
            raise CorruptIndexError(f"{self._path} has no document number {missing[0]}.")
        return [found[number] for number in numbers]

    def _rows(self, *columns: str) -> Iterator[tuple[Any, ...]]:
        named = ", ".join(columns)
        statement = f"SELECT {named} FROM documents WHERE number BETWEEN ? AND ? ORDER BY number"
        for first in range(0, len(self), _FEW):
            last = min(first + _FEW, len(self))
            rows = self._select(statement, first, last - 1, most=last - first)
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
        rows = self._select(statement, int(number), most=1)
        if not rows or not isinstance(rows[0][0], str | bytes | None):
            raise CorruptIndexError(f"{self._path} has no document number {number}.")
        return rows[0]

    def _select(self, statement: str, *values: Any, most: int) -> list[tuple[Any, ...]]:
        """Return the rows of a statement, at most `most`."""
        _ = self.keeps_texts  # checks the schema once
        return self._rows_of(statement, values, most)

    def _rows_of(self, statement: str, values: tuple[Any, ...], most: int) -> list[tuple[Any, ...]]:
        try:
            with self._lock, closing(self._connection.execute(statement, values)) as cursor:
                rows = cursor.fetchmany(most + 1)
        except (sqlite3.Error, MemoryError, UnicodeDecodeError) as error:
            raise CorruptIndexError(f"{self._path} cannot be read: {error}") from error
        if len(rows) > most:
            raise CorruptIndexError(f"{self._path} has rows that cannot be; rebuild the index.")
        return rows


def write_documents(documents: WrittenDocuments, path: Path) -> None:
    """Write documents to a new SQLite file for `StoredDocuments`.

    OSError if it cannot be written; CorruptIndexError if two documents have the same id (new
    documents were checked before, stored ones were not).
    """
    if isinstance(documents, StoredDocuments) and documents.linked(path):
        return
    try:
        _write_documents(documents, path)
    except sqlite3.IntegrityError as error:
        raise CorruptIndexError(
            f"documents that are to be written to {path} have the same id; `softcosine admin "
            "check` tells which. Rebuild the index."
        ) from error
    except sqlite3.Error as error:
        full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
        number = errno.ENOSPC if full else errno.EIO
        raise OSError(number, f"cannot be written: {error}", str(path)) from error


def _write_documents(documents: WrittenDocuments, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # The file is written once, in a temporary folder, and synced as a whole.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        texts = documents.keeps_texts
        connection.execute(_table(texts=texts))
        connection.execute("BEGIN")
        connection.executemany(
            f"INSERT INTO documents VALUES ({', '.join('?' * (len(_COLUMNS) - (not texts)))})",
            (
                (number, _encoded(id), *([_encoded(text)] if texts else []), metadata)
                for number, (id, text, metadata) in enumerate(documents.all_documents())
            ),
        )
        connection.execute(_INDEX)
        connection.execute("COMMIT")


def _table(*, texts: bool) -> str:
    """Return the statement that creates the table, with or without a text column."""
    columns = _COLUMNS if texts else [column for column in _COLUMNS if column != "text"]
    return f"CREATE TABLE documents ({', '.join(columns)})"


def _encoded(text: str) -> str | bytes:
    """Return a value that SQLite can store: bytes if the text has lone surrogates or NULs."""
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
