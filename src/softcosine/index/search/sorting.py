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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.filters import key_path
from softcosine.index.segment.metadata_columns import MISSING, Path, order_of

__all__ = ["SortKey", "columns_of", "keys_of", "parse_sort", "sorted_places"]


@dataclass(frozen=True, slots=True)
class SortKey:
    """A metadata key to sort by."""

    path: Path
    descending: bool


def parse_sort(sort: str | Sequence[str] | None) -> tuple[SortKey, ...]:
    """Return the sort keys; empty for None.

    Raises
    ------
    InvalidInputError
        If it is neither a key nor a list of keys.
    """
    keys = [] if sort is None else [sort] if isinstance(sort, str) else sort
    if not isinstance(keys, Sequence) or not all(isinstance(key, str) for key in keys):
        raise InvalidInputError(
            f'sort is {sort!r}; pass a key of metadata, such as "year", "-year" for the greatest '
            "first, or a list of such keys."
        )
    return tuple(SortKey(key_path(key.removeprefix("-")), key.startswith("-")) for key in keys)


def sorted_places(
    snapshot: Snapshot,
    keys: Sequence[SortKey],
    documents: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return the order of documents by metadata, as indices into `documents`.

    Parameters
    ----------
    snapshot : Snapshot
    keys : sequence of SortKey
    documents : ndarray of shape (n,), int64
        Numbers.
    scores : ndarray of shape (n,), float64
    """
    ranks = [_ranks(snapshot, key, documents) for key in keys]
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
        places = np.flatnonzero(owners == number)
        column = snapshot.segments[number].columns.columns([path])[path]
        codes = column.codes(documents[places] - firsts[number])
        distinct, numbers = np.unique(codes, return_inverse=True)
        found.append((places, numbers, column.keys(distinct)))
    return found


def keys_of(snapshot: Snapshot, path: Path) -> set[Hashable]:
    """Return the distinct values of a metadata key in all documents, as hashable keys."""
    columns = columns_of(snapshot, path, snapshot.documents.numbers)
    return {key for *_, keys in columns for key in keys if key is not MISSING}


def _ranks(snapshot: Snapshot, key: SortKey, documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers that sort the documents by one key, shape (n,)."""
    columns = [
        (places, numbers, [order_of(one) for one in keys])
        for places, numbers, keys in columns_of(snapshot, key.path, documents)
    ]
    met = {order for *_, orders in columns for order in orders if order is not None}
    ascending = sorted(met, reverse=key.descending)
    rank: dict[tuple[int, Any] | None, int] = {None: len(ascending)}
    rank.update(zip(ascending, range(len(ascending)), strict=True))
    ranks = np.empty(documents.shape[0], np.int64)
    for places, numbers, orders in columns:
        ranks[places] = np.array([rank[order] for order in orders], np.int64)[numbers]
    return ranks
