"""S = E Eᵀ by SuperLU, which SciPy brings along (theory T7)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.linalg import splu

from softcosine.matrix.entries import compressed
from softcosine.space.cholesky import NotDefiniteError, factored, find_cores
from softcosine.space.fill_in import BYTES_AN_ENTRY, Elimination

__all__ = ["factored_by_superlu", "memory_of_superlu"]


def memory_of_superlu(elimination: Elimination) -> int:
    """Bytes that factoring takes at its peak: L and U, each twice, and E."""
    return 5 * BYTES_AN_ENTRY * elimination.fill_in.n_entries


def factored_by_superlu(elimination: Elimination, *, least: float) -> csr_array:
    """Compute E; see `softcosine.space.cholesky.factored`.

    In its symmetric mode SuperLU keeps to the diagonal while it finds anything there, so that
    PᵀSP = L U with U = D Lᵀ, and F = L √D. It goes on in silence where a pivot is negative, and
    leaves the diagonal where one is zero; so all pivots and both permutations are looked at.

    Raises
    ------
    NotDefiniteError
    """
    pivots = elimination.pivots
    n = len(pivots)
    if not n:
        return csr_array((0, 0))
    ordered = csc_array(compressed(*elimination.S).astype(np.float64)[pivots][:, pivots])
    try:
        made = splu(
            ordered, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
    except RuntimeError:
        # A column of zeros is left, it does not say whose: ours stops there and names the term.
        return factored(elimination, find_cores(elimination), least=least)
    diagonal = made.U.diagonal()
    moved = (made.perm_r != np.arange(n)) | (made.perm_c != np.arange(n))
    bad = np.flatnonzero(moved | ~(diagonal > least))
    if len(bad):
        pivot = 0.0 if moved[bad[0]] else float(diagonal[bad[0]])
        raise NotDefiniteError(int(pivots[bad[0]]), pivot)
    F = csr_array(made.L @ diags_array(np.sqrt(diagonal)))
    ranks = np.empty(n, np.int32)
    ranks[pivots] = np.arange(n, dtype=np.int32)
    E = csr_array(F[ranks])
    E.eliminate_zeros()  # with which blocks of columns were filled up
    E.sort_indices()
    return E
