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
            "CREATE TABLE ids (id BLOB PRIMARY KEY, place BLOB) WITHOUT ROWID",
            "BEGIN",
        ):
            self._connection.execute(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def add(self, id: str, place: str) -> str | None:
        """Add an id; return the place of an earlier equal id, or None.

        Raises
        ------
        OSError
            If the disk is full.
        """
        key = id.encode("utf-8", "surrogatepass")
        row = (key, place.encode("utf-8", "surrogatepass"))
        try:
            if self._connection.execute("INSERT OR IGNORE INTO ids VALUES (?, ?)", row).rowcount:
                return None
            before = self._connection.execute("SELECT place FROM ids WHERE id = ?", (key,))
        except sqlite3.OperationalError as error:
            raise OSError(
                errno.ENOSPC, f"cannot write the ids to a temporary file: {error}", "ids"
            ) from error
        return str(before.fetchone()[0], "utf-8", "surrogatepass")
