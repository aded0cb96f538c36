"""Heat maps of documents, words, and terms of S."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, UnknownTermError
from softcosine.index.query.query_vectors import OutsideWord
from softcosine.index.search.searchable import Searchable
from softcosine.index.search.top_docs import check_k
from softcosine.matrix.outside import outside_similarities
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.plots.compared import (
    compared_searcher,
    document_vectors,
    snapshot_of,
    unit_of,
)
from softcosine.plots.heat_map import MOST_ROWS, HeatMap, arranged
from softcosine.text.analyzer import shortened


def similarity_heat_map(
    index: Searchable,
    ids: Iterable[str] | None = None,
    *,
    labels: Sequence[str] | None = None,
    order: str = "similarity",
    ranking: str = "soft_cosine",
    title: str = "",
) -> HeatMap:
    """Return the similarities between documents.

    A value is the score that `SoftIndex.similar` gives for the earlier of two documents; with
    several fields, the weighted sum. A document without words has similarity 0, even with itself.

    Parameters
    ----------
    index : SoftIndex
    ids : iterable of str, optional
        At most 200, without duplicates; all documents of a small index by default.
    labels : sequence of str, optional
        Labels to show instead of the ids, such as titles.
    order : {"similarity", "given"}
        Order of the rows: similar documents together, or in the order of `ids`.
    ranking : {"soft_cosine", "inner_product"}
    title : str, optional

    Raises
    ------
    UnknownDocumentError
        If an id is not in the index.
    InvalidInputError
        If there are more than 200 documents, duplicate ids, or another number of labels than of
        ids, a setting is unknown, or S is asymmetric.

    Examples
    --------
    >>> import softcosine as sc
    >>> index = sc.SoftIndex.from_texts(["a cat", "two cats", "tea"], ids=["a", "b", "c"])
    >>> heat = similarity_heat_map(index, ["a", "c", "b"])
    >>> heat.labels
    ('a', 'b', 'c')
    >>> heat.save("heat.png")  # doctest: +SKIP
    """
    snapshot = snapshot_of(index)
    searcher = compared_searcher(snapshot, ranking)
    if ids is None:
        _check_number(snapshot.n_docs, "document_map draws as many as there are.")
        numbers = snapshot.documents.numbers
        names = [snapshot.documents.id(number) for number in numbers.tolist()]
    else:
        names = _names(ids, "ids")
        _check_number(len(names), "name fewer, or draw a document_map.")
        numbers = np.array([snapshot.documents.number(id) for id in names], np.int64)
    shown = names if labels is None else _names(labels, "labels")
    if len(shown) != len(names):
        raise InvalidInputError(f"there are {len(shown)} labels for {len(names)} documents.")
    values = np.zeros((len(numbers), len(numbers)))
    by_number = np.argsort(numbers)
    for place, row in enumerate(by_number.tolist()):
        later = by_number[place:]
        if place + 1 < len(numbers) and numbers[row] == numbers[later[1]]:
            raise InvalidInputError(f"the id {shortened(names[row])} comes twice; give it once.")
        vectors = document_vectors(snapshot, searcher, int(numbers[row]))
        values[row, later] = values[later, row] = searcher.scores(vectors, numbers[later])
    unit = unit_of(snapshot, ranking)
    return arranged(shown, values, order, unit=unit, title=title)


def term_heat_map(
    S: TermSimilarityMatrix,
    terms: Iterable[str],
    *,
    order: str = "similarity",
    title: str = "",
) -> HeatMap:
    """Return the similarities in S between terms.

    Parameters
    ----------
    S : TermSimilarityMatrix
    terms : iterable of str
        Terms of its vocabulary, at most 200, without duplicates. Labels are their words.
    order : {"similarity", "given"}
    title : str, optional

    Raises
    ------
    UnknownTermError
        If a term is not in the vocabulary.
    InvalidInputError

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]], sc.Vocabulary(["a", "b"]))
    >>> term_heat_map(S, ["b", "a"], order="given").values.tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    checked_similarity(S)
    rows = _Rows(S)
    for name in _names(terms, "terms"):
        if not rows.add_term(S.vocabulary.index(name)):
            raise InvalidInputError(f"the term {shortened(name)} comes twice; give it once.")
    return rows.heat_map(order, title)


def word_heat_map(
    index: Searchable,
    words: str | Iterable[str],
    *,
    k: int = 10,
    order: str = "similarity",
    title: str = "",
) -> HeatMap:
    """Return the similarities between words and their nearest neighbours.

    Parameters
    ----------
    index : SoftIndex
        Source of the similarities; the words need not occur in it.
    words : str, or iterable of str
        Single words.
    k : int
        Number of neighbours of each word, at least 1. The map has at most 200 rows.
    order : {"similarity", "given"}
    title : str, optional

    Raises
    ------
    UnknownTermError
        If a word is not in the index and has no known neighbour.
    InvalidInputError
        If a word has several terms or none, or there are too many rows.
    """
    snapshot = snapshot_of(index)
    check_k(k)
    rows = _Rows(snapshot.S)
    for word in [words] if isinstance(words, str) else _names(words, "words"):
        parsed = index.parse(word)
        if parsed.unknown and not (len(parsed.terms) or parsed.outside):
            raise UnknownTermError(
                f"{shortened(word)} stands in no document, and nothing similar to it is known."
            )
        if len(parsed.terms) + len(parsed.outside) != 1 or parsed.unknown:
            n_terms = len(parsed.terms) + len(parsed.outside) + len(parsed.unknown)
            raise InvalidInputError(
                f"{shortened(word)} holds {n_terms} terms; give single words, several as a list."
            )
        if parsed.outside:
            rows.add_outside(parsed.outside[0], k)
        else:
            rows.add_with_neighbors(int(parsed.terms[0]), k)
        rows.check()
    if not rows.outside:
        return rows.heat_map(order, title)
    assert index.source is not None, "who knows a word outside"
    inner, cross = outside_similarities(
        snapshot.S, rows.outside, np.array(rows.terms, np.int32), index.source
    )
    return rows.heat_map(order, title, inner, cross)


@dataclass(slots=True)
class _Rows:
    """Terms of the vocabulary and words outside it, without duplicates."""

    S: TermSimilarityMatrix
    terms: list[int] = field(default_factory=list)
    outside: list[OutsideWord] = field(default_factory=list)
    places: list[tuple[bool, int]] = field(default_factory=list)  # in order of insertion

    def add_term(self, term: int) -> bool:
        """Add a term; return whether it is new."""
        if term in self.terms:
            return False
        self.places.append((True, len(self.terms)))
        self.terms.append(term)
        return True

    def add_with_neighbors(self, term: int, k: int) -> None:
        vocabulary = self.S.vocabulary
        self.add_term(term)
        for other, _ in self.S.neighbors(vocabulary.term(term), k=k):
            self.add_term(vocabulary.index(other))

    def add_outside(self, word: OutsideWord, k: int) -> None:
        if all(word.word != one.word for one in self.outside):
            self.places.append((False, len(self.outside)))
            self.outside.append(word)
        pairs = zip((-word.similarities).tolist(), word.terms.tolist(), strict=True)
        nearest = sorted((s, self.S.representative(term), term) for s, term in pairs)
        for _, _, term in nearest[:k]:
            self.add_term(term)

    def check(self) -> None:
        _check_number(len(self.places), "take fewer words, or fewer neighbours of each.")

    def heat_map(
        self,
        order: str,
        title: str,
        inner: NDArray[np.float64] | None = None,
        cross: NDArray[np.float64] | None = None,
    ) -> HeatMap:
        """Return all similarities; `inner` and `cross` are those of words outside S."""
        self.check()
        values = _between(self.S, np.array(self.terms, np.int64))
        if inner is not None and cross is not None:
            values = np.block([[values, cross.T], [cross, inner]])
        n_terms = len(self.terms)
        at = [place if inside else n_terms + place for inside, place in self.places]
        labels = [
            self.S.representative(self.terms[place]) if inside else self.outside[place].word
            for inside, place in self.places
        ]
        return arranged(
            labels, values[np.ix_(at, at)], order, unit="similarity of terms", title=title,
            linkage="average",
        )  # fmt: skip


def _between(S: TermSimilarityMatrix, terms: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entries of S between terms; no others are read."""
    indptr, indices, data = S.arrays
    ascending = np.argsort(terms)
    values = np.zeros((len(terms), len(terms)))
    for row, term in enumerate(terms.tolist()):
        own = slice(int(indptr[term]), int(indptr[term + 1]))
        columns = np.searchsorted(terms, indices[own], sorter=ascending)
        columns = ascending[np.minimum(columns, len(terms) - 1)]
        there = terms[columns] == indices[own]
        values[row, columns[there]] = data[own][there]
    return values


def _names(given: Iterable[str], what: str) -> list[str]:
    """Return the strings of any iterable except a single string."""
    names = None if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if names is None or not all(isinstance(name, str) for name in names):
        raise InvalidInputError(
            f"{what} is of type {type(given).__name__}, or holds something else; pass a list of "
            "strings."
        )
    return names


def _check_number(n: int, advice: str) -> None:
    if n > MOST_ROWS:
        raise InvalidInputError(f"a heat map has at most {MOST_ROWS} rows, not {n:,}; {advice}")
