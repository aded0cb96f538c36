"""Folders of plain arrays with a manifest, written whole or not at all.

A stored object is a folder: ``manifest.json`` beside ``.npy`` arrays and other files. The manifest
names the kind, the format's version, the settings, and every file with its size and SHA-256; its
own SHA-256 stands in it. It is written last, in a folder beside the target that is renamed into
place (exchanged with what it replaces, on Linux), so that a reader meets the old object or the new
one and nothing between.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import (
    AlreadyExistsError,
    CorruptIndexError,
    IndexFormatError,
    InvalidInputError,
    SoftCosineError,
)

__all__ = [
    "FORMAT_VERSION",
    "Folder",
    "check_target",
    "checked_path",
    "naming_a_full_disk",
    "open_folder",
    "write_folder",
]

FORMAT_VERSION = 1
_MANIFEST = "manifest.json"
_OLD = "old"
# What renaming onto something that appeared meanwhile says, by system and by what it is.
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


@dataclass(frozen=True, slots=True)
class Folder:
    """A stored object, opened: its settings, and its files by name."""

    path: Path
    settings: dict[str, Any]
    files: dict[str, dict[str, Any]]

    def array(self, name: str) -> NDArray[Any]:
        """Map an array. Pages are read when touched; writing to it never reaches the file."""
        path = self.file(f"{name}.npy")
        try:
            try:
                # Copy-on-write, since compiled kernels take writable arrays only.
                return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
            except ValueError:
                return np.load(path, allow_pickle=False)  # type: ignore[no-any-return]  # empty
        except Exception as error:  # a damaged header makes NumPy raise whatever Python can
            raise CorruptIndexError(f"{path} cannot be read as an array: {error}") from error

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Map every array whose name begins with ``prefix/``, by the rest of its name."""
        start = f"{prefix}/"
        return {
            name[len(start) : -len(".npy")]: self.array(name[: -len(".npy")])
            for name in self.files
            if name.startswith(start) and name.endswith(".npy")
        }

    def file(self, name: str) -> Path:
        """Path of a file that the manifest names."""
        if name not in self.files:
            raise CorruptIndexError(f"{self.path / _MANIFEST} names no file {name}.")
        return self.path / name

    def verify(self) -> None:
        """Read every file whole and compare its checksum; CorruptIndexError names the first bad."""
        for name, facts in self.files.items():
            try:
                found = _sha256(self.path / name)
            except OSError as error:
                raise CorruptIndexError(f"{self.path / name} cannot be read: {error}") from error
            if found != facts["sha256"]:
                raise CorruptIndexError(
                    f"{self.path / name} has changed since it was written; rebuild the index or "
                    "restore the file from a copy."
                )


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


def write_folder(
    path: str | Path,
    kind: str,
    settings: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    files: Mapping[str, Callable[[Path], None]] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a stored object so that it is there whole or not at all.

    Parameters
    ----------
    path : path of a folder
        Its parent must exist.
    kind : str
        What is stored, such as ``"index"``; `open_folder` asks for it.
    settings : mapping
        JSON-serialisable.
    arrays : mapping of names to arrays
        Written as ``name.npy``; a name may hold slashes. No object arrays.
    files : mapping of names to functions, optional
        Each is called with the path that it has to write.
    overwrite : bool
        Whether a stored object of the same kind at `path` may be replaced. Any other folder or
        file is never replaced.

    Raises
    ------
    AlreadyExistsError
        If `path` exists and may not be replaced.
    FileNotFoundError
        If its parent does not exist.
    OSError
        If it cannot be written, as where the disk is full.
    InvalidInputError
        If `settings` hold what JSON cannot.
    """
    check_target(path, kind, overwrite=overwrite)
    # A link stays, and leads to the new one.
    target = Path(path).resolve()
    _sweep(target)
    with _beside(target) as work:
        with naming_a_full_disk(target):
            _write(work, kind, settings, arrays, files or {})
        _check_free(target, kind, overwrite)  # again: writing may have taken a while
        _rename_over(work, target, overwrite)


def check_target(path: str | Path, kind: str, *, overwrite: bool) -> None:
    """Raise what `write_folder` would, where that is known before there is anything to write."""
    target = checked_path(path)
    _check_free(target, kind, overwrite)
    parent = target.resolve().parent
    if not parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; create it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "nothing may be written in this folder", str(parent))


def _write(
    work: Path,
    kind: str,
    settings: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    files: Mapping[str, Callable[[Path], None]],
) -> None:
    """Write all files into a folder, the manifest last, and sync them."""
    facts = {}
    for name, array in arrays.items():
        file = work / f"{name}.npy"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as stream:
            np.save(stream, array, allow_pickle=False)
        facts[f"{name}.npy"] = _facts(file)
    for name, write in files.items():
        file = work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file)
        facts[name] = _facts(file)
    manifest = {
        "format": f"softcosine-{kind}",
        "version": FORMAT_VERSION,
        "settings": dict(settings),
        "files": facts,
    }
    try:
        manifest["checksum"] = _checksum(manifest)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"the settings of this {kind} cannot be written as JSON: {error}; settings are "
            "strings, numbers, lists and dictionaries."
        ) from error
    text = json.dumps(manifest, ensure_ascii=True, indent=1, sort_keys=True)
    (work / _MANIFEST).write_text(text + "\n", encoding="utf-8")
    _sync(work / _MANIFEST)
    for folder in (*(path for path in work.rglob("*") if path.is_dir()), work):
        _sync(folder)


def open_folder(path: str | Path, kind: str) -> Folder:
    """Open a stored object: read its manifest, and check that every file is there in full size.

    Contents are compared by `Folder.verify` alone, so that opening costs the same at any size.

    Raises
    ------
    FileNotFoundError
        If there is nothing at `path`.
    IndexFormatError
        If it is not a stored object of this kind, or of a version that cannot be read.
    CorruptIndexError
        If a file is missing or has another size, or the manifest was altered.
    """
    folder = checked_path(path)
    if not folder.exists():
        raise FileNotFoundError(f"there is no {kind} at {folder}.")
    file = folder / _MANIFEST
    if not file.is_file():
        raise IndexFormatError(f"{folder} is no softcosine {kind}: it has no {_MANIFEST}.")
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        found, version = manifest["format"], manifest["version"]
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptIndexError(f"{file} is not a readable manifest: {error!r}") from error
    if found != f"softcosine-{kind}":
        raise IndexFormatError(f"{folder} holds a {found}; a softcosine-{kind} was needed.")
    if version != FORMAT_VERSION:
        raise IndexFormatError(
            f"{folder} has format version {version}; this softcosine reads version "
            f"{FORMAT_VERSION}. Rebuild it, or install the softcosine that wrote it."
        )
    if manifest.get("checksum") != _checksum(manifest):
        raise CorruptIndexError(f"{file} has changed since it was written.")
    for name, facts in manifest["files"].items():
        try:
            size = (folder / name).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            raise CorruptIndexError(f"{folder / name} is missing.") from None
        if size != facts["bytes"]:
            raise CorruptIndexError(
                f"{folder / name} has {size} bytes; {facts['bytes']} were written. The file was "
                "cut short or altered: rebuild the index or restore the file from a copy."
            )
    return Folder(folder, manifest["settings"], manifest["files"])


def _check_free(target: Path, kind: str, overwrite: bool) -> None:
    if not target.exists() and not target.is_symlink():
        return
    if not overwrite:
        raise AlreadyExistsError(
            f"{target} exists already; choose another name, or ask for overwriting."
        )
    if not _is_stored(target, kind):
        raise AlreadyExistsError(
            f"{target} exists and is no softcosine {kind}, so it is not overwritten; "
            "choose another name."
        )
    here = Path.cwd()
    if target.resolve() in (here, *here.parents):
        raise AlreadyExistsError(
            f"{target} is the folder that you are in, which cannot be replaced; leave it first."
        )


def _is_stored(path: Path, kind: str) -> bool:
    try:
        manifest = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))
        return bool(manifest["format"] == f"softcosine-{kind}")
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _checksum(manifest: Mapping[str, Any]) -> str:
    content = {name: value for name, value in manifest.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _facts(path: Path) -> dict[str, Any]:
    _sync(path)
    return {"bytes": path.stat().st_size, "sha256": _sha256(path)}


def _sync(path: Path) -> None:
    if path.is_dir() and os.name == "nt":
        return  # Windows has no handle to sync on a folder.
    descriptor = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Give a new folder beside the target, which is gone afterwards unless renamed."""
    work, lock = _new_folder(target)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _new_folder(target: Path) -> tuple[Path, int | None]:
    """Make a folder and lock it against `_sweep`, where the system can."""
    while True:
        work = target.parent / f".{target.name}.{uuid.uuid4().hex[:12]}.tmp"
        work.mkdir()
        try:
            lock = _lock(work)
        except (FileNotFoundError, BlockingIOError):
            continue  # swept before it was locked
        except OSError:
            return work, None
        if work.is_dir():
            return work, lock
        os.close(lock)


def _lock(folder: Path) -> int:
    """Lock a folder until the process ends or closes what is returned; OSError if it cannot."""
    descriptor = os.open(folder, os.O_RDONLY)  # Windows opens no folders
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _sweep(target: Path) -> None:
    """Remove what writers of this target left that were killed: what can be locked."""
    left = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{12}}\.tmp")
    with contextlib.suppress(OSError):
        for path in [path for path in target.parent.iterdir() if left.fullmatch(path.name)]:
            with contextlib.suppress(OSError):
                lock = _lock(path)
                # An old one that stepped aside may be the only one that there is.
                if not (path / _OLD).exists():
                    shutil.rmtree(path, ignore_errors=True)
                os.close(lock)


def _rename_over(work: Path, target: Path, overwrite: bool) -> None:
    try:
        if not overwrite or not target.exists():
            work.rename(target)
        elif not _exchange(work, target):
            # A folder cannot be renamed over a full one, so the old one steps aside first. For
            # that moment a reader finds nothing; a crash then leaves the old one under the other
            # name.
            with _beside(target) as aside:
                target.rename(aside / _OLD)
                try:
                    work.rename(target)
                except BaseException:  # an interrupt too: the old one must not be swept
                    (aside / _OLD).rename(target)
                    raise
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        if overwrite and target.is_dir():
            _rename_over(work, target, overwrite)
            return
        raise AlreadyExistsError(
            f"{target} was written by another process meanwhile; choose another name, or write "
            "again."
        ) from error
    _sync(target.parent)


def _exchange(left: Path, right: Path) -> bool:
    """Swap two folders in one step; False where the system cannot (only Linux can)."""
    if sys.platform != "linux":
        return False
    import ctypes

    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False  # a C library without it
    swap.argtypes = (
        ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint
    )  # fmt: skip
    return bool(swap(here, os.fsencode(left), here, os.fsencode(right), exchange) == 0)
