"""The likeliest pieces of a text by a unigram language model."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import kernel


@kernel(
    "int64(uint8[::1], int64[::1], int64[::1], uint8[::1], float64[::1], int64, float64,"
    " float64[::1], int64[::1], int32[::1])"
)
def likeliest_pieces(
    text, slots, starts, arena, scores, longest, unknown, best, begins, numbers
):  # fmt: skip
    """Split a text so that the sum of its pieces' scores is greatest (Viterbi).

    A character that no piece equals can be a piece of the score `unknown` and the number -1; of
    such neighbours one piece is kept. Of equal sums, the one whose last piece is longest wins.
    O(bytes × longest).

    Parameters
    ----------
    text : uint8[n_bytes], read
        UTF-8. No piece goes on over the byte 0xE2 of a space mark (U+2581).
    slots, starts, arena : read
        A hash table of `number_pieces`: the pieces.
    scores : float64[n_pieces], read
    longest : int64
        Bytes of the longest piece.
    unknown : float64
    best : float64[n_bytes + 1], out
        Greatest sum of the text up to each byte.
    begins : int64[n_bytes + 1], out
        Where the last piece of that sum begins.
    numbers : int32[n_bytes + 1], out
        First the last piece of that sum, at the end the pieces of the text, in order.

    Returns
    -------
    int64
        Number of pieces.
    """
    mask = len(slots) - 1
    n_bytes = len(text)
    best[:] = -np.inf
    best[0] = 0.0
    for i in range(n_bytes):
        if text[i] & 0xC0 == 0x80:  # inside a character
            continue
        first = i + 1
        while first < n_bytes and text[first] & 0xC0 == 0x80:
            first += 1
        known = False
        code = 2166136261 & 0x7FFFFFFF
        for j in range(i, min(n_bytes, i + longest)):
            code = ((code ^ int(text[j])) * 16777619) & 0x7FFFFFFF
            stop = j + 1
            if stop < n_bytes and text[stop] & 0xC0 == 0x80:
                continue
            slot = (code ^ (code >> 15)) & mask
            entry = slots[slot]
            while entry >= 0:
                if entry >> 32 == code:
                    piece = entry & 0xFFFFFFFF
                    start = starts[piece]
                    length = starts[piece + 1] - start - 1
                    if length == stop - i:
                        k = 0
                        while k < length and arena[start + k] == text[i + k]:
                            k += 1
                        if k == length:
                            known |= stop == first
                            total = best[i] + scores[piece]
                            if total > best[stop]:
                                best[stop] = total
                                begins[stop] = i
                                numbers[stop] = piece
                            break
                slot = (slot + 1) & mask
                entry = slots[slot]
            if (
                stop + 2 < n_bytes
                and text[stop] == 0xE2
                and text[stop + 1] == 0x96
                and text[stop + 2] == 0x81
            ):
                break
        if not known and best[i] + unknown > best[first]:
            best[first] = best[i] + unknown
            begins[first] = i
            numbers[first] = -1
    # From the end to the front, then shifted to the beginning.
    last = n_bytes + 1
    stop = n_bytes
    while stop > 0:
        number = numbers[stop]
        if number >= 0 or last > n_bytes or numbers[last] >= 0:
            last -= 1
            numbers[last] = number
        stop = begins[stop]
    for k in range(last, n_bytes + 1):
        numbers[k - last] = numbers[k]
    return n_bytes + 1 - last
