"""Greedy assembly of the term similarity matrix (theory T6)."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import kernel


@kernel(
    "void(int64[::1], int32[::1], float32[::1], int32[::1], boolean, int64[::1], int64[::1],"
    " int32[::1], float32[::1], float64[::1])"
)
def assemble_symmetric(
    indptr, indices, similarities, order, dominant, starts, ends, columns, values, sums
):
    """Enter pairs greedily so that no column holds more entries than it has room for.

    Columns choose in `order` (int32, distinct; other columns do not choose), each from its list of
    candidates, best first. A pair is entered on both sides or not at all. With `dominant`, it is
    entered only if both columns' sums of absolute off-diagonals stay below 1.

    The room of column i is `starts[i]` to `starts[i + 1]` in `columns` and `values`, which are
    written; `ends` (n,), where its free room begins, and, with `dominant`, `sums` (n,) are updated.
    Cost O(candidates + entries).
    """
    held_by = np.full(ends.shape[0], -1, np.int32)
    for position in range(order.shape[0]):
        i = order[position]
        for p in range(starts[i], ends[i]):
            held_by[columns[p]] = i
        for p in range(indptr[i], indptr[i + 1]):
            if ends[i] == starts[i + 1]:
                break
            j = indices[p]
            if j == i or held_by[j] == i or ends[j] == starts[j + 1]:
                continue
            if dominant:
                size = abs(np.float64(similarities[p]))
                if sums[i] + size >= 1.0 or sums[j] + size >= 1.0:
                    continue
                sums[i] += size
                sums[j] += size
            held_by[j] = i
            columns[ends[i]] = j
            values[ends[i]] = similarities[p]
            ends[i] += 1
            columns[ends[j]] = i
            values[ends[j]] = similarities[p]
            ends[j] += 1
