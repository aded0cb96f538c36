"""Diverse results: maximal marginal relevance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline

__all__ = ["CANDIDATES_A_HIT", "LEAST_CANDIDATES", "by_marginal_relevance"]

# Number of best documents to select from: enough for variety, few enough to be all relevant.
LEAST_CANDIDATES, CANDIDATES_A_HIT = 50, 5


def by_marginal_relevance(
    scores: NDArray[np.float64],
    similarities: Callable[[int], NDArray[np.float64]],
    *,
    balance: float,
    n: int,
) -> NDArray[np.int64]:
    r"""Order documents so that each is relevant and different from those before it.

    Each step takes the document with the largest

    .. math:: \lambda \frac{s_d}{s_1} - (1 - \lambda) \max_{e \text{ taken}} \cos_S(d, e)

    Scores :math:`s` are divided by the best one, :math:`s_1`, because soft BM25 has no upper limit.
    The maximum over no documents is 0; ties go to the first document. See Carbonell & Goldstein
    1998, who use a cosine as the relevance.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,), float64
        Positive, best first.
    similarities : callable
        Returns the similarities of a document (by index) with all, shape (n_documents,).
    balance : float
        :math:`\lambda`, in [0, 1]; 1 keeps the order of the scores.
    n : int
        Number of documents to select; the others follow by score.

    Returns
    -------
    ndarray of shape (n_documents,), int64
        Indices in the new order.
    """
    if not len(scores):
        return np.empty(0, np.int64)
    relevance = scores / scores[0]
    nearest = np.zeros(len(scores))
    left = np.ones(len(scores), bool)
    order: list[int] = []
    for _ in range(min(n, len(scores))):
        check_deadline()
        marginal = np.where(left, balance * relevance - (1.0 - balance) * nearest, -np.inf)
        place = int(np.argmax(marginal))
        own = similarities(place)
        nearest = np.maximum(nearest, own) if order else own
        left[place] = False
        order.append(place)
    return np.concatenate([np.array(order, np.int64), np.flatnonzero(left)])
