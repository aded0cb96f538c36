"""Base classes of the estimators: scikit-learn's conventions, and S."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine import errors
from softcosine._validation import refuse_texts
from softcosine.errors import InvalidInputError
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.scikit import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    SklearnNotFittedError,
    TransformerMixin,
    check_classification_targets,
    check_random_state,
    column_or_1d,
    validate_data,
)
from softcosine.sklearn.similarity import built_similarity
from softcosine.space.norms import checked_matrix
from softcosine.text.vocabulary import Vocabulary

_ROWS = 2048

Vectors: TypeAlias = ArrayLike | csr_array


class NotFittedError(errors.NotFittedError, SklearnNotFittedError):  # type: ignore[misc]
    """An estimator was used before ``fit``; also scikit-learn's NotFittedError."""


class SoftEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators: whether they are fitted, and the documents that they take."""

    S_: TermSimilarityMatrix
    n_features_in_: int
    _fitted = "_n_features_out"  # an attribute that only a fitted one has
    _call = "fit(X)"
    _non_negative = False  # whether weights must be
    _advice = ""  # for negative weights

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` was called."""
        return hasattr(self, self._fitted)

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._non_negative
        return tags

    def _documents(self, X: Vectors, *, reset: bool = False) -> csr_array:
        """Return documents as float64, validated by scikit-learn; `reset` for those of `fit`."""
        if reset:
            self.__dict__.pop(self._fitted, None)  # unfitted if `fit` fails
        elif not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call {self._call} first."
            )
        refuse_texts(X, "X")
        return self._checked(
            validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        )

    def _labelled(self, X: Vectors, y: ArrayLike) -> tuple[csr_array, NDArray[Any]]:
        """Return the documents of `fit` and their classes."""
        self.__dict__.pop(self._fitted, None)
        if y is None:
            raise InvalidInputError("requires y to be passed, but the target y is None")
        refuse_texts(X, "X")
        X, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(labels)
        return self._checked(X), column_or_1d(labels)

    def _checked(self, X: Any) -> csr_array:
        documents = checked_matrix(X, X.shape[1], "X")
        if self._non_negative and documents.nnz and documents.data.min() < 0:
            raise InvalidInputError(
                f"Negative values in data passed to {type(self).__name__}: X has "
                f"{documents.data.min():g}; weights must be 0 or more.{self._advice}"
            )
        return documents

    def _built(
        self, documents: csr_array, vocabulary: Vocabulary | ArrayLike | None = None
    ) -> TermSimilarityMatrix:
        """Return S, given or built; see `built_similarity`."""
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return built_similarity(
            self.S, vocabulary, lambda: row_blocks(documents), self.n_features_in_,
            names=getattr(self, "feature_names_in_", None), seed=self._seed,
        )  # fmt: skip


class SoftTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SoftEstimator):  # type: ignore[misc]
    """Base of the transformers; it takes S, or builds it in `fit`.

    Parameters
    ----------
    S : TermSimilarityMatrix, SimilarityRecipe, or None
        See `softcosine.sklearn.similarity.built_similarity`.
    vocabulary : Vocabulary or sequence of str, optional
        The term of every column.
    random_state : int, RandomState or None
    """

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
        X = self._documents(X, reset=True)
        self.S_ = self._built(X, self.vocabulary)
        self._fit(X)
        return self

    def _fit(self, X: csr_array) -> None:
        """Fit to documents; S is already set."""
        raise NotImplementedError


def row_blocks(X: csr_array) -> Iterator[csr_array]:
    """Yield blocks of rows of X, so that products with S take bounded memory."""
    for start in range(0, X.shape[0], _ROWS):
        yield csr_array(X[start : start + _ROWS])
