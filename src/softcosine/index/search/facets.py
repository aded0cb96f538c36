"""Facets: the number of documents for each value of a metadata key (``facets=``).

All matching documents count, not only the returned ones. In a search they have a score above 0 and
not below `min_score` (by default a share of the best score), pass the filter and meet the
constraints of the query; without a query they pass the filter. A list counts once for each of its
distinct values. Objects, nested lists and missing keys are not counted; null is a value. Equal
numbers such as 1 and 1.0 are one value; true and the string "1" are different values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.requests import key_path
from softcosine.index.search.sorting import columns_of
from softcosine.index.segment.metadata_columns import MISSING, order_of, scalar_of


class FacetCount(NamedTuple):
    """A value and the number of documents that have it."""

    value: str | int | float | bool | None
    n_docs: int


# For each key its values, by decreasing count, then numbers, strings, booleans and null.
Facets = Mapping[str, tuple[FacetCount, ...]]

# For each key, how often each value occurs, by its key in metadata columns.
FacetCounts = Mapping[str, Counter[Hashable]]


def facet_counts(
    snapshot: Snapshot, facets: Sequence[str], documents: NDArray[np.int64]
) -> FacetCounts:
    """Return how often each value of some keys occurs in documents, given by number."""
    return {key: _counted(snapshot, key, documents) for key in facets}


def summed_facets(parts: Iterable[FacetCounts]) -> FacetCounts:
    """Return the sums of counts over different documents."""
    total: dict[str, Counter[Hashable]] = {}
    for part in parts:
        for key, counts in part.items():
            total.setdefault(key, Counter()).update(counts)
    return total


def ordered_facets(counts: FacetCounts) -> Facets:
    """Return the values of each key, by decreasing count."""
    return {key: _ordered(own) for key, own in counts.items()}


def _counted(snapshot: Snapshot, key: str, documents: NDArray[np.int64]) -> Counter[Hashable]:
    counts: Counter[Hashable] = Counter()
    for _, numbers, keys in columns_of(snapshot, key_path(key), documents):
        for own, n in zip(keys, np.bincount(numbers, minlength=len(keys)).tolist(), strict=True):
            for part in set(own) if isinstance(own, tuple) else (own,):
                if scalar_of(part) is not MISSING:
                    counts[part] += n
    return counts


def _ordered(counts: Counter[Hashable]) -> tuple[FacetCount, ...]:
    def place(part: Hashable) -> tuple[object, ...]:
        order = order_of(part)
        return -counts[part], order is None, order

    return tuple(FacetCount(scalar_of(part), counts[part]) for part in sorted(counts, key=place))
