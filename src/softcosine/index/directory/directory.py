"""Where an index is kept: a folder or memory, behind one interface.

A *directory* holds the last commit. Its *writer*, of which there is one at a time, takes segments,
deletions, norms, metadata, similarities and statistics under names, and makes those that a commit
names visible at once. `softcosine.index.directory.folder` and `softcosine.index.directory.memory`
are the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.index.directory.manifest import IndexSettings, SegmentSettings
from softcosine.index.directory.snapshot import IndexedSegment, Snapshot
from softcosine.index.query.phrases import Positions
from softcosine.index.segment.documents import WrittenDocuments
from softcosine.index.segment.metadata_updates import MetadataUpdates
from softcosine.index.segment.segment import Segment
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.source import TermSimilaritySource

if TYPE_CHECKING:
    from softcosine.index.directory.commit import Commit

__all__ = ["Directory", "DirectoryWriter"]


class DirectoryWriter(Protocol):
    """Writes the next commit of an index; nothing of it is visible before `commit`."""

    @property
    def number(self) -> int:
        """The number of the last commit."""
        ...

    @property
    def scratch(self) -> Path | None:
        """The folder for temporary files; None for the system's."""
        ...

    @property
    def stores_norms(self) -> bool:
        """Whether a commit computes soft norms, so that no search has to."""
        ...

    def snapshot(self) -> Snapshot:
        """Return the last commit."""
        ...

    def is_committed(self, name: str) -> bool:
        """Whether the last commit names a part."""
        ...

    def write_segment(
        self,
        fields: Sequence[Segment],
        documents: WrittenDocuments,
        positions: Sequence[Positions] | None,
    ) -> IndexedSegment:
        """Write a segment, and return it; its `part` is its name."""
        ...

    def write_deleted(self, live: NDArray[np.bool_]) -> str:
        """Write which documents of a segment are not deleted; return the name."""
        ...

    def write_norms(self, norms: Sequence[NDArray[np.float64]], epoch: str) -> str:
        """Write the soft norms of a segment under an epoch, field by field; return the name."""
        ...

    def write_updates(self, updates: MetadataUpdates, n_docs: int) -> tuple[str, MetadataUpdates]:
        """Write what metadata of a segment have become; return the name, and what was written."""
        ...

    def write_space(self, S: TermSimilarityMatrix, source: TermSimilaritySource | None) -> str:
        """Write S and its source; return the name."""
        ...

    def write_statistics(self, statistics: Sequence[FieldStatistics]) -> str:
        """Write the statistics of all fields; return the name."""
        ...

    @property
    def epoch(self) -> str:
        """The epoch of the last commit."""
        ...

    def epoch_of(self, settings: IndexSettings) -> str:
        """Return the epoch of a commit of these settings; empty where norms are not stored."""
        ...

    def adopt(
        self, generation: Commit, stated: SegmentSettings
    ) -> tuple[IndexedSegment, SegmentSettings]:
        """Take a segment of another index on disk of the same epoch, by its parts' checksums.

        Returns
        -------
        IndexedSegment, SegmentSettings
            The segment, and the names of its parts here.
        """
        ...

    def verify(self, names: Iterable[str]) -> None:
        """Compare the checksums of parts; CorruptIndexError names a file that has changed."""
        ...

    def commit(self, snapshot: Snapshot) -> int:
        """Make a snapshot the last commit, and delete all parts that it does not name.

        Returns
        -------
        int
            Its number.
        """
        ...

    def drop(self, names: Iterable[str]) -> None:
        """Delete parts that were written since the last commit and will not be committed."""
        ...

    def discard(self) -> None:
        """Delete what was written since the last commit."""
        ...

    def close(self) -> None:
        """Delete what was written and not committed, and let another writer in."""
        ...


class Directory(Protocol):
    """The place of an index, as it was at one commit."""

    @property
    def path(self) -> Path | None:
        """The folder; None in memory."""
        ...

    @property
    def checksum(self) -> str:
        """Checksum of the commit; empty in memory."""
        ...

    @property
    def epoch(self) -> str:
        """What scores depend on beside the documents; see `SoftIndex.epoch`."""
        ...

    def refreshed(self, snapshot: Snapshot) -> tuple[Snapshot, Self] | None:
        """Return the last commit if it is another one than the snapshot's."""
        ...

    def writing(self, timeout: float | None) -> DirectoryWriter:
        """Open the directory for writing.

        Parameters
        ----------
        timeout : float or None
            Seconds to wait while one and the same writer has it open; None waits for ever.

        Raises
        ------
        IndexLockedError
            If another writer still has it open.
        """
        ...
