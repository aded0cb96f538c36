"""The documents' ids, texts and metadata in a read-only SQLite file."""

from __future__ import annotations

import errno
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from softcosine.errors import CorruptIndexError
from softcosine.index.documents import (
    Document,
    Documents,
    block_loaded,
    loaded,
    unknown_document,
)
from softcosine.index.metadata_updates import MetadataUpdates

__all__ = ["StoredDocuments", "write_documents"]

# So many documents are read at once where all are.
_BLOCK = 1024
_FEW = 64  # where their texts, which may be long, are read too
# SQLite takes at least so many values in a statement.
_ASKED_AT_ONCE = 500
# Smaller files are read whole: an open one keeps a descriptor, of which a process has a thousand.
_OPENED_BYTES = 1 << 20


class StoredDocuments:
    """Documents in the SQLite file that `write_documents` wrote, opened read-only.

    Parameters
    ----------
    path : Path
    n_docs : int
    updates : MetadataUpdates, optional
        What their metadata have become since.
    """

    def __init__(self, path: Path, n_docs: int, updates: MetadataUpdates | None = None) -> None:
        self._n_docs = n_docs
        self._path = path
        self.updates = MetadataUpdates.none() if updates is None else updates
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
        return StoredDocuments, (self._path, self._n_docs, self.updates)

    def with_updates(self, updates: MetadataUpdates) -> StoredDocuments:
        """Return the documents with other updates of their metadata; these keep theirs."""
        return StoredDocuments(self._path, self._n_docs, updates)

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
        updated = self.updates.of([number])
        if number in updated:
            return self._loaded(updated[number], number)
        row = self._row("SELECT metadata FROM documents WHERE number = ?", number)
        return self._loaded(row[0], number)

    def _loaded(self, stored: Any, number: int) -> dict[str, Any]:
        try:
            return loaded(stored)
        except (TypeError, ValueError) as error:
            place = self.updates.path if self.updates.of([number]) else self._path
            raise CorruptIndexError(
                f"{place}: the metadata of document number {number} cannot be read: {error}."
            ) from error

    def all_metadata(self) -> Iterator[dict[str, Any]]:
        """Give the metadata of every document, in order of number."""
        statement = "SELECT metadata FROM documents WHERE number BETWEEN ? AND ? ORDER BY number"
        for first in range(0, len(self), _BLOCK):
            last = min(first + _BLOCK, len(self))
            rows = self._select(statement, first, last - 1)
            block = None
            if len(rows) == last - first:
                stored = [row[0] for row in rows]
                for number, own in self.updates.within(first, last).items():
                    stored[number - first] = own
                block = block_loaded(stored)
            # One by one names the document that cannot be read.
            yield from block or (self.metadata(number) for number in range(first, last))

    def number(self, id: str) -> int:
        """Return the number of a document."""
        if isinstance(id, str):
            rows = self._select("SELECT number FROM documents WHERE id = ?", _encoded(id))
            if rows:
                return int(rows[0][0])
        raise unknown_document(id)

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
        texts, updated = ["text"] if self.keeps_texts else [], self.updates.all()
        for number, (id, metadata, *text) in enumerate(self._rows("id", "metadata", *texts)):
            shown = self._decoded(text[0], number) if text else ""
            facts = self._loaded(updated.get(number, metadata), number)
            yield self._decoded(id, number), shown, facts

    def records(self, numbers: Sequence[int]) -> list[Document]:
        """Return some documents, in the order given."""
        texts = ", text" if self.keeps_texts else ", ''"
        found: dict[int, Document] = {}
        updated = self.updates.of(numbers)
        for first in range(0, len(numbers), _ASKED_AT_ONCE):
            asked = [int(number) for number in numbers[first : first + _ASKED_AT_ONCE]]
            places = ", ".join("?" * len(asked))
            statement = f"SELECT number, id, metadata{texts} FROM documents WHERE number IN "
            for number, id, metadata, text in self._select(f"{statement}({places})", *asked):
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
