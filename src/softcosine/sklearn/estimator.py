"""Base class of the transformers: scikit-learn's conventions, and S."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from softcosine import errors
from softcosine._validation import refuse_texts
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.scikit import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    SklearnNotFittedError,
    TransformerMixin,
    check_random_state,
    validate_data,
)
from softcosine.sklearn.similarity import built_similarity
from softcosine.space.norms import checked_matrix
from softcosine.text.vocabulary import Vocabulary

_ROWS = 2048

Vectors: TypeAlias = ArrayLike | csr_array


class NotFittedError(errors.NotFittedError, SklearnNotFittedError):  # type: ignore[misc]
    """A transformer was used before ``fit``; also scikit-learn's NotFittedError."""


class SoftTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the transformers; it takes S, or builds it in `fit`.

    Parameters
    ----------
    S : TermSimilarityMatrix, SimilarityRecipe, or None
        See `softcosine.sklearn.similarity.built_similarity`.
    vocabulary : Vocabulary or sequence of str, optional
        The term of every column.
    random_state : int, RandomState or None
    """

    S_: TermSimilarityMatrix
    n_features_in_: int

    def __init__(
        self,
        S: TermSimilarityMatrix | SimilarityRecipe | None,
        vocabulary: Vocabulary | ArrayLike | None,
        random_state: Any,
    ) -> None:
        self.S = S
        self.vocabulary = vocabulary
        self.random_state = random_state

    def fit(self, X: Vectors, y: object = None) -> Self:
        """Build S if it is not given, and fit the transformer.

        Parameters
        ----------
        X : array or sparse array of shape (n_docs, n_terms)
            Term weights, such as those of TfidfVectorizer.
        y : ignored

        Raises
        ------
        InvalidInputError, VocabularyMismatchError, IndefiniteMatrixError
        """
        self.__dict__.pop("_n_features_out", None)  # unfitted if `fit` fails
        X = self._documents(X, reset=True)
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.S_ = built_similarity(
            self.S, self.vocabulary, lambda: row_blocks(X), self.n_features_in_,
            names=getattr(self, "feature_names_in_", None), seed=self._seed,
        )  # fmt: skip
        self._fit(X)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` was called."""
        return hasattr(self, "_n_features_out")

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fit(self, X: csr_array) -> None:
        """Fit to documents; S is already set."""
        raise NotImplementedError

    def _documents(self, X: Vectors, *, reset: bool = False) -> csr_array:
        """Return documents as float64, validated by scikit-learn."""
        if not reset and not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit(X) first."
            )
        refuse_texts(X, "X")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        return checked_matrix(X, X.shape[1], "X")


def row_blocks(X: csr_array) -> Iterator[csr_array]:
    """Yield blocks of rows of X, so that products with S take bounded memory."""
    for start in range(0, X.shape[0], _ROWS):
        yield csr_array(X[start : start + _ROWS])
