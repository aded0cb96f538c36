"""From similarities to decisions: the least score of a label, chosen on other pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_threshold", "decided"]

N_FOLDS = 10


def decided(
    scores: NDArray[np.float64],
    labels: NDArray[np.bool_],
    *,
    n_folds: int = N_FOLDS,
    random_state: int = 0,
) -> NDArray[np.bool_]:
    """Return for every pair whether its score is taken for the label, shape (n_pairs,).

    A pair's own label has no part in it: the least score is chosen on the other folds.

    Parameters
    ----------
    scores : ndarray of shape (n_pairs,)
    labels : ndarray of shape (n_pairs,), bool
    n_folds : int
    random_state : int
        Of the folds.
    """
    n = scores.shape[0]
    folds = np.empty(n, np.int64)
    folds[np.random.default_rng(random_state).permutation(n)] = np.arange(n) % min(n_folds, n)
    said = np.empty(n, np.bool_)
    for fold in range(int(folds.max()) + 1):
        own = folds == fold
        said[own] = scores[own] >= best_threshold(scores[~own], labels[~own])
    return said


def best_threshold(scores: NDArray[np.float64], labels: NDArray[np.bool_]) -> float:
    """Return the least score of the label that errs least; of equal ones, the highest.

    It lies in the middle between two scores, or beyond all of them.

    Examples
    --------
    >>> best_threshold(np.array([0.1, 0.4, 0.9]), np.array([False, False, True]))
    0.65
    """
    order = np.argsort(scores, kind="stable")
    ascending, truth = scores[order], labels[order]
    # Errors where the first i are refused and the others are taken.
    errors = np.concatenate([[0], np.cumsum(truth)]) + (
        np.sum(~truth) - np.concatenate([[0], np.cumsum(~truth)])
    )
    ends = np.concatenate([[-np.inf], ascending, [np.inf]])
    between = ends[1:] > ends[:-1]  # equal scores cannot be told apart
    errors = np.where(between, errors, errors.max() + 1)
    place = int(errors.shape[0] - 1 - np.argmin(errors[::-1]))
    low, high = float(ends[place]), float(ends[place + 1])
    return 0.5 * (low + high) if np.isfinite(low) and np.isfinite(high) else (
        high if np.isfinite(high) else np.inf
    )  # fmt: skip
