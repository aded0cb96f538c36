"""A step of SNOS over sparse matrices: the similarities of one kind from those of the others (T13).

Row i of ``C (I + S) Cᵀ`` is gathered in two hops: from the features that object i has to what is
similar to them, and from there to the objects that have that. S holds off-diagonal entries only.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel

__all__ = ["mirror_rows", "spread_chosen", "spread_kept"]


@helper
def _hop(starts, columns, values, row, factor, sums, marks, stamp, touched, n_touched):  # type: ignore[no-untyped-def]
    """Add ``factor`` times a row to ``sums``, and note the columns that this row is first to reach."""
    for p in range(starts[row], starts[row + 1]):
        j = columns[p]
        if marks[j] != stamp:
            marks[j] = stamp
            sums[j] = 0.0
            touched[n_touched] = j
            n_touched += 1
        sums[j] += factor * values[p]
    return n_touched


@helper
def _row_of_product(  # type: ignore[no-untyped-def]
    c_starts, c_columns, c_values, s_starts, s_columns, s_values, t_starts, t_columns, t_values,
    row, near, near_marks, near_touched, far, far_marks, far_touched,
):  # fmt: skip
    """Leave row ``row`` of C (I + S) Cᵀ in `far`; return how many columns it reaches."""
    n_near = _hop(
        c_starts, c_columns, c_values, row, 1.0, near, near_marks, row, near_touched, 0
    )
    for p in range(c_starts[row], c_starts[row + 1]):
        n_near = _hop(
            s_starts, s_columns, s_values, c_columns[p], c_values[p],
            near, near_marks, row, near_touched, n_near,
        )  # fmt: skip
    n_far = 0
    for p in range(n_near):
        b = near_touched[p]
        n_far = _hop(
            t_starts, t_columns, t_values, b, near[b], far, far_marks, row, far_touched, n_far
        )
    return n_far


@helper
def _keep_best(columns, sums, n, limit):  # type: ignore[no-untyped-def]
    """Bring the `limit` columns of greatest sum to the front, equal ones by number; sorted."""
    if n > limit:
        values = np.empty(n)
        for p in range(n):
            values[p] = sums[columns[p]]
        least = np.partition(values, n - limit)[n - limit] if limit > 0 else np.inf
        n_kept, n_ties = 0, 0
        ties = np.empty(n, np.int32)
        for p in range(n):
            j = columns[p]
            if sums[j] > least:
                columns[n_kept] = j
                n_kept += 1
            elif sums[j] == least:
                ties[n_ties] = j
                n_ties += 1
        ties = np.sort(ties[:n_ties])
        for p in range(limit - n_kept):
            columns[n_kept + p] = ties[p]
        n = limit
    columns[:n] = np.sort(columns[:n])
    return n


@kernel(
    "void(int32[::1], int32[::1], float64[::1], int32[::1], int32[::1], float64[::1],"
    " int32[::1], int32[::1], float64[::1], int64, int64, int64,"
    " int32[:, ::1], float64[:, ::1], int64[::1], float64[::1], float64[::1])"
)
def spread_chosen(  # type: ignore[no-untyped-def]
    c_starts, c_columns, c_values, s_starts, s_columns, s_values, t_starts, t_columns, t_values,
    first, last, limit, columns, values, counts, diagonal, lost,
):  # fmt: skip
    """Rows `first` to `last` of C (I + S) Cᵀ off the diagonal, the `limit` greatest entries of each.

    C (n, m), S (m, m), empty on its diagonal, and ``T = Cᵀ`` as CSR, not negative, read. Row i is written to row
    ``i - first`` of `columns` (int32, ascending) and `values` (last - first, limit), `counts`
    says how many there are; ties go to the lower column. `diagonal` gets the entries on the
    diagonal, `lost` the sums of squares of those left out. Cost O(entries on the two hops).
    """
    n, m = c_starts.shape[0] - 1, t_starts.shape[0] - 1
    near, far = np.zeros(m), np.zeros(n)
    near_marks, far_marks = np.full(m, -1, np.int64), np.full(n, -1, np.int64)
    near_touched, far_touched = np.empty(m, np.int32), np.empty(n, np.int32)
    for row in range(first, last):
        n_far = _row_of_product(
            c_starts, c_columns, c_values, s_starts, s_columns, s_values,
            t_starts, t_columns, t_values, row,
            near, near_marks, near_touched, far, far_marks, far_touched,
        )  # fmt: skip
        place, squares, n_others = row - first, 0.0, 0
        diagonal[place] = far[row] if far_marks[row] == row else 0.0
        for p in range(n_far):
            j = far_touched[p]
            if j != row and far[j] > 0.0:
                squares += far[j] * far[j]
                far_touched[n_others] = j
                n_others += 1
        n_kept = _keep_best(far_touched, far, n_others, limit)
        counts[place] = n_kept
        lost[place] = 0.0
        for p in range(n_kept):
            value = far[far_touched[p]]
            columns[place, p] = far_touched[p]
            values[place, p] = value
            squares -= value * value
        if n_kept < n_others:
            lost[place] = max(squares, 0.0)


@kernel(
    "void(int32[::1], int32[::1], float64[::1], int32[::1], int32[::1], float64[::1],"
    " int32[::1], int32[::1], float64[::1], int64, int64,"
    " int32[::1], int32[::1], float64[::1], float64[::1], float64[::1])"
)
def spread_kept(  # type: ignore[no-untyped-def]
    c_starts, c_columns, c_values, s_starts, s_columns, s_values, t_starts, t_columns, t_values,
    first, last, starts, columns, values, diagonal, lost,
):  # fmt: skip
    """Rows `first` to `last` of C (I + S) Cᵀ at given places only, right of the diagonal.

    C, S and T as for `spread_chosen`. `starts` (n + 1,) and `columns`, int32, say which entries;
    those with a column above the row are written to `values`, the others left alone. `diagonal`
    and `lost` (n,) as there, by row number.
    """
    n, m = c_starts.shape[0] - 1, t_starts.shape[0] - 1
    near, far = np.zeros(m), np.zeros(n)
    near_marks, far_marks = np.full(m, -1, np.int64), np.full(n, -1, np.int64)
    near_touched, far_touched = np.empty(m, np.int32), np.empty(n, np.int32)
    for row in range(first, last):
        n_far = _row_of_product(
            c_starts, c_columns, c_values, s_starts, s_columns, s_values,
            t_starts, t_columns, t_values, row,
            near, near_marks, near_touched, far, far_marks, far_touched,
        )  # fmt: skip
        own = far[row] if far_marks[row] == row else 0.0
        diagonal[row] = own
        squares = 0.0
        for p in range(n_far):
            value = far[far_touched[p]]
            squares += value * value
        squares -= own * own
        n_kept = 0
        for p in range(starts[row], starts[row + 1]):
            j = columns[p]
            if j == row:
                continue
            value = far[j] if far_marks[j] == row else 0.0
            squares -= value * value
            n_kept += value > 0.0
            if j > row:
                values[p] = value
        others = n_far - (far_marks[row] == row)
        lost[row] = max(squares, 0.0) if n_kept < others else 0.0


@kernel("void(int32[::1], int32[::1], float64[::1], int32[::1])")
def mirror_rows(starts, columns, values, places):  # type: ignore[no-untyped-def]
    """Copy what stands right of the diagonal to the left of it, in a matrix of symmetric pattern.

    `starts` and `columns`, ascending within a row, read; `values` in and out; `places` (n,) as
    `starts` begins, changed. O(entries): the rows above write every row from left to right.
    """
    for i in range(places.shape[0]):
        for p in range(starts[i], starts[i + 1]):
            j = columns[p]
            if j > i:
                values[places[j]] = values[p]
                places[j] += 1
