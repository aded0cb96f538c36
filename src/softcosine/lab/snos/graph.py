"""The weighted bipartite graph of features and objects from which SNOS learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import svds

from softcosine._validation import check_choice, read_matrix
from softcosine.errors import InvalidInputError

Sums = NDArray[np.float64]

_MOST = 1e100  # squares of weights up to this, and down to its inverse, stay in range

# If one side is at most this large, the small square matrix gives the singular values.
_SMALL = 64


def read_graph(B: Any, name: str = "B") -> csr_array:
    """Read weights of features (rows) in objects (columns), without stored zeros.

    Raises
    ------
    InvalidInputError
        If B is not a matrix, a weight is negative or not finite, all are below 1e-100, or one is
        above 1e100.
    """
    matrix = read_matrix(B, name)
    if matrix.nnz and matrix.data.min() < 0:
        entry = int(np.flatnonzero(matrix.data < 0)[0])
        row = int(np.searchsorted(matrix.indptr, entry, "right")) - 1
        raise InvalidInputError(
            f"{name}[{row}, {matrix.indices[entry]}] is {matrix.data[entry]:g}; SNOS needs weights "
            "of 0 or more."
        )
    if np.any(matrix.data == 0):
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    largest = matrix.data.max(initial=0.0)
    if matrix.nnz and not 1.0 / _MOST <= largest <= _MOST:
        raise InvalidInputError(
            f"the largest weight of {name} is {largest:g}, whose square is no number; scale the "
            f"weights, so that it is between {1.0 / _MOST:g} and {_MOST:g}."
        )
    return matrix


def _raw(B: csr_array, feature_sums: Sums) -> csr_array:
    return B


def _binary(B: csr_array, feature_sums: Sums) -> csr_array:
    return csr_array((np.ones(B.nnz), B.indices, B.indptr), shape=B.shape)


def _rows(B: csr_array, feature_sums: Sums) -> csr_array:
    return csr_array(diags_array(_inverse(feature_sums)) @ B)


def _columns(B: csr_array, feature_sums: Sums) -> csr_array:
    return csr_array(B @ diags_array(_inverse(B.sum(axis=0))))


def _both(B: csr_array, feature_sums: Sums) -> csr_array:
    rows, columns = _inverse(feature_sums), _inverse(B.sum(axis=0))
    return csr_array(diags_array(np.sqrt(rows)) @ B @ diags_array(np.sqrt(columns)))


def _length(B: csr_array, feature_sums: Sums) -> csr_array:
    return csr_array(B @ diags_array(np.sqrt(_inverse((B * B).sum(axis=0)))))


def _inverse(sums: Sums) -> Sums:
    sums = np.asarray(sums, dtype=np.float64)
    return np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0.0)


# Scalings of the weights before similarities are learned.
NORMALIZATIONS: Mapping[str, Callable[[csr_array, Sums], csr_array]] = {
    "raw": _raw,
    "binary": _binary,
    "rows": _rows,
    "columns": _columns,
    "both": _both,
    "length": _length,
}


def normalized(B: csr_array, normalize: str, *, feature_sums: Sums | None = None) -> csr_array:
    """Scale weights as `NORMALIZATIONS` defines.

    ``raw`` does nothing, ``binary`` sets weights to 1; ``rows`` and ``columns`` scale the sum of
    each feature's or object's weights to 1, ``both`` divides by the square roots of the two sums
    (then the largest singular value is 1), ``length`` makes objects unit vectors.

    Parameters
    ----------
    B : csr_array of shape (n_features, n_objects)
    normalize : str
    feature_sums : ndarray of shape (n_features,), optional
        Sums over the training objects, if B holds other ones.

    Raises
    ------
    InvalidInputError
        If the normalization is unknown.
    """
    check_choice("normalize", normalize, NORMALIZATIONS)
    sums = B.sum(axis=1) if feature_sums is None else feature_sums
    return NORMALIZATIONS[normalize](B, sums)


def largest_singular_value(B: csr_array) -> float:
    """σ(B), to about six digits; 0 for an empty matrix."""
    if B.nnz == 0:
        return 0.0
    B = csr_array(B)
    # Scaled, so that squares neither overflow nor underflow.
    scale = float(B.data.max())
    B = csr_array((B.data / scale, B.indices, B.indptr), shape=B.shape)
    if min(B.shape) <= _SMALL:
        square = B @ B.T if B.shape[0] <= B.shape[1] else B.T @ B
        largest = float(np.linalg.eigvalsh(square.toarray())[-1])
        return scale * float(np.sqrt(max(largest, 0.0)))
    # The leading vector of a non-negative matrix is not orthogonal to the vector of ones.
    start = np.ones(min(B.shape))
    return scale * float(svds(B, k=1, v0=start, tol=1e-8, return_singular_vectors=False)[0])


def greatest_column_sum(B: csr_array) -> float:
    """‖B‖₁; that of the transpose is ‖B‖∞."""
    return float(B.sum(axis=0).max(initial=0.0))
