"""Atomic replacement of a folder by a new one."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

from softcosine.errors import AlreadyExistsError
from softcosine.storage.disk import checked_path, naming_a_full_disk, naming_the_target, sync
from softcosine.storage.manifest import is_stored, named

_OLD = "old"
_FOLDER_ONLY = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
# Errors of renaming onto an existing target, by system and by type of the target.
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


@contextlib.contextmanager
def replacing(path: str | Path, kind: str, *, overwrite: bool) -> Iterator[Path]:
    """Yield a new folder, which replaces `path` unless an exception is raised.

    Raises
    ------
    AlreadyExistsError
        If `path` exists and may not be replaced: `overwrite` is false, or it is not a stored
        object of the same kind.
    FileNotFoundError
        If its parent does not exist.
    OSError
        If it cannot be written, for example on a full disk.
    """
    check_target(path, kind, overwrite=overwrite)
    # A link stays and then leads to the new folder.
    target = Path(path).resolve()
    _sweep(target)
    with _beside(target) as work:
        with naming_a_full_disk(target):
            yield work
        _check_free(target, kind, overwrite)  # again, because writing may take a while
        _rename_over(work, target, overwrite)


def check_target(path: str | Path, kind: str, *, overwrite: bool) -> None:
    """Raise the errors of `replacing` that are known before any work."""
    target = checked_path(path)
    _check_free(target, kind, overwrite)
    parent = target.resolve().parent
    if not parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; create it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "nothing may be written in this folder", str(parent))


def _check_free(target: Path, kind: str, overwrite: bool) -> None:
    if not target.exists() and not target.is_symlink():
        return
    if not is_stored(target, kind):
        told = f"{target} exists and is no softcosine {named(kind)}, so it is not overwritten"
        raise AlreadyExistsError(f"{told}; choose another name.")
    if not overwrite:
        raise AlreadyExistsError(
            f"{target} exists already; choose another name, or pass overwrite=True."
        )
    here = Path.cwd()
    if target.resolve() in (here, *here.parents):
        raise AlreadyExistsError(
            f"{target} is the folder that you are in, which cannot be replaced; leave it first."
        )


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Yield a new folder beside the target; it is removed afterwards unless renamed."""
    work, lock = _new_folder(target)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _new_folder(target: Path) -> tuple[Path, int | None]:
    """Create a folder and lock it against `_sweep`, where the system can."""
    while True:
        work = target.parent / f".{target.name}.{uuid.uuid4().hex[:12]}.tmp"
        with naming_the_target(target, work):
            work.mkdir()
        try:
            lock = _lock(work)
        except (FileNotFoundError, BlockingIOError):
            continue  # removed before it was locked
        except OSError:
            return work, None
        if work.is_dir():
            return work, lock
        os.close(lock)


def _lock(folder: Path) -> int:
    """Lock a folder until the process ends or closes the descriptor; OSError if impossible."""
    # Windows cannot open folders; elsewhere only a folder is opened, never a link.
    descriptor = os.open(folder, os.O_RDONLY | _FOLDER_ONLY)
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _sweep(target: Path) -> None:
    """Remove folders that killed writers of this target left: those that can be locked."""
    left = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{12}}\.tmp")
    with contextlib.suppress(OSError):
        for path in [path for path in target.parent.iterdir() if left.fullmatch(path.name)]:
            with contextlib.suppress(OSError):
                lock = _lock(path)
                # An old object that was moved aside may be the only copy.
                if not (path / _OLD).exists():
                    shutil.rmtree(path, ignore_errors=True)
                os.close(lock)


def _rename_over(work: Path, target: Path, overwrite: bool) -> None:
    try:
        if not overwrite or not target.exists():
            work.rename(target)
        elif not _exchange(work, target):
            # A folder cannot be renamed over a full one, so the old one is moved aside first. For
            # that moment readers find nothing; after a crash the old one has its temporary name.
            with _beside(target) as aside:
                target.rename(aside / _OLD)
                try:
                    work.rename(target)
                except BaseException:  # includes interrupts: the old object must not be removed
                    (aside / _OLD).rename(target)
                    raise
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        if overwrite and target.is_dir():
            _rename_over(work, target, overwrite)
            return
        raise AlreadyExistsError(f"{target} was written by another process meanwhile.") from error
    sync(target.parent)


def _exchange(left: Path, right: Path) -> bool:
    """Swap two folders in one step; return False if the system cannot (only Linux can)."""
    if sys.platform != "linux":
        return False
    import ctypes

    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False  # a C library without it
    swap.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return bool(swap(here, os.fsencode(left), here, os.fsencode(right), exchange) == 0)
