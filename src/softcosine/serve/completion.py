"""`Completions`: the indexed words that begin with a prefix."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.index.search.searchable import Searchable

_MOST = "\U0010ffff"


class Completion(NamedTuple):
    """An indexed word, and the number of documents with its term."""

    word: str
    n_docs: int


@dataclass(frozen=True, slots=True)
class Completions:
    """All indexed words in order, with the document frequencies of their terms.

    Attributes
    ----------
    words : list of str
        Ascending, without upper case.
    frequencies : ndarray of shape (n_words,), int64
        As of the last refresh of the statistics; of several fields, the greatest.
    """

    words: list[str]
    frequencies: NDArray[np.int64]

    @classmethod
    def of(cls, index: Searchable) -> Self:
        """Return the words of an index."""
        vocabulary, n_terms = index.vocabulary, len(index.vocabulary)
        own = np.zeros(n_terms, np.int64)
        for field in index.snapshot.statistics:
            np.maximum(own, field.padded(n_terms).document_frequencies, out=own)
        owners: dict[str, int] = {}
        for number in range(n_terms):
            for word in vocabulary.forms_of(number) or (vocabulary.term(number),):
                owners[word] = number
        words = sorted(owners)
        return cls(words, own[[owners[word] for word in words]] if words else own)

    def of_prefix(self, prefix: str, k: int) -> list[Completion]:
        """Return the k most frequent words with a prefix; ties in order of the words."""
        begin = bisect_left(self.words, prefix)
        end = bisect_left(self.words, prefix + _MOST)
        best = heapq.nsmallest(
            k, range(begin, end), key=lambda number: (-int(self.frequencies[number]), number)
        )
        return [Completion(self.words[number], int(self.frequencies[number])) for number in best]
