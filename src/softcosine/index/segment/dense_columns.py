"""Dense columns for the terms that occur in very many documents.

For a term in at least every fourth document, a search is faster with one value per document in
order than with postings, because the addition runs over adjacent documents, many at a time. A value
takes 16 bits: the upper half of a float32, rounded to nearest, which the error bound of the first
stage includes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.index.search.rankings import PreparedRanking
from softcosine.index.segment.segment import Segment
from softcosine.kernels.documents import REALS, SATURATED

__all__ = ["Columns", "frequent_columns"]

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
