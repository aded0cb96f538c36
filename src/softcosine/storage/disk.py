"""Single files: their paths, checksums, and whether they have reached the disk."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path

from softcosine.errors import CorruptIndexError, InvalidInputError, SoftCosineError

__all__ = [
    "check_folder",
    "checked_path",
    "file_size",
    "naming_a_full_disk",
    "sha256",
    "sync",
    "write_text",
    "written_beside",
]

_JUNCTION = 0xA0000003  # the tag of a folder of Windows that is a link to another one


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


def file_size(path: str | Path) -> int:
    """Return the size of a file inside a stored object, without following links.

    Raises
    ------
    FileNotFoundError
        If there is nothing.
    CorruptIndexError
        If it is no regular file but a link, a folder, a pipe or a device.
    """
    facts = os.lstat(path)
    if not stat.S_ISREG(facts.st_mode):
        raise _not_plain(path, facts, "regular file")
    return facts.st_size


def check_folder(path: str | Path) -> None:
    """Raise CorruptIndexError if a folder inside a stored object is a link, or no folder.

    FileNotFoundError if there is nothing.
    """
    facts = os.lstat(path)
    if not stat.S_ISDIR(facts.st_mode) or _is_link(facts):
        raise _not_plain(path, facts, "folder")


def _is_link(facts: os.stat_result) -> bool:
    return stat.S_ISLNK(facts.st_mode) or getattr(facts, "st_reparse_tag", 0) == _JUNCTION


def _not_plain(path: str | Path, facts: os.stat_result, needed: str) -> CorruptIndexError:
    if _is_link(facts):
        return CorruptIndexError(
            f"{path} is a link; inside an index links are not followed, since they lead to files "
            "that are not its own. Replace the link by what it leads to, or remove it."
        )
    return CorruptIndexError(
        f"{path} is no {needed}; remove it, and restore the index from a copy or rebuild it."
    )


def sha256(path: Path) -> str:
    """Return the checksum of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
        yield new
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8, whole or not at all."""
    with written_beside(path) as new:
        new.write_text(text, encoding="utf-8")


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
