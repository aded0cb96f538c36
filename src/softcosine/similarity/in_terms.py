"""Lists written by hand, translated to the terms of an index.

An index has stems, a list has words: *defect, bugs* must hold for the term of *bug*, in whatever
form the texts have it, and for forms that no text has. So `in_terms` maps the words of a list to
terms once, and every looked-up word is mapped to its term too. Where several pairs of words map to
one pair of terms, the greatest similarity counts (theory T6).

Sources made of others pass each call below to the sources inside, so a list may be at any depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from softcosine.similarity.checked_answers import known_by, similarities_by
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.neighbors import Neighbors, StringOrder
from softcosine.similarity.source import (
    SourceState,
    TermSimilaritySource,
    check_limit,
    check_pairs,
    equal_strings,
    state_of,
)
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.words import find_words, normalize


class TermKeys:
    """The term of each word, as a string; equal for all forms of one stem.

    Parameters
    ----------
    analyzer : Analyzer, optional
        Analyzer of the index. It stems words that no text has, too.
    vocabulary : Vocabulary, optional
        Used if there is no analyzer. Only forms that the texts have are mapped.
    """

    __slots__ = ("_terms", "analyzer")

    def __init__(
        self, analyzer: Analyzer | None = None, *, vocabulary: Vocabulary | None = None
    ) -> None:
        self.analyzer = analyzer
        self._terms: Mapping[str, str] = {}
        if analyzer is None and vocabulary is not None and vocabulary.forms is not None:
            self._terms = {
                form.casefold(): term
                for term, forms in zip(vocabulary.terms, vocabulary.forms, strict=True)
                for form in (*forms, term)
            }

    def replaces(self, other: TermKeys) -> bool:
        """Whether lists in the terms of `other` must be mapped to these terms instead."""
        return self.analyzer is not None and self.analyzer != other.analyzer

    def of(self, strings: Iterable[str]) -> list[str]:
        """Return the terms of words, and of n-grams of words joined by spaces."""
        folded = [string.casefold() for string in strings]
        if self.analyzer is not None and not self.analyzer.stems:
            return folded
        single = [part for string in folded for part in string.split(" ")]
        stems = iter(self._stems(single))
        if len(single) == len(folded):
            return list(stems)
        return [" ".join([next(stems) for _ in string.split(" ")]) for string in folded]

    def of_entry(self, word: str) -> str:
        """Return the term of a word in a list, analyzed as text; empty if no word is left.

        *e-mails* becomes *e mail*, which is a term if the analyzer makes bigrams or has the phrase.
        """
        if self.analyzer is None:
            return " ".join(self._stems(find_words(normalize(word))))
        return " ".join(self.analyzer.stem(self.analyzer.kept(word)))

    def names(self, word: str) -> tuple[str, ...]:
        """Return the terms of a word in a list: analyzed as text, and as written."""
        cut, whole = self.of_entry(word), self.of([word])[0]
        return (whole,) if cut in ("", whole) else (cut, whole)

    def _stems(self, words: Sequence[str]) -> list[str]:
        if self.analyzer is not None:
            return self.analyzer.stem(words)
        return [self._terms.get(word, word) for word in words]


class PersonsList(TermSimilaritySource):
    """Base of sources that hold a list written by hand."""

    __slots__ = ("listed", "pinned")

    listed: bool  # whether the source is such a list; a thesaurus such as WordNet is not
    pinned: bool  # whether balancing S leaves its pairs unchanged

    @property
    def words(self) -> tuple[str, ...]:
        """The words that the source knows."""
        raise NotImplementedError

    def renamed(self, names: Callable[[str], Sequence[str]]) -> Self:
        """Return the list with renamed words; where pairs coincide, the greatest counts."""
        raise NotImplementedError

    def written_pairs(self, limit: int) -> Iterator[tuple[str, str]] | None:
        """Return the pairs of words as written; None if there are more than `limit`."""
        raise NotImplementedError

    def in_terms(self, keys: TermKeys) -> TermSimilaritySource:
        """Return the list in terms."""
        return ListInTerms(self, keys) if self.listed else self

    def known_as_written(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each word is known in exactly this form."""
        return self.knows(terms)

    def have_pins(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves some pair of each word unchanged."""
        return self.knows(terms) & (self.listed and self.pinned)

    def are_pinned(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves the pairs ``(left[i], right[i])`` unchanged."""
        said = (self.similarities(left, right) > 0.0) & ~equal_strings(left, right)
        return said & (self.listed and self.pinned)

    def lists(self) -> Iterator[PersonsList]:
        """Yield the source itself, if it is a list."""
        if self.listed:
            yield self


class ListInTerms:
    """A list in which every form of a word stands for its term.

    Parameters
    ----------
    source : PersonsList
        The list as written.
    keys : TermKeys
        The mapping from words to terms.
    """

    __slots__ = ("_among", "_keyed", "_order", "keys", "source")

    def __init__(self, source: PersonsList, keys: TermKeys) -> None:
        self.source = source
        self.keys = keys
        self._keyed: PersonsList | None = None
        self._among = LastTuple[_Among]()
        self._order = StringOrder()

    def __repr__(self) -> str:
        return repr(self.source)

    def _table(self) -> PersonsList:
        """Return the list by terms, built on first use to keep opening an index fast."""
        if self._keyed is None:
            self._keyed = self.source.renamed(self.keys.names)
        return self._keyed

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether some form of each term is in the list, shape (n_terms,)."""
        return self._table().knows(self.keys.of(terms))

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``: the greatest over all forms."""
        check_pairs(left, right)
        return self._said(left, right, self.keys.of(left), self.keys.of(right))

    def _said(
        self, left: Sequence[str], right: Sequence[str], rows: list[str], columns: list[str]
    ) -> NDArray[np.float32]:
        answer = self._table().similarities(rows, columns)
        same = np.flatnonzero(equal_strings(rows, columns))
        if len(same):  # two forms of one known term
            own = self._table().knows([rows[i] for i in same.tolist()])
            own |= equal_strings(*([side[i] for i in same.tolist()] for side in (left, right)))
            answer[same] = own
        return answer

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        check_limit(max_neighbors)
        searched = self._among.get(among, lambda: _Among(self._table(), self.keys.of(among)))
        rows = searched.keys if terms is among else tuple(self.keys.of(terms))
        if max_neighbors == 0 or not searched.places:
            return Neighbors.none(len(terms))
        # All neighbours in the list, because ties are ordered by the strings, not by their keys.
        found = self._table().neighbors(rows, searched.keys, max_neighbors=len(among))
        same = [
            (i, j)
            for i, key in enumerate(rows)
            for j in searched.places.get(key, ())
            if among[j] != terms[i]
        ]
        twins = np.array(same, np.int64).reshape(-1, 2)
        pairs = found.pairs(), (twins[:, 0], twins[:, 1], np.ones(len(twins), np.float32))
        return self._order.best(among, *pairs, n_terms=len(terms), max_neighbors=max_neighbors)

    def in_terms(self, keys: TermKeys) -> TermSimilaritySource:
        """Return the list in the terms of another index."""
        return ListInTerms(self.source, keys) if keys.replaces(self.keys) else self

    def known_as_written(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """All False: the list treats all forms of a term alike; other sources choose the form."""
        return np.zeros(len(terms), np.bool_)

    def have_pins(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves some pair of each word unchanged."""
        return self.knows(terms) & self.source.pinned

    def are_pinned(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves the pairs ``(left[i], right[i])`` unchanged."""
        rows, columns = self.keys.of(left), self.keys.of(right)
        said = self._said(left, right, rows, columns) > 0.0
        return said & ~equal_strings(rows, columns) & self.source.pinned

    def lists(self) -> Iterator[PersonsList]:
        """Yield the list as written."""
        return self.source.lists()

    def state(self) -> SourceState:
        """Return the state of the list as written; an index maps it to its terms again."""
        return state_of(self.source)


class _Among:
    """A searched sequence by its terms, and the positions of the terms that a list knows."""

    __slots__ = ("keys", "places")

    def __init__(self, table: PersonsList, keys: list[str]) -> None:
        self.keys = tuple(keys)
        self.places: dict[str, list[int]] = {}
        for place in np.flatnonzero(table.knows(self.keys)).tolist():
            self.places.setdefault(self.keys[place], []).append(place)


def in_terms(source: TermSimilaritySource, keys: TermKeys) -> TermSimilaritySource:
    """Return the source with all lists inside in terms; the same object if there is no list.

    Parameters
    ----------
    source : TermSimilaritySource
        If `keys` has no analyzer, lists already in the terms of an analyzer stay unchanged.
    keys : TermKeys
    """
    method = getattr(source, "in_terms", None)
    return source if method is None else method(keys)


def known_as_written(source: TermSimilaritySource, words: Sequence[str]) -> NDArray[np.bool_]:
    """Whether a source knows each word in exactly this form, not counting lists in terms."""
    method = getattr(source, "known_as_written", None)
    return known_by(source, words) if method is None else method(words)


def have_pins(source: TermSimilaritySource, words: Sequence[str]) -> NDArray[np.bool_]:
    """Whether balancing S leaves some pair of each word unchanged."""
    method = getattr(source, "have_pins", None)
    return np.zeros(len(words), np.bool_) if method is None else method(words)


def are_pinned(
    source: TermSimilaritySource, left: Sequence[str], right: Sequence[str]
) -> NDArray[np.bool_]:
    """Whether balancing S leaves the pairs ``(left[i], right[i])`` unchanged."""
    method = getattr(source, "are_pinned", None)
    return np.zeros(len(left), np.bool_) if method is None else method(left, right)


def lists_in(source: TermSimilaritySource) -> Iterator[PersonsList]:
    """Iterate over all lists inside a source, as written; pinned decisions are one list."""
    method = getattr(source, "lists", None)
    return iter(()) if method is None else method()


MAX_PAIRS = 100_000  # longer lists are not written by hand


def own_synonyms(
    source: TermSimilaritySource, keys: TermKeys
) -> dict[str, dict[str, tuple[float, str]]]:
    """Return, for each term of the pinned lists inside a source, the terms that are similar to it.

    Each with its similarity by the source and its word as written. Lists of more than `MAX_PAIRS`
    are left out.
    """
    lists = (written for written in lists_in(source) if written.pinned)
    pairs = [pair for written in lists for pair in written.written_pairs(MAX_PAIRS) or ()]
    left, right = ([a for a, _ in pairs], [b for _, b in pairs])
    terms = {word: keys.of_entry(word) for word in (*left, *right)}
    values = similarities_by(source, left, right) * are_pinned(source, left, right) if pairs else ()
    similar: dict[str, dict[str, tuple[float, str]]] = {}
    for a, b, value in zip(left, right, map(float, values), strict=True):
        for term, beside, other in ((terms[a], terms[b], b), (terms[b], terms[a], a)):
            if value and term != beside:
                row = similar.setdefault(term, {})
                row[beside] = max(row.get(beside, (0.0, "")), (value, other))
    return similar


def phrases_in(source: TermSimilaritySource | None) -> tuple[str, ...]:
    """Return the words of the pinned lists inside a source; the analyzer takes phrases from them.

    Lists that are not pinned are left out: they are long and not written for one index.
    """
    lists = () if source is None else lists_in(source)
    return tuple(word for written in lists if written.pinned for word in written.words)
