r"""Documents in the order of their metadata: what ``sort=`` means.

A key, as in filters, sorts ascending, and descending with a minus before it; of several, each
decides where those before it leave documents equal. Numbers come before strings, and strings before
false and true; descending it is the other way round. A document that lacks the key, or has null, a
list or an object there, stands behind all others, either way. What is still equal stands by score,
best first, and then by insertion. A key that begins with a minus is written ``\-key``.
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
    """A key of metadata that documents are sorted by."""

    path: Path
    descending: bool


def parse_sort(sort: str | Sequence[str] | None) -> tuple[SortKey, ...]:
    """Read what documents are to be sorted by; none for None.

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
    """Return the places of documents in the order of their metadata.

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
    """Return what documents have at a key, segment by segment.

    Returns
    -------
    list of (ndarray of shape (n,), ndarray of shape (n,), list)
        Places among `documents`, the number of each one's value in the list, and the distinct
        values' keys (`softcosine.index.segment.metadata_columns.key_of`).
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
    """Return the keys of the values that documents have at a key; none where none has it."""
    columns = columns_of(snapshot, path, snapshot.documents.numbers)
    return {key for *_, keys in columns for key in keys if key is not MISSING}


def _ranks(snapshot: Snapshot, key: SortKey, documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers in whose order the documents stand by one key, shape (n,)."""
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
