"""Scores of many queries at once: the forward index times a panel of expanded queries.

A query of the panel is a column of 16-bit weights: the upper halves of float32, rounded to
nearest. What limits this product is how many bytes of the panel pass through the caches.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel
from softcosine.kernels.prefetch import prefetch

__all__ = ["PANEL", "clear_panel", "fill_panel", "score_panel"]

PANEL = 64  # queries; a row of the panel is two cache lines
_FETCH = 16  # so many postings ahead of its use, a row is fetched


@kernel("void(int32[::1], float64[::1], float64, int64, uint16[:, ::1])")
def fill_panel(terms, weights, scale, column, panel):  # type: ignore[no-untyped-def]
    """Write one query's `weights` / `scale` of `terms` into a column of the panel."""
    inverse = 1.0 / scale
    for t in range(terms.shape[0]):
        bits = np.float32(weights[t] * inverse).view(np.uint32)
        panel[terms[t], column] = (bits + np.uint32(0x8000)) >> np.uint32(16)


@kernel("void(int32[::1], int64, uint16[:, ::1])")
def clear_panel(terms, column, panel):  # type: ignore[no-untyped-def]
    """Set what one query wrote back to zero."""
    for t in range(terms.shape[0]):
        panel[terms[t], column] = 0


@helper
def _value(kind, p, entry, spilled, spilled_levels, table, k, reals):  # type: ignore[no-untyped-def]
    """Return a document's value of a term, like `find_candidates` without (k1 + 1) / (1 + K)."""
    if kind == 2:
        return np.float32(reals[p])
    level = entry >> np.uint32(24)
    if level == 255:
        low, high = 0, spilled.shape[0] - 1
        while low < high:
            middle = (low + high) >> 1
            if spilled[middle] < p:
                low = middle + 1
            else:
                high = middle
        level = np.uint32(spilled_levels[low])
    value = np.float32(table[level])
    if kind == 1:
        one = np.float32(1.0)
        return value * (one + k) / (value + k)
    return value


@helper
def _widened(weight):  # type: ignore[no-untyped-def]
    return np.uint32(np.uint32(weight) << np.uint32(16)).view(np.float32)


@kernel(
    "void(int64, int64[::1], uint32[::1], int64[::1], uint16[::1], float64[::1], float32[::1],"
    " float64[::1], uint16[:, ::1], int64, int64, float32[:, ::1])"
)
def score_panel(  # type: ignore[no-untyped-def]
    kind,
    pointers,
    entries,
    spilled,
    spilled_levels,
    table,
    saturation,
    reals,
    panel,
    start,
    stop,
    scores,
):
    """Write the scores of the documents start..stop, without factors, for all queries.

    `panel` (n_terms, PANEL); `scores` (PANEL, stop - start or more) float32, rows best an odd
    number of cache lines long: the totals of a document go to all rows, whose lines would otherwise
    crowd each other out. `kind` and the forward index, see `softcosine.kernels.documents`.
    O(postings of the documents x PANEL).
    """
    # Real weights have entries of terms alone.
    mask = np.uint32(0xFFFFFFFF) if kind == 2 else np.uint32(0xFFFFFF)
    ahead = entries.shape[0] - _FETCH - 3
    total = np.empty(PANEL, np.float32)
    k = np.float32(0.0)
    for d in range(start, stop):
        if kind == 1:
            k = saturation[d]
        for q in range(PANEL):
            total[q] = 0.0
        begin, end = pointers[d], pointers[d + 1]
        fours = begin + (end - begin) // 4 * 4
        # Four rows at a time, so that the totals are loaded and stored once for four.
        for p in range(begin, fours, 4):
            if p < ahead:
                for other in range(p + _FETCH, p + _FETCH + 4):
                    prefetch(panel, np.int64(entries[other] & mask) * PANEL)
            v0 = _value(kind, p, entries[p], spilled, spilled_levels, table, k, reals)
            v1 = _value(kind, p + 1, entries[p + 1], spilled, spilled_levels, table, k, reals)
            v2 = _value(kind, p + 2, entries[p + 2], spilled, spilled_levels, table, k, reals)
            v3 = _value(kind, p + 3, entries[p + 3], spilled, spilled_levels, table, k, reals)
            r0, r1 = panel[entries[p] & mask], panel[entries[p + 1] & mask]
            r2, r3 = panel[entries[p + 2] & mask], panel[entries[p + 3] & mask]
            for q in range(PANEL):
                total[q] += (v0 * _widened(r0[q]) + v1 * _widened(r1[q])) + (
                    v2 * _widened(r2[q]) + v3 * _widened(r3[q])
                )
        for p in range(fours, end):
            v0 = _value(kind, p, entries[p], spilled, spilled_levels, table, k, reals)
            r0 = panel[entries[p] & mask]
            for q in range(PANEL):
                total[q] += v0 * _widened(r0[q])
        for q in range(PANEL):
            scores[q, d - start] = total[q]
