"""S = E Eᵀ by CHOLMOD, where scikit-sparse is installed (theory T7)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_matrix, csr_array

from softcosine.errors import MissingDependencyError
from softcosine.matrix.entries import compressed
from softcosine.space.cholesky import NotDefiniteError
from softcosine.space.fill_in import BYTES_AN_ENTRY, Elimination

__all__ = ["factored_by_cholmod", "memory_of_cholmod"]


def memory_of_cholmod(elimination: Elimination) -> int:
    """Bytes that factoring takes at its peak: the factor twice in its own form, and twice in ours.

    It rounds blocks of columns up, which adds some percent.
    """
    return 4 * BYTES_AN_ENTRY * elimination.fill_in.n_entries


def factored_by_cholmod(elimination: Elimination, *, least: float) -> csr_array:
    """Compute E; see `softcosine.space.cholesky.factored`.

    Raises
    ------
    MissingDependencyError
    NotDefiniteError
    """
    try:
        from sksparse.cholmod import CholmodNotPositiveDefiniteError, cholesky
    except ImportError as error:
        raise MissingDependencyError("scikit-sparse", "cholmod", "method='cholmod'") from error
    pivots = elimination.pivots
    n = len(pivots)
    if not n:
        return csr_array((0, 0))
    # scikit-sparse takes SciPy's older matrices only.
    ordered = csc_matrix(compressed(*elimination.S).astype(np.float64)[pivots][:, pivots])
    try:
        # Blocks of columns, as LAPACK likes them, are always L Lᵀ and never L D Lᵀ.
        made = cholesky(ordered, mode="supernodal", ordering_method="natural")
    except CholmodNotPositiveDefiniteError as error:
        raise NotDefiniteError(int(pivots[error.column]), None) from error
    L = csr_array(made.L())
    L.eliminate_zeros()  # with which blocks were filled up
    small = np.flatnonzero(~(L.diagonal() ** 2 > least))
    if len(small):
        raise NotDefiniteError(int(pivots[small[0]]), float(L.diagonal()[small[0]] ** 2))
    ranks = np.empty(n, np.int32)
    ranks[pivots] = np.arange(n, dtype=np.int32)
    E = csr_array(L[ranks])
    E.sort_indices()
    return E
