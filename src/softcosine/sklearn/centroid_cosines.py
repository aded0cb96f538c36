"""Soft cosines of documents with class centroids, and their gradients with respect to S (T16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

__all__ = ["OBJECTIVES", "CentroidCosines", "Objective", "Products"]

_Floats = NDArray[np.float64]


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

    Parameters
    ----------
    labels : ndarray of shape (n_docs,), int64
        Class of every document.
    sizes : ndarray of shape (n_classes,), float64
    leave_one_out : bool
        Whether to remove a document from the centroid of its class before the comparison.
        Otherwise words that occur only in this document make it similar to its class.
    """

    labels: NDArray[np.int64]
    sizes: _Floats
    leave_one_out: bool

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
        per_document = np.divide(
            falls.sum(axis=1), products.documents, out=np.zeros_like(products.documents),
            where=products.documents > 0,
        )  # fmt: skip
        if not self.leave_one_out:
            return Products(per_between, per_document, per_square.sum(axis=0))
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
        between = products.between
        if self.leave_one_out:
            own = (np.arange(len(self.labels)), self.labels)
            n, alone = self.sizes[self.labels], self.sizes[self.labels] == 1
            rest = np.maximum(n - 1.0, 1.0)
            ours, square = between[own], products.documents
            between = between.copy()
            between[own] = np.where(alone, 0.0, (n * ours - square) / rest)
            whole = products.centroids[self.labels]
            rest_square = (n**2 * whole - 2.0 * n * ours + square) / rest**2
            # The difference of equal numbers is rounding only.
            rest_square[rest_square <= 1e-12 * n**2 * whole / rest**2] = 0.0
            squares[own] = np.where(alone, 0.0, rest_square)
        return between, squares


def _roots(squares: _Floats, documents: _Floats) -> _Floats:
    """1 / sqrt(c'Mc x'Mx), and 0 where either is not above 0."""
    product = squares * documents[:, None]
    positive = (squares > 0) & (documents > 0)[:, None] & (product > 0)
    return np.where(positive, 1.0 / np.sqrt(np.where(positive, product, 1.0)), 0.0)


# Objectives: functions of cosines, labels and a temperature, to be maximized; a mean over the
# documents, and its gradient.
Objective = Callable[[_Floats, NDArray[np.int64], float], tuple[float, _Floats]]


def _closeness(
    cosines: _Floats, labels: NDArray[np.int64], _temperature: float
) -> tuple[float, _Floats]:
    """Mean cosine with the centroid of the own class: the objective of the paper."""
    rows = np.arange(len(labels))
    gradient = np.zeros_like(cosines)
    gradient[rows, labels] = 1.0 / len(labels)
    return float(cosines[rows, labels].mean()), gradient


def _contrast(
    cosines: _Floats, labels: NDArray[np.int64], temperature: float
) -> tuple[float, _Floats]:
    """Mean log-likelihood of the own class; a class has likelihood exp(cosine / temperature)."""
    rows = np.arange(len(labels))
    gradient = -softmax(cosines / temperature, axis=1)
    gradient[rows, labels] += 1.0
    likely = log_softmax(cosines / temperature, axis=1)[rows, labels]
    return float(likely.mean()), gradient / (temperature * len(labels))


OBJECTIVES: dict[str, Objective] = {"contrast": _contrast, "closeness": _closeness}
