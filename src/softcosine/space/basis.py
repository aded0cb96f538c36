"""Orthonormal basis of the soft vector space: coordinates that need no S (theory T7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from softcosine._validation import is_whole, must_be
from softcosine.errors import IndefiniteMatrixError, InvalidInputError
from softcosine.kernels.cholesky import solve_rows
from softcosine.matrix.definiteness import ROUNDING
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.cholesky import NotDefiniteError, factored, find_cores
from softcosine.space.fill_in import planned
from softcosine.space.norms import checked_matrix, checked_weights

# Rows solved at once.
_BLOCK = 256


class OrthonormalBasis:
    r"""Coordinates whose ordinary dot product is the soft inner product (theory T7).

    .. math:: S = E E^\top, \quad \langle x, y \rangle = (E^\top W x)^\top (E^\top W y)

    `orthonormal_basis` builds it. There is one axis per term, in the order of elimination: the axis
    of a term is the component that the axes before it do not explain.

    Parameters
    ----------
    S : TermSimilarityMatrix
    E : csr_array of shape (n_terms, n_terms), float64
        Column indices ascending.
    pivots : ndarray of shape (n_terms,), int32
        The term of each column. A term has no entries in columns after its own.
    """

    def __init__(self, S: TermSimilarityMatrix, E: csr_array, pivots: NDArray[np.int32]) -> None:
        self.S, self.E, self.pivots = S, E, pivots

    def __repr__(self) -> str:
        return f"OrthonormalBasis({self.n_terms} terms, {self.n_entries} entries)"

    @property
    def n_terms(self) -> int:
        """Number of terms, and of axes."""
        return len(self.pivots)

    @property
    def n_entries(self) -> int:
        """Number of entries of E, with its fill-in."""
        return int(self.E.nnz)

    def coordinates(
        self, X: ArrayLike | csr_array, *, term_weights: ArrayLike | None = None
    ) -> csr_array:
        r"""Coordinates of documents or queries: the rows :math:`E^\top W x`.

        Their dot products are soft inner products, their cosines soft cosines.

        Parameters
        ----------
        X : array or sparse array of shape (n_docs, n_terms)
        term_weights : array of shape (n_terms,), optional
            The diagonal of W; ones by default.

        Returns
        -------
        csr_array of shape (n_docs, n_terms), float64
            Column indices ascending.

        Raises
        ------
        InvalidInputError, VocabularyMismatchError
        """
        X = checked_matrix(X, self.n_terms, "X")
        weights = checked_weights(term_weights, self.n_terms)
        with np.errstate(over="ignore", invalid="ignore"):
            made = csr_array((X * weights[None, :]) @ self.E)
        if not np.all(np.isfinite(made.data)):
            raise InvalidInputError("a coordinate leaves the range of float64; scale X down.")
        made.sort_indices()
        return made

    def solved(self, Z: ArrayLike | csr_array) -> csr_array:
        r"""Coordinates of vectors given by their inner products: the rows :math:`E^{-1} z`.

        For an expanded query :math:`z = S W x` (theory T8) the result is `coordinates` of x. Words
        outside the vocabulary can add to an expanded query, which then has no such x; the result
        still has the right products: the dot product of :math:`E^{-1} z` with the coordinates of a
        document y is :math:`z^\top W y`.

        Parameters
        ----------
        Z : array or sparse array of shape (n_rows, n_terms)

        Returns
        -------
        csr_array of shape (n_rows, n_terms), float64
            Column indices ascending.

        Raises
        ------
        InvalidInputError, VocabularyMismatchError

        Notes
        -----
        Time is O(n_rows times `n_entries`). Precision falls with the least eigenvalue of S;
        `coordinates` loses none.
        """
        Z = checked_matrix(Z, self.n_terms, "Z")
        indptr = self.E.indptr.astype(np.int64, copy=False)
        indices = self.E.indices.astype(np.int32, copy=False)
        blocks = [csr_array((0, self.n_terms))]
        for start in range(0, Z.shape[0], _BLOCK):
            products = np.ascontiguousarray(Z[start : start + _BLOCK].toarray())
            solutions = np.empty_like(products)
            with np.errstate(over="ignore", invalid="ignore"):
                solve_rows(indptr, indices, self.E.data, self.pivots, products, solutions)
            if not np.all(np.isfinite(solutions)):
                raise InvalidInputError("a coordinate leaves the range of float64; scale Z down.")
            blocks.append(csr_array(solutions))
        return csr_array(vstack(blocks, format="csr"))


def orthonormal_basis(S: TermSimilarityMatrix, *, max_memory: int = 4 << 30) -> OrthonormalBasis:
    r"""Factor S into E Eᵀ: coordinates whose ordinary dot product is the soft one (theory T7).

    .. math:: P^\top S P = F F^\top, \quad E = P F

    Parameters
    ----------
    S : TermSimilarityMatrix
    max_memory : int
        Limit of the peak memory in bytes; 4 GiB by default.

    Raises
    ------
    InvalidInputError
        If S is asymmetric, or the factor exceeds `max_memory`; the message gives the estimate of
        `softcosine.estimate_fill_in`.
    IndefiniteMatrixError
        If S is indefinite or singular; the message names the term whose pivot shows it.

    Notes
    -----
    Connected components of S are factored separately, so each costs what it would cost alone.
    All numbers are float64. The result is checked: S r and E Eᵀ r agree for random r.

    Examples
    --------
    >>> import numpy as np, softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    >>> basis = sc.orthonormal_basis(S)
    >>> a, b = basis.coordinates([[1, 0], [0, 1]]).toarray()
    >>> print(round(a @ b, 3), round(a @ a, 3))
    0.5 1.0
    """
    if not is_whole(max_memory):
        raise must_be("max_memory", max_memory, "a number of bytes")
    plan = planned(S)
    cores = find_cores(plan)
    if (needed := cores.memory(plan)) > max_memory:
        raise InvalidInputError(
            f"a change of basis needs {needed / 2**20:,.0f} MiB, and {max_memory / 2**20:,.0f} MiB "
            f"are allowed. {plan.fill_in}. Build S with fewer neighbours or strategy='dominant', "
            "raise max_memory, or do without a factor: expand_queries and unit_documents serve "
            "the same ranking by dot product."
        )
    least = 8 * np.finfo(np.float64).eps * max(plan.fill_in.largest_component, 1)
    try:
        E = factored(plan, cores, least=least)
    except NotDefiniteError as error:
        raise _indefinite(S, error, least) from error
    if not _multiplies_to(E, S):
        raise IndefiniteMatrixError(
            "the factor of S does not multiply to S: S is too near to a singular matrix. Use "
            "S.shrunk(), which keeps every neighbour."
        )
    return OrthonormalBasis(S, E, plan.pivots)


def _indefinite(
    S: TermSimilarityMatrix, error: NotDefiniteError, least: float
) -> IndefiniteMatrixError:
    kind = "indefinite" if error.pivot < -ROUNDING else "singular or indefinite"
    return IndefiniteMatrixError(
        f"S is {kind}: when the terms before it are eliminated, {S.vocabulary.term(error.term)!r} "
        f"is left with the pivot {error.pivot:.3g}, and a change of basis needs one above "
        f"{least:.1g}. Use S.shrunk(), which keeps every neighbour, or build S with "
        "strategy='dominant'."
    )


def _multiplies_to(E: csr_array, S: TermSimilarityMatrix) -> bool:
    """Whether E Eᵀ r equals S r for random r, up to rounding."""
    r = np.random.default_rng(0).choice([-1.0, 1.0], (E.shape[0], 3))
    with np.errstate(over="ignore", invalid="ignore"):
        difference = np.abs(E @ (E.T @ r) - S.to_scipy().astype(np.float64) @ r)
    # Upper bound of every row sum of S.
    sizes = abs(S.to_scipy()).sum(axis=1, dtype=np.float64).max(initial=1.0)
    return bool(np.all(difference <= 1e-9 * sizes))
