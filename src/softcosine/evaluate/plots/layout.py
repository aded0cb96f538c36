"""Kernels of the layout forces: points repel each other, links attract.

Both forces are those of t-SNE (van der Maaten & Hinton 2008); the nearness of two points is
q = 1 / (1 + d²), d their distance.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import kernel

_SIDE_BY_SIDE = 64  # points whose sums stay in the first-level cache


@kernel("void(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])")
def push(x, y, push_x, push_y, nearness):  # type: ignore[no-untyped-def]
    """Write the repulsion of each point by all others, and its total nearness.

    ``push_x[i]`` = Σ_j q² (x_i - x_j), ``push_y`` likewise, ``nearness[i]`` = Σ_j q without the
    point itself; points are processed in ascending order. All arrays are (n,) float64, the last
    three out. Cost O(n²).
    """
    n = x.shape[0]
    # The sums of many points grow side by side, so that none waits for the previous one; they are
    # in separate arrays, so that the compiler sees that only they change.
    own_x, own_y = np.empty(_SIDE_BY_SIDE), np.empty(_SIDE_BY_SIDE)
    total_x, total_y = np.empty(_SIDE_BY_SIDE), np.empty(_SIDE_BY_SIDE)
    total = np.empty(_SIDE_BY_SIDE)
    for start in range(0, n, _SIDE_BY_SIDE):
        width = min(_SIDE_BY_SIDE, n - start)
        for i in range(width):
            own_x[i], own_y[i] = x[start + i], y[start + i]
            total_x[i], total_y[i] = 0.0, 0.0
            total[i] = -1.0  # removes the point itself
        for j in range(n):
            x_j, y_j = x[j], y[j]
            for i in range(width):
                dx = own_x[i] - x_j
                dy = own_y[i] - y_j
                # Not ``/``: its check for zero makes the loop ten times slower.
                q = np.divide(1.0, 1.0 + dx * dx + dy * dy)
                total[i] += q
                total_x[i] += q * q * dx
                total_y[i] += q * q * dy
        for i in range(width):
            push_x[start + i], push_y[start + i] = total_x[i], total_y[i]
            nearness[start + i] = total[i]


@kernel(
    "void(int64[::1], int32[::1], float64[::1], float64[::1], float64[::1],"
    " float64[::1], float64[::1])"
)
def pull(pointers, others, strengths, x, y, pull_x, pull_y):  # type: ignore[no-untyped-def]
    """Write the attraction of each point by its links: ``pull_x[i]`` = Σ_j strength q (x_i - x_j).

    `pointers` (n + 1,), `others` and `strengths` (n_links,) are the links, row by row; `x` to
    `pull_y` are (n,) float64, the last two out. Cost O(n_links).
    """
    for i in range(pointers.shape[0] - 1):
        total_x = 0.0
        total_y = 0.0
        for p in range(pointers[i], pointers[i + 1]):
            dx = x[i] - x[others[p]]
            dy = y[i] - y[others[p]]
            strength = strengths[p] / (1.0 + dx * dx + dy * dy)
            total_x += strength * dx
            total_y += strength * dy
        pull_x[i] = total_x
        pull_y[i] = total_y
