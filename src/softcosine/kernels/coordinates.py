"""Projections and sums of vectors, with the same bits for a row alone and in a batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softcosine.kernels.jit import kernel

__all__ = ["project_rows", "sum_pieces"]


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


@kernel("void(int64[::1], int32[::1], uint8[:,::1], float32[::1], int64[::1], float64[:,::1])")
def sum_pieces(  # type: ignore[no-untyped-def]
    indptr, numbers, codes, scales, counts, sums
):
    """Sum the coordinates ``(code - 8) * scale`` of the pieces of each text.

    Those of text t are ``numbers[indptr[t]:indptr[t + 1]]``. codes (n_pieces, dimensions / 2): two
    a byte, the low four bits first; scales (n_pieces,); counts (n_pieces,), scratch, all 0; sums
    (n_texts, dimensions) out. The coordinates of a piece times its count are exact in float64, and
    are added by ascending piece. O(n_texts n_pieces / 16 + distinct pieces of each text).
    """
    half = codes.shape[1]
    used = np.zeros(len(counts) // 16 + 1, np.bool_)  # blocks of 16 pieces
    low, high = np.empty(half), np.empty(half)
    for text in range(len(indptr) - 1):
        for i in range(indptr[text], indptr[text + 1]):
            counts[numbers[i]] += 1
            used[numbers[i] >> 4] = True
        low[:] = 0.0
        high[:] = 0.0
        for block in range(len(used)):
            if not used[block]:
                continue
            used[block] = False
            for piece in range(16 * block, min(16 * block + 16, len(counts))):
                if counts[piece] == 0:
                    continue
                weight = np.float64(counts[piece]) * np.float64(scales[piece])
                counts[piece] = 0
                for j in range(half):
                    byte = codes[piece, j]
                    low[j] += weight * (np.float64(np.uint8(byte & 15)) - 8.0)
                    high[j] += weight * (np.float64(np.uint8(byte >> 4)) - 8.0)
        for j in range(half):
            sums[text, 2 * j] = low[j]
            sums[text, 2 * j + 1] = high[j]
