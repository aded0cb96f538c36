"""Set of the ids read so far and their places, in constant memory."""

from __future__ import annotations

import errno
import sqlite3
from typing import Self

_CACHE = 32  # megabytes that stay in memory


class SeenIds:
    """Ids and the places where they were read, in a cache and a temporary file.

    A context manager; the file is deleted at the end, also if the process is killed.
    """

    def __init__(self) -> None:
        # A database without a name is a temporary file, written only if SQLite's cache is full.
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for statement in (
            f"PRAGMA cache_size = {-1000 * _CACHE}",
            "PRAGMA journal_mode = OFF",
            "PRAGMA synchronous = OFF",
            "CREATE TABLE paths (number INTEGER PRIMARY KEY, path BLOB UNIQUE)",
            "CREATE TABLE ids (id BLOB PRIMARY KEY, path INTEGER, line INTEGER) WITHOUT ROWID",
            "BEGIN",
        ):
            self._connection.execute(statement)
        self._path, self._number = "", -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def add(self, id: str, path: str, line: int | None) -> str | None:
        """Add an id; return the place of an earlier equal id, such as ``a.csv, line 3``, or None.

        Raises
        ------
        OSError
            If the disk is full.
        """
        try:
            return self._add(_bytes(id), path, line)
        except sqlite3.OperationalError as error:
            raise OSError(
                errno.ENOSPC, f"cannot write the ids to a temporary file: {error}", "ids"
            ) from error

    def _add(self, id: bytes, path: str, line: int | None) -> str | None:
        if path != self._path:
            self._path, self._number = path, self._number_of(_bytes(path))
        inserted = self._connection.execute(
            "INSERT OR IGNORE INTO ids VALUES (?, ?, ?)", (id, self._number, line)
        )
        if inserted.rowcount:
            return None
        ((before, number),) = self._connection.execute(
            "SELECT paths.path, line FROM ids JOIN paths ON ids.path = number WHERE id = ?", (id,)
        )
        name = before.decode("utf-8", "surrogatepass")
        return name if number is None else f"{name}, line {number}"

    def _number_of(self, path: bytes) -> int:
        self._connection.execute("INSERT OR IGNORE INTO paths (path) VALUES (?)", (path,))
        ((number,),) = self._connection.execute("SELECT number FROM paths WHERE path = ?", (path,))
        return int(number)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
