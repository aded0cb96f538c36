"""Rows of S for words that are not terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.checked_answers import neighbors_by, similarities_by
from softcosine.similarity.in_terms import are_pinned
from softcosine.similarity.source import TermSimilaritySource

_MOST_ROWS, _MOST_BYTES = 4096, 4096  # rows that are remembered, and bytes of one


@dataclass(frozen=True, slots=True)
class OutsideRow:
    """The row that a word outside the vocabulary would have in S.

    Attributes
    ----------
    word : str
    terms : ndarray of shape (n_neighbors,), int32
        Its neighbours in the order of the source, before balancing.
    similarities : ndarray of shape (n_neighbors,), float64
        Limited, balanced and shrunk like S.
    scale : float
        Balancing scale of the word; 1 if S is not balanced.
    """

    word: str
    terms: NDArray[np.int32]
    similarities: NDArray[np.float64]
    scale: float


class OutsideRows:
    """The rows of words by one source and one S, remembered unless they are many or long.

    A source such as a table of vectors compares a word with all of its words, which takes
    milliseconds. Thread-safe.

    Parameters
    ----------
    S : TermSimilarityMatrix
    source : TermSimilaritySource
    """

    def __init__(self, S: TermSimilarityMatrix, source: TermSimilaritySource) -> None:
        self._S, self._source = S, source
        self._rows: dict[str, OutsideRow] = {}

    def of(self, words: Sequence[str]) -> list[OutsideRow]:
        """Return the rows of some words as `outside_rows` does."""
        rows = {word: row for word in words if (row := self._rows.get(word)) is not None}
        for row in outside_rows(
            self._S, [word for word in words if word not in rows], self._source
        ):
            rows[row.word] = row
            if len(self._rows) >= _MOST_ROWS:
                self._rows.clear()
            if 4 * len(row.word) + row.terms.nbytes + row.similarities.nbytes <= _MOST_BYTES:
                self._rows[row.word] = row
        return [rows[word] for word in words]


def outside_rows(
    S: TermSimilarityMatrix, words: Sequence[str], source: TermSimilaritySource
) -> list[OutsideRow]:
    """Return the rows of some words, by the rules of S.

    Parameters
    ----------
    S : TermSimilarityMatrix
    words : sequence of str
        Words that the source does not know have no neighbours.
    source : TermSimilaritySource
    """
    if not words:  # avoid preparing the source
        return []
    found = neighbors_by(
        source, words, S.representatives, max_neighbors=S.settings.get("max_neighbors", 100)
    )
    found = found.where(found.similarities >= _least(S), max_neighbors=len(S))
    rows = []
    for i, word in enumerate(words):
        terms, given = found.of(i)
        values, scale = given.astype(np.float64), 1.0
        if S.scales is not None:
            others = [S.representative(term) for term in terms.tolist()]
            scale = float(1.0 / np.sqrt(max(float(values.sum()), 1.0)))
            pinned = are_pinned(source, [word] * len(others), others)
            values = np.where(pinned, values, values * scale * S.scales[terms])
        rows.append(OutsideRow(word, terms, values * _factor(S), scale))
    return rows


def outside_similarities(
    S: TermSimilarityMatrix,
    rows: Sequence[OutsideRow],
    terms: NDArray[np.int32],
    source: TermSimilaritySource | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the similarities of outside words with each other and with terms.

    In contrast to their rows, these are not limited to the nearest neighbours, because a norm needs
    every pair of words of a query.

    Parameters
    ----------
    S : TermSimilarityMatrix
    rows : sequence of OutsideRow
        Of different words.
    terms : ndarray of shape (n_terms,), int32
        Ascending.
    source : TermSimilaritySource or None
        None if there are no rows.

    Returns
    -------
    inner : ndarray of shape (n_words, n_words), float64
        With unit diagonal.
    cross : ndarray of shape (n_words, n_terms), float64
    """
    if not rows:
        return np.zeros((0, 0)), np.zeros((0, len(terms)))
    assert source is not None
    words = [row.word for row in rows]
    others = [*words, *map(S.representative, terms.tolist())]
    left, right = [word for word in words for _ in others], others * len(words)
    values = similarities_by(source, left, right).astype(np.float64)
    values[values < _least(S)] = 0.0
    if S.scales is not None:
        scales = np.array([row.scale for row in rows], np.float64)
        factors = np.concatenate((scales, S.scales[terms].astype(np.float64)))
        scaled = values * np.outer(scales, factors).ravel()
        values = np.where(are_pinned(source, left, right), values, scaled)
    similar = (values * _factor(S)).reshape(len(words), len(others))
    inner, cross = np.split(similar, [len(words)], axis=1)
    np.fill_diagonal(inner, 1.0)
    return inner, cross


def _least(S: TermSimilarityMatrix) -> float:
    """Return the least similarity that counts, rounded like those of a source."""
    return float(np.float32(S.settings.get("min_similarity", 0.0)))


def _factor(S: TermSimilarityMatrix) -> float:
    """Return the factor that made S definite."""
    return float(S.settings.get("shrunk", 1.0))
