"""Projection of vectors, with the same bits for a row alone and in a batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softcosine.kernels.jit import kernel

__all__ = ["project_rows"]


@kernel("void(float32[:,::1], float32[:,::1], float64[:,::1])")
def project_rows(
    vectors: NDArray[np.float32], projection: NDArray[np.float32], out: NDArray[np.float64]
) -> None:
    """Product of a matrix of vectors and a projection.

    vectors (n, d) read; projection (d, dimensions) read; out (n, dimensions) out. The products of
    two float32 numbers are exact in float64 and are added in the order of the components, so that
    fused multiply-add instructions change no bit. O(n d dimensions).
    """
    for row in range(vectors.shape[0]):
        for column in range(out.shape[1]):
            out[row, column] = 0.0
        for component in range(vectors.shape[1]):
            factor = np.float64(vectors[row, component])
            for column in range(out.shape[1]):
                out[row, column] += factor * np.float64(projection[component, column])
