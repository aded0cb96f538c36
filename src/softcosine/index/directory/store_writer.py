"""The writer of an index folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.directory.commit import (
    KIND,
    NEW,
    PART_NAME,
    PARTS,
    SHARED,
    VERSION,
    Commit,
    current_manifest,
    epoch_of,
    open_commit,
    patiently,
)
from softcosine.index.directory.lock import FORKED, WriteLock
from softcosine.storage import (
    MANIFEST,
    Folder,
    check_folder,
    copy_folder,
    fill_folder,
    naming_a_full_disk,
    open_folder,
    signed_manifest,
    sync,
    write_manifest,
)

_USER = getattr(os, "geteuid", lambda: 0)()


class StoreWriter:
    """Writes parts and commits some of them; returned by `Store.writing`.

    As a context manager it deletes uncommitted parts on exit. Use it from one thread at a time.

    Attributes
    ----------
    base : Commit
        The last commit.
    """

    def __init__(self, base: Commit, *, lock: WriteLock | None) -> None:
        self.base = base
        self._lock = lock
        self._written: dict[str, Folder] = {}
        self._unrenamed = False  # whether the last commit was announced, but not renamed
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def write(
        self,
        kind: str,
        settings: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        files: Mapping[str, Callable[[Path], None]] | None = None,
    ) -> str:
        """Write a part; it is not visible before a commit names it.

        Parameters
        ----------
        kind : str
            Lower-case letters.
        settings, arrays, files
            See `softcosine.storage.write_folder`.

        Returns
        -------
        str
            Name of the part.

        Raises
        ------
        OSError
            If it cannot be written, for example on a full disk. Nothing is left of it.
        InvalidInputError
            If `settings` contain values that JSON cannot represent.
        """

        def fill(folder: Path) -> None:
            folder.mkdir()
            shared = self._shared if kind == "space" else None
            fill_folder(folder, kind, settings, arrays, files=files, shared=shared)

        return self._filled(kind, fill)

    def adopt(self, kind: str, part: Folder) -> str:
        """Add a part of another index, by hard links if possible, otherwise by copies.

        Parts never change, so both indexes stay independent.

        Returns
        -------
        str
            Name of the part in this index.

        Raises
        ------
        CorruptIndexError
            If one of its files has changed since it was written.
        OSError
            As in `write`.
        """

        def fill(folder: Path) -> None:
            copy_folder(part, folder, links=True)
            for inner in (*(path for path in folder.rglob("*") if path.is_dir()), folder):
                sync(inner)

        return self._filled(kind, fill)

    def _shared(self, digest: str) -> Path | None:
        """Return a file of S or its source with a given SHA-256, here or in an adjacent index.

        Word vectors are the same file in all indexes that use them, and in all commits.
        """
        for manifest in self.base.path.parent.glob(f"*/{PARTS}/space-*/{MANIFEST}"):
            with contextlib.suppress(OSError):  # not an index, or one being written
                for name, facts in open_folder(manifest.parent, "space").files.items():
                    file = manifest.parent / name
                    # Other users must not be able to change a file of this index.
                    if facts["sha256"] == digest and file.stat().st_uid == _USER:
                        return file
        return None

    def _filled(self, kind: str, fill: Callable[[Path], None]) -> str:
        """Write a new part; return its name."""
        self._check_open()
        name = f"{kind}-{uuid.uuid4().hex[:16]}"
        assert PART_NAME.fullmatch(name), kind
        folder = self.base.path / PARTS / name
        try:
            with naming_a_full_disk(folder):
                check_folder(folder.parent)
                fill(folder)
                self._written[name] = open_folder(folder, kind)
        except BaseException:
            self._written.pop(name, None)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return name

    @property
    def number(self) -> int:
        """The number of the last commit."""
        return self.base.number

    @property
    def path(self) -> Path:
        """The folder of the index."""
        return self.base.path

    def is_committed(self, name: str) -> bool:
        """Whether a part belongs to the last commit."""
        return name in self.base.parts

    def verify(self, names: Iterable[str]) -> None:
        """Check the checksums of parts."""
        for name in names:
            self.part(name).verify()

    def part(self, name: str) -> Folder:
        """Return a part of the last commit, or one written since."""
        if name in self._written:
            return self._written[name]
        return self.base.part(name)

    def epoch(self, settings: Mapping[str, Any]) -> str:
        """Return the epoch of a commit with these settings."""
        named = (settings.get(kind) for kind in SHARED)
        return epoch_of(
            settings, {name: self.part(name).checksum for name in named if name is not None}
        )

    def commit(
        self,
        settings: Mapping[str, Any],
        parts: Iterable[str],
        announce: Callable[[str], object] | None = None,
    ) -> Commit:
        """Commit parts, then delete all others.

        The commit is one renaming. If it fails, nothing has changed, and it can be tried again.

        Parameters
        ----------
        settings : mapping
            JSON-serialisable.
        parts : iterable of str
            Names of parts of the last commit, or written since.
        announce : callable, optional
            Called with the checksum of the commit when it is ready to be renamed. Once it returns,
            the commit stands, whatever happens to the renaming; if it raises, nothing has changed.

        Raises
        ------
        OSError
            If it cannot be written, for example on a full disk.
        InvalidInputError
            If `settings` contain values that JSON cannot represent.
        """
        self._check_open()
        path, number = self.base.path, self.base.number + 1
        opened = {name: self.part(name) for name in dict.fromkeys(parts)}
        manifest = signed_manifest(
            KIND,
            VERSION,
            {
                "generation": number,
                "epoch": self.epoch(settings),
                "settings": dict(settings),
                "parts": {
                    name: {"kind": part.kind, "checksum": part.checksum}
                    for name, part in opened.items()
                },
            },
        )
        generation = open_commit(path, manifest, opened)
        new, announced = path / NEW, False
        try:
            with naming_a_full_disk(path):
                if self._unrenamed:
                    patiently(lambda: new.replace(path / MANIFEST))
                    self._unrenamed = False
                sync(path / PARTS)
                write_manifest(manifest, new)
                sync(new)
                if announce is not None:
                    sync(path)
                    announce(generation.checksum)
                    announced = True
                patiently(lambda: new.replace(path / MANIFEST))
        finally:
            # An interrupt can come right after the renaming: check what readers see.
            visible = (self._visible() or {}).get("checksum") == generation.checksum
            if visible or announced:
                self.base, self._written, self._unrenamed = generation, {}, not visible
            elif not self._unrenamed:
                with contextlib.suppress(OSError):
                    new.unlink(missing_ok=True)
        with naming_a_full_disk(path):
            sync(path)
        self.sweep()
        return self.base

    def drop(self, names: Iterable[str]) -> None:
        """Delete parts written since the last commit that will not be committed."""
        for name in names:
            if self._written.pop(name, None) is not None:
                shutil.rmtree(self.base.path / PARTS / name, ignore_errors=True)

    def discard(self) -> None:
        """Delete all parts written since the last commit."""
        self._written = {}
        self.sweep()

    def sweep(self) -> None:
        """Delete every part that is neither in the last commit nor written since.

        A part that the system cannot delete (on Windows, if a reader has it open) stays for the
        next sweep. Links are not followed: their target belongs to another index.
        """
        visible = self._visible()
        if visible is None or self._unrenamed:
            return
        kept = {*visible.get("parts", {}), *self._written}
        with contextlib.suppress(OSError):
            (self.base.path / NEW).unlink(missing_ok=True)
            check_folder(self.base.path / PARTS)
            for folder in list((self.base.path / PARTS).iterdir()):
                if PART_NAME.fullmatch(folder.name) and folder.name not in kept:
                    shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Delete uncommitted parts, and release the write lock."""
        if self._closed:
            return
        try:
            if self._lock is None or self._lock.held:
                self.discard()
        finally:
            self._closed = True
            if self._lock is not None:
                self._lock.release()

    def _visible(self) -> dict[str, Any] | None:
        """Return the manifest that readers see; empty without one, None if it is unreadable."""
        try:
            return current_manifest(self.base.path)
        except OSError:
            first = not self.base.parts and not (self.base.path / MANIFEST).exists()
            return {} if first else None

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidInputError("this writer is closed; open another one.")
        if self._lock is not None and not self._lock.held:
            raise InvalidInputError(FORKED)
