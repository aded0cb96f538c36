"""fastText subwords: words composed of character n-grams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.kernels.pieces import hash_ngrams
from softcosine.similarity.embeddings.word_vectors import checked_words, folded_words
from softcosine.text.packing import pack_strings, unpack_strings

_SENTENCE_END = "</s>"  # the only word without n-grams in fastText


class Subwords:
    """Composes a word of its own vector, if any, and the vectors of its character n-grams.

    Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information". A word is looked up
    as written, then casefolded, then ignoring letter case. Words outside the vocabulary have
    n-grams only, of the word as written.

    Parameters
    ----------
    words : sequence of str
        The vocabulary; word ``i`` has vector ``i``.
    min_n, max_n : int
        Shortest and longest n-gram in characters, including the boundary marks ``<`` and ``>``.
        ``max_n`` 0: no n-grams.
    n_buckets : int
        Number of hash buckets of n-grams; their vectors follow those of the words.

    Raises
    ------
    InvalidInputError
        If the lengths of n-grams or the number of buckets are out of range, or a word is not a
        string.
    """

    __slots__ = ("_folded", "_found", "_max_n", "_min_n", "_n_buckets", "_n_words", "words")

    words: tuple[str, ...]
    kind = "subwords"

    def __init__(self, words: Sequence[str], *, min_n: int, max_n: int, n_buckets: int) -> None:
        if max_n and not 0 <= min_n <= max_n:
            raise InvalidInputError(
                f"n-grams have {min_n} to {max_n} characters; needed is 0 <= min_n <= max_n, or "
                "max_n = 0 for none."
            )
        if max_n and n_buckets < 1:
            raise InvalidInputError(f"there are {n_buckets} buckets of n-grams; needed is one.")
        words = checked_words(words)
        self._n_words = len(words)
        self._min_n = int(min_n)
        self._max_n = int(max_n)
        self._n_buckets = int(n_buckets)
        found: dict[str, int] = {}
        for row, word in enumerate(words):
            found.setdefault(word, row)
        self._found = found
        self._folded = folded_words(found)
        self.words = tuple(words)

    @property
    def n_pieces(self) -> int:
        """Number of vectors of words and buckets."""
        return self._n_words + (self._n_buckets if self._max_n else 0)

    def pieces(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the vectors of each term: those of term ``i`` at ``indptr[i]:indptr[i + 1]``."""
        own = np.empty(len(terms), np.int64)
        spelled: list[str] = []
        for i, term in enumerate(terms):
            row = self._find(term)
            own[i] = row
            word = term if row < 0 else self.words[row]
            spelled.append("" if word in ("", _SENTENCE_END) else f"<{word}>")
        ends, rows = self._ngrams(spelled)
        n_own = (own >= 0).cumsum()
        indptr = np.concatenate(([0], ends + n_own))
        answer = np.empty(indptr[-1], np.int32)
        has_own = np.flatnonzero(own >= 0)
        of_ngrams = np.ones(len(answer), np.bool_)
        of_ngrams[indptr[has_own]] = False
        answer[indptr[has_own]] = own[has_own]
        answer[of_ngrams] = rows
        return indptr, answer

    def _find(self, term: str) -> int:
        row = self._found.get(term, -1)
        if row < 0:
            key = term.casefold()
            row = self._found.get(key, self._folded.get(key, -1))
        return row

    def _ngrams(self, spelled: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Rows of the n-grams of words between boundary marks, and the end of each word's rows."""
        ends = np.zeros(len(spelled), np.int64)
        if not self._max_n:
            return ends, np.empty(0, np.int32)
        text, offsets = pack_strings(spelled)
        rows = np.empty(len(text) * (self._max_n - self._min_n + 1), np.int32)
        text = np.require(text, requirements=["C", "W"])
        sizes = self._min_n, self._max_n, self._n_buckets, self._n_words
        hash_ngrams(text, offsets, *sizes, rows, ends)
        return ends, rows[: ends[-1] if len(ends) else 0]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the vocabulary as arrays."""
        blob, offsets = pack_strings(self.words)
        return {"words": blob, "word_offsets": offsets}

    def settings(self) -> dict[str, Any]:
        """Return the other settings as JSON types."""
        return {"min_n": self._min_n, "max_n": self._max_n, "n_buckets": self._n_buckets}

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Subwords:
        """Return the composition from the results of `settings` and `arrays`."""
        return cls(unpack_strings(arrays["words"], arrays["word_offsets"]), **settings)
