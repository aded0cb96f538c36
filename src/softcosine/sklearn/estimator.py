"""Base classes of the estimators: scikit-learn's conventions, and S: given, built or learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine import errors
from softcosine._validation import check_list, check_whole, refuse_texts
from softcosine.errors import InvalidInputError, VocabularyMismatchError
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.similarity.source import TermSimilaritySource
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
from softcosine.space.latent import Blocks, right_singular_vectors
from softcosine.space.norms import checked_matrix
from softcosine.text.vocabulary import Vocabulary

# Defaults for similarities learned from the documents.
LEARNED_THRESHOLD = 0.3
LEARNED_EXPONENT = 2.0
_ROWS = 2048
_FROM_DOCUMENTS = SimilarityRecipe(sources=("documents",))

Vectors: TypeAlias = ArrayLike | csr_array


@dataclass(frozen=True, slots=True)
class DocumentMatrix:
    """Documents for the source ``documents``.

    Attributes
    ----------
    blocks : callable
        Yields the documents, block by block.
    vocabulary : Vocabulary
        Terms of the columns.
    seed : int
    """

    blocks: Blocks
    vocabulary: Vocabulary
    seed: int

    def latent_similarity(
        self,
        n_dimensions: int,
        *,
        threshold: float = LEARNED_THRESHOLD,
        exponent: float = LEARNED_EXPONENT,
    ) -> TermSimilaritySource:
        """Return cosines of the term vectors from the truncated SVD of the documents."""
        from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity

        check_whole("n_dimensions", n_dimensions)
        n_terms = len(self.vocabulary)
        k = min(n_dimensions, max(n_terms, 1))
        V, sigma = right_singular_vectors(self.blocks, n_terms, k=k, random_state=self.seed)
        # Only angles matter, so scale the vectors into the range of float32.
        vectors = V * (sigma / sigma[0] if sigma[0] > 0 else 0.0)
        terms, vectors = self.vocabulary.terms, vectors.astype(np.float32)
        return EmbeddingSimilarity(terms, vectors, threshold=threshold, exponent=exponent)


def built_similarity(
    S: TermSimilarityMatrix | SimilarityRecipe | None,
    vocabulary: Vocabulary | ArrayLike | None,
    blocks: Blocks,
    n_terms: int,
    *,
    names: NDArray[Any] | None = None,
    seed: int = 0,
) -> TermSimilarityMatrix:
    """Return the S of a transformer.

    Parameters
    ----------
    S : TermSimilarityMatrix, SimilarityRecipe, or None
        A matrix is returned as it is. A recipe builds one; with ``scaling="auto"`` it is
        positive definite. None means the recipe of the source ``documents``.
    vocabulary : Vocabulary or sequence of str, optional
        The term of every column; `names` by default.
    blocks : callable
        Yields the documents, for a recipe that learns from them.
    n_terms : int
    names : array of str, of shape (n_terms,), optional
        Column names of the documents, if they have any.
    seed : int

    Raises
    ------
    InvalidInputError
        If a source needs terms and there are none, or both S and a vocabulary are given.
    VocabularyMismatchError
        If S or the vocabulary has another number of terms than the documents.
    """
    if S is not None and not isinstance(S, SimilarityRecipe):
        if vocabulary is not None:
            raise InvalidInputError("S is given, and so is vocabulary; give one of them.")
        return given_similarity(S, n_terms, names)
    recipe = S or _FROM_DOCUMENTS
    terms = _vocabulary(recipe, vocabulary, n_terms, names)
    if _of_documents(recipe):  # numbers and antonyms need no special treatment
        recipe = recipe.changed(guard=False)
    made = recipe.build(terms, DocumentMatrix(blocks, terms, seed)).S  # type: ignore[arg-type]
    return made.shrunk() if recipe.scaling == "auto" and made.symmetric else made


def given_similarity(S: object, n_terms: int, names: NDArray[Any] | None) -> TermSimilarityMatrix:
    """Return a matrix after comparing it with the columns of the documents."""
    matrix = checked_similarity(S)
    if len(matrix) != n_terms:
        raise VocabularyMismatchError(
            f"X has {n_terms} terms but S has {len(matrix)}; build both from one vocabulary."
        )
    _check_names(matrix.vocabulary, names)
    return matrix


def _check_names(vocabulary: Vocabulary, names: NDArray[Any] | None) -> None:
    """Raise if the column names are not the terms in the same order."""
    if names is None or vocabulary == Vocabulary.numbered(len(vocabulary)):
        return
    for number, name in enumerate(names):
        if vocabulary.term(number) != name:
            raise VocabularyMismatchError(
                f"column {number} of X is {name!r}, and its term is {vocabulary.term(number)!r}."
            )


def _of_documents(recipe: SimilarityRecipe) -> bool:
    """Whether all similarities come from the documents."""
    return (
        bool(recipe.sources)
        and all(name.partition(":")[0] == "documents" for name in recipe.names)
        and len(recipe.names) == len(recipe.sources or ())
    )


def _vocabulary(
    recipe: SimilarityRecipe,
    vocabulary: Vocabulary | ArrayLike | None,
    n_terms: int,
    names: NDArray[Any] | None,
) -> Vocabulary:
    given = names if vocabulary is None else vocabulary
    if given is None:
        if not _of_documents(recipe):
            raise InvalidInputError(
                "a source must know the terms of the columns: give vocabulary=terms, and also "
                "TfidfVectorizer(vocabulary=terms) in a pipeline, or a DataFrame with column names."
            )
        return Vocabulary.numbered(n_terms)
    check_list("vocabulary", given, "terms")
    terms = given if isinstance(given, Vocabulary) else Vocabulary(given)  # type: ignore[arg-type]
    if len(terms) != n_terms:
        raise VocabularyMismatchError(
            f"X has {n_terms} terms but the vocabulary has {len(terms)}; build both from one."
        )
    _check_names(terms, names)
    return terms


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
            told = f"this {type(self).__name__} is not fitted yet; call {self._call} first."
            raise NotFittedError(told)
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
        blocks, names = partial(row_blocks, documents), getattr(self, "feature_names_in_", None)
        n_terms, seed = self.n_features_in_, self._seed
        return built_similarity(self.S, vocabulary, blocks, n_terms, names=names, seed=seed)


class SoftTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SoftEstimator):  # type: ignore[misc]
    """Base of the transformers; it takes S, or builds it in `fit`.

    Parameters
    ----------
    S : TermSimilarityMatrix, SimilarityRecipe, or None
        See `built_similarity`.
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
