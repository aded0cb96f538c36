"""Matrices as users give them, sparse or dense, read and checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from softcosine.errors import InvalidInputError

__all__ = ["is_number", "read_matrix", "read_similarities"]

# An S whose halves differ by no more than this was meant to be symmetric.
_ASYMMETRY = 1e-6


def read_matrix(X: Any, name: str) -> csr_array:
    """Read a matrix as canonical float64 CSR; what was given is not changed.

    Raises
    ------
    InvalidInputError
        If it is not two-dimensional, real and finite. The message calls it `name`.
    """
    try:
        given = X if issparse(X) else np.asarray(X)
        if given.ndim != 2:
            raise InvalidInputError(f"{name} has {given.ndim} dimension(s); a matrix has two.")
        if given.dtype.kind == "c":
            raise InvalidInputError(f"{name} holds complex numbers; they must be real.")
        # NumPy reads objects as numbers where it can; SciPy refuses them all.
        given = given if issparse(given) else given.astype(np.float64)
        matrix = csr_array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{name} cannot be read as a matrix: {error}") from error
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if bad.size:
        row = int(np.searchsorted(matrix.indptr, bad[0], "right")) - 1
        raise InvalidInputError(
            f"{name} holds NaN or infinity in row {row}; every value must be finite."
        )
    return matrix


def read_similarities(S: Any) -> csr_array:
    """Read a term similarity matrix as float32 CSR with its diagonal stored.

    Where s_ij and s_ji differ by rounding only, both become their mean.

    Raises
    ------
    InvalidInputError
        If it is not square, real and finite in float32, or its diagonal is not 1.
    """
    matrix = read_matrix(S, "S")
    n = matrix.shape[0]
    if matrix.shape[1] != n:
        raise InvalidInputError(f"S has shape {matrix.shape}; it must be square.")
    if np.any(np.abs(matrix.data) > np.finfo(np.float32).max):
        raise InvalidInputError("S holds values beyond the range of float32; scale it down.")
    diagonal = matrix.diagonal()
    wrong = np.flatnonzero(np.abs(diagonal - 1.0) > 1e-6)
    if wrong.size:
        raise InvalidInputError(
            f"S[{wrong[0]}, {wrong[0]}] is {diagonal[wrong[0]]:g}; the diagonal of a "
            "term similarity matrix is 1. Scale rows and columns by 1/sqrt of the diagonal."
        )
    if np.all(np.abs((matrix - matrix.T).data) <= _ASYMMETRY):
        matrix = csr_array((matrix + matrix.T) / 2.0)
    matrix = csr_array(matrix + diags_array(1.0 - matrix.diagonal(), shape=(n, n)))
    matrix = csr_array(matrix, dtype=np.float32)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def is_number(value: object) -> bool:
    """Whether it is a real number that float64 can hold; infinity is, NaN is not."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return not np.isnan(float(value))
    except OverflowError:
        return False
