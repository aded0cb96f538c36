"""Vectors and weights of terms that a neural encoder of whole texts teaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine.errors import InvalidInputError
from softcosine.similarity.cooccurrence.distilled_vectors import (
    OwnMeaning,
    checked_encodings,
    lengths,
    taught_vectors,
    unit,
    weighted_rows,
)
from softcosine.similarity.cooccurrence.names import names_of
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.space.term_weights import checked_weights
from softcosine.text.corpus import AnalyzedTexts
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting

__all__ = ["WEIGHTING", "TaughtVectors"]

_Floats = NDArray[np.float64]

# What the rows of texts are weighed by, and what goes with `TaughtVectors.weights` later.
WEIGHTING = Weighting(tf="raw", idf="bm25")


@dataclass(frozen=True, slots=True, eq=False)
class TaughtVectors:
    r"""Vectors of terms whose sums come near to what an encoder says of the texts.

    Let the rows of X be the texts' weighted terms, of length 1, and D what the encoder gave for
    them, of length 1, less its mean and its first principal components. T, where it is given, is
    what the encoder gives for the terms by themselves. Then

    .. math:: A = \arg\min_A |D - XTA|^2 + |A|^2, \quad
        V = \arg\min_V |D - XV|^2 + \lambda |V - TA|^2,

    so that a term that few texts have keeps the meaning that it has alone, and others take the one
    that they have in these texts. A long vector belongs to a term that decides what its texts are
    about, a short one to a term that says little: their lengths are weights beside idf.

    Build it by `fit`. `softcosine.similarity.cooccurrence.distilled.DistilledSimilarity` is the
    same without T, for rankings by soft BM25, and knows no weights.

    Attributes
    ----------
    vocabulary : Vocabulary
    vectors : ndarray of shape (n_terms, dimensions), float64
    unit : float
        The median length of the vectors that are not 0, when they were learned.
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
        """Learn from texts that have been encoded.

        Parameters
        ----------
        corpus : AnalyzedTexts
            What `softcosine.analyze` gave.
        encodings : array-like of shape (n_texts, dimensions)
            Of each text. A row of zeros says nothing: that text is left out, but its terms are
            known where `term_encodings` has them.
        term_encodings : array-like of shape (n_terms, dimensions), optional
            T above, of the terms in their order; a row of zeros tells nothing.
        weighting : Weighting
        term_weights : array-like of shape (n_terms,), optional
            Factors beside it, from 0 on.
        penalty : float
            lambda above, more than 0.
        remove_components : int
            How many principal components of the encodings are removed: what all texts have in
            common that are of one domain.

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
        """Lengths of the vectors in their unit; 1 where one is 0, since nothing is known of it."""
        found = lengths(self.vectors)
        return np.where(found > 0.0, found / self.unit, 1.0)

    def extended(self, vocabulary: Vocabulary, term_encodings: ArrayLike) -> Self:
        """Return the vectors of another vocabulary; what was not taught has its own meaning.

        Parameters
        ----------
        vocabulary : Vocabulary
        term_encodings : array-like of shape (n_terms, dimensions)
            Of all its terms, by the same encoder; a row of zeros tells nothing.

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
        """Return the source of similarities; it knows terms, and under stemming their forms."""
        names, rows = names_of(self.vocabulary)
        vectors = unit(self.vectors)[rows].astype(np.float32)
        return EmbeddingSimilarity(names, vectors, threshold=threshold, exponent=exponent)
