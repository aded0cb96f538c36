"""Whether S is positive semidefinite, and the least change that makes it so (theory T6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

__all__ = [
    "ROUNDING",
    "LowestEigenvalue",
    "is_dominant",
    "is_symmetric",
    "lowest_eigenvalue",
    "shrink_to_definite",
    "shrinking_factor",
    "smallest_eigenvalue",
]

# How far below 0 rounding to float32 takes an eigenvalue that is 0.
ROUNDING = 1e-6

# Below this order, LAPACK's dense answer is as quick and needs no convergence.
_DENSE_ORDER = 200

# What Lanczos is tried with, until it converges: basis vectors, restarts, and by how much the
# tolerance is loosened.
_ATTEMPTS = ((20, 60, 1.0), (40, 40, 10.0), (40, 40, 1e3))


@dataclass(frozen=True, slots=True)
class LowestEigenvalue:
    """The smallest eigenvalue of a symmetric matrix, from above.

    Attributes
    ----------
    value : float
        Not below the smallest eigenvalue but for rounding, so that a negative one proves the
        matrix indefinite.
    error : float
        The smallest eigenvalue lies at most so far below `value`: 0 for dense answers, the norm of
        the residual for Lanczos.
    """

    value: float
    error: float = 0.0


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
    """Smallest eigenvalue of a symmetric S with unit diagonal; see `lowest_eigenvalue`.

    Never below the true one but for rounding.
    """
    return lowest_eigenvalue(S, tolerance=tolerance).value


def lowest_eigenvalue(
    S: csr_array, *, tolerance: float = 1e-4, dense_order: int = _DENSE_ORDER
) -> LowestEigenvalue:
    """Smallest eigenvalue of a symmetric S with unit diagonal, and how sure it is.

    Looked for in the off-diagonal part A = S - I, whose smallest eigenvalue is far from 0 relative
    to its size, as that of S need not be; terms without neighbours are left out. Small problems
    are solved densely, others by Lanczos, with a larger basis and then a looser tolerance where it
    does not converge, and at last by Gershgorin's bound.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms)
    tolerance : float
        Of the residual, relative to A's smallest eigenvalue.
    dense_order : int
        Up to this many terms with neighbours the answer is dense.
    """
    A = csr_array(S.astype(np.float64))
    A = csr_array(A - diags_array(A.diagonal()))
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
    # No eigenvalue is below minus the largest sum of a row; that of 1ᵀA1 / n is not below it.
    sums = abs(A).sum(axis=1)
    value = min(float(A.sum()) / n, 0.0)
    return LowestEigenvalue(1.0 + value, value + float(sums.max()))


def _lanczos(
    A: csr_array, basis: int, restarts: int, tolerance: float
) -> NDArray[np.float64] | None:
    """Return a unit vector for the smallest eigenvalue, or None where it does not converge."""
    # Loading it takes a tenth of a second, which searching an opened index need not pay.
    from scipy.sparse.linalg import ArpackError, eigsh

    start = np.random.default_rng(0).standard_normal(A.shape[0])
    try:
        _, vectors = eigsh(A, k=1, which="SA", v0=start, ncv=basis, maxiter=restarts, tol=tolerance)
    except ArpackError:  # also where it did not converge
        return None
    vector = vectors[:, 0]
    return np.asarray(vector / np.linalg.norm(vector))


def shrinking_factor(
    S: csr_array, *, margin: float = 1e-3, dense_order: int = _DENSE_ORDER
) -> float:
    """Return what `shrink_to_definite` multiplies the off-diagonals by: at most 1."""
    found = lowest_eigenvalue(S, tolerance=1e-5, dense_order=dense_order)
    lowest = found.value - found.error
    return 1.0 if lowest >= margin else (1.0 - margin) / (1.0 - lowest)


def shrink_to_definite(
    S: csr_array, *, margin: float = 1e-3, dense_order: int = _DENSE_ORDER
) -> tuple[csr_array, float]:
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
    dense_order : int
        See `lowest_eigenvalue`.

    Returns
    -------
    S : csr_array, float32
    factor : float
        1.0 where nothing had to change.
    """
    factor = shrinking_factor(S, margin=margin, dense_order=dense_order)
    if factor == 1.0:
        return S, 1.0
    diagonal = S.diagonal()
    shrunk = (S - diags_array(diagonal)) * np.float32(factor) + diags_array(diagonal)
    shrunk = csr_array(shrunk, dtype=np.float32)
    shrunk.sort_indices()
    return shrunk, factor
