"""Binary decisions from scores, with a threshold chosen by cross-validation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 10


def decided(
    scores: NDArray[np.float64],
    labels: NDArray[np.bool_],
    *,
    n_folds: int = N_FOLDS,
    random_state: int = 0,
) -> NDArray[np.bool_]:
    """Return the predicted label of every pair, shape (n_pairs,).

    The threshold for the pairs of a fold is chosen on the other folds.

    Parameters
    ----------
    scores : ndarray of shape (n_pairs,)
    labels : ndarray of shape (n_pairs,), bool
    n_folds : int
    random_state : int
        Seed of the folds.
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
    """Return the score threshold with the fewest errors; the highest one of equally good ones.

    It lies midway between two scores, or above or below all of them.

    Examples
    --------
    >>> best_threshold(np.array([0.1, 0.4, 0.9]), np.array([False, False, True]))
    0.65
    """
    order = np.argsort(scores, kind="stable")
    ascending, truth = scores[order], labels[order]
    # Errors if the first i pairs are rejected and the others accepted.
    errors = np.concatenate([[0], np.cumsum(truth)]) + (
        np.sum(~truth) - np.concatenate([[0], np.cumsum(~truth)])
    )
    ends = np.concatenate([[-np.inf], ascending, [np.inf]])
    between = ends[1:] > ends[:-1]  # no threshold separates equal scores
    errors = np.where(between, errors, errors.max() + 1)
    place = int(errors.shape[0] - 1 - np.argmin(errors[::-1]))
    low, high = float(ends[place]), float(ends[place + 1])
    return 0.5 * (low + high) if np.isfinite(low) and np.isfinite(high) else (
        high if np.isfinite(high) else np.inf
    )  # fmt: skip
