"""Source with a cache of neighbour lists, shared by settings with equal sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine.similarity.composite import SourceOfOne
from softcosine.similarity.source import Neighbors, TermSimilaritySource

_MOST_QUESTIONS = 2_000  # cached arrays of pair similarities, some hundred numbers each


class Remembered(SourceOfOne):
    """Source that caches the neighbour lists of another source.

    Neighbours follow one total order, so a shorter list is the beginning of a longer one; and the
    results for several words have the same bits as for each word alone. Other calls go to the
    source.

    Parameters
    ----------
    source : TermSimilaritySource
    limit : int
        Length of the cached lists; longer lists are computed again.
    words : iterable of str
        Words outside the terms, such as those of queries, whose lists are computed in one batch.
    """

    kind = "remembered"
    __slots__ = ("_among", "_limit", "_lists", "_numbers", "_pairs", "_singles", "_words")

    def __init__(
        self, source: TermSimilaritySource, *, limit: int, words: Iterable[str] = ()
    ) -> None:
        super().__init__(source)
        self._limit = limit
        self._words = tuple(dict.fromkeys(words))
        self._numbers = {word: number for number, word in enumerate(self._words)}
        self._among: tuple[str, ...] = ()
        self._lists: Neighbors | None = None
        self._singles: Neighbors | None = None
        self._pairs: dict[tuple[tuple[str, ...], tuple[str, ...]], NDArray[np.float32]] = {}

    def _settings(self) -> dict[str, Any]:
        return {"limit": self._limit, "words": self._words}

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        if not isinstance(among, tuple) or max_neighbors > self._limit:
            return self.source.neighbors(terms, among, max_neighbors=max_neighbors)
        if terms is among:
            return _shortened(self._whole(among), max_neighbors)
        if among == self._among:
            among = self._among  # sources cache by the identity of the tuple
            if all(term in self._numbers for term in terms):
                rows = np.array([self._numbers[term] for term in terms], np.int64)
                return _taken(self._outside(among), rows, max_neighbors)
        return self.source.neighbors(terms, among, max_neighbors=max_neighbors)

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Return the similarities of the pairs ``(left[i], right[i])``, shape (n_pairs,)."""
        question = tuple(left), tuple(right)
        answer = self._pairs.get(question)
        if answer is None:
            if len(self._pairs) >= _MOST_QUESTIONS:
                self._pairs.clear()
            answer = self._pairs[question] = self.source.similarities(left, right)
        return answer

    def _whole(self, among: tuple[str, ...]) -> Neighbors:
        """Return the neighbour lists of all terms."""
        if self._lists is None or self._among != among:
            self._lists = self.source.neighbors(among, among, max_neighbors=self._limit)
            self._among, self._singles = among, None
        return self._lists

    def _outside(self, among: tuple[str, ...]) -> Neighbors:
        """Return the neighbour lists of `words`."""
        if self._singles is None:
            self._singles = self.source.neighbors(self._words, among, max_neighbors=self._limit)
        return self._singles


def _shortened(lists: Neighbors, limit: int) -> Neighbors:
    return lists.where(np.ones(len(lists.indices), np.bool_), max_neighbors=limit)


def _taken(lists: Neighbors, rows: NDArray[np.int64], limit: int) -> Neighbors:
    """Return the first `limit` neighbours of some lists."""
    starts = lists.indptr[rows]
    lengths = np.minimum(lists.indptr[rows + 1] - starts, limit)
    indptr = running_sum(lengths)
    places = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
    return Neighbors(indptr, lists.indices[places], lists.similarities[places])
