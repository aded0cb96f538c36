"""Opening a folder that is an index or a sharded index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softcosine.cluster.manifest import KIND
from softcosine.cluster.sharded_index import ShardedIndex
from softcosine.index.soft_index import SoftIndex
from softcosine.storage.manifest import is_stored

__all__ = ["EitherIndex", "is_sharded", "open_either"]

EitherIndex = SoftIndex | ShardedIndex


def is_sharded(path: str | Path) -> bool:
    """Return whether a folder is a sharded index."""
    return is_stored(Path(path), KIND)


def open_either(path: str | Path, **options: Any) -> EitherIndex:
    """Return the index or the sharded index of a folder; the options are those of both."""
    return (ShardedIndex if is_sharded(path) else SoftIndex).open(path, **options)
