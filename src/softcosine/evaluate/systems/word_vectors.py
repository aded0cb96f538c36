"""Word vectors as a setting: the bundled English table, files, models, encoders."""

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


@dataclass(frozen=True, kw_only=True)
class VectorSettings(WordSettings):
    """Settings of systems with word vectors.

    Parameters
    ----------
    vectors : str
        ``english``, the table in the package; a file of vectors; or ``vectors:FILE``,
        ``model:NAME`` or ``encoder:NAME``, as for ``softcosine index --source``.
    **settings
        See `WordSettings`; nothing is stemmed, because vectors belong to words.
    """

    vectors: str = setting("english", text("a source that has vectors"), "source of word vectors")

    def __post_init__(self) -> None:
        WordSettings.__post_init__(self)
        if not kind_named(self.vectors).of_vectors:
            raise InvalidInputError(
                f"vectors of {self.called!r} is {self.vectors!r}, which has no vectors; take "
                "english, a file of vectors, or vectors:FILE, model:NAME or encoder:NAME."
            )

    def source(self) -> TermSimilaritySource:
        """Return the source with the vectors."""
        source, _ = SimilarityRecipe(sources=[self.vectors]).joined()
        return source


@dataclass(frozen=True, slots=True)
class VectorTexts:
    """Texts as counts of the words that have vectors.

    Attributes
    ----------
    counts : csr_array of shape (n_texts, n_words), float64
        Words in code point order.
    vocabulary : Vocabulary
        All words of the texts, including those without a vector.
    places : ndarray of shape (n_words,), int64
        The number of each word in the vocabulary.
    points : ndarray of shape (n_words, dimensions), float64
        Vectors of unit length, or shorter if the table gives a word less weight.
    """

    counts: csr_array
    vocabulary: Vocabulary
    places: NDArray[np.int64]
    points: NDArray[np.float64]

    @classmethod
    def of(
        cls, counts: csr_array, vocabulary: Vocabulary, source: TermSimilaritySource
    ) -> VectorTexts:
        """Look up the vectors of the terms of counted texts."""
        table = getattr(source, "table", None)
        assert table is not None  # checked with the settings
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
        """Analyse texts like the corpus, and look up the vectors of their words."""
        return cls.of(*corpus.counted(texts), source)

    def words(self) -> list[str]:
        """Return the words with vectors."""
        return [self.vocabulary.term(number) for number in self.places.tolist()]


def word_weights(
    kind: str, corpus: Corpus, *, smoothing: float = 1e-3
) -> Callable[[VectorTexts], NDArray[np.float64]]:
    """Return a function that computes word weights from frequencies in the corpus.

    Parameters
    ----------
    kind : {"none", "idf", "sif"}
        1; ln((1 + N) / (1 + df)) + 1; or a / (a + p), with p the relative frequency of a word
        (smooth inverse frequency: Arora et al. 2017).
    corpus : Corpus
    smoothing : float
        The parameter a of sif.
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
