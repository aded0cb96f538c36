"""Statistics that add up, epochs, and indexes that are frozen under one and joined."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import strategies
from softcosine.index.segment.segment import Segment
from softcosine.index.segment.statistics import FieldStatistics


@st.composite
def segments_with_deletes(draw):
    """Segments of one space, of which later ones may know more terms, and what is deleted."""
    segments, live = [], []
    n_terms = 1
    for _ in range(draw(st.integers(0, 4))):
        n_docs, n_terms = draw(strategies.sizes(5)), draw(st.integers(n_terms, 8))
        counts = draw(strategies.counts(n_docs, n_terms))
        segments.append(Segment.from_counts(csr_array(counts.astype(np.int64))))
        masks = st.lists(st.booleans(), min_size=n_docs, max_size=n_docs)
        live.append(draw(st.none() | masks.map(lambda mask: np.array(mask, np.bool_))))
    return segments, live


@given(segments_with_deletes())
def test_statistics_of_parts_add_up_to_those_of_the_whole(drawn):
    segments, live = drawn
    whole = FieldStatistics.of(segments, 8, live=live)
    parts = FieldStatistics.none(0)
    for segment, mask in zip(segments, live, strict=True):
        parts = parts + FieldStatistics.of([segment], segment.n_terms, live=[mask])
    assert parts.padded(8) == whole
    assert (parts.average_length, type(parts.total_length)) == (whole.average_length, int)
    rows = [
        row
        for segment, mask in zip(segments, live, strict=True)
        for number, row in enumerate(dense(segment))
        if mask is None or mask[number]
    ]
    assert whole.n_docs == len(rows)
    assert whole.total_length == sum(row.sum() for row in rows)
    assert whole.document_frequencies.tolist() == [
        sum(row[term] > 0 for row in rows if term < len(row)) for term in range(8)
    ]


def dense(segment):
    for document in range(segment.n_docs):
        row = np.zeros(segment.n_terms)
        terms, values = segment.row(document)
        row[terms] = values
        yield row
