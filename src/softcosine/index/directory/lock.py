"""The write lock: one writer at a time; the lock is released when its process ends."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import socket
import time
import weakref
from pathlib import Path

from softcosine._file_lock import FileLock, locked_or_closed
from softcosine._validation import check_number
from softcosine.errors import IndexLockedError

WRITER_TIMEOUT = 10.0  # default of the seconds that a writer waits for another one

LOCK_FILE = "write.lock"
FORKED = (
    "this writer belongs to the process that this one was forked from; open another one when that "
    "one is closed."
)
_PAUSE = 0.02  # seconds between two attempts
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_LONGEST = 1000  # maximum number of bytes read from the file


class WriteLock(FileLock):
    """The lock of one folder, held until `release` or the end of the process.

    It is a lock on an open file (``flock``, on Windows ``msvcrt.locking``), which the system
    releases however the process ends. The file is not deleted; it names the last holder. A forked
    child does not hold the lock.

    Parameters
    ----------
    folder : Path
        Of the index.
    timeout : float or None
        Seconds to wait while the same writer holds the lock; None waits forever. The wait restarts
        when another writer gets the lock, so that a long queue is served.

    Raises
    ------
    IndexLockedError
        If another writer, of this process or another, still holds it.
    PermissionError
        If the folder is read-only.
    CorruptIndexError
        If the lock file, which is written to, is a link or not a regular file.
    """

    def __init__(self, folder: Path, *, timeout: float | None = 0.0) -> None:
        check_number("timeout", timeout, least=0, optional=True)
        wait = math.inf if timeout is None else timeout
        end, holder = math.inf, None
        self._descriptor: int | None = None
        while (descriptor := _locked(folder / LOCK_FILE)) is None:
            if (now := _holder(folder)) != holder:
                end, holder = time.monotonic() + wait, now
            if time.monotonic() >= end:
                raise IndexLockedError(_held(folder, timeout))
            time.sleep(_PAUSE)
        self._descriptor = descriptor
        _sign(descriptor)
        _LOCKS.add(self)

    @property
    def held(self) -> bool:
        """Whether this process holds the lock."""
        return self._descriptor is not None

    def _forget(self) -> None:
        """Close a descriptor inherited by a forked process; the parent keeps the lock."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


_LOCKS: weakref.WeakSet[WriteLock] = weakref.WeakSet()


def _forget_all() -> None:
    for lock in list(_LOCKS):
        lock._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _locked(file: Path) -> int | None:
    """Return an open, locked descriptor of the file; None if another process has the lock."""
    # This import loads NumPy, which ``softcosine --help`` does not need.
    from softcosine.storage import file_size

    with contextlib.suppress(FileNotFoundError):
        file_size(file)
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o666)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        raise PermissionError(
            error.errno,
            "nothing may be written here, so the index can be searched but not changed; copy it "
            "to a folder of your own, or ask for the right to write",
            str(file.parent),
        ) from error
    return descriptor if locked_or_closed(file, descriptor) else None


def _sign(descriptor: int) -> None:
    """Write the holder of the lock into the file, for messages; failures are ignored.

    A file with another hard link is not changed.
    """
    if os.fstat(descriptor).st_nlink > 1:
        return
    own = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time_ns()}
    with contextlib.suppress(OSError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{json.dumps(own)}\n".encode())


def _holder(folder: Path) -> bytes:
    """Return the text of the last holder, different for each; empty if unreadable."""
    try:
        with (folder / LOCK_FILE).open("rb") as file:
            return file.read(_LONGEST)
    except OSError:
        return b""


def _held(folder: Path, timeout: float | None) -> str:
    """Return a message on the holder of the lock, if the file names it."""
    who = "another writer"
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        holder = json.loads(_holder(folder))
        who = f"a writer in process {int(holder['pid'])} on {holder['host']}"
        if holder["pid"] == os.getpid() and holder["host"] == socket.gethostname():
            who = "another writer of this same process"
    waited = f" still after {timeout:g} seconds" if timeout else ""
    return (
        f"{who} has the index {folder} open{waited}, and there can be one at a time; close it, or "
        "wait for it with timeout=."
    )
