"""Which segments are joined, and that joining equals inverting anew."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from softcosine.errors import InvalidInputError
from softcosine.index.segment.segment import MAX_DOCS, Segment
from softcosine.index.writer import merging
from softcosine.index.writer.merging import MergePolicy, full_groups, merge_fields
from strategies import counts

sizes = st.lists(st.sampled_from((1, 2, 9, 10, 11, 99, 100, 5000, 30_000, MAX_DOCS)), max_size=40)


def after(policy, sizes):
    """Sizes after what a policy joins, in order."""
    joined, place = [], 0
    for group in policy.groups(sizes, sizes):
        joined += [*sizes[place : group.start], sum(sizes[i] for i in group)]
        place = group.stop
    return [*joined, *sizes[place:]]


@given(sizes, st.integers(2, 12))
def test_groups_are_neighbours_in_order_that_do_not_grow_too_large(sizes, factor):
    policy = MergePolicy(factor, min_docs=1)
    groups = policy.groups(sizes, sizes)
    assert all(len(group) > 1 for group in groups)
    assert all(a.stop <= b.start for a, b in pairwise(groups))
    assert max(after(policy, sizes), default=0) <= MAX_DOCS
    assert sum(after(policy, sizes)) == sum(sizes)


@given(sizes, st.integers(2, 12))
def test_after_a_merge_there_is_nothing_left_to_join(sizes, factor):
    policy = MergePolicy(factor, min_docs=1)
    assert policy.groups(*[after(policy, sizes)] * 2) == []


@pytest.mark.parametrize("factor", [2, 4, 10])
@pytest.mark.parametrize("size", [1, 7, 600])
def test_many_equal_segments_stay_few_and_are_rewritten_seldom(factor, size):
    policy, sizes, rewritten = MergePolicy(factor, min_docs=1), [], 0
    n = 3000
    for _ in range(n):
        sizes.append(size)
        for group in policy.groups(sizes, sizes):
            rewritten += sum(sizes[i] for i in group)
        sizes = after(policy, sizes)
    levels = np.log(n * size) / np.log(factor) + 1
    full = n * size / (MAX_DOCS / 2)
    assert len(sizes) <= factor * levels + full
    assert rewritten <= 2 * levels * n * size


def test_a_worn_segment_is_rewritten_alone_and_a_sound_one_left():
    policy = MergePolicy(10, max_deleted=0.5, min_docs=100)
    assert policy.groups([100, 100, 100], [49, 50, 100]) == [range(1)]
    assert policy.groups([99], [1]) == []  # so few cost nothing, and are joined soon
    assert MergePolicy(10, max_deleted=1).groups([100], [0]) == []
    assert MergePolicy(2, max_deleted=0.5).groups([90, 90, 90], [80, 9, 90]) == [range(3)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"factor": 1}, "factor of the merge policy is 1; it must be a whole number from 2"),
        ({"factor": 2.0}, "factor of the merge policy is 2.0"),
        ({"min_docs": 0}, "min_docs of the merge policy is 0"),
        ({"max_docs": MAX_DOCS + 1}, "max_docs of the merge policy is 65537"),
        ({"max_deleted": 1.1}, "max_deleted of the merge policy is 1.1; it must be a number"),
        ({"max_deleted": float("nan")}, "max_deleted of the merge policy is nan"),
        ({"max_deleted": True}, "max_deleted of the merge policy is True"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        MergePolicy(**settings)


@given(st.lists(st.lists(st.booleans(), max_size=9), max_size=6), st.integers(1, 5))
def test_full_groups_take_every_live_document_once_in_order(live, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "MAX_DOCS", size)
        groups = full_groups([np.array(mask, bool) for mask in live])
    taken = [[(i, d) for i, mask in group for d in np.flatnonzero(mask)] for group in groups]
    wanted = [(i, d) for i, mask in enumerate(live) for d, own in enumerate(mask) if own]
    assert [one for group in taken for one in group] == wanted
    assert [len(group) for group in taken[:-1]] == [size] * (len(taken) - 1)
    assert all(group for group in taken)


@st.composite
def collections(draw):
    """Segments whose vocabulary grows, and which documents of each to take."""
    pieces, chosen = [], []
    n_terms = 0
    for _ in range(draw(st.integers(1, 4))):
        n_terms += draw(st.integers(0, 3))
        n_docs = draw(st.integers(1, 5))
        pieces.append(draw(counts(n_docs, n_terms)))
        mask = draw(st.lists(st.booleans(), min_size=n_docs, max_size=n_docs))
        chosen.append(np.array(mask, bool))
    return pieces, chosen


def segment(X):
    return Segment.from_counts(csr_array(X.astype(np.int64)))


@given(collections())
def test_joined_segments_equal_the_documents_inverted_anew(collection):
    pieces, chosen = collection
    n_terms = pieces[-1].shape[1]
    rows = [
        np.pad(X[own], ((0, 0), (0, n_terms - X.shape[1])))
        for X, own in zip(pieces, chosen, strict=True)
    ]
    merged = merge_fields([segment(X) for X in pieces], chosen)
    anew = segment(np.concatenate(rows))
    for name, array in anew.to_arrays().items():
        np.testing.assert_array_equal(getattr(merged, name), array)
        assert getattr(merged, name).dtype == array.dtype
