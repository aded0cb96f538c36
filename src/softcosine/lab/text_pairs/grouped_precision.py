"""Cross-validation folds that keep groups together, and mean average precision of groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError


def folds_of(
    groups: NDArray[Any], folds: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield training and test rows, with all rows of a group on one side.

    Parameters
    ----------
    groups : ndarray of shape (n,)
    folds : int
        At most the number of groups.
    seed : int
        Seed of the division into folds.

    Raises
    ------
    InvalidInputError
        If there is only one group.
    """
    _, inverse = np.unique(groups, return_inverse=True)
    n_groups = int(inverse.max(initial=-1)) + 1
    if n_groups < 2:
        raise InvalidInputError(
            f"there is {n_groups} group; cross-validation needs two or more. Give C instead."
        )
    folds = min(folds, n_groups)
    fold_of = np.random.default_rng(seed).permutation(n_groups) % folds
    for fold in range(folds):
        test = fold_of[inverse] == fold
        yield np.flatnonzero(~test), np.flatnonzero(test)


def mean_average_precision(
    scores: NDArray[np.float64], wanted: NDArray[np.bool_], groups: NDArray[Any]
) -> float:
    """Return the mean average precision over all groups; 0 for a group without positive rows.

    Ties are in the order of rows.
    """
    _, inverse = np.unique(groups, return_inverse=True)
    order = np.lexsort((-scores, inverse))
    total = 0.0
    ends = np.cumsum(np.bincount(inverse))
    for rows in np.split(order, ends[:-1]):
        hits = wanted[rows]
        if hits.any():
            precisions = np.cumsum(hits) / np.arange(1, len(rows) + 1)
            total += float(precisions[hits].mean())
    return total / len(ends)
