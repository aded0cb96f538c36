"""One shard of a build: an index of the epoch with the documents that it owns."""

from __future__ import annotations

import errno
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from softcosine.cluster.build_plan import BuildPlan
from softcosine.cluster.manifest import EPOCH, ShardFacts, shard_folder
from softcosine.cluster.ownership import owned
from softcosine.cluster.tally import Tally
from softcosine.index.directory.commit import current_manifest
from softcosine.index.segment.documents import loaded
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer.document import NewDocument
from softcosine.storage import sync

__all__ = ["build_shard", "facts_of"]

_TAKEN = (errno.ENOTEMPTY, errno.EEXIST)


def build_shard(folder: Path, work: Path, shard: int, n_shards: int, memory: int) -> None:
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
        index = SoftIndex.open(folder / EPOCH).shard(new, numbered=True)
        fields = [field.name for field in index.fields]
        # Merged once, at the end: until then nobody searches it.
        with index.writer(memory=memory, merge=None) as writer:
            for number, document in _documents(work, shard, n_shards):
                texts = document.texts
                text = texts[0] if len(fields) == 1 else dict(zip(fields, texts, strict=True))
                metadata = None if document.metadata is None else loaded(document.metadata)
                writer.add(document.id, text, metadata, number=number)
            writer.merge()
        del index, writer
        try:
            new.rename(target)
        except OSError as error:
            if error.errno not in _TAKEN:  # else another worker was faster
                raise
        sync(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def facts_of(folder: Path, shard: int) -> ShardFacts:
    """Return the facts of a shard that is built."""
    name = shard_folder(shard)
    manifest = current_manifest(folder / name)
    n_docs = sum(one["n_docs"] for one in manifest["settings"]["segments"])
    return ShardFacts(name, manifest["checksum"], n_docs)


def _documents(work: Path, shard: int, n_shards: int) -> Iterator[tuple[int, NewDocument]]:
    """Yield the documents of a shard with their insertion numbers, in order."""
    plan = BuildPlan.read(work)
    first = 0
    for chunk in range(len(plan.chunks)):
        tally = Tally.open(work, plan, chunk)
        for place, document in tally.documents(owned(tally.hashes, shard, n_shards)):
            yield first + place, document
        first += tally.n_docs
