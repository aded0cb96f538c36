"""Cosines of chosen pairs of vectors, and the best columns of rows of a similarity block.

A matrix product finds the candidates; every similarity that leaves here is computed anew in
float64, in one order of summation, so it depends neither on the BLAS in use nor on the block.
Products of two float32 numbers are exact in float64, so s_ij and s_ji agree to the bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softcosine.kernels.jit import helper, kernel

__all__ = ["best_columns", "best_of_rows", "pair_similarities", "unit_rows"]

_SCAN = 32  # columns compared at once


@helper
def _dot(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    """Sum of products in float64, eight interleaved partial sums."""
    n = left.shape[0]
    whole = n - n % 8
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
    for i in range(0, whole, 8):
        a0 += np.float64(left[i]) * np.float64(right[i])
        a1 += np.float64(left[i + 1]) * np.float64(right[i + 1])
        a2 += np.float64(left[i + 2]) * np.float64(right[i + 2])
        a3 += np.float64(left[i + 3]) * np.float64(right[i + 3])
        a4 += np.float64(left[i + 4]) * np.float64(right[i + 4])
        a5 += np.float64(left[i + 5]) * np.float64(right[i + 5])
        a6 += np.float64(left[i + 6]) * np.float64(right[i + 6])
        a7 += np.float64(left[i + 7]) * np.float64(right[i + 7])
    rest = 0.0
    for i in range(whole, n):
        rest += np.float64(left[i]) * np.float64(right[i])
    return ((a0 + a4) + (a1 + a5)) + ((a2 + a6) + (a3 + a7)) + rest


@helper
def _similarity(dot: float, scale: float, threshold: np.float32, exponent: float) -> np.float32:
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
def unit_rows(
    vectors: NDArray[np.float32],
    weights: NDArray[np.float64],
    units: NDArray[np.float32],
    scales: NDArray[np.float64],
) -> None:
    """Give every row its weight as its length.

    vectors (n, d) read; weights (n,) read, in (0, 1]; units (n, d) out: zero rows stay zero;
    scales (n,) out: the weighted cosine of two rows is the dot product of their `units` times both
    scales, which are 1 but for the rounding of `units` to float32. O(n d).
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
def pair_similarities(
    units: NDArray[np.float32],
    scales: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    threshold: np.float32,
    exponent: float,
    similarities: NDArray[np.float32],
) -> None:
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
def _worse(similarity: np.float32, rank: int, than_similarity: np.float32, than_rank: int) -> bool:
    """Whether the first candidate stands behind the second: by similarity, then by rank."""
    if similarity == than_similarity:
        return rank > than_rank
    return bool(similarity < than_similarity)


@helper
def _sift_down(values: NDArray[np.float32], keys: NDArray[np.int64], size: int, root: int) -> None:
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
def _offer(
    values: NDArray[np.float32],
    keys: NDArray[np.int64],
    size: int,
    value: np.float32,
    key: int,
) -> int:
    """Put a candidate into the heap, in place of the worst when full; returns the new size."""
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
def _best_first(values: NDArray[np.float32], keys: NDArray[np.int64], size: int) -> None:
    """Turn a heap into a list, best first: its worst goes to the end, over and over."""
    for end in range(size - 1, 0, -1):
        values[0], values[end] = values[end], values[0]
        keys[0], keys[end] = keys[end], keys[0]
        _sift_down(values, keys, end, 0)


@helper
def _any_above(values: NDArray[np.float32], bound: np.float32) -> bool:
    """Whether any value is above the bound; counting vectorises, a branch each would not."""
    hits = np.int32(0)
    for i in range(values.shape[0]):
        hits = np.int32(hits + np.int32(values[i] > bound))
    return bool(hits > 0)


@kernel(
    "void(float32[:, ::1], float32[:, ::1], float64[::1], int64[::1], float32[:, ::1],"
    " float64[::1], int64[::1], float32, float64, float32, int64, int64,"
    " float32[:, ::1], int64[:, ::1], int64[::1])"
)
def best_columns(
    block: NDArray[np.float32],
    row_units: NDArray[np.float32],
    row_scales: NDArray[np.float64],
    row_keys: NDArray[np.int64],
    column_units: NDArray[np.float32],
    column_scales: NDArray[np.float64],
    column_keys: NDArray[np.int64],
    threshold: np.float32,
    exponent: float,
    margin: np.float32,
    first: int,
    last: int,
    similarities: NDArray[np.float32],
    keys: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Best columns of the rows `first` to `last` of a block of approximate cosines.

    Every column whose approximate cosine comes within `margin` of the last place is computed
    exactly, so the answer is the exact one provided that `margin` is at least twice the error of
    the block plus what rounding and exponent can make equal.

    block (r, n) read; row_units (r, d), column_units (n, d), row_scales (r,), column_scales (n,)
    read: as for pair_similarities; row_keys (r,), column_keys (n,) read: rank of the string times
    2**32, plus the column's number; a column with the row's rank is left out; similarities (r, k)
    and keys (r, k) out: the k best, best first; counts (r,) out: how many of them are there.
    Rows are independent. O(n + c d + c log k) a row for c candidates.
    """
    n = block.shape[1]
    k = similarities.shape[1]
    rough = np.empty(k, np.float32)
    rough_keys = np.empty(k, np.int64)
    for row in range(first, last):
        approximate = block[row]
        own = row_keys[row] >> 32
        floor = threshold - margin
        size = 0
        bound = floor
        for start in range(0, n, _SCAN):
            stop = min(start + _SCAN, n)
            if not _any_above(approximate[start:stop], bound):
                continue
            for column in range(start, stop):
                value = approximate[column]
                if value > bound and column_keys[column] >> 32 != own:
                    size = _offer(rough, rough_keys, size, value, column)
                    if size == k:
                        bound = rough[0]
        if size == k:
            floor = max(floor, rough[0] - margin)
        size = 0
        values = similarities[row]
        chosen = keys[row]
        for start in range(0, n, _SCAN):
            stop = min(start + _SCAN, n)
            if not _any_above(approximate[start:stop], floor):
                continue
            for column in range(start, stop):
                key = column_keys[column]
                if approximate[column] <= floor or key >> 32 == own:
                    continue
                value = _similarity(
                    _dot(row_units[row], column_units[column]),
                    row_scales[row] * column_scales[column],
                    threshold,
                    exponent,
                )
                if value > 0.0:
                    size = _offer(values, chosen, size, value, key)
        counts[row] = size
        _best_first(values, chosen, size)


@kernel(
    "void(int64[::1], int32[::1], float32[::1], int64[::1], int64[::1], int64, int64,"
    " float32[::1], int64[::1], int64[::1])"
)
def best_of_rows(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    similarities: NDArray[np.float32],
    column_keys: NDArray[np.int64],
    best_starts: NDArray[np.int64],
    first: int,
    last: int,
    best: NDArray[np.float32],
    keys: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Order the entries of the rows `first` to `last`, and keep the best of each.

    starts (n_rows + 1,), columns, similarities (n_entries,) read: entries of a row in any order; of
    a column that a row has several times the greatest similarity counts, and none that is not above
    0; column_keys (n_columns,) read: as for best_columns; best_starts (n_rows + 1,) read: places
    for the answer; best, keys (best_starts[-1],) out: best first; counts (n_rows,) out: how many
    there are. Rows are independent. O(c log k) a row of c entries.
    """
    greatest = np.zeros(column_keys.shape[0], np.float32)
    for row in range(first, last):
        for i in range(starts[row], starts[row + 1]):
            greatest[columns[i]] = max(greatest[columns[i]], similarities[i])
        values = best[best_starts[row] : best_starts[row + 1]]
        chosen = keys[best_starts[row] : best_starts[row + 1]]
        size = 0
        for i in range(starts[row], starts[row + 1]):
            value = greatest[columns[i]]
            if value > 0.0:
                size = _offer(values, chosen, size, value, column_keys[columns[i]])
                greatest[columns[i]] = 0.0
        counts[row] = size
        _best_first(values, chosen, size)
