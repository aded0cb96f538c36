"""The segments of an index that is being written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from softcosine.index.directory.manifest import SegmentSettings
from softcosine.index.directory.snapshot import IndexedSegment
from softcosine.index.query.filters import Where
from softcosine.index.query.phrases import Positions
from softcosine.index.segment.documents import Documents
from softcosine.index.segment.metadata_columns import MetadataColumns
from softcosine.index.segment.metadata_updates import MetadataUpdates
from softcosine.index.segment.segment import Segment

__all__ = ["IdTable", "SegmentEntry", "hashes_of", "joined_norms"]

# A table of all ids pays where more than one document in so many is asked for.
_TABLE_SHARE = 64


def hashes_of(ids: Iterable[str]) -> NDArray[np.int64]:
    """Hash ids, in order; equal only within this process."""
    return np.fromiter(map(hash, ids), np.int64)


class IdTable:
    """Which documents of a segment have which ids: eight bytes a document, and its file.

    Parameters
    ----------
    documents : Documents
    hashes : ndarray of int64, optional
        Of all ids, in any order; read from the file when they pay.
    """

    def __init__(self, documents: Documents, hashes: NDArray[np.int64] | None = None) -> None:
        self._documents = documents
        self._sorted = None if hashes is None else np.sort(hashes)

    def find(self, ids: Sequence[str], hashes: NDArray[np.int64]) -> dict[str, int]:
        """Return the numbers of those ids that there are; `hashes` are theirs."""
        if self._sorted is None:
            if len(ids) * _TABLE_SHARE < len(self._documents):
                return self._documents.numbers(ids)
            self._sorted = np.sort(hashes_of(self._documents.all_ids()))
        if not self._sorted.shape[0]:
            return {}
        places = np.searchsorted(self._sorted, hashes)
        places[places == self._sorted.shape[0]] = 0
        likely = np.flatnonzero(self._sorted[places] == hashes)
        return self._documents.numbers([ids[i] for i in likely.tolist()])


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """A segment, what of it is deleted, and what of that is on disk already.

    Attributes
    ----------
    segment : IndexedSegment
        As in its part, without deletions and norms.
    ids : IdTable
    live : ndarray of shape (n_docs,), bool, or None
    norms : tuple of ndarray, or None
        None if they are to be computed.
    deleted, normed, updated : str or None
        Parts that hold `live`, `norms` and what metadata have become; None if they are not written
        yet, or there are none; in `updated` those before the last changes.
    """

    segment: IndexedSegment
    ids: IdTable
    live: NDArray[np.bool_] | None = None
    norms: tuple[NDArray[np.float64], ...] | None = None
    deleted: str | None = None
    normed: str | None = None
    updated: str | None = None

    @classmethod
    def of(
        cls,
        segment: IndexedSegment,
        settings: SegmentSettings | None = None,
        *,
        hashes: NDArray[np.int64] | None = None,
    ) -> Self:
        """Take a segment as it was opened."""
        bare = replace(segment, live=None, norms=None)
        return cls(
            bare,
            IdTable(segment.documents, hashes),
            segment.live,
            segment.norms,
            None if settings is None else settings.deleted,
            None if settings is None else settings.norms,
            segment.updates,
        )

    @property
    def part(self) -> str:
        """Name of the segment on disk."""
        return self.segment.part

    @property
    def n_docs(self) -> int:
        """How many documents there are, deleted ones too."""
        return self.segment.n_docs

    @property
    def n_live(self) -> int:
        """How many documents there are, without deleted ones."""
        return self.n_docs if self.live is None else int(np.count_nonzero(self.live))

    @property
    def whole(self) -> bool:
        """Whether the segment's part says all: no document is deleted, no metadata have changed."""
        return self.n_live == self.n_docs and not self.documents.updates

    @property
    def documents(self) -> Documents:
        """Its documents."""
        return self.segment.documents

    @property
    def fields(self) -> tuple[Segment, ...]:
        """Its fields."""
        return self.segment.fields

    @property
    def positions(self) -> tuple[Positions, ...] | None:
        """Its running words, if they are kept."""
        return self.segment.positions

    def mask(self) -> NDArray[np.bool_]:
        """Which documents are not deleted, shape (n_docs,)."""
        return np.ones(self.n_docs, np.bool_) if self.live is None else self.live

    def without(self, numbers: Iterable[int]) -> Self:
        """Delete documents; this piece itself if they are all deleted already, or there are none.

        What was deleted before stays so.
        """
        gone = [n for n in numbers if self.live is None or self.live[n]]
        if not gone:
            return self
        live = self.mask().copy()
        live[gone] = False
        return replace(self, live=live, deleted=None)

    def with_updates(self, name: str | None, updates: MetadataUpdates) -> Self:
        """Take other metadata of the documents, of a part or not written yet."""
        documents = self.documents.with_updates(updates)
        return replace(self, segment=self.segment.with_documents(documents, name), updated=name)

    def updatable(self) -> Self:
        """Return a piece whose metadata may be updated, while readers of this one see no change."""
        updates = self.documents.updates
        return self if updates.recent else self.with_updates(self.updated, updates.copy())

    def rewritten(self, segment: IndexedSegment) -> Self:
        """Return the piece with another segment of the same documents."""
        other = type(self).of(segment)
        return replace(other, ids=self.ids, live=self.live)

    def committed(self) -> IndexedSegment:
        """Return the segment with its deletions and norms."""
        return replace(self.segment, live=self.live, norms=self.norms)

    def passing(self, where: Where) -> NDArray[np.bool_]:
        """Which documents pass a filter, deleted ones too, shape (n_docs,)."""
        # What was kept of the columns may be of metadata that have changed since.
        recent = self.documents.updates.recent
        return (MetadataColumns(self.documents) if recent else self.segment.columns).mask(where)

    def settings(self) -> SegmentSettings:
        """Return what the manifest says of it."""
        return SegmentSettings(self.part, self.n_docs, self.deleted, self.normed, self.updated)


def joined_norms(
    pieces: Sequence[SegmentEntry], chosen: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.float64], ...] | None:
    """Return the norms of the documents that a merge took; None if some are not known.

    Parameters
    ----------
    pieces : sequence of SegmentEntry
    chosen : sequence of ndarray of int64
        Which documents of each, ascending.
    """
    known = [piece.norms for piece in pieces if piece.norms is not None]
    if len(known) < len(pieces):
        return None
    return tuple(
        np.concatenate([own[numbers] for own, numbers in zip(of_field, chosen, strict=True)])
        for of_field in zip(*known, strict=True)
    )
