"""Result of SNOS, and the soft vector space that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array, issparse

from softcosine.errors import InvalidInputError
from softcosine.lab.snos.graph import normalized, read_graph
from softcosine.lab.snos.scaling import Lambdas
from softcosine.lab.snos.trace import Trace

Similarities: TypeAlias = NDArray[np.float64] | csr_array
Dense = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SnosResult:
    """Similarities of objects and of features, and how they were learned.

    Attributes
    ----------
    S_o : ndarray or csr_array of shape (n_objects, n_objects)
        Symmetric, unit diagonal, non-negative; sparse if truncated.
    S_f : ndarray or csr_array of shape (n_features, n_features), or None
        None if it was never formed; `feature_similarities` then computes rows of it.
    lambdas : (float, float)
        λ₁, of the objects, and λ₂, of the features.
    trace : Trace
    method : str
        "dense", "factored" or "sparse".
    B : csr_array of shape (n_features, n_objects)
        The training weights, scaled.
    normalize : str
        The scaling.
    feature_sums : ndarray of shape (n_features,)
        Sums before the scaling.
    object_diagonal, feature_diagonal : ndarray
        The diagonals before they were set to 1: those of L₁ and L₂ are 1 minus these.
    """

    S_o: Similarities
    S_f: Similarities | None
    lambdas: Lambdas
    trace: Trace
    method: str
    B: csr_array
    normalize: str
    feature_sums: Dense
    object_diagonal: Dense
    feature_diagonal: Dense

    @property
    def converged(self) -> bool:
        """Whether no entry changed by more than the tolerance in the last round."""
        return self.trace.converged

    @property
    def diverged(self) -> str | None:
        """Why the similarities diverged; None if they did not."""
        return self.trace.diverged

    @property
    def remainders(self) -> tuple[float, float]:
        """Frobenius norms of L₁ and L₂: the unexplained share of the diagonals."""
        return (
            float(np.linalg.norm(1.0 - self.object_diagonal)),
            float(np.linalg.norm(1.0 - self.feature_diagonal)),
        )

    @property
    def soft_cosines(self) -> Similarities:
        """Soft cosines of the objects in the space of S_f, shape (n_objects, n_objects).

        S_o with its original diagonal is λ₁ Bᵀ S_f B, the soft inner products. Objects
        without features have the diagonal 1 and are similar to nothing else.
        """
        roots = _inverse_roots(self.object_diagonal)
        if issparse(self.S_o):
            cosines = csr_array(diags_array(roots) @ self.S_o @ diags_array(roots))
            cosines.setdiag(1.0)
            return cosines
        cosines = self.S_o * roots[:, None] * roots
        np.fill_diagonal(cosines, 1.0)
        return cosines

    def feature_similarities(self, features: ArrayLike | None = None) -> Dense:
        """Rows of S_f, computed if it was not formed: λ₂ B S_o Bᵀ with unit diagonal.

        Parameters
        ----------
        features : array of int, optional
            Their numbers; all by default.
        """
        rows = np.arange(self.B.shape[0]) if features is None else np.atleast_1d(features)
        if self.S_f is not None:
            chosen = self.S_f[rows]
            return _dense(chosen)
        similar: Dense = self.lambdas[1] * (self.B @ (self.B[rows] @ self.S_o).T).T
        similar[np.arange(len(rows)), rows] = 1.0
        return similar

    def weights(self, X: Any) -> csr_array:
        """Return the features of new objects, scaled like the training objects.

        Parameters
        ----------
        X : array or sparse array of shape (n, n_features)
            One object a row.

        Raises
        ------
        InvalidInputError
            If X has another number of features, or a negative weight.
        """
        X = read_graph(X, "X")
        if X.shape[1] != self.B.shape[0]:
            raise InvalidInputError(
                f"X has {X.shape[1]} features, but similarities were learned of "
                f"{self.B.shape[0]}; give the same columns."
            )
        scaled = normalized(csr_array(X.T), self.normalize, feature_sums=self.feature_sums)
        return csr_array(scaled.T)

    def products(self, X: Any) -> tuple[Dense, Dense]:
        """Soft inner products of new objects with the training objects, times λ₁.

        For a training object these are its row of S_o, except the diagonal.

        Parameters
        ----------
        X : array or sparse array of shape (n, n_features)
            One object a row; read by `weights`.

        Returns
        -------
        ndarray of shape (n, n_objects), ndarray of shape (n,)
            With the training objects, and of each row with itself.
        """
        weights = self.weights(X)
        spread = self._spread(weights)
        with_objects = self.lambdas[0] * (self.B.T @ spread.T).T
        rows, columns = weights.tocoo().coords
        own = np.bincount(
            rows, weights=weights.data * spread[rows, columns], minlength=weights.shape[0]
        )
        return with_objects, np.asarray(self.lambdas[0] * own, np.float64)

    def cosines(self, X: Any) -> Dense:
        """Soft cosines of new objects with the training objects, shape (n, n_objects).

        0 for objects without features. Not clipped: they exceed 1 if S_f is indefinite.
        """
        products, own = self.products(X)
        products *= _inverse_roots(own)[:, None]
        products *= _inverse_roots(self.object_diagonal)
        return products

    def _spread(self, weights: csr_array) -> Dense:
        """Return X S_f."""
        if self.S_f is not None:
            spread = weights @ self.S_f
            return _dense(spread)
        spread = self.lambdas[1] * (self.B @ ((weights @ self.B) @ self.S_o).T).T
        rows, columns = weights.tocoo().coords
        spread[rows, columns] += weights.data * (1.0 - self.feature_diagonal)[columns]
        return np.asarray(spread)


def _dense(S: Any) -> Dense:
    whole: Dense = S.toarray() if issparse(S) else S
    return whole


def _inverse_roots(squares: Dense) -> Dense:
    # Objects without features have length 0, and only rounding could make a square negative.
    positive = squares > 0.0
    return np.divide(1.0, np.sqrt(np.where(positive, squares, 1.0)), out=np.zeros_like(squares),
                     where=positive)  # fmt: skip
