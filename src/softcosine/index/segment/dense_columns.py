"""Terms that very many documents have, as dense columns beside their postings.

A term of every fourth document costs a search less as a column, one value a document in order,
than as postings that jump about: the addition runs over neighbouring documents, many at a time.
A value takes 16 bits, the upper half of a float32 rounded to nearest; the bound of the first stage
allows for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.index.search.rankings import PreparedRanking
from softcosine.index.segment.segment import Segment
from softcosine.kernels.documents import REALS, SATURATED

__all__ = ["Columns", "frequent_columns"]

_SHARE = 4  # a column pays where more than one document in four has the term
_FEWEST_DOCUMENTS = 1024


@dataclass(frozen=True, slots=True)
class Columns:
    """Dense columns of the frequent terms.

    Attributes
    ----------
    longest_list : int
        Terms with more postings have a column, and no others.
    slots : ndarray of shape (n_columns,), int32
        Their places in the segment's `present_terms`, ascending.
    values : ndarray of shape (n_columns, n_docs), uint16
    """

    longest_list: int
    slots: NDArray[np.int32]
    values: NDArray[np.uint16]


def frequent_columns(segment: Segment, ranking: PreparedRanking) -> Columns:
    """Return the columns of the terms that more than a quarter of the documents have.

    A segment with few documents has none. They take less than twice the memory of the same
    terms' postings.
    """
    starts, n_docs = segment.term_starts, segment.n_docs
    longest = n_docs // _SHARE if n_docs >= _FEWEST_DOCUMENTS else n_docs
    slots = np.flatnonzero(np.diff(starts) > longest).astype(np.int32)
    values = np.zeros((slots.shape[0], n_docs), np.uint16)
    for column, slot in zip(values, slots.tolist(), strict=True):
        postings = slice(starts[slot], starts[slot + 1])
        column[segment.documents[postings]] = halves(_values(segment, ranking, slot, postings))
    return Columns(longest, slots, values)


def halves(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Round float32 to their upper 16 bits."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    return ((bits + np.uint32(0x8000)) >> np.uint32(16)).astype(np.uint16)


def _values(
    segment: Segment, ranking: PreparedRanking, slot: int, postings: slice
) -> NDArray[np.float32]:
    """Return a term's values in the order of its postings, as the kernel adds them up."""
    if ranking.kind == REALS:
        return segment.posting_weights[postings]
    groups = slice(segment.term_groups[slot], segment.term_groups[slot + 1])
    sizes = np.diff(segment.group_starts[groups.start : int(groups.stop) + 1])
    values = np.repeat(ranking.table32[segment.group_levels[groups]], sizes)
    if ranking.kind == SATURATED:
        K = ranking.saturation32[segment.documents[postings]]
        values = values * (np.float32(1.0) + K) / (values + K)
    return np.asarray(values, np.float32)
