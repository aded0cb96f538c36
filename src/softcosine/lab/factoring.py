"""S = E Eᵀ by SuperLU, which SciPy brings along, and by CHOLMOD (theory T7)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csc_matrix, csr_array, diags_array
from scipy.sparse.linalg import splu

from softcosine._validation import check_choice
from softcosine.errors import MissingDependencyError
from softcosine.matrix.entries import compressed
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.basis import Factoring, OrthonormalBasis, factored_basis
from softcosine.space.cholesky import NotDefiniteError, factored, find_cores
from softcosine.space.fill_in import BYTES_AN_ENTRY, Elimination
from softcosine.space.orderings import EliminationOrder

__all__ = ["basis_by"]


def basis_by(
    library: str,
    S: TermSimilarityMatrix,
    *,
    order: EliminationOrder = "minimum_degree",
    max_memory: int | None = None,
) -> OrthonormalBasis:
    """Compute the basis that `softcosine.orthonormal_basis` gives, by another library.

    Parameters
    ----------
    library : {"superlu", "cholmod"}
        CHOLMOD needs scikit-sparse: ``pip install 'softcosine[cholmod]'``.
    S, order, max_memory
        See `softcosine.orthonormal_basis`.

    Raises
    ------
    MissingDependencyError
        If scikit-sparse is needed and not installed.
    InvalidInputError, IndefiniteMatrixError
    """
    check_choice("library", library, _LIBRARIES)
    return factored_basis(S, _LIBRARIES[library], order=order, max_memory=max_memory)


def _memory_of_superlu(elimination: Elimination) -> int:
    """Bytes that factoring takes at its peak: L and U, each twice, and E."""
    return 5 * BYTES_AN_ENTRY * elimination.fill_in.n_entries


def _by_superlu(elimination: Elimination, *, least: float) -> csr_array:
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


def _memory_of_cholmod(elimination: Elimination) -> int:
    """Bytes that factoring takes at its peak: the factor twice in its own form, and twice in ours.

    It rounds blocks of columns up, which adds some percent.
    """
    return 4 * BYTES_AN_ENTRY * elimination.fill_in.n_entries


def _by_cholmod(elimination: Elimination, *, least: float) -> csr_array:
    """Compute E; see `softcosine.space.cholesky.factored`.

    Raises
    ------
    MissingDependencyError
    NotDefiniteError
    """
    try:
        from sksparse.cholmod import CholmodNotPositiveDefiniteError, cholesky
    except ImportError as error:
        raise MissingDependencyError("scikit-sparse", "cholmod", "CHOLMOD") from error
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


_LIBRARIES = {
    "superlu": Factoring(_memory_of_superlu, _by_superlu),
    "cholmod": Factoring(_memory_of_cholmod, _by_cholmod),
}
