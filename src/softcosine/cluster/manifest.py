"""The folder of a sharded index and its manifest.

::

    big.shards/
      manifest.json    what `ShardsManifest` holds; renamed into place when all shards are complete
      write.lock       held while the shards are built or changed
      epoch-.../       an index without documents, frozen: S, statistics, space of meaning
      shard-0000/ ...  indexes of that epoch
      work/            only while the shards are built
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from softcosine.errors import CorruptIndexError
from softcosine.storage import (
    MANIFEST,
    naming_a_full_disk,
    read_manifest,
    signed_manifest,
    sync,
    write_manifest,
    written_beside,
)

__all__ = [
    "BUILT_EPOCH",
    "KIND",
    "VERSION",
    "ShardFacts",
    "ShardsManifest",
    "epoch_folder",
    "shard_folder",
]

KIND, VERSION = "shards", 1
BUILT_EPOCH = "epoch"  # folder of the index without documents, until its shards are built


def shard_folder(number: int) -> str:
    """Return the name of a shard's folder."""
    return f"shard-{number:04}"


def epoch_folder(epoch: str) -> str:
    """Return the name of the folder of the index without documents."""
    return f"epoch-{epoch}"


@dataclass(frozen=True, slots=True)
class ShardFacts:
    """The commit of a shard that belongs to the sharded index.

    Attributes
    ----------
    folder : str
        Name inside the folder of the sharded index.
    checksum : str
        Of the shard's manifest.
    n_docs : int
        Number of live documents.
    """

    folder: str
    checksum: str
    n_docs: int


@dataclass(frozen=True, slots=True)
class ShardsManifest:
    """The manifest of a sharded index.

    Attributes
    ----------
    epoch : str
        Of every shard, and of the index without documents in `epoch_folder`.
    next_number : int
        The next insertion number; greater than that of every document.
    shards : tuple of ShardFacts
        In the order of `softcosine.cluster.ownership.owner_of`.
    checksum : str
        Of the file; empty before it is written.
    """

    epoch: str
    next_number: int
    shards: tuple[ShardFacts, ...]
    checksum: str = ""

    @property
    def epoch_folder(self) -> str:
        """Name of the folder of the index without documents."""
        return epoch_folder(self.epoch)

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.shards)

    @property
    def n_docs(self) -> int:
        """Number of live documents of all shards."""
        return sum(one.n_docs for one in self.shards)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the manifest of a folder.

        Raises
        ------
        FileNotFoundError
            If there is no such folder.
        IndexFormatError
            If it is no sharded index, or one of another version.
        CorruptIndexError
            If the manifest is altered.
        """
        stated = read_manifest(folder, KIND, VERSION)
        try:
            shards = tuple(map(_facts, stated["shards"]))
            read = cls(str(stated["epoch"]), int(stated["next_number"]), shards, stated["checksum"])
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptIndexError(
                f"{folder / MANIFEST} lacks a part of a sharded index: {error!r}; build it anew."
            ) from error
        names = [one.folder for one in read.shards]
        if not names or names != [shard_folder(number) for number in range(len(names))]:
            raise CorruptIndexError(
                f"{folder / MANIFEST} names the shards {names!r:.80}; build it anew."
            )
        return read

    def write(self, folder: Path) -> Self:
        """Write the manifest, replacing that of the folder atomically; return it as written."""
        content = {
            "epoch": self.epoch,
            "next_number": self.next_number,
            "shards": [asdict(one) for one in self.shards],
        }
        with naming_a_full_disk(folder), written_beside(folder / MANIFEST) as new:
            signed = signed_manifest(KIND, VERSION, content)
            write_manifest(signed, new)
            sync(new)
        sync(folder)
        return replace(self, checksum=signed["checksum"])


def _facts(stated: Mapping[str, Any]) -> ShardFacts:
    return ShardFacts(str(stated["folder"]), str(stated["checksum"]), int(stated["n_docs"]))
