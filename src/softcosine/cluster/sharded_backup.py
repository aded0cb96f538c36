"""Copying a sharded index, so that readers see one commit of all shards.

A folder is copied beside its name, and renamed when it is whole. To a URL it goes as a commit of
`ShardedWriter`: the parts of all shards are uploaded, then the manifest of each shard under a
second name, then the manifest of the shards, which makes the commit visible, then the manifests
under their own names. The epoch has a folder of its own name, and is complete before. Parts that
only the replaced commit has are deleted last.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from softcosine._progress import Report, silent
from softcosine.cluster.manifest import KIND, ShardsManifest, stated_manifest
from softcosine.errors import AlreadyExistsError, IndexFormatError
from softcosine.index.directory.backup import (
    Backup,
    Copier,
    Uploaded,
    Uploader,
    check_apart,
    settled,
)
from softcosine.index.directory.commit import NEW, parsed_commit
from softcosine.index.directory.remote_store import open_store
from softcosine.index.directory.store import Store, replacing_index
from softcosine.storage import MANIFEST, checked_path, sync, write_manifest
from softcosine.storage.remote import RemoteFolder, is_sharded, url_of

_T = TypeVar("_T")


def back_up_shards(
    folder: str | Path,
    to: str | Path,
    *,
    links: bool = False,
    verify: bool,
    overwrite: bool,
    progress: Report | None = None,
) -> Backup:
    """Copy the last commit of a sharded index; see `ShardedIndex.backup`."""
    folder, report = url_of(folder) or checked_path(folder).absolute(), progress or silent
    if (url := url_of(to)) is not None:
        return _back_up_to_url(folder, url, verify, overwrite, report)
    target = checked_path(to).absolute()
    if isinstance(folder, Path):
        check_apart(folder, target)
    copier = Copier(links, verify, report)
    with replacing_index(target, KIND, overwrite=overwrite) as work:

        def copy(manifest: ShardsManifest) -> None:
            for name, checksum in _folders(manifest).items():
                with _stored(folder, name, checksum) as store:
                    copier.commit(store, work / name, checksum)

        stated, manifest, _ = _of_one_commit(folder, copy)
        for left in {one.name for one in work.iterdir()} - set(_folders(manifest)):
            shutil.rmtree(work / left)  # the epoch before
        write_manifest(stated, work / MANIFEST)
        sync(work / MANIFEST)
        n_bytes = settled(work)
    return Backup(target, manifest.checksum, manifest.n_docs, n_bytes)


def _back_up_to_url(
    folder: str | Path, url: str, verify: bool, overwrite: bool, report: Report
) -> Backup:
    there = None
    with suppress(FileNotFoundError):
        try:
            there = ShardsManifest.read(url)
        except IndexFormatError:
            if not (overwrite and is_sharded(url)):
                raise
    if there is not None:
        if not overwrite:
            raise AlreadyExistsError(f"{url} exists already; choose another URL, or overwrite it.")
        _rename_announced(url, there)
    stated, manifest, copies = _of_one_commit(
        folder, lambda manifest: _uploaded(folder, url, manifest, verify, report)
    )
    for one in copies:
        one.announce()
    Uploader(RemoteFolder(url), verify, silent).publish(stated)
    for one in copies:
        one.end()
    for left in set() if there is None else set(_folders(there)) - set(_folders(manifest)):
        RemoteFolder(url).remove(left)
    n_bytes = sum(one.parts.n_bytes for one in copies)
    return Backup(url, manifest.checksum, manifest.n_docs, n_bytes)


def _of_one_commit(
    folder: str | Path, copy: Callable[[ShardsManifest], _T]
) -> tuple[dict[str, Any], ShardsManifest, _T]:
    """Return the last manifest, stated and read, and what `copy` makes of its files.

    If a commit deletes files meanwhile, they are those of the newer one.
    """
    while True:
        stated = stated_manifest(folder)
        manifest = ShardsManifest.of(stated, folder)
        try:
            return stated, manifest, copy(manifest)
        except OSError:
            if ShardsManifest.read(folder).checksum == manifest.checksum:
                raise


@contextmanager
def _stored(folder: str | Path, name: str, checksum: str | None) -> Iterator[Store]:
    """Yield a shard, or the epoch; of a URL the local copy of the commit."""
    store = open_store(f"{folder}/{name}")
    commit = None if store.keeps_paths else store.read(checksum=checksum)
    yield store if commit is None else Store(commit.path)
    del commit  # which keeps the copy


@dataclass(frozen=True, slots=True)
class _Copy:
    """A shard, or the epoch, of which all parts are uploaded.

    `first` is the name that its manifest has before the commit is visible.
    """

    uploader: Uploader
    first: str
    parts: Uploaded
    changed: bool

    def announce(self) -> None:
        """Upload the manifest under its first name."""
        if self.changed:
            self.uploader.publish(self.parts.manifest, self.first)

    def end(self) -> None:
        """Upload the manifest under its own name, and delete what is not of this commit."""
        if self.changed and self.first == NEW:
            self.uploader.publish(self.parts.manifest)
            self.uploader.remote.remove(NEW)
        self.uploader.sweep(self.parts.commit)


def _uploaded(
    folder: str | Path, url: str, manifest: ShardsManifest, verify: bool, progress: Report
) -> list[_Copy]:
    """Upload the parts of a commit of all shards."""
    copies = []
    for name, checksum in _folders(manifest).items():
        uploader = Uploader(RemoteFolder(f"{url}/{name}"), verify, progress)
        old = uploader.last(replaced=True)
        with _stored(folder, name, checksum) as store:
            parts = uploader.parts(store, old, checksum)
        changed = old is None or old["checksum"] != parts.manifest["checksum"]
        # Readers look for a second manifest in shards only; an epoch's folder is named by content.
        first = MANIFEST if checksum is None else NEW
        copies.append(_Copy(uploader, first, parts, changed))
    return copies


def _folders(manifest: ShardsManifest) -> dict[str, str | None]:
    """Return the folder names of the epoch and all shards, with the commit of each shard."""
    return {manifest.epoch_folder: None} | {one.folder: one.checksum for one in manifest.shards}


def _rename_announced(url: str, manifest: ShardsManifest) -> None:
    """Finish a copy that ended before or after its manifest of the shards was visible."""
    for shard in manifest.shards:
        uploader = Uploader(RemoteFolder(f"{url}/{shard.folder}"), False, silent)
        with suppress(FileNotFoundError):
            with suppress(IndexFormatError):  # of another version, or altered: it is replaced
                announced = parsed_commit(uploader.remote.read(NEW), uploader.remote.url)
                if announced["checksum"] == shard.checksum:
                    uploader.publish(announced)
            uploader.remote.remove(NEW)
