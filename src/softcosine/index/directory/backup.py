"""Backup: a copy of one commit of an index, taken while a writer may continue."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from softcosine._progress import Report, silent
from softcosine.errors import AlreadyExistsError, IndexFormatError, InvalidInputError
from softcosine.index.directory.commit import (
    KIND,
    PARTS,
    Commit,
    open_commit,
    parsed_commit,
    part_facts,
)
from softcosine.index.directory.store import Store, replacing_index
from softcosine.index.directory.stored import n_live_docs
from softcosine.storage import (
    MANIFEST,
    Folder,
    checked_path,
    copy_folder,
    sync,
    write_manifest,
)
from softcosine.storage.manifest import is_manifest
from softcosine.storage.remote import RemoteFolder, url_of


@dataclass(frozen=True, slots=True)
class Backup:
    """The result of `SoftIndex.backup` and `ShardedIndex.backup`.

    Attributes
    ----------
    path : Path or str
        The copy, an independent index; a URL is a string.
    commit : str
        Checksum of the copied commit, which the index has as `commit`.
    n_docs : int
        Number of its live documents.
    n_bytes : int
        Size of its files; of shards that of their parts, and shared parts count for each.
    """

    path: Path | str
    commit: str
    n_docs: int
    n_bytes: int


def back_up(
    store: Store,
    to: str | Path,
    *,
    links: bool,
    verify: bool,
    overwrite: bool,
    progress: Report | None = None,
) -> Backup:
    """Copy the last commit of an index; see `SoftIndex.backup`.

    Parameters
    ----------
    progress : callable, optional
        Called with (task, files copied, all files).
    """
    # for an index at a URL, its local copy; this variable keeps it
    kept = None if store.keeps_paths else store.read()
    if kept is not None:
        store = Store(kept.path)
    if (url := url_of(to)) is not None:
        uploader = Uploader(RemoteFolder(url), verify, progress or silent)
        return uploader.backup(store, overwrite=overwrite)
    target = checked_path(to).absolute()
    check_apart(store.path, target)
    copier = Copier(links, verify, progress or silent)
    with replacing_index(target, overwrite=overwrite) as work:
        copy = copier.commit(store, work)
        n_docs, n_bytes = n_live_docs(copy), settled(work)
    return Backup(target, copy.checksum, n_docs, n_bytes)


def check_apart(source: Path, target: Path) -> None:
    """Raise InvalidInputError if the copy is the index itself, inside it, or around it."""
    source, target = source.resolve(), target.resolve()
    if source == target or source in target.parents or target in source.parents:
        raise InvalidInputError(
            f"{target} is the index {source} itself, or one lies inside the other; choose a folder "
            "outside the index."
        )


def settled(work: Path) -> int:
    """Flush all folders of a copy to disk, and return the size of its files in bytes."""
    for folder in (*(path for path in work.rglob("*") if path.is_dir()), work):
        sync(folder)
    return sum(path.stat().st_size for path in work.rglob("*") if path.is_file())


@dataclass(frozen=True, slots=True)
class Copier:
    """Copies stored folders; equal ones, as shards of one epoch have, share their files.

    Attributes
    ----------
    links : bool
        Whether files are shared by hard links if possible.
    verify : bool
        Whether to check the checksum of every copied file.
    progress : callable
    copied : dict of checksums to Path
    """

    links: bool
    verify: bool
    progress: Report
    copied: dict[str, Path] = field(default_factory=dict)

    def commit(self, store: Store, work: Path, checksum: str | None = None) -> Commit:
        """Copy all parts of a commit, then its manifest, to a folder; return the copy.

        What an earlier call has copied to the folder is not copied again, or deleted.

        Parameters
        ----------
        store : Store
        work : Path
        checksum : str, optional
            Of the commit; CommitNotFoundError if the folder has another by now. By default the last
            one, and the missing parts of a newer one if parts are deleted meanwhile. Large parts
            come first, because they are replaced least often.
        """
        copied: dict[str, Folder] = {}
        (work / PARTS).mkdir(parents=True, exist_ok=True)
        while True:
            manifest = store.manifest(checksum)
            try:
                parts = open_commit(store.path, manifest, copied).parts
                for name in sorted(parts.keys() - copied.keys(), key=lambda n: -_n_bytes(parts[n])):
                    self.folder(parts[name], work / PARTS / name)
                    copied[name] = parts[name]
            # Windows reports a file that is being deleted as unreadable.
            except (IndexFormatError, FileNotFoundError, PermissionError):
                if store.manifest(checksum)["checksum"] == manifest["checksum"]:
                    raise
                continue
            for part in (work / PARTS).iterdir():
                if part.name not in parts:
                    shutil.rmtree(part)
            write_manifest(manifest, work / MANIFEST)
            sync(work / MANIFEST)
            return open_commit(work, manifest, {})

    def folder(self, source: Folder, target: Path) -> None:
        """Copy a stored folder completely, unless it is copied, or leave nothing."""
        if target.exists():
            return
        first = self.copied.setdefault(source.checksum, target)
        twin = first != target and first.exists()
        copy_folder(
            replace(source, path=first) if twin else source, target,
            links=self.links or twin, verify=self.verify and not twin, progress=self.progress,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A commit of which all parts are at a URL.

    Attributes
    ----------
    commit : Commit
    manifest : dict
        Of the commit; see `Uploader.publish`.
    n_docs : int
        Number of live documents.
    n_bytes : int
        Size of the parts, those that were there already included.
    """

    commit: Commit
    manifest: dict[str, Any]
    n_docs: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class Uploader:
    """Copies an index to a URL: parts first, then the manifest, which makes the commit visible."""

    remote: RemoteFolder
    verify: bool
    progress: Report

    def backup(self, store: Store, *, overwrite: bool) -> Backup:
        """Upload the last commit, and delete parts that only the replaced one has."""
        if (old := self.last(replaced=overwrite)) is not None and not overwrite:
            raise AlreadyExistsError(
                f"{self.remote.url} exists already; choose another URL, or overwrite it."
            )
        parts = self.parts(store, old)
        n_bytes = parts.n_bytes + self.publish(parts.manifest)
        self.sweep(parts.commit)
        return Backup(self.remote.url, parts.commit.checksum, parts.n_docs, n_bytes)

    def last(self, *, replaced: bool = False) -> dict[str, Any] | None:
        """Return the manifest of the commit at the URL; None without a commit.

        Parameters
        ----------
        replaced : bool
            Whether that of another format version, or an altered one, counts as none.
        """
        with contextlib.suppress(FileNotFoundError):
            content = self.remote.read(MANIFEST)
            try:
                return parsed_commit(content, self.remote.url)
            except IndexFormatError:
                if not (replaced and is_manifest(content, KIND)):
                    raise
        return None

    def parts(
        self, store: Store, old: Mapping[str, Any] | None, checksum: str | None = None
    ) -> Uploaded:
        """Upload the parts of a commit that are not there.

        Parameters
        ----------
        store : Store
        old : mapping or None
            The manifest at the URL.
        checksum : str, optional
            Of the commit; CommitNotFoundError if the folder has another by now. By default the last
            one, and a newer one if parts are deleted meanwhile.
        """
        facts = {} if old is None else part_facts(Path(), dict(old))
        there = {name: own for name, (_, own) in facts.items()}
        while True:
            manifest = store.manifest(checksum)
            try:
                commit = open_commit(store.path, manifest, {})
                for name, part in commit.parts.items():
                    if there.get(name) != part.checksum:
                        self._part(part, f"{PARTS}/{name}")
                        there[name] = part.checksum
                n_bytes = sum(
                    _n_bytes(part) + (part.path / MANIFEST).stat().st_size
                    for part in commit.parts.values()
                )
                n_docs = n_live_docs(commit)
            except (IndexFormatError, FileNotFoundError):
                if store.manifest(checksum)["checksum"] == manifest["checksum"]:
                    raise
            else:
                return Uploaded(commit, manifest, n_docs, n_bytes)

    def publish(self, manifest: Mapping[str, Any], name: str = MANIFEST) -> int:
        """Upload the manifest of a commit, or of shards; return its size."""
        with tempfile.TemporaryDirectory() as work:
            file = Path(work) / MANIFEST
            write_manifest(manifest, file)
            self.remote.upload(file, name)
            return file.stat().st_size

    def sweep(self, commit: Commit) -> None:
        """Delete the parts that a commit does not have."""
        for name in self.remote.names(PARTS):
            if name not in commit.parts:
                self.remote.remove(f"{PARTS}/{name}")

    def _part(self, part: Folder, name: str) -> None:
        if self.verify:
            part.verify()
        for done, file in enumerate((*part.files, MANIFEST)):
            self.progress(f"copying {part.path.name}", done, len(part.files) + 1)
            self.remote.upload(part.path / file, f"{name}/{file}")


def _n_bytes(folder: Folder) -> int:
    return sum(int(facts["bytes"]) for facts in folder.files.values())
