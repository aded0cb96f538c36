"""Character n-grams of words, numbered by fastText's hash."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softcosine.kernels.jit import kernel

__all__ = ["hash_ngrams"]


@kernel("void(uint8[::1], int64[::1], int64, int64, int64, int64, int32[::1], int64[::1])")
def hash_ngrams(
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    min_n: int,
    max_n: int,
    n_buckets: int,
    first_row: int,
    rows: NDArray[np.int32],
    ends: NDArray[np.int64],
) -> None:
    """Row numbers of the n-grams of words.

    text (n_bytes,) read: concatenated words in UTF-8 with their boundary marks; offsets
    (n_words + 1,) read: start of each; rows out: ``first_row`` plus the FNV-1a hash of every n-gram
    modulo `n_buckets`, with space for (max_n - min_n + 1) per byte of text; ends (n_words,) out:
    end of each word's rows. As in fastText, bytes are signed, and a boundary mark alone is no
    n-gram. O(n_bytes max_n²).
    """
    n_rows = 0
    for word in range(offsets.shape[0] - 1):
        start = offsets[word]
        stop = offsets[word + 1]
        for first in range(start, stop):
            if text[first] & 0xC0 == 0x80:  # inside a character
                continue
            hashed = np.uint32(2166136261)
            last = first
            for n in range(1, max_n + 1):
                if last == stop:
                    break
                at_character = True
                while last < stop and (at_character or text[last] & 0xC0 == 0x80):
                    at_character = False
                    byte = np.uint32(text[last])
                    if byte >= np.uint32(128):
                        byte |= np.uint32(0xFFFFFF00)
                    product = np.uint64(hashed ^ byte) * np.uint64(16777619)
                    hashed = np.uint32(product & np.uint64(0xFFFFFFFF))
                    last += 1
                if n >= min_n and not (n == 1 and (first == start or last == stop)):
                    rows[n_rows] = first_row + np.int64(hashed) % n_buckets
                    n_rows += 1
        ends[word] = n_rows
