"""The storage interface of an index, for a folder and for memory.

A *directory* is an index as of one commit. Its *writer* (one at a time) writes segments, deletes,
norms, metadata, S and statistics as named parts. A commit makes the parts that it names visible,
atomically. Implemented in `softcosine.index.directory.folder` and
`softcosine.index.directory.memory`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.directory.snapshot import IndexedSegment, Snapshot
from softcosine.index.query.phrases import Positions
from softcosine.index.segment.coordinates import Coordinates
from softcosine.index.segment.documents import WrittenDocuments
from softcosine.index.segment.metadata_updates import MetadataUpdates
from softcosine.index.segment.segment import Segment

if TYPE_CHECKING:
    from softcosine.index.directory.receipts import Receipt
    from softcosine.index.encoding import IndexEncoder

__all__ = ["Directory", "DirectoryWriter"]


class DirectoryWriter(Protocol):
    """Writes the next commit of an index; nothing is visible before `commit`."""

    @property
    def number(self) -> int:
        """The number of the last commit."""
        ...

    @property
    def scratch(self) -> Path | None:
        """The folder for temporary files; None for that of the system."""
        ...

    @property
    def stores_norms(self) -> bool:
        """Whether a commit computes and stores soft norms."""
        ...

    def snapshot(self) -> Snapshot:
        """Return the last commit."""
        ...

    def is_committed(self, name: str) -> bool:
        """Whether the part belongs to the last commit."""
        ...

    def write_segment(
        self,
        fields: Sequence[Segment],
        documents: WrittenDocuments,
        positions: Sequence[Positions] | None,
    ) -> IndexedSegment:
        """Write a segment, and return it; its attribute `part` is the part name."""
        ...

    def write(self, kind: str, *values: Any) -> str:
        """Write a part; return its name.

        Its values are, for ``deleted``, a mask of live documents; for ``norms``, the soft norms of
        a segment, field by field, and the epoch; for ``meaning``, the space of coordinates; for
        ``space``, S and its source; for ``statistics``, those of all fields and of word pieces.
        """
        ...

    def write_updates(self, updates: MetadataUpdates, n_docs: int) -> tuple[str, MetadataUpdates]:
        """Write updated metadata of a segment; return the part name and the written updates."""
        ...

    def write_coordinates(self, coordinates: Coordinates) -> tuple[str, Coordinates]:
        """Write the coordinates of a segment's documents; return the part name and them."""
        ...

    @property
    def epoch(self) -> str:
        """The epoch of the last commit."""
        ...

    def epoch_of(self, settings: IndexSettings) -> str:
        """Return the epoch of a commit with these settings; empty if norms are not stored."""
        ...

    def verify(self, names: Iterable[str]) -> None:
        """Check the checksums of parts; CorruptIndexError names the file that has changed."""
        ...

    def remember(self, receipt: Receipt) -> None:
        """Store a receipt with the next commit."""
        ...

    def remembered(self, key: str) -> Receipt | None:
        """Return the receipt of a key, if one of the last commits has it."""
        ...

    def commit(self, snapshot: Snapshot) -> int:
        """Make a snapshot the last commit, and delete all parts that it does not name.

        Returns
        -------
        int
            Number of the commit.
        """
        ...

    def drop(self, names: Iterable[str]) -> None:
        """Delete parts written since the last commit that will not be committed."""
        ...

    def discard(self) -> None:
        """Delete all parts written since the last commit."""
        ...

    def close(self) -> None:
        """Delete uncommitted parts, and release the write lock."""
        ...


class Directory(Protocol):
    """The storage of an index, as of one commit."""

    @property
    def path(self) -> Path | None:
        """The folder; None for memory."""
        ...

    @property
    def encoder(self) -> IndexEncoder | None:
        """The encoder given for documents and queries; None for the installed one, if any."""
        ...

    @property
    def checksum(self) -> str:
        """Checksum of the commit; empty for memory."""
        ...

    @property
    def epoch(self) -> str:
        """Checksum of everything that scores depend on; see `SoftIndex.epoch`."""
        ...

    @property
    def reopening(self) -> dict[str, Any]:
        """What another process needs to open this commit; empty for memory."""
        ...

    def refreshed(self, snapshot: Snapshot) -> tuple[Snapshot, Self] | None:
        """Return the last commit if it differs from the snapshot's; None otherwise."""
        ...

    def writing(self, timeout: float | None) -> DirectoryWriter:
        """Open the directory for writing.

        Parameters
        ----------
        timeout : float or None
            Seconds to wait for another writer to close; None waits forever.

        Raises
        ------
        IndexLockedError
            If another writer is still open.
        """
        ...
