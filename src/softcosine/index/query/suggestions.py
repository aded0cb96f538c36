"""Spelling suggestions: the indexed words nearest to an unknown word."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from softcosine.index.directory.snapshot import Snapshot
from softcosine.similarity.spelling.edit_distance import EditDistanceSimilarity
from softcosine.similarity.spelling.nearby_strings import WordList
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.words import JOINED, folded

_MOST = 5  # candidates per word
_SIMILARITY = EditDistanceSimilarity()
_LONGER = 64  # characters beyond the longest indexed word, enough for endings and edits
_DIGIT = re.compile(r"\d")
_CORRECTED, _CORRECTED_TWICE = 5, 8  # letters of a word that is corrected by one edit, by two


@dataclass(frozen=True, slots=True)
class Candidate:
    """An indexed word with a similar spelling.

    Attributes
    ----------
    word : str
        With stemming, the nearest word form in the texts.
    distance : int
        Number of inserted, deleted, replaced or transposed characters, accents left out.
    n_docs : int
        Number of documents that contain it; with stemming, in any form.
    """

    word: str
    distance: int
    n_docs: int


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An unknown word of a query, and the indexed words of nearest spelling.

    Attributes
    ----------
    word : str
    candidates : tuple of Candidate
        The nearest first; ties by document frequency, then by string.
    """

    word: str
    candidates: tuple[Candidate, ...]


class Spellings:
    """The words of a snapshot, prepared for the lookup of misspelled words.

    Parameters
    ----------
    vocabulary : Vocabulary
    analyzer : Analyzer
    n_docs_of : callable
        Returns the number of live documents that contain each of some terms.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        analyzer: Analyzer,
        n_docs_of: Callable[[Sequence[int]], Sequence[int]],
    ) -> None:
        self._vocabulary = vocabulary
        self._analyzer = analyzer
        self._n_docs_of = n_docs_of
        forms = vocabulary.forms
        if forms is None:  # without stemming, or if only stems are known
            self._words: Sequence[str] = [term.removeprefix(JOINED) for term in vocabulary.terms]
            self._owners = np.arange(len(vocabulary))
        else:
            self._words = [form.removeprefix(JOINED) for own in forms for form in own]
            self._owners = np.repeat(np.arange(len(forms)), [len(own) for own in forms])
        self._list = WordList(list(map(folded, self._words)))
        self._longest = max(map(len, self._words), default=0) + _LONGER

    def suggestion(self, word: str) -> Suggestion:
        """Return the indexed words nearest to a word."""
        if len(word) > self._longest:  # its transpositions alone take quadratic time
            return Suggestion(word, ())
        best: dict[int, tuple[int, str]] = {}  # by term: distance, form

        def offer(term: int, distance: int, longer: int, shown: str) -> None:
            near = shown != word and _SIMILARITY.value(distance, longer) > 0.0
            if near and (term not in best or distance < best[term][0]):
                best[term] = distance, shown

        # With two adjacent characters transposed.
        swapped = (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1))
        exchanged = [other for other in dict.fromkeys(swapped) if other != word]
        stems = self._analyzer.stem([word, *exchanged])
        asked = folded(word if self._vocabulary.has_forms else stems[0])
        for number, distance in self._list.find(asked, _SIMILARITY.max_distance):
            other = self._list.strings[number]
            distance = 1 if distance == 2 and _swapped(asked, other) else distance
            longer = max(len(asked), len(other))
            offer(int(self._owners[number]), distance, longer, self._words[number])
        found = self._vocabulary.indices(stems[1:]).tolist()
        for other, term in zip(exchanged, found, strict=True):
            if term >= 0:
                forms = self._vocabulary.forms_of(term) or (self._vocabulary.term(term),)
                shown = other if other in forms else forms[0]
                offer(term, 1, len(word), shown)
        counted = [
            Candidate(shown, distance, n_docs)
            for (distance, shown), n_docs in zip(
                best.values(), self._n_docs_of(list(best)), strict=True
            )
            if n_docs
        ]
        counted.sort(key=lambda one: (one.distance, -one.n_docs, one.word))
        return Suggestion(word, tuple(counted[:_MOST]))

    def correction(self, word: str) -> str | None:
        """Return the indexed word that is meant by a misspelt one, if it is near enough.

        A word of five letters or more may differ by one edit, one of eight or more by two; accents
        alone are no difference. Neither has digits: similar numbers and product names mean
        different things.
        """
        if _DIGIT.search(word):
            return None
        most = (len(word) >= _CORRECTED) + (len(word) >= _CORRECTED_TWICE)
        return next(
            (
                one.word
                for one in self.suggestion(word).candidates
                if one.distance <= most and not _DIGIT.search(one.word)
            ),
            None,
        )


def _swapped(left: str, right: str) -> bool:
    """Whether two different strings are equal but for two adjacent characters, transposed."""
    i = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0)
    return left[i : i + 2] == right[i : i + 2][::-1] and left[i + 2 :] == right[i + 2 :]


def spellings_of(snapshot: Snapshot) -> Spellings:
    """Return the indexed words of a snapshot; made once."""
    return snapshot.once(
        Spellings, lambda: Spellings(snapshot.S.vocabulary, snapshot.analyzer, snapshot.n_docs_of)
    )
