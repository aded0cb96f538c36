"""The sparse Cholesky factor, except a core that LAPACK factors, and solving with it (T7).

For order, rank and parents see `softcosine.kernels.elimination`. `core` marks the rows left to
LAPACK, by position in the order; with each row it includes all ancestors in the elimination tree.
These kernels compute the factor's columns outside the core, down to the rows of the core.
"""

from __future__ import annotations

import math

import numpy as np

from softcosine.kernels.jit import kernel


@kernel(
    "int64(int64[::1], int32[::1], float32[::1], int32[::1], int32[::1], int32[::1], boolean[::1],"
    " float64, int64[::1], int32[::1], float64[::1], int64[::1], int64[::1])"
)
def factor_outside_core(
    indptr, indices, data, order, rank, parents, core, least, starts, rows, values, splits, ends
):
    """Compute the factor row by row, each by a triangular solve with the rows before it.

    The elimination tree gives the columns of a row: the paths upwards from its entries in S.

    `indptr` (n + 1,), `indices`, `data`, `order`, `rank`, `parents`, `core` (n,) read: a symmetric
    matrix. `starts` (n + 1,) read: starts of the columns, with space for all their entries, none
    for columns of the core. `rows` and `values` (starts[n],) out: column k in starts[k]:ends[k],
    the diagonal first, rows ascending, those of the core from splits[k]. `splits` and `ends` (n,)
    out. Returns -1, or the first position in the order whose pivot is not above `least`;
    ``values[0]`` is then that pivot. O(operations of the factorisation), float64.
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
            while length > 0:  # lower nodes of the tree come first
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
def subtract_from_core(
    indptr, indices, data, order, rank, members, places, columns, splits, ends, rows, values, square
):
    """Set up the Schur complement of a core after elimination of the columns outside it.

    `indptr`, `indices`, `data`, `order`, `rank` read: S. `members` (m,) read: the core's positions
    in the order; `places` (n,) is -1 on entry and exit. `columns` read: columns of the factor whose
    rows from `splits` to `ends` lie in this core; `rows`, `values` read. `square` (m, m) zeros in,
    out: the Schur complement on and below the diagonal, S above it. O(entries of S in the core +
    sum of the squared column counts there).
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
def count_outside_core(starts, ends, rows, order, counts):
    """Count the entries of each row in columns outside the core.

    `starts`, `ends`, `rows`, `order` read; `counts` (n,), by row of S, is increased.
    """
    for k in range(ends.shape[0]):
        for p in range(starts[k], ends[k]):
            counts[order[rows[p]]] += 1


@kernel("void(float64[:, ::1], int32[::1], int32[::1], int64[::1])")
def count_in_core(square, members, order, counts):
    """Count the non-zeros on and below the diagonal of a factored core, by row.

    `square` (m, m) read, its rows at the positions `members` (m,) of the order; `counts` as above.
    """
    for a in range(members.shape[0]):
        for b in range(a + 1):
            if square[a, b] != 0.0:
                counts[order[members[a]]] += 1


@kernel(
    "void(int64[::1], int64[::1], int32[::1], float64[::1], int32[::1],"
    " int64[::1], int32[::1], float64[::1])"
)
def lay_out_outside_core(starts, ends, rows, values, order, places, indices, data):
    """Write the entries that `count_outside_core` counted, row by row, columns ascending.

    `places` (n,): starts of the rows of S on entry, where they continue on exit; `indices`, `data`
    out.
    """
    for k in range(ends.shape[0]):
        for p in range(starts[k], ends[k]):
            row = order[rows[p]]
            indices[places[row]] = k
            data[places[row]] = values[p]
            places[row] += 1


@kernel("void(float64[:, ::1], int32[::1], int32[::1], int64[::1], int32[::1], float64[::1])")
def lay_out_core(square, members, order, places, indices, data):
    """Write the entries that `count_in_core` counted, after those of the columns outside it."""
    for a in range(members.shape[0]):
        row = order[members[a]]
        for b in range(a + 1):
            if square[a, b] != 0.0:
                indices[places[row]] = members[b]
                data[places[row]] = square[a, b]
                places[row] += 1


@kernel("void(int64[::1], int32[::1], float64[::1], int32[::1], float64[:, ::1], float64[:, ::1])")
def solve_rows(indptr, indices, data, order, Z, solutions):
    """Solve E x = z for every row z of Z; solutions are in the order of elimination.

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
