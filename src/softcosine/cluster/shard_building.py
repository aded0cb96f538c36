"""One shard of a build: an index of the epoch with its documents."""

from __future__ import annotations

import errno
import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from softcosine.cluster.build_plan import BuildPlan
from softcosine.cluster.manifest import BUILT_EPOCH, ShardFacts, shard_folder
from softcosine.cluster.ownership import owned
from softcosine.cluster.tally import Tally
from softcosine.encoders.encoder import GivenEncoder
from softcosine.index.directory.commit import SHARED, current_manifest
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.directory.store import Store
from softcosine.index.directory.store_writer import StoreWriter
from softcosine.index.encoding import IndexEncoder
from softcosine.index.segment.documents import loaded
from softcosine.index.writer.document import NewDocument
from softcosine.index.writer.index_writer import IndexWriter
from softcosine.storage import sync

_TAKEN = (errno.ENOTEMPTY, errno.EEXIST)

# The last encoder, by its name or the id of the object, and its cache.
loaded_encoders: dict[tuple[str | int, str | Path | None], tuple[object, IndexEncoder]] = {}


def build_shard(
    folder: Path, work: Path, shard: int, n_shards: int, memory: int, encoder: Any
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
    encoder : tuple of ``encoder`` and ``encoder_cache`` of `SoftIndex.create`, or None
        None if none reads documents.

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
        reader = None if encoder is None else _encoder(*encoder)
        # Merged once, at the end: until then nobody searches it.
        with IndexWriter(directory, memory=memory, merge=None, encoder=reader) as writer:
            for number, document in _documents(work, shard, n_shards):
                texts = document.texts
                text = texts[0] if len(fields) == 1 else dict(zip(fields, texts, strict=True))
                metadata = None if document.metadata is None else loaded(document.metadata)
                writer.add(document.id, text, metadata, number=number)
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

    def fill(writer: StoreWriter) -> tuple[dict[str, Any], Sequence[str]]:
        parts: dict[str, Any] = {
            kind: writer.adopt(kind, epoch.generation.part(name))
            for kind in SHARED
            if (name := getattr(settings, kind)) is not None
        }
        made = replace(settings, numbered=True, **parts)
        return made.to_dict(), made.parts

    Store.create(path, fill)
    return FolderDirectory.open(path)[1]


def facts_of(folder: Path, shard: int) -> ShardFacts:
    """Return the facts of a shard that is built."""
    name = shard_folder(shard)
    manifest = current_manifest(folder / name)
    n_docs = sum(one["n_docs"] for one in manifest["settings"]["segments"])
    return ShardFacts(name, manifest["checksum"], n_docs)


def _documents(work: Path, shard: int, n_shards: int) -> Iterator[tuple[int, NewDocument]]:
    """Yield the insertion numbers and the documents of a shard, in order."""
    plan = BuildPlan.read(work)
    first = 0
    for chunk in range(len(plan.chunks)):
        tally = Tally.open(work, plan, chunk)
        for place, document in tally.documents(owned(tally.hashes, shard, n_shards)):
            yield first + place, document
        first += tally.n_docs


def _encoder(encoder: GivenEncoder, encoder_cache: str | Path | None) -> IndexEncoder:
    """Return an encoder, which a worker needs for many shards; objects need no hash."""
    key = encoder if isinstance(encoder, str) else id(encoder), encoder_cache
    found = loaded_encoders.get(key)
    if found is None:
        found = encoder, IndexEncoder.of(encoder, encoder_cache)  # the object keeps its id
        loaded_encoders.clear()
        loaded_encoders[key] = found
    return found[1]
