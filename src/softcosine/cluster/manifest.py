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

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import msgspec

from softcosine.errors import CorruptIndexError
from softcosine.storage import (
    MANIFEST,
    naming_a_full_disk,
    parsed_manifest,
    read_manifest,
    signed_manifest,
    sync,
    write_manifest,
    written_beside,
)
from softcosine.storage.remote import RemoteFolder, url_of

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
    def read(cls, folder: str | Path) -> Self:
        """Return the manifest of a folder or URL.

        Raises
        ------
        FileNotFoundError
            If there is no such folder.
        IndexFormatError
            If it is no sharded index, or one of another version.
        CorruptIndexError
            If the manifest is altered.
        PermissionError, ServerError
            If a URL cannot be read.
        """
        return cls.of(stated_manifest(folder), folder)

    @classmethod
    def of(cls, stated: dict[str, Any], folder: str | Path) -> Self:
        """Return the manifest of the content of a file; errors name the folder or URL."""
        file = f"{folder}/{MANIFEST}"
        try:
            shards = msgspec.convert(stated["shards"], tuple[ShardFacts, ...])
            epoch, number = str(stated["epoch"]), int(stated["next_number"])
        except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
            raise CorruptIndexError(f"{file} lacks a part: {error!r}; build it anew.") from error
        names = [one.folder for one in shards]
        if not names or names != [shard_folder(number) for number in range(len(names))]:
            raise CorruptIndexError(f"{file} names the shards {names!r:.80}; build it anew.")
        return cls(epoch, number, shards, stated["checksum"])

    def write(self, folder: Path) -> Self:
        """Replace the manifest of the folder atomically; return the manifest as written."""
        shards = [asdict(one) for one in self.shards]
        content = {"epoch": self.epoch, "next_number": self.next_number, "shards": shards}
        with naming_a_full_disk(folder), written_beside(folder / MANIFEST) as new:
            signed = signed_manifest(KIND, VERSION, content)
            write_manifest(signed, new)
            sync(new)
        sync(folder)
        return replace(self, checksum=signed["checksum"])


def stated_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the content of the manifest of a folder or URL; errors as of `ShardsManifest.read`."""
    if (url := url_of(folder)) is None:
        return read_manifest(Path(folder), KIND, VERSION)
    try:
        content = RemoteFolder(url).read(MANIFEST)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no sharded index at {url}: it has no {MANIFEST}."
        ) from None
    return parsed_manifest(content, url, f"{url}/{MANIFEST}", KIND, VERSION)
