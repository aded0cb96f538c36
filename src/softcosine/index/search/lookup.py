"""Documents without a query: by their ids, or those that pass a filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_list
from softcosine.errors import UnknownDocumentError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.constraints import Mask
from softcosine.index.query.filters import Where
from softcosine.index.requests import FilterRequest
from softcosine.index.search.facets import facet_counts, ordered_facets
from softcosine.index.search.matches import Matches
from softcosine.index.search.results import Listing
from softcosine.index.search.sorting import parse_sort
from softcosine.index.search.top_docs import Top
from softcosine.index.segment.documents import Document
from softcosine.index.writer.document import checked_id


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


def filtered(snapshot: Snapshot, request: FilterRequest) -> Matches:
    """Return the documents that pass a filter: those of the page and those before it."""
    numbers, last = _numbers(snapshot, request.where), _last(request)
    every = Top(numbers, np.zeros(len(numbers)))
    if keys := parse_sort(request.sort):
        found = Matches.sorted_by(snapshot, every, keys, last)
    else:
        found = Matches((every.at(slice(last)),))
    facets = facet_counts(snapshot, request.facets, numbers)
    return replace(found, facets=facets, n_matching=len(numbers))


def listing(snapshot: Snapshot, matches: Matches, request: FilterRequest) -> Listing:
    """Return the page of a filter with its documents."""
    (every,) = matches.groups
    assert isinstance(every, Top)
    page = every.documents[request.offset : _last(request)].tolist()
    return Listing(
        tuple(snapshot.documents.records(page)), matches.n_matching, request.offset,
        ordered_facets(matches.facets),
    )  # fmt: skip


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


def _last(request: FilterRequest) -> int | None:
    """Return the number of documents on the page and those before it; None for all."""
    return None if request.k is None else request.offset + request.k
