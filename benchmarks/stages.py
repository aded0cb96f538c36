"""The steps of our search called one by one, so that each can be timed alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from newsgroups import Workload
from softcosine.index.search.bounds import slack
from softcosine.index.search.expansion import Expansions
from softcosine.index.search.first_stage import Prepared
from softcosine.index.search.parts import Part
from softcosine.index.search.top_docs import QueryVector
from softcosine.index.segment.dense_columns import Columns
from softcosine.kernels.search import find_candidates

__all__ = ["Stages", "any_width", "without_columns"]


class Stages:
    """Our search up to the candidates, of one thread, one query at a time, over counts.

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
        self._searcher = workload.searcher
        self._k, self._find = k, find
        prepare = Prepared.of if columns else without_columns
        self.prepared = [prepare(part) for part in self.parts]
        self._longest = max(prepared.longest for prepared in self.prepared)
        self._half = any(prepared.half for prepared in self.prepared)
        largest = max(part.segment.n_docs for part in self.parts)
        self._scores = np.zeros(largest, np.float32)
        self._candidates = np.empty(largest, np.uint32)

    def expansion(self, query: QueryVector) -> Expansions:
        """Return W S' W x."""
        with self._searcher.first_stage(query) as stage:
            return stage.expanded

    def candidates(self, expanded: Expansions) -> list[NDArray[np.uint32]]:
        """Add up the postings of one query, scan, and return the candidates of each segment."""
        heaps, floors = np.zeros((1, self._k), np.float32), np.zeros(1, np.float32)
        n_summands = min(expanded.terms.shape[0], self._longest)
        slacks = np.array([slack(n_summands, half=self._half)])
        chosen, starts = np.ones(1, np.uint8), np.zeros(2, np.int64)
        found = []
        for prepared in self.prepared:
            factors = prepared.factors(None)
            self._find(
                prepared.part.ranking.kind, expanded.pointers, expanded.terms, expanded.weights,
                np.array(expanded.scales), chosen, *prepared.postings, factors, floors, heaps,
                slacks, self._scores[: factors.shape[0]], 0, starts, self._candidates,
            )  # fmt: skip
            found.append(self._candidates[: starts[1]].copy())
        return found


def without_columns(part: Part) -> Prepared:
    """Prepare a part whose every term is read from its postings."""
    segment = part.segment
    none = np.full(segment.n_terms, -1, np.int32)
    columns = Columns(segment.n_docs, none, np.zeros((0, segment.n_docs), np.uint16))
    return Prepared(part, columns, int(np.diff(segment.pointers).max(initial=0)))


def any_width(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel for whatever dtypes it is called with, compiled at the first call."""
    compiled: Callable[..., Any] = njit(nogil=True)(inspect.unwrap(kernel))
    return compiled
