"""The documents that match a request, of a query or of a filter alone: the form that merges."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_list
from softcosine.errors import UnknownDocumentError
from softcosine.files import type_of
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.constraints import passing
from softcosine.index.query.filters import Where
from softcosine.index.requests import FilterRequest
from softcosine.index.search.facets import FacetCounts, facet_counts, ordered_facets, summed_facets
from softcosine.index.search.first_stage import Staged
from softcosine.index.search.results import Listing
from softcosine.index.search.sorting import (
    SortColumn,
    SortKey,
    parse_sort,
    sort_column,
    sorted_places,
)
from softcosine.index.segment.documents import Document, checked_id
from softcosine.index.segment.metadata_columns import Path, is_number
from softcosine.index.spaces.space import Top
from softcosine.text.analyzer import shortened

# The best documents of a search, or the candidates among which they are.
Group = Top | Staged


@dataclass(frozen=True, slots=True)
class Matches:
    """The best documents that match, and counts of all.

    Attributes
    ----------
    best : Top or Staged
    columns : tuple of SortColumn
        Values of the sort keys in the best documents, which they have sorted.
    zeros : ndarray of int64
        Documents of score 0 for ``fill``, ascending.
    facets : mapping of str to Counter
        Of all matching documents.
    n_matching, n_taken : int
        Number of all matching documents of a filter, or of a search that sorts or counts them;
        number of those that it sorts or counts.
    missing : tuple of str
        The shards that did not answer in time.
    """

    best: Group
    columns: tuple[SortColumn, ...] = ()
    zeros: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    facets: FacetCounts = field(default_factory=dict)
    n_matching: int = 0
    missing: tuple[str, ...] = ()
    n_taken: int = 0

    @classmethod
    def sorted_by(
        cls, snapshot: Snapshot, top: Top, keys: Sequence[SortKey], n: int | None
    ) -> Self:
        """Return the first n documents by the values of keys; all for None."""
        columns = tuple(sort_column(snapshot, key, top.documents) for key in keys)
        return cls(top, columns)._in_order(keys, n)

    @classmethod
    def joined(
        cls, parts: Sequence[Self], keys: Sequence[SortKey], missing: tuple[str, ...] = ()
    ) -> Self:
        """Return what matches in all documents, sorted by keys if there are any.

        There is at least one part, and no document is in two of them.
        """
        every = [one.best for one in parts]
        tops = [one for one in every if isinstance(one, Top)]
        stages = [one for one in every if isinstance(one, Staged)]
        # Beside candidates of a first stage, a Top is empty.
        best = Staged.joined(stages) if stages else (Top.together if keys else Top.joined)(tops)
        columns = tuple(map(SortColumn.joined, zip(*(one.columns for one in parts), strict=True)))
        return cls(
            best,
            columns,
            np.sort(np.concatenate([one.zeros for one in parts])),
            summed_facets(one.facets for one in parts),
            sum(one.n_matching for one in parts),
            missing,
            sum(one.n_taken for one in parts),
        )._in_order(keys)

    def _in_order(self, keys: Sequence[SortKey], n: int | None = None) -> Self:
        if not keys:
            return self
        assert isinstance(self.best, Top)
        places = sorted_places(keys, self.columns, self.best.documents, self.best.scores)[:n]
        columns = tuple(column.of(places) for column in self.columns)
        return replace(self, best=self.best.at(places), columns=columns)

    def renumbered(self, numbers: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Self:
        """Return the same with other document numbers of the same order."""
        return replace(self, best=self.best.renumbered(numbers), zeros=numbers(self.zeros))


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
        found = Matches(every.at(slice(last)))
    facets = facet_counts(snapshot, request.facets, numbers)
    return replace(found, facets=facets, n_matching=len(numbers))


def listing(snapshot: Snapshot, matches: Matches, request: FilterRequest) -> Listing:
    """Return the page of a filter with its documents."""
    assert isinstance(matches.best, Top)
    page = matches.best.documents[request.offset : _last(request)].tolist()
    return Listing(
        tuple(snapshot.documents.records(page)), matches.n_matching, request.offset,
        ordered_facets(matches.facets),
    )  # fmt: skip


def count(snapshot: Snapshot, where: Mapping[str, Any] | None) -> int:
    """Return the number of documents that pass a filter."""
    return len(_numbers(snapshot, where))


def why_none_passes(
    where: Mapping[str, Any],
    count: Callable[[Mapping[str, Any]], int],
    values_of: Callable[[Path], set[Hashable]],
) -> list[str]:
    """Return why no document passes a filter, in sentences without a full stop; empty if some do.

    Parameters
    ----------
    where : mapping
    count : callable
        Returns the number of documents that pass a filter.
    values_of : callable
        Returns the distinct values of a key.
    """
    if count(where):
        return []
    reasons = ["No document passes the filter"]
    for alone, path, values in Where.parse(where).required():
        if count(alone):
            continue
        key, held = shortened(".".join(path)), values_of(path)
        kinds, compared = set(map(_kind, held)), set(map(_kind, values))
        texts = [value for value in held if isinstance(value, str)]
        if not held:
            reasons.append(f"No document has the key {key}")
        elif texts and compared == {"number"} and all(type_of(one) == "date" for one in texts):
            reasons.append(
                f"{key} is a date, such as {min(texts)}, and is compared with a number; "
                f"compare with a date, such as {min(texts)[:10]}"
            )
        elif texts and compared == {"number"}:
            digits = str.maketrans("", "", "-.")
            example = min(texts, key=lambda text: (text.translate(digits).isdecimal(), text))
            reasons.append(
                f"{key} is text, such as {shortened(example)}, and is compared with a number; text "
                "has no order of numbers, so write numbers into the documents (of CSV and TSV by "
                "--types KEY=decimal) and index them again"
            )
        elif "number" in kinds and compared == {"text"}:
            reasons.append(
                f"{key} is a number and is compared with text; compare with a number, without "
                "quotation marks"
            )
    return list(dict.fromkeys(reasons))


def _kind(value: object) -> str:
    """Return the kind of values that a value can be compared with."""
    return "text" if isinstance(value, str) else "number" if is_number(value) else "another"


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
