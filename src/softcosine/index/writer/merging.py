"""Merging of segments: the merge policy, and the merge.

Only adjacent segments are merged, so documents keep their order. Deleted documents are dropped.
The checksums of the merged files are checked first, so that damage is not copied to new files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from softcosine._validation import check_number, check_whole
from softcosine.index.directory.snapshot import IndexedSegment
from softcosine.index.segment.segment import MAX_DOCS, Segment
from softcosine.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class MergePolicy:
    """Decides which segments a commit merges.

    The size of a segment is its number of live documents. Its level is the logarithm of the size to
    the base `factor`, rounded down. As soon as `factor` segments of a level are adjacent, apart
    from smaller segments between them, they are merged. So a document is rewritten about once per
    level, some three times in all.

    Parameters
    ----------
    factor : int
        At least 2. A small factor leaves few segments, which are faster to search, and rewrites
        documents more often.
    min_docs : int
        Smaller segments count as this size, and are never rewritten alone.
    max_deleted : float
        A segment with a larger share of deleted documents is rewritten alone. In [0, 1]; 1 never.
    max_docs : int
        Maximum number of documents of a merged segment. At most `MAX_DOCS`.
    """

    factor: int = 10
    min_docs: int = 256
    max_deleted: float = 1 / 3
    max_docs: int = MAX_DOCS

    def __post_init__(self) -> None:
        check_whole("factor of the merge policy", self.factor, least=2, most=MAX_DOCS)
        check_whole("min_docs of the merge policy", self.min_docs, most=MAX_DOCS)
        check_whole("max_docs of the merge policy", self.max_docs, most=MAX_DOCS)
        check_number("max_deleted of the merge policy", self.max_deleted, least=0, most=1)

    def groups(self, n_docs: Sequence[int], n_live: Sequence[int]) -> list[range]:
        """Return the groups of adjacent segments to merge, as ascending ranges of their numbers.

        Parameters
        ----------
        n_docs, n_live : sequence of int
            Numbers of documents of each segment, with and without deleted ones.
        """
        groups = [range(number, number + 1) for number in range(len(n_live))]
        sizes = list(n_live)
        while joined := self._joined(sizes):
            groups, sizes = (
                [range(groups[a].start, groups[b - 1].stop) for a, b in joined],
                [sum(sizes[a:b]) for a, b in joined],
            )
        return [group for group in groups if len(group) > 1 or self._worn(group[0], n_docs, n_live)]

    def _worn(self, number: int, n_docs: Sequence[int], n_live: Sequence[int]) -> bool:
        n_deleted = n_docs[number] - n_live[number]
        return n_docs[number] >= self.min_docs and n_deleted > self.max_deleted * n_docs[number]

    def _joined(self, sizes: Sequence[int]) -> list[tuple[int, int]]:
        """Return the bounds of all segments after a merge at the lowest level that needs one.

        Empty if no level needs one; unmerged segments are included.
        """
        levels = [self._level(size) for size in sizes]
        for level in sorted(set(levels) - {math.inf}):
            bounds: list[tuple[int, int]] = []
            place = 0
            while place < len(sizes):
                stop = place
                while stop < len(sizes) and levels[stop] <= level:
                    stop += 1
                # Smaller segments in between are merged too, but do not trigger a merge.
                if levels[place:stop].count(level) >= self.factor:
                    bounds += self._filled(sizes, place, stop)
                else:
                    bounds += [(one, one + 1) for one in range(place, max(stop, place + 1))]
                place = max(stop, place + 1)
            if len(bounds) < len(sizes):
                return bounds
        return []

    def _filled(self, sizes: Sequence[int], place: int, stop: int) -> Iterator[tuple[int, int]]:
        """Split adjacent segments into groups of the maximum size."""
        while place < stop:
            end, total = place + 1, sizes[place]
            while end < stop and total + sizes[end] <= self.max_docs:
                total += sizes[end]
                end += 1
            yield place, end
            place = end

    def _level(self, size: int) -> float:
        if size > self.max_docs // 2:
            return math.inf  # full: no segment of its level can be merged with it
        # Not math.log(size, factor): its rounding puts some powers of the factor a level too low.
        return math.floor(math.log(max(size, self.min_docs)) / math.log(self.factor) + 1e-9)


def full_groups(
    live: Sequence[NDArray[np.bool_]],
) -> list[list[tuple[int, NDArray[np.bool_]]]]:
    """Split all live documents into groups of `MAX_DOCS`; the last group may be smaller.

    Parameters
    ----------
    live : sequence of ndarray of shape (n_docs,), bool
        Masks, one per segment.

    Returns
    -------
    list of list of tuple
        Numbers of segments, and masks of the documents in the group.
    """
    groups: list[list[tuple[int, NDArray[np.bool_]]]] = []
    room = 0
    for number, mask in enumerate(live):
        documents = np.flatnonzero(mask)
        while documents.size:
            if room == 0:
                groups.append([])
                room = MAX_DOCS
            some, documents = documents[:room], documents[room:]
            groups[-1].append((number, np.isin(np.arange(mask.shape[0]), some)))
            room -= some.size
    return groups


def merge_fields(
    segments: Sequence[Segment],
    live: Sequence[NDArray[np.bool_]],
    vocabulary: Vocabulary | None = None,
) -> Segment:
    """Return a merged segment of one field, identical to inverting its documents again.

    Parameters
    ----------
    segments : sequence of Segment
        Of counts.
    live : sequence of ndarray of shape (n_docs,), bool
        Masks of the documents to keep, one per segment.
    vocabulary : Vocabulary, optional
        As for `Segment.from_counts`.
    """
    n_terms = max(segment.n_terms for segment in segments)
    rows = [own.matrix(n_terms)[mask] for own, mask in zip(segments, live, strict=True)]
    return Segment.from_counts(vstack(rows, format="csr"), vocabulary)


class MergedDocuments:
    """The live documents of several segments, in order; read once."""

    def __init__(self, entries: Sequence[IndexedSegment]) -> None:
        self._entries = entries

    @property
    def keeps_texts(self) -> bool:
        """Whether texts are stored."""
        return all(entry.documents.keeps_texts for entry in self._entries)

    @property
    def insertion_numbers(self) -> NDArray[np.int64] | None:
        """The numbers in the order of insertion into all shards; None in no shard."""
        pairs = [(entry.documents.insertion_numbers, entry.mask) for entry in self._entries]
        numbers = [own[mask] for own, mask in pairs if own is not None]
        return np.concatenate(numbers) if numbers else None

    def all_documents(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield id, text and metadata (JSON) of every document."""
        for entry in self._entries:
            yield from entry.of_live(entry.documents.all_documents())


def joined_norms(entries: Sequence[IndexedSegment]) -> tuple[NDArray[np.float64], ...] | None:
    """Return the norms of the live documents of all segments; None if some are not computed."""
    known = [[own[entry.mask] for own in entry.norms] for entry in entries if entry.norms]
    if len(known) < len(entries):
        return None
    return tuple(np.concatenate(of_field) for of_field in zip(*known, strict=True))
