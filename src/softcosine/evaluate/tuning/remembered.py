"""A source whose longest lists of neighbours are kept, so that shorter ones are cut from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softcosine.sources.neighbors import Neighbors
from softcosine.sources.parts import SourceOfOne
from softcosine.sources.source import TermSimilaritySource

__all__ = ["Remembered"]


class Remembered(SourceOfOne):
    """Another source, asked once for the neighbours of all words among themselves.

    Neighbours are the best in one total order, so the first of a longer list are the shorter list,
    to the bit. What else is asked goes on to the source.

    Parameters
    ----------
    source : TermSimilaritySource
    limit : int
        How long a list is kept; longer ones are asked for anew.
    """

    __slots__ = ("_among", "_limit", "_lists")

    def __init__(self, source: TermSimilaritySource, *, limit: int) -> None:
        super().__init__(source)
        self._limit = limit
        self._among: Sequence[str] | None = None
        self._lists: Neighbors | None = None

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        everything = terms is among and isinstance(among, tuple)
        if not everything or max_neighbors > self._limit:
            return self._source.neighbors(terms, among, max_neighbors=max_neighbors)
        if self._lists is None or self._among != among:
            self._lists = self._source.neighbors(terms, among, max_neighbors=self._limit)
            self._among = among
        whole = np.ones(len(self._lists.indices), np.bool_)
        return self._lists.where(whole, max_neighbors=max_neighbors)

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,)."""
        return self._source.similarities(left, right)
