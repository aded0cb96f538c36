"""Co-occurrence of terms: counts, pointwise mutual information, and dimension reduction.

All sums run in a fixed order, over chunks that do not depend on the number of threads, and without
BLAS: the same corpus gives the same bits on all machines with the same rounding.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel

_END = -2  # separates documents
_MARKED = 8  # terms per mark


@kernel("void(int32[::1], int64[::1], int32[::1], int32[::1])")
def lay_out(tokens, offsets, numbers, stream):
    """Renumber the running terms, with a mark before, between and after the documents.

    tokens (n,), offsets (n_docs + 1,) read: as in AnalyzedTexts; numbers (n_all_terms,) read: new
    number of each term, or -1; stream (n + n_docs + 1,) out: -1 for omitted terms. O(n).
    """
    place = 0
    stream[place] = _END
    for document in range(offsets.shape[0] - 1):
        for i in range(offsets[document], offsets[document + 1]):
            place += 1
            stream[place] = numbers[tokens[i]] if tokens[i] >= 0 else -1
        place += 1
        stream[place] = _END


@kernel("void(int32[::1], int64[::1], int64[::1])")
def sort_positions(stream, ends, positions):
    """List the positions of every term.

    stream (n,) read; ends (n_terms,): starts of the terms' lists on entry, their ends on exit;
    positions (n_occurrences,) out: ascending within a term. O(n).
    """
    for place in range(stream.shape[0]):
        term = stream[place]
        if term >= 0:
            positions[ends[term]] = place
            ends[term] += 1


@helper
def _count_contexts(stream, positions, decay, weights, met):
    """Sum the weights of the terms near the given positions; returns the number of terms.

    A term at distance d has weight decay[d - 1]; a term is not a context of itself. `weights` is
    zero on entry; `met` gets the terms in order of occurrence.
    """
    n_met = 0
    for i in range(positions.shape[0]):
        own = stream[positions[i]]
        for step in (-1, 1):
            place = positions[i]
            for distance in range(decay.shape[0]):
                place += step
                term = stream[place]
                if term == _END:
                    break
                if term < 0 or term == own:
                    continue
                if weights[term] == 0:
                    met[n_met] = term
                    n_met += 1
                weights[term] += decay[distance]
    return n_met


@kernel(
    "void(int32[::1], int64[::1], int64[::1], int64[::1], int64, int64, int64[::1], int64[::1])"
)
def context_sizes(stream, positions, starts, decay, first, last, sizes, totals):
    """Count the distinct contexts of the terms `first` to `last`, and sum their weights.

    stream, positions read; starts (n_terms + 1,) read: starts of the terms' positions; decay
    (window,) read: weight of a context at distance 1, 2, ..., above 0; sizes, totals (n_terms,)
    out, for these terms. O(window) per occurrence.
    """
    weights = np.zeros(starts.shape[0] - 1, np.int64)
    met = np.empty(starts.shape[0] - 1, np.int32)
    for term in range(first, last):
        near = positions[starts[term] : starts[term + 1]]
        n_met = _count_contexts(stream, near, decay, weights, met)
        total = 0
        for i in range(n_met):
            total += weights[met[i]]
            weights[met[i]] = 0
        sizes[term] = n_met
        totals[term] = total


@kernel(
    "void(int32[::1], int64[::1], int64[::1], int64[::1], int64, int64, int64[::1], int64,"
    " int32[::1], int64[::1])"
)
def fill_contexts(
    stream, positions, starts, decay, first, last, row_starts, origin, columns, counts
):
    """Write the contexts of the terms `first` to `last` in order of their numbers.

    stream, positions, starts, decay: as in context_sizes; row_starts (n_terms + 1,) read:
    cumulative sum of its sizes; columns, counts out: contexts and their weights, those of row i at
    row_starts[i] - origin. O(window) per occurrence and O(n_terms / 8) per term.
    """
    weights = np.zeros(starts.shape[0] - 1, np.int64)
    met = np.empty(starts.shape[0] - 1, np.int32)
    marks = np.zeros((starts.shape[0] - 1) // _MARKED + 1, np.bool_)
    for term in range(first, last):
        near = positions[starts[term] : starts[term + 1]]
        n_met = _count_contexts(stream, near, decay, weights, met)
        for i in range(n_met):
            marks[met[i] // _MARKED] = True
        end = row_starts[term] - origin
        for mark in range(marks.shape[0]):
            if not marks[mark]:
                continue
            marks[mark] = False
            for context in range(mark * _MARKED, min((mark + 1) * _MARKED, weights.shape[0])):
                if weights[context] != 0:
                    columns[end] = context
                    counts[end] = weights[context]
                    weights[context] = 0
                    end += 1


@kernel(
    "void(int64[::1], int32[::1], int64[::1], int64, float64[::1], float64, int64, int64,"
    " float32[::1])"
)
def positive_information(starts, columns, counts, row, surprise, shift, first, last, values):
    """Write the shifted positive pointwise mutual information of counted pairs.

    starts (n_rows + 1,), columns, counts (n_entries,) read: some rows of the counts, of which the
    first is the term `row`; surprise (n_terms,) read; values (n_entries,) out, for the rows `first`
    to `last` of these: ln(count) + surprise_i + surprise_j - shift, or 0 if that is negative.
    O(entries).
    """
    for i in range(first, last):
        for entry in range(starts[i], starts[i + 1]):
            # The two terms' summands are added first: their sum is the same from both sides.
            both = surprise[row + i] + surprise[columns[entry]]
            values[entry] = max(np.log(counts[entry]) + both - shift, 0.0)


@kernel(
    "void(int64[::1], int64[::1], int32[::1], float32[::1], float32[:, ::1], int64, int64,"
    " float32[:, ::1])"
)
def sparse_times_dense(row_starts, row_ends, columns, values, dense, first, last, product):
    """Multiply rows `first` to `last` of a sparse matrix by a dense one.

    dense (n, c) read; product (n, c) out, these rows. Rows are independent. O(entries c).
    """
    for row in range(first, last):
        answer = product[row]
        answer[:] = 0.0
        for i in range(row_starts[row], row_ends[row]):
            value = values[i]
            other = dense[columns[i]]
            for j in range(answer.shape[0]):
                answer[j] += value * other[j]


@kernel("void(float32[:, ::1], float32[:, ::1], float64[:, ::1])")
def add_gram(left, right, gram):
    """Add leftᵀ right to `gram`, row by row in float64.

    left (n, c), right (n, c) read; gram (c, c) in and out. O(n c²).
    """
    for row in range(left.shape[0]):
        other = right[row]
        for i in range(left.shape[1]):
            value = np.float64(left[row, i])
            sums = gram[i]
            for j in range(other.shape[0]):
                sums[j] += value * np.float64(other[j])


@kernel("void(float32[:, ::1], float64[:, ::1], int64, int64, float32[:, ::1])")
def combine_columns(dense, small, first, last, product):
    """Multiply rows `first` to `last` of a dense matrix by a small one, summed in float64.

    dense (n, c), small (c, r) read; product (n, r) out, these rows. O(rows c r).
    """
    sums = np.empty(small.shape[1], np.float64)
    for row in range(first, last):
        sums[:] = 0.0
        for i in range(small.shape[0]):
            value = np.float64(dense[row, i])
            factors = small[i]
            for j in range(sums.shape[0]):
                sums[j] += value * factors[j]
        for j in range(sums.shape[0]):
            product[row, j] = sums[j]


@helper
def _rotate(left, right, c, s):
    """Turn two rows into c left - s right and s left + c right."""
    for k in range(left.shape[0]):
        a = left[k]
        b = right[k]
        left[k] = c * a - s * b
        right[k] = s * a + c * b


@kernel("void(float64[:, ::1], float64[:, ::1])")
def diagonalize(matrix, vectors):
    """Eigenvalues and eigenvectors of a small symmetric matrix by cyclic Jacobi rotations.

    matrix (n, n) in, symmetric; out: the eigenvalues on the diagonal, unordered, with rounding
    errors off the diagonal; vectors (n, n) out: row i is the eigenvector of matrix[i, i]. O(n³) per
    sweep, with about eight sweeps.
    """
    n = matrix.shape[0]
    vectors[:] = 0.0
    for i in range(n):
        vectors[i, i] = 1.0
    for _ in range(60):
        beside = 0.0
        whole = 0.0
        for i in range(n):
            for j in range(n):
                square = matrix[i, j] * matrix[i, j]
                whole += square
                beside += square if i != j else 0.0
        if beside <= 1e-28 * whole:
            return
        for p in range(n - 1):
            for q in range(p + 1, n):
                if matrix[p, q] == 0.0:
                    continue
                theta = (matrix[q, q] - matrix[p, p]) / (2.0 * matrix[p, q])
                if abs(theta) > 1e100:
                    t = 0.5 / theta
                else:
                    t = 1.0 / (abs(theta) + np.sqrt(theta * theta + 1.0))
                    if theta < 0.0:
                        t = -t
                c = 1.0 / np.sqrt(t * t + 1.0)
                s = t * c
                pp = matrix[p, p] - t * matrix[p, q]
                qq = matrix[q, q] + t * matrix[p, q]
                _rotate(matrix[p], matrix[q], c, s)
                # The matrix is symmetric, so its columns p and q are now known.
                for k in range(n):
                    matrix[k, p] = matrix[p, k]
                    matrix[k, q] = matrix[q, k]
                matrix[p, p] = pp
                matrix[q, q] = qq
                matrix[p, q] = 0.0
                matrix[q, p] = 0.0
                _rotate(vectors[p], vectors[q], c, s)
