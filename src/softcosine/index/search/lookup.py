"""Documents without a query: by their ids, or those that pass a filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_list
from softcosine.errors import UnknownDocumentError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.filters import Where
from softcosine.index.search.facets import checked_facets, counted_facets
from softcosine.index.search.masks import Mask
from softcosine.index.search.results import Listing
from softcosine.index.search.sorting import parse_sort, sorted_places
from softcosine.index.search.top_docs import check_k, check_offset
from softcosine.index.segment.documents import Document
from softcosine.index.writer.document import checked_id

__all__ = ["count", "get", "listing", "passing"]


def get(snapshot: Snapshot, ids: Iterable[str], *, missing_ok: bool) -> list[Document]:
    """Return documents by their ids; see `SoftIndex.get`."""
    check_list("ids", ids)
    numbers = []
    for id in ids:
        try:
            numbers.append(snapshot.documents.number(checked_id(id)))
        except UnknownDocumentError:
            if not missing_ok:
                raise
    return snapshot.documents.records(numbers)


def listing(
    snapshot: Snapshot,
    where: Mapping[str, Any] | None,
    *,
    k: int | None,
    offset: int,
    sort: str | Sequence[str] | None,
    facets: Sequence[str],
) -> Listing:
    """Return the documents that pass a filter; see `SoftIndex.filter`."""
    keys, facets, offset = parse_sort(sort), checked_facets(facets), check_offset(offset)
    last = None if k is None else offset + check_k(k, least=0)
    numbers = _numbers(snapshot, where)
    shown = numbers
    if keys:
        shown = numbers[sorted_places(snapshot, keys, numbers, np.zeros(len(numbers)))]
    return Listing(
        documents=tuple(snapshot.documents.records(shown[offset:last].tolist())),
        n_matching=len(numbers),
        offset=offset,
        facets=counted_facets(snapshot, facets, numbers),
    )


def count(snapshot: Snapshot, where: Mapping[str, Any] | None) -> int:
    """Return the number of documents that pass a filter."""
    return len(_numbers(snapshot, where))


def passing(snapshot: Snapshot, where: Mapping[str, Any] | None) -> list[Mask | None]:
    """Return the documents of each segment that pass a filter, deleted included; None for all."""
    if where is None:
        return [None for _ in snapshot.segments]
    parsed = Where.parse(where)
    return [segment.columns.mask(parsed) for segment in snapshot.segments]


def _numbers(snapshot: Snapshot, where: Mapping[str, Any] | None) -> NDArray[np.int64]:
    """Return the numbers of the documents that pass a filter, ascending."""
    numbers = snapshot.documents.numbers
    if where is None:
        return numbers
    masks = [mask for mask in passing(snapshot, where) if mask is not None]
    return numbers[np.concatenate(masks)[numbers]]
