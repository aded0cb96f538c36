"""An index in a folder: open, refresh, write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from softcosine.errors import InvalidInputError
from softcosine.index.directory.commit import Commit
from softcosine.index.directory.lock import WriteLock
from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.directory.remote_store import open_store
from softcosine.index.directory.snapshot import IndexedSegment, Snapshot
from softcosine.index.directory.store import Store
from softcosine.index.directory.store_writer import StoreWriter
from softcosine.index.directory.stored import (
    read_coordinates,
    read_segment,
    read_snapshot,
    read_updates,
    write_part,
    write_segment,
    write_snapshot,
)
from softcosine.index.segment.documents import WrittenDocuments
from softcosine.index.segment.positions import Positions
from softcosine.index.segment.segment import Segment
from softcosine.similarity.source import TermSimilaritySource, checked_source
from softcosine.storage.manifest import is_stored

if TYPE_CHECKING:
    from softcosine.index.encoding import IndexEncoder
    from softcosine.matrix.recipe import SimilarityRecipe

Announce = Callable[[str, int], object]


@dataclass(frozen=True, slots=True)
class FolderDirectory:
    """The folder of an index, as of one commit; see `softcosine.index.directory.directory`.

    Attributes
    ----------
    store : Store
    generation : Commit
        The opened commit.
    source : TermSimilaritySource or None
        In place of the one that was kept.
    recipe : SimilarityRecipe or None
        In place of the one that was kept, as long as there is no S.
    encoder : IndexEncoder or None
        For documents and queries, in place of the installed one.
    announce : callable or None
        In a shard, called with the checksum and the number of documents of a commit that is ready;
        see `StoreWriter.commit`.
    """

    store: Store
    generation: Commit
    source: TermSimilaritySource | None = None
    recipe: SimilarityRecipe | None = None
    encoder: IndexEncoder | None = None
    announce: Announce | None = None

    @classmethod
    def open(
        cls,
        path: str | Path,
        source: TermSimilaritySource | None = None,
        *,
        recipe: SimilarityRecipe | None = None,
        encoder: IndexEncoder | None = None,
        verify: bool = False,
        checksum: str | None = None,
    ) -> tuple[Snapshot, Self]:
        """Open the last commit, or one of a given checksum; see `SoftIndex.open`, `Store.read`."""
        store = open_store(path)
        if source is not None:
            checked_source(source)

        def read(generation: Commit) -> tuple[Snapshot, Self]:
            if verify:
                generation.verify()
            snapshot = read_snapshot(generation, source=source, recipe=recipe)
            if verify:
                snapshot.check()
            return snapshot, cls(store, generation, source, recipe, encoder)

        return store.opened(read, checksum=checksum)

    @property
    def reopening(self) -> dict[str, Any]:
        """Arguments of `open` for this commit."""
        return {
            "path": self.store.address, "checksum": self.checksum, "source": self.source,
            "recipe": self.recipe,
        }  # fmt: skip

    @property
    def path(self) -> Path:
        """The folder, or the local copy of an index at a URL."""
        return self.store.path if self.store.keeps_paths else self.generation.path

    @property
    def checksum(self) -> str:
        """Checksum of the commit."""
        return self.generation.checksum

    @property
    def epoch(self) -> str:
        """The epoch of the commit."""
        return self.generation.epoch

    def refreshed(self, snapshot: Snapshot) -> tuple[Snapshot, Self] | None:
        """Open the last commit if it differs from the snapshot's; None otherwise."""
        # Not by its number: the folder may have been replaced by a copy of another index.
        if self.store.checksum() == self.generation.checksum:
            return None
        known = snapshot if self.store.keeps_paths else None

        def read(generation: Commit) -> tuple[Snapshot, Self]:
            newer = read_snapshot(
                generation, source=self.source, recipe=self.recipe, previous=known
            )
            return newer, replace(self, generation=generation)

        return self.store.opened(read, self.generation)

    def writing(self, timeout: float | None) -> FolderWriter:
        """Open the folder for writing; see `Store.writing`."""
        checksum = None
        if self.announce is not None:
            checksum = self.generation.checksum
        elif self.generation.settings.get("numbered") and is_stored(self.path.parent, "shards"):
            raise InvalidInputError(
                f"{self.path} is a shard of {self.path.parent}; change that sharded index."
            )
        make = partial(FolderWriter, directory=self)
        return self.store.writing(timeout, checksum=checksum, make=make)


class FolderWriter(StoreWriter):
    """Writes the next commit of a folder: snapshots and their segments."""

    stores_norms = True

    def __init__(self, base: Commit, *, lock: WriteLock | None, directory: FolderDirectory) -> None:
        super().__init__(base, lock=lock)
        self._directory = directory

    def snapshot(self) -> Snapshot:
        """Open the last commit."""
        own = self._directory
        return read_snapshot(self.base, source=own.source, recipe=own.recipe)

    def write_segment(
        self,
        fields: Sequence[Segment],
        documents: WrittenDocuments,
        positions: Sequence[Positions] | None,
    ) -> IndexedSegment:
        """Write a segment, and open it."""
        return read_segment(self.part(write_segment(self, fields, documents, positions)))

    def write_part(self, kind: str, *values: Any) -> str:
        """Write a part."""
        return write_part(self, kind, *values)

    def write_and_open(self, kind: str, value: Any, n_docs: int) -> tuple[str, Any]:
        """Write a part of a segment of `n_docs` documents, and open it."""
        name = self.write_part(kind, value, n_docs)
        read = {"updates": read_updates, "coordinates": read_coordinates}[kind]
        return name, read(self.part(name), n_docs)

    def epoch_of(self, settings: IndexSettings) -> str:
        """Return the epoch of a commit with these settings."""
        return self.epoch(settings.to_dict())

    def commit_snapshot(self, snapshot: Snapshot) -> int:
        """Make the parts that the snapshot's settings name visible."""
        settings, tell = snapshot.settings, self._directory.announce
        announce = None if tell is None else lambda checksum: tell(checksum, snapshot.n_docs)
        return self.commit(settings.to_dict(), settings.parts, announce).number


def save(snapshot: Snapshot, path: str | Path, *, overwrite: bool) -> None:
    """Write a snapshot as the first commit of a folder; see `SoftIndex.save`."""
    Store.create(
        path, lambda writer: write_snapshot(snapshot.with_norms(), writer), overwrite=overwrite
    )
