"""A stored object, written and opened."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.storage.arrays import read_arrays, write_arrays
from softcosine.storage.disk import check_folder, checked_path, file_size, linked, sha256, sync
from softcosine.storage.manifest import (
    FORMAT_VERSION,
    MANIFEST,
    read_manifest,
    signed_manifest,
    write_manifest,
)
from softcosine.storage.replacement import replacing

__all__ = ["Folder", "content_checksum", "fill_folder", "open_folder", "write_folder"]

# From so many bytes on an array is mapped. A map keeps a descriptor, of which a process has about a
# thousand, so that of many folders only the largest arrays are mapped.
_MAPPED_BYTES, _MAPPED_BYTES_OF_MANY = 1 << 17, 1 << 20
_MANY = 64

# Names of files: relative, of plain characters, so that they stay inside the folder on any system.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_LONGEST_NAME = 200
_SHARED_BYTES = 1 << 20  # smaller files are not worth looking for another one
_ARRAYS = ".npys"  # of files of arrays, as np.save writes them, one after the other


@dataclass(frozen=True, slots=True)
class Folder:
    """A stored object, opened: its settings, and its files by name.

    Attributes
    ----------
    path : Path
    settings : dict
    files : dict
        Size and SHA-256 of every file by its name.
    checksum : str
        Of the manifest, and so, by the checksums in it, of all that is stored.
    mapped_bytes : int
        Files of at least this size are mapped.
    """

    path: Path
    settings: dict[str, Any]
    files: dict[str, dict[str, Any]]
    checksum: str = ""
    mapped_bytes: int = _MAPPED_BYTES

    def array(self, name: str) -> NDArray[Any]:
        """Map an array, or read a small one. Writing to it never reaches the file.

        Pages of a mapped one are read when touched. It stays readable when the file is deleted.
        """
        file = _file_of(name)
        if name not in self.files.get(file, {}).get("arrays", {}):
            raise CorruptIndexError(f"{self.path / MANIFEST} names no array {name}.")
        return self._read(file, lambda own: own == name)[name]

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Map every array whose name begins with ``prefix/``, by the rest of its name."""
        start = f"{prefix}/"
        found = self._read(_file_of(start), lambda name: name.startswith(start))
        return {name[len(start) :]: array for name, array in found.items()}

    def _read(self, file: str, wanted: Callable[[str], bool]) -> dict[str, NDArray[Any]]:
        """Map some arrays of a file; none where there is no such file."""
        facts = self.files.get(file, {})
        starts = {name: at for name, at in facts.get("arrays", {}).items() if wanted(name)}
        if not starts:
            return {}
        try:
            return read_arrays(self.path / file, starts, mapped=facts["bytes"] >= self.mapped_bytes)
        except (ValueError, TypeError, OverflowError, MemoryError, OSError) as error:
            raise CorruptIndexError(
                f"{self.path / file} cannot be read as arrays: {error}"
            ) from error

    def file(self, name: str) -> Path:
        """Path of a file that the manifest names."""
        if name not in self.files:
            raise CorruptIndexError(f"{self.path / MANIFEST} names no file {name}.")
        return self.path / name

    def verify(self) -> None:
        """Read every file whole and compare its checksum; CorruptIndexError names the first bad."""
        for name, facts in self.files.items():
            try:
                found = sha256(self.path / name)
            except OSError as error:
                raise CorruptIndexError(f"{self.path / name} cannot be read: {error}") from error
            if found != facts["sha256"]:
                raise CorruptIndexError(
                    f"{self.path / name} has changed since it was written; rebuild the index or "
                    "restore the file from a copy."
                )


def write_folder(
    path: str | Path,
    kind: str,
    settings: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    files: Mapping[str, Callable[[Path], None]] | None = None,
    overwrite: bool = False,
    version: int = FORMAT_VERSION,
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
        Of numbers. Those whose names begin alike, up to a slash, are written into one file
        (`softcosine.storage.arrays`), and those without a slash into ``arrays.npys``.
    files : mapping of names to functions, optional
        Each is called with the path that it has to write.
    overwrite : bool
        Whether a stored object of the same kind at `path` may be replaced. Any other folder or
        file is never replaced.
    version : int
        Of the format of this kind.

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
    with replacing(path, kind, overwrite=overwrite) as work:
        fill_folder(work, kind, settings, arrays, files=files, version=version)


def fill_folder(
    folder: Path,
    kind: str,
    settings: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    files: Mapping[str, Callable[[Path], None]] | None = None,
    version: int = FORMAT_VERSION,
    shared: Callable[[str], Path | None] | None = None,
) -> str:
    """Write a stored object into an empty folder, the manifest last, and sync all of it.

    For a folder that nobody knows of yet: otherwise as `write_folder`.

    Parameters
    ----------
    shared : callable, optional
        Returns a file of some SHA-256 that is never changed in place, if there is one: a large file
        of arrays becomes a hard link to it, where the system can.

    Returns
    -------
    str
        The checksum of its manifest.
    """
    for name in (*arrays, *(files or {})):
        if _folders_of(name) is None:
            raise InvalidInputError(
                f"{name!r} cannot be the name of a file of this {kind}; names are letters, digits, "
                "'_', '-', '.' and '/' (a folder), and no part begins with '.' or '-'."
            )
    facts = {}
    for name, group in _grouped(arrays).items():
        file = folder / name
        if shared is not None and sum(array.nbytes for array in group.values()) >= _SHARED_BYTES:
            measured = _Measured(None)
            starts, own = write_arrays(measured, group), measured.facts()
            if _is_linked(shared(own["sha256"]), file, own["sha256"]):
                facts[name] = {"arrays": starts, **own}
                continue
            file.unlink(missing_ok=True)
        with file.open("wb") as stream:
            written = _Measured(stream)
            facts[name] = {"arrays": write_arrays(written, group), **written.facts()}
        sync(file)
    for name, write in (files or {}).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file)
        sync(file)
        facts[name] = {"bytes": file.stat().st_size, "sha256": sha256(file)}
    manifest = _manifest(kind, version, settings, facts)
    write_manifest(manifest, folder / MANIFEST)
    sync(folder / MANIFEST)
    for inner in (*(path for path in folder.rglob("*") if path.is_dir()), folder):
        sync(inner)
    return str(manifest["checksum"])


def content_checksum(
    kind: str,
    settings: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    version: int = FORMAT_VERSION,
) -> str:
    """Return what `fill_folder` would, and write nothing."""
    facts = {}
    for name, group in _grouped(arrays).items():
        written = _Measured(None)
        facts[name] = {"arrays": write_arrays(written, group), **written.facts()}
    return str(_manifest(kind, version, settings, facts)["checksum"])


def _manifest(
    kind: str, version: int, settings: Mapping[str, Any], facts: Mapping[str, Any]
) -> dict[str, Any]:
    return signed_manifest(kind, version, {"settings": dict(settings), "files": dict(facts)})


def open_folder(
    path: str | Path,
    kind: str,
    *,
    version: int = FORMAT_VERSION,
    n_folders: int = 1,
    without: str | None = None,
) -> Folder:
    """Open a stored object: read its manifest, and check that every file is there in full size.

    Contents are compared by `Folder.verify` alone, so that opening costs the same at any size.

    Parameters
    ----------
    path : path
    kind : str
    version : int
    n_folders : int
        How many are opened together: the arrays of many are mapped if they are large only.
    without : str, optional
        Files whose names begin so are left out, whether or not they are there.

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
    manifest = read_manifest(folder, kind, version)
    if type(manifest.get("settings")) is not dict:
        raise CorruptIndexError(f"{folder / MANIFEST} holds no settings; rebuild the {kind}.")
    own = os.fspath(folder)  # joining Paths takes longer than asking for a file's size
    checked: set[str] = set()
    files = _named_files(folder, manifest)
    if without is not None:
        files = {name: facts for name, facts in files.items() if not name.startswith(without)}
    for name, facts in files.items():
        folders = _folders_of(name)
        if folders is None:
            raise CorruptIndexError(
                f"{folder / MANIFEST} names a file {name!r}, which is no name of a file inside "
                f"the folder; rebuild the {kind}."
            )
        try:
            for inner in folders:
                if inner not in checked:
                    check_folder(os.path.join(own, inner))  # noqa: PTH118
                    checked.add(inner)
            # SQLite opens files by their names, so what they are must be known before.
            size = file_size(os.path.join(own, name))  # noqa: PTH118
        except (FileNotFoundError, NotADirectoryError):
            raise CorruptIndexError(f"{folder / name} is missing.") from None
        if size != facts["bytes"]:
            raise CorruptIndexError(
                f"{folder / name} has {size} bytes; {facts['bytes']} were written. The file was "
                "cut short or altered: rebuild the index or restore the file from a copy."
            )
    least = _MAPPED_BYTES if n_folders <= _MANY else _MAPPED_BYTES_OF_MANY
    return Folder(folder, manifest["settings"], files, manifest["checksum"], least)


@lru_cache(1024)  # the parts of an index have the same names again and again
def _folders_of(name: str) -> tuple[str, ...] | None:
    """Return the folders that a file's name leads through; None if it is no name of a file."""
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        return None
    steps = name.split("/")
    return tuple("/".join(steps[:depth]) for depth in range(1, len(steps)))


def _named_files(folder: Path, manifest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what a manifest says of files; CorruptIndexError if that can be no such thing."""
    files = manifest.get("files")
    if type(files) is not dict or not all(
        type(facts) is dict
        and type(facts.get("bytes")) is int
        and type(facts.get("sha256")) is str
        and type(arrays := facts.get("arrays", {})) is dict
        and all(type(start) is int and start >= 0 for start in arrays.values())
        for facts in files.values()
    ):
        raise CorruptIndexError(
            f"{folder / MANIFEST} does not give every file's size and checksum; rebuild the index "
            "or restore the file from a copy."
        )
    return files


def _file_of(name: str) -> str:
    """Return the file that an array is in: one for each first step of names, and one for none."""
    first, slash, _ = name.partition("/")
    return f"{first if slash else 'arrays'}{_ARRAYS}"


def _grouped(arrays: Mapping[str, NDArray[Any]]) -> dict[str, dict[str, NDArray[Any]]]:
    groups: dict[str, dict[str, NDArray[Any]]] = {}
    for name, array in arrays.items():
        groups.setdefault(_file_of(name), {})[name] = array
    return groups


def _is_linked(found: Path | None, file: Path, digest: str) -> bool:
    """Make a file a link to one that was found; whether it has the SHA-256 then."""
    try:
        return found is not None and linked(found, file) and sha256(file) == digest
    except FileNotFoundError:  # it was deleted meanwhile
        return False


class _Measured:
    """Passes bytes on to a file, if there is one, and measures them."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self._n_bytes = 0

    def write(self, content: bytes) -> None:
        """Take some bytes."""
        if self._stream is not None:
            self._stream.write(content)
        self._digest.update(content)
        self._n_bytes += memoryview(content).nbytes

    def facts(self) -> dict[str, Any]:
        """Return what a manifest says of the file."""
        return {"bytes": self._n_bytes, "sha256": self._digest.hexdigest()}
