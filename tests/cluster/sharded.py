"""Small sharded indexes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softcosine.cluster.manifest import ShardFacts, ShardsManifest, epoch_folder, shard_folder
from softcosine.cluster.ownership import owners_of
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.soft_index import SoftIndex


def sharded(
    path: Path,
    texts: list[str],
    *,
    n_shards: int = 3,
    metadata: list[dict[str, Any]] | None = None,
    **options: Any,
) -> SoftIndex:
    """Make a sharded index of texts with the ids d0, d1, ...; return one index of the same."""
    path.mkdir()
    ids = [f"d{number}" for number in range(len(texts))]
    whole = SoftIndex.from_texts(texts, ids=ids, metadata=metadata, **options)
    with whole.writer() as writer:
        writer.freeze()
    whole.shard(path / epoch_folder(whole.epoch))
    owners, facts = owners_of(ids, n_shards).tolist(), []
    for number in range(n_shards):
        shard = whole.shard(path / shard_folder(number), numbered=True)
        with shard.writer() as writer:
            for place, own in enumerate(metadata or [None] * len(texts)):
                if owners[place] == number:
                    writer.add(ids[place], texts[place], own, number=place)
        checksum = FolderDirectory.open(shard.path)[1].checksum
        facts.append(ShardFacts(shard_folder(number), checksum, len(shard)))
    ShardsManifest(whole.epoch, len(texts), tuple(facts)).write(path)
    return whole
