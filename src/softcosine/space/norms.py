"""Checked operands and norms that all measures and transforms share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from softcosine.errors import IndefiniteMatrixError, InvalidInputError, VocabularyMismatchError

__all__ = ["checked_matrix", "reciprocal", "roots", "row_sums", "soft_norms"]

# x'Sx may come out this far below zero by rounding alone, relative to the sum of its terms' sizes.
_ROUNDING = 1e-12


def checked_matrix(X: ArrayLike | csr_array, n_terms: int, name: str) -> csr_array:
    """Take a document-term matrix as float64 CSR, its shape and values checked.

    Raises
    ------
    InvalidInputError
        If it is not two-dimensional, numeric and finite.
    VocabularyMismatchError
        If it does not have `n_terms` columns.
    """
    try:
        matrix = X if issparse(X) else np.asarray(X, np.float64)
        if matrix.ndim != 2:
            raise InvalidInputError(
                f"{name} has {matrix.ndim} dimension(s); it must have two, documents by terms."
            )
        matrix = csr_array(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{name} cannot be read as a matrix: {error}") from error
    if matrix.shape[1] != n_terms:
        raise VocabularyMismatchError(
            f"{name} has {matrix.shape[1]} terms but S has {n_terms}; build both from one "
            "vocabulary."
        )
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not np.all(np.isfinite(matrix.data)):
        row = int(
            np.searchsorted(matrix.indptr, np.flatnonzero(~np.isfinite(matrix.data))[0], "right")
        )
        raise InvalidInputError(
            f"{name} holds NaN or infinity in row {row - 1}; every weight must be finite."
        )
    return matrix


def row_sums(products: csr_array) -> NDArray[np.float64]:
    """Sum every row, shape (n_rows,)."""
    return np.asarray(csr_array(products).sum(axis=1), np.float64).ravel()


def soft_norms(X: csr_array, X_S: csr_array, first_row: int = 0) -> NDArray[np.float64]:
    """Soft norms of the rows of X: roots of the row sums of (X S) ∘ X (theory T2, T5)."""
    products = csr_array(X_S * X)
    squares = row_sums(products)
    return roots(squares, row_sums(abs(products)), first_row=first_row)


def roots(
    squares: NDArray[np.float64], sizes: NDArray[np.float64], *, first_row: int = 0
) -> NDArray[np.float64]:
    """Square roots of x'Sx; what is negative by rounding alone, relative to `sizes`, is 0.

    Raises
    ------
    IndefiniteMatrixError
        If some x'Sx is negative beyond rounding.
    """
    negative = np.flatnonzero(squares < -_ROUNDING * sizes)
    if negative.size:
        raise IndefiniteMatrixError(
            f"x'Sx is {squares[negative[0]]:.3g} for document {first_row + int(negative[0])} "
            f"({negative.size} of {squares.shape[0]} are negative): S is not positive "
            "semidefinite. Use S.shrunk(), or build S with strategy='dominant'."
        )
    return np.sqrt(np.maximum(squares, 0.0))


def reciprocal(norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/norm, and 0 where the norm is 0."""
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
