"""Answers that differ from each other: maximal marginal relevance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["CANDIDATES_A_HIT", "LEAST_CANDIDATES", "by_marginal_relevance"]

# Of so many best documents an answer is chosen: enough that there are others, few enough that all
# are relevant.
LEAST_CANDIDATES, CANDIDATES_A_HIT = 50, 5


def by_marginal_relevance(
    scores: NDArray[np.float64],
    similarities: Callable[[int], NDArray[np.float64]],
    *,
    balance: float,
    n: int,
) -> NDArray[np.int64]:
    r"""Order documents so that each is relevant and unlike those before it.

    Again and again the document is taken that is greatest in

    .. math:: \lambda \frac{s_d}{s_1} - (1 - \lambda) \max_{e \text{ taken}} \cos_S(d, e)

    where the scores :math:`s` are divided by the best one, :math:`s_1`, as those of soft BM25 have
    no bound; the maximum over none is 0, and of equal ones the first is taken
    (Carbonell & Goldstein 1998, who take a cosine for the relevance).

    Parameters
    ----------
    scores : ndarray of shape (n_documents,), float64
        Above 0, best first.
    similarities : callable
        Given the place of a document, its similarities with all, shape (n_documents,).
    balance : float
        :math:`\lambda`, in [0, 1]; 1 is the order of the scores.
    n : int
        How many are taken so; the others follow by score.

    Returns
    -------
    ndarray of shape (n_documents,), int64
        Places in the new order.
    """
    if not len(scores):
        return np.empty(0, np.int64)
    relevance = scores / scores[0]
    nearest = np.zeros(len(scores))
    left = np.ones(len(scores), bool)
    order: list[int] = []
    for _ in range(min(n, len(scores))):
        marginal = np.where(left, balance * relevance - (1.0 - balance) * nearest, -np.inf)
        place = int(np.argmax(marginal))
        own = similarities(place)
        nearest = np.maximum(nearest, own) if order else own
        left[place] = False
        order.append(place)
    return np.concatenate([np.array(order, np.int64), np.flatnonzero(left)])
