"""One writer at a time, by a lock that dies with its process."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import socket
import sys
import time
import weakref
from pathlib import Path

from softcosine.errors import IndexLockedError, InvalidInputError

__all__ = ["WRITER_TIMEOUT", "WriteLock", "checked_timeout"]

WRITER_TIMEOUT = 10.0  # seconds that a writer waits for another one, if not told otherwise

_FILE = "write.lock"
_PAUSE = 0.02  # seconds between two trials
# Windows lets nobody read what is locked, so a place behind everything written is.
_LOCKED_BYTE = 1 << 30
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_LONGEST = 1000  # bytes of the file that are read
_BUSY = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


class WriteLock:
    """The lock of one folder, held until `release` or the end of the process.

    It lies on an open file (``flock``, on Windows ``msvcrt.locking``), so the system takes it back
    however the process ends. The file stays; it names the last holder. A process that is forked
    off does not hold it.

    Parameters
    ----------
    folder : Path
        Of the index.
    timeout : float or None
        Seconds to wait while one and the same writer holds it; None waits for ever. Where writers
        take turns, the seconds count anew with each, so that a long queue is served.

    Raises
    ------
    IndexLockedError
        If another writer, of this process or another, holds it still.
    PermissionError
        If nothing may be written in the folder.
    CorruptIndexError
        If the lock's file is a link, or no regular file: it is written to.
    """

    def __init__(self, folder: Path, *, timeout: float | None = 0.0) -> None:
        wait = math.inf if timeout is None else checked_timeout(timeout)
        end, holder = math.inf, None
        self._descriptor: int | None = None
        while (descriptor := _locked(folder / _FILE)) is None:
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

    def release(self) -> None:
        """Let another writer in. Nothing happens if it is released already."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            _unlock(descriptor)

    def __del__(self) -> None:
        if getattr(self, "_descriptor", None) is not None:
            self.release()

    def _forget(self) -> None:
        """Close a descriptor that a forked process inherited; its parent keeps the lock."""
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
    """Return an open, locked descriptor of the file; None if another one has it."""
    # Loads NumPy, which ``softcosine --help`` does without.
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
    try:
        # The folder may have been replaced while this waited, and the file with it.
        if _lock(descriptor) and _is_open_as(file, descriptor):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> bool:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        with contextlib.suppress(OSError):
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.close(descriptor)

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise
        return True

    def _unlock(descriptor: int) -> None:
        # Closing alone would leave it to a process forked off by other means than os.fork.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _is_open_as(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(file.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _sign(descriptor: int) -> None:
    """Write who holds the lock, for the message to others; it is worth no failure.

    A file that has another name as well (a hard link) is left as it is.
    """
    if os.fstat(descriptor).st_nlink > 1:
        return
    own = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time_ns()}
    with contextlib.suppress(OSError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{json.dumps(own)}\n".encode())


def _holder(folder: Path) -> bytes:
    """Return what the last holder wrote, different for each; empty if that cannot be read."""
    try:
        with (folder / _FILE).open("rb") as file:
            return file.read(_LONGEST)
    except OSError:
        return b""


def _held(folder: Path, timeout: float | None) -> str:
    """Say who holds the lock of a folder, as far as the file tells."""
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


def checked_timeout(timeout: object) -> float:
    """Return seconds to wait; InvalidInputError if they are no number of 0 or more."""
    if (
        isinstance(timeout, bool)
        or not isinstance(timeout, int | float)
        or not timeout >= 0  # NaN is refused too
    ):
        raise InvalidInputError(
            f"timeout is {timeout!r}; pass seconds to wait (0 or more), or None to wait for ever."
        )
    return float(timeout)
