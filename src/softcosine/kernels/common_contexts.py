"""Cosines of the rows of a sparse symmetric matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softcosine.kernels.jit import kernel

__all__ = ["common_contexts", "row_lengths"]


@kernel("void(int64[::1], float32[::1], float64[::1])")
def row_lengths(
    starts: NDArray[np.int64], values: NDArray[np.float32], lengths: NDArray[np.float64]
) -> None:
    """Euclidean length of every row.

    starts (n + 1,), values (starts[n],) read; lengths (n,) out. O(entries).
    """
    for row in range(starts.shape[0] - 1):
        total = 0.0
        for i in range(starts[row], starts[row + 1]):
            total += np.float64(values[i]) * np.float64(values[i])
        lengths[row] = np.sqrt(total)


@kernel(
    "void(int64[::1], int32[::1], float32[::1], float64[::1], int64, int64, int64, float64[:, ::1])"
)
def common_contexts(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
    factors: NDArray[np.float64],
    row: int,
    first: int,
    last: int,
    cosines: NDArray[np.float64],
) -> None:
    """Dot products of some rows with all, times the factors of both.

    starts (n + 1,), columns, values (starts[n],) read: a symmetric matrix with the columns of each
    row in order; factors (n,) read; cosines (r, n) in and out: zero before; its lines `first` to
    `last` are those of the rows `row` + first to `row` + last, and 0 for a row with itself. The sum
    runs over the common columns in order, so it is the same from both sides. O(sum of the lengths
    of the rows that the columns name).
    """
    for line in range(first, last):
        own = row + line
        sums = cosines[line]
        for i in range(starts[own], starts[own + 1]):
            value = np.float64(values[i])
            context = columns[i]
            for j in range(starts[context], starts[context + 1]):
                sums[columns[j]] += value * np.float64(values[j])
        sums[own] = 0.0
        for other in range(sums.shape[0]):
            if sums[other] != 0.0:
                sums[other] *= factors[own] * factors[other]
