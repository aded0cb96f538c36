"""Greedy assembly of the term similarity matrix (theory T6)."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import kernel


@kernel(
    "void(int64[::1], int32[::1], float32[::1], int32[::1], int64, boolean,"
    " int32[:, ::1], float32[:, ::1], int32[::1], float64[::1])"
)
def assemble_symmetric(
    indptr, indices, similarities, order, limit, dominant, columns, values, counts, sums
):
    """Enter pairs greedily so that no column holds more than `limit` off-diagonal entries.

    Columns choose in `order` (int32, distinct; other columns do not choose), each from its list of
    candidates, best first. A pair is entered on both sides or not at all. With `dominant`, it is
    entered only if both columns' sums of absolute off-diagonals stay below 1.

    `columns` and `values` (n, width), `counts` (n,) and, with `dominant`, `sums` (n,) are updated;
    no column gets more than `width` entries. Cost O(candidates + entries).
    """
    n = counts.shape[0]
    held_by = np.full(n, -1, np.int32)
    for position in range(order.shape[0]):
        i = order[position]
        for p in range(counts[i]):
            held_by[columns[i, p]] = i
        for p in range(indptr[i], indptr[i + 1]):
            if counts[i] >= limit:
                break
            j = indices[p]
            if j == i or held_by[j] == i or counts[j] >= limit:
                continue
            if dominant:
                size = abs(np.float64(similarities[p]))
                if sums[i] + size >= 1.0 or sums[j] + size >= 1.0:
                    continue
                sums[i] += size
                sums[j] += size
            held_by[j] = i
            columns[i, counts[i]] = j
            values[i, counts[i]] = similarities[p]
            counts[i] += 1
            columns[j, counts[j]] = i
            values[j, counts[j]] = similarities[p]
            counts[j] += 1
