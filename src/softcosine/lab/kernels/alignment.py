"""Kernel that finds, for each term of a text, the most similar term of another text."""

from __future__ import annotations

from softcosine.kernels.jit import kernel


@kernel(
    "void(int64[::1], int32[::1], float64[::1], int64[::1], int32[::1],"
    " int64[::1], int32[::1], float32[::1], float64[::1], float64[::1])"
)
def best_alignments(  # type: ignore[no-untyped-def]
    x_pointers, x_terms, x_weights, y_pointers, y_terms,
    s_pointers, s_indices, s_values, scratch, out,
):  # fmt: skip
    """Write the weighted mean, over the terms of row p of X, of the best similarity in row p of Y.

    0 if X has no weight. `scratch` (n_terms,) is zero on entry and on exit. Cost O(sum of the
    lengths of the rows of S of the terms of X).
    """
    for p in range(out.shape[0]):
        for b in range(y_pointers[p], y_pointers[p + 1]):
            scratch[y_terms[b]] = 1.0
        total, weight = 0.0, 0.0
        for a in range(x_pointers[p], x_pointers[p + 1]):
            i = x_terms[a]
            best = 0.0
            for q in range(s_pointers[i], s_pointers[i + 1]):
                best = max(best, s_values[q] * scratch[s_indices[q]])
            total += x_weights[a] * best
            weight += x_weights[a]
        out[p] = total / weight if weight > 0.0 else 0.0
        for b in range(y_pointers[p], y_pointers[p + 1]):
            scratch[y_terms[b]] = 0.0
