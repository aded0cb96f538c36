"""Stored objects: writing and opening."""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.storage.disk import (
    check_folder,
    checked_path,
    file_size,
    linked,
    open_regular,
    sha256,
    sync,
)
from softcosine.storage.manifest import (
    FORMAT_VERSION,
    MANIFEST,
    read_manifest,
    signed_manifest,
    write_manifest,
)
from softcosine.storage.replacement import replacing


def copy_folder(
    source: Folder,
    target: Path,
    *,
    links: bool,
    verify: bool = True,
    progress: Callable[[str, int, int | None], object] = lambda *_: None,
) -> None:
    """Copy a stored object atomically; the new folders are not synced.

    Parameters
    ----------
    source : Folder
    target : Path
        Must not exist.
    links : bool
        Whether to share files by hard links where the system can.
    verify : bool
        Whether to verify the checksum of every file.
    progress : callable
        Called with (name of the stage, files copied, total).

    Raises
    ------
    CorruptIndexError
        If a file has changed since it was written.
    OSError
    """
    target.mkdir(parents=True)
    try:
        for done, (name, facts) in enumerate(source.files.items()):
            progress(f"copying {target.name}", done, len(source.files))
            _copy(source.path / name, target / name, links)
            if verify and sha256(target / name) != facts["sha256"]:
                raise CorruptIndexError(f"{source.path / name} has changed since it was written.")
        _copy(source.path / MANIFEST, target / MANIFEST, links)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def _copy(source: Path, target: Path, links: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not (links and linked(source, target)):
        shutil.copyfile(source, target, follow_symlinks=False)
        sync(target)


# The np.save header of a numeric array in C order, the only kind stored.
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)\{'descr': '(?P<type>[<>|][biuf][0-9]+)', "
    rb"'fortran_order': False, 'shape': \((?P<shape>|[0-9]+,|[0-9]+(?:, [0-9]+)+)\), \} *\n",
    re.DOTALL,
)
_LONGEST = 256  # limit of the header's length with fewer than ten dimensions
_ALIGNED = 64  # bytes; np.save pads headers to a multiple
# A map stays valid without its file descriptor; many open ones would reach the system's limit.
_UNTRACKED = sys.version_info >= (3, 13) and sys.platform != "win32"
_MAP: dict[str, Any] = {"trackfd": False} if _UNTRACKED else {}


class _Measured:
    """A writer that measures the bytes and passes them to a stream, if any."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self.n_bytes = 0

    def write(self, content: bytes) -> int:
        """Write bytes."""
        if self._stream is not None:
            self._stream.write(content)
        self._digest.update(content)
        size = memoryview(content).nbytes
        self.n_bytes += size
        return size

    def facts(self) -> dict[str, Any]:
        """Return the file's entry of a manifest."""
        return {"bytes": self.n_bytes, "sha256": self._digest.hexdigest()}


def write_arrays(stream: IO[bytes] | None, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Write numeric arrays; return the entry of a manifest: size, SHA-256, where each begins.

    Parameters
    ----------
    stream : binary file, or None to write nothing
    arrays : mapping of names to arrays

    Raises
    ------
    ValueError
        If an array is not numeric.
    """
    starts, written = {}, _Measured(stream)
    for name, given in arrays.items():
        array = np.asarray(given, order="C")
        if array.dtype.kind not in "biuf":
            raise ValueError(f"the array {name} is of type {array.dtype}, not of numbers")
        starts[name] = written.n_bytes
        np.save(written, array, allow_pickle=False)
        written.write(bytes(-written.n_bytes % _ALIGNED))
    return {"arrays": starts, **written.facts()}


def read_arrays(path: Path, starts: Mapping[str, int], *, mapped: bool) -> dict[str, NDArray[Any]]:
    """Return arrays of a file written by `write_arrays`; they are writable.

    Parameters
    ----------
    path : Path
    starts : mapping of names to int
        Where each begins.
    mapped : bool
        Whether to memory-map the file, copy-on-write: pages are read at first access, and changes
        never reach the file. Otherwise the file is read.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If there is no array at a start, or it is shorter than its header says.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        # Writable, because compiled kernels take writable arrays only.
        if mapped and size:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY, **_MAP)
            buffer = np.frombuffer(content, np.uint8)
        else:
            buffer = np.empty(size, np.uint8)
            if file.readinto(buffer) != size:  # type: ignore[arg-type]  # truncated meanwhile
                raise ValueError("the file ends before its size")
    return {name: _array(buffer, start) for name, start in starts.items()}


def _array(buffer: NDArray[np.uint8], start: int) -> NDArray[Any]:
    """Return a view of the array that begins at a byte."""
    found = _HEADER.match(buffer[start : start + _LONGEST].tobytes())
    if start % _ALIGNED or found is None:
        raise ValueError(f"no array of numbers begins at byte {start}")
    if found.end() != 10 + int.from_bytes(found["length"], "little") or found.end() % _ALIGNED:
        raise ValueError(f"the header at byte {start} does not end where it says")
    shape = tuple(int(n) for n in found["shape"].split(b",") if n)
    dtype = np.dtype(found["type"].decode())
    first = start + found.end()
    stop = first + prod(shape) * dtype.itemsize
    if stop > buffer.shape[0]:
        raise ValueError(f"{buffer.shape[0] - first} bytes follow the header, not {stop - first}")
    if stop == first:
        return np.empty(shape, dtype)
    return buffer[first:stop].view(dtype).reshape(shape)


# Arrays of at least this size are memory-mapped. A map keeps a file descriptor, and a process has
# about a thousand, so with many folders only the largest arrays are mapped.
_MAPPED_BYTES, _MAPPED_BYTES_OF_MANY = 1 << 17, 1 << 20
_MANY = 64

# File names are relative and of plain characters, so that they stay inside the folder everywhere.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_LONGEST_NAME = 200
_SHARED_BYTES = 1 << 20  # minimum size for sharing a file by a hard link
_REBUILD = "rebuild the index, or restore it from a copy."
_ARRAYS = ".npys"  # files of arrays, each as np.save writes it


@dataclass(frozen=True, slots=True)
class Folder:
    """An opened stored object: its settings, and its files by name.

    Attributes
    ----------
    path : Path
    settings : dict
    files : dict
        Size and SHA-256 of every file, by name.
    checksum : str
        SHA-256 of the manifest, and so, by the checksums in it, of everything stored.
    kind : str
    mapped_bytes : int
        Minimum size of memory-mapped files.
    """

    path: Path
    settings: dict[str, Any]
    files: dict[str, dict[str, Any]]
    checksum: str
    kind: str
    mapped_bytes: int

    def array(self, name: str) -> NDArray[Any]:
        """Return an array, mapped or, if small, read. Changes to it never reach the file.

        Pages of a mapped array are read at first access. It stays valid if the file is deleted.
        """
        file = _file_of(name)
        if name not in self.files.get(file, {}).get("arrays", {}):
            raise CorruptIndexError(f"{self.path / MANIFEST} names no array {name}.")
        return self._read(file, lambda own: own == name)[name]

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return all arrays whose names begin with ``prefix/``, by the rest of the name."""
        start = f"{prefix}/"
        found = self._read(_file_of(start), lambda name: name.startswith(start))
        return {name[len(start) :]: array for name, array in found.items()}

    def _read(self, file: str, wanted: Callable[[str], bool]) -> dict[str, NDArray[Any]]:
        """Return the wanted arrays of a file; none if the file does not exist."""
        facts = self.files.get(file, {})
        starts = {name: at for name, at in facts.get("arrays", {}).items() if wanted(name)}
        if not starts:
            return {}
        try:
            return read_arrays(self.path / file, starts, mapped=facts["bytes"] >= self.mapped_bytes)
        except (ValueError, TypeError, OverflowError, MemoryError, OSError) as error:
            told = f"{self.path / file} cannot be read as arrays: {error}"
            raise CorruptIndexError(told) from error

    def file(self, name: str) -> Path:
        """Path of a file in the manifest."""
        if name not in self.files:
            raise CorruptIndexError(f"{self.path / MANIFEST} names no file {name}.")
        return self.path / name

    def verify(self) -> None:
        """Verify the checksum of every file; CorruptIndexError names the first bad one."""
        for name, facts in self.files.items():
            try:
                found = sha256(self.path / name)
            except OSError as error:
                raise CorruptIndexError(f"{self.path / name} cannot be read: {error}") from error
            if found != facts["sha256"]:
                raise CorruptIndexError(
                    f"{self.path / name} has changed since it was written; {_REBUILD}"
                )


def write_folder(
    path: str | Path,
    kind: str,
    settings: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    files: Mapping[str, Callable[[Path], None]] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a stored object atomically.

    Parameters
    ----------
    path : path of a folder
        Its parent must exist.
    kind : str
        Kind of the object, such as ``"index"``; `open_folder` requires the same.
    settings : mapping
        JSON-serialisable.
    arrays : mapping of names to arrays
        Numeric. Arrays with the same first component of the name, up to a slash, share a file
        (`softcosine.storage.folder`); those without a slash are in ``arrays.npys``.
    files : mapping of names to functions, optional
        Each is called with the path to write.
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
        If it cannot be written, for example on a full disk.
    InvalidInputError
        If `settings` are not JSON-serialisable.
    """
    with replacing(path, kind, overwrite=overwrite) as work:
        fill_folder(work, kind, settings, arrays, files=files)


def fill_folder(
    folder: Path,
    kind: str,
    settings: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    files: Mapping[str, Callable[[Path], None]] | None = None,
    shared: Callable[[str], Path | None] | None = None,
) -> None:
    """Write a stored object into an empty folder, the manifest last, and sync everything.

    For a folder that no reader can see yet; otherwise as `write_folder`.

    Parameters
    ----------
    shared : callable, optional
        Returns a file with a given SHA-256 that never changes in place, or None: a large file of
        arrays becomes a hard link to it, where the system can.
    """
    for name in (*arrays, *(files or {})):
        if _folders_of(name) is None:
            raise InvalidInputError(f"{name!r} cannot be the name of a file of this {kind}.")
    facts = {}
    for name, group in _grouped(arrays).items():
        file = folder / name
        if shared is not None and sum(array.nbytes for array in group.values()) >= _SHARED_BYTES:
            facts[name] = write_arrays(None, group)
            digest = facts[name]["sha256"]
            if _is_linked(shared(digest), file, digest):
                continue
            file.unlink(missing_ok=True)
        with file.open("wb") as stream:
            facts[name] = write_arrays(stream, group)
    for name, write in (files or {}).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file)
        facts[name] = {"bytes": file.stat().st_size, "sha256": sha256(file)}
    content = {"settings": dict(settings), "files": facts}
    write_manifest(signed_manifest(kind, FORMAT_VERSION, content), folder / MANIFEST)
    for path in (*folder.rglob("*"), folder):  # at the end, so that the disk works on all at once
        sync(path)


def open_folder(path: str | Path, kind: str, *, n_folders: int = 1) -> Folder:
    """Open a stored object: read its manifest, and check the existence and size of every file.

    Only `Folder.verify` reads the contents, so opening takes the same time at any size.

    Parameters
    ----------
    path : path
    kind : str
    n_folders : int
        Number of folders opened together: with many, only large arrays are mapped.

    Raises
    ------
    FileNotFoundError
        If `path` does not exist.
    IndexFormatError
        If it is not a stored object of this kind, or has an unreadable version.
    CorruptIndexError
        If a file is missing or has another size, or the manifest is altered.
    """
    folder = checked_path(path)
    manifest = read_manifest(folder, kind, FORMAT_VERSION)
    if type(manifest.get("settings")) is not dict:
        raise CorruptIndexError(f"{folder / MANIFEST} holds no settings; rebuild the {kind}.")
    own = os.fspath(folder)  # joining Paths is slower than reading a file's size
    checked: set[str] = set()
    files = files_in(manifest, folder / MANIFEST)
    for name, facts in files.items():
        try:
            for inner in _folders_of(name) or ():
                if inner not in checked:
                    check_folder(os.path.join(own, inner))  # noqa: PTH118
                    checked.add(inner)
            # SQLite opens files by name, so their type must be checked before.
            size = file_size(os.path.join(own, name))  # noqa: PTH118
        except (FileNotFoundError, NotADirectoryError):
            raise CorruptIndexError(f"{folder / name} is missing.") from None
        if size != facts["bytes"]:
            raise CorruptIndexError(
                f"{folder / name} has {size} bytes; {facts['bytes']} were written; {_REBUILD}"
            )
    least = _MAPPED_BYTES if n_folders <= _MANY else _MAPPED_BYTES_OF_MANY
    return Folder(folder, manifest["settings"], files, manifest["checksum"], kind, least)


@lru_cache(1024)  # the parts of an index have the same names
def _folders_of(name: str) -> tuple[str, ...] | None:
    """Return the folders in a file's name; None if the name is invalid."""
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        return None
    steps = name.split("/")
    return tuple("/".join(steps[:depth]) for depth in range(1, len(steps)))


def files_in(manifest: Mapping[str, Any], file: object) -> dict[str, dict[str, Any]]:
    """Return the entries of files in a manifest.

    Raises
    ------
    CorruptIndexError
        If they are invalid, or a name leads out of the folder; the message names `file`.
    """
    files = manifest.get("files")
    if type(files) is not dict or not all(
        type(facts) is dict
        and type(facts.get("bytes")) is int
        and type(facts.get("sha256")) is str
        and type(arrays := facts.get("arrays", {})) is dict
        and all(type(start) is int and start >= 0 for start in arrays.values())
        for facts in files.values()
    ):
        raise CorruptIndexError(f"{file} does not give every file's size and checksum.")
    for name in files:
        if _folders_of(name) is None:
            raise CorruptIndexError(
                f"{file} names {name!r}, which is no name of a file inside the folder."
            )
    return files


def _file_of(name: str) -> str:
    """Return the file of an array, by the first component of its name."""
    first, slash, _ = name.partition("/")
    return f"{first if slash else 'arrays'}{_ARRAYS}"


def _grouped(arrays: Mapping[str, NDArray[Any]]) -> dict[str, dict[str, NDArray[Any]]]:
    groups: dict[str, dict[str, NDArray[Any]]] = {}
    for name, array in arrays.items():
        groups.setdefault(_file_of(name), {})[name] = array
    return groups


def _is_linked(found: Path | None, file: Path, digest: str) -> bool:
    """Make a file a hard link to another; return whether it then has the SHA-256."""
    try:
        return found is not None and linked(found, file) and sha256(file) == digest
    except FileNotFoundError:  # deleted meanwhile
        return False
