"""One shard of a build: an index of the epoch with the documents that it owns."""

from __future__ import annotations

import errno
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.cluster.build_plan import BuildPlan
from softcosine.cluster.encoding import EncodedDocuments, coordinates_of
from softcosine.cluster.manifest import BUILT_EPOCH, ShardFacts, shard_folder
from softcosine.cluster.ownership import owned
from softcosine.cluster.tally import Tally
from softcosine.index.directory.commit import SHARED, current_manifest
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.directory.store import Store
from softcosine.index.directory.store_writer import Committed, StoreWriter
from softcosine.index.segment.documents import loaded
from softcosine.index.writer.document import NewDocument
from softcosine.index.writer.index_writer import IndexWriter
from softcosine.storage import sync

__all__ = ["build_shard", "facts_of"]

_TAKEN = (errno.ENOTEMPTY, errno.EEXIST)


def build_shard(
    folder: Path, work: Path, shard: int, n_shards: int, memory: int, encoded: bool
) -> None:
    """Build a shard, unless it is built.

    Parameters
    ----------
    folder : Path
        Of the sharded index, with the epoch.
    work : Path
        Folder of the work, with the tallies of all chunks.
    shard : int
    n_shards : int
    memory : int
        Approximate limit in bytes of buffered documents.
    encoded : bool
        Whether an encoder has read the documents; see `softcosine.cluster.encoding`.

    Raises
    ------
    OSError
        If it cannot be written, for example on a full disk. Nothing is left of it.
    """
    target = folder / shard_folder(shard)
    if target.exists():
        return
    new = work / f"{target.name}.{uuid.uuid4().hex[:12]}.tmp"
    try:
        snapshot, epoch = FolderDirectory.open(folder / BUILT_EPOCH)
        directory = _new_shard(epoch, new)
        fields = [field.name for field in snapshot.fields]
        known = EncodedDocuments() if encoded else None
        # Merged once, at the end: until then nobody searches it.
        with IndexWriter(directory, memory=memory, merge=None, coordinates=known) as writer:
            for number, document, row in _documents(work, shard, n_shards, encoded):
                texts = document.texts
                text = texts[0] if len(fields) == 1 else dict(zip(fields, texts, strict=True))
                metadata = None if document.metadata is None else loaded(document.metadata)
                writer.add(document.id, text, metadata, number=number)
                if known is not None and row is not None:
                    known.add(row)
            writer.merge()
        del writer
        try:
            new.rename(target)
        except OSError as error:
            if error.errno not in _TAKEN:  # else another worker was faster
                raise
        sync(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _new_shard(epoch: FolderDirectory, path: Path) -> FolderDirectory:
    """Make an index without documents under an epoch, with its files by hard links."""
    settings = IndexSettings.from_dict(epoch.generation.settings)

    def fill(writer: StoreWriter) -> Committed:
        parts: dict[str, Any] = {
            kind: writer.adopt(kind, epoch.generation.part(name))
            for kind in SHARED
            if (name := getattr(settings, kind)) is not None
        }
        made = replace(settings, numbered=True, **parts)
        return Committed(made.to_dict(), made.parts)

    Store.create(path, fill)
    return FolderDirectory.open(path)[1]


def facts_of(folder: Path, shard: int) -> ShardFacts:
    """Return the facts of a shard that is built."""
    name = shard_folder(shard)
    manifest = current_manifest(folder / name)
    n_docs = sum(one["n_docs"] for one in manifest["settings"]["segments"])
    return ShardFacts(name, manifest["checksum"], n_docs)


def _documents(
    work: Path, shard: int, n_shards: int, encoded: bool
) -> Iterator[tuple[int, NewDocument, NDArray[np.int8] | None]]:
    """Yield the insertion numbers, the documents of a shard and their coordinates, in order."""
    plan = BuildPlan.read(work)
    first = 0
    for chunk in range(len(plan.chunks)):
        tally = Tally.open(work, plan, chunk)
        rows = coordinates_of(work, chunk) if encoded else None
        for place, document in tally.documents(owned(tally.hashes, shard, n_shards)):
            yield first + place, document, None if rows is None else rows[place]
        first += tally.n_docs
