"""Cache of vectors on disk, by model name and text."""

from __future__ import annotations

import errno
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import IndexFormatError, InvalidInputError, MalformedFileError
from softcosine.storage import checked_path

_APPLICATION = 0x736F6674  # "soft"
_VERSION = 1
_LONGEST_KEY = 64
_ASKED = 500  # terms per SQL query; SQLite allows at least 999
_PATIENCE = 60.0  # seconds to wait for another process to finish a batch

_SCHEMA = """
CREATE TABLE models (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL
);
CREATE TABLE vectors (
    model INTEGER NOT NULL, term BLOB NOT NULL, vector BLOB NOT NULL, checksum INTEGER NOT NULL,
    UNIQUE (model, term)
);
"""


class VectorCache:
    """A cache file of vectors, by model and text.

    It is an SQLite database: batches are written atomically, and several processes may read and
    write at once. If two write the same text, the first wins. A vector with a wrong checksum counts
    as missing, and is replaced by the next write.

    Parameters
    ----------
    path : path
        Created on the first write; its folder must exist.
    model : str
        Name of the model; different models share nothing.
    """

    __slots__ = ("_damaged", "_model", "_path")

    def __init__(self, path: str | PathLike[str], model: str) -> None:
        self._path = checked_path(path)
        self._model = model
        self._damaged: set[bytes] = set()
        if not self._path.parent.is_dir():
            raise FileNotFoundError(
                f"the folder {self._path.parent} does not exist; create it for the cache first."
            )
        if self._path.exists():
            with self._open() as connection:
                self._dimensions(connection)

    def get(self, terms: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the cached vectors by term.

        Raises
        ------
        MalformedFileError
            If the file is not a cache, or is damaged.
        """
        found: dict[str, NDArray[np.float32]] = {}
        if not self._path.exists():
            return found
        terms_by_key = {_key(term): term for term in terms}
        keys = list(terms_by_key)
        with self._open() as connection:
            model, dimensions = self._dimensions(connection)
            for start in range(0, len(keys), _ASKED):
                asked = keys[start : start + _ASKED]
                rows = connection.execute(
                    "SELECT term, vector, checksum FROM vectors WHERE model = ? AND term IN "
                    f"({','.join('?' * len(asked))})",
                    (model, *asked),
                )
                for key, vector, checksum in rows:
                    if checksum == zlib.crc32(vector, zlib.crc32(key)) and (
                        len(vector) == 4 * dimensions
                    ):
                        found[terms_by_key[key]] = np.frombuffer(vector, "<f4")
                    else:
                        self._damaged.add(key)
        return found

    def put(self, terms: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Add the vectors of some terms; they are on disk when this returns.

        Raises
        ------
        InvalidInputError
            If cached vectors of the model have another length.
        MalformedFileError
            If the file is no cache, or damaged.
        """
        rows = []
        for term, vector in zip(terms, vectors, strict=True):
            key, content = _key(term), vector.astype("<f4").tobytes()
            rows.append((key, content, zlib.crc32(content, zlib.crc32(key))))
        with self._open() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "INSERT OR IGNORE INTO models (name, dimensions) VALUES (?, ?)",
                (self._model, vectors.shape[1]),
            )
            model, dimensions = self._dimensions(connection)
            if dimensions != vectors.shape[1]:
                raise InvalidInputError(
                    f"the model {self._model!r} gives vectors of {vectors.shape[1]} dimensions, "
                    f"but those in {self._path} have {dimensions}; give the model another name, "
                    "or the cache another file."
                )
            damaged = [(model, key) for key, _, _ in rows if key in self._damaged]
            connection.executemany("DELETE FROM vectors WHERE model = ? AND term = ?", damaged)
            connection.executemany(
                "INSERT OR IGNORE INTO vectors (model, term, vector, checksum) VALUES (?, ?, ?, ?)",
                [(model, *row) for row in rows],
            )
        self._damaged.difference_update(key for key, _, _ in rows)

    def _dimensions(self, connection: sqlite3.Connection) -> tuple[int, int]:
        """Return number and dimensions of the model; -1 and 0 if it has no vectors."""
        row = connection.execute(
            "SELECT id, dimensions FROM models WHERE name = ?", (self._model,)
        ).fetchone()
        return (-1, 0) if row is None else (row[0], row[1])

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for one batch; threads and forks must not share connections."""
        try:
            with closing(
                sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
            ) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                self._prepare(connection)
                yield connection
        except sqlite3.OperationalError as error:  # locked too long, disk full, not writable
            code = errno.ENOSPC if "is full" in str(error) else errno.EIO
            raise OSError(code, f"the cache cannot be used: {error}", str(self._path)) from error
        except sqlite3.DatabaseError as error:
            raise MalformedFileError(
                self._path,
                f"not a readable cache of vectors ({error}); choose another name, or delete the "
                "file if it is a damaged cache.",
            ) from error

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Create the tables of a new file; reject a file of another program or version."""
        if self._identity(connection) == (0, 0):
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
                if self._identity(connection) == (0, 0) and tables == 0:
                    for statement in _SCHEMA.split(";"):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {_VERSION}")
        application, version = self._identity(connection)
        if application != _APPLICATION:
            raise MalformedFileError(
                self._path, "the file is a database of another program; choose another name."
            )
        if version != _VERSION:
            raise IndexFormatError(
                f"{self._path} has format version {version}; this softcosine reads {_VERSION}. "
                "Delete the file, and its terms are encoded anew."
            )

    @staticmethod
    def _identity(connection: sqlite3.Connection) -> tuple[int, int]:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        return application, connection.execute("PRAGMA user_version").fetchone()[0]


def _key(text: str) -> bytes:
    """Return a text itself, or the digest of a long one."""
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= _LONGEST_KEY:
        return encoded
    return b"\xff" + blake2b(encoded, digest_size=32).digest()  # no UTF-8 begins with this byte
