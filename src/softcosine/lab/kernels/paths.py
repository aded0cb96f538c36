"""Edit distance of paths, sequences of items with graded similarity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softcosine.kernels.jit import kernel


@kernel(
    "void(int64[::1], int32[::1], int64[::1], int32[::1], float32[:, ::1], int32[::1], int32[::1],"
    " int64, int64, float64[::1])"
)
def path_distances(
    left_starts: NDArray[np.int64],
    left_parts: NDArray[np.int32],
    right_starts: NDArray[np.int64],
    right_parts: NDArray[np.int32],
    similar: NDArray[np.float32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    first: int,
    last: int,
    distances: NDArray[np.float64],
) -> None:
    """Edit distance of the two paths of the pairs `first` to `last`.

    An insertion or deletion costs 1, a replacement 1 minus the similarity of the two items. The
    distance is symmetric, bit for bit.

    left_starts (n_left + 1,), left_parts read: path i has the items left_parts[left_starts[i] :
    left_starts[i + 1]], and right_* likewise; similar (n_left_parts, n_right_parts) read:
    similarities of items, or shape (0, 0) if only equal numbers are similar; left, right (n_pairs,)
    read; distances (n_pairs,) out. O(product of the lengths) per pair.
    """
    soft = similar.shape[0] > 0
    longest = 0
    for i in range(right_starts.shape[0] - 1):
        longest = max(longest, right_starts[i + 1] - right_starts[i])
    costs = np.empty(longest + 1, np.float64)
    for pair in range(first, last):
        begin = right_starts[right[pair]]
        n = right_starts[right[pair] + 1] - begin
        for j in range(n + 1):
            costs[j] = j
        for i in range(left_starts[left[pair]], left_starts[left[pair] + 1]):
            part = left_parts[i]
            diagonal = costs[0]
            costs[0] = diagonal + 1.0
            for j in range(n):
                other = right_parts[begin + j]
                replacing = 0.0 if part == other else 1.0
                if soft:
                    replacing = 1.0 - float(similar[part, other])
                cost = min(diagonal + replacing, min(costs[j], costs[j + 1]) + 1.0)
                diagonal = costs[j + 1]
                costs[j + 1] = cost
        distances[pair] = costs[n]
