"""A step of SNOS over sparse matrices: similarities of one kind from those of the others (T13).

Row i of ``C (I + S) Cᵀ`` takes two hops: from the features of object i to similar features, and
from there to the objects with these features. S holds off-diagonal entries only.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel


@helper
def _hop(starts, columns, values, row, factor, sums, marks, stamp, touched, n_touched):  # type: ignore[no-untyped-def]
    """Add ``factor`` times a row to `sums`, and list the new columns."""
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
def _near(  # type: ignore[no-untyped-def]
    c_starts, c_columns, c_values, s_starts, s_columns, s_values, row, sums, marks, touched
):
    """Write row ``row`` of C (I + S) to `sums`; return the number of columns that it reaches."""
    n = _hop(c_starts, c_columns, c_values, row, 1.0, sums, marks, row, touched, 0)
    for p in range(c_starts[row], c_starts[row + 1]):
        n = _hop(
            s_starts, s_columns, s_values, c_columns[p], c_values[p], sums, marks, row, touched, n
        )
    return n


@helper
def _affordable(t_starts, means, touched, sums, n, budget):  # type: ignore[no-untyped-def]
    """Move the columns with the largest contribution per target to the front, within a budget."""
    steps = 0
    for p in range(n):
        steps += t_starts[touched[p] + 1] - t_starts[touched[p]]
    if steps <= budget:
        return n
    gains = np.empty(n)
    candidates = touched[:n].copy()
    for p in range(n):
        gains[p] = -sums[candidates[p]] * means[candidates[p]]
    order = np.argsort(gains, kind="mergesort")
    steps, n_kept = 0, 0
    for p in range(n):
        b = candidates[order[p]]
        size = t_starts[b + 1] - t_starts[b]
        if steps + size <= budget or n_kept == 0:
            steps += size
            touched[n_kept] = b
            n_kept += 1
    return n_kept


@helper
def _in_order(values, place):  # type: ignore[no-untyped-def]
    """Return the value at a position in ascending order; reorders the values (quickselect).

    Like ``np.partition``, which takes six seconds to compile.
    """
    low, high = 0, values.shape[0] - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return values[place]


@helper
def _keep_best(columns, sums, n, limit):  # type: ignore[no-untyped-def]
    """Move the `limit` columns of largest sum to the front, sorted; ties go to lower numbers."""
    if n > limit:
        values = np.empty(n)
        for p in range(n):
            values[p] = sums[columns[p]]
        least = _in_order(values, n - limit)
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
    " int32[::1], int32[::1], float64[::1], float64[::1], int64, int64, int64, int64,"
    " int32[:, ::1], int64[::1], boolean[::1])"
)
def choose_pairs(  # type: ignore[no-untyped-def]
    c_starts, c_columns, c_values, s_starts, s_columns, s_values, t_starts, t_columns, t_values,
    means, first, last, limit, budget, columns, counts, cut,
):  # fmt: skip
    """Choose the largest off-diagonal entries of rows `first` to `last` of C (I + S) Cᵀ.

    C (n, m), S (m, m), with an empty diagonal, and ``T = Cᵀ`` as CSR, non-negative, read; `means`
    (m,): mean weight in each row of T. At most `limit`, at least 1, columns are chosen per row,
    ties go to the lower ones. Row i's are written, ascending, to row ``i - first`` of `columns`
    (last - first, limit), their number to `counts`, and whether others were left out to `cut`.
    The second hop takes at most `budget` steps per row; it drops features of many objects first,
    because they contribute little to each.
    """
    n, m = c_starts.shape[0] - 1, t_starts.shape[0] - 1
    near, far = np.zeros(m), np.zeros(n)
    near_marks, far_marks = np.full(m, -1, np.int64), np.full(n, -1, np.int64)
    near_touched, far_touched = np.empty(m, np.int32), np.empty(n, np.int32)
    for row in range(first, last):
        n_near = _near(
            c_starts, c_columns, c_values, s_starts, s_columns, s_values,
            row, near, near_marks, near_touched,
        )  # fmt: skip
        n_kept = _affordable(t_starts, means, near_touched, near, n_near, budget)
        n_far = 0
        for p in range(n_kept):
            b = near_touched[p]
            n_far = _hop(
                t_starts, t_columns, t_values, b, near[b], far, far_marks, row, far_touched, n_far
            )
        n_others = 0
        for p in range(n_far):
            j = far_touched[p]
            if j != row and far[j] > 0.0:
                far_touched[n_others] = j
                n_others += 1
        place = row - first
        counts[place] = _keep_best(far_touched, far, n_others, limit)
        cut[place] = n_others > limit or n_kept < n_near
        for p in range(counts[place]):
            columns[place, p] = far_touched[p]


@kernel(
    "void(int32[::1], int32[::1], float64[::1], int32[::1], int32[::1], float64[::1],"
    " int64, int64, int32[::1], int32[::1], float64[::1], float64[::1])"
)
def weigh_pairs(  # type: ignore[no-untyped-def]
    c_starts, c_columns, c_values, s_starts, s_columns, s_values,
    first, last, starts, columns, values, diagonal,
):  # fmt: skip
    """Compute entries of rows `first` to `last` of C (I + S) Cᵀ right of the diagonal.

    C and S as for `choose_pairs`. `starts` (n + 1,) and `columns`, int32, give the positions; only
    those whose column is above the row are written to `values`. `diagonal` (n,) gets the diagonal
    entries. Cost O(features similar to the row's + features of the objects that it is paired with).
    """
    m = s_starts.shape[0] - 1
    near, marks, touched = np.zeros(m), np.full(m, -1, np.int64), np.empty(m, np.int32)
    for row in range(first, last):
        _near(
            c_starts, c_columns, c_values, s_starts, s_columns, s_values, row, near, marks, touched
        )
        own = 0.0
        for p in range(c_starts[row], c_starts[row + 1]):
            own += c_values[p] * near[c_columns[p]]
        diagonal[row] = own
        for p in range(starts[row], starts[row + 1]):
            j = columns[p]
            if j <= row:
                continue
            total = 0.0
            for q in range(c_starts[j], c_starts[j + 1]):
                b = c_columns[q]
                if marks[b] == row:
                    total += c_values[q] * near[b]
            values[p] = total


@kernel("void(int32[::1], int32[::1], float64[::1], int32[::1])")
def mirror_rows(starts, columns, values, places):  # type: ignore[no-untyped-def]
    """Copy the entries right of the diagonal to the left, in a matrix of symmetric pattern.

    `starts` and `columns`, ascending within a row, read; `values` in and out; `places` (n,): starts
    of the rows on entry, changed. O(entries): the rows above fill every row from left to right.
    """
    for i in range(places.shape[0]):
        for p in range(starts[i], starts[i + 1]):
            j = columns[p]
            if j > i:
                values[places[j]] = values[p]
                places[j] += 1
