"""Postings grouped by frequency: inversion of the forward index, and the greatest impacts."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import kernel

_ROUNDED = 1.0 + 2.0**-23  # real weights of postings are rounded to float32


@kernel(
    "void(int64, uint32[::1], uint32[::1], uint16[::1], float64[::1], uint16[::1], float32[::1],"
    " float64[::1], float64, float64[::1], float64[::1])"
)
def greatest_impacts(
    kind, term_groups, group_starts, group_levels, table, documents, posting_weights, saturation,
    k1, factors, impacts,
):  # fmt: skip
    """Write the greatest value times factor of the postings of each term.

    Arguments are arrays of `softcosine.index.segment.segment.Segment` and of `PreparedRanking`;
    `factors` (n_docs,) are 0 for documents that do not count; `impacts` (n_present,) out. Of real
    weights, the result is an upper bound, because postings hold them in float32. O(postings).
    """
    for t in range(impacts.shape[0]):
        greatest = 0.0
        first, last = np.int64(term_groups[t]), np.int64(term_groups[t + 1])
        if kind == 2:
            for p in range(first, last):
                value = np.float64(posting_weights[p]) * _ROUNDED
                greatest = max(greatest, value * factors[documents[p]])
        else:
            for g in range(first, last):
                value = table[group_levels[g]]
                for p in range(group_starts[g], group_starts[g + 1]):
                    d = documents[p]
                    impact = value * factors[d]
                    if kind == 1:
                        impact = value * (k1 + 1.0) / (value + saturation[d]) * factors[d]
                    greatest = max(greatest, impact)
        impacts[t] = greatest


@kernel(
    "int64(int64[::1], uint32[::1], uint16[::1], int64[::1], int64[::1],"
    " uint16[::1], int64[::1], int64[::1], uint16[::1])",
)
def invert_counts(
    pointers, terms, levels, level_starts, term_starts,
    documents, term_groups, group_starts, group_levels,
):  # fmt: skip
    """Sort the postings by term, then frequency level, then document; returns the number of groups.

    Two stable counting sorts. `level_starts` (n_levels,) and `term_starts` (n_terms,) hold the
    starts of the levels and terms; both are overwritten. `documents` (n_postings,), `term_groups`
    (n_terms + 1,), `group_starts` (n_postings + 1,) and `group_levels` (n_postings,) out, the last
    two as far as there are groups.
    """
    n_postings = terms.shape[0]
    by_level = np.empty(n_postings, np.uint32)
    owners = np.empty(n_postings, np.uint16)
    for d in range(pointers.shape[0] - 1):
        for p in range(pointers[d], pointers[d + 1]):
            slot = level_starts[levels[p]]
            level_starts[levels[p]] = slot + 1
            by_level[slot] = terms[p]
            owners[slot] = d
    # level_starts[l] is now where level l ends. Level and document together: one random write.
    placed = np.empty(n_postings, np.uint32)
    begin = 0
    for level in range(level_starts.shape[0]):
        for position in range(begin, level_starts[level]):
            slot = term_starts[by_level[position]]
            term_starts[by_level[position]] = slot + 1
            placed[slot] = level << 16 | np.int64(owners[position])
        begin = level_starts[level]
    # term_starts[t] is now where term t ends.
    n_groups = 0
    begin = 0
    for t in range(term_starts.shape[0]):
        term_groups[t] = n_groups
        for slot in range(begin, term_starts[t]):
            documents[slot] = placed[slot] & 0xFFFF
            if slot == begin or placed[slot] >> 16 != group_levels[n_groups - 1]:
                group_starts[n_groups] = slot
                group_levels[n_groups] = placed[slot] >> 16
                n_groups += 1
        begin = term_starts[t]
    term_groups[term_starts.shape[0]] = n_groups
    group_starts[n_groups] = n_postings
    return n_groups


@kernel("void(int64[::1], uint32[::1], float64[::1], int64[::1], uint16[::1], float32[::1])")
def invert_reals(pointers, terms, reals, term_starts, documents, weights):
    """Sort real-valued postings by term, then document. Overwrites `term_starts` (n_terms,)."""
    for d in range(pointers.shape[0] - 1):
        for p in range(pointers[d], pointers[d + 1]):
            slot = term_starts[terms[p]]
            term_starts[terms[p]] = slot + 1
            documents[slot] = d
            weights[slot] = reals[p]
