"""Fitted system that ranks by the cost of moving the words of one text to another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import Corpus
from softcosine.evaluate.systems.fitted import check_partners
from softcosine.evaluate.systems.rows import best, ranked_lists
from softcosine.evaluate.systems.settings import choice, setting
from softcosine.evaluate.systems.system import Ranked
from softcosine.evaluate.systems.transport import Movable, Query
from softcosine.evaluate.systems.word_vectors import VectorSettings, VectorTexts, word_weights
from softcosine.index.search.explanation import Explanation
from softcosine.similarity.source import TermSimilaritySource


@dataclass(frozen=True, kw_only=True)
class TransportSettings(VectorSettings):
    """Settings of word mover's distances.

    Parameters
    ----------
    weights : {"none", "idf"}
        Weight of a word in its text: its count, or its count times idf.
    **settings
        See `VectorSettings`.
    """

    weights: str = setting("none", choice("none", "idf"), "weights of words")


@dataclass(frozen=True, slots=True)
class TransportTexts:
    """Converter of texts to `Movable`.

    Attributes
    ----------
    corpus : Corpus
    source : TermSimilaritySource
        Source of the word vectors.
    weights : str
    """

    corpus: Corpus
    source: TermSimilaritySource
    weights: str

    @classmethod
    def of(
        cls, settings: TransportSettings, documents: Documents, background: Sequence[str]
    ) -> TransportTexts:
        """Analyse the documents; idf includes the background."""
        corpus = Corpus.of(documents, background, settings)
        return cls(corpus, settings.source(), settings.weights)

    def documents(self) -> Movable:
        """Return the documents of the corpus."""
        counts = self.corpus.analyzed.counts()[: self.corpus.n_docs]
        return self._movable(VectorTexts.of(counts, self.corpus.vocabulary, self.source))

    def movable(self, texts: Sequence[str]) -> Movable:
        """Return other texts."""
        return self._movable(VectorTexts.analyzed(texts, self.corpus, self.source))

    def _movable(self, texts: VectorTexts) -> Movable:
        weights = word_weights(self.weights, self.corpus)(texts)
        weighted = texts.counts.copy()
        weighted.data = weighted.data * weights[weighted.indices]
        return Movable.of(weighted, texts.points)


@dataclass(frozen=True, kw_only=True)
class FittedTransport(ABC):
    """Ranks by a distance; the similarity is 1 / (1 + distance), or 0 if a text has no points.

    Attributes
    ----------
    texts : TransportTexts
    movable : Movable
        The documents.
    """

    texts: TransportTexts
    movable: Movable

    @abstractmethod
    def distances(self, query: Query, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances from a query to some documents with points."""

    @abstractmethod
    def nearest(self, query: Query, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return documents that include the k nearest, and their distances."""

    @abstractmethod
    def over(self, movable: Movable) -> Self:
        """Return the same system over other documents."""

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        """Return the `k` nearest documents for each query."""

        def lists() -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
            for query in self._queries(queries.texts):
                if query is None:
                    yield np.empty(0, np.int64), np.empty(0)
                else:
                    numbers, distances = self.nearest(query, k)
                    yield best(numbers, _closeness(distances), k=k)

        return ranked_lists(lists(), n_queries=len(queries), k=k)

    def scored(
        self, queries: Documents, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Return the scores of given documents."""
        return [
            self._scores(query, numbers)
            for query, numbers in zip(self._queries(queries.texts), candidates, strict=True)
        ]

    def paired(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Return the similarity of each text and its partner."""
        check_partners(left, right)
        asked, partners = self.texts.movable(left), self.texts.movable(right)
        scores = np.zeros(len(left))
        for number in range(len(left)):
            own = self.over(partners.only(number))
            scores[number] = own._scores(own.movable.query(asked, number), np.zeros(1, np.int64))[0]
        return scores

    def explained(self, query: Documents, number: int) -> Explanation | None:
        """Return None: a distance is not a sum over pairs of words."""
        return None

    def _queries(self, texts: Sequence[str]) -> Iterator[Query | None]:
        asked = self.texts.movable(texts)
        for row in range(len(texts)):
            yield self.movable.query(asked, row)

    def _scores(self, query: Query | None, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        scores = np.zeros(len(numbers))
        known = self.movable.known[numbers]
        if query is not None and known.any():
            scores[known] = _closeness(self.distances(query, numbers[known]))
        return scores


def _closeness(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return similarities in (0, 1]; smaller distances are more similar."""
    return 1.0 / (1.0 + distances)
