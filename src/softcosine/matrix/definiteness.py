"""Whether S is positive semidefinite, and the least change that makes it so."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, diags_array

__all__ = ["is_dominant", "is_symmetric", "shrink_to_definite", "smallest_eigenvalue"]

# Below this order, LAPACK's dense answer is as quick and needs no convergence.
_DENSE_ORDER = 200


def is_symmetric(S: csr_array) -> bool:
    """Whether S equals its transpose to the bit."""
    difference = S - S.T
    return difference.nnz == 0 or not np.any(difference.data)


def is_dominant(S: csr_array) -> bool:
    """Whether every column's absolute off-diagonals sum to less than its diagonal (float64).

    For a symmetric S this certifies positive definiteness (Gershgorin).
    """
    absolute = abs(S.astype(np.float64))
    diagonal = absolute.diagonal()
    return bool(np.all(absolute.sum(axis=0) - diagonal < diagonal)) and bool(
        np.all(S.diagonal() > 0)
    )


def smallest_eigenvalue(S: csr_array, *, tolerance: float = 1e-4) -> float:
    """Smallest eigenvalue of a symmetric S, by Lanczos (dense below order 200).

    The Lanczos value is never below the true one, so a negative answer proves S indefinite.
    """
    n = S.shape[0]
    if n == 0:
        return 1.0
    if n <= _DENSE_ORDER:
        return float(np.linalg.eigvalsh(S.toarray().astype(np.float64))[0])
    # Loading it takes a tenth of a second, which searching an opened index need not pay.
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    matrix = S.astype(np.float64)
    start = np.random.default_rng(0).standard_normal(n)
    try:
        values = eigsh(matrix, k=1, which="SA", v0=start, tol=tolerance, return_eigenvectors=False)
    except ArpackNoConvergence as error:
        if len(error.eigenvalues):
            return float(error.eigenvalues.min())
        vector = start / np.linalg.norm(start)
        return float(vector @ (matrix @ vector))
    return float(values[0])


def shrink_to_definite(S: csr_array, *, margin: float = 1e-3) -> tuple[csr_array, float]:
    """Multiply the off-diagonals by the largest factor that leaves S positive definite.

    With S = I + A and a = -(smallest eigenvalue of A), I + tA is positive semidefinite exactly for
    0 <= t <= 1/a. Every neighbour stays, and the order within a column.

    Parameters
    ----------
    S : csr_array
        Symmetric with unit diagonal.
    margin : float
        The smallest eigenvalue that is aimed at, so that rounding and the tolerance of Lanczos do
        not undo the repair.

    Returns
    -------
    S : csr_array, float32
    factor : float
        1.0 where nothing had to change.
    """
    lowest = smallest_eigenvalue(S, tolerance=1e-6)
    if lowest >= margin:
        return S, 1.0
    factor = (1.0 - margin) / (1.0 - lowest)
    diagonal = S.diagonal()
    shrunk = (S - diags_array(diagonal)) * np.float32(factor) + diags_array(diagonal)
    shrunk = csr_array(shrunk, dtype=np.float32)
    shrunk.sort_indices()
    return shrunk, factor
