"""`StateStore`: what the processes of a server remember together, in a small SQLite file."""

from __future__ import annotations

import errno
import json
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from softcosine._file_lock import FileLock
from softcosine.errors import MalformedFileError

_FILE = "state.sqlite3"
_KEPT = 24 * 3600.0  # seconds that ended tasks are remembered
_MOST_BYTES = 256 << 20  # of the results of ended tasks; beyond, the oldest are forgotten
_SCHEMA = """
create table if not exists tasks ( -- record is last, so that the others are read without it
    id text primary key, ended integer, cancelled integer, since real, record blob
);
create table if not exists sessions (token text primary key, key text, until real);
"""


# What errors of SQLite are to the system; others are of a file or record of another kind.
_ERRNO = {
    sqlite3.SQLITE_FULL: errno.ENOSPC, sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_CANTOPEN: errno.EIO, sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_BUSY: errno.ETIMEDOUT, sqlite3.SQLITE_NOMEM: errno.ENOMEM,
}  # fmt: skip
_LEAST_FREE = 1 << 20  # bytes of a disk that is not full


class StateStore:
    """Tasks and sessions. The file is made at its first use.

    A process that starts tasks holds a lock, so that the others see when it is gone.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = secrets.token_hex(8)
        self._lock: FileLock | None = None
        self._locking = threading.Lock()

    @contextmanager
    def _opened(self, begin: str = "begin immediate") -> Iterator[sqlite3.Connection]:
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / _FILE
        try:
            with closing(sqlite3.connect(file, timeout=10.0, isolation_level=None)) as connection:
                connection.execute("pragma synchronous = normal")
                connection.executescript(_SCHEMA)
                connection.execute(begin)
                yield connection
                connection.execute("commit")
        except (sqlite3.Error, TypeError, ValueError, RecursionError) as error:
            number = _ERRNO.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
            if number is None:
                raise MalformedFileError(
                    file, f"it is no state of a server ({error}); delete it: it holds no documents."
                ) from error
            if number == errno.EIO and shutil.disk_usage(self._folder).free < _LEAST_FREE:
                number = errno.ENOSPC
            raise OSError(number, f"{error}", str(file)) from error

    def put_task(self, id: str, record: dict[str, Any], *, ended: bool) -> bool:
        """Store the state of a task of this process; return whether to cancel it."""
        now = time.time()
        with self._locking:
            if self._lock is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._lock = FileLock(self._lock_file(self._process))
        stored = _bytes_of({**record, "process": self._process})
        with self._opened() as connection:
            connection.execute("delete from tasks where ended and since < ?", (now - _KEPT,))
            connection.execute(
                "insert into tasks (id, ended, cancelled, since, record) values (?, ?, 0, ?, ?)"
                " on conflict (id) do update set"
                " record = excluded.record, ended = excluded.ended, since = excluded.since",
                (id, ended, now, stored),
            )
            row = connection.execute("select cancelled from tasks where id = ?", (id,)).fetchone()
            if ended:
                _forget_oldest(connection, but=id)
        return bool(row[0])

    def task(self, id: str) -> dict[str, Any] | None:
        """Return the state of a task; it has failed if its process ended before it."""
        with self._opened("begin") as connection:
            row = connection.execute(
                "select record, ended from tasks where id = ?", (id,)
            ).fetchone()
            if row is None:
                return None
            record: dict[str, Any] = dict(json.loads(row[0]))
        if not row[1] and not self._runs(record.get("process", "")):
            self._fail([(id, record)])
            return self.task(id)  # it may have ended just before its process
        record.pop("process", None)
        return record

    def _fail(self, tasks: list[tuple[str, dict[str, Any]]]) -> None:
        """Store that tasks have failed, unless they have ended by now."""
        with self._opened() as connection:
            for id, record in tasks:
                stored = _bytes_of(record | {"state": "failed", "step": "the server ended"})
                connection.execute(
                    "update tasks set record = ?, ended = 1 where id = ? and not ended",
                    (stored, id),
                )

    def _runs(self, process: str) -> bool:
        """Return whether a process of a server still runs; delete the file of one that does not."""
        file = self._lock_file(process)
        if process == self._process:
            return True
        if not process or not file.exists():
            return False
        try:
            FileLock(file, shared=True, timeout=0.0).release()
        except TimeoutError:
            return True
        file.unlink(missing_ok=True)
        return False

    def _lock_file(self, process: str) -> Path:
        return self._folder / f"process-{process}"

    def cancel_task(self, id: str) -> None:
        """Mark a task as cancelled; it ends at its next step."""
        with self._opened() as connection:
            connection.execute("update tasks set cancelled = 1 where id = ?", (id,))

    def put_session(self, token: str, key: str, until: float) -> None:
        """Store the hash of a session's token with that of its key, and delete old sessions."""
        with self._opened() as connection:
            connection.execute("delete from sessions where until < ?", (time.time(),))
            connection.execute("insert into sessions values (?, ?, ?)", (token, key, until))

    def session(self, token: str) -> str | None:
        """Return the hash of the key of a session."""
        with self._opened("begin") as connection:
            row = connection.execute(
                "select key from sessions where token = ? and until > ?", (token, time.time())
            ).fetchone()
        return None if row is None else str(row[0])

    def end_session(self, token: str) -> None:
        """Delete a session."""
        with self._opened() as connection:
            connection.execute("delete from sessions where token = ?", (token,))

    def start(self) -> None:
        """Forget what an earlier server left unfinished; before the processes start."""
        if not (self._folder / _FILE).exists():
            return
        with self._opened() as connection:
            left = connection.execute("select id, record from tasks where not ended").fetchall()
            records = [(id, dict(json.loads(stored))) for id, stored in left]
        self._fail([one for one in records if not self._runs(one[1].get("process", ""))])
        for file in self._folder.glob("process-*"):
            self._runs(file.name.removeprefix("process-"))

    def close(self) -> None:
        """Release the lock of this process, whose tasks have ended."""
        with self._locking:
            if self._lock is not None:
                self._lock.release()
                self._lock_file(self._process).unlink(missing_ok=True)
                self._lock = None


def _bytes_of(record: dict[str, Any]) -> bytes:
    """Return the JSON of a task, as bytes: SQLite reads a whole text to know its length."""
    return json.dumps(record).encode()


def _forget_oldest(connection: sqlite3.Connection, *, but: str) -> None:
    """Delete the oldest ended tasks beyond the limit of space, except the task `but`."""
    connection.execute(
        "delete from tasks where id in (select id from (select id, sum(length(record))"
        " over (order by id != ?, since desc rows unbounded preceding) as total"
        " from tasks where ended) where total > ? and id != ?)",
        (but, _MOST_BYTES, but),
    )
