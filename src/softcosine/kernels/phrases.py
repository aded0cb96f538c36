"""Documents that contain a phrase, a sequence of adjacent terms."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import kernel


# Mapped files and cached sets of documents may be read-only.
@kernel(
    "void(Array(int32, 1, 'C', True), Array(int64, 1, 'C', True), Array(boolean, 1, 'C', True),"
    " int32[::1], boolean[::1])"
)
def find_phrase(tokens, token_offsets, candidates, phrase, holds):
    """Write which candidates contain a phrase; other documents get False.

    tokens (n_tokens,), token_offsets (n_docs + 1,), candidates (n_docs,) and phrase (m,), m >= 1,
    read; holds (n_docs,) out. A document whose offsets do not ascend within `tokens` gets False.
    One pass over each candidate's tokens, up to the phrase (Knuth, Morris and Pratt 1977): O(n_docs
    + candidates' tokens + m), whatever repeats in the phrase.
    """
    m = phrase.shape[0]
    # After a mismatch behind i matched tokens, borders[i] of them may still begin the phrase.
    borders = np.zeros(m + 1, np.int64)
    matched = 0
    for i in range(1, m):
        while matched > 0 and phrase[i] != phrase[matched]:
            matched = borders[matched]
        if phrase[i] == phrase[matched]:
            matched += 1
        borders[i + 1] = matched
    first = phrase[0]
    for d in range(holds.shape[0]):
        holds[d] = False
        if not candidates[d]:
            continue
        begin, end = token_offsets[d], token_offsets[d + 1]
        if begin < 0 or end > tokens.shape[0]:
            continue
        matched = 0
        for p in range(begin, end):
            if matched == 0 and tokens[p] != first:  # almost always
                continue
            while matched > 0 and tokens[p] != phrase[matched]:
                matched = borders[matched]
            if tokens[p] == phrase[matched]:
                matched += 1
            if matched == m:
                holds[d] = True
                break
