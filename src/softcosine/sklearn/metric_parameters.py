"""The matrix M of a learned metric: sparse, or full for few terms (T16)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.centroid_cosines import Products
from softcosine.sklearn.estimator import row_blocks
from softcosine.space.pair_pattern import PairPattern, own_products

__all__ = ["FullMatrix", "MetricParameters", "SparseMatrix", "seen_through"]

_Floats = NDArray[np.float64]


class MetricParameters(Protocol):
    """A matrix M as a vector of free parameters, and products under it.

    Attributes
    ----------
    start : ndarray of shape (n_parameters,), float64
        Parameters of the given S.
    bounds : (ndarray, ndarray), or None
        Lower and upper bounds.
    """

    start: _Floats
    bounds: tuple[_Floats, _Floats] | None

    def products(self, parameters: _Floats) -> Products:
        """Return x'Mc, x'Mx and c'Mc."""
        ...

    def gradient(self, parameters: _Floats, of_products: Products) -> _Floats:
        """Return the gradient with respect to the parameters, given that of the products."""
        ...

    def pull(self, parameters: _Floats) -> tuple[float, _Floats]:
        """Return the squared distance of M from the given S, and its gradient."""
        ...

    def matrix(self, parameters: _Floats) -> tuple[TermSimilarityMatrix, _Floats]:
        """Return S of unit diagonal and term weights W, with M = W S W."""
        ...


def seen_through(
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


class SparseMatrix:
    """M = W S W with learned term weights, learned similarities of the pairs in a given S, or both.

    Weights are at least 0, similarities from 0 to 1.

    Parameters
    ----------
    pattern : PairPattern
    X : csr_array of shape (n_docs, n_terms), float64
    centroids : ndarray of shape (n_classes, n_terms), float64
    terms, pairs : bool
        What is learned; the rest is as in S.
    """

    def __init__(
        self, pattern: PairPattern, X: csr_array, centroids: _Floats, *, terms: bool, pairs: bool
    ) -> None:
        self._pattern, self._X = pattern, X
        self._centroids = np.ascontiguousarray(centroids.T)
        self._squares = csr_array(X * X)
        self._squares_transposed = csr_array(self._squares.T)
        self._transposed = csr_array(X.T)
        self._products = own_products(pattern, X)
        self._terms, self._pairs = terms, pairs
        n, highest = len(pattern.S), np.maximum(pattern.given, 1.0)
        self.start = np.concatenate(
            [np.ones(n if terms else 0), pattern.given if pairs else np.empty(0)]
        )
        highest = np.concatenate(
            [np.full(n if terms else 0, np.inf), highest if pairs else np.empty(0)]
        )
        self.bounds: tuple[_Floats, _Floats] | None = (np.zeros_like(highest), highest)

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
        parts = []
        if self._terms:
            diagonal = np.einsum("ik,ik->i", left, self._centroids)
            diagonal += self._squares_transposed @ of_products.documents
            rows, columns = self._pattern.rows, self._pattern.columns
            shared, n = of_pairs * similarities, len(weights)
            parts.append(
                2.0 * weights * diagonal
                + np.bincount(rows, shared * weights[columns], n)
                + np.bincount(columns, shared * weights[rows], n)
            )
        if self._pairs:
            parts.append(of_pairs * self._both(weights))
        return np.concatenate(parts)

    def pull(self, parameters: _Floats) -> tuple[float, _Floats]:
        """Return the squared distance from weights of 1 and the given S, and its gradient.

        A weight counts by its square, its entry on the diagonal of M.
        """
        moved, n = parameters - self.start, len(self._pattern.S) if self._terms else 0
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
        n = len(self._pattern.S) if self._terms else 0
        weights = parameters[:n] if self._terms else np.ones(len(self._pattern.S))
        return weights, parameters[n:] if self._pairs else self._pattern.given

    def _both(self, weights: _Floats) -> _Floats:
        return np.asarray(weights[self._pattern.rows] * weights[self._pattern.columns])


class FullMatrix:
    """M = L L', positive semidefinite for any parameters, the entries of L.

    For few terms: memory and time grow with the square of their number.

    Parameters
    ----------
    S : TermSimilarityMatrix
        Symmetric; negative eigenvalues count as 0.
    X : csr_array of shape (n_docs, n_terms), float64
    centroids : ndarray of shape (n_classes, n_terms), float64
    """

    bounds: tuple[_Floats, _Floats] | None = None

    def __init__(self, S: TermSimilarityMatrix, X: csr_array, centroids: _Floats) -> None:
        self._S, self._X, self._centroids = S, X, centroids
        values, vectors = np.linalg.eigh(S.to_scipy().toarray().astype(np.float64))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        self._given = root @ root.T
        self.start = np.ascontiguousarray(root @ vectors.T).ravel()

    def products(self, parameters: _Floats) -> Products:
        """Return x'Mc, x'Mx and c'Mc."""
        factor = self._factor(parameters)
        documents, centroids = self._X @ factor, self._centroids @ factor
        return Products(
            np.asarray(documents @ centroids.T),
            np.einsum("ij,ij->i", documents, documents),
            np.einsum("ij,ij->i", centroids, centroids),
        )

    def gradient(self, parameters: _Floats, of_products: Products) -> _Floats:
        """Return the gradient with respect to the parameters, given that of the products."""
        between = self._X.T @ of_products.between @ self._centroids
        of_matrix = (between + between.T) / 2.0
        of_matrix += (self._X.T @ csr_array(self._X * of_products.documents[:, None])).toarray()
        of_matrix += (self._centroids.T * of_products.centroids) @ self._centroids
        return np.asarray(2.0 * of_matrix @ self._factor(parameters)).ravel()

    def pull(self, parameters: _Floats) -> tuple[float, _Floats]:
        """Return the squared distance from the given S, pairs counted once, and its gradient."""
        factor = self._factor(parameters)
        moved = factor @ factor.T - self._given
        scaled = moved + np.diag(np.diag(moved))
        value = 0.5 * float(np.sum(moved * scaled))
        return value, np.asarray(2.0 * scaled @ factor).ravel()

    def matrix(self, parameters: _Floats) -> tuple[TermSimilarityMatrix, _Floats]:
        """Return S of unit diagonal and term weights W, with M = W S W."""
        factor = self._factor(parameters)
        weights = np.sqrt(np.einsum("ij,ij->i", factor, factor))
        rows = factor / np.where(weights > 0, weights, 1.0)[:, None]
        S = rows @ rows.T
        np.fill_diagonal(S, 1.0)
        matrix = csr_array(S.astype(np.float32))
        settings = {**self._S.settings, "learned": "metric"}
        return TermSimilarityMatrix.from_entries(
            matrix, self._S.vocabulary, settings=settings
        ), weights

    def _factor(self, parameters: _Floats) -> _Floats:
        n = len(self._S)
        return parameters.reshape(n, n)
