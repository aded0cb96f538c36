"""Measures between documents in the soft vector space (theory T1-T5).

Rows are documents. `X` and `Y` hold the coordinates W x: weight the counts first, for example with
`softcosine.Weighting.transform`. All measures are float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from softcosine._ragged import running_sum
from softcosine._validation import check_whole, is_number, must_be
from softcosine.errors import InvalidInputError
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.space.norms import (
    balanced,
    checked_matrix,
    clipped,
    column_terms,
    distances,
    reciprocal,
    row_sums,
    scaled_rows,
    soft_norms,
)

# Checked X and Y, and S in float64. Any, because SciPy has no types.
_Operands = tuple[Any, Any, Any]

_BLOCK = 512  # rows of X multiplied at once in the sparse form


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
        If a coordinate is not finite, S is asymmetric, or a product leaves the range of float64.
    VocabularyMismatchError
        If X, Y and S have different numbers of terms.

    Examples
    --------
    >>> import numpy as np, softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    >>> sc.soft_inner_product([[1, 0]], [[0, 2]], S)
    array([[1.]])
    """
    X, Y, matrix = _operands(X, Y, S)
    return _in_range(_products(X @ matrix, Y))


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
        Zero only for documents without terms.

    Raises
    ------
    VocabularyMismatchError
        If X and S have different numbers of terms.
    IndefiniteMatrixError
        If some document has x'Sx < 0 beyond rounding; the message names the first one.
    InvalidInputError
        If a coordinate is not finite, S is asymmetric, or a norm leaves the range of float64.

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    >>> sc.soft_norm([[1, 1], [3, 0], [0, 0]], S)
    array([1.73205081, 3.        , 0.        ])
    """
    X, _, matrix = _operands(X, None, S)
    X, powers = balanced(X)
    with np.errstate(over="ignore"):
        return _in_range(np.ldexp(soft_norms(X, X @ matrix, matrix), powers))


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
        only an excess from rounding (2⁻³² at most) is clipped. `sparse_soft_cosine_similarity`
        avoids the dense result.

    Raises
    ------
    InvalidInputError, VocabularyMismatchError, IndefiniteMatrixError
        As `soft_norm`.

    Examples
    --------
    *Antony found Caesar dead* and *Caesar was killed* share the term *caesar*; *dead* and *killed*
    have similarity 0.5:

    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])
    >>> X, Y = [[1, 1, 0]], [[1, 0, 1]]  # caesar, dead, killed
    >>> sc.soft_cosine_similarity(X, Y, S).round(3)
    array([[0.75]])
    """
    X, Y, matrix = _balanced_operands(X, Y, S)
    left = X @ matrix
    x_factors = reciprocal(soft_norms(X, left, matrix))
    y_factors = x_factors if Y is X else reciprocal(soft_norms(Y, Y @ matrix, matrix))
    return clipped(_products(scaled_rows(x_factors, left), scaled_rows(y_factors, Y)))


def soft_cosine_distances(
    X: ArrayLike | csr_array, Y: ArrayLike | csr_array | None, S: TermSimilarityMatrix
) -> NDArray[np.float64]:
    """1 - soft cosine of every row of X with every row of Y, never negative.

    Use it with scikit-learn estimators that take ``metric="precomputed"``.

    Parameters
    ----------
    X, Y, S
        As in `soft_cosine_similarity`.

    Returns
    -------
    ndarray of shape (n_x, n_y), float64
        From 0 to 2. 0 where the soft cosine is 1 up to rounding (2⁻³²), or above 1 with an
        indefinite S. With ``Y=None`` the diagonal is 0; a document of norm 0 has distance 1 to all
        others.

    Raises
    ------
    InvalidInputError, VocabularyMismatchError, IndefiniteMatrixError
        As `soft_norm`.

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    >>> sc.soft_cosine_distances([[1, 0], [0, 3]], None, S)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    found = distances(soft_cosine_similarity(X, Y, S))
    if Y is None:
        np.fill_diagonal(found, 0.0)
    return found


def sparse_soft_cosine_similarity(
    X: ArrayLike | csr_array,
    Y: ArrayLike | csr_array | None,
    S: TermSimilarityMatrix,
    *,
    k: int | None = None,
    min_similarity: float = 0.0,
) -> csr_array:
    """Soft cosine as a sparse array: at most the k best entries of each row, none below a bound.

    X is processed in blocks of rows, so no array of shape (n_x, n_y) is ever dense.

    Parameters
    ----------
    X, Y, S
        As in `soft_cosine_similarity`.
    k : int, optional
        Maximum number of entries per row; ties go to the earlier column. Zeros count among the
        k best, though they are not stored.
    min_similarity : float
        Entries below it are left out, and zeros always.

    Returns
    -------
    csr_array of shape (n_x, n_y), float64
        Column indices ascending.
    """
    X, Y, matrix = _balanced_operands(X, Y, S)
    check_whole("k", k, optional=True)
    if not is_number(min_similarity):
        raise must_be("min_similarity", min_similarity, "a number")
    y_scaled = scaled_rows(reciprocal(soft_norms(Y, Y @ matrix, matrix)), Y).T.tocsr()
    blocks = [csr_array((0, y_scaled.shape[1]))]
    for start in range(0, X.shape[0], _BLOCK):
        rows = X[start : start + _BLOCK]
        left = rows @ matrix
        factors = reciprocal(soft_norms(rows, left, matrix, first_row=start))
        block = csr_array(scaled_rows(factors, left) @ y_scaled)
        block.data = clipped(block.data)
        block.sort_indices()
        blocks.append(_keep(block, k, min_similarity))
    return csr_array(vstack(blocks, format="csr"))


def paired_soft_inner_product(
    X: ArrayLike | csr_array, Y: ArrayLike | csr_array, S: TermSimilarityMatrix
) -> NDArray[np.float64]:
    """Inner product of row i of X with row i of Y, shape (n,), float64."""
    X, Y, matrix = _paired(X, Y, S)
    return _in_range(row_sums((X @ matrix) * Y))


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
    X, Y = balanced(X)[0], balanced(Y)[0]
    left = X @ matrix
    x_factors = reciprocal(soft_norms(X, left, matrix))
    y_factors = reciprocal(soft_norms(Y, Y @ matrix, matrix))
    return clipped(row_sums(left * Y) * x_factors * y_factors)


def _operands(X: Any, Y: Any, S: TermSimilarityMatrix) -> _Operands:
    checked_similarity(S).require_symmetric("a pairwise measure")
    terms = column_terms(S, X, Y)
    X = checked_matrix(X, len(S), "X", terms)
    Y = X if Y is None else checked_matrix(Y, len(S), "Y", terms)
    return X, Y, S.to_scipy().astype(np.float64)


def _balanced_operands(X: Any, Y: Any, S: TermSimilarityMatrix) -> _Operands:
    X, Y, matrix = _operands(X, Y, S)
    scaled = balanced(X)[0]
    return scaled, scaled if Y is X else balanced(Y)[0], matrix


def _paired(X: Any, Y: Any, S: TermSimilarityMatrix) -> _Operands:
    X, Y, matrix = _operands(X, Y, S)
    if X.shape[0] != Y.shape[0]:
        raise InvalidInputError(
            f"X has {X.shape[0]} rows and Y has {Y.shape[0]}; pairs need as many of both."
        )
    return X, Y, matrix


def _products(left: csr_array, right: csr_array) -> NDArray[np.float64]:
    return np.asarray((left @ right.T).toarray(), np.float64)


def _in_range(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.all(np.isfinite(values)):
        raise InvalidInputError(
            "a product leaves the range of float64; scale X and Y down, or ask for soft cosines."
        )
    return values


def _keep(block: csr_array, k: int | None, min_similarity: float) -> csr_array:
    kept = (block.data >= min_similarity) & (block.data != 0)
    if k is not None:
        rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        best = np.lexsort((block.indices, -block.data, rows))
        position = np.empty(best.shape[0], np.int64)
        position[best] = np.arange(best.shape[0]) - np.repeat(
            block.indptr[:-1], np.diff(block.indptr)
        )
        # Zeros, which are not stored, rank before negative values.
        zeros = block.shape[1] - np.diff(block.indptr)
        position += np.where(block.data < 0, np.repeat(zeros, np.diff(block.indptr)), 0)
        kept &= position < k
    counts = np.add.reduceat(np.append(kept, False), block.indptr[:-1], dtype=np.int64)
    counts[np.diff(block.indptr) == 0] = 0
    indptr = running_sum(counts)
    return csr_array((block.data[kept], block.indices[kept], indptr), shape=block.shape)
