"""Base classes of the transformers: scikit-learn's conventions, S, and fitting by blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from softcosine import errors
from softcosine._validation import refuse_texts
from softcosine.errors import InvalidInputError, MissingDependencyError
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.approximation_error import KeptSimilarity, kept_similarity
from softcosine.sklearn.similarity import built_similarity
from softcosine.space.latent import Blocks
from softcosine.space.norms import checked_matrix
from softcosine.text.vocabulary import Vocabulary

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.exceptions import NotFittedError as SklearnNotFittedError
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import validate_data
except ImportError as error:  # older versions lack the last name
    raise MissingDependencyError(
        "scikit-learn (1.6 or later)", "sklearn", "softcosine.sklearn"
    ) from error

__all__ = ["BlockwiseTransformer", "NotFittedError", "SoftTransformer", "Vectors", "row_blocks"]

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
        self._fit_similarity(lambda: row_blocks(X))
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

    def _fit_similarity(self, blocks: Blocks) -> None:
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        names = getattr(self, "feature_names_in_", None)
        self.S_ = built_similarity(
            self.S, self.vocabulary, blocks, self.n_features_in_, names=names, seed=self._seed
        )

    def _documents(self, X: Vectors, *, reset: bool = False) -> csr_array:
        """Return documents as float64, validated by scikit-learn."""
        if not reset:
            self._require_fitted()
        refuse_texts(X, "X")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        return checked_matrix(X, X.shape[1], "X")

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit(X) first."
            )


class BlockwiseTransformer(SoftTransformer):
    """Base of the transformers that can fit to documents block by block."""

    def fit_blocks(self, blocks: Blocks) -> Self:
        """Fit to documents that arrive block by block and need not fit in memory.

        Parameters
        ----------
        blocks : callable
            Called once per pass; yields the same documents each time, as arrays or sparse arrays of
            shape (any, n_terms).

        Raises
        ------
        InvalidInputError
            If there are no documents, or a pass differs from the first; otherwise as `fit`.
        """
        self.__dict__.pop("_n_features_out", None)  # unfitted if `fit_blocks` fails
        blocks = _renewed(blocks)
        n_terms = next((np.shape(block)[1] for block in _given(blocks)), None)
        if n_terms is None:
            raise InvalidInputError("blocks() gave no documents; at least one block is needed.")

        def checked() -> Iterator[csr_array]:
            return (checked_matrix(block, n_terms, "a block") for block in _given(blocks))

        self.n_features_in_ = int(n_terms)
        self.__dict__.pop("feature_names_in_", None)
        self._fit_similarity(checked)
        self._fit_blocks(checked)
        return self

    def kept_similarity(
        self, X: Vectors, *, Q: Vectors | None = None, n_queries: int = 100, k: int = 10
    ) -> KeptSimilarity:
        """Compare estimated soft cosines with exact ones, on the documents of X.

        Parameters
        ----------
        X : array or sparse array of shape (n_docs, n_terms)
        Q : array or sparse array of shape (any, n_terms), optional
            By default rows of X are the queries, each compared with all other rows.
        n_queries : int
            Maximum number of queries; more rows are sampled.
        k : int
            Number of neighbours for the recall.

        Raises
        ------
        InvalidInputError
            If there is no pair to compare.
        """
        documents = self._documents(X)
        return kept_similarity(
            documents, None if Q is None else self._documents(Q), self.S_, self._estimates,
            n_queries=n_queries, k=k, seed=self._seed,
        )  # fmt: skip

    def _fit(self, X: csr_array) -> None:
        self._fit_blocks(lambda: row_blocks(X))

    def _fit_blocks(self, blocks: Blocks) -> None:
        """Fit to documents that arrive block by block; S is already set."""
        raise NotImplementedError

    def _estimates(self, queries: csr_array, documents: csr_array) -> NDArray[np.float64]:
        """Return estimated soft cosines of queries with documents, (n_queries, n_docs)."""
        raise NotImplementedError


def row_blocks(X: csr_array) -> Iterator[csr_array]:
    """Yield blocks of rows of X, so that products with S take bounded memory."""
    for start in range(0, X.shape[0], _ROWS):
        yield csr_array(X[start : start + _ROWS])


def _renewed(blocks: Blocks) -> Blocks:
    """Refuse an iterator, which can be read only once."""
    last: Any = None

    def anew() -> Any:
        nonlocal last
        given = blocks()
        if isinstance(given, Iterator) and given is last:
            raise InvalidInputError(
                "blocks() gives the same generator each time, which can be read only once; pass a "
                "function that makes one, such as lambda: read(path)."
            )
        last = given
        return given

    return anew if callable(blocks) else blocks


def _given(blocks: Blocks) -> Iterator[Any]:
    if not callable(blocks):
        raise InvalidInputError(
            f"blocks is of type {type(blocks).__name__}; pass a function that gives the blocks "
            "anew for every pass, such as lambda: parts."
        )
    for block in blocks():
        array: NDArray[Any] | csr_array = block if issparse(block) else np.asarray(block)
        if array.ndim != 2:
            raise InvalidInputError(f"a block has {array.ndim} dimension(s); a matrix has two.")
        yield array
