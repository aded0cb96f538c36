"""A query that was read: what every space takes its part from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from softcosine.index.query.constraints import Constraints
from softcosine.index.query.query_vectors import ParsedQuery, QueryVector
from softcosine.index.segment.segment import AllWords

# The least cosine of a hit without a word of the query; docs/decisions.md.
FLOOR = 0.2
# The same for a query of unknown words alone; docs/benchmarks/unknown_words.md.
FLOOR_OF_UNKNOWN = 0.4
# The same if an encoder of several languages may know them: cosines of a question and an answer
# in two languages are less than those in one.
FLOOR_OF_LANGUAGES = 0.1


@dataclass(frozen=True, slots=True)
class ReadyQuery:
    """A parsed query, its vector for every field, and its coordinates if meaning counts.

    Attributes
    ----------
    vectors : tuple of QueryVector
        One per field.
    unit : ndarray of shape (dimensions,), float64, or None
        Its coordinates, of length 1; None if it has no meaning, or meaning does not count.
    all_words : tuple
        The `QueryWord.ways` of a query of few words. A document with all words gets the weight of
        meaning once more, so that meaning ranks none without these words above it: times the value
        of the word for which it has the least.
    floor : float
        The least cosine of a hit without a positive score of words.
    parsed : tuple of ParsedQuery
        One per field.
    without : tuple of (str, ndarray)
        Words of the query, and its coordinates without each, for explanations.
    texts : tuple of (str, float)
        Those that meaning is about, with their weights.
    corrected : mapping of str to str
        Misspelt words and what replaces them.
    least : float
        The least score that is sorted or counted. It and what follows depend on the documents.
    near : ndarray of int64, or None
        The documents that meaning adds to a sorted search, ascending.
    impacts : tuple of (ndarray of int32, ndarray of float64), or None
        For each field, terms and their greatest impacts in place of those of the segments; see
        `softcosine.index.spaces.expansion.impacts_of`.
    """

    vectors: tuple[QueryVector, ...]
    unit: NDArray[np.float64] | None = None
    all_words: AllWords = ()
    floor: float = FLOOR
    shown: str = ""
    parsed: tuple[ParsedQuery, ...] = ()
    constraints: Constraints | None = None
    without: tuple[tuple[str, NDArray[np.float64]], ...] = ()
    texts: tuple[tuple[str, float], ...] = ()
    corrected: Mapping[str, str] = field(default_factory=dict)
    least: float = 0.0
    near: NDArray[np.int64] | None = None
    impacts: tuple[tuple[NDArray[np.int32], NDArray[np.float64]], ...] | None = None
    is_document: bool = False
    unmatched_quote: bool = False

    @property
    def absent(self) -> bool:
        """Whether the query has words, and no document has any of them or your synonyms."""
        words = any(one.outside or one.unknown for one in self.parsed)
        own = any(word.ways for one in self.parsed for word in one.said)
        return words and not own and not any(len(one.terms) for one in self.parsed)
