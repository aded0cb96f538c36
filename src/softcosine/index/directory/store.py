"""The folder of an index: immutable parts and one manifest; renaming the manifest commits.

::

    faq.index/
      manifest.json     the commit: its number, settings, parts and their checksums
      write.lock        held by the writer
      parts/NAME/       stored folders (`softcosine.storage`), each written once and never changed

A part is synced to disk before a manifest names it, and deleted after no manifest names it. So a
crash at any moment leaves the old commit or the new one, complete. The next writer deletes parts
that a crashed writer left. Readers take no lock: a commit that they have opened stays readable.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar

from softcosine.errors import CommitNotFoundError, IndexFormatError
from softcosine.index.directory.commit import (
    KIND,
    NEW,
    PARTS,
    Commit,
    current_manifest,
    open_commit,
)
from softcosine.index.directory.lock import WriteLock
from softcosine.index.directory.store_writer import StoreWriter
from softcosine.storage import MANIFEST, Folder, check_target, checked_path, replacing, sync

__all__ = ["Commit", "Store", "StoreWriter", "replacing_index"]

_T = TypeVar("_T")
_W = TypeVar("_W", bound=StoreWriter)
# Writes the parts of a first commit; returns the settings and the names of the parts.
Fill = Callable[[StoreWriter], tuple[dict[str, Any], Sequence[str]]]


class Store:
    """The folder of an index; made by `create` or `open`.

    Attributes
    ----------
    path : Path
    """

    __slots__ = ("path",)

    keeps_paths = True  # a part has the same path in all commits

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(
        cls,
        path: str | Path,
        fill: Fill,
        *,
        overwrite: bool = False,
    ) -> Self:
        """Make an index atomically; see `creating`."""
        with cls.creating(path, fill, overwrite=overwrite):
            pass
        return cls(Path(path).absolute())

    @classmethod
    @contextlib.contextmanager
    def creating(
        cls,
        path: str | Path,
        fill: Fill,
        *,
        overwrite: bool = False,
    ) -> Iterator[Self]:
        """Make an index in a temporary folder, and rename it to `path` if no exception is raised.

        Parameters
        ----------
        path : path of a folder
            Its parent must exist.
        fill : callable
            Writes the parts of the first commit, and returns what to commit.
        overwrite : bool
            Whether to replace an index at `path`. Open readers keep the old one.

        Raises
        ------
        AlreadyExistsError
            If `path` exists and must not be replaced.
        IndexLockedError
            If a writer has the index at `path` open.
        FileNotFoundError
            If the parent of `path` does not exist.
        OSError
            If the index cannot be written, for example on a full disk.
        """
        with replacing_index(path, overwrite=overwrite) as work:
            (work / PARTS).mkdir()
            base = Commit(work, _last_number(Path(path)), {}, MappingProxyType({}))
            with StoreWriter(base, lock=None) as writer:
                writer.commit(*fill(writer))
            yield cls(work)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Return the index in a folder.

        Raises
        ------
        FileNotFoundError
            If `path` does not exist.
        IndexFormatError
            If it is not an index, or has a format that this version cannot read.
        CorruptIndexError
            If the manifest was altered.
        """
        current_manifest(checked_path(path))  # first, so that errors name the path as given
        return cls(Path(path).absolute())

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    @property
    def address(self) -> str | Path:
        """What opens this index in another process: its path."""
        return self.path

    def generation(self) -> int:
        """Return the number of the last commit; reads only the manifest."""
        number: int = self._manifest()["generation"]
        return number

    def checksum(self) -> str:
        """Return the checksum of the last commit; reads only the manifest."""
        return str(self._manifest()["checksum"])

    def manifest(self, checksum: str | None = None) -> dict[str, Any]:
        """Return the manifest of a commit, by default the last one.

        Raises
        ------
        CommitNotFoundError
            If there is another commit by now.
        """
        if checksum is None:
            return self._manifest()
        # In this order, a manifest that is renamed meanwhile is found.
        for name in (MANIFEST, NEW, MANIFEST):
            with contextlib.suppress(FileNotFoundError, IndexFormatError):
                manifest = self._manifest(name)
                if manifest["checksum"] == checksum:
                    return manifest
        raise CommitNotFoundError(
            f"{self.address} no longer has the commit {checksum[:16]}; its last one is "
            f"{self.checksum()[:16]}."
        )

    def _manifest(self, name: str = MANIFEST) -> dict[str, Any]:
        return current_manifest(self.path, name)

    def read(self, previous: Commit | None = None, checksum: str | None = None) -> Commit:
        """Open the last commit: reads the manifest of every part and checks file sizes.

        If another commit deletes parts during this call, the newer commit is opened.

        Parameters
        ----------
        previous : Commit, optional
            An earlier commit of this index; shared parts are not opened again.
        checksum : str, optional
            Open this commit only; CommitNotFoundError if the index has another one.

        Raises
        ------
        FileNotFoundError, IndexFormatError
        CorruptIndexError
            If a part is missing or altered; the message names the file.
        """
        return self.opened(lambda commit: commit, previous, checksum)

    def opened(
        self,
        build: Callable[[Commit], _T],
        previous: Commit | None = None,
        checksum: str | None = None,
    ) -> _T:
        """Return `build` applied to the last commit; retried if its files are deleted meanwhile.

        Files that `build` opens stay readable. Other parameters and errors as in `read`.
        """
        known: Mapping[str, Folder] = {} if previous is None else previous.parts
        while True:
            manifest = self.manifest(checksum)
            try:
                return build(open_commit(self.path, manifest, known))
            except OSError:
                if self.manifest(checksum)["checksum"] == manifest["checksum"]:
                    raise

    def writing(
        self,
        timeout: float | None = 0.0,
        *,
        checksum: str | None = None,
        make: Callable[..., _W] = StoreWriter,  # type: ignore[assignment]
    ) -> _W:
        """Open the index for writing, and delete what a crashed writer left.

        Parameters
        ----------
        timeout : float or None
            Seconds to wait for another writer to close; None waits forever.
        checksum : str, optional
            Of the commit to continue, if the shards decide; what a crashed writer has announced,
            but not renamed, becomes the last commit first.
        make : callable, optional
            Makes the writer of a commit and a lock.

        Raises
        ------
        IndexLockedError
            If another writer has the index open.
        PermissionError
            If the folder is read-only.
        FileNotFoundError, IndexFormatError, CorruptIndexError
        """
        self.generation()  # first, so that no lock file is made in other folders
        lock = WriteLock(self.path, timeout=timeout)
        try:
            if checksum is not None and self.checksum() != checksum:
                self.manifest(checksum)
                (self.path / NEW).replace(self.path / MANIFEST)
                sync(self.path)
            writer = make(self.read(), lock=lock)
            writer.sweep()
            return writer
        except BaseException:
            lock.release()
            raise


@contextlib.contextmanager
def replacing_index(path: str | Path, kind: str = KIND, *, overwrite: bool) -> Iterator[Path]:
    """Yield a new folder, which replaces an index on exit unless an exception is raised.

    Like `softcosine.storage.replacing`, while holding the write lock of the replaced index.

    Raises
    ------
    AlreadyExistsError, FileNotFoundError, OSError
    IndexLockedError
        If a writer has the replaced index open.
    """
    check_target(path, kind, overwrite=overwrite)
    target = Path(path).absolute()
    lock = WriteLock(target) if target.exists() else None
    try:
        with replacing(target, kind, overwrite=overwrite) as work:
            yield work
            if lock is not None and os.name == "nt":
                lock.release()  # Windows cannot rename a folder with an open file
    finally:
        if lock is not None:
            lock.release()


def _last_number(path: Path) -> int:
    """Return the commit number of the replaced index, so that readers that poll see a change."""
    try:
        number: int = current_manifest(path)["generation"]
        return number
    except OSError:
        return 0
