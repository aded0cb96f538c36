"""Term weights and a term similarity matrix learned from labelled documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_array, issparse

from softcosine._validation import check_choice, check_number, check_whole, refuse_texts
from softcosine.errors import InvalidInputError, VocabularyMismatchError
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.sklearn.centroid_cosines import OBJECTIVES, CentroidCosines
from softcosine.sklearn.estimator import NotFittedError, Vectors
from softcosine.sklearn.metric_parameters import (
    FullMatrix,
    MetricParameters,
    SparseMatrix,
    seen_through,
)
from softcosine.sklearn.scikit import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
    check_classification_targets,
    column_or_1d,
    validate_data,
)
from softcosine.sklearn.similarity import check_names
from softcosine.space.pair_pattern import PairPattern, coordinates
from softcosine.text.vocabulary import Vocabulary

__all__ = ["SoftMetric"]

# With more terms a full matrix is too slow to learn.
_MOST_FULL = 2_000


class SoftMetric(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Term weights and term similarities learned from labels (theory T16).

    `fit` makes the cosine of a document x with the centroid c of its class under a matrix M,

    .. math:: \frac{x^\top M c}{\sqrt{x^\top M x \; c^\top M c}},

    large, and larger than with other classes. A penalty keeps M near a given S. The result is split
    into term weights W and a similarity matrix S of unit diagonal, :math:`M = W S W`, which any
    soft measure, transformer or index can use: `transform` returns X W, and `S_` goes with it.

    Parameters
    ----------
    S : TermSimilarityMatrix, optional
        Symmetric and non-negative: the start and the target of the penalty. By default no two
        terms are similar.
    learn : {"terms", "pairs", "both", "full"}
        Term weights; similarities of the pairs in S; both; or a full positive semidefinite
        matrix, for at most 2,000 terms.
    objective : {"contrast", "closeness"}
        ``"contrast"``: the log-likelihood of the own class, where a class has likelihood
        exp(cosine / temperature). ``"closeness"``: the mean cosine with the own centroid, as in
        the paper. It does not separate classes: without the penalty its optimum makes all
        documents alike.
    strength : float
        Strength of the penalty, above 0; choose it by cross-validation.
    temperature : float
        Scale of differences between cosines, above 0.
    leave_one_out : bool
        Whether to remove a document from the centroid of its class before the comparison.
        Otherwise words that occur only in this document make it similar to its class.
    definite : bool
        Whether to shrink a learned S until it is positive semidefinite. If only weights are
        learned, S stays unchanged.
    max_iterations : int
    tolerance : float
        Limit of the largest entry of the projected gradient.

    Attributes
    ----------
    S_ : TermSimilarityMatrix
    term_weights_ : ndarray of shape (n_terms,), float64
    classes_ : ndarray of shape (n_classes,)
    objective_before_, objective_ : float
        Objective, without the penalty, of the given matrix and of the learned `S_` and
        `term_weights_`; higher is better.
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    *the* occurs in all documents and is useless; *ball* separates sports from cooking:

    >>> X = [[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1]]  # the, ball, pan
    >>> metric = SoftMetric(strength=0.01).fit(X, ["sport", "sport", "food", "food"])
    >>> metric.term_weights_.round(1)
    array([0.5, 1. , 1. ])
    """

    S_: TermSimilarityMatrix
    term_weights_: NDArray[np.float64]
    classes_: NDArray[Any]

    def __init__(
        self,
        S: TermSimilarityMatrix | None = None,
        *,
        learn: str = "terms",
        objective: str = "contrast",
        strength: float = 1.0,
        temperature: float = 0.1,
        leave_one_out: bool = True,
        definite: bool = True,
        max_iterations: int = 100,
        tolerance: float = 1e-5,
    ) -> None:
        self.S = S
        self.learn = learn
        self.objective = objective
        self.strength = strength
        self.temperature = temperature
        self.leave_one_out = leave_one_out
        self.definite = definite
        self.max_iterations = max_iterations
        self.tolerance = tolerance

    def fit(self, X: Vectors, y: ArrayLike) -> Self:
        """Learn from labelled documents.

        Parameters
        ----------
        X : array or sparse array of shape (n_docs, n_terms)
            Non-negative, such as tf-idf. Rows of length 1 are best, so that long documents do not
            dominate the centroids.
        y : array of shape (n_docs,)
            Class of each document.

        Raises
        ------
        InvalidInputError
            If a weight is negative, a setting is out of range, or the objective is ``"contrast"``
            and there is only one class.
        VocabularyMismatchError
            If X and S have different numbers of terms.
        """
        self.__dict__.pop("term_weights_", None)  # unfitted if `fit` fails
        if y is None:
            raise InvalidInputError("requires y to be passed, but the target y is None")
        documents, labels = self._labelled(X, y)
        check_number("strength", self.strength, above=0)
        check_number("temperature", self.temperature, above=0)
        check_number("tolerance", self.tolerance, above=0)
        check_whole("max_iterations", self.max_iterations)
        S = self._given(documents.shape[1])
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        sizes = np.bincount(numbers).astype(np.float64)
        check_choice("objective", self.objective, OBJECTIVES)
        if len(sizes) < 2 and self.objective == "contrast":
            raise InvalidInputError(
                "y has one class only; at least two are needed to tell them apart."
            )
        shape = (len(sizes), len(numbers))
        members = csr_array((np.ones(len(numbers)), (numbers, np.arange(len(numbers)))), shape)
        centroids = (members @ documents).toarray() / sizes[:, None]
        check_choice("learn", self.learn, _PARAMETERS)
        parameters = _PARAMETERS[self.learn](S, documents, centroids)
        cosines = CentroidCosines(numbers, sizes, bool(self.leave_one_out))
        learned, weights = parameters.matrix(self._maximize(parameters, cosines))
        self.S_ = learned.shrunk() if self.definite and learned is not self.S else learned
        reached = cosines.values(seen_through(self.S_, weights, documents, centroids))
        score = OBJECTIVES[self.objective]
        self.objective_ = score(reached, numbers, float(self.temperature))[0]
        self.term_weights_ = weights
        return self

    def transform(self, X: Vectors) -> csr_array | NDArray[np.float64]:
        """Return documents with the learned term weights, to compare by `S_`.

        Parameters
        ----------
        X : array or sparse array of shape (n_docs, n_terms)

        Returns
        -------
        csr_array or ndarray of shape (n_docs, n_terms), float64
            Sparse if X is.
        """
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this SoftMetric is not fitted yet; call fit(X, y) first.")
        refuse_texts(X, "X")
        checked = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        documents = coordinates(checked, len(self.term_weights_), "X")
        weighted = csr_array(documents * self.term_weights_)
        return weighted if issparse(X) else weighted.toarray()

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` was called."""
        return hasattr(self, "term_weights_")

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        return tags

    def _labelled(self, X: Vectors, y: ArrayLike) -> tuple[csr_array, NDArray[Any]]:
        refuse_texts(X, "X")
        checked, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(labels)
        return coordinates(checked, checked.shape[1], "X"), column_or_1d(labels)

    def _given(self, n_terms: int) -> TermSimilarityMatrix:
        if self.S is None:
            return TermSimilarityMatrix.identity(Vocabulary.numbered(n_terms))
        if len(checked_similarity(self.S)) != n_terms:
            raise VocabularyMismatchError(
                f"X has {n_terms} terms but S has {len(self.S)}; build both from one vocabulary."
            )
        check_names(self.S.vocabulary, getattr(self, "feature_names_in_", None))
        return self.S

    def _maximize(
        self, parameters: MetricParameters, cosines: CentroidCosines
    ) -> NDArray[np.float64]:
        objective = OBJECTIVES[self.objective]
        pull = float(self.strength) / (2.0 * len(cosines.labels))

        def value(free: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            products = parameters.products(free)
            reached, of_cosines = objective(
                cosines.values(products), cosines.labels, float(self.temperature)
            )
            return reached, parameters.gradient(free, cosines.gradient(products, of_cosines))

        def loss(free: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            reached, gradient = value(free)
            distance, away = parameters.pull(free)
            return pull * distance - reached, pull * away - gradient

        self.objective_before_ = value(parameters.start)[0]
        self.n_iter_, self.converged_ = 0, True
        if not len(parameters.start):  # S has no pairs, and only pairs are learned
            return parameters.start
        found = minimize(
            loss, parameters.start, jac=True, method="L-BFGS-B",
            bounds=None if parameters.bounds is None else Bounds(*parameters.bounds),
            options={"maxiter": int(self.max_iterations), "gtol": self.tolerance, "ftol": 0.0},
        )  # fmt: skip
        best = found.x
        if parameters.bounds is not None:  # they hold up to rounding
            best = np.clip(best, *parameters.bounds)
        self.n_iter_, self.converged_ = int(found.nit), found.status != 1
        return np.asarray(best)


_Maker = Callable[[TermSimilarityMatrix, csr_array, NDArray[np.float64]], MetricParameters]


def _sparse(*, terms: bool, pairs: bool) -> _Maker:
    def make(
        S: TermSimilarityMatrix, X: csr_array, centroids: NDArray[np.float64]
    ) -> MetricParameters:
        return SparseMatrix(PairPattern.of(S), X, centroids, terms=terms, pairs=pairs)

    return make


def _full(S: TermSimilarityMatrix, X: csr_array, centroids: NDArray[np.float64]) -> FullMatrix:
    S.require_symmetric("learning a metric")
    if len(S) > _MOST_FULL:
        raise InvalidInputError(
            f"a full matrix of {len(S)} terms cannot be learned, at most {_MOST_FULL} can; take "
            'learn="both" and an S that names the pairs.'
        )
    return FullMatrix(S, X, centroids)


_PARAMETERS: dict[str, _Maker] = {
    "terms": _sparse(terms=True, pairs=False),
    "pairs": _sparse(terms=False, pairs=True),
    "both": _sparse(terms=True, pairs=True),
    "full": _full,
}
