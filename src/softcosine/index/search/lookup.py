"""Documents without a query: by their ids, or those that pass a filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_list
from softcosine.errors import UnknownDocumentError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.constraints import Mask
from softcosine.index.query.filters import Where
from softcosine.index.requests import FilterRequest
from softcosine.index.search.facets import (
    FacetCounts,
    facet_counts,
    ordered_facets,
    summed_facets,
)
from softcosine.index.search.results import Listing
from softcosine.index.search.sorting import SortColumn, parse_sort, sort_columns, sorted_places
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


@dataclass(frozen=True, slots=True)
class Passing:
    """The first documents that pass a filter, the number of all, and their facets."""

    documents: NDArray[np.int64]
    columns: tuple[SortColumn, ...]
    n_matching: int
    facets: FacetCounts

    @classmethod
    def of(cls, snapshot: Snapshot, request: FilterRequest) -> Self:
        """Return those of a snapshot."""
        numbers = _numbers(snapshot, request.where)
        facets = facet_counts(snapshot, request.facets, numbers)
        if not (keys := parse_sort(request.sort)):
            return cls(numbers[: _last(request)], (), len(numbers), facets)
        columns = sort_columns(snapshot, keys, numbers)
        places = sorted_places(keys, columns, numbers, np.zeros(len(numbers)))[: _last(request)]
        columns = tuple(column.of(places) for column in columns)
        return cls(numbers[places], columns, len(numbers), facets)

    @classmethod
    def joined(cls, parts: Sequence[Self], request: FilterRequest) -> Self:
        """Return those of all parts, no document in two of them."""
        numbers = np.concatenate([one.documents for one in parts])
        keys = parse_sort(request.sort)
        columns = tuple(map(SortColumn.joined, zip(*(one.columns for one in parts), strict=True)))
        places = sorted_places(keys, columns, numbers, np.zeros(len(numbers)))[: _last(request)]
        return cls(
            numbers[places],
            tuple(column.of(places) for column in columns),
            sum(one.n_matching for one in parts),
            summed_facets([one.facets for one in parts]),
        )

    def listing(self, snapshot: Snapshot, request: FilterRequest) -> Listing:
        """Return the page with its documents."""
        page = self.documents[request.offset :].tolist()
        return Listing(
            documents=tuple(snapshot.documents.records(page)),
            n_matching=self.n_matching,
            offset=request.offset,
            facets=ordered_facets(self.facets),
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


def _last(request: FilterRequest) -> int | None:
    """Return the number of documents on the page and those before it; None for all."""
    return None if request.k is None else request.offset + request.k
