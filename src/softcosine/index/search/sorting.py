r"""Sorting of documents by metadata: the syntax of ``sort=``.

A key (as in filters) sorts ascending, or descending with a leading minus; later keys break ties.
Numbers come before strings, and strings before false and true; in descending order this is
reversed. Documents without the key, or with null, a list or an object, come last in both orders.
Remaining ties are ordered by score, best first, and then by insertion. A key that begins with a
minus is written ``\-key``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.requests import key_path
from softcosine.index.segment.metadata_columns import Path, order_of


@dataclass(frozen=True, slots=True)
class SortKey:
    """A metadata key to sort by."""

    path: Path
    descending: bool


def parse_sort(sort: str | Sequence[str] | None) -> tuple[SortKey, ...]:
    """Return the sort keys; empty for None."""
    keys = [sort] if isinstance(sort, str) else sort or ()
    return tuple(SortKey(key_path(key.removeprefix("-")), key.startswith("-")) for key in keys)


@dataclass(frozen=True, slots=True)
class SortColumn:
    """The values of one metadata key in some documents.

    Attributes
    ----------
    codes : ndarray of shape (n,), int64
        For each document, an index into `values`.
    values : sequence of tuple or None
        What they are ordered by (`softcosine.index.segment.metadata_columns.order_of`); may repeat.
    """

    codes: NDArray[np.int64]
    values: Sequence[tuple[int, Any] | None]

    @classmethod
    def joined(cls, columns: Sequence[Self]) -> Self:
        """Return the column of the documents of all columns."""
        starts = np.cumsum([0, *(len(one.values) for one in columns)])
        codes = [one.codes + start for one, start in zip(columns, starts, strict=False)]
        return cls(np.concatenate(codes), [value for one in columns for value in one.values])

    def of(self, places: NDArray[np.int64]) -> SortColumn:
        """Return the column of some of the documents, given by index."""
        kept, codes = np.unique(self.codes[places], return_inverse=True)
        return SortColumn(codes, [self.values[code] for code in kept.tolist()])

    def ranks(self, *, descending: bool) -> NDArray[np.int64]:
        """Return numbers that sort the documents, shape (n,); those without a value come last."""
        check_deadline()
        ascending = sorted({one for one in self.values if one is not None}, reverse=descending)
        rank: dict[tuple[int, Any] | None, int] = {None: len(ascending)}
        rank.update(zip(ascending, range(len(ascending)), strict=True))
        return np.array([rank[one] for one in self.values], np.int64)[self.codes]


def sorted_places(
    keys: Sequence[SortKey],
    columns: Sequence[SortColumn],
    documents: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return the order of documents by metadata, as indices into `documents`.

    Parameters
    ----------
    keys : sequence of SortKey
    columns : sequence of SortColumn
        One per key.
    documents : ndarray of shape (n,), int64
        Numbers.
    scores : ndarray of shape (n,), float64
    """
    ranks = [
        column.ranks(descending=key.descending) for key, column in zip(keys, columns, strict=True)
    ]
    return np.lexsort((documents, -scores, *reversed(ranks)))


def columns_of(
    snapshot: Snapshot, path: Path, documents: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64], list[Hashable]]]:
    """Return the values of a key in documents, segment by segment.

    Returns
    -------
    list of (ndarray of shape (n,), ndarray of shape (n,), list)
        Indices into `documents`, the index of each value in the list, and the keys of the distinct
        values (`softcosine.index.segment.metadata_columns.key_of`).
    """
    firsts = np.array(snapshot.documents.firsts)
    owners = np.searchsorted(firsts, documents, "right") - 1
    found = []
    for number in np.unique(owners).tolist():
        check_deadline()
        places = np.flatnonzero(owners == number)
        column = snapshot.segments[number].columns.columns([path])[path]
        codes = column.codes(documents[places] - firsts[number])
        distinct, numbers = np.unique(codes, return_inverse=True)
        found.append((places, numbers, column.keys(distinct)))
    return found


def sort_column(snapshot: Snapshot, key: SortKey, documents: NDArray[np.int64]) -> SortColumn:
    """Return the values of a key in documents, given by number."""
    codes, values = np.empty(documents.shape[0], np.int64), list[tuple[int, Any] | None]()
    for places, numbers, keys in columns_of(snapshot, key.path, documents):
        codes[places] = numbers + len(values)
        values += map(order_of, keys)
    return SortColumn(codes, values)
