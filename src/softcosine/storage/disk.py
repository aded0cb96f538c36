"""Single files: paths, checksums, atomic writes and syncs."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import tokenize
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from softcosine.errors import CorruptIndexError, InvalidInputError

# Errors of np.load for a damaged .npz archive. RuntimeError: encrypted, or compressed in a way that
# zipfile does not support.
NPZ_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, KeyError, RuntimeError, ValueError, EOFError, OSError),
    *(SyntaxError, tokenize.TokenError),
)

_JUNCTION = 0xA0000003  # reparse tag of a directory junction of Windows
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def checked_path(path: object) -> Path:
    """Return a path; InvalidInputError if the value cannot be one."""
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

    The check applies to the opened file, not to what the path named a moment before. Without it,
    opening a FIFO could block, and reading a device might never end.

    Raises
    ------
    OSError
        If the file cannot be opened; IsADirectoryError for a folder.
    CorruptIndexError
        If it is a link, a FIFO, a device or a socket.
    """
    if not _NO_LINK:
        file_size(path)
    # By an opener: the descriptor has one owner, also when a signal comes in between.
    return open(path, "rb", opener=_descriptor)


def _descriptor(path: str | Path, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | _NO_LINK | _NO_WAIT)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):  # a link; the number depends on the system
            file_size(path)
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        os.close(descriptor)
        raise _not_regular(path, "regular file")
    return descriptor


def file_size(path: str | Path) -> int:
    """Return the size of a file of a stored object, without following links.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    CorruptIndexError
        If it is a link, a folder, a FIFO or a device.
    """
    facts = os.lstat(path)
    if not stat.S_ISREG(facts.st_mode):
        raise _link(path) if _is_link(facts) else _not_regular(path, "regular file")
    return facts.st_size


def check_folder(path: str | Path) -> None:
    """Raise CorruptIndexError if a folder of a stored object is a link, or not a folder.

    Raise FileNotFoundError if it does not exist.
    """
    facts = os.lstat(path)
    if _is_link(facts):
        raise _link(path)
    if not stat.S_ISDIR(facts.st_mode):
        raise _not_regular(path, "folder")


def _is_link(facts: os.stat_result) -> bool:
    return stat.S_ISLNK(facts.st_mode) or getattr(facts, "st_reparse_tag", 0) == _JUNCTION


def _link(path: str | Path) -> CorruptIndexError:
    told = "Replace the link by what it leads to, or remove it."
    return CorruptIndexError(f"{path} is a link; inside an index none is followed. {told}")


def _not_regular(path: str | Path, needed: str) -> CorruptIndexError:
    return CorruptIndexError(
        f"{path} is no {needed}; remove it, and restore the index from a copy or rebuild it."
    )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def linked(source: Path, target: Path) -> bool:
    """Make a hard link; return False if the system cannot."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except (OSError, NotImplementedError):  # another disk, or a file system without links
        return False
    return True


def sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows has no handle to sync for a folder.
    descriptor = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside a file; on success it replaces the file atomically."""
    new = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        with naming_the_target(path, new):
            yield new
            new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a file in UTF-8, atomically."""
    with written_beside(path) as new:
        new.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def naming_the_target(target: Path, new: Path) -> Iterator[None]:
    """Replace the temporary name in errors by the target's name."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and os.fsdecode(error.filename) == str(new):
            error.filename = str(target)
        raise


@contextlib.contextmanager
def naming_a_full_disk(target: str | Path) -> Iterator[None]:
    """Turn the various errors of a full disk into one that names the target."""
    try:
        yield
    except OSError as error:
        by_numpy = error.errno is None and "requested and" in str(error)  # "... 0 written"
        if not by_numpy and error.errno not in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
            raise
        told = "could not be written, the disk is probably full; free space or choose another place"
        raise OSError(errno.ENOSPC, told, str(target)) from error
