"""Base classes of the transformers: scikit-learn's conventions, S, and fitting by blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from softcosine import errors
from softcosine._validation import check_whole, refuse_texts
from softcosine.errors import InvalidInputError
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
from softcosine.space.latent import Blocks
from softcosine.space.measures import soft_cosine_similarity
from softcosine.space.norms import checked_matrix
from softcosine.text.vocabulary import Vocabulary

__all__ = [
    "BlockwiseTransformer",
    "KeptSimilarity",
    "NotFittedError",
    "SoftTransformer",
    "Vectors",
    "row_blocks",
]

_ROWS = 2048
# Scores that differ by less count as equal.
_TIE = 1e-9

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


@dataclass(frozen=True, slots=True)
class KeptSimilarity:
    """Comparison of estimated soft cosines with the exact ones.

    Attributes
    ----------
    correlation : float
        Pearson correlation over all pairs of a query and a document; NaN if a side is constant.
    root_mean_square_error : float
    recall : float
        Share of the exact k nearest documents that are among the estimated k nearest, in [0, 1].
    k : int
    n_queries : int
    n_pairs : int
    """

    correlation: float
    root_mean_square_error: float
    recall: float
    k: int
    n_queries: int
    n_pairs: int

    def __str__(self) -> str:
        return (
            f"correlation {self.correlation:.3f}, root mean square error "
            f"{self.root_mean_square_error:.4f}, recall@{self.k} {self.recall:.3f} "
            f"({self.n_queries:,} queries, {self.n_pairs:,} pairs)"
        )


def kept_similarity(
    X: csr_array,
    Q: csr_array | None,
    S: TermSimilarityMatrix,
    estimate: Callable[[csr_array, csr_array], NDArray[np.float64]],
    *,
    n_queries: int = 100,
    k: int = 10,
    seed: int = 0,
) -> KeptSimilarity:
    """Compare estimated soft cosines with exact ones.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
    Q : csr_array of shape (any, n_terms), or None
        By default rows of X are the queries, each compared with all other rows.
    S : TermSimilarityMatrix
    estimate : callable
        Returns the estimates for queries and documents.
    n_queries : int
        Maximum number of queries; more rows are sampled.
    k : int
        Number of neighbours for the recall.
    seed : int

    Raises
    ------
    InvalidInputError
        If there is no pair to compare, or a setting is out of range.
    """
    check_whole("n_queries", n_queries)
    check_whole("k", k)
    among = X if Q is None else Q
    n_left = X.shape[0] - (Q is None)
    if among.shape[0] == 0 or n_left < 1:
        raise InvalidInputError(
            f"there are {X.shape[0]} documents and {among.shape[0]} queries; at least one pair is "
            "needed to measure what similarity is kept."
        )
    drawn = np.random.default_rng(seed).permutation(among.shape[0])[:n_queries]
    queries = csr_array(among[np.sort(drawn)])
    exact, estimated = np.empty((2, queries.shape[0], X.shape[0]))
    for begin in range(0, X.shape[0], _ROWS):
        part = slice(begin, begin + _ROWS)
        exact[:, part] = soft_cosine_similarity(queries, X[part], S)
        estimated[:, part] = estimate(queries, X[part])
    if Q is None:
        others = np.ones(exact.shape, np.bool_)
        others[np.arange(len(drawn)), np.sort(drawn)] = False
        shape = (len(drawn), n_left)
        exact, estimated = exact[others].reshape(shape), estimated[others].reshape(shape)
    k = min(k, n_left)
    return KeptSimilarity(
        correlation=_correlation(exact.ravel(), estimated.ravel()),
        root_mean_square_error=float(np.sqrt(np.mean((exact - estimated) ** 2))),
        recall=_recall(exact, estimated, k),
        k=k,
        n_queries=len(drawn),
        n_pairs=exact.size,
    )


def _correlation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    for side in (left, right):  # constant up to rounding: no correlation
        if np.ptp(side) <= 1e-12 * np.abs(side).max(initial=0.0):
            return float("nan")
    left, right = left - left.mean(), right - right.mean()
    size = float(np.sqrt((left @ left) * (right @ right)))
    return float(left @ right) / size if size > 0 else float("nan")


def _recall(exact: NDArray[np.float64], estimated: NDArray[np.float64], k: int) -> float:
    """Share of the estimated nearest that are at least as good as the exact k-th nearest."""
    found = np.argsort(-estimated, axis=1, kind="stable")[:, :k]
    least = np.sort(exact, axis=1)[:, -k][:, None]
    return float(np.mean(np.take_along_axis(exact, found, axis=1) >= least - _TIE))
