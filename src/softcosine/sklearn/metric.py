"""Term weights and a term similarity matrix learned from labelled documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_array, issparse
from scipy.special import log_softmax, softmax

from softcosine._validation import check_choice, check_number, check_whole
from softcosine.errors import InvalidInputError
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.estimator import SoftEstimator, Vectors, given_similarity, row_blocks
from softcosine.sklearn.scikit import OneToOneFeatureMixin, TransformerMixin
from softcosine.space.pair_pattern import PairPattern, own_products
from softcosine.text.vocabulary import Vocabulary

_Floats = NDArray[np.float64]


class SoftMetric(OneToOneFeatureMixin, TransformerMixin, SoftEstimator):  # type: ignore[misc]
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
    learn : {"terms", "both"}
        Term weights, or also the similarities of the pairs in S, which is then shrunk until it is
        positive semidefinite.
    strength : float
        Strength of the penalty, above 0; choose it by cross-validation.
    temperature : float
        Scale of differences between cosines, above 0.
    max_iterations : int
    tolerance : float
        Limit of the largest entry of the projected gradient.

    Attributes
    ----------
    S_ : TermSimilarityMatrix
    term_weights_ : ndarray of shape (n_terms,), float64
    classes_ : ndarray of shape (n_classes,)
    objective_before_, objective_ : float
        Mean log-likelihood of the own class, of the given matrix and of the learned `S_` and
        `term_weights_`; a class has likelihood exp(cosine / temperature).
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

    term_weights_: NDArray[np.float64]
    classes_: NDArray[Any]
    _fitted, _call, _non_negative = "term_weights_", "fit(X, y)", True

    def __init__(
        self,
        S: TermSimilarityMatrix | None = None,
        *,
        learn: str = "terms",
        strength: float = 1.0,
        temperature: float = 0.1,
        max_iterations: int = 100,
        tolerance: float = 1e-5,
    ) -> None:
        self.S = S
        self.learn = learn
        self.strength = strength
        self.temperature = temperature
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
            If a weight is negative, a setting is out of range, or there is only one class.
        VocabularyMismatchError
            If X and S have different numbers of terms.
        """
        documents, labels = self._labelled(X, y)
        check_number("strength", self.strength, above=0)
        check_number("temperature", self.temperature, above=0)
        check_number("tolerance", self.tolerance, above=0)
        check_whole("max_iterations", self.max_iterations)
        S = self._given(documents.shape[1])
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        sizes = np.bincount(numbers).astype(np.float64)
        check_choice("learn", self.learn, ("terms", "both"))
        if len(sizes) < 2:
            raise InvalidInputError("y has one class only; at least two are needed.")
        shape = (len(sizes), len(numbers))
        members = csr_array((np.ones(len(numbers)), (numbers, np.arange(len(numbers)))), shape)
        centroids = (members @ documents).toarray() / sizes[:, None]
        pairs = self.learn == "both"
        parameters = MetricParameters(PairPattern.of(S), documents, centroids, pairs=pairs)
        cosines = CentroidCosines(numbers, sizes)
        learned, weights = parameters.matrix(self._maximize(parameters, cosines))
        self.S_ = learned.shrunk() if pairs else learned
        reached = cosines.values(_products(self.S_, weights, documents, centroids))
        self.objective_ = _contrast(reached, numbers, float(self.temperature))[0]
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
        weighted = csr_array(self._documents(X) * self.term_weights_)
        return weighted if issparse(X) else weighted.toarray()

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _given(self, n_terms: int) -> TermSimilarityMatrix:
        if self.S is None:
            return TermSimilarityMatrix.identity(Vocabulary.numbered(n_terms))
        return given_similarity(self.S, n_terms, getattr(self, "feature_names_in_", None))

    def _maximize(self, parameters: MetricParameters, cosines: CentroidCosines) -> _Floats:
        pull = float(self.strength) / (2.0 * len(cosines.labels))

        def value(free: _Floats) -> tuple[float, _Floats]:
            products = parameters.products(free)
            reached, of_cosines = _contrast(
                cosines.values(products), cosines.labels, float(self.temperature)
            )
            return reached, parameters.gradient(free, cosines.gradient(products, of_cosines))

        def loss(free: _Floats) -> tuple[float, _Floats]:
            reached, gradient = value(free)
            distance, away = parameters.pull(free)
            return pull * distance - reached, pull * away - gradient

        self.objective_before_ = value(parameters.start)[0]
        options = {"maxiter": int(self.max_iterations), "gtol": self.tolerance, "ftol": 0.0}
        limits = {"bounds": Bounds(0.0, parameters.limits), "options": options}
        minimum = minimize(loss, parameters.start, jac=True, method="L-BFGS-B", **limits)
        self.n_iter_, self.converged_ = int(minimum.nit), minimum.status != 1
        return np.asarray(np.clip(minimum.x, 0.0, parameters.limits))  # bounds hold up to rounding


def _products(
    S: TermSimilarityMatrix, weights: _Floats, X: csr_array, centroids: _Floats
) -> Products:
    """Return x'Mc, x'Mx and c'Mc of documents and centroids, with M = W S W."""
    matrix = S.to_scipy().astype(np.float64)
    documents = csr_array(X * weights)
    image = np.asarray(matrix @ (centroids * weights).T)
    squares = [(csr_array(part @ matrix) * part).sum(axis=1) for part in row_blocks(documents)]
    return Products(
        np.asarray(documents @ image),
        np.concatenate([np.empty(0), *squares]),
        np.einsum("ki,ik->k", centroids * weights, image),
    )


class MetricParameters:
    """M = W S W with learned term weights, and maybe learned similarities of the pairs in S.

    Weights are at least 0, similarities from 0 to 1.

    Parameters
    ----------
    pattern : PairPattern
    X : csr_array of shape (n_docs, n_terms), float64
    centroids : ndarray of shape (n_classes, n_terms), float64
    pairs : bool
        Whether the similarities of pairs are learned.
    """

    def __init__(
        self, pattern: PairPattern, X: csr_array, centroids: _Floats, *, pairs: bool
    ) -> None:
        self._pattern, self._X = pattern, X
        self._centroids = np.ascontiguousarray(centroids.T)
        self._squares = csr_array(X * X)
        self._squares_transposed = csr_array(self._squares.T)
        self._transposed = csr_array(X.T)
        self._products = own_products(pattern, X)
        self._pairs = pairs
        weights = np.ones(len(pattern.S))
        similarities = pattern.given if pairs else np.empty(0)
        self.start = np.concatenate([weights, similarities])
        self.limits = np.concatenate([weights * np.inf, np.maximum(similarities, 1.0)])

    def products(self, parameters: _Floats) -> Products:
        """Return x'Mc, x'Mx and c'Mc."""
        weights, similarities = self._whole(parameters)
        diagonal, pairs = weights**2, similarities * self._both(weights)
        image = self._pattern.with_diagonal(pairs, diagonal) @ self._centroids
        return Products(
            np.asarray(self._X @ image),
            np.asarray(self._squares @ diagonal + self._products @ pairs),
            np.einsum("ik,ik->k", self._centroids, image),
        )

    def gradient(self, parameters: _Floats, of_products: Products) -> _Floats:
        """Return the gradient with respect to the parameters, given that of the products."""
        weights, similarities = self._whole(parameters)
        # Gradient of x'Mc and c'Mc together: the matrix left c', at the entries of the pattern.
        left = np.asarray(self._transposed @ of_products.between)
        left += self._centroids * of_products.centroids
        of_pairs = self._pattern.sampled(left, self._centroids)
        of_pairs += self._products.T @ of_products.documents
        diagonal = np.einsum("ik,ik->i", left, self._centroids)
        diagonal += self._squares_transposed @ of_products.documents
        rows, columns = self._pattern.rows, self._pattern.columns
        shared, n = of_pairs * similarities, len(weights)
        of_weights = 2.0 * weights * diagonal
        of_weights += np.bincount(rows, shared * weights[columns], n)
        of_weights += np.bincount(columns, shared * weights[rows], n)
        return np.concatenate([of_weights, of_pairs * self._both(weights) if self._pairs else []])

    def pull(self, parameters: _Floats) -> tuple[float, _Floats]:
        """Return the squared distance from weights of 1 and the given S, and its gradient.

        A weight counts by its square, its entry on the diagonal of M.
        """
        moved, n = parameters - self.start, len(self._pattern.S)
        weights = parameters[:n]
        moved[:n] = weights**2 - 1.0
        gradient = 2.0 * moved
        gradient[:n] *= 2.0 * weights
        return float(moved @ moved), gradient

    def matrix(self, parameters: _Floats) -> tuple[TermSimilarityMatrix, _Floats]:
        """Return S of unit diagonal and term weights W, with M = W S W."""
        weights, similarities = self._whole(parameters)
        if not self._pairs:
            return self._pattern.S, weights
        ones = np.ones(len(weights))
        return self._pattern.normalized(similarities, ones, learned="metric")[0], weights

    def _whole(self, parameters: _Floats) -> tuple[_Floats, _Floats]:
        n = len(self._pattern.S)
        return parameters[:n], parameters[n:] if self._pairs else self._pattern.given

    def _both(self, weights: _Floats) -> _Floats:
        return np.asarray(weights[self._pattern.rows] * weights[self._pattern.columns])


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """Inner products of documents x and centroids c, or gradients with respect to them.

    Attributes
    ----------
    between : ndarray of shape (n_docs, n_classes)
        x'Mc.
    documents : ndarray of shape (n_docs,)
        x'Mx.
    centroids : ndarray of shape (n_classes,)
        c'Mc.
    """

    between: _Floats
    documents: _Floats
    centroids: _Floats


@dataclass(frozen=True, slots=True, eq=False)
class CentroidCosines:
    """Cosines from products, and gradients back to the products.

    A document is removed from the centroid of its class before the comparison. Otherwise words that
    occur only in this document would make it similar to its class.

    Parameters
    ----------
    labels : ndarray of shape (n_docs,), int64
        Class of every document.
    sizes : ndarray of shape (n_classes,), float64
    """

    labels: NDArray[np.int64]
    sizes: _Floats

    def values(self, products: Products) -> _Floats:
        """Return the cosines, shape (n_docs, n_classes); 0 where a norm is 0."""
        between, squares = self._left_out(products)
        return between * _roots(squares, products.documents)

    def gradient(self, products: Products, of_cosines: _Floats) -> Products:
        """Return the gradient with respect to the products, given that of the cosines."""
        between, squares = self._left_out(products)
        roots = _roots(squares, products.documents)
        per_between = of_cosines * roots
        falls = -0.5 * of_cosines * between * roots
        per_square = np.divide(falls, squares, out=np.zeros_like(falls), where=roots > 0)
        documents, per_document = products.documents, np.zeros_like(products.documents)
        np.divide(falls.sum(axis=1), documents, out=per_document, where=documents > 0)
        rows = np.arange(len(self.labels))
        n, own = self.sizes[self.labels], (rows, self.labels)
        rest = np.maximum(n - 1.0, 1.0)
        ours, squared = per_between[own], per_square[own]
        per_between[own] = ours * n / rest - squared * 2.0 * n / rest**2
        per_document = per_document - ours / rest + squared / rest**2
        per_square[own] = squared * (n / rest) ** 2
        return Products(per_between, per_document, per_square.sum(axis=0))

    def _left_out(self, products: Products) -> tuple[_Floats, _Floats]:
        """Return x'Mc and c'Mc for every document and class."""
        squares = np.broadcast_to(products.centroids, products.between.shape).copy()
        between = products.between.copy()
        own = (np.arange(len(self.labels)), self.labels)
        n, alone = self.sizes[self.labels], self.sizes[self.labels] == 1
        rest = np.maximum(n - 1.0, 1.0)
        ours, square = between[own], products.documents
        whole = products.centroids[self.labels]
        rest_square = (n**2 * whole - 2.0 * n * ours + square) / rest**2
        # The difference of equal numbers is rounding only.
        rest_square[rest_square <= 1e-12 * n**2 * whole / rest**2] = 0.0
        squares[own] = np.where(alone, 0.0, rest_square)
        between[own] = np.where(alone, 0.0, (n * ours - square) / rest)
        return between, squares


def _roots(squares: _Floats, documents: _Floats) -> _Floats:
    """1 / sqrt(c'Mc x'Mx), and 0 where either is not above 0."""
    product = squares * documents[:, None]
    positive = (squares > 0) & (documents > 0)[:, None] & (product > 0)
    return np.where(positive, 1.0 / np.sqrt(np.where(positive, product, 1.0)), 0.0)


def _contrast(
    cosines: _Floats, labels: NDArray[np.int64], temperature: float
) -> tuple[float, _Floats]:
    """Mean log-likelihood of the own class; a class has likelihood exp(cosine / temperature)."""
    rows = np.arange(len(labels))
    gradient = -softmax(cosines / temperature, axis=1)
    gradient[rows, labels] += 1.0
    likely = log_softmax(cosines / temperature, axis=1)[rows, labels]
    return float(likely.mean()), gradient / (temperature * len(labels))
