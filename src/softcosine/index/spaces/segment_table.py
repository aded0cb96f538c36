"""The segments of a searcher as one table of addresses, which kernels process in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.index.rankings import PreparedRanking, RankedSegment
from softcosine.index.segment.segment import Segment
from softcosine.kernels.documents import REALS, SATURATED
from softcosine.kernels.segment_table import COLUMNS

_SHARE = 4  # a column pays if more than one document in four contains the term
_FEWEST_DOCUMENTS = 1024


@dataclass(frozen=True, slots=True)
class Columns:
    """Dense columns of the frequent terms.

    Attributes
    ----------
    longest_list : int
        Terms with more postings have a column.
    slots : ndarray of shape (n_columns,), int32
        Their indices in `present_terms` of the segment, ascending.
    values : ndarray of shape (n_columns, n_docs), uint16
    """

    longest_list: int
    slots: NDArray[np.int32]
    values: NDArray[np.uint16]


def frequent_columns(segment: Segment, ranking: PreparedRanking) -> Columns:
    """Return the columns of the terms that are in more than a quarter of the documents.

    A small segment has none, nor has a ranking whose scores are no sums of values. Columns take
    less than twice the memory of the postings.
    """
    starts, n_docs = segment.term_starts, segment.n_docs
    longest = n_docs // _SHARE if n_docs >= _FEWEST_DOCUMENTS and ranking.linear else n_docs
    slots = np.flatnonzero(np.diff(starts) > longest).astype(np.int32)
    values = np.zeros((slots.shape[0], n_docs), np.uint16)
    for column, slot in zip(values, slots.tolist(), strict=True):
        postings = slice(starts[slot], starts[slot + 1])
        column[segment.documents[postings]] = halves(_values(segment, ranking, slot, postings))
    return Columns(longest, slots, values)


def halves(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return float32 values rounded to their upper 16 bits."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    return ((bits + np.uint32(0x8000)) >> np.uint32(16)).astype(np.uint16)


def _values(
    segment: Segment, ranking: PreparedRanking, slot: int, postings: slice
) -> NDArray[np.float32]:
    """Return the values of a term in the order of its postings, as the kernel adds them."""
    if ranking.kind == REALS:
        return segment.posting_weights[postings]
    groups = slice(segment.term_groups[slot], segment.term_groups[slot + 1])
    sizes = np.diff(segment.group_starts[groups.start : int(groups.stop) + 1])
    values = np.repeat(ranking.table32[segment.group_levels[groups]], sizes)
    if ranking.kind == SATURATED:
        K = ranking.saturation32[segment.documents[postings]]
        values = values * (np.float32(1.0) + K) / (values + K)
    return np.asarray(values, np.float32)


class SegmentTable:
    """The addresses of the arrays of all segments; it keeps the arrays alive.

    Parameters
    ----------
    parts : sequence of RankedSegment
        Prepared segments, all for the same ranking.
    n_terms : int
        Size of the vocabulary.
    columns : sequence of Columns, optional
        Of each segment; by default those of its frequent terms.

    Attributes
    ----------
    rows : ndarray of shape (n_segments, n_columns), int64
        See `softcosine.kernels.segment_table`.
    columns : list of Columns
    longest : int
        Maximum number of terms of a document.
    half : bool
        Whether some values were rounded to the upper half of a float32.
    """

    def __init__(
        self, parts: Sequence[RankedSegment], n_terms: int, columns: Sequence[Columns] | None = None
    ) -> None:
        if columns is None:
            columns = [frequent_columns(part.segment, part.ranking) for part in parts]
        self.columns = list(columns)
        self.longest = max(int(np.diff(one.segment.pointers).max(initial=0)) for one in parts)
        self.half = any(one.values.shape[0] > 0 for one in columns)
        self._held: list[NDArray[Any]] = []
        pairs = zip(parts, self.columns, strict=True)
        self.rows = np.array([self._row(part, n_terms, own) for part, own in pairs], np.int64)
        self._factors = [
            part.ranking.factors32
            if part.live is None
            else np.where(part.live, part.ranking.factors32, np.float32(0.0))
            for part in parts
        ]
        self._addresses = _addresses(self._factors)

    def factors(
        self, allowed: Sequence[NDArray[np.bool_] | None] | None
    ) -> tuple[list[NDArray[np.float32]], NDArray[np.int64]]:
        """Return the factors of the documents, 0 if not allowed, and their addresses.

        Parameters
        ----------
        allowed : sequence of ndarray of shape (n_docs,), bool, or None
            For each segment, a mask of allowed documents.
        """
        if allowed is None or all(mask is None for mask in allowed):
            return self._factors, self._addresses
        factors = [
            own if mask is None else np.where(mask, own, np.float32(0.0))
            for own, mask in zip(self._factors, allowed, strict=True)
        ]
        return factors, _addresses(factors)

    def _address(self, array: NDArray[Any], dtype: type) -> int:
        """Return the address of an array, and keep the array alive."""
        assert array.dtype == dtype
        held = np.require(array, requirements=["C", "ALIGNED"])
        self._held.append(held)
        return int(held.ctypes.data)

    def _row(self, part: RankedSegment, n_terms: int, columns: Columns) -> list[int]:
        segment, ranking, at = part.segment, part.ranking, self._address
        bits, before = present_bits(segment, n_terms)
        saturated = ranking.kind == SATURATED
        assert ranking.saturation.shape[0] == (segment.n_docs if saturated else 0)
        row = {
            "KIND": ranking.kind,
            "FIRST": part.first,
            "N_DOCS": segment.n_docs,
            "N_WORDS": bits.shape[0],
            "N_PRESENT": segment.present_terms.shape[0],
            "N_GROUPS": segment.group_levels.shape[0],
            "N_POSTINGS": segment.n_postings,
            "N_LEVELS": ranking.table.shape[0],
            "N_SPILLED": segment.spilled.shape[0],
            "N_COLUMNS": columns.slots.shape[0],
            "LONGEST_LIST": columns.longest_list,
            "PRESENT_BITS": at(bits, np.uint64),
            "PRESENT_BEFORE": at(before, np.uint32),
            "TERM_GROUPS": at(segment.term_groups, np.uint32),
            "GROUP_STARTS": at(segment.group_starts, np.uint32),
            "GROUP_LEVELS": at(segment.group_levels, np.uint16),
            "DOCUMENTS": at(segment.documents, np.uint16),
            "POSTING_WEIGHTS": at(segment.posting_weights, np.float32),
            "TABLE32": at(ranking.table32, np.float32),
            "SATURATION32": at(ranking.saturation32, np.float32),
            "COLUMN_SLOTS": at(columns.slots, np.int32),
            "COLUMN_VALUES": at(columns.values, np.uint16),
            "POINTERS": at(segment.pointers, np.int64),
            "ENTRIES": at(segment.entries, np.uint32),
            "SPILLED": at(segment.spilled, np.int64),
            "SPILLED_LEVELS": at(segment.spilled_levels, np.uint16),
            "REALS": at(segment.reals, np.float64),
            "TABLE": at(ranking.table, np.float64),
            "SATURATION": at(ranking.saturation, np.float64),
            "FACTORS": at(ranking.factors, np.float64),
        }
        return [row[name] for name in COLUMNS]


def present_bits(segment: Segment, n_terms: int) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Return the terms of a segment as a bit set, and the number of bits before each word.

    A lookup of a term takes two adjacent reads; the size is a fifth of a byte per vocabulary term.
    """
    present = np.zeros((n_terms // 64 + 1) * 64, bool)
    present[segment.present_terms] = True
    bits = np.packbits(present, bitorder="little").view("<u8").astype(np.uint64)
    before = np.searchsorted(segment.present_terms, np.arange(bits.shape[0]) * 64)
    return bits, before.astype(np.uint32)


def _addresses(arrays: Sequence[NDArray[np.float32]]) -> NDArray[np.int64]:
    return np.array([array.ctypes.data for array in arrays], np.int64)
