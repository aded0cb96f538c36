"""Mean of the word vectors of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import Corpus
from softcosine.evaluate.systems.fitted import FittedVectors
from softcosine.evaluate.systems.rows import DenseRows, unit_rows
from softcosine.evaluate.systems.settings import choice, number, setting, whole
from softcosine.evaluate.systems.word_vectors import VectorSettings, VectorTexts, word_weights
from softcosine.index.search.explanation import Explanation
from softcosine.index.spaces.part import Part


@dataclass(frozen=True, kw_only=True)
class MeanVector(VectorSettings):
    """Cosine of the weighted means of word vectors.

    Parameters
    ----------
    weights : {"idf", "sif", "none"}
        Weights of words; ``sif`` with one component removed is the method of Arora et al. 2017.
    smoothing : float
        The parameter a of sif.
    remove_components : int
        Number of first singular vectors of documents and background to remove from all texts.
    **settings
        See `VectorSettings`.
    """

    called = "mean_vector"
    weights: str = setting("idf", choice("idf", "sif", "none"), "weights of words")
    smoothing: float = setting(1e-3, number(1e-12), "the a of sif's a / (a + p)")
    remove_components: int = setting(0, whole(0), "common directions to remove")

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedVectors:
        """Compute word weights and common directions from documents and background."""
        corpus, source = Corpus.of(documents, background, self), self.source()
        weights = word_weights(self.weights, corpus, smoothing=self.smoothing)

        def means(texts: VectorTexts) -> NDArray[np.float64]:
            weighted = texts.points * weights(texts)[:, None]
            found: NDArray[np.float64] = unit_rows(texts.counts @ weighted)
            return found

        whole = VectorTexts.of(corpus.analyzed.counts(), corpus.vocabulary, source)
        points = means(whole)
        common = _directions(points, self.remove_components)

        def vectors(texts: Sequence[str]) -> NDArray[np.float64]:
            found: NDArray[np.float64] = _without(
                means(VectorTexts.analyzed(texts, corpus, source)), common
            )
            return found

        rows = DenseRows(_without(points[: corpus.n_docs], common))

        def explain(query: Documents, number: int) -> Explanation | None:
            if len(common):  # no pair of words contributes to these
                return None
            asked = VectorTexts.analyzed(query.texts, corpus, source)
            parts = _parts(
                _Words.of(asked, weights(asked), 0), _Words.of(whole, weights(whole), number)
            )
            ((score,),) = rows.scored(vectors(query.texts), [np.array([number])])
            id = documents.ids[number]
            return Explanation(query.texts[0], id, float(score), parts, "cosine of means")

        share = whole.counts.sum() / max(1, np.count_nonzero(corpus.analyzed.tokens >= 0))
        return FittedVectors(
            rows,
            vectors,
            explain=explain,
            told=lambda: f"{share:.0%} of the running words have a vector.",
        )


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of one text and their shares of its mean, which has unit length."""

    words: list[str]
    points: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, texts: VectorTexts, weights: NDArray[np.float64], row: int) -> _Words:
        own = slice(texts.counts.indptr[row], texts.counts.indptr[row + 1])
        numbers = texts.counts.indices[own]
        words = [texts.vocabulary.term(place) for place in texts.places[numbers].tolist()]
        points, shares = texts.points[numbers], texts.counts.data[own] * weights[numbers]
        length = float(np.linalg.norm(shares @ points))
        return cls(words, points, shares / length if length > 0 else np.zeros_like(shares))


def _parts(query: _Words, document: _Words) -> tuple[Part, ...]:
    """Return the contributions of pairs of words to the cosine, the largest first."""
    cosines = query.points @ document.points.T
    added = query.shares[:, None] * cosines * document.shares
    parts = [
        Part(
            query.words[i], document.words[j], float(cosines[i, j]), float(added[i, j]),
            exact=query.words[i] == document.words[j],
        )
        for i, j in np.argwhere(added).tolist()
    ]  # fmt: skip
    parts.sort(key=lambda part: (-abs(part.contribution), part.query_word, part.document_word))
    return tuple(parts)


def _directions(points: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the first right singular vectors, shape (at most n, dimensions)."""
    if not (n and points.any()):
        return np.zeros((0, points.shape[1]))
    values, vectors = np.linalg.eigh(points.T @ points)
    order = np.argsort(-values)[:n]
    return np.ascontiguousarray(vectors[:, order[values[order] > 1e-9 * values.max()]].T)


def _without(points: NDArray[np.float64], common: NDArray[np.float64]) -> NDArray[np.float64]:
    """Remove directions from each point separately, so that no bit depends on other texts."""
    for direction in common:
        points = points - (points * direction).sum(axis=1)[:, None] * direction
    found: NDArray[np.float64] = unit_rows(points)
    return found
