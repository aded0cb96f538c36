"""Stored fields: the ids, texts and metadata of documents in a read-only SQLite file."""

from __future__ import annotations

import errno
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError
from softcosine.index.segment.documents import (
    Document,
    Documents,
    WrittenDocuments,
    loaded,
    reading,
)
from softcosine.index.segment.metadata_updates import MetadataUpdates
from softcosine.storage import linked, open_regular

# Documents read at once; their texts may be long.
_FEW = 64
# SQLite accepts at least this many values in a statement.
_ASKED_AT_ONCE = 500
# Smaller files are read into memory: an open file takes one of about 1,000 descriptors.
_OPENED_BYTES = 1 << 20
# Pages of a larger file are mapped, not copied; SQLite maps less where the system wants that.
_MAPPED_BYTES = 1 << 40
# Texts leave less of large pages empty: a tenth of the file, in place of a fifth.
_MANY, _LARGE_PAGE = 4096, 1 << 15
_COLUMNS = ("number INTEGER PRIMARY KEY", "id", "text", "metadata TEXT")
_INDEX = "CREATE UNIQUE INDEX documents_by_id ON documents (id)"


class _Database:
    """The SQLite file of documents, opened read-only.

    It is not trusted. Only the table and the index of `write_documents` are accepted, because a
    view could run forever, and no more rows are read than can exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
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
                self._connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
        except (sqlite3.Error, OSError) as error:
            raise CorruptIndexError(f"{path} cannot be opened: {error}") from error

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()

    @cached_property
    def keeps_texts(self) -> bool:
        """Whether there is a text column; CorruptIndexError if the schema is wrong."""
        found = self._rows("SELECT sql FROM sqlite_master ORDER BY rowid", (), 2)
        for texts in (True, False):
            if found == [(_table(texts=texts),), (_INDEX,)]:
                return texts
        raise CorruptIndexError(
            f"{self.path} holds something other than the table and the index of documents; "
            "rebuild the index."
        )

    def within(self, columns: str, first: int, stop: int) -> list[tuple[Any, ...]]:
        """Return the rows of consecutive documents, in order of number."""
        return self._select(
            columns, "number BETWEEN ? AND ? ORDER BY number", (first, stop - 1), stop - first
        )

    def among(self, columns: str, key: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows in which a column has one of the values."""
        for first in range(0, len(values), _ASKED_AT_ONCE):
            some = values[first : first + _ASKED_AT_ONCE]
            places = ", ".join("?" * len(some))
            yield from self._select(columns, f"{key} IN ({places})", some, len(some))

    def _select(
        self, columns: str, condition: str, values: Sequence[Any], most: int
    ) -> list[tuple[Any, ...]]:
        """Return columns of the rows that meet a condition, at most `most`."""
        _ = self.keeps_texts  # checks the schema once
        return self._rows(f"SELECT {columns} FROM documents WHERE {condition}", values, most)

    def _rows(self, statement: str, values: Sequence[Any], most: int) -> list[tuple[Any, ...]]:
        try:
            with self._lock, closing(self._connection.execute(statement, values)) as cursor:
                rows = cursor.fetchmany(most + 1)
        except (sqlite3.Error, MemoryError, UnicodeDecodeError) as error:
            raise CorruptIndexError(f"{self.path} cannot be read: {error}") from error
        if len(rows) > most:
            raise CorruptIndexError(f"{self.path} has rows that cannot be; rebuild the index.")
        return rows


class StoredDocuments(Documents):
    """Stored documents of a segment, opened read-only from the file of `write_documents`.

    The file is not trusted; see `_Database`. A document number read from it is below `n_docs`.

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
        super().__init__(n_docs, updates, insertion_numbers)
        self._path, self._database = path, _Database(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredDocuments, (
            self._path, self._n_docs, self.updates, self.insertion_numbers,
        )  # fmt: skip

    def linked(self, path: Path) -> bool:
        """Hard-link the file of these documents into another part; return False if impossible."""
        beside = path.parents[1] == self._path.parents[1]
        return beside and not self.updates and linked(self._path, path)

    @property
    def keeps_texts(self) -> bool:
        """Whether texts are stored."""
        return self._database.keeps_texts

    def id(self, number: int) -> str:
        """Return the id of a document."""
        return self._decoded(self._one("id", number), number)

    def text(self, number: int) -> str:
        """Return the text of a document; empty if texts are not stored."""
        return self._decoded(self._one("text", number), number) if self.keeps_texts else ""

    def _metadata_of(self, number: int) -> Any:
        return self._one("metadata", number)

    def _metadata_within(self, first: int, stop: int) -> list[Any]:
        return [row[0] for row in self._database.within("metadata", first, stop)]

    def _loaded(self, stored: Any, number: int) -> dict[str, Any]:
        try:
            return loaded(stored)
        except (TypeError, ValueError, RecursionError) as error:
            place = self.updates.path if self.updates.of([number]) else self._path
            raise CorruptIndexError(
                f"{place}: the metadata of document number {number} cannot be read: {error}."
            ) from error

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of those ids that exist."""
        found: dict[str, int] = {}
        for id, number in self._database.among("id, number", "id", list(map(_encoded, ids))):
            if type(number) is not int or not 0 <= number < self._n_docs:
                raise CorruptIndexError(
                    f"{self._path} gives a document the number {number!r}, but its {self._n_docs} "
                    "documents are numbered from 0; rebuild the index."
                )
            found[self._decoded(id, number)] = number
        return found

    def all_ids(self) -> Iterator[str]:
        """Yield the id of every document, in order of number."""
        for number, row in enumerate(self._all("id")):
            yield self._decoded(row[0], number)

    def all_documents(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield id, text and metadata (JSON, checked) of every document, in order of number."""
        updated = self.updates.all()
        for number, (id, text, metadata) in enumerate(self._all(f"id, {self._text}, metadata")):
            stored = updated.get(number, metadata)
            facts = stored if self._loaded(stored, number) else None
            yield self._decoded(id, number), self._decoded(text, number), facts

    def records(self, numbers: Sequence[int]) -> list[Document]:
        """Return some documents, in the given order."""
        found: dict[int, Document] = {}
        updated, how = self.updates.of(numbers), reading.get()
        text_column = self._text if how.texts else "''"
        columns = f"number, id, {text_column}, metadata"
        for first in range(0, len(numbers), _FEW):
            some = list(map(int, numbers[first : first + _FEW]))
            for number, id, text, metadata in self._database.among(columns, "number", some):
                shown, stored = self._decoded(text, number), updated.get(number, metadata)
                facts = self._loaded(stored, number)
                how.count(len(shown) + len(stored or ""))
                found[number] = Document(self._decoded(id, number), shown, facts)
        if missing := [number for number in numbers if number not in found]:
            raise CorruptIndexError(f"{self._path} has no document number {missing[0]}.")
        return [found[number] for number in numbers]

    @property
    def _text(self) -> str:
        """The column of texts."""
        return "text" if self.keeps_texts else "''"

    def _all(self, columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of all documents."""
        for first in range(0, len(self), _FEW):
            stop = min(first + _FEW, len(self))
            rows = self._database.within(columns, first, stop)
            if len(rows) < stop - first:
                raise CorruptIndexError(
                    f"{self._path} has {len(rows)} of the documents number {first} to {stop - 1}."
                )
            yield from rows

    def _one(self, column: str, number: int) -> Any:
        """Return a value of a document."""
        rows = self._database.within(column, int(number), int(number) + 1)
        if not rows or not isinstance(rows[0][0], str | bytes | None):
            raise CorruptIndexError(f"{self._path} has no document number {number}.")
        return rows[0][0]

    def _decoded(self, stored: Any, number: int) -> str:
        try:
            if isinstance(stored, str):
                return stored
            if isinstance(stored, bytes):
                return stored.decode("utf-8", "surrogatepass")
            raise TypeError("there is no text")
        except (TypeError, ValueError) as error:
            raise CorruptIndexError(
                f"{self._path}: document number {number} cannot be read: {error}."
            ) from error


def write_documents(documents: WrittenDocuments, path: Path, n_docs: int = 0) -> None:
    """Write documents, of which there are about `n_docs`, to a new file for `StoredDocuments`.

    OSError if it cannot be written; CorruptIndexError if two documents have the same id (new
    documents were checked before, stored ones were not).
    """
    if isinstance(documents, StoredDocuments) and documents.linked(path):
        return
    try:
        _write_documents(documents, path, n_docs)
    except sqlite3.IntegrityError as error:
        raise CorruptIndexError(
            f"documents that are to be written to {path} have the same id; `softcosine admin "
            "check` tells which. Rebuild the index."
        ) from error
    except sqlite3.Error as error:
        full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
        number = errno.ENOSPC if full else errno.EIO
        raise OSError(number, f"cannot be written: {error}", str(path)) from error


def _write_documents(documents: WrittenDocuments, path: Path, n_docs: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # The file is written once, in a temporary folder, and synced as a whole.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        if n_docs >= _MANY:
            connection.execute(f"PRAGMA page_size = {_LARGE_PAGE}")
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
