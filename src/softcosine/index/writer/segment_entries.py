"""The segments of a pending commit."""

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
from softcosine.index.segment.coordinates import Coordinates
from softcosine.index.segment.documents import Documents
from softcosine.index.segment.metadata_columns import MetadataColumns
from softcosine.index.segment.metadata_updates import MetadataUpdates
from softcosine.index.segment.segment import Segment

__all__ = ["IdTable", "SegmentEntry", "hashes_of", "joined_norms"]

# A table of all ids pays if more than one document in so many is looked up.
_TABLE_SHARE = 64


def hashes_of(ids: Iterable[str]) -> NDArray[np.int64]:
    """Return the hashes of ids, in order; only valid within this process."""
    return np.fromiter(map(hash, ids), np.int64)


class IdTable:
    """Lookup of document numbers by id in a segment, with eight bytes per document in memory.

    Parameters
    ----------
    documents : Documents
    hashes : ndarray of int64, optional
        Of all ids, in any order; read from the file on demand by default.
    """

    def __init__(self, documents: Documents, hashes: NDArray[np.int64] | None = None) -> None:
        self._documents = documents
        self._sorted = None if hashes is None else np.sort(hashes)

    def find(self, ids: Sequence[str], hashes: NDArray[np.int64]) -> dict[str, int]:
        """Return the numbers of those ids that exist, given their hashes."""
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
    """A segment of a pending commit, with its changes and the parts that are already written.

    Attributes
    ----------
    segment : IndexedSegment
        As in its part, without deletes and norms.
    ids : IdTable
    live : ndarray of shape (n_docs,), bool, or None
        Mask of live documents; None if none is deleted.
    norms : tuple of ndarray, or None
        None if they must be computed.
    deletes_part, norms_part, updates_part, coordinates_part : str or None
        Names of the parts with the deletes, norms, updated metadata and coordinates; None if
        unwritten or if there are none. `updates_part` excludes the latest changes.
    """

    segment: IndexedSegment
    ids: IdTable
    live: NDArray[np.bool_] | None = None
    norms: tuple[NDArray[np.float64], ...] | None = None
    deletes_part: str | None = None
    norms_part: str | None = None
    updates_part: str | None = None
    coordinates_part: str | None = None

    @classmethod
    def of(
        cls,
        segment: IndexedSegment,
        settings: SegmentSettings | None = None,
        *,
        hashes: NDArray[np.int64] | None = None,
    ) -> Self:
        """Return the entry of an opened segment."""
        bare = replace(segment, live=None, norms=None)
        return cls(
            bare,
            IdTable(segment.documents, hashes),
            segment.live,
            segment.norms,
            None if settings is None else settings.deleted,
            None if settings is None else settings.norms,
            segment.updates,
            None if settings is None else settings.coordinates,
        )

    @property
    def part(self) -> str:
        """Part name of the segment."""
        return self.segment.part

    @property
    def n_docs(self) -> int:
        """Number of documents, deleted ones included."""
        return self.segment.n_docs

    @property
    def n_live(self) -> int:
        """Number of live documents."""
        return self.n_docs if self.live is None else int(np.count_nonzero(self.live))

    @property
    def whole(self) -> bool:
        """Whether the segment has neither deletes nor updated metadata."""
        return self.n_live == self.n_docs and not self.documents.updates

    @property
    def documents(self) -> Documents:
        """Its stored documents."""
        return self.segment.documents

    @property
    def fields(self) -> tuple[Segment, ...]:
        """Its fields."""
        return self.segment.fields

    @property
    def positions(self) -> tuple[Positions, ...] | None:
        """Token positions of each field, if stored."""
        return self.segment.positions

    def mask(self) -> NDArray[np.bool_]:
        """Mask of live documents, shape (n_docs,)."""
        return np.ones(self.n_docs, np.bool_) if self.live is None else self.live

    def without(self, numbers: Iterable[int]) -> Self:
        """Return the entry with some documents deleted; unchanged if all of them already were.

        Earlier deletes stay.
        """
        gone = [n for n in numbers if self.live is None or self.live[n]]
        if not gone:
            return self
        live = self.mask().copy()
        live[gone] = False
        return replace(self, live=live, deletes_part=None)

    def with_updates(self, name: str | None, updates: MetadataUpdates) -> Self:
        """Return the entry with other metadata updates, written (`name`) or not."""
        documents = self.documents.with_updates(updates)
        return replace(
            self, segment=self.segment.with_documents(documents, name), updates_part=name
        )

    def updatable(self) -> Self:
        """Return an entry whose updates can be changed without effect on readers of this one."""
        updates = self.documents.updates
        return self if updates.recent else self.with_updates(self.updates_part, updates.copy())

    def rewritten(self, segment: IndexedSegment) -> Self:
        """Return the entry with another segment of the same documents."""
        other = type(self).of(replace(segment, coordinates=self.segment.coordinates))
        return replace(other, ids=self.ids, live=self.live, coordinates_part=self.coordinates_part)

    def with_coordinates(self, name: str, coordinates: Coordinates) -> Self:
        """Return the entry with coordinates, written to the part `name`."""
        return replace(
            self, segment=replace(self.segment, coordinates=coordinates), coordinates_part=name
        )

    def without_coordinates(self) -> Self:
        """Return the entry without coordinates."""
        return replace(self, segment=replace(self.segment, coordinates=None), coordinates_part=None)

    @property
    def unread(self) -> NDArray[np.bool_]:
        """Mask of live documents without coordinates or with estimated ones, shape (n_docs,)."""
        coordinates = self.segment.coordinates
        return self.mask() if coordinates is None else self.mask() & ~coordinates.encoded

    def committed(self) -> IndexedSegment:
        """Return the segment with its deletes and norms."""
        return replace(self.segment, live=self.live, norms=self.norms)

    def passing(self, where: Where) -> NDArray[np.bool_]:
        """Documents that pass a filter, deleted ones included, shape (n_docs,)."""
        # Cached columns can have older metadata.
        recent = self.documents.updates.recent
        return (MetadataColumns(self.documents) if recent else self.segment.columns).mask(where)

    def settings(self) -> SegmentSettings:
        """Return the manifest entry of the segment."""
        return SegmentSettings(
            self.part, self.n_docs, self.deletes_part, self.norms_part, self.updates_part,
            self.coordinates_part,
        )  # fmt: skip


def joined_norms(
    entries: Sequence[SegmentEntry], chosen: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.float64], ...] | None:
    """Return the norms of the merged documents; None if some are not computed.

    Parameters
    ----------
    entries : sequence of SegmentEntry
    chosen : sequence of ndarray of int64
        Documents of each segment to keep, ascending.
    """
    known = [entry.norms for entry in entries if entry.norms is not None]
    if len(known) < len(entries):
        return None
    return tuple(
        np.concatenate([own[numbers] for own, numbers in zip(of_field, chosen, strict=True)])
        for of_field in zip(*known, strict=True)
    )
