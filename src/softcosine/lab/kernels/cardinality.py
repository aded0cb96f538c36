"""Kernels of soft cardinality: similar elements of a set count less than different ones (T17)."""

from __future__ import annotations

from softcosine.kernels.jit import helper, kernel


@helper
def _cardinality(  # type: ignore[no-untyped-def]
    n, terms, weights, amounts, s_pointers, s_indices, s_values, scratch
):
    """Sum over the first `n` elements of weight divided by the amount of similar elements."""
    for i in range(n):
        scratch[terms[i]] = amounts[i]
    total = 0.0
    for i in range(n):
        alike = 0.0
        for q in range(s_pointers[terms[i]], s_pointers[terms[i] + 1]):
            alike += s_values[q] * scratch[s_indices[q]]
        total += amounts[i] * weights[i] / alike
    for i in range(n):
        scratch[terms[i]] = 0.0
    return total


@kernel(
    "void(int64[::1], int32[::1], float64[::1], float64[::1], int64[::1], int32[::1],"
    " float64[::1], float64[::1], float64[::1])"
)
def cardinalities(  # type: ignore[no-untyped-def]
    pointers, terms, weights, amounts, s_pointers, s_indices, s_values, scratch, out
):
    """Write the soft cardinality of every row into `out` (theory T17).

    `weights` and `amounts` (n_entries,) belong to `terms`; amounts are above 0, and the diagonal
    of S is stored. `scratch` (n_terms,) is zero on entry and on exit. Cost O(sum of the lengths of
    the rows of S of the elements).
    """
    for row in range(out.shape[0]):
        part = slice(pointers[row], pointers[row + 1])
        out[row] = _cardinality(
            pointers[row + 1] - pointers[row], terms[part], weights[part], amounts[part],
            s_pointers, s_indices, s_values, scratch,
        )  # fmt: skip


@kernel(
    "void(int64[::1], int32[::1], float64[::1], float64[::1],"
    " int64[::1], int32[::1], float64[::1], float64[::1], int64[::1], int64[::1],"
    " int64[::1], int32[::1], float64[::1], float64[::1],"
    " int32[::1], float64[::1], float64[::1], float64[::1])"
)
def union_cardinalities(  # type: ignore[no-untyped-def]
    x_pointers, x_terms, x_weights, x_amounts,
    y_pointers, y_terms, y_weights, y_amounts, x_rows, y_rows,
    s_pointers, s_indices, s_values, scratch,
    terms, weights, amounts, out,
):  # fmt: skip
    """Write the soft cardinality of the union of row ``x_rows[p]`` and ``y_rows[p]`` for every p.

    An element of both has the larger weight and the larger amount. `terms`, `weights` and `amounts`
    are scratch, as long as the two longest rows together.
    """
    for p in range(out.shape[0]):
        a, a_end = x_pointers[x_rows[p]], x_pointers[x_rows[p] + 1]
        b, b_end = y_pointers[y_rows[p]], y_pointers[y_rows[p] + 1]
        n = 0
        while a < a_end or b < b_end:
            if b == b_end or (a < a_end and x_terms[a] < y_terms[b]):
                terms[n], weights[n], amounts[n] = x_terms[a], x_weights[a], x_amounts[a]
                a += 1
            elif a == a_end or y_terms[b] < x_terms[a]:
                terms[n], weights[n], amounts[n] = y_terms[b], y_weights[b], y_amounts[b]
                b += 1
            else:
                terms[n] = x_terms[a]
                weights[n] = max(x_weights[a], y_weights[b])
                amounts[n] = max(x_amounts[a], y_amounts[b])
                a += 1
                b += 1
            n += 1
        out[p] = _cardinality(
            n, terms, weights, amounts, s_pointers, s_indices, s_values, scratch
        )  # fmt: skip
