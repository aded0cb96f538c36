"""One shard of a build: an index of the epoch with its documents, and their coordinates."""

from __future__ import annotations

import errno
import shutil
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Report, silent
from softcosine.cluster.build_plan import BuildPlan
from softcosine.cluster.manifest import BUILT_EPOCH, ShardFacts, shard_folder
from softcosine.cluster.ownership import owned
from softcosine.cluster.tally import Tally
from softcosine.cluster.tasks import once
from softcosine.encoders.encoder import Encoder
from softcosine.index.directory.commit import SHARED, current_manifest
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.directory.store import Store
from softcosine.index.directory.store_writer import Committed, StoreWriter
from softcosine.index.encoding import IndexEncoder
from softcosine.index.segment.documents import loaded
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer.document import NewDocument
from softcosine.index.writer.index_writer import IndexWriter
from softcosine.space.meaning import MeaningSpace
from softcosine.storage import open_folder, sync, write_folder

_TAKEN = (errno.ENOTEMPTY, errno.EEXIST)
_KIND = "coordinates"

# The last encoder, by its name or the id of the object, and its cache.
loaded_encoders: dict[tuple[str | int, str | Path | None], tuple[object, IndexEncoder]] = {}


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
        Whether an encoder has read the documents; see `encode_chunk`.

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


def encode_chunk(
    folder: Path, work: Path, chunk: int, encoder: str | Encoder, cache: str | Path | None
) -> None:
    """Write the coordinates of the documents of a chunk, unless they are written.

    Parameters
    ----------
    folder : Path
        Of the sharded index, with the epoch.
    work : Path
        Folder of the work, with the tally of the chunk.
    chunk : int
    encoder, cache
        See ``encoder`` and ``encoder_cache`` of `SoftIndex.create`.
    """
    with once(_folder(work, chunk)) as target:
        if target is None:
            return
        tally = Tally.open(work, BuildPlan.read(work), chunk)
        epoch = SoftIndex.open(folder / BUILT_EPOCH)
        meaning = epoch.snapshot.meaning
        assert meaning is not None
        texts = [document.shown for _, document in tally.documents(slice(0, tally.n_docs))]
        vectors = np.zeros((0, meaning.dimensions), np.int8)
        if texts:
            reader = _encoder(encoder, cache)
            vectors = reader.documents(meaning, texts, epoch.language, silent)
        write_folder(target, _KIND, {}, {"vectors": vectors})


def coordinates_of(work: Path, chunk: int) -> NDArray[np.int8]:
    """Return the coordinates of the documents of a chunk, by their place in it."""
    return open_folder(_folder(work, chunk), _KIND).array("vectors")


def _folder(work: Path, chunk: int) -> Path:
    return work / f"coordinates-{chunk:06}"


def _encoder(encoder: str | Encoder, cache: str | Path | None) -> IndexEncoder:
    """Return an encoder, which a worker needs for many chunks; objects need no hash."""
    key = encoder if isinstance(encoder, str) else id(encoder), cache
    found = loaded_encoders.get(key)
    if found is None:
        found = encoder, IndexEncoder.of(encoder, cache)  # the object keeps its id
        loaded_encoders.clear()
        loaded_encoders[key] = found
    return found[1]


class EncodedDocuments:
    """The coordinates of documents that a writer is about to read, in the order of their adding.

    A `softcosine.index.writer.pending_commit.DocumentEncoder`.
    """

    def __init__(self) -> None:
        self._rows: deque[NDArray[np.int8]] = deque()

    def add(self, row: NDArray[np.int8]) -> None:
        """Add the coordinates of the next document."""
        self._rows.append(row)

    def __call__(
        self, meaning: MeaningSpace, texts: Sequence[str], language: str | None, report: Report
    ) -> NDArray[np.int8]:
        """Return the coordinates of the next documents, whose texts are given."""
        return np.stack([self._rows.popleft() for _ in texts])
