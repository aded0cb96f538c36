"""An index in memory, with the same writer interface as one in a folder."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from softcosine._validation import check_number
from softcosine.errors import IndexLockedError, InvalidInputError
from softcosine.index.directory.manifest import IndexSettings, SegmentSettings
from softcosine.index.directory.snapshot import IndexedSegment, Snapshot
from softcosine.index.segment.documents import MemoryDocuments, WrittenDocuments
from softcosine.index.segment.positions import Positions
from softcosine.index.segment.segment import Segment

if TYPE_CHECKING:
    from softcosine.index.encoding import IndexEncoder


class MemoryDirectory:
    """The last commit of an index in memory; see `softcosine.index.directory.directory`.

    Parameters
    ----------
    snapshot : Snapshot
    encoder : IndexEncoder, optional

    Attributes
    ----------
    snapshot, encoder
    """

    path: Path | None = None
    checksum = epoch = ""
    reopening: ClassVar[dict[str, Any]] = {}

    def __init__(self, snapshot: Snapshot, encoder: IndexEncoder | None = None) -> None:
        self.snapshot = snapshot
        self.encoder = encoder
        self._lock = threading.Lock()

    def refreshed(self, snapshot: Snapshot) -> tuple[Snapshot, MemoryDirectory] | None:
        """Return the last commit if it differs from the snapshot's; None otherwise."""
        return None if self.snapshot is snapshot else (self.snapshot, self)

    def writing(self, timeout: float | None) -> MemoryWriter:
        """Open the index for writing."""
        check_number("timeout", timeout, least=0, optional=True)
        wait = -1.0 if timeout is None else min(timeout, threading.TIMEOUT_MAX)
        if not self._lock.acquire(timeout=wait):
            raise IndexLockedError(
                f"another writer has this index open since more than {timeout:g} seconds; close "
                "it, or wait longer by timeout=."
            )
        return MemoryWriter(self, self._lock)


class MemoryWriter:
    """Writes the next commit in memory; see `softcosine.index.directory.directory.DirectoryWriter`.

    Arrays stay in the segments and the snapshot; part names only mark that something was written.
    """

    stores_norms = False
    path: Path | None = None

    def __init__(self, directory: MemoryDirectory, lock: threading.Lock) -> None:
        self._directory = directory
        self._lock: threading.Lock | None = lock

    @property
    def number(self) -> int:
        """The number of the last commit."""
        return self._directory.snapshot.generation

    def snapshot(self) -> Snapshot:
        """Return the last commit, with the soft norms that searches have computed."""
        return self._directory.snapshot.with_norms(compute=False)

    def is_committed(self, name: str) -> bool:
        """Whether the part belongs to the last commit."""
        return any(name == segment.part for segment in self._directory.snapshot.segments)

    def write_segment(
        self,
        fields: Sequence[Segment],
        documents: WrittenDocuments,
        positions: Sequence[Positions] | None,
    ) -> IndexedSegment:
        """Return a segment in memory."""
        if not isinstance(documents, MemoryDocuments):
            rows = list(documents.all_documents())
            documents = MemoryDocuments(
                [text for _, text, _ in rows],
                ids=[id for id, _, _ in rows],
                metadata=[metadata for _, _, metadata in rows],
                keep_texts=documents.keeps_texts,
                insertion_numbers=documents.insertion_numbers,
            )
        running = None if positions is None else tuple(positions)
        names = SegmentSettings(_name("segment"), fields[0].n_docs)
        return IndexedSegment(tuple(fields), documents, positions=running, names=names)

    def write_part(self, kind: str, *values: Any) -> str:
        """Return a new part name."""
        return _name(kind)

    def write_and_open(self, kind: str, value: Any, n_docs: int) -> tuple[str, Any]:
        """Return a new part name, and the value."""
        return _name(kind), value

    def epoch_of(self, settings: IndexSettings) -> str:
        """Return an empty string: norms are not stored."""
        return ""

    def verify(self, names: Iterable[str]) -> None:
        """Do nothing: there are no files."""

    def commit_snapshot(self, snapshot: Snapshot) -> int:
        """Make a snapshot the last commit."""
        if self._lock is None:
            raise InvalidInputError("this writer is closed; open another one.")
        if snapshot.ranking == "soft_cosine":
            _ = snapshot.normed  # faults of S are found before anything is visible
        self._directory.snapshot = snapshot
        return snapshot.generation

    def drop(self, names: Iterable[str]) -> None:
        """Do nothing: unused arrays are freed."""

    def discard(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Release the write lock."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __del__(self) -> None:
        self.close()


_NUMBERS = count()


def _name(kind: str) -> str:
    return f"{kind}-{next(_NUMBERS)}"
