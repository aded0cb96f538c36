"""How many documents have each value of a key of metadata: what ``facets=`` means.

Every document counts that matches, not only those that are shown: in a search those whose score is
above 0 and not below `min_score`, and that pass the filter and hold what the query constraints;
without a query those that pass the filter. A list counts once for each distinct value that it
holds. Objects, lists within lists and missing keys are not counted; null is a value. Numbers that
are equal, such as 1 and 1.0, are one value; true is another than 1, and the string "1" a third.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_list, check_type
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.filters import key_path
from softcosine.index.search.sorting import columns_of
from softcosine.index.segment.metadata_columns import MISSING, order_of, scalar_of

__all__ = ["FacetCount", "Facets", "checked_facets", "counted_facets"]


class FacetCount(NamedTuple):
    """A value, and how many documents have it."""

    value: str | int | float | bool | None
    n_docs: int


# For each key its values: most documents first, then numbers, strings, booleans and null.
Facets = Mapping[str, tuple[FacetCount, ...]]


def checked_facets(facets: Sequence[str]) -> tuple[str, ...]:
    """Return the keys that are counted; InvalidInputError if they are no list of keys."""
    check_list("facets", facets, 'keys of metadata, such as ["lang", "year"]', types=Sequence)
    for key in facets:
        check_type(f"the facet {key!r}", key, str, "pass keys of metadata, which are strings")
        key_path(key)
    return tuple(facets)


def counted_facets(
    snapshot: Snapshot, facets: Sequence[str], documents: NDArray[np.int64]
) -> Facets:
    """Count the values of some keys in some documents, exactly.

    Parameters
    ----------
    snapshot : Snapshot
    facets : sequence of str
    documents : ndarray of shape (n,), int64
        Numbers.
    """
    return {key: _counted(snapshot, key, documents) for key in facets}


def _counted(snapshot: Snapshot, key: str, documents: NDArray[np.int64]) -> tuple[FacetCount, ...]:
    counts: Counter[Hashable] = Counter()
    for _, numbers, keys in columns_of(snapshot, key_path(key), documents):
        for own, n in zip(keys, np.bincount(numbers, minlength=len(keys)).tolist(), strict=True):
            for part in set(own) if isinstance(own, tuple) else (own,):
                if scalar_of(part) is not MISSING:
                    counts[part] += n

    def place(part: Hashable) -> tuple[object, ...]:
        order = order_of(part)
        return -counts[part], order is None, order

    return tuple(FacetCount(scalar_of(part), counts[part]) for part in sorted(counts, key=place))
