"""Single files: their paths, checksums, and whether they have reached the disk."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import uuid
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from softcosine.errors import CorruptIndexError, InvalidInputError, SoftCosineError

__all__ = [
    "check_folder",
    "checked_path",
    "file_size",
    "linked",
    "naming_a_full_disk",
    "naming_the_target",
    "open_regular",
    "sha256",
    "sync",
    "write_text",
    "written_beside",
]

_JUNCTION = 0xA0000003  # the tag of a folder of Windows that is a link to another one
_READ_ONLY = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def checked_path(path: object) -> Path:
    """Return a path; InvalidInputError says what is wrong with what can be none."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(
            f"the path is {path!r}, of type {type(path).__name__}; a string or a Path is needed."
        )
    if not str(path):
        raise InvalidInputError("the path is empty; name a file or a folder.")
    if "\0" in str(path):
        raise InvalidInputError(f"the path {str(path)!r} holds a NUL character; leave it out.")
    return Path(path)


def open_regular(path: str | Path) -> BufferedReader:
    """Open a file of a stored object for reading.

    Opening a FIFO blocks until something writes to it, and reading a device may never end. The
    check is of the opened file, not of what the path named a moment before.

    Raises
    ------
    OSError
        If it cannot be opened; IsADirectoryError if it is a folder.
    CorruptIndexError
        If it is neither a file nor a folder, or a link.
    """
    if not _NO_LINK:
        file_size(path)
    try:
        descriptor = os.open(path, _READ_ONLY | _NO_LINK)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):  # of a link, by system
            file_size(path)
        raise
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise _not_regular(path, "regular file")
        return open(descriptor, "rb")  # noqa: PTH123  (which refuses folders)
    except BaseException:
        os.close(descriptor)
        raise


def file_size(path: str | Path) -> int:
    """Return the size of a file inside a stored object, without following links.

    Raises
    ------
    FileNotFoundError
        If there is nothing.
    CorruptIndexError
        If it is no regular file but a link, a folder, a FIFO or a device.
    """
    facts = os.lstat(path)
    if not stat.S_ISREG(facts.st_mode):
        raise _link(path) if _is_link(facts) else _not_regular(path, "regular file")
    return facts.st_size


def check_folder(path: str | Path) -> None:
    """Raise CorruptIndexError if a folder inside a stored object is a link, or no folder.

    FileNotFoundError if there is nothing.
    """
    facts = os.lstat(path)
    if _is_link(facts):
        raise _link(path)
    if not stat.S_ISDIR(facts.st_mode):
        raise _not_regular(path, "folder")


def _is_link(facts: os.stat_result) -> bool:
    return stat.S_ISLNK(facts.st_mode) or getattr(facts, "st_reparse_tag", 0) == _JUNCTION


def _link(path: str | Path) -> CorruptIndexError:
    return CorruptIndexError(
        f"{path} is a link; inside an index links are not followed, since they lead to files "
        "that are not its own. Replace the link by what it leads to, or remove it."
    )


def _not_regular(path: str | Path, needed: str) -> CorruptIndexError:
    return CorruptIndexError(
        f"{path} is no {needed}; remove it, and restore the index from a copy or rebuild it."
    )


def sha256(path: Path) -> str:
    """Return the checksum of a file, in hexadecimal."""
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def linked(source: Path, target: Path) -> bool:
    """Give a file a second name; False where the system cannot."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except (OSError, NotImplementedError):  # another disk, or a file system without links
        return False
    return True


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, have reached the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows has no handle to sync on a folder.
    descriptor = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Give a name beside a file to write to, which then replaces it: whole, or not at all."""
    new = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        with naming_the_target(path, new):
            yield new
            new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8, whole or not at all."""
    with written_beside(path) as new:
        new.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def naming_the_target(target: Path, new: Path) -> Iterator[None]:
    """Have errors of a temporary file or folder name the target that it stands for."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and os.fsdecode(error.filename) == str(new):
            error.filename = str(target)
        raise


@contextlib.contextmanager
def naming_a_full_disk(target: str | Path) -> Iterator[None]:
    """Say what writing without room fails with: errors of many kinds, some without a number."""
    try:
        yield
    except OSError as error:
        full = error.errno in (None, errno.ENOSPC, getattr(errno, "EDQUOT", None))
        if isinstance(error, SoftCosineError) or not full:
            raise
        raise OSError(
            errno.ENOSPC,
            "could not be written, the disk is probably full; free space or choose another place",
            str(target),
        ) from error
