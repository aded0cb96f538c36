"""Folders in object storage, by fsspec: whole files, with time limits, retries and checksums."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Any, TypeVar

from softcosine._retries import ATTEMPTS, with_retries
from softcosine.errors import (
    CorruptIndexError,
    InvalidInputError,
    MissingDependencyError,
    ServerError,
)
from softcosine.storage.disk import naming_a_full_disk, sync, written_beside
from softcosine.storage.manifest import MANIFEST, is_manifest, is_stored

_T = TypeVar("_T")

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.+)")  # a Path has one slash less
_BLOCK = 8 << 20  # bytes of a request; a cut connection costs one block, which is read again
_TIMEOUT = 60.0  # seconds for a block
_FINAL = (
    *(FileNotFoundError, NotADirectoryError, PermissionError),
    *(InvalidInputError, MissingDependencyError),
)
_LONGEST_MANIFEST = 64 << 20
# What reads a protocol, and the extra that installs it.
_PACKAGES = {"s3": ("s3fs", "s3"), "s3a": ("s3fs", "s3"), "gs": ("gcsfs", "gcs")}


def url_of(path: object) -> str | None:
    """Return the URL that a string or Path is, without a slash at the end; None for a path."""
    text = path.as_posix() if isinstance(path, PurePath) else path
    if not isinstance(text, str) or (match := _URL.fullmatch(text)) is None:
        return None
    root = "file:///" if match[1] == "file" else f"{match[1]}://"
    return root + match[2].rstrip("/")


def is_sharded(path: str | Path) -> bool:
    """Return whether there is a sharded index in a folder or at a URL, damaged or not.

    Raises
    ------
    PermissionError, ServerError, MissingDependencyError
        If the URL cannot be read.
    """
    if (url := url_of(path)) is None:
        return is_stored(Path(path), "shards")
    with suppress(FileNotFoundError):
        return is_manifest(RemoteFolder(url).read(MANIFEST), "shards")
    return False


@dataclass(frozen=True, slots=True)
class RemoteFolder:
    """A folder at a URL of fsspec, such as ``s3://bucket/folder``.

    Every method is tried five times (`softcosine._retries`), and raises

    - FileNotFoundError if the object does not exist;
    - PermissionError if it may not be read or written;
    - ServerError for all else that goes wrong with the server or the connection;
    - MissingDependencyError if fsspec, or what it needs for the protocol, is not installed.

    Attributes
    ----------
    url : str
        Without a slash at the end.
    """

    url: str

    def read(self, name: str) -> bytes:
        """Return the content of a small file."""
        return self._tried(name, partial(self._range, name, 0, _LONGEST_MANIFEST))

    def download(self, name: str, target: Path, facts: Mapping[str, Any]) -> None:
        """Write a file to disk.

        Parameters
        ----------
        name : str
        target : Path
            A new file; whoever calls removes it after an error.
        facts : mapping
            Its size and SHA-256, as in a manifest.

        Raises
        ------
        CorruptIndexError
            If it has another size or checksum.
        OSError
            If it cannot be written, for example on a full disk.
        """
        size, digest = facts["bytes"], hashlib.sha256()
        with naming_a_full_disk(target), target.open("xb") as stream:
            for start in range(0, size, _BLOCK):
                end = min(start + _BLOCK, size)
                block = self._tried(name, partial(self._range, name, start, end))
                if len(block) != end - start:
                    told = f"ends at byte {start + len(block):,}, and {size:,} were written"
                    raise CorruptIndexError(f"{self.url}/{name} {told}; copy the index anew.")
                stream.write(block)
                digest.update(block)
        if digest.hexdigest() != facts["sha256"]:
            raise CorruptIndexError(
                f"{self.url}/{name} has another checksum than its manifest states; copy it again."
            )
        sync(target)

    def upload(self, source: Path, name: str) -> None:
        """Write a file of this disk to an object.

        Readers see the old object or the new one, in object storage and at ``file://`` URLs.
        """

        def put() -> None:
            system, path = self._connected(name)
            if self.url.startswith("file:"):  # fsspec writes into the file that readers see
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                with written_beside(Path(path)) as new:
                    shutil.copyfile(source, new)
                    sync(new)
                return
            try:
                system.put_file(os.fspath(source), path)
            except FileNotFoundError:  # of systems with real folders
                system.makedirs(path.rpartition("/")[0], exist_ok=True)
                system.put_file(os.fspath(source), path)

        self._tried(name, put)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; none if it does not exist."""

        def listed() -> list[str]:
            system, path = self._connected(folder)
            system.invalidate_cache()
            return [
                str(one).rstrip("/").rpartition("/")[2] for one in system.ls(path, detail=False)
            ]

        try:
            return self._tried(folder, listed)
        except FileNotFoundError:
            return []

    def remove(self, name: str) -> None:
        """Delete a file or folder, if it exists."""

        def delete() -> None:
            system, path = self._connected(name)
            with suppress(FileNotFoundError):  # an attempt may delete it, and lose the answer
                system.rm(path, recursive=True)

        self._tried(name, delete)

    def _range(self, name: str, start: int, end: int) -> bytes:
        system, path = self._connected(name)
        if system.async_impl:
            from fsspec.asyn import sync as awaited

            limits = {"start": start, "end": end, "timeout": _TIMEOUT}
            content = awaited(system.loop, system._cat_file, path, **limits)
        else:
            content = system.cat_file(path, start=start, end=end)
        if len(content) > end - start:  # an HTTP server without ranges
            content = content[start:end]
        return bytes(content)

    def _connected(self, name: str) -> tuple[Any, str]:
        """Return fsspec's file system, which keeps its connections, and the path of a file."""
        protocol = self.url.partition(":")[0]
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise MissingDependencyError("fsspec", "shards", f"Opening {self.url}") from error
        try:
            system, path = url_to_fs(f"{self.url}/{name}")
        except ImportError as error:
            if protocol in _PACKAGES:
                package, extra = _PACKAGES[protocol]
                raise MissingDependencyError(package, extra, f"Opening {self.url}") from error
            raise InvalidInputError(f"{self.url} cannot be opened by fsspec: {error}") from error
        except ValueError as error:  # an unknown protocol
            raise InvalidInputError(
                f"{self.url} cannot be opened by fsspec: {error}; give such as s3://bucket/folder."
            ) from error
        return system, str(path)

    def _tried(self, name: str, action: Callable[[], _T]) -> _T:
        try:
            return with_retries(action, lambda error: not isinstance(error, _FINAL))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise FileNotFoundError(errno.ENOENT, "no such object", f"{self.url}/{name}") from error
        except PermissionError as error:
            told = "the storage refuses access with the credentials of this process"
            raise PermissionError(errno.EACCES, told, f"{self.url}/{name}") from error
        except (InvalidInputError, MissingDependencyError):
            raise
        except Exception as error:  # each file system has its own
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            raise ServerError(
                self.url.partition(":")[0], f"{self.url}/{name}", f"{said} ({ATTEMPTS} attempts)"
            ) from error
