"""Test for a positive semidefinite S, and the smallest change that makes it so (theory T6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

# Rounding error of an eigenvalue 0 in float32.
ROUNDING = 1e-6

# Up to this order, LAPACK's dense solver is as fast and always converges.
_DENSE_ORDER = 200

# Attempts of Lanczos until it converges: basis vectors, restarts, factor of the tolerance.
_ATTEMPTS = ((20, 60, 1.0), (40, 40, 10.0), (40, 40, 1e3))


@dataclass(frozen=True, slots=True)
class LowestEigenvalue:
    """Upper bound of the smallest eigenvalue of a symmetric matrix.

    Attributes
    ----------
    value : float
        At least the smallest eigenvalue, up to rounding, so that a negative value proves the matrix
        indefinite.
    error : float
        The smallest eigenvalue is at least `value` - `error`. 0 for the dense solver, the norm of
        the residual for Lanczos.
    """

    value: float
    error: float = 0.0


def is_symmetric(S: scipy.sparse.csr_array) -> bool:
    """Whether S equals its transpose to the bit."""
    difference = S - S.T
    return difference.nnz == 0 or not np.any(difference.data)


def is_dominant(S: scipy.sparse.csr_array) -> bool:
    """Whether the absolute off-diagonals of every column sum to less than its diagonal (float64).

    For a symmetric S this certifies positive definiteness (Gershgorin).
    """
    absolute = abs(S.astype(np.float64))
    diagonal = absolute.diagonal()
    return bool(np.all(absolute.sum(axis=0) - diagonal < diagonal)) and bool(
        np.all(S.diagonal() > 0)
    )


def lowest_eigenvalue(
    S: scipy.sparse.csr_array, *, tolerance: float = 1e-4, dense_order: int = _DENSE_ORDER
) -> LowestEigenvalue:
    """Smallest eigenvalue of a symmetric S with unit diagonal, with an error bound.

    The solver works on A = S - I, whose smallest eigenvalue, unlike that of S, is far from 0
    relative to its size. Terms without neighbours are left out. Small problems are solved densely,
    others by Lanczos. If Lanczos does not converge, it is repeated with a larger basis, then with a
    looser tolerance; the last resort is Gershgorin's bound.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms)
    tolerance : float
        Tolerance of the residual, relative to A's smallest eigenvalue.
    dense_order : int
        Use the dense solver up to this many terms with neighbours.
    """
    A = scipy.sparse.csr_array(S.astype(np.float64))
    A = scipy.sparse.csr_array(A - scipy.sparse.diags_array(A.diagonal()))
    A.eliminate_zeros()
    linked = np.flatnonzero(np.diff(A.indptr))
    if not len(linked):
        return LowestEigenvalue(1.0)
    A = A[linked][:, linked]
    n = len(linked)
    if n <= max(dense_order, 2):
        return LowestEigenvalue(1.0 + float(np.linalg.eigvalsh(A.toarray())[0]))
    for basis, restarts, loosened in _ATTEMPTS:
        vector = _lanczos(A, min(basis, n), restarts, min(tolerance * loosened, 0.1))
        if vector is not None:
            image = A @ vector
            value = float(vector @ image)
            return LowestEigenvalue(1.0 + value, float(np.linalg.norm(image - value * vector)))
    # Every eigenvalue is at least minus the largest row sum, and the smallest is at most 1ᵀA1 / n.
    sums = abs(A).sum(axis=1)
    value = min(float(A.sum()) / n, 0.0)
    return LowestEigenvalue(1.0 + value, value + float(sums.max()))


def _lanczos(
    A: scipy.sparse.csr_array, basis: int, restarts: int, tolerance: float
) -> NDArray[np.float64] | None:
    """Return a unit eigenvector of the smallest eigenvalue, or None without convergence."""
    # The import takes 0.1 seconds and is not needed to search an opened index.
    from scipy.sparse.linalg import ArpackError, eigsh

    start = np.random.default_rng(0).standard_normal(A.shape[0])
    try:
        _, vectors = eigsh(A, k=1, which="SA", v0=start, ncv=basis, maxiter=restarts, tol=tolerance)
    except ArpackError:  # also if it did not converge
        return None
    vector = vectors[:, 0]
    return np.asarray(vector / np.linalg.norm(vector))


def shrink_to_definite(
    S: scipy.sparse.csr_array, *, margin: float = 1e-3, dense_order: int = _DENSE_ORDER
) -> tuple[scipy.sparse.csr_array, float]:
    """Return S with off-diagonals multiplied by the largest factor that makes it positive definite.

    With S = I + A and a = -(smallest eigenvalue of A), I + tA is positive semidefinite if and only
    if 0 <= t <= 1/a. All neighbours and their order within a column are preserved.

    Parameters
    ----------
    S : csr_array
        Symmetric with unit diagonal.
    margin : float
        Target of the smallest eigenvalue; above 0, because of rounding and the tolerance of
        Lanczos.
    dense_order : int
        See `lowest_eigenvalue`.

    Returns
    -------
    S : csr_array, float32
    factor : float
        1.0 if S was positive definite already.
    """
    eigenvalue = lowest_eigenvalue(S, tolerance=1e-5, dense_order=dense_order)
    lowest = eigenvalue.value - eigenvalue.error
    if lowest >= margin:
        return S, 1.0
    factor = (1.0 - margin) / (1.0 - lowest)
    diagonal = scipy.sparse.diags_array(S.diagonal())
    shrunk = (S - diagonal) * np.float32(factor) + diagonal
    shrunk = scipy.sparse.csr_array(shrunk, dtype=np.float32)
    shrunk.sort_indices()
    return shrunk, factor
