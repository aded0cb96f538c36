"""Coordinates of meaning, their cosines with a query, and candidates by two summed scores."""

from __future__ import annotations

import numpy as np
from numba import njit

from softcosine.kernels.heap import push
from softcosine.kernels.jit import kernel


@kernel("void(float32[:,::1], float32[:,::1], float64[:,::1])")
def project_rows(vectors, projection, out):
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
def sum_pieces(indptr, numbers, codes, scales, counts, sums):
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


_BLOCK = 1024  # documents whose bounds stay in the cache


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _approximate_dot(query, row):
    """Return a dot product in float32, in any order of summation."""
    total = np.float32(0.0)
    for i in range(row.shape[0]):
        total += query[i] * np.float32(row[i])
    return total


@kernel("void(float32[::1], int8[:, ::1], float32[::1], float32[::1])")
def approximate_cosines(query, vectors, inverse_lengths, cosines):
    """Write the cosine of a query of length 1 (d,) with each vector (n, d), in float32.

    ``inverse_lengths`` (n,) are 1 / length, 0 for zero vectors. O(n d).
    """
    for i in range(vectors.shape[0]):
        cosines[i] = _approximate_dot(query, vectors[i]) * inverse_lengths[i]


@kernel("void(float64[::1], int8[:, ::1], int64[::1], float64[::1])")
def exact_cosines(query, vectors, chosen, cosines):
    """Write the cosine of a query of length 1 (d,) with chosen vectors, in float64.

    The sums are in the order of the dimensions. A zero vector has the cosine 0; rounding beyond 1
    is cut off. O(len(chosen) d).
    """
    for c in range(chosen.shape[0]):
        row = vectors[chosen[c]]
        dot, square = 0.0, np.int64(0)
        for i in range(row.shape[0]):
            value = np.int64(row[i])
            dot += query[i] * np.float64(value)
            square += value * value
        cosine = 0.0
        if square > 0:
            cosine = min(1.0, max(-1.0, dot / np.sqrt(np.float64(square))))
        cosines[c] = cosine


@kernel("int64(float32[:, ::1], float64[:, ::1], uint8[::1], float64, float64[::1], uint32[::1])")
def select_sums(scores, spaces, allowed, minimum, heap, candidates):
    """Write every document that can be among the k best by a weighted sum of spaces.

    A row of `spaces` has the weight of a space, a scale, the relative and the absolute error of
    ``scale * scores[s, d]``, and a floor. A document counts if it is `allowed` and its score by
    some space is above 0 and reaches the floor. `heap` (k,) holds the greatest lower bounds of the
    documents before, -inf at first, and is updated. Documents whose upper bound is below its least,
    or below `minimum`, are no candidates. Returns the number of candidates; they ascend.
    """
    n_spaces, n_docs = scores.shape
    most = np.empty(n_docs)  # -inf of documents that are no hits
    low, sure = np.empty(_BLOCK), np.empty(_BLOCK, np.uint8)
    possible = np.empty(_BLOCK, np.uint8)
    for begin in range(0, n_docs, _BLOCK):
        n = min(_BLOCK, n_docs - begin)
        upper = most[begin : begin + n]
        low[:n], upper[:], sure[:n], possible[:n] = 0.0, 0.0, 0, 0
        for s in range(n_spaces):
            part, weight, scale = scores[s, begin : begin + n], spaces[s, 0], spaces[s, 1]
            relative, absolute, floor = spaces[s, 2], spaces[s, 3], spaces[s, 4]
            for i in range(n):
                score = scale * np.float64(part[i])
                error = score * relative + absolute
                least, greatest = score - error, score + error
                low[i] += weight * least
                upper[i] += weight * greatest
                sure[i] |= np.uint8((least > 0.0) & (least >= floor))
                possible[i] |= np.uint8((greatest > 0.0) & (greatest >= floor))
        for i in range(n):
            if allowed[begin + i] == 0 or possible[i] == 0:
                upper[i] = -np.inf
            elif sure[i] != 0 and low[i] > heap[0]:
                push(heap, low[i])
    bound, n = max(heap[0], minimum), 0
    for d in range(n_docs):
        if most[d] >= bound and most[d] > -np.inf:
            candidates[n] = d
            n += 1
    return n
