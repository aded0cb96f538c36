"""Alignment of the terms of two texts: the relaxed word mover's distance as a similarity."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine.errors import InvalidInputError
from softcosine.lab.kernels.alignment import best_alignments
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.space.norms import checked_matrix, column_terms

_MOST = 1e100  # sums of weights up to this stay finite


def paired_alignment(
    X: ArrayLike | csr_array, Y: ArrayLike | csr_array, S: TermSimilarityMatrix
) -> NDArray[np.float64]:
    r"""Mean best similarity of the terms of row i of X in row i of Y, mean of both directions.

    .. math:: \frac12 \Bigl( \frac{\sum_i x_i \max_{j \in y} s_{ij}}{\sum_i x_i} +
        \frac{\sum_j y_j \max_{i \in x} s_{ji}}{\sum_j y_j} \Bigr)

    Unlike in the soft cosine, each term counts once, by its most similar term: the relaxed word
    mover's distance (Kusner et al. 2015) as a similarity.

    Parameters
    ----------
    X, Y : array or sparse array of shape (n, n_terms)
        Term weights, non-negative.
    S : TermSimilarityMatrix of order n_terms
        Symmetric.

    Returns
    -------
    ndarray of shape (n,), float64
        From 0 to the largest entry of S; 0 if a text has no terms.

    Raises
    ------
    InvalidInputError
        If a weight is negative or above 1e100, S is asymmetric, or X and Y differ in length.
    VocabularyMismatchError
        If X, Y and S have different numbers of terms.

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    >>> paired_alignment([[1, 0, 1]], [[0, 1, 0]], S)  # of both words 1/4, the one back 1/2
    array([0.375])
    """
    checked_similarity(S).require_symmetric("an alignment")
    terms = column_terms(S, X, Y)
    left = checked_matrix(X, len(S), "X", terms)
    right = checked_matrix(Y, len(S), "Y", terms)
    if left.shape[0] != right.shape[0]:
        raise InvalidInputError(
            f"X has {left.shape[0]} rows and Y has {right.shape[0]}; pairs need as many of both."
        )
    there, back = (_mean_best(*texts, S) for texts in ((left, right), (right, left)))
    return np.asarray((there + back) / 2.0)


def _mean_best(X: csr_array, Y: csr_array, S: TermSimilarityMatrix) -> NDArray[np.float64]:
    if X.nnz and X.data.min() < 0:
        raise InvalidInputError(
            f"a text has a weight of {X.data.min():g}; an alignment needs weights of 0 or more."
        )
    if X.data.max(initial=0.0) > _MOST:
        raise InvalidInputError(
            f"a text has a weight of {X.data.max():g}; scale it down to {_MOST:g}."
        )
    filled = csr_array(Y != 0)  # stored zeros are no terms
    filled.sort_indices()
    out = np.empty(X.shape[0])
    best_alignments(
        np.require(X.indptr, np.int64, "C"), np.require(X.indices, np.int32, "C"),
        np.require(X.data, np.float64, "C"), np.require(filled.indptr, np.int64, "C"),
        np.require(filled.indices, np.int32, "C"), *S.arrays, np.zeros(len(S)), out,
    )  # fmt: skip
    return out
