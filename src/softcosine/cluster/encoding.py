"""Coordinates of the documents of a chunk, where a sentence encoder reads them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Report, silent
from softcosine.cluster.build_plan import BuildPlan
from softcosine.cluster.manifest import BUILT_EPOCH
from softcosine.cluster.tally import Tally
from softcosine.cluster.tasks import once
from softcosine.encoders.encoder import Encoder
from softcosine.index.encoding import IndexEncoder
from softcosine.index.soft_index import SoftIndex
from softcosine.space.meaning import MeaningSpace
from softcosine.storage import open_folder, write_folder

__all__ = ["EncodedDocuments", "coordinates_of", "encode_chunk", "loaded_encoders"]

_KIND = "coordinates"

# The last encoder, by its name or the id of the object, and its cache.
loaded_encoders: dict[tuple[str | int, str | Path | None], tuple[object, IndexEncoder]] = {}


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
