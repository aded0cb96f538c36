"""Precision of soft cosines in fewer dimensions, measured on pairs of documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._validation import check_whole
from softcosine.errors import InvalidInputError
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.measures import soft_cosine_similarity

__all__ = ["KeptSimilarity", "kept_similarity"]

_ROWS = 2048  # documents multiplied by S at once

# Scores that differ by less count as equal.
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class KeptSimilarity:
    """Comparison of estimated soft cosines with the exact ones.

    Attributes
    ----------
    correlation : float
        Pearson correlation over all pairs of a query and a document; NaN if a side is constant.
    root_mean_square_error : float
    recall : float
        Share of the exact k nearest documents that are among the estimated k nearest, in [0, 1].
    k : int
    n_queries : int
    n_pairs : int
    """

    correlation: float
    root_mean_square_error: float
    recall: float
    k: int
    n_queries: int
    n_pairs: int

    def __str__(self) -> str:
        return (
            f"correlation {self.correlation:.3f}, root mean square error "
            f"{self.root_mean_square_error:.4f}, recall@{self.k} {self.recall:.3f} "
            f"({self.n_queries:,} queries, {self.n_pairs:,} pairs)"
        )


def kept_similarity(
    X: csr_array,
    Q: csr_array | None,
    S: TermSimilarityMatrix,
    estimate: Callable[[csr_array, csr_array], NDArray[np.float64]],
    *,
    n_queries: int = 100,
    k: int = 10,
    seed: int = 0,
) -> KeptSimilarity:
    """Compare estimated soft cosines with exact ones.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms)
    Q : csr_array of shape (any, n_terms), or None
        By default rows of X are the queries, each compared with all other rows.
    S : TermSimilarityMatrix
    estimate : callable
        Returns the estimates for queries and documents.
    n_queries : int
        Maximum number of queries; more rows are sampled.
    k : int
        Number of neighbours for the recall.
    seed : int

    Raises
    ------
    InvalidInputError
        If there is no pair to compare, or a setting is out of range.
    """
    check_whole("n_queries", n_queries)
    check_whole("k", k)
    among = X if Q is None else Q
    n_left = X.shape[0] - (Q is None)
    if among.shape[0] == 0 or n_left < 1:
        raise InvalidInputError(
            f"there are {X.shape[0]} documents and {among.shape[0]} queries; at least one pair is "
            "needed to measure what similarity is kept."
        )
    drawn = np.random.default_rng(seed).permutation(among.shape[0])[:n_queries]
    queries = csr_array(among[np.sort(drawn)])
    exact, estimated = np.empty((2, queries.shape[0], X.shape[0]))
    for begin in range(0, X.shape[0], _ROWS):
        part = slice(begin, begin + _ROWS)
        exact[:, part] = soft_cosine_similarity(queries, X[part], S)
        estimated[:, part] = estimate(queries, X[part])
    if Q is None:
        others = np.ones(exact.shape, np.bool_)
        others[np.arange(len(drawn)), np.sort(drawn)] = False
        shape = (len(drawn), n_left)
        exact, estimated = exact[others].reshape(shape), estimated[others].reshape(shape)
    k = min(k, n_left)
    return KeptSimilarity(
        correlation=_correlation(exact.ravel(), estimated.ravel()),
        root_mean_square_error=float(np.sqrt(np.mean((exact - estimated) ** 2))),
        recall=_recall(exact, estimated, k),
        k=k,
        n_queries=len(drawn),
        n_pairs=exact.size,
    )


def _correlation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    for side in (left, right):  # constant up to rounding: no correlation
        if np.ptp(side) <= 1e-12 * np.abs(side).max(initial=0.0):
            return float("nan")
    left, right = left - left.mean(), right - right.mean()
    size = float(np.sqrt((left @ left) * (right @ right)))
    return float(left @ right) / size if size > 0 else float("nan")


def _recall(exact: NDArray[np.float64], estimated: NDArray[np.float64], k: int) -> float:
    """Share of the estimated nearest that are at least as good as the exact k-th nearest."""
    found = np.argsort(-estimated, axis=1, kind="stable")[:, :k]
    least = np.sort(exact, axis=1)[:, -k][:, None]
    return float(np.mean(np.take_along_axis(exact, found, axis=1) >= least - _TIE))
