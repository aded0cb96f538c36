"""Inverse of a large positive definite matrix, in place and reproducible."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine.errors import InvalidInputError

BLOCK = 256  # rows swept together; orders are a multiple of it


def invert_in_place(A: NDArray[Any], *, progress: Progress | None = None) -> None:
    r"""Replace a symmetric positive definite matrix by its inverse, by block sweeps.

    Sweeping the block k with D = A_kk replaces

    .. math:: A_{ij} \to A_{ij} - A_{ik} D^{-1} A_{kj}, \quad A_{ik} \to A_{ik} D^{-1}, \quad
        A_{kk} \to -D^{-1}

    after all blocks A is minus its inverse (Dempster 1969; Goodnight 1979). Only the
    lower triangle of blocks is read and updated, so it takes n³ multiply-adds, as many as
    a Cholesky factorisation with the inversion of the factor. LAPACK divides the work by the number
    of threads, which changes its last bits. Here all work is matrix products of fixed sizes,
    multiples of BLOCK, in which many a BLAS sums each entry in one order; some, on some processors,
    sum otherwise where the rows of another number of threads end.

    Parameters
    ----------
    A : ndarray of shape (n, n), float32 or float64
        C-contiguous, n a multiple of BLOCK. Blocks above the diagonal are not read. On return the
        full inverse.
    progress : callable, optional
        Called as ``progress(done, total)`` after each block.

    Raises
    ------
    InvalidInputError
        If the matrix is not positive definite at the precision of its dtype.

    Notes
    -----
    Additional memory is 3 BLOCK n entries.
    """
    n = len(A)
    assert n % BLOCK == 0
    ends = range(0, n, BLOCK)
    for k in ends:
        own = slice(k, k + BLOCK)
        inverse = _small_inverse(A[own, own])
        column = np.empty((n, BLOCK), A.dtype)  # A_ik for all i
        column[:k] = A[own, :k].T
        column[k:] = A[k:, own]
        scaled = column @ inverse
        for j in ends:  # the lower blocks of block column j
            if j != k:
                below = slice(j, n)
                A[below, j : j + BLOCK] -= scaled[below] @ column[j : j + BLOCK].T
        A[own, :k] = scaled[:k].T
        A[k:, own] = scaled[k:]
        A[own, own] = -inverse
        if progress is not None:
            progress(k // BLOCK + 1, len(ends))
    for j in ends:
        A[j:, j : j + BLOCK] *= -1
        own = slice(j, j + BLOCK)
        A[own, j + BLOCK :] = A[j + BLOCK :, own].T


def _small_inverse(D: NDArray[Any]) -> NDArray[Any]:
    """Inverse of one block, in float64, row by row."""
    A = (D.astype(np.float64) + D.T) / 2.0
    for k in range(len(A)):
        pivot = A[k, k]
        if not pivot > 0.0:
            raise InvalidInputError(
                "the matrix to be inverted is not positive definite in its precision; take a "
                "larger penalty, or double precision."
            )
        row = A[k] / pivot
        column = A[:, k].copy()
        column[k] = 0.0
        A -= column[:, np.newaxis] * row
        A[:, k] = -column / pivot
        A[k] = row
        A[k, k] = 1.0 / pivot
    return np.asarray((A + A.T) / 2.0, D.dtype)
