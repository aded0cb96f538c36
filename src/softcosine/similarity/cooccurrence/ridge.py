"""Ridge regression on sparse rows by conjugate gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._progress import Progress

__all__ = ["ridge_regression"]

_COLUMNS = 64  # columns of Y per block: arrays of about 50 MB for 100,000 terms
_TOLERANCE = 1e-6  # tolerance of the residual, relative to the right side
_MAX_STEPS = 500


def ridge_regression(
    X: csr_array,
    Y: NDArray[np.float64],
    *,
    penalty: float,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    r"""Return the B that minimises :math:`|Y - XB|^2 + \lambda |B|^2`.

    Solves :math:`(X^\top X + \lambda I) B = X^\top Y` (Hestenes & Stiefel 1952), each column of Y
    separately, without forming X^T X. The condition number is at most 1 + sigma(X)^2 / lambda: some
    tens of steps for rows of length 1.

    Parameters
    ----------
    X : csr_array of shape (n_rows, n_features), float64
    Y : ndarray of shape (n_rows, n_targets), float64
    penalty : float
        lambda, above 0.
    progress : callable, optional
        Called as ``progress(done, total)``, in targets.

    Returns
    -------
    ndarray of shape (n_features, n_targets), float64
    """
    transposed = X.T.tocsr()
    B = np.empty((X.shape[1], Y.shape[1]))
    for start in range(0, Y.shape[1], _COLUMNS):
        stop = min(start + _COLUMNS, Y.shape[1])
        B[:, start:stop] = _solved(X, transposed, transposed @ Y[:, start:stop], penalty)
        if progress is not None:
            progress(stop, Y.shape[1])
    return B


def _solved(
    X: csr_array, transposed: csr_array, right: NDArray[np.float64], penalty: float
) -> NDArray[np.float64]:
    """Conjugate gradients from 0; converged columns are not changed any more."""
    B = np.zeros_like(right)
    residual = right.copy()
    direction = residual.copy()
    square = _squares(residual)
    enough = _TOLERANCE**2 * square
    for _ in range(_MAX_STEPS):
        going = square > enough
        if not going.any():
            break
        image = transposed @ (X @ direction) + penalty * direction
        curvature = np.einsum("ij,ij->j", direction, image)
        step = np.divide(square, curvature, out=np.zeros_like(square), where=going)
        B += step * direction
        residual -= step * image
        before, square = square, np.where(going, _squares(residual), square)
        share = np.divide(square, before, out=np.zeros_like(square), where=going)
        direction = residual + share * direction
    return B


def _squares(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = np.einsum("ij,ij->j", columns, columns)
    return sums
