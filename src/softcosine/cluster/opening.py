"""Opening a folder or URL of an index or a sharded index."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from softcosine.cluster.manifest import ShardsManifest
from softcosine.cluster.sharded_index import Engine, ShardedIndex
from softcosine.index.soft_index import SoftIndex
from softcosine.storage.remote import is_sharded

__all__ = ["EitherIndex", "ShardOptions", "epoch_path", "is_sharded", "open_either", "open_epoch"]

EitherIndex = SoftIndex | ShardedIndex


@dataclass(frozen=True, slots=True)
class ShardOptions:
    """Where the shards of a sharded index are searched; see `ShardedIndex.open`."""

    engine: Engine | None = None
    replicas: int = 1
    timeout: float | None = None


def epoch_path(path: str | Path) -> str:
    """Return the path or URL of an index, or of the epoch of a sharded index."""
    return f"{path}/{ShardsManifest.read(path).epoch_folder}" if is_sharded(path) else str(path)


def open_epoch(path: str | Path) -> SoftIndex:
    """Return the index of a folder or URL; of a sharded index its epoch, without documents."""
    return SoftIndex.open(epoch_path(path))


def open_either(path: str | Path, shards: ShardOptions | None = None) -> EitherIndex:
    """Return the index or the sharded index of a folder or URL."""
    if is_sharded(path):
        return ShardedIndex.open(path, **asdict(shards or ShardOptions()))
    return SoftIndex.open(path)
