"""Cosines of chosen pairs of vectors, and the nearest vectors of each.

A matrix product finds candidates; every returned similarity is computed anew in float64, in one
order of summation, so it depends neither on the BLAS nor on the block. Products of two float32
numbers are exact in float64, so s_ij and s_ji agree to the bit.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel
from softcosine.kernels.lanes import LANES, above, above_each, lowest_bit, sum_of_eights
from softcosine.kernels.prefetch import prefetch

_LINE = 16  # float32 numbers in a cache line
_AHEAD = 4  # number of candidates whose vectors are prefetched
_HALVINGS = 24  # of the range that contains the k-th largest value


@helper
def _dot(left, right):
    """Sum of products in float64."""
    n = left.shape[0]
    whole = n - n % 8
    rest = 0.0
    for i in range(whole, n):
        rest += np.float64(left[i]) * np.float64(right[i])
    return sum_of_eights(left, right, whole) + rest


@helper
def _similarity(dot, scale, threshold, exponent):
    """Similarity of a pair: its scaled cosine raised to the exponent, 0 below the threshold."""
    cosine = min(dot * scale, 1.0)
    if cosine <= 0.0 or np.float32(cosine) < threshold:
        return np.float32(0.0)
    if exponent == 2.0:
        return np.float32(cosine * cosine)
    if exponent == 1.0:
        return np.float32(cosine)
    return np.float32(cosine**exponent)


@kernel("void(float32[:, ::1], float64[::1], float32[:, ::1], float64[::1])")
def unit_rows(vectors, weights, units, scales):
    """Scale every row to the length of its weight.

    vectors (n, d) read; weights (n,) read, in (0, 1]; units (n, d) out: zero rows stay zero;
    scales (n,) out: the weighted cosine of two rows is the dot product of their `units` times both
    scales, which correct the rounding of `units` to float32. O(n d).
    """
    for row in range(vectors.shape[0]):
        length = np.sqrt(_dot(vectors[row], vectors[row]))
        factor = weights[row] / length if length > 0.0 else 0.0
        for i in range(vectors.shape[1]):
            units[row, i] = np.float64(vectors[row, i]) * factor
        length = np.sqrt(_dot(units[row], units[row]))
        scales[row] = weights[row] / length if length > 0.0 else 0.0


@kernel(
    "void(float32[:, ::1], float64[::1], int32[::1], int32[::1], float32, float64, float32[::1])"
)
def pair_similarities(units, scales, left, right, threshold, exponent, similarities):
    """Similarities of chosen pairs of rows.

    units (n, d) read; scales (n,) read: a cosine is the dot product times both rows' scales;
    left, right (n_pairs,) read: row numbers; similarities (n_pairs,) out. O(n_pairs d).
    """
    for pair in range(left.shape[0]):
        i = left[pair]
        j = right[pair]
        similarities[pair] = _similarity(
            _dot(units[i], units[j]), scales[i] * scales[j], threshold, exponent
        )


@helper
def _worse(similarity, rank, than_similarity, than_rank):
    """Whether the first candidate ranks after the second: by similarity, then by rank."""
    if similarity == than_similarity:
        return rank > than_rank
    return bool(similarity < than_similarity)


@helper
def _sift_down(values, keys, size, root):
    """Restore the heap below `root`; the worst candidate is at the top."""
    while True:
        child = 2 * root + 1
        if child >= size:
            return
        other = child + 1
        if other < size and _worse(values[other], keys[other], values[child], keys[child]):
            child = other
        if not _worse(values[child], keys[child], values[root], keys[root]):
            return
        values[root], values[child] = values[child], values[root]
        keys[root], keys[child] = keys[child], keys[root]
        root = child


@helper
def _offer(values, keys, size, value, key):
    """Put a candidate into the heap, replacing the worst if full; returns the new size."""
    if size < values.shape[0]:
        values[size] = value
        keys[size] = key
        node = size
        while node > 0:
            parent = (node - 1) // 2
            if not _worse(values[node], keys[node], values[parent], keys[parent]):
                break
            values[node], values[parent] = values[parent], values[node]
            keys[node], keys[parent] = keys[parent], keys[node]
            node = parent
        return size + 1
    if _worse(values[0], keys[0], value, key):
        values[0] = value
        keys[0] = key
        _sift_down(values, keys, size, 0)
    return size


@helper
def _best_first(values, keys, size):
    """Turn a heap into a list, best first, by moving the worst to the end repeatedly."""
    for end in range(size - 1, 0, -1):
        values[0], values[end] = values[end], values[0]
        keys[0], keys[end] = keys[end], keys[0]
        _sift_down(values, keys, end, 0)


@helper
def _count_from(values, bound):
    """Count the values of at least the bound; a branchless sum vectorises."""
    count = np.int32(0)
    for i in range(values.shape[0]):
        count = np.int32(count + np.int32(values[i] >= bound))
    return count


@helper
def _kth_greatest(values, k, low):
    """Return a number at or just below the k-th largest value; `low` is below all values."""
    high = np.float32(2.0)  # above every cosine
    for _ in range(_HALVINGS):
        middle = np.float32(0.5) * (low + high)
        count = _count_from(values, middle)
        if count < k:
            high = middle
        else:
            low = middle
            if count == k:
                break
    return low


@helper
def _exact(unit, scale, units, scales, others, threshold, exponent, similarities, keys):
    """Find the best of `others`, best first, by similarities computed anew; returns their number.

    A key is the vector's number times 2**32 plus its position in `others`.
    """
    size = 0
    for i in range(others.shape[0]):
        following = others[min(i + _AHEAD, others.shape[0] - 1)]
        for start in range(0, unit.shape[0], _LINE):
            prefetch(units[following], start)
        other = others[i]
        value = _similarity(_dot(unit, units[other]), scale * scales[other], threshold, exponent)
        if value > 0.0:
            size = _offer(similarities, keys, size, value, np.int64(other) << 32 | i)
    _best_first(similarities, keys, size)
    return size


@kernel(
    "void(float32[:, ::1], int64, int64, int64, int64, int64, int64, boolean,"
    " float32[:, ::1], float64[::1], int32[::1], float32[:, ::1], float64[::1], int32[::1],"
    " int64, float32, float64, float32,"
    " float32[:, ::1], int32[:, ::1], int32[::1], float32[::1])"
)
def keep_candidates(
    block, row_start, column_start, first_row, last_row, first_column, last_column, by_column,
    row_units, row_scales, row_strings, column_units, column_scales, column_strings, k, threshold,
    exponent, margin, values, others, sizes, bounds,
):  # fmt: skip
    """Add the candidates of a tile of approximate cosines to the lists of their owners.

    The owners are the rows and their candidates the columns, or vice versa with `by_column`. A
    candidate is kept if its approximate cosine is above the owner's bound, `margin` below its k-th
    best so far. So all of the exact k best are kept, provided that `margin` is at least twice the
    error of the block plus what rounding and exponent make equal.

    block (r, c) read, of the rows from `row_start` and the columns from `column_start`; the tile is
    given in the block's own indices. row_units (m, d), column_units (n, d), row_scales (m,),
    column_scales (n,) read: as for pair_similarities; row_strings (m,), column_strings (n,) read:
    equal strings have equal numbers, and are no candidates for each other. values, others
    (owners, capacity), sizes, bounds (owners,) in and out, for every owner in the tile: approximate
    cosine and number of each candidate, their number, and the bounds, which start `margin` below
    the threshold. The capacity is above k. O(r c + h) for h candidates, plus O(h d) if so many are
    similar that they must be computed exactly to free space.
    """
    capacity = values.shape[1]
    scratch = np.empty(capacity, np.float32)
    best = np.empty(k, np.float32)
    keys = np.empty(k, np.int64)
    for row in range(first_row, last_row):
        cosines = block[row]
        for start in range(first_column, last_column, LANES):
            if start + LANES > last_column:
                mask = 0
                for column in range(start, last_column):
                    owner = column_start + column if by_column else row_start + row
                    if cosines[column] > bounds[owner]:
                        mask |= 1 << (column - start)
            elif by_column:
                mask = above_each(cosines, start, bounds, column_start + start)
            else:
                mask = above(cosines, start, bounds[row_start + row])
            while mask != 0:
                column = start + lowest_bit(mask)
                mask &= mask - 1
                i = row_start + row
                j = column_start + column
                if row_strings[i] == column_strings[j]:
                    continue
                owner, other = (j, i) if by_column else (i, j)
                size = sizes[owner]
                values[owner, size] = cosines[column]
                others[owner, size] = other
                size += 1
                if size == capacity:
                    # Drop candidates below the k best, exactly if that frees too little.
                    kth = _kth_greatest(values[owner], k, bounds[owner])
                    bound = max(bounds[owner], kth - margin)
                    size = 0
                    for p in range(capacity):
                        value = values[owner, p]
                        values[owner, size] = value
                        others[owner, size] = others[owner, p]
                        size += value > bound
                    if 2 * size > capacity + k:
                        if by_column:
                            unit, scale = column_units[owner], column_scales[owner]
                            units, scales = row_units, row_scales
                        else:
                            unit, scale = row_units[owner], row_scales[owner]
                            units, scales = column_units, column_scales
                        size = _exact(
                            unit, scale, units, scales, others[owner, :size],
                            threshold, exponent, best, keys,
                        )  # fmt: skip
                        for p in range(size):
                            scratch[p] = values[owner, keys[p] & 0xFFFFFFFF]
                        for p in range(size):
                            values[owner, p] = scratch[p]
                            others[owner, p] = keys[p] >> 32
                    bounds[owner] = bound
                sizes[owner] = size


@kernel(
    "void(float32[:, ::1], float64[::1], float32[:, ::1], float64[::1], int64, float32, float64,"
    " float32, int64, int64, float32[:, ::1], int32[:, ::1], int32[::1], float32[::1])"
)
def rank_candidates(
    row_units, row_scales, column_units, column_scales, k, threshold, exponent, margin, first, last,
    values, others, sizes, bounds,
):  # fmt: skip
    """Turn the candidates of the rows `first` to `last` into their exact neighbours, best first.

    Arguments as in keep_candidates. On exit `values` are similarities and `sizes` at most k; ties
    are in the order of columns. O(c d + c log k) per row of c candidates.
    """
    best = np.empty(k, np.float32)
    keys = np.empty(k, np.int64)
    for row in range(first, last):
        size = sizes[row]
        if size > k:
            bound = _kth_greatest(values[row, :size], k, bounds[row]) - margin
            kept = 0
            for p in range(size):
                others[row, kept] = others[row, p]
                kept += values[row, p] > bound
            size = kept
        size = _exact(
            row_units[row], row_scales[row], column_units, column_scales, others[row, :size],
            threshold, exponent, best, keys,
        )  # fmt: skip
        sizes[row] = size
        for p in range(size):
            values[row, p] = best[p]
            others[row, p] = keys[p] >> 32
