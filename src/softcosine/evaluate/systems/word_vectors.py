"""Vectors of words as a setting: the bundled English table, files, models, encoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.errors import InvalidInputError
from softcosine.evaluate.systems.analysis import Corpus, WordSettings
from softcosine.evaluate.systems.settings import setting, text
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.similarity.registry import kind_named
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.vocabulary import Vocabulary

__all__ = ["VectorSettings", "VectorTexts", "word_weights"]


@dataclass(frozen=True, kw_only=True)
class VectorSettings(WordSettings):
    """Settings of systems that take words as points.

    Parameters
    ----------
    vectors : str
        ``english``, the table that comes with the package; a file of vectors; or
        ``vectors:FILE``, ``model:NAME`` or ``encoder:NAME``, as ``softcosine similarity build``
        takes them.
    **settings
        See `WordSettings`; nothing is stemmed, since vectors are of words.
    """

    vectors: str = setting("english", text("a source that has vectors"), "vectors of the words")

    def __post_init__(self) -> None:
        WordSettings.__post_init__(self)
        if not kind_named(self.vectors).of_vectors:
            raise InvalidInputError(
                f"vectors of {self.called!r} is {self.vectors!r}, which has no vectors; take "
                "english, a file of vectors, or vectors:FILE, model:NAME or encoder:NAME."
            )

    def source(self) -> TermSimilaritySource:
        """Return the source that has the vectors."""
        source, _ = SimilarityRecipe(sources=[self.vectors]).joined()
        return source


@dataclass(frozen=True, slots=True)
class VectorTexts:
    """Texts as counts of words with vectors; those without one are left out.

    Attributes
    ----------
    counts : csr_array of shape (n_texts, n_words), float64
        Words in code point order.
    vocabulary : Vocabulary
        Of all words of the texts, those without a vector too.
    places : ndarray of shape (n_words,), int64
        The number of each word in the vocabulary.
    points : ndarray of shape (n_words, dimensions), float64
        Of unit length, or shorter where the table weighs a word less.
    """

    counts: csr_array
    vocabulary: Vocabulary
    places: NDArray[np.int64]
    points: NDArray[np.float64]

    @classmethod
    def of(
        cls, counts: csr_array, vocabulary: Vocabulary, source: TermSimilaritySource
    ) -> VectorTexts:
        """Look the terms of counted texts up."""
        table = getattr(source, "table", None)
        assert table is not None  # the settings are checked for it
        vectors, numbers = table.look_up(vocabulary.terms)
        places = np.flatnonzero(numbers >= 0)
        units, scales = vectors.units(numbers[places])
        kept: Any = csr_array(counts[:, places], dtype=np.float64)
        kept.sort_indices()
        return cls(kept, vocabulary, places, units.astype(np.float64) * scales[:, None])

    @classmethod
    def analyzed(
        cls, texts: Sequence[str], corpus: Corpus, source: TermSimilaritySource
    ) -> VectorTexts:
        """Analyse texts as the corpus was, and look their words up."""
        return cls.of(*corpus.counted(texts), source)

    def words(self) -> list[str]:
        """Return the words that have vectors."""
        return [self.vocabulary.term(number) for number in self.places.tolist()]


def word_weights(
    kind: str, corpus: Corpus, *, smoothing: float = 1e-3
) -> Callable[[VectorTexts], NDArray[np.float64]]:
    """Return what weighs words by how rare they are in the corpus.

    Parameters
    ----------
    kind : {"none", "idf", "sif"}
        1; ln((1 + N) / (1 + df)) + 1; or a / (a + p), with p the share of a word among all (smooth
        inverse frequency: Arora et al. 2017).
    corpus : Corpus
    smoothing : float
        The a of the last.
    """
    if kind == "none":
        return lambda texts: np.ones(len(texts.places))
    if kind == "idf":

        def idf(texts: VectorTexts) -> NDArray[np.float64]:
            frequencies = corpus.frequencies_of(texts.vocabulary)[texts.places]
            weights: NDArray[np.float64] = np.log((1 + corpus.n_texts) / (1 + frequencies)) + 1
            return weights

        return idf
    tokens = corpus.analyzed.tokens
    running = np.bincount(tokens[tokens >= 0], minlength=len(corpus.vocabulary))
    shares = running / max(1, int(running.sum()))

    def sif(texts: VectorTexts) -> NDArray[np.float64]:
        found = corpus.vocabulary.indices(texts.vocabulary.terms)[texts.places]
        own = np.zeros(len(found))
        own[found >= 0] = shares[found[found >= 0]]
        weights: NDArray[np.float64] = smoothing / (smoothing + own)
        return weights

    return sif
