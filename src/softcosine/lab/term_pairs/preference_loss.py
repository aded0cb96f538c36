"""Loss of scores against preferences, as a function of the similarities of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from scipy.special import expit

from softcosine.errors import InvalidInputError
from softcosine.lab.term_pairs.preferences import Preferences
from softcosine.space.pair_pattern import PairPattern, own_products

_Floats = NDArray[np.float64]

MEASURES = ("inner_product", "soft_cosine")


PARTS = ("pairs", "terms")


@dataclass(frozen=True, slots=True, eq=False)
class _Linear:
    """A linear function of the parameters: ``fixed + products @ values``."""

    fixed: _Floats
    products: csr_array

    def __call__(self, values: _Floats) -> _Floats:
        return np.asarray(self.fixed + self.products @ values)

    def chosen(self, given: _Floats, columns: NDArray[np.int64]) -> _Linear:
        """Restrict to some columns; the others are fixed at their given values."""
        kept = csr_array(self.products[:, columns])
        fixed = self.fixed + self.products @ given - kept @ given[columns]
        return _Linear(np.asarray(fixed), kept)


@dataclass(frozen=True, slots=True, eq=False)
class PreferenceLoss:
    r"""Pairwise logistic loss of the scores f of a query's documents.

    .. math:: \sum_{(q, b, w)} \omega \, \ln\bigl(1 + e^{-(f(q, b) - f(q, w)) / \tau}\bigr)

    The parameters are entries of a symmetric matrix M: diagonal entries, one per term, and
    entries of pairs.

    Attributes
    ----------
    terms : ndarray, int64
        Terms with a learned entry.
    pairs : ndarray, int64
        Pairs of the pattern with a learned entry: those that affect a score.
    given : ndarray of shape (n_terms + n_pairs learned,), float64
        Initial values, terms first.
    scale : float
        tau, the unit of score differences.
    """

    terms: NDArray[np.int64]
    pairs: NDArray[np.int64]
    given: _Floats
    scale: float
    _products: _Linear
    _better: NDArray[np.int64]
    _worse: NDArray[np.int64]
    _weights: _Floats
    _norms: tuple[tuple[_Linear, NDArray[np.int64]], ...]

    @classmethod
    def of(
        cls,
        pattern: PairPattern,
        Q: csr_array,
        D: csr_array,
        preferences: Preferences,
        *,
        measure: str = "inner_product",
        learn: Sequence[str] = ("pairs",),
        scale: float | None = None,
    ) -> PreferenceLoss:
        """Return the loss; computes all that does not depend on the parameters.

        Parameters
        ----------
        pattern : PairPattern
        Q, D : csr_array of shape (any, n_terms), float64
            Non-negative.
        preferences : Preferences
        measure : {"inner_product", "soft_cosine"}
        learn : sequence of {"pairs", "terms"}
        scale : float, optional
            By default the mean absolute difference of scores with the initial values.
        """
        if measure not in MEASURES:
            raise InvalidInputError(
                f"measure is {measure!r}; choose one of {', '.join(MEASURES)}. For soft BM25 take "
                "the inner product of bm25_vectors."
            )
        preferences.check(Q.shape[0], D.shape[0])
        # One number per query and document sorts faster than a row of two.
        n_docs = max(D.shape[0], 1)
        compared = np.concatenate([preferences.better, preferences.worse])
        compared += n_docs * np.tile(preferences.queries, 2)
        distinct, numbers = np.unique(compared, return_inverse=True)
        x_rows, y_rows = distinct // n_docs, distinct % n_docs
        exact = csr_array(Q[x_rows]) * csr_array(D[y_rows])
        linear = [_entries(exact, pattern.products(Q, D, x_rows, y_rows))]
        places = []
        if measure == "soft_cosine":
            for X, rows in ((Q, x_rows), (D, y_rows)):
                own, place = np.unique(rows, return_inverse=True)
                part = csr_array(X[own])
                linear.append(_entries(csr_array(part * part), own_products(pattern, part)))
                places.append(place)
        n = len(pattern.S)
        given = np.concatenate([np.ones(n), pattern.given])
        free = np.repeat(["terms" in learn, "pairs" in learn], [n, len(pattern)])
        reached = np.unique(np.concatenate([part.products.indices for part in linear]))
        reached = reached[free[reached]].astype(np.int64)
        linear = [part.chosen(given, reached) for part in linear]
        loss = cls(
            terms=reached[reached < n],
            pairs=reached[reached >= n] - n,
            given=given[reached],
            scale=1.0,
            _products=linear[0],
            _better=numbers[: len(preferences)],
            _worse=numbers[len(preferences) :],
            _weights=preferences.weights,
            _norms=tuple(zip(linear[1:], places, strict=True)),
        )
        if scale is None:
            scale = float(np.abs(loss.margins(loss.given)) @ loss._weights) or 1.0
        object.__setattr__(loss, "scale", scale)
        return loss

    def scores(self, values: _Floats) -> _Floats:
        """Return f of every pair of query and document in the triples."""
        scores = self._products(values)
        for squares, places in self._norms:
            scores = scores * _reciprocal_roots(squares(values))[places]
        return np.asarray(scores)

    def margins(self, values: _Floats) -> _Floats:
        """Return f(q, better) - f(q, worse) of every triple."""
        scores = self.scores(values)
        return np.asarray(scores[self._better] - scores[self._worse])

    def accuracy(self, values: _Floats) -> float:
        """Return the share of the preferences that the scores agree with; ties count a half."""
        margins = self.margins(values)
        return float(((margins > 0) + 0.5 * (margins == 0)) @ self._weights)

    def __call__(self, values: _Floats) -> tuple[float, _Floats]:
        """Return the loss and its gradient, of the shape of `given`."""
        margins = self.margins(values) / self.scale
        loss = float(np.logaddexp(0.0, -margins) @ self._weights)
        slope = -expit(-margins) * self._weights / self.scale
        n = len(self._products.fixed)
        of_scores = np.zeros(n)
        of_scores += np.bincount(self._better, slope, n)
        of_scores -= np.bincount(self._worse, slope, n)
        return loss, self._gradient(values, of_scores)

    def _gradient(self, values: _Floats, of_scores: _Floats) -> _Floats:
        """Return the gradient with respect to the parameters, given that of the scores."""
        factors = [_reciprocal_roots(squares(values)) for squares, _ in self._norms]
        scores, per_product = self.scores(values), of_scores.copy()
        for factor, (_, places) in zip(factors, self._norms, strict=True):
            per_product *= factor[places]
        gradient = self._products.products.T @ per_product
        for factor, (squares, places) in zip(factors, self._norms, strict=True):
            # The derivative of f by the logarithm of a squared norm is -f / 2.
            falls = np.bincount(places, of_scores * scores, len(factor))
            gradient -= squares.products.T @ (0.5 * falls * factor**2)
        return np.asarray(gradient)


def _entries(exact: csr_array, products: csr_array) -> _Linear:
    """Join the coefficients of the diagonal and of the pairs."""
    return _Linear(np.zeros(exact.shape[0]), csr_array(hstack([exact, products], format="csr")))


def _reciprocal_roots(squares: _Floats) -> _Floats:
    positive = squares > 0
    return np.where(positive, 1.0 / np.sqrt(np.where(positive, squares, 1.0)), 0.0)
