"""The sparse Cholesky factor, all but a core that LAPACK is to factor; and solving with it (T7).

For order, rank and parents see `softcosine.kernels.elimination`. `core` marks, by their place in
the order, rows that are left: with each, all of its ancestors in the elimination tree. Of the
factor, columns outside the core are computed, down to the rows of the core.
"""

from __future__ import annotations

import math

import numpy as np

from softcosine.kernels.jit import kernel

__all__ = [
    "count_in_core",
    "count_outside_core",
    "factor_outside_core",
    "lay_out_core",
    "lay_out_outside_core",
    "solve_rows",
    "subtract_from_core",
]


@kernel(
    "int64(int64[::1], int32[::1], float32[::1], int32[::1], int32[::1], int32[::1], boolean[::1],"
    " float64, int64[::1], int32[::1], float64[::1], int64[::1], int64[::1])"
)
def factor_outside_core(  # type: ignore[no-untyped-def]
    indptr, indices, data, order, rank, parents, core, least, starts, rows, values, splits, ends
):
    """Compute row after row of the factor: each by a triangular system with those before it.

    Which columns a row has entries in is read off the tree: the paths up from those of S.

    `indptr` (n + 1,), `indices`, `data`, `order`, `rank`, `parents`, `core` (n,) read: a symmetric
    matrix. `starts` (n + 1,) read: where the columns begin, with room for as many entries as they
    have, none for those of the core. `rows` and `values` (starts[n],) out: column k in
    starts[k]:ends[k], the diagonal first, rows ascending, those of the core from splits[k].
    `splits` and `ends` (n,) out. Returns -1, or the first place in the order whose pivot is not
    above `least`; ``values[0]`` is that pivot then. O(operations of the factorisation), float64.
    """
    n = order.shape[0]
    x = np.zeros(n, np.float64)
    marks = np.full(n, -1, np.int32)
    path = np.empty(n, np.int32)
    pattern = np.empty(n, np.int32)
    for k in range(n):
        row = order[k]
        top = n
        pivot = 0.0
        marks[k] = k
        for p in range(indptr[row], indptr[row + 1]):
            j = rank[indices[p]]
            if j == k:
                pivot = np.float64(data[p])
            if j >= k or core[j]:
                continue
            x[j] = np.float64(data[p])
            length = 0
            while marks[j] != k and not core[j]:
                marks[j] = k
                path[length] = j
                length += 1
                j = parents[j]
            while length > 0:  # what is lower in the tree comes before
                length -= 1
                top -= 1
                pattern[top] = path[length]
        for t in range(top, n):
            j = pattern[t]
            entry = x[j] / values[starts[j]]
            x[j] = 0.0
            for p in range(starts[j] + 1, splits[j]):
                x[rows[p]] -= values[p] * entry
            pivot -= entry * entry
            rows[ends[j]] = k
            values[ends[j]] = entry
            ends[j] += 1
            if not core[k]:
                splits[j] = ends[j]
        place = starts[k]
        ends[k] = place
        splits[k] = place
        if core[k]:
            continue
        if not pivot > least:
            values[0] = pivot
            return k
        rows[place] = k
        values[place] = math.sqrt(pivot)
        ends[k] = place + 1
        splits[k] = place + 1
    return -1


@kernel(
    "void(int64[::1], int32[::1], float32[::1], int32[::1], int32[::1], int32[::1], int32[::1],"
    " int32[::1], int64[::1], int64[::1], int32[::1], float64[::1], float64[:, ::1])"
)
def subtract_from_core(  # type: ignore[no-untyped-def]
    indptr, indices, data, order, rank, members, places, columns, splits, ends, rows, values, square
):
    """Set up what is left of a core when the columns beside it have been eliminated.

    `indptr`, `indices`, `data`, `order`, `rank` read: S. `members` (m,) read: the core's places in
    the order; `places` (n,) all -1, and again afterwards. `columns` read: of the factor, those
    whose rows from `splits` to `ends` lie in this core; `rows`, `values` read. `square` (m, m)
    zeros in, out: on and below the diagonal the Schur complement, above it S. O(entries of S in
    the core, and sum of squares of the columns' entries there).
    """
    for a in range(members.shape[0]):
        places[members[a]] = a
    for a in range(members.shape[0]):
        row = order[members[a]]
        for p in range(indptr[row], indptr[row + 1]):
            b = places[rank[indices[p]]]
            if b >= 0:
                square[a, b] = np.float64(data[p])
    for c in range(columns.shape[0]):
        k = columns[c]
        for p in range(splits[k], ends[k]):
            a = places[rows[p]]
            entry = values[p]
            for q in range(splits[k], p + 1):
                square[a, places[rows[q]]] -= values[q] * entry
    for a in range(members.shape[0]):
        places[members[a]] = -1


@kernel("void(int64[::1], int64[::1], int32[::1], int32[::1], int64[::1])")
def count_outside_core(starts, ends, rows, order, counts):  # type: ignore[no-untyped-def]
    """Add up the entries that every row has in columns outside the core.

    `starts`, `ends`, `rows`, `order` read; `counts` (n,) added to, by the row's number in S.
    """
    for k in range(ends.shape[0]):
        for p in range(starts[k], ends[k]):
            counts[order[rows[p]]] += 1


@kernel("void(float64[:, ::1], int32[::1], int32[::1], int64[::1])")
def count_in_core(square, members, order, counts):  # type: ignore[no-untyped-def]
    """Add up the entries on and below the diagonal of a factored core, but for zeros.

    `square` (m, m) read, its rows at the places `members` (m,) of the order; `counts` as above.
    """
    for a in range(members.shape[0]):
        for b in range(a + 1):
            if square[a, b] != 0.0:
                counts[order[members[a]]] += 1


@kernel(
    "void(int64[::1], int64[::1], int32[::1], float64[::1], int32[::1],"
    " int64[::1], int32[::1], float64[::1])"
)
def lay_out_outside_core(  # type: ignore[no-untyped-def]
    starts, ends, rows, values, order, places, indices, data
):
    """Write what `count_outside_core` counted, row by row, columns ascending.

    `places` (n,), where the rows of S begin, becomes where they go on; `indices`, `data` out.
    """
    for k in range(ends.shape[0]):
        for p in range(starts[k], ends[k]):
            row = order[rows[p]]
            indices[places[row]] = k
            data[places[row]] = values[p]
            places[row] += 1


@kernel("void(float64[:, ::1], int32[::1], int32[::1], int64[::1], int32[::1], float64[::1])")
def lay_out_core(square, members, order, places, indices, data):  # type: ignore[no-untyped-def]
    """Write what `count_in_core` counted, behind the entries of the columns outside it."""
    for a in range(members.shape[0]):
        row = order[members[a]]
        for b in range(a + 1):
            if square[a, b] != 0.0:
                indices[places[row]] = members[b]
                data[places[row]] = square[a, b]
                places[row] += 1


@kernel("void(int64[::1], int32[::1], float64[::1], int32[::1], float64[:, ::1], float64[:, ::1])")
def solve_rows(indptr, indices, data, order, Z, solutions):  # type: ignore[no-untyped-def]
    """Solve E x = z for every row z of Z, E of the rows of S by the places in the order.

    `indptr` (n + 1,), `indices`, `data` read: E by rows, columns ascending; row ``order[k]`` ends
    with column k. `order` (n,), `Z` (m, n) read; `solutions` (m, n) out. O(m times entries).
    """
    for i in range(Z.shape[0]):
        first = 0
        while first < order.shape[0] and Z[i, order[first]] == 0.0:
            solutions[i, first] = 0.0
            first += 1
        for k in range(first, order.shape[0]):
            row = order[k]
            last = indptr[row + 1] - 1
            left = Z[i, row]
            for p in range(indptr[row], last):
                left -= data[p] * solutions[i, indices[p]]
            solutions[i, k] = left / data[last]
