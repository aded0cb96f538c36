"""Lists that a person wrote, in the terms of an index.

An index has stems, a list words: *defect, bugs* shall mean the term of *bug* whatever form the
texts have, and a form that stands in no text as well. So the words of a list are brought to terms
once (`in_terms`), and every word that is asked about is brought to its term too. Of all pairs of
words that come to one pair of terms the greatest similarity counts (theory T6).

Sources made of others pass each question below on to their parts, so that a list may stand anywhere
inside a join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.similarity.checked_answers import known_by
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

__all__ = [
    "ListInTerms",
    "PersonsList",
    "TermKeys",
    "are_pinned",
    "have_pins",
    "in_terms",
    "known_as_written",
    "lists_in",
    "phrases_in",
]


class TermKeys:
    """The term that each word comes to, as a string: equal for all forms of one stem.

    Parameters
    ----------
    analyzer : Analyzer, optional
        Of the index. Words that no text has are stemmed too.
    vocabulary : Vocabulary, optional
        In its place, where it is not known: forms that the texts have are known, no others.
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
        """Whether lists that were brought to terms by `other` are to be brought to these."""
        return self.analyzer is not None and self.analyzer != other.analyzer

    def of(self, strings: Iterable[str]) -> list[str]:
        """Return the terms of words, and of n-grams of words joined by spaces."""
        folded = [string.casefold() for string in strings]
        if self.analyzer is not None and self.analyzer.stemmer is None:
            return folded
        single = [part for string in folded for part in string.split(" ")]
        stems = iter(self._stems(single))
        if len(single) == len(folded):
            return list(stems)
        return [" ".join([next(stems) for _ in string.split(" ")]) for string in folded]

    def of_entry(self, word: str) -> str:
        """Return the term of a list's word, cut as texts are; empty if the analyzer keeps nothing.

        *e-mails* comes to *e mail*, which is a term where the analyzer makes one of the two words.
        """
        if self.analyzer is None:
            return " ".join(self._stems(find_words(normalize(word))))
        return " ".join(self.analyzer.stem(self.analyzer.kept(word)))

    def names(self, word: str) -> tuple[str, ...]:
        """Return the terms that stand for a list's word: cut as texts are, and as it is."""
        cut, whole = self.of_entry(word), self.of([word])[0]
        return (whole,) if cut in ("", whole) else (cut, whole)

    def _stems(self, words: Sequence[str]) -> list[str]:
        if self.analyzer is not None:
            return self.analyzer.stem(words)
        return [self._terms.get(word, word) for word in words]


class PersonsList:
    """Base of the sources that hold a list which a person wrote."""

    __slots__ = ()

    @property
    def listed(self) -> bool:
        """Whether it is one: a thesaurus such as WordNet is asked about words, not terms."""
        raise NotImplementedError

    @property
    def pinned(self) -> bool:
        """Whether balancing leaves its pairs as they are."""
        raise NotImplementedError

    @property
    def words(self) -> tuple[str, ...]:
        """The words that are known."""
        raise NotImplementedError

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term is in the list, shape (n_terms,)."""
        raise NotImplementedError

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,)."""
        raise NotImplementedError

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        raise NotImplementedError

    def renamed(self, names: Callable[[str], Sequence[str]]) -> Self:
        """Return the list by other names of its words; where several meet, the greatest counts."""
        raise NotImplementedError

    def written_pairs(self, limit: int) -> Iterator[tuple[str, str]] | None:
        """Give the pairs of words that were written down; None if they are more than `limit`."""
        raise NotImplementedError

    def in_terms(self, keys: TermKeys) -> TermSimilaritySource:
        """Return the list in terms."""
        return ListInTerms(self, keys) if self.listed else self

    def known_as_written(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each word is known in just this form."""
        return self.knows(terms)

    def have_pins(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing leaves some pair of each word as it is."""
        return self.knows(terms) & (self.listed and self.pinned)

    def are_pinned(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing leaves the pairs ``(left[i], right[i])`` as they are."""
        said = (self.similarities(left, right) > 0.0) & ~equal_strings(left, right)
        return said & (self.listed and self.pinned)

    def lists(self) -> Iterator[PersonsList]:
        """Give the list, if it is one."""
        if self.listed:
            yield self


class ListInTerms:
    """A person's list in which every form of a word counts as its term.

    Parameters
    ----------
    source : PersonsList
    keys : TermKeys
    """

    __slots__ = ("_among", "_keyed", "_keys", "_order", "_source")

    def __init__(self, source: PersonsList, keys: TermKeys) -> None:
        self._source = source
        self._keys = keys
        self._keyed: PersonsList | None = None
        self._among = LastTuple[_Among]()
        self._order = StringOrder()

    @property
    def source(self) -> PersonsList:
        """The list as it was written."""
        return self._source

    @property
    def keys(self) -> TermKeys:
        """What words come to."""
        return self._keys

    def __repr__(self) -> str:
        return repr(self._source)

    def _table(self) -> PersonsList:
        """Return the list by terms; made when it is first asked, as opening an index is not."""
        if self._keyed is None:
            self._keyed = self._source.renamed(self._keys.names)
        return self._keyed

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether some form of each term is in the list, shape (n_terms,)."""
        return self._table().knows(self._keys.of(terms))

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``: the greatest over all forms."""
        check_pairs(left, right)
        return self._said(left, right, self._keys.of(left), self._keys.of(right))

    def _said(
        self, left: Sequence[str], right: Sequence[str], rows: list[str], columns: list[str]
    ) -> NDArray[np.float32]:
        answer = self._table().similarities(rows, columns)
        same = np.flatnonzero(equal_strings(rows, columns))
        if len(same):  # two forms of one term; of a term that it does not know, it says nothing
            own = self._table().knows([rows[i] for i in same.tolist()])
            own |= equal_strings(*([side[i] for i in same.tolist()] for side in (left, right)))
            answer[same] = own
        return answer

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        check_limit(max_neighbors)
        searched = self._among.get(among, lambda: _Among(self._table(), self._keys.of(among)))
        rows = searched.keys if terms is among else tuple(self._keys.of(terms))
        if max_neighbors == 0 or not searched.places:
            return Neighbors.none(len(terms))
        # All that the list has: ties stand by the strings that are asked about, not by their keys.
        found = self._table().neighbors(rows, searched.keys, max_neighbors=len(among))
        same = [
            (i, j)
            for i, key in enumerate(rows)
            for j in searched.places.get(key, ())
            if among[j] != terms[i]
        ]
        twins = np.array(same, np.int64).reshape(-1, 2)
        return Neighbors.from_pairs(
            np.concatenate((found.rows(), twins[:, 0])),
            np.concatenate((found.indices, twins[:, 1])),
            np.concatenate((found.similarities, np.ones(len(twins), np.float32))),
            n_terms=len(terms),
            among=among,
            max_neighbors=max_neighbors,
            order=self._order,
        )

    def in_terms(self, keys: TermKeys) -> TermSimilaritySource:
        """Return the list in the terms of another index."""
        return ListInTerms(self._source, keys) if keys.replaces(self._keys) else self

    def known_as_written(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """No: all forms of a term are one to the list, and other sources choose among them."""
        return np.zeros(len(terms), np.bool_)

    def have_pins(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing leaves some pair of each word as it is."""
        return self.knows(terms) & self._source.pinned

    def are_pinned(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing leaves the pairs ``(left[i], right[i])`` as they are."""
        rows, columns = self._keys.of(left), self._keys.of(right)
        said = self._said(left, right, rows, columns) > 0.0
        return said & ~equal_strings(rows, columns) & self._source.pinned

    def lists(self) -> Iterator[PersonsList]:
        """Give the list as it was written."""
        return self._source.lists()

    def state(self) -> SourceState:
        """Return the state of the list as it was written: an index brings it to its terms."""
        return state_of(self._source)


class _Among:
    """A searched sequence by its terms, and where those that a list knows stand."""

    __slots__ = ("keys", "places")

    def __init__(self, table: PersonsList, keys: list[str]) -> None:
        self.keys = tuple(keys)
        self.places: dict[str, list[int]] = {}
        for place in np.flatnonzero(table.knows(self.keys)).tolist():
            self.places.setdefault(self.keys[place], []).append(place)


class _Asked(Protocol):
    def __call__(self, *args: Any) -> Any: ...


def _method(source: TermSimilaritySource, name: str) -> _Asked | None:
    """Return the method of a source that can hold a person's list; None of others."""
    method: _Asked | None = getattr(source, name, None)
    return method


def in_terms(source: TermSimilaritySource, keys: TermKeys) -> TermSimilaritySource:
    """Return a source with all lists inside in terms; the same one if there is none.

    Parameters
    ----------
    source : TermSimilaritySource
        Lists that are in the terms of an analyzer already stay so where `keys` has none.
    keys : TermKeys
    """
    method = _method(source, "in_terms")
    return source if method is None else method(keys)


def known_as_written(source: TermSimilaritySource, words: Sequence[str]) -> NDArray[np.bool_]:
    """Whether a source knows each word in just this form, lists in terms aside."""
    method = _method(source, "known_as_written")
    return known_by(source, words) if method is None else method(words)


def have_pins(source: TermSimilaritySource, words: Sequence[str]) -> NDArray[np.bool_]:
    """Whether a person has given each word a similarity that balancing leaves as it is."""
    method = _method(source, "have_pins")
    return np.zeros(len(words), np.bool_) if method is None else method(words)


def are_pinned(
    source: TermSimilaritySource, left: Sequence[str], right: Sequence[str]
) -> NDArray[np.bool_]:
    """Whether balancing leaves the pairs ``(left[i], right[i])`` as the source says them."""
    method = _method(source, "are_pinned")
    return np.zeros(len(left), np.bool_) if method is None else method(left, right)


def lists_in(source: TermSimilaritySource) -> Iterator[PersonsList]:
    """Give all lists inside a source, as they were written; a person's pins are one."""
    method = _method(source, "lists")
    return iter(()) if method is None else method()


def phrases_in(source: TermSimilaritySource | None) -> tuple[str, ...]:
    """Return the words of the lists inside a source, for an analyzer to take phrases from.

    Those of lists that are not pinned are left out: they are long, and written for no one index.
    """
    lists = () if source is None else lists_in(source)
    return tuple(word for one in lists if one.pinned for word in one.words)
