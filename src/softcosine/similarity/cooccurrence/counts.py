"""Co-occurrence counts of the terms of a corpus."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._validation import check_whole
from softcosine.text.corpus import AnalyzedTexts
from softcosine.text.vocabulary import Vocabulary

_TOKENS = 1 << 22  # counted at once


def frequent(
    frequencies: NDArray[np.int64], vocabulary: Vocabulary, *, min_count: int, max_terms: int
) -> NDArray[np.int64]:
    """Return the most frequent terms, ascending; equally frequent ones are taken by string.

    InvalidInputError if a limit is out of range.
    """
    check_whole("min_count", min_count)
    check_whole("max_terms", max_terms, least=0)
    enough = np.flatnonzero(frequencies >= min_count)
    order = np.lexsort((vocabulary.ranks()[enough], -frequencies[enough]))
    return np.sort(enough[order[:max_terms]])


def cooccurrences(corpus: AnalyzedTexts, kept: NDArray[np.int64], window: int) -> csr_array:
    """Return how often pairs of some terms co-occur within a window.

    Parameters
    ----------
    corpus : AnalyzedTexts
    kept : ndarray of shape (n_terms,), int64
        Terms of the corpus; others take up positions.
    window : int
        Greatest distance; at distance d a co-occurrence counts ``window + 1 - d``.

    Returns
    -------
    csr_array of shape (n_terms, n_terms), int64
        Symmetric, column indices sorted, empty diagonal.
    """
    numbers = np.full(len(corpus.vocabulary) + 1, -1, np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    counts = csr_array((len(kept), len(kept)), dtype=np.int64)
    offsets = np.asarray(corpus.offsets)
    for first, last in row_blocks(offsets, _TOKENS):
        bounds = offsets[first : last + 1]
        tokens = numbers[corpus.tokens[bounds[0] : bounds[-1]]]
        documents = np.repeat(np.arange(last - first), np.diff(bounds))
        for distance in range(1, window + 1):
            left, right = tokens[:-distance], tokens[distance:]
            near = (documents[:-distance] == documents[distance:]) & (left >= 0) & (right >= 0)
            near &= left != right
            weight = np.full(np.count_nonzero(near), window + 1 - distance)
            counts += csr_array((weight, (left[near], right[near])), shape=counts.shape)
    counts = csr_array(counts + counts.T)
    counts.sort_indices()
    return counts


def row_blocks(starts: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Divide rows into blocks of limited entries; a row with more entries is a block by itself."""
    first, n_rows = 0, len(starts) - 1
    while first < n_rows:
        last = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
        last = min(max(last, first + 1), n_rows)
        yield first, last
        first = last
