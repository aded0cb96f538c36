"""Similarity of terms by common concepts.

A term belongs to a concept at a cost; the similarity of two terms that share concepts of weight w,
at costs k and k', is the largest ``2 w / (k + k')``. One function computes every similarity from
the stored float32 numbers, so s_ij and s_ji agree to the bit.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel


@helper
def _shared(weight, left, right):
    """Return the similarity of two terms by one common concept."""
    return np.float32(2.0 * np.float64(weight) / (np.float64(left) + np.float64(right)))


@helper
def _similarity(shared, threshold, exponent):
    """Similarity from the largest value of a common concept."""
    if shared < threshold:
        return np.float32(0.0)
    if exponent == 1.0:
        return shared
    return np.float32(np.float64(shared) ** exponent)


@kernel(
    "void(int64[::1], int64[::1], int64[::1], float32[::1], float32[::1], int32[::1], float32[::1],"
    " int32[::1], int32[::1], int64[::1], float32, float64, int64, int64,"
    " int32[::1], float32[::1], int64[::1])"
)
def members_by_concepts(
    starts, firsts, lasts, costs, weights, members, member_costs, rows, member_rows, places,
    threshold, exponent, first, last, columns, similarities, counts,
):  # fmt: skip
    """Columns that share a concept with the query terms `first` to `last`, without duplicates.

    starts (n_asked + 1,) read: entries of each query term; firsts, lasts, costs, weights
    (n_entries,) read: the range of the concept's members, the term's cost, the concept's weight;
    members, member_costs (n_members,) read: column and cost of each; rows (n_asked,), member_rows
    (n_columns,) read: columns of the query's own row are left out; places (n_asked + 1,) read:
    starts of the results, with space for all members; columns, similarities (places[-1],) out, in
    any order; counts (n_asked,) out. Query terms are independent. O(members).
    """
    greatest = np.zeros(member_rows.shape[0], np.float32)
    for asked in range(first, last):
        size = places[asked]
        for entry in range(starts[asked], starts[asked + 1]):
            for i in range(firsts[entry], lasts[entry]):
                column = members[i]
                if member_rows[column] == rows[asked]:
                    continue
                shared = _shared(weights[entry], costs[entry], member_costs[i])
                if not shared > 0.0:
                    continue  # otherwise it would be met anew each time and overflow the space
                if greatest[column] == 0.0:
                    columns[size] = column
                    size += 1
                if shared > greatest[column]:
                    greatest[column] = shared
        kept = places[asked]
        for i in range(places[asked], size):
            column = columns[i]
            similarity = _similarity(greatest[column], threshold, exponent)
            greatest[column] = 0.0
            if similarity > 0.0:
                columns[kept] = column
                similarities[kept] = similarity
                kept += 1
        counts[asked] = kept - places[asked]


@kernel(
    "void(int64[::1], int32[::1], float32[::1], float32[::1], int32[::1], int32[::1],"
    " float32, float64, float32[::1])"
)
def similarities_by_concepts(
    starts, concepts, costs, weights, left, right, threshold, exponent, similarities
):
    """Similarities of chosen pairs of rows.

    starts (n_rows + 1,), concepts, costs (n_entries,) read: the concepts of each row, ascending,
    and the costs to them; weights (n_concepts,) read; left, right (n_pairs,) read: rows;
    similarities (n_pairs,) out. O(entries of the two rows) a pair.
    """
    for pair in range(left.shape[0]):
        i = starts[left[pair]]
        j = starts[right[pair]]
        last_i = starts[left[pair] + 1]
        last_j = starts[right[pair] + 1]
        greatest = np.float32(0.0)
        while i < last_i and j < last_j:
            if concepts[i] < concepts[j]:
                i += 1
            elif concepts[i] > concepts[j]:
                j += 1
            else:
                shared = _shared(weights[concepts[i]], costs[i], costs[j])
                greatest = max(greatest, shared)
                i += 1
                j += 1
        similarities[pair] = _similarity(greatest, threshold, exponent)
