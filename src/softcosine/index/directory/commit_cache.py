"""Local copies of commits in object storage, up to a size, shared by processes.

::

    commits/CHECKSUM/    an index folder with the files of one commit, renamed into place when whole
    commits/.CHECKSUM/   the same while it is fetched, or deleted
    locks/CHECKSUM       exclusive while a commit is fetched or deleted, shared while it is open
    locks/all            held while room is made

A part that another commit has too is shared by hard links, so a new commit costs its new parts.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from softcosine._file_lock import FileLock
from softcosine._threads import for_each_chunk, using_threads
from softcosine._validation import size_in
from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.index.directory.commit import PART_NAME, PARTS, current_manifest, part_facts
from softcosine.storage import (
    FORMAT_VERSION,
    MANIFEST,
    copy_folder,
    files_in,
    open_folder,
    parsed_manifest,
    sync,
    write_manifest,
)
from softcosine.storage.home import cache_folder
from softcosine.storage.remote import RemoteFolder

_VARIABLE = "SOFTCOSINE_CACHE_SIZE"
_DEFAULT = 50 << 30  # bytes
_PAUSE = 0.02  # seconds between two attempts to fetch what another process fetches
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)
_ABSENT = 2.0  # seconds after which a commit that is locked but not fetched counts as deleted
_CONNECTIONS = 8  # files fetched at a time


@dataclass(frozen=True, slots=True)
class CommitCache:
    """A folder of copies of commits.

    Attributes
    ----------
    folder : Path
    limit : int
        Bytes of all copies. The least recently opened commits are deleted first; open ones are not.
    """

    folder: Path
    limit: int

    @classmethod
    def of_user(cls) -> Self:
        """Return the cache that the environment names; see `cache_folder`."""
        given = os.environ.get(_VARIABLE, "").strip()
        limit = size_in(given) if given else _DEFAULT
        if limit is None:
            raise InvalidInputError(
                f"{_VARIABLE} is {given!r}; give a size in bytes, or such as 500M or 20G."
            )
        return cls(cache_folder() / "commits", limit)

    def opened(self, remote: RemoteFolder, manifest: dict[str, Any]) -> tuple[Path, FileLock]:
        """Return the folder of a commit, fetched if needed, and the lock that keeps it.

        Parameters
        ----------
        remote : RemoteFolder
            The index.
        manifest : dict
            Of its last commit.

        Raises
        ------
        CorruptIndexError
            If a file has another checksum than its manifest states.
        FileNotFoundError, PermissionError, ServerError
            See `RemoteFolder`.
        OSError
            If the disk is full, or the limit too small beside the commits that are open.
        """
        folder, lock = self._folder(manifest), self._lock(manifest["checksum"])
        for place in (folder.parent, lock.parent):
            place.mkdir(parents=True, exist_ok=True)
        work, absent = self._work(manifest["checksum"]), time.monotonic()
        while True:
            shared = FileLock(lock, shared=True)
            if folder.is_dir():
                with contextlib.suppress(OSError):  # another user's, or a read-only disk
                    os.utime(folder)
                return folder, shared
            shared.release()
            try:
                exclusive = FileLock(lock, timeout=0.0)
            except TimeoutError:  # another process fetches it, or has it open by now: never wait
                if work.is_dir():
                    absent = time.monotonic()
                elif time.monotonic() - absent > _ABSENT:
                    lock.unlink(missing_ok=True)  # another process has the deleted commit open
                time.sleep(_PAUSE)
                continue
            with exclusive:
                if not folder.is_dir():
                    self._fetch(remote, manifest)

    def drop(self, manifest: dict[str, Any]) -> bool:
        """Delete a commit; return False if it is open."""
        return self._deleted(manifest["checksum"])

    def _folder(self, manifest: dict[str, Any]) -> Path:
        checksum: str = manifest["checksum"]
        assert re.fullmatch("[0-9a-f]{64}", checksum)
        return self.folder / checksum

    def _work(self, checksum: str) -> Path:
        """Return the folder into which a commit is fetched."""
        return self.folder / f".{checksum}"

    def _lock(self, checksum: str) -> Path:
        return self.folder.parent / "locks" / checksum

    def _fetch(self, remote: RemoteFolder, manifest: dict[str, Any]) -> None:
        folder, work = self._folder(manifest), self._work(manifest["checksum"])
        shutil.rmtree(work, ignore_errors=True)  # of a process that was killed
        try:
            _Fetching(self, remote, work).all(manifest)
            work.rename(folder)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            self._lock(folder.name).unlink(missing_ok=True)
            raise

    def make_room(self, work: Path) -> None:
        """Delete old commits until one that is being fetched fits.

        Parameters
        ----------
        work : Path
            Its folder, with the manifests of all its parts.
        """
        with FileLock(self._lock("all")):
            for left in self.folder.glob(".*"):
                if left != work:
                    self._deleted(left.name[1:])  # of a killed process, unless it is locked
            oldest = sorted(self.folder.glob("[!.]*"), key=_last_opened)
            sizes = {one: _sizes(one) for one in (*oldest, *self.folder.glob(".*"))}
            for one in oldest:
                if _total(sizes) > self.limit and self._deleted(one.name):
                    del sizes[one]
            if (needed := _total(sizes)) > self.limit:
                raise OSError(
                    errno.ENOSPC,
                    f"{_total({work: sizes[work]}):,} bytes do not fit into this cache beside the "
                    f"indexes that are open; it may hold {self.limit:,} bytes, set {_VARIABLE} to "
                    f"{needed:,} or more",
                    str(self.folder),
                )

    def _deleted(self, checksum: str) -> bool:
        """Delete a commit, unless another process has it locked."""
        file = self._lock(checksum)
        try:
            lock = FileLock(file, timeout=0.0)
        except TimeoutError:
            return False
        with lock:
            folder, work = self.folder / checksum, self._work(checksum)
            with contextlib.suppress(FileNotFoundError):
                folder.rename(work)
            shutil.rmtree(work, ignore_errors=True)
            file.unlink(missing_ok=True)
        return True


@dataclass(frozen=True, slots=True)
class _Fetching:
    """Fetches one commit into a new folder."""

    cache: CommitCache
    remote: RemoteFolder
    work: Path

    def all(self, manifest: dict[str, Any]) -> None:
        """Write the folder of a commit."""
        facts = part_facts(self.work, manifest)
        for name in facts:
            if not PART_NAME.fullmatch(name):
                raise CorruptIndexError(
                    f"{self.remote.url}/{MANIFEST} names a part {name!r}, which is not a valid "
                    "name; delete the index there, and copy it anew."
                )
        (self.work / PARTS).mkdir(parents=True)
        known, new = dict(self._known()), []
        for name, (kind, checksum) in facts.items():
            try:
                part = open_folder(known[checksum], kind)
                copy_folder(part, self.work / PARTS / name, links=True, verify=False)
            except (KeyError, OSError):  # in no other commit, or that is deleted meanwhile
                new.append(name)
        files: list[tuple[str, dict[str, Any]]] = []

        def fetch(number: int, _: int) -> None:
            name, facts = files[number]
            target = self.work / name
            target.parent.mkdir(parents=True, exist_ok=True)
            self.remote.download(name, target, facts)

        with using_threads(_CONNECTIONS):
            for_each_chunk(
                lambda n, _: files.extend(self._part(new[n], *facts[new[n]])), len(new), chunk=1
            )
            self.cache.make_room(self.work)
            files.sort(key=lambda file: -int(file[1]["bytes"]))
            for_each_chunk(fetch, len(files), chunk=1)
        write_manifest(manifest, self.work / MANIFEST)
        sync(self.work / MANIFEST)

    def _known(self) -> Iterator[tuple[str, Path]]:
        """Yield the parts of all commits in the cache, by their checksums."""
        for folder in self.cache.folder.glob("[!.]*"):
            with contextlib.suppress(OSError):  # deleted meanwhile
                for name, (_, checksum) in part_facts(folder, current_manifest(folder)).items():
                    yield checksum, folder / PARTS / name

    def _part(self, name: str, kind: str, stated: str) -> list[tuple[str, dict[str, Any]]]:
        """Write the manifest of a part; return the names and facts of its files."""
        place = f"{PARTS}/{name}"
        content = self.remote.read(f"{place}/{MANIFEST}")
        url = f"{self.remote.url}/{place}"
        manifest = parsed_manifest(content, url, f"{url}/{MANIFEST}", kind, FORMAT_VERSION)
        if manifest["checksum"] != stated:
            raise CorruptIndexError(
                f"{url}/{MANIFEST} is not the one that the index was committed "
                "with; delete the index there, and copy it anew."
            )
        files = files_in(manifest, f"{url}/{MANIFEST}")
        folder = self.work / PARTS / name
        folder.mkdir()
        (folder / MANIFEST).write_bytes(content)
        return [(f"{place}/{file}", facts) for file, facts in files.items()]


def _last_opened(folder: Path) -> float:
    with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
        return folder.stat().st_mtime
    return 0.0


def _sizes(folder: Path) -> dict[str, int]:
    """Return the size of every part of a commit, by its checksum."""
    sizes = {}
    for file in folder.glob(f"{PARTS}/*/{MANIFEST}"):
        with contextlib.suppress(*_UNREADABLE):  # deleted meanwhile, or damaged
            manifest = json.loads(file.read_bytes())
            sizes[manifest["checksum"]] = sum(
                int(facts["bytes"]) for facts in manifest["files"].values()
            )
    return sizes


def _total(sizes: dict[Path, dict[str, int]]) -> int:
    """Return the size of all commits; a part that several have counts once."""
    return sum({part: size for own in sizes.values() for part, size in own.items()}.values())
