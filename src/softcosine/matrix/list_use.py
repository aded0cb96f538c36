"""Which entries of your lists have an effect in S, and why others have none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.checked_answers import similarities_by
from softcosine.similarity.in_terms import MAX_PAIRS, TermKeys, lists_in
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.words import find_words, normalize

_MAX_UNUSED = 100
_NAMED = 5  # entries named in a sentence

_ABSENT = "in no document"
_STOP_WORDS = "only words that are left out"
_SEVERAL = "several words, which are no phrase of this index"
_JOINED = "another source takes precedence"
_LEAST = "below the minimum similarity"
_FULL = "full of closer neighbours"
_OVERRULED = {
    "antonyms": "kept apart as antonyms",
    "digits": "words with digits have no neighbours",
    "forbidden": "overruled by a decision",
    "isolated": "overruled by a decision",
}


@dataclass(frozen=True, slots=True)
class UnusedEntry:
    """A pair of words in a list without effect, and the reason."""

    left: str
    right: str
    reason: str

    def __str__(self) -> str:
        return f"{self.left} ~ {self.right} ({self.reason})"


@dataclass(frozen=True, slots=True)
class ListUse:
    """Use of your lists in an index.

    Attributes
    ----------
    n_entries : int
        Number of distinct pairs in lists and pins; a group counts all its pairs.
    n_used : int
        Number of pairs with an effect.
    n_in_queries : int
        Number of used pairs with one word in no document; they have an effect in queries.
    reasons : mapping of str to int
        Number of unused pairs by reason.
    unused : tuple of UnusedEntry
        The first 100 unused pairs.
    """

    n_entries: int
    n_used: int
    n_in_queries: int
    reasons: Mapping[str, int]
    unused: tuple[UnusedEntry, ...]

    def __str__(self) -> str:
        """Return a summary in one or two sentences; it names the first unused entries."""
        told = f"{self.n_used:,} of {self.n_entries:,} pairs of your lists are used"
        if self.n_in_queries:
            told += f" ({self.n_in_queries:,} by queries alone, as one word is in no document)"
        if not self.unused:
            return f"{told}."
        more = self.n_entries - self.n_used - len(self.unused[:_NAMED])
        rest = f" and {more:,} more" if more else ""
        return f"{told}. Not used: {', '.join(map(str, self.unused[:_NAMED]))}{rest}."


def list_use(
    S: TermSimilarityMatrix,
    source: TermSimilaritySource | None,
    *,
    analyzer: Analyzer | None = None,
) -> ListUse | None:
    """Return the use of the lists inside a source; None if there are no lists.

    Parameters
    ----------
    S : TermSimilarityMatrix
        Made from the source.
    source : TermSimilaritySource or None
        The source as used for S: with its guard, and lists in terms.
    analyzer : Analyzer, optional
        Analyzer of the terms.

    Notes
    -----
    Lists of more than 100,000 pairs are skipped, because they are not written by hand.
    """
    if source is None:
        return None
    keys = TermKeys(analyzer, vocabulary=S.vocabulary)
    entries = _entries(source, keys)
    if not entries:
        return None
    judge = _Judge(S, source, keys)
    reasons: Counter[str] = Counter()
    unused: list[UnusedEntry] = []
    n_in_queries = 0
    for left, right in entries:
        reason, outside = judge.of(left, right)
        if reason:
            reasons[reason] += 1
            if len(unused) < _MAX_UNUSED:
                unused.append(UnusedEntry(left, right, reason))
        else:
            n_in_queries += outside
    n_used = len(entries) - reasons.total()
    return ListUse(len(entries), n_used, n_in_queries, dict(reasons.most_common()), tuple(unused))


def _entries(source: TermSimilaritySource, keys: TermKeys) -> list[tuple[str, str]]:
    """Return the pairs of words of the lists; of pairs with the same terms, the first."""
    cut: dict[str, tuple[str, str]] = {}

    def known(word: str) -> tuple[str, str]:
        if word not in cut:
            cut[word] = " ".join(find_words(normalize(word))), keys.of_entry(word)
        return cut[word]

    entries: dict[tuple[str, str], tuple[str, str]] = {}
    for written in lists_in(source):
        for left, right in _pairs(written):
            (a, term), (b, other) = known(left), known(right)
            # Entries without words are skipped, and so are two spellings of one entry: e-mail and e
            # mail.
            if a and b and a != b:
                # A pair of one term is identified by its words.
                pair = (term, other) if term != other else (a, b)
                entries.setdefault((min(pair), max(pair)), (left, right))
    return list(entries.values())


def _pairs(written: Any) -> Iterator[tuple[str, str]]:
    pairs: Iterator[tuple[str, str]] | None = written.written_pairs(MAX_PAIRS)
    return iter(()) if pairs is None else pairs


@dataclass(frozen=True, slots=True)
class _Judge:
    """Determines whether a pair of words has an effect, and if not, why."""

    S: TermSimilarityMatrix
    source: TermSimilaritySource
    keys: TermKeys

    def of(self, left: str, right: str) -> tuple[str, bool]:
        """Return the reason without effect, else empty; and whether one word is not a term."""
        terms = [self.keys.of_entry(word) for word in (left, right)]
        if not all(terms):
            return _STOP_WORDS, False
        if terms[0] == terms[1]:
            return "", False  # one term: each finds the other without the list
        numbers = self.S.vocabulary.indices(terms).tolist()
        inside = [number for number in numbers if number >= 0]
        outside = [w for w, number in zip((left, right), numbers, strict=True) if number < 0]
        if len(inside) == 2:
            if self._stands(*inside) or self._stands(*inside[::-1]):
                return "", False
            a, b = (self.S.representative(number) for number in inside)
            return self._refused(a, b, _FULL), False
        if not inside:
            several = any(map(self._several, outside))
            return (_SEVERAL if several else _ABSENT), False
        if self._several(outside[0]):
            return _SEVERAL, False
        asked, shows = self._words(outside[0]), self.S.representative(inside[0])
        if similarities_by(self.source, [asked], [shows])[0] > 0.0:
            return "", True
        return self._refused(asked, shows, _FULL), False

    def _stands(self, i: int, j: int) -> bool:
        indptr, indices, data = self.S.arrays
        own = indices[indptr[i] : indptr[i + 1]]
        place = int(np.searchsorted(own, j))
        return place < len(own) and own[place] == j and data[indptr[i] + place] != 0.0

    def _words(self, word: str) -> str:
        """Return a word of a list as it is in a query."""
        analyzer = self.keys.analyzer
        kept = find_words(normalize(word)) if analyzer is None else analyzer.kept(word)
        return " ".join(kept)

    def _several(self, word: str) -> bool:
        """Whether the analyzer splits a word into several that are not a term together."""
        words = self._words(word).split(" ")
        analyzer = self.keys.analyzer
        if analyzer is None or len(words) == 1:
            return len(words) > 1
        return (0, len(words)) not in analyzer.ranges(analyzer.stem(words))

    def _refused(self, left: str, right: str, otherwise: str) -> str:
        from softcosine.similarity.provenance import origins

        value = float(similarities_by(self.source, [left], [right])[0])
        if value > 0.0:
            least = float(self.S.settings.get("min_similarity", 0.0))
            return _LEAST if value < np.float32(least) else otherwise
        (origin,) = origins(self.source, [left], [right])
        told = (_OVERRULED.get(leaf.name) for leaf in origin.leaves())
        return next(filter(None, told), _JOINED)
