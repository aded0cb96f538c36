"""Copying a sharded index to a URL, so that readers see one commit of all shards.

As a commit of `ShardedWriter`: the parts of all shards are uploaded, then the manifest of each
shard under a second name, then the manifest of the shards, which makes the commit visible, then the
manifests under their own names. The epoch has a folder of its own name, and is complete before.
Parts that only the replaced commit has are deleted last.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from softcosine._progress import Report, silent
from softcosine.cluster.manifest import ShardsManifest, stated_manifest
from softcosine.errors import AlreadyExistsError, InvalidInputError
from softcosine.index.directory.backup import Uploaded, Uploader
from softcosine.index.directory.commit import NEW, parsed_commit
from softcosine.index.directory.store import Store
from softcosine.storage import MANIFEST
from softcosine.storage.remote import RemoteFolder, url_of

__all__ = ["ShardedBackup", "back_up_shards"]


@dataclass(frozen=True, slots=True)
class ShardedBackup:
    """The result of `ShardedIndex.backup`.

    Attributes
    ----------
    url : str
        Of the copy.
    manifest : ShardsManifest
        Of the copied commit.
    n_bytes : int
        Size of the parts of all shards, the epoch included; shared parts count for each.
    """

    url: str
    manifest: ShardsManifest
    n_bytes: int


def back_up_shards(
    folder: Path,
    url: str | Path,
    *,
    verify: bool,
    overwrite: bool,
    progress: Report | None = None,
) -> ShardedBackup:
    """Copy the last commit of a sharded index to a URL; see `ShardedIndex.backup`."""
    if (to := url_of(url)) is None or url_of(folder) is not None:
        raise InvalidInputError(
            "a sharded index is copied from a folder to a URL, such as s3://bucket/folder or "
            f"file:///folder; {folder} and {url} are not that."
        )
    there = None
    with suppress(FileNotFoundError):
        there = ShardsManifest.read(to)
        if not overwrite:
            raise AlreadyExistsError(f"{to} exists already; choose another URL, or overwrite it.")
        _rename_announced(to, there)
    while True:
        stated = stated_manifest(folder)
        manifest = ShardsManifest.of(stated, folder)
        try:
            copies = _uploaded(folder, to, manifest, verify, progress or silent)
            break
        except OSError:
            if ShardsManifest.read(folder).checksum == manifest.checksum:
                raise  # else a commit has deleted files meanwhile
    for one in copies:
        one.announce()
    Uploader(RemoteFolder(to), verify, silent).publish(stated)
    for one in copies:
        one.end()
    for left in set() if there is None else set(_folders(there)) - set(_folders(manifest)):
        RemoteFolder(to).remove(left)
    return ShardedBackup(to, manifest, sum(one.parts.n_bytes for one in copies))


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
    folder: Path, url: str, manifest: ShardsManifest, verify: bool, progress: Report
) -> list[_Copy]:
    """Upload the parts of a commit of all shards."""
    copies = []
    for name, checksum in _folders(manifest).items():
        uploader = Uploader(RemoteFolder(f"{url}/{name}"), verify, progress)
        old = uploader.last()
        parts = uploader.parts(Store.open(folder / name), old, checksum)
        changed = old is None or old["checksum"] != parts.manifest["checksum"]
        # Readers look for a second manifest in shards only; an epoch's folder is named by content.
        first = MANIFEST if checksum is None else NEW
        copies.append(_Copy(uploader, first, parts, changed))
    return copies


def _folders(manifest: ShardsManifest) -> dict[str, str | None]:
    """Return the folders of the epoch and of all shards, and the commits of those."""
    return {manifest.epoch_folder: None} | {one.folder: one.checksum for one in manifest.shards}


def _rename_announced(url: str, manifest: ShardsManifest) -> None:
    """Finish a copy that ended before or after its manifest of the shards was visible."""
    for shard in manifest.shards:
        uploader = Uploader(RemoteFolder(f"{url}/{shard.folder}"), False, silent)
        with suppress(FileNotFoundError):
            announced = parsed_commit(uploader.remote.read(NEW), uploader.remote.url)
            if announced["checksum"] == shard.checksum:
                uploader.publish(announced)
            uploader.remote.remove(NEW)
