"""Term vectors and term weights learned from a neural encoder of whole texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine.errors import InvalidInputError
from softcosine.lab.text_pairs.ridge import (
    OF_ROUNDING,
    OwnMeaning,
    checked_encodings,
    lengths,
    taught_vectors,
    unit,
    weighted_rows,
)
from softcosine.similarity.cooccurrence.names import names_of
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.space.norms import checked_weights
from softcosine.text.corpus import AnalyzedTexts
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting

_Floats = NDArray[np.float64]

# Weighting of the rows of texts; the same weighting goes with `TaughtVectors.weights` later.
WEIGHTING = Weighting(tf="raw", idf="bm25")


@dataclass(frozen=True, slots=True, eq=False)
class TaughtVectors:
    r"""Term vectors whose sums approximate the encodings of texts.

    Let the rows of X be the weighted terms of the texts, of length 1, and D their encodings, of
    length 1, minus their mean and their first principal components. T, if passed, holds the
    encodings of the single terms. Then

    .. math:: A = \arg\min_A |D - XTA|^2 + |A|^2, \quad
        V = \arg\min_V |D - XV|^2 + \lambda |V - TA|^2,

    so a term of few texts keeps its own meaning, and a frequent term takes the meaning that it has
    in these texts. A long vector belongs to a term that decides what its texts are about, a short
    one to a term that carries little meaning: the lengths are weights beside idf.

    `fit` builds it.

    Attributes
    ----------
    vocabulary : Vocabulary
    vectors : ndarray of shape (n_terms, dimensions), float64
    unit : float
        Median length of the non-zero vectors after `fit`.
    alone : tuple of ndarray of shapes (n,) and (n, dimensions), or None
        What is subtracted from a term's own encoding, and A.

    Examples
    --------
    >>> from softcosine.text.corpus import analyze
    >>> texts = ["the river bank", "the money bank", "the river flood", "the money loan"]
    >>> encodings = [[1, 0.2], [0.2, 1], [1, 0], [0, 1]]
    >>> taught = TaughtVectors.fit(analyze(texts), encodings)
    >>> dict(zip(taught.vocabulary.terms, taught.weights.round(1).tolist()))
    {'bank': 0.2, 'flood': 1.0, 'loan': 1.0, 'money': 1.6, 'river': 1.6, 'the': 0.0}
    >>> taught.similarity().similarities(["flood", "flood"], ["river", "loan"]).round(2)
    array([0.99, 0.  ], dtype=float32)
    """

    vocabulary: Vocabulary
    vectors: _Floats
    unit: float
    alone: tuple[_Floats, _Floats] | None = None

    @classmethod
    def fit(
        cls,
        corpus: AnalyzedTexts,
        encodings: ArrayLike,
        *,
        term_encodings: ArrayLike | None = None,
        weighting: Weighting = WEIGHTING,
        term_weights: ArrayLike | None = None,
        penalty: float = 0.3,
        remove_components: int = 0,
    ) -> Self:
        """Return the vectors of a corpus, given the encodings of its texts.

        Parameters
        ----------
        corpus : AnalyzedTexts
            Result of `softcosine.analyze`.
        encodings : array-like of shape (n_texts, dimensions)
            A text whose row is zeros is left out; its terms still get vectors if `term_encodings`
            has them.
        term_encodings : array-like of shape (n_terms, dimensions), optional
            T above, in the order of the terms; a row of zeros means that the term has no encoding.
        weighting : Weighting
        term_weights : array-like of shape (n_terms,), optional
            Extra non-negative factors.
        penalty : float
            λ above, more than 0.
        remove_components : int
            Number of principal components removed from the encodings: what all texts of one domain
            have in common.

        Raises
        ------
        InvalidInputError
            If a shape does not fit, a number is not finite, or a setting is out of range.
        """
        X = weighted_rows(corpus, weighting)
        X.data *= checked_weights(term_weights, X.shape[1])[X.indices]
        V, own = taught_vectors(
            X, encodings, term_encodings=term_encodings, remove_components=remove_components,
            penalty=penalty,
        )  # fmt: skip
        found = lengths(V)
        known = found > 0.0
        middle = float(np.median(found[known])) if known.any() else 1.0
        return cls(corpus.vocabulary, V, middle, None if own is None else (own.mean, own.map))

    @property
    def weights(self) -> _Floats:
        """Lengths of the vectors divided by `unit`; 1 for zero vectors."""
        found = lengths(self.vectors)
        return np.where(found > 0.0, found / self.unit, 1.0)

    def extended(self, vocabulary: Vocabulary, term_encodings: ArrayLike) -> Self:
        """Return the vectors of another vocabulary; new terms keep their own meaning.

        Parameters
        ----------
        vocabulary : Vocabulary
        term_encodings : array-like of shape (n_terms, dimensions)
            Encodings of all its terms by the same encoder; a row of zeros means no encoding.

        Raises
        ------
        InvalidInputError
            If these were learned without `term_encodings`, or the shape does not fit.
        """
        if self.alone is None:
            raise InvalidInputError(
                "what terms mean alone was not learned; call fit with term_encodings."
            )
        own = OwnMeaning(*self.alone)
        T = checked_encodings(term_encodings, len(vocabulary), "term_encodings", "term")
        if T.shape[1] != len(own.mean):
            raise InvalidInputError(
                f"term_encodings has {T.shape[1]} dimensions, and there were {len(own.mean)}; ask "
                "the same encoder."
            )
        vectors = own.vectors(T)
        places = self.vocabulary.indices(vocabulary.terms)
        vectors[places >= 0] = self.vectors[places[places >= 0]]
        return type(self)(vocabulary, vectors, self.unit, self.alone)

    def similarity(self, *, threshold: float = 0.2, exponent: float = 1.0) -> EmbeddingSimilarity:
        """Return the source of term similarity, of terms and, with stemming, of their forms.

        It does not know terms that carry no information, such as those of all texts equally.
        """
        names, rows = names_of(self.vocabulary)
        sizes = lengths(self.vectors)
        nothing = sizes <= OF_ROUNDING * sizes.mean() if len(sizes) else sizes > 0.0
        vectors = np.where(nothing[:, np.newaxis], 0.0, unit(self.vectors))[rows].astype(np.float32)
        return EmbeddingSimilarity(names, vectors, threshold=threshold, exponent=exponent)
