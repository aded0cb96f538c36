"""The steps of our search called one by one, so that each can be timed alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from newsgroups import Workload
from softcosine.index.bounds import slack
from softcosine.index.columns import Columns, frequent_columns
from softcosine.index.parts import Part
from softcosine.index.values import QueryVector
from softcosine.index.workspace import Kept, Workspace
from softcosine.kernels.search import expand, find_candidates

__all__ = ["Stages", "any_width", "no_columns"]


class Stages:
    """Our search up to the candidates, of one thread, over counts.

    Parameters
    ----------
    workload : Workload
        Whose S and ranking are searched by.
    parts : sequence of Part, optional
        Other segments of the same documents.
    k : int
    columns : bool
        Whether frequent terms are added as columns, as a search does.
    find : callable, optional
        Another form of `find_candidates`.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        parts: Sequence[Part] | None = None,
        k: int = 10,
        columns: bool = True,
        find: Callable[..., Any] = find_candidates,
    ) -> None:
        self.parts = workload.parts if parts is None else tuple(parts)
        self._ranking, self._S = workload.ranking, workload.S
        self._k, self._find = k, find
        made = frequent_columns if columns else no_columns
        self.columns = [made(part.segment, part.ranking) for part in self.parts]
        largest = max(part.segment.n_docs for part in self.parts)
        lengths = [np.diff(part.segment.pointers).max(initial=0) for part in self.parts]
        self._longest = int(max(lengths))
        self._space = Workspace(largest, len(workload.S))

    def expansion(self, query: QueryVector) -> Kept:
        """Return W S' W x."""
        space = self._space
        n = expand(
            query.terms, query.weights, *self._S.arrays, query.extra_terms, query.extra_values,
            self._ranking.term_weights, space.expansion, space.seen, space.touched, space.facts,
        )  # fmt: skip
        return space.take(n, 1.0)

    def candidates(self, expanded: Kept) -> list[NDArray[np.uint32]]:
        """Add up the postings, scan, and return the candidates of each segment."""
        space, n_touched = self._space, expanded.terms.shape[0]
        space.put(expanded)
        heap = np.zeros(self._k, np.float32)
        found = []
        for part, columns in zip(self.parts, self.columns, strict=True):
            segment, ranking = part.segment, part.ranking
            bound = slack(min(n_touched, self._longest), half=columns.values.shape[0] > 0)
            n = self._find(
                ranking.kind, space.touched, n_touched, space.expansion, float(space.facts[0]),
                segment.term_groups, segment.group_starts, ranking.group_weights,
                segment.documents, segment.posting_weights, ranking.saturation32,
                columns.longest_list, columns.column_of, columns.values, ranking.factors32,
                np.float32(0.0), heap, bound, space.scores[: segment.n_docs], space.candidates,
            )  # fmt: skip
            found.append(space.candidates[:n].copy())
        space.clear(n_touched)
        return found


def no_columns(segment: Any, ranking: Any) -> Columns:
    """Return no columns: every term is read from its postings."""
    nothing = np.full(segment.n_terms, -1, np.int32)
    return Columns(segment.n_docs, nothing, np.zeros((0, segment.n_docs), np.uint16))


def any_width(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel for whatever dtypes it is called with, compiled at the first call."""
    compiled: Callable[..., Any] = njit(nogil=True)(inspect.unwrap(kernel))
    return compiled
