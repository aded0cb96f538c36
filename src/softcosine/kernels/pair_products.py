"""Kernels that compute what each pair of terms adds to the products of documents.

The soft inner product of two documents is linear in the similarities of pairs: these kernels write
its coefficients, one column per pair of terms (theory T16). `s_pointers` and `s_terms` are the
off-diagonal entries of a symmetric S, and `s_pairs` the pair of each entry, the same for s_ij and
s_ji.
"""

from __future__ import annotations

from softcosine.kernels.jit import kernel


@kernel(
    "void(int64[::1], int32[::1], float64[::1], int64[::1], int32[::1], float64[::1],"
    " int64[::1], int64[::1], int64[::1], int32[::1], float64[::1], int64[::1])"
)
def count_pair_products(
    x_pointers, x_terms, x_values, y_pointers, y_terms, y_values, x_rows, y_rows,
    s_pointers, s_terms, scratch, counts,
):  # fmt: skip
    """Count the products of different, similar terms of each pair of rows.

    The rows are ``x_rows[p]`` of X and ``y_rows[p]`` of Y; `counts` (n,) out. `scratch` (n_terms,)
    is zero on entry and on exit. Cost O(entries of S in the rows of terms of x).
    """
    for p in range(counts.shape[0]):
        x, y = x_rows[p], y_rows[p]
        for b in range(y_pointers[y], y_pointers[y + 1]):
            scratch[y_terms[b]] = y_values[b]
        n = 0
        for a in range(x_pointers[x], x_pointers[x + 1]):
            if x_values[a] == 0.0:
                continue
            i = x_terms[a]
            for q in range(s_pointers[i], s_pointers[i + 1]):
                n += scratch[s_terms[q]] != 0.0
        counts[p] = n
        for b in range(y_pointers[y], y_pointers[y + 1]):
            scratch[y_terms[b]] = 0.0


@kernel(
    "void(int64[::1], int32[::1], float64[::1], int64[::1], int32[::1], float64[::1],"
    " int64[::1], int64[::1], int64[::1], int32[::1], int32[::1], float64[::1], int64[::1],"
    " int32[::1], float64[::1])"
)
def fill_pair_products(
    x_pointers, x_terms, x_values, y_pointers, y_terms, y_values, x_rows, y_rows,
    s_pointers, s_terms, s_pairs, scratch, starts, pairs, products,
):  # fmt: skip
    """Write x_i y_j and the pair of i and j, for all products that `count_pair_products` counted.

    Those of the rows p begin at ``starts[p]``; a pair occurs twice if both documents have both
    terms.
    """
    for p in range(x_rows.shape[0]):
        x, y = x_rows[p], y_rows[p]
        for b in range(y_pointers[y], y_pointers[y + 1]):
            scratch[y_terms[b]] = y_values[b]
        place = starts[p]
        for a in range(x_pointers[x], x_pointers[x + 1]):
            value = x_values[a]
            if value == 0.0:
                continue
            i = x_terms[a]
            for q in range(s_pointers[i], s_pointers[i + 1]):
                other = scratch[s_terms[q]]
                if other != 0.0:
                    pairs[place] = s_pairs[q]
                    products[place] = value * other
                    place += 1
        for b in range(y_pointers[y], y_pointers[y + 1]):
            scratch[y_terms[b]] = 0.0


@kernel("void(int32[::1], int32[::1], float64[:, ::1], float64[:, ::1], float64[::1])")
def sampled_products(rows, columns, left, right, out):
    """Write ``left[i] @ right[j] + left[j] @ right[i]`` of every pair i, j (theory T16).

    These are the entries of ``left right' + right left'`` in a sparse pattern. Cost O(n_pairs k).
    """
    for q in range(out.shape[0]):
        i, j = rows[q], columns[q]
        total = 0.0
        for k in range(left.shape[1]):
            total += left[i, k] * right[j, k] + left[j, k] * right[i, k]
        out[q] = total
