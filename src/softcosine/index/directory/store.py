"""An index as a folder of immutable parts and one manifest, whose renaming is the commit.

::

    faq.index/
      manifest.json     the generation: its number, its settings, its parts and their checksums
      write.lock        held by the one writer
      parts/NAME/       stored folders (`softcosine.storage`), each written once and never changed

A part is on disk before a manifest names it, and deleted after no manifest does. So after a crash
at any moment there is the old generation or the new one, whole; what a dead writer left behind is
swept by the next. Readers take no lock: a generation that they have opened stays readable.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self, TypeVar

from softcosine.index.directory.commit import (
    KIND,
    PARTS,
    Commit,
    current_manifest,
    open_commit,
)
from softcosine.index.directory.store_writer import Committed, StoreWriter
from softcosine.index.writer.lock import WriteLock
from softcosine.storage import Folder, check_target, checked_path, replacing

__all__ = ["Commit", "Committed", "Store", "StoreWriter", "replacing_index"]

_T = TypeVar("_T")


class Store:
    """The folder of an index. Use `create` or `open`.

    Attributes
    ----------
    path : Path
    """

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(
        cls,
        path: str | Path,
        fill: Callable[[StoreWriter], Committed],
        *,
        overwrite: bool = False,
    ) -> Self:
        """Make an index so that it is there whole or not at all; see `creating`."""
        with cls.creating(path, fill, overwrite=overwrite):
            pass
        return cls(Path(path).absolute())

    @classmethod
    @contextlib.contextmanager
    def creating(
        cls,
        path: str | Path,
        fill: Callable[[StoreWriter], Committed],
        *,
        overwrite: bool = False,
    ) -> Iterator[Self]:
        """Make an index elsewhere; it takes its place at the end, unless an exception is raised.

        Parameters
        ----------
        path : path of a folder
            Its parent must exist.
        fill : callable
            Writes the first generation's parts, and returns what to commit.
        overwrite : bool
            Whether an index at `path` may be replaced. Who has it open keeps the old one.

        Raises
        ------
        AlreadyExistsError
            If `path` exists and may not be replaced.
        IndexLockedError
            If a writer has the index open that is to be replaced.
        FileNotFoundError
            If the folder's parent does not exist.
        OSError
            If it cannot be written, as where the disk is full.
        """
        with replacing_index(path, overwrite=overwrite) as work:
            (work / PARTS).mkdir()
            base = Commit(work, _last_number(Path(path)), {}, MappingProxyType({}))
            with StoreWriter(base, lock=None) as writer:
                first = fill(writer)
                writer.commit(first.settings, first.parts)
            yield cls(work)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Find an index.

        Raises
        ------
        FileNotFoundError
            If there is nothing at `path`.
        IndexFormatError
            If it is no index, or one of a format that this version does not read.
        CorruptIndexError
            If the manifest was altered.
        """
        current_manifest(checked_path(path))  # whose errors name the path as it was given
        return cls(Path(path).absolute())

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def generation(self) -> int:
        """Return the number of the last commit. Reads the manifest and nothing else."""
        number: int = current_manifest(self.path)["generation"]
        return number

    def checksum(self) -> str:
        """Return the checksum of the last commit. Reads the manifest and nothing else."""
        return str(current_manifest(self.path)["checksum"])

    def read(self, previous: Commit | None = None) -> Commit:
        """Open the last generation: every part's manifest is read, and its files' sizes compared.

        Where a commit deletes parts meanwhile, the newer generation is opened.

        Parameters
        ----------
        previous : Commit, optional
            An earlier one of this index: the parts that it shares are not opened again.

        Raises
        ------
        FileNotFoundError, IndexFormatError
        CorruptIndexError
            If a part is missing or altered; names the file.
        """
        known: Mapping[str, Folder] = {} if previous is None else previous.parts
        while True:
            manifest = current_manifest(self.path)
            try:
                return open_commit(self.path, manifest, known)
            except OSError:
                if current_manifest(self.path)["checksum"] == manifest["checksum"]:
                    raise

    def opened(self, build: Callable[[Commit], _T], previous: Commit | None = None) -> _T:
        """Return what `build` makes of the last generation; again if its files vanish meanwhile.

        What `build` opens stays readable. Arguments and errors otherwise as for `read`.
        """
        while True:
            generation = self.read(previous)
            try:
                return build(generation)
            except OSError:
                if current_manifest(self.path)["checksum"] == generation.checksum:
                    raise

    def writing(self, timeout: float | None = 0.0) -> StoreWriter:
        """Open the index for writing, and sweep what a writer left behind that did not end well.

        Parameters
        ----------
        timeout : float or None
            Seconds to wait while one and the same writer has it open; None waits for ever.

        Raises
        ------
        IndexLockedError
            If another writer has the index open.
        PermissionError
            If nothing may be written there.
        FileNotFoundError, IndexFormatError, CorruptIndexError
        """
        self.generation()  # what is no index gets no lock file
        lock = WriteLock(self.path, timeout=timeout)
        try:
            writer = StoreWriter(self.read(), lock=lock)
            writer.sweep()
            return writer
        except BaseException:
            lock.release()
            raise


@contextlib.contextmanager
def replacing_index(path: str | Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a new folder, which takes the place of an index unless an exception is raised.

    As `softcosine.storage.replacing`, and no writer has the index open that is replaced.

    Raises
    ------
    AlreadyExistsError, FileNotFoundError, OSError
    IndexLockedError
        If a writer has the index open that is to be replaced.
    """
    check_target(path, KIND, overwrite=overwrite)
    target = Path(path).absolute()
    lock = WriteLock(target) if target.exists() else None
    try:
        with replacing(target, KIND, overwrite=overwrite) as work:
            yield work
            if lock is not None and os.name == "nt":
                lock.release()  # a folder with an open file cannot be renamed there
    finally:
        if lock is not None:
            lock.release()


def _last_number(path: Path) -> int:
    """Return the number of the generation that is to be replaced: who polls it sees a change."""
    try:
        number: int = current_manifest(path)["generation"]
        return number
    except OSError:
        return 0
