"""Greedy assembly of the term similarity matrix (theory T6)."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import kernel

__all__ = ["append_to_rows", "assemble_symmetric", "lay_out_symmetric"]


@kernel(
    "void(int64[::1], int32[::1], float32[::1], int32[::1], int64, boolean,"
    " int32[:, ::1], float32[:, ::1], int32[::1], float64[::1])"
)
def assemble_symmetric(  # type: ignore[no-untyped-def]
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


@kernel("void(int32[:, ::1], float32[:, ::1], int32[::1], int64[::1], int32[::1], float32[::1])")
def lay_out_symmetric(  # type: ignore[no-untyped-def]
    columns, values, counts, places, indices, data
):
    """Write a symmetric matrix, with unit diagonal, row by row with ascending column indices.

    Column i of all rows is written before column i + 1, so the entries of each row are in order
    without sorting.

    `columns` and `values` (n, width), `counts` (n,) read: the off-diagonals of each row in any
    order. `places` (n,): starts of rows on entry, their ends on exit. `indices` and `data`
    (n + counts.sum(),) out. O(n + entries).
    """
    for i in range(counts.shape[0]):
        place = places[i]
        indices[place] = i
        data[place] = np.float32(1.0)
        places[i] = place + 1
        for p in range(counts[i]):
            j = columns[i, p]
            place = places[j]
            indices[place] = i
            data[place] = values[i, p]
            places[j] = place + 1


@kernel(
    "void(int64[::1], int32[::1], float32[::1], int64[::1], int32[::1], float32[::1],"
    " int64[::1], int32[::1], float32[::1])"
)
def append_to_rows(  # type: ignore[no-untyped-def]
    starts, columns, values, more_starts, more_columns, more_values, indptr, indices, data
):
    """Copy the rows of one sparse matrix, each followed by the same row of another.

    `starts`, `more_starts` and `indptr` (n + 1,) read: starts of rows; `columns`, `values`,
    `more_columns`, `more_values` read; `indices` and `data` (indptr[n],) out. O(entries).
    """
    for i in range(indptr.shape[0] - 1):
        place = indptr[i]
        for p in range(starts[i], starts[i + 1]):
            indices[place] = columns[p]
            data[place] = values[p]
            place += 1
        for p in range(more_starts[i], more_starts[i + 1]):
            indices[place] = more_columns[p]
            data[place] = more_values[p]
            place += 1
