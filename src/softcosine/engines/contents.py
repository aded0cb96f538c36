"""The document of each vector in an engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.engines.engine import Block, Vectors
from softcosine.engines.row_space import RowSpace
from softcosine.engines.subject import Subject, digests_of
from softcosine.errors import CorruptIndexError
from softcosine.index.search.ranked_vectors import RankedVectors
from softcosine.matrix.ranges import check_array

__all__ = ["Changes", "Contents"]


@dataclass(frozen=True, slots=True)
class Contents:
    """Documents in an engine, by the numbers ("slots") of their vectors.

    Attributes
    ----------
    numbers : ndarray of shape (n_slots,), int64
        The document of each slot; -1 for a deleted one.
    digests : ndarray of shape (n_slots, 2), uint64
        A checksum of the vector W y of each slot.
    zeros : ndarray of shape (n_zeros,), int64, ascending
        Documents of norm 0. Their score is always 0, and engines do not hold them.
    """

    numbers: NDArray[np.int64]
    digests: NDArray[np.uint64]
    zeros: NDArray[np.int64]

    @classmethod
    def of(cls, ranked: RankedVectors) -> Contents:
        """Return fresh contents: slots in the order of the documents."""
        numbers, digests, zeros = [_NO_NUMBERS], [_NO_DIGESTS], [_NO_NUMBERS]
        for own, rows in ranked.documents():
            there = _non_zero(rows)
            numbers.append(own[there])
            digests.append(digests_of(rows[there]))
            zeros.append(own[~there])
        return cls(np.concatenate(numbers), np.concatenate(digests), np.concatenate(zeros))

    def check(self, ranked: RankedVectors | None) -> None:
        """Raise CorruptIndexError if the contents are inconsistent or do not fit the documents.

        Parameters
        ----------
        ranked : RankedVectors or None
            The documents to compare with; None if the index has changed since.
        """
        check_array("numbers", self.numbers, ("int64",))
        check_array("zeros", self.zeros, ("int64",))
        stored = np.concatenate([self.numbers[self.numbers >= 0], self.zeros])
        other = ranked is not None and not np.array_equal(np.sort(stored), ranked.numbers())
        if self.digests.shape != (len(self.numbers), 2) or self.digests.dtype != np.uint64 or other:
            raise CorruptIndexError(
                "the documents of the engine are not those of the index; build the engine anew."
            )

    @property
    def n_live(self) -> int:
        """Number of documents in the engine."""
        return int(np.count_nonzero(self.numbers >= 0))

    def checksum(self, subject: Subject) -> str:
        """Return a checksum of all that answers depend on, independent of the order of slots."""
        live = np.flatnonzero(self.numbers >= 0)
        order = live[np.argsort(self.numbers[live])]
        numbers = np.concatenate([self.numbers[order], self.zeros])
        return subject.content(self.digests[order], numbers)

    def changes(self, ranked: RankedVectors) -> Changes:
        """Compare with another state; a vector that occurs in both keeps its slot."""
        newer = Contents.of(ranked)
        free = defaultdict(list)
        for slot in np.flatnonzero(self.numbers >= 0)[::-1].tolist():
            free[self.digests[slot].tobytes()].append(slot)
        numbers = np.full_like(self.numbers, -1)
        added = []
        for place, number in enumerate(newer.numbers.tolist()):
            own = free.get(newer.digests[place].tobytes())
            if own:
                numbers[own.pop()] = number
            else:
                added.append(place)
        gone = np.flatnonzero((self.numbers >= 0) & (numbers < 0))
        contents = Contents(
            np.concatenate([numbers, newer.numbers[added]]),
            np.concatenate([self.digests, newer.digests[added]]),
            newer.zeros,
        )
        return Changes(contents, newer.numbers[added], gone)


@dataclass(frozen=True, slots=True)
class Changes:
    """Difference between two states of an index.

    Attributes
    ----------
    contents : Contents
        Contents of the newer state.
    added : ndarray of shape (n_added,), int64, ascending
        Documents whose vectors are to be added.
    gone : ndarray of shape (n_gone,), int64
        Slots to delete.
    """

    contents: Contents
    added: NDArray[np.int64]
    gone: NDArray[np.int64]


def rows_of_slots(space: RowSpace, ranked: RankedVectors, contents: Contents) -> Block:
    """Return the vectors of contents as one array, slot by slot; zeros for deleted slots.

    Returns
    -------
    array of shape (n_slots, n_dimensions), float32
    """
    live = np.flatnonzero(contents.numbers >= 0)
    slots = live[np.argsort(contents.numbers[live])]  # in document order, as blocks come
    shape = len(contents.numbers), space.n_dimensions
    found = np.zeros(shape, np.float32)
    first = 0
    for block in vectors_of_slots(space, ranked, contents).blocks():
        found[slots[first : first + block.shape[0]]] = block
        first += block.shape[0]
    return found


def vectors_of_slots(space: RowSpace, ranked: RankedVectors, contents: Contents) -> Vectors:
    """Return the vectors of all documents except zero vectors, in the order of fresh slots."""

    def blocks() -> Iterator[Block]:
        for _, rows, block in space.documents(ranked):
            there = _non_zero(rows)
            if there.any():
                yield block if there.all() else block[there]

    return Vectors(len(contents.numbers), space.n_dimensions, blocks)


_NO_NUMBERS = np.empty(0, np.int64)
_NO_DIGESTS = np.empty((0, 2), np.uint64)


def _non_zero(rows: object) -> NDArray[np.bool_]:
    """Which documents have a norm above 0."""
    return np.asarray(abs(rows).sum(axis=1)).ravel() > 0  # type: ignore[arg-type]
