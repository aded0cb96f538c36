"""Checked operands and norms, shared by all measures and transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from softcosine._validation import read_matrix, refuse_texts
from softcosine.errors import IndefiniteMatrixError, InvalidInputError, VocabularyMismatchError
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def checked_weights(term_weights: ArrayLike | None, n_terms: int) -> NDArray[np.float64]:
    """Return one weight per term; ones if `term_weights` is None.

    Raises
    ------
    InvalidInputError
        If the number of weights is wrong, or one is negative or not finite.
    """
    if term_weights is None:
        return np.ones(n_terms)
    try:
        weights = np.asarray(term_weights, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"term_weights cannot be read as numbers: {error}") from error
    if weights.shape != (n_terms,):
        raise InvalidInputError(
            f"term_weights has shape {weights.shape}; S needs one weight a term, ({n_terms},)."
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise InvalidInputError("term_weights must be finite and not negative.")
    return weights


# Rounding error allowed in x'Sx, relative to the sum of the absolute values of its summands.
_ROUNDING = 1e-12

# Rounding error allowed in a cosine of non-negative sums of up to half a million summands; cosines
# are promised to 1e-9 only. A larger excess over 1 is real: S is indefinite.
ROUNDED_ONE = 1.0 + 2.0**-32


def column_terms(S: TermSimilarityMatrix, *matrices: Any) -> Sequence[str]:
    """Return the terms by which `checked_matrix` orders the columns of data frames.

    They are the terms of S, or, if S has numbers in their place, the names of the first frame;
    nothing if no matrix has names.
    """
    names = next(filter(None, map(_column_names, matrices)), ())
    numbered = not names or S.vocabulary == Vocabulary.numbered(len(S))
    return names if numbered else S.vocabulary.terms


def checked_matrix(
    X: ArrayLike | csr_array, n_terms: int, name: str, terms: Sequence[str] = ()
) -> csr_array:
    """Return a document-term matrix as float64 CSR after a check of shape and values.

    Parameters
    ----------
    X : array, sparse array, or data frame
    n_terms : int
    name : str
        For messages.
    terms : sequence of str
        The columns of a data frame with names are put in this order; see `column_terms`.

    Raises
    ------
    InvalidInputError
        If the matrix is not two-dimensional, numeric and finite.
    VocabularyMismatchError
        If the matrix does not have `n_terms` columns, or its names are not `terms`.
    """
    refuse_texts(X, name)
    names = _column_names(X) if terms else ()
    if names and list(names) != list(terms):
        if sorted(names) != sorted(terms):
            odd = sorted(set(names) ^ set(terms)) or names
            raise VocabularyMismatchError(
                f"{name} has columns of other names than S has terms, such as {odd[0]!r}; give "
                f"each term one column of its name, or pass {name}.to_numpy()."
            )
        X = X[list(terms)]  # type: ignore[call-overload, index]
    matrix = read_matrix(X, name)
    if matrix.shape[1] != n_terms:
        raise VocabularyMismatchError(
            f"{name} has {matrix.shape[1]} terms but S has {n_terms}; build both from one "
            "vocabulary."
        )
    return matrix


def _column_names(X: Any) -> Sequence[str]:
    """Return the names of the columns of a data frame, if all are strings."""
    names = list(getattr(X, "columns", ()))
    return names if all(isinstance(name, str) for name in names) else ()


def row_sums(products: csr_array) -> NDArray[np.float64]:
    """Sum every row, shape (n_rows,); overflow gives infinity or NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(scipy.sparse.csr_array(products).sum(axis=1), np.float64).ravel()


def scaled_rows(factors: NDArray[np.float64], X: csr_array) -> csr_array:
    """Multiply every row by its factor."""
    return scipy.sparse.csr_array(factors[:, None] * X)


def balanced(X: csr_array) -> tuple[csr_array, NDArray[np.intc]]:
    """Divide every row by the power of two that brings its largest absolute value into [1, 2).

    This loses no digit, and no norm of the result can overflow or underflow. Returns the rows and
    the exponents, which are 0 for rows without entries.
    """
    largest = np.zeros(X.shape[0])
    filled = np.diff(X.indptr) > 0
    if filled.any():
        largest[filled] = np.maximum.reduceat(np.abs(X.data), X.indptr[:-1][filled])
    powers = np.where(largest > 0, np.frexp(largest)[1] - 1, 0).astype(np.intc)
    data = np.ldexp(X.data, -np.repeat(powers, np.diff(X.indptr)))
    return scipy.sparse.csr_array((data, X.indices, X.indptr), shape=X.shape), powers


def soft_norms(
    X: csr_array, X_S: csr_array, S: csr_array, *, first_row: int = 0
) -> NDArray[np.float64]:
    """Soft norms of the rows of X: square roots of the row sums of (X S) ∘ X (theory T2, T5)."""
    squares = row_sums(X_S * X)
    sizes = np.abs(squares)
    if np.any(X.data < 0) or np.any(S.data < 0):
        sizes = row_sums((abs(X) @ abs(S)) * abs(X))
    return roots(squares, sizes, first_row=first_row)


def roots(
    squares: NDArray[np.float64], sizes: NDArray[np.float64], *, first_row: int = 0
) -> NDArray[np.float64]:
    """Square roots of x'Sx; values within rounding of 0, relative to `sizes`, give 0.

    Parameters
    ----------
    squares : ndarray of shape (n_docs,)
        x'Sx of every document.
    sizes : ndarray of shape (n_docs,)
        The same sums over absolute values.
    first_row : int
        Number of the first document, for messages.

    Raises
    ------
    IndefiniteMatrixError
        If some x'Sx is negative beyond rounding.
    InvalidInputError
        If some x'Sx leaves the range of float64.
    """
    if not np.all(np.isfinite(sizes)):
        raise InvalidInputError(
            f"x'Sx of document {first_row + int(np.argmin(np.isfinite(sizes)))} leaves the range "
            "of float64; scale its weights, or the entries of S, down."
        )
    negative = np.flatnonzero(squares < -_ROUNDING * sizes)
    if negative.size:
        raise IndefiniteMatrixError(
            f"x'Sx is {squares[negative[0]]:.3g} for document {first_row + int(negative[0])} "
            f"({negative.size} of {squares.shape[0]} are negative): S is not positive "
            "semidefinite. Use S.shrunk(), or build S with balanced=True or strategy='dominant'."
        )
    return np.sqrt(np.where(squares <= _ROUNDING * sizes, 0.0, squares))


def root(square: float, size: float) -> float:
    """Return the result of `roots` for a single number, with the same errors."""
    if math.isfinite(size) and square >= -_ROUNDING * size:
        return 0.0 if square <= _ROUNDING * size else math.sqrt(square)
    return float(roots(np.array([square]), np.array([size]))[0])


def reciprocal(norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/norm, and 0 where the norm is 0."""
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def clipped(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cosines with an excess over 1 or -1 from rounding removed.

    Values above `ROUNDED_ONE` stay: they come from an indefinite S. The scores of an index follow
    the same rule (`softcosine.kernels.documents`).
    """
    sizes = np.abs(cosines)
    return np.where((sizes > 1.0) & (sizes <= ROUNDED_ONE), np.sign(cosines), cosines)


def distances(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 - cosine; 0 for cosines of 1 up to rounding, or above 1."""
    found = 1.0 - cosines
    return np.where(found < ROUNDED_ONE - 1.0, 0.0, found)
