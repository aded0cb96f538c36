"""From sums of word pieces to the coordinates that an encoder would give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

_RIDGE = 0.1  # of the mean variance of a coordinate; chosen on collections of questions


@dataclass(frozen=True, slots=True)
class StaticCorrection:
    """Ridge regression of encoded documents on the sums of their word pieces, both of length 1.

    Attributes
    ----------
    means : tuple of ndarray of shape (dimensions,), float64
        Of the sums, and of the encoded documents.
    matrix : ndarray of shape (dimensions, dimensions), float64
    """

    means: tuple[NDArray[np.float64], NDArray[np.float64]]
    matrix: NDArray[np.float64]

    @classmethod
    def fitted(cls, sums: NDArray[np.float64], encoded: NDArray[np.int8]) -> Self:
        """Return the correction of some documents, (n_docs, dimensions) each; none may be zero."""
        X, Y = _units(sums), _units(encoded.astype(np.float64))
        means = X.mean(axis=0), Y.mean(axis=0)
        X, Y = X - means[0], Y - means[1]
        covariance = X.T @ X
        ridge = _RIDGE * np.trace(covariance) / len(covariance)
        covariance[np.diag_indices_from(covariance)] += max(ridge, np.finfo(float).tiny)
        return cls(means, np.linalg.solve(covariance, X.T @ Y))

    def corrected(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the predicted coordinates of documents; zeros stay zeros."""
        predicted: NDArray[np.float64] = (_units(sums) - self.means[0]) @ self.matrix
        predicted += self.means[1]
        predicted[~sums.any(axis=1)] = 0.0
        return predicted


def _units(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units: NDArray[np.float64] = np.divide(
        rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0
    )
    return units
