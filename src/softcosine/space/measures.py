"""Measures between documents in the soft vector space (theory T1-T5).

Rows are documents. `X` and `Y` hold the coordinates W x: weigh counts first, for example with
`softcosine.Weighting.transform`. Every measure is float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine.errors import InvalidInputError
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.norms import checked_matrix, reciprocal, row_sums, soft_norms

__all__ = [
    "paired_soft_cosine_similarity",
    "paired_soft_inner_product",
    "soft_cosine_similarity",
    "soft_inner_product",
    "soft_norm",
    "sparse_soft_cosine_similarity",
]

_BLOCK = 512  # rows of X whose products are held at once in the sparse form


def soft_inner_product(
    X: ArrayLike | csr_array, Y: ArrayLike | csr_array | None, S: TermSimilarityMatrix
) -> NDArray[np.float64]:
    r"""Inner product of every row of X with every row of Y (theory T1, T5).

    .. math:: \langle x, y \rangle = x^\top S y

    Parameters
    ----------
    X : array or sparse array of shape (n_x, n_terms)
    Y : array or sparse array of shape (n_y, n_terms), or None for X itself
    S : TermSimilarityMatrix of order n_terms, symmetric

    Returns
    -------
    ndarray of shape (n_x, n_y), float64

    Raises
    ------
    InvalidInputError
        If a coordinate is not finite, or S is asymmetric.
    VocabularyMismatchError
        If X, Y and S count different numbers of terms.

    Examples
    --------
    >>> import numpy as np, softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    >>> sc.soft_inner_product([[1, 0]], [[0, 2]], S)
    array([[1.]])
    """
    X, Y, matrix = _operands(X, Y, S)
    return _dense((X @ matrix) @ Y.T)


def soft_norm(X: ArrayLike | csr_array, S: TermSimilarityMatrix) -> NDArray[np.float64]:
    r"""Length of every document in the soft vector space (theory T2).

    .. math:: \lVert x \rVert_S = \sqrt{x^\top S x}

    Parameters
    ----------
    X : array or sparse array of shape (n_docs, n_terms)
    S : TermSimilarityMatrix of order n_terms, symmetric

    Returns
    -------
    ndarray of shape (n_docs,), float64
        Zero exactly for documents with no terms.

    Raises
    ------
    VocabularyMismatchError
        If X and S count different numbers of terms.
    IndefiniteMatrixError
        If some document has x'Sx < 0 beyond rounding; the message names the first one.

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    >>> sc.soft_norm([[1, 1], [3, 0], [0, 0]], S)
    array([1.73205081, 3.        , 0.        ])
    """
    X, _, matrix = _operands(X, None, S)
    return soft_norms(X, X @ matrix)


def soft_cosine_similarity(
    X: ArrayLike | csr_array, Y: ArrayLike | csr_array | None, S: TermSimilarityMatrix
) -> NDArray[np.float64]:
    r"""Soft cosine of every row of X with every row of Y (theory T3).

    .. math:: \frac{x^\top S y}{\lVert x \rVert_S \, \lVert y \rVert_S}

    Parameters
    ----------
    X : array or sparse array of shape (n_x, n_terms)
    Y : array or sparse array of shape (n_y, n_terms), or None for X itself
    S : TermSimilarityMatrix of order n_terms, symmetric

    Returns
    -------
    ndarray of shape (n_x, n_y), float64
        0 where a document has norm 0. Values above 1 can occur if S is not positive semidefinite;
        they are not clipped. `sparse_soft_cosine_similarity` forms nothing dense.

    Raises
    ------
    InvalidInputError, VocabularyMismatchError, IndefiniteMatrixError
        As `soft_norm`.

    Examples
    --------
    *Antony found Caesar dead* and *Caesar was killed* share one word of three; *dead* and *killed*
    are half alike:

    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])
    >>> X, Y = [[1, 1, 0]], [[1, 0, 1]]  # caesar, dead, killed
    >>> sc.soft_cosine_similarity(X, Y, S).round(3)
    array([[0.75]])
    """
    X, Y, matrix = _operands(X, Y, S)
    left = X @ matrix
    x_norms = soft_norms(X, left)
    y_norms = x_norms if Y is X else soft_norms(Y, Y @ matrix)
    return _dense((reciprocal(x_norms)[:, None] * left) @ (reciprocal(y_norms)[:, None] * Y).T)


def sparse_soft_cosine_similarity(
    X: ArrayLike | csr_array,
    Y: ArrayLike | csr_array | None,
    S: TermSimilarityMatrix,
    *,
    k: int | None = None,
    min_similarity: float = 0.0,
) -> csr_array:
    """Soft cosine as a sparse array: at most the k best of each row, none below a bound.

    Rows are taken in blocks, so nothing of shape (n_x, n_y) is ever dense.

    Parameters
    ----------
    X, Y, S
        As in `soft_cosine_similarity`.
    k : int, optional
        How many columns to keep in each row; ties go to the earlier column.
    min_similarity : float
        Similarities below it are left out, and zeros always.

    Returns
    -------
    csr_array of shape (n_x, n_y), float64
        Column indices ascending.
    """
    X, Y, matrix = _operands(X, Y, S)
    if k is not None and k < 1:
        raise InvalidInputError(f"k is {k}; it must be 1 or more.")
    y_scaled = csr_array(reciprocal(soft_norms(Y, Y @ matrix))[:, None] * Y).T.tocsr()
    blocks = []
    for start in range(0, X.shape[0], _BLOCK):
        rows = X[start : start + _BLOCK]
        left = rows @ matrix
        block = csr_array((reciprocal(soft_norms(rows, left, start))[:, None] * left) @ y_scaled)
        block.sort_indices()
        blocks.append(_keep(block, k, min_similarity))
    if not blocks:
        return csr_array((X.shape[0], Y.shape[0]), dtype=np.float64)
    indptr = np.concatenate([[0], *(np.diff(block.indptr) for block in blocks)]).cumsum()
    return csr_array(
        (
            np.concatenate([block.data for block in blocks]),
            np.concatenate([block.indices for block in blocks]),
            indptr,
        ),
        shape=(X.shape[0], Y.shape[0]),
    )


def paired_soft_inner_product(
    X: ArrayLike | csr_array, Y: ArrayLike | csr_array, S: TermSimilarityMatrix
) -> NDArray[np.float64]:
    """Inner product of row i of X with row i of Y, shape (n,), float64."""
    X, Y, matrix = _paired(X, Y, S)
    return row_sums((X @ matrix) * Y)


def paired_soft_cosine_similarity(
    X: ArrayLike | csr_array, Y: ArrayLike | csr_array, S: TermSimilarityMatrix
) -> NDArray[np.float64]:
    """Soft cosine of row i of X with row i of Y, shape (n,), float64; 0 where a norm is 0.

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    >>> sc.paired_soft_cosine_similarity([[1, 0], [1, 0]], [[0, 1], [1, 0]], S)
    array([0.5, 1. ])
    """
    X, Y, matrix = _paired(X, Y, S)
    left = X @ matrix
    products = row_sums(left * Y)
    return products * reciprocal(soft_norms(X, left)) * reciprocal(soft_norms(Y, Y @ matrix))


def _operands(X: Any, Y: Any, S: TermSimilarityMatrix) -> tuple[csr_array, csr_array, csr_array]:
    S.require_symmetric("a pairwise measure")
    X = checked_matrix(X, len(S), "X")
    Y = X if Y is None else checked_matrix(Y, len(S), "Y")
    return X, Y, S.to_scipy().astype(np.float64)


def _paired(X: Any, Y: Any, S: TermSimilarityMatrix) -> tuple[csr_array, csr_array, csr_array]:
    X, Y, matrix = _operands(X, Y, S)
    if X.shape[0] != Y.shape[0]:
        raise InvalidInputError(
            f"X has {X.shape[0]} rows and Y has {Y.shape[0]}; pairs need as many of both."
        )
    return X, Y, matrix


def _dense(product: csr_array) -> NDArray[np.float64]:
    return np.asarray(product.toarray(), np.float64)


def _keep(block: csr_array, k: int | None, min_similarity: float) -> csr_array:
    kept = (block.data >= min_similarity) & (block.data != 0)
    if k is not None:
        rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        best = np.lexsort((block.indices, -block.data, rows))
        position = np.empty(best.shape[0], np.int64)
        position[best] = np.arange(best.shape[0]) - np.repeat(
            block.indptr[:-1], np.diff(block.indptr)
        )
        kept &= position < k
    counts = np.add.reduceat(np.append(kept, False), block.indptr[:-1], dtype=np.int64)
    counts[np.diff(block.indptr) == 0] = 0
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return csr_array((block.data[kept], block.indices[kept], indptr), shape=block.shape)
