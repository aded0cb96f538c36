"""The steps of our search called one by one, so that each can be timed alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from newsgroups import Workload
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.rankings import PreparedRanking, RankedSegment
from softcosine.index.segment.segment import Segment
from softcosine.index.spaces.bounds import slack
from softcosine.index.spaces.expansion import Expansions
from softcosine.index.spaces.segment_table import Columns, frequent_columns, present_bits
from softcosine.kernels.search import find_in_segment

__all__ = ["Stages", "without_columns"]


class Stages:
    """Our search up to the candidates, of one thread, one query at a time, over counts.

    Parameters
    ----------
    workload : Workload
        Whose S and ranking are searched by.
    parts : sequence of RankedSegment, optional
        Other segments of the same documents, whose numbers may be of 32 bits.
    k : int
    columns : bool
        Whether frequent terms are added as columns, as a search does.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        parts: Sequence[RankedSegment] | None = None,
        k: int = 10,
        columns: bool = True,
    ) -> None:
        self.parts = workload.parts if parts is None else tuple(parts)
        self._searcher = workload.searcher
        self._k = k
        self._bits = [present_bits(part.segment, len(workload.S)) for part in self.parts]
        of = frequent_columns if columns else without_columns
        self._columns = [of(part.segment, part.ranking) for part in self.parts]
        self._longest = max(
            int(np.diff(part.segment.pointers).max(initial=0)) for part in self.parts
        )
        self._half = any(one.values.shape[0] > 0 for one in self._columns)
        largest = max(part.segment.n_docs for part in self.parts)
        self._scores = np.zeros(largest, np.float32)
        self._candidates = np.empty(largest, np.uint32)
        self._approximate = np.empty(largest, np.float32)

    def expansion(self, query: QueryVector) -> Expansions:
        """Return W S' W x."""
        return self._searcher._with_workspace(
            lambda space: self._searcher._expander.expand(space, [query])
        )

    def candidates(self, expanded: Expansions) -> list[NDArray[np.uint32]]:
        """Add up the postings of one query, scan, and return the candidates of each segment."""
        heap, floor = np.zeros(self._k, np.float32), np.float32(0.0)
        n_summands = min(expanded.terms.shape[0], self._longest)
        least = slack(n_summands, half=self._half)
        scaled = (expanded.weights / expanded.scales[0]).astype(np.float32)
        found = []
        for part, bits, columns in zip(self.parts, self._bits, self._columns, strict=True):
            segment, ranking = part.segment, part.ranking
            n = find_in_segment(
                ranking.kind, expanded.terms, scaled, *bits, segment.term_groups,
                segment.group_starts, segment.group_levels, ranking.table32, segment.documents,
                segment.posting_weights, ranking.saturation32, columns.longest_list,
                columns.slots, columns.values.ravel(), ranking.factors32, floor, heap, least,
                self._scores[: segment.n_docs], self._candidates, self._approximate,
            )  # fmt: skip
            found.append(self._candidates[:n].copy())
        return found


def without_columns(segment: Segment, ranking: PreparedRanking) -> Columns:
    """Return no columns, so that every term is read from its postings."""
    return Columns(segment.n_docs, np.empty(0, np.int32), np.empty((0, segment.n_docs), np.uint16))
