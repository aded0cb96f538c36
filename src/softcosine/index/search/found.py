"""What a search found in some documents, before it is arranged and cut to a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from softcosine.index.search.facets import FacetCounts, summed_facets
from softcosine.index.search.first_stage import Staged
from softcosine.index.search.sorting import SortColumn, SortKey, sorted_places
from softcosine.index.search.top_docs import Top

__all__ = ["Found", "Group"]

# The best documents of a search, or the candidates among which they are.
Group = Top | Staged


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found in some documents, such as those of one shard.

    Attributes
    ----------
    groups : tuple of Top or Staged
        Each before the next; two if exact matches come first.
    columns : tuple of SortColumn
        Values of the sort keys in the documents of the only group, which they have sorted.
    zeros : ndarray of int64
        Documents of score 0 for ``fill``, ascending.
    facets : mapping of str to Counter
        Of all matching documents.
    missing : tuple of str
        The shards that did not answer in time.
    """

    groups: tuple[Group, ...]
    columns: tuple[SortColumn, ...] = ()
    zeros: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    facets: FacetCounts = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @classmethod
    def joined(
        cls, parts: Sequence[Self], keys: Sequence[SortKey], missing: tuple[str, ...] = ()
    ) -> Self:
        """Return what was found in all documents, sorted by keys if there are any.

        There is at least one part, and no document is in two of them.
        """
        groups = tuple(_joined(same) for same in zip(*(one.groups for one in parts), strict=True))
        columns = tuple(map(SortColumn.joined, zip(*(one.columns for one in parts), strict=True)))
        if keys:
            top = Top.together(
                [one for part in parts for one in part.groups if isinstance(one, Top)]
            )
            places = sorted_places(keys, columns, top.documents, top.scores)
            groups, columns = (top.at(places),), tuple(one.of(places) for one in columns)
        zeros = np.sort(np.concatenate([one.zeros for one in parts]))
        facets = summed_facets(one.facets for one in parts)
        return cls(groups, columns, zeros, facets, missing)

    def renumbered(self, numbers: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Found:
        """Return the same with other document numbers of the same order."""
        groups = tuple(group.renumbered(numbers) for group in self.groups)
        return Found(groups, self.columns, numbers(self.zeros), self.facets, self.missing)


def _joined(same: Sequence[Group]) -> Group:
    """Return a group of the documents of groups; an empty Top has no documents of a first stage."""
    stages = [group for group in same if isinstance(group, Staged)]
    if stages:
        return Staged.joined(stages)
    return Top.joined([group for group in same if isinstance(group, Top)])
