"""Locks on open files (``flock``; on Windows ``msvcrt.locking``).

The system releases them however a process ends.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import sys
import time
from pathlib import Path
from typing import Self

_PAUSE = 0.02  # seconds between two attempts
# On Windows a locked byte cannot be read, so the lock is on a byte beyond the end of the file.
_LOCKED_BYTE = 1 << 30
_BUSY = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


class FileLock:
    """A lock of this process on a file, held until `release` or the end of the process.

    Parameters
    ----------
    file : Path
        Created if it does not exist; it is not deleted. Nothing is written to it.
    shared : bool
        Whether others may hold a shared lock too (except on Windows).
    timeout : float, optional
        Seconds to wait; for ever by default.

    Raises
    ------
    TimeoutError
        If another lock is still held.
    OSError
        If the file cannot be opened, or its file system has no locks.
    """

    __slots__ = ("_descriptor",)

    def __init__(self, file: Path, *, shared: bool = False, timeout: float | None = None) -> None:
        self._descriptor: int | None = None
        end = math.inf if timeout is None else time.monotonic() + timeout
        while (descriptor := _locked(file, shared)) is None:
            if time.monotonic() >= end:
                raise TimeoutError(f"{file} is locked by another process.")
            time.sleep(_PAUSE)
        self._descriptor = descriptor

    def release(self) -> None:
        """Release the lock; does nothing if it is already released."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            unlock_descriptor(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()

    def __del__(self) -> None:
        # Only closed: a process forked meanwhile keeps its part of the lock.
        if getattr(self, "_descriptor", None) is not None:
            os.close(self._descriptor)  # type: ignore[arg-type]


def _locked(file: Path, shared: bool) -> int | None:
    """Return an open, locked descriptor of the file; None if another process has the lock."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o666)
    except OSError as error:
        if error.errno not in _READ_ONLY:
            raise
        descriptor = os.open(file, os.O_RDONLY | _NO_LINK)
    return descriptor if locked_or_closed(file, descriptor, shared=shared) else None


def locked_or_closed(file: Path, descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file; where it cannot be locked, close it and return False.

    That is, if another process has the lock, or the file was deleted or replaced meanwhile.
    """
    try:
        if _lock_descriptor(descriptor, shared=shared) and _is_open_as(file, descriptor):
            return True
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return False


if sys.platform == "win32":
    import msvcrt

    def _lock_descriptor(descriptor: int, *, shared: bool = False) -> bool:
        """Lock an open file; return False if another process has the lock."""
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise
        return True

    def unlock_descriptor(descriptor: int) -> None:
        """Unlock and close a file."""
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        with contextlib.suppress(OSError):
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.close(descriptor)

else:
    import fcntl

    def _lock_descriptor(descriptor: int, *, shared: bool = False) -> bool:
        """Lock an open file; return False if another process has the lock."""
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise
        return True

    def unlock_descriptor(descriptor: int) -> None:
        """Unlock and close a file."""
        # Without it, a process forked by other means than os.fork would keep the lock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _is_open_as(file: Path, descriptor: int) -> bool:
    """Whether a descriptor is of the file that has this name now."""
    try:
        return os.path.samestat(file.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
