"""The entries of S, accessed by term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._validation import check_whole
from softcosine.matrix.entries import Arrays, Entries
from softcosine.matrix.stored import MatrixState, Words, check_words
from softcosine.text.packing import PackedStrings
from softcosine.text.vocabulary import Vocabulary, checked_vocabulary

__all__ = ["TermEntries"]


class TermEntries(Entries):
    """S and its terms; see `softcosine.matrix.term_similarity_matrix.TermSimilarityMatrix`."""

    def __init__(
        self,
        S: csr_array | Arrays,
        vocabulary: Vocabulary,
        *,
        representatives: Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        scales: NDArray[np.float32] | None = None,
    ) -> None:
        super().__init__(S)
        self.vocabulary = checked_vocabulary(vocabulary)
        self._words: Words | None = None
        if isinstance(representatives, PackedStrings):
            self._words = representatives
        elif representatives is not None:
            words = tuple(representatives)
            self._words = None if words is vocabulary.terms else words
        self.settings = dict(settings or {})
        self.scales = scales

    @property
    def representatives(self) -> tuple[str, ...]:
        """Representative word of each term; decoded once if stored."""
        if self._words is None:
            return self.vocabulary.terms
        return self._words.strings() if isinstance(self._words, PackedStrings) else self._words

    def representative(self, number: int) -> str:
        """Return the representative word of one term, without decoding others."""
        return self.vocabulary.term(number) if self._words is None else self._words[number]

    def similarity(self, left: str, right: str) -> float:
        """Return s_ij of two terms.

        Raises
        ------
        UnknownTermError
            If a term is not in the vocabulary.
        """
        i, j = self.vocabulary.index(left), self.vocabulary.index(right)
        columns, values = self.row(i)
        position = np.searchsorted(columns, j)
        if position < columns.shape[0] and columns[position] == j:
            return float(values[position])
        return 0.0

    def neighbors(self, term: str, *, k: int = 10) -> list[tuple[str, float]]:
        """Return the k terms most similar to a term, best first, ties ordered by string.

        Raises
        ------
        UnknownTermError
            If the term is not in the vocabulary.
        InvalidInputError
            If k is not a whole number of at least 0.
        """
        check_whole("k", k, least=0)
        i = self.vocabulary.index(term)
        columns, values = self.row(i)
        pairs = [
            (self.vocabulary.term(j), s)
            for j, s in zip(columns.tolist(), values.tolist(), strict=True)
            if j != i
        ]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]

    def check(self) -> None:
        """Read and validate all of S and its terms.

        Useful for an opened matrix only: opening reads small arrays only, and the entries of S are
        checked before their first use.

        Raises
        ------
        CorruptIndexError
            If a number is out of range, or the terms are not distinct strings.
        """
        check_words(self.contents())

    def contents(self) -> MatrixState:
        """Return the stored contents without copying them."""
        return MatrixState(self.arrays, self.vocabulary, self._words, self.scales)
