"""Scores of many queries at once: the forward index times a panel of expanded queries.

A query of the panel is a column of 16-bit weights: the upper halves of float32, rounded to nearest.
The bottleneck of this product is the number of panel bytes that pass through the caches.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import inlined, kernel
from softcosine.kernels.ordering import lower_bound
from softcosine.kernels.prefetch import prefetch

PANEL = 64  # queries; a row of the panel is two cache lines
_FETCH = 16  # number of postings that a row is prefetched ahead


@kernel("void(int32[::1], float64[::1], float64, int64, uint16[:, ::1])")
def fill_panel(terms, weights, scale, column, panel):
    """Write one query's `weights` / `scale` of `terms` into a column of the panel."""
    inverse = 1.0 / scale
    for t in range(terms.shape[0]):
        bits = np.float32(weights[t] * inverse).view(np.uint32)
        panel[terms[t], column] = (bits + np.uint32(0x8000)) >> np.uint32(16)


@kernel("void(int32[::1], int64, uint16[:, ::1])")
def clear_panel(terms, column, panel):
    """Set a query's entries of the panel back to zero."""
    for t in range(terms.shape[0]):
        panel[terms[t], column] = 0


@inlined
def _widened(weight):
    return np.uint32(np.uint32(weight) << np.uint32(16)).view(np.float32)


@kernel(
    "void(int64, int64[::1], uint32[::1], int64[::1], uint16[::1], float64[::1], float32[::1],"
    " float64[::1], uint16[:, ::1], int64, int64, float32[:, ::1])"
)
def score_panel(
    kind, pointers, entries, spilled, spilled_levels, table, saturation, reals, panel,
    start, stop, scores,
):  # fmt: skip
    """Write the scores of the documents start..stop, without factors, for all queries.

    `panel` (n_terms, PANEL); `scores` (PANEL, stop - start or more) float32. Make its rows an odd
    number of cache lines long: the totals of a document go to all rows, and lines at a power-of-two
    distance would evict each other. For `kind` and the forward index see
    `softcosine.kernels.documents`.
    O(postings of the documents x PANEL).
    """
    longest = 0
    for d in range(start, stop):
        longest = max(longest, pointers[d + 1] - pointers[d])
    # Terms and values are decoded first, so that the loops over the panel do nothing else.
    rows, values = np.zeros(longest + _FETCH + 4, np.uint32), np.empty(longest, np.float32)
    total = np.empty(PANEL, np.float32)
    one, k = np.float32(1.0), np.float32(0.0)
    s = lower_bound(spilled, pointers[start])
    for d in range(start, stop):
        if kind == 1:
            k = saturation[d]
        begin = pointers[d]
        n = pointers[d + 1] - begin
        for i in range(n):
            entry = entries[begin + i]
            if kind == 2:
                rows[i] = entry
                values[i] = reals[begin + i]
                continue
            level = np.int64(entry >> np.uint32(24))
            if level == 255:
                level = np.int64(spilled_levels[s])
                s += 1
            value = np.float32(table[level])
            if kind == 1:
                value = value * (one + k) / (value + k)
            rows[i] = entry & np.uint32(0xFFFFFF)
            values[i] = value
        for q in range(PANEL):
            total[q] = 0.0
        fours = n // 4 * 4
        # Four rows at a time: the totals are loaded and stored once for four.
        for i in range(0, fours, 4):
            for other in range(i + _FETCH, i + _FETCH + 4):
                prefetch(panel, np.int64(rows[other]) * PANEL)
            v0, v1, v2, v3 = values[i], values[i + 1], values[i + 2], values[i + 3]
            r0, r1, r2, r3 = (
                panel[rows[i]],
                panel[rows[i + 1]],
                panel[rows[i + 2]],
                panel[rows[i + 3]],
            )
            for q in range(PANEL):
                total[q] += (v0 * _widened(r0[q]) + v1 * _widened(r1[q])) + (
                    v2 * _widened(r2[q]) + v3 * _widened(r3[q])
                )
        for i in range(fours, n):
            v0, r0 = values[i], panel[rows[i]]
            for q in range(PANEL):
                total[q] += v0 * _widened(r0[q])
        for q in range(PANEL):
            scores[q, d - start] = total[q]
