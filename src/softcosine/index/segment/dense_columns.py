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
    column_of : ndarray of shape (n_terms,), int32
        -1 for terms without one.
    values : ndarray of shape (n_columns, n_docs), uint16
    """

    longest_list: int
    column_of: NDArray[np.int32]
    values: NDArray[np.uint16]


def frequent_columns(segment: Segment, ranking: PreparedRanking) -> Columns:
    """Return the columns of the terms that more than a quarter of the documents have.

    A segment with few documents has none. They take less than twice the memory of the same
    terms' postings.
    """
    first, last = segment.term_groups[:-1], segment.term_groups[1:]
    if ranking.kind != REALS and segment.n_postings > 0:
        first, last = segment.group_starts[first], segment.group_starts[last]
    n_docs = segment.n_docs
    longest = n_docs // _SHARE if n_docs >= _FEWEST_DOCUMENTS else n_docs
    terms = np.flatnonzero(segment.document_frequencies() > longest)
    column_of = np.full(segment.n_terms, -1, np.int32)
    column_of[terms] = np.arange(terms.shape[0])
    values = np.zeros((terms.shape[0], n_docs), np.uint16)
    for column, term in zip(values, terms.tolist(), strict=True):
        postings = slice(first[term], last[term])
        column[segment.documents[postings]] = halves(_values(segment, ranking, term, postings))
    return Columns(longest, column_of, values)


def halves(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Round float32 to their upper 16 bits."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    return ((bits + np.uint32(0x8000)) >> np.uint32(16)).astype(np.uint16)


def _values(
    segment: Segment, ranking: PreparedRanking, term: int, postings: slice
) -> NDArray[np.float32]:
    """Return a term's values in the order of its postings, as the kernel adds them up."""
    if ranking.kind == REALS:
        return segment.posting_weights[postings]
    groups = slice(segment.term_groups[term], segment.term_groups[term + 1])
    sizes = np.diff(segment.group_starts[groups.start : groups.stop + 1])
    values = np.repeat(ranking.group_weights[groups], sizes)
    if ranking.kind == SATURATED:
        K = ranking.saturation32[segment.documents[postings]]
        values = values * (np.float32(1.0) + K) / (values + K)
    return np.asarray(values, np.float32)
