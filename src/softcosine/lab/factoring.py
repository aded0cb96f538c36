"""S = E Eᵀ by SuperLU, which is included in SciPy, and by CHOLMOD (theory T7)."""

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
    """Return the basis of `softcosine.orthonormal_basis`, computed by another library.

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
    """Peak memory of the factorisation in bytes: L and U, each twice, and E."""
    return 5 * BYTES_AN_ENTRY * elimination.fill_in.n_entries


def _by_superlu(elimination: Elimination, *, least: float) -> csr_array:
    """Compute E; see `softcosine.space.cholesky.factored`.

    In its symmetric mode SuperLU takes diagonal pivots as long as they are not zero, so that
    PᵀSP = L U with U = D Lᵀ, and F = L √D. It accepts negative pivots silently, and leaves the
    diagonal at a zero pivot; so this function checks all pivots and both permutations.

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
        # SuperLU does not name a zero column; our own factorisation stops there and names the term.
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
    E.eliminate_zeros()  # the padding of blocks of columns
    E.sort_indices()
    return E


def _memory_of_cholmod(elimination: Elimination) -> int:
    """Peak memory of the factorisation in bytes: the factor twice in each of the two formats.

    CHOLMOD pads blocks of columns, which adds a few percent.
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
    # scikit-sparse accepts only SciPy's older matrix classes.
    ordered = csc_matrix(compressed(*elimination.S).astype(np.float64)[pivots][:, pivots])
    try:
        # Supernodal factors are always L Lᵀ, never L D Lᵀ.
        made = cholesky(ordered, mode="supernodal", ordering_method="natural")
    except CholmodNotPositiveDefiniteError as error:
        raise NotDefiniteError(int(pivots[error.column]), None) from error
    L = csr_array(made.L())
    L.eliminate_zeros()  # the padding of blocks
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
