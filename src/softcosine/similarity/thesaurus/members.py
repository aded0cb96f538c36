"""Members of concepts among the searched strings, ordered by cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum, slices
from softcosine.similarity.thesaurus.concepts import Concepts

__all__ = ["Asked", "Searched"]

_BLOCK_PLACES = 1 << 22  # unsorted neighbours per block


@dataclass(frozen=True, slots=True)
class Searched:
    """Known strings of a searched sequence, grouped by concept.

    Attributes
    ----------
    strings : sequence of str
    rows : ndarray of shape (n_strings,), int32
        Word of each string, or -1.
    by_row : ndarray of shape (n_known,), int64
        Positions of the known strings, ordered by their word.
    starts : ndarray of shape (n_concepts + 1,), int64
        Members of concept c are at ``starts[c]:starts[c + 1]``, in order of increasing cost.
    members : ndarray of shape (n_members,), int32
        Positions in the searched sequence.
    costs : ndarray of shape (n_members,), float32
    keys : ndarray of shape (n_members,), float64
        Concept times `span` plus cost, ascending.
    span : float
        More than any cost.
    """

    strings: Sequence[str]
    rows: NDArray[np.int32]
    by_row: NDArray[np.int64]
    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    costs: NDArray[np.float32]
    keys: NDArray[np.float64]
    span: float

    @classmethod
    def of(cls, table: Concepts, strings: Sequence[str], rows: NDArray[np.int32]) -> Searched:
        """Group strings by the concepts of their words."""
        by_row = np.argsort(rows, kind="stable")
        by_row = by_row[np.count_nonzero(rows < 0) :]
        of, entries = slices(table.starts, rows[by_row])
        concepts, costs = table.concepts[entries], table.costs[entries]
        span = float(np.floor(table.costs.max(initial=0.0))) + 1.0
        keys = concepts * span + costs
        order = np.argsort(keys, kind="stable")
        starts = running_sum(np.bincount(concepts, minlength=len(table.weights)))
        members = by_row[of[order]].astype(np.int32)
        return cls(
            strings,
            rows,
            by_row,
            starts,
            members,
            costs[order],
            keys[order].astype(np.float64),
            span,
        )

    def other_names(
        self, terms: Sequence[str], rows: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of a query term and the position of a different string of the same word."""
        ordered = self.rows[self.by_row]
        bounds = np.stack((np.searchsorted(ordered, rows), np.searchsorted(ordered, rows, "right")))
        of, places = slices(bounds.T.ravel(), 2 * np.arange(len(rows)))
        positions = self.by_row[places]
        differ = np.fromiter(
            (
                terms[i] != self.strings[j]
                for i, j in zip(of.tolist(), positions.tolist(), strict=True)
            ),
            np.bool_,
            len(of),
        )
        return of[differ], positions[differ]


@dataclass(frozen=True, slots=True)
class Asked:
    """Known query terms, and the members of their concepts within the threshold.

    Attributes
    ----------
    searched : Searched
    rows : ndarray of shape (n_asked,), int32
        Word of each term.
    starts : ndarray of shape (n_asked + 1,), int64
        Entries of term i are ``starts[i]:starts[i + 1]``.
    firsts, lasts : ndarray of shape (n_entries,), int64
        Range of members to scan.
    costs, weights : ndarray of shape (n_entries,), float32
        Cost from the term to the concept, and weight of the concept.
    room : ndarray of shape (n_asked,), int64
        Upper bound of the neighbours of each term.
    """

    searched: Searched
    rows: NDArray[np.int32]
    starts: NDArray[np.int64]
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    costs: NDArray[np.float32]
    weights: NDArray[np.float32]
    room: NDArray[np.int64]

    @classmethod
    def of(
        cls, table: Concepts, rows: NDArray[np.int32], searched: Searched, threshold: float
    ) -> Asked:
        """Return the ranges to scan for terms with the given words."""
        of, entries = slices(table.starts, rows)
        concepts, costs = table.concepts[entries], table.costs[entries]
        weights = table.weights[concepts]
        firsts, lasts = searched.starts[concepts], searched.starts[concepts + 1]
        if threshold > 0.0:
            # Slightly wider than the threshold; the kernel drops the excess.
            furthest = 2.000_002 / threshold * weights.astype(np.float64) - costs
            ends = np.searchsorted(searched.keys, concepts * searched.span + furthest, side="right")
            lasts = np.clip(ends, firsts, lasts)
        starts = np.searchsorted(of, np.arange(len(rows) + 1))
        before = running_sum(lasts - firsts)
        room = np.minimum(np.diff(before[starts]), len(searched.strings))
        return cls(searched, rows, starts, firsts, lasts, costs, weights, room)

    def blocks(self) -> list[slice]:
        """Divide the terms into blocks with a bounded number of neighbours."""
        before = np.cumsum(self.room)
        cuts = np.searchsorted(before, np.arange(_BLOCK_PLACES, before[-1], _BLOCK_PLACES))
        bounds = np.unique(np.concatenate(([0], cuts, [len(before)])))
        return [slice(int(start), int(stop)) for start, stop in pairwise(bounds)]
