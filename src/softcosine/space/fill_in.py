"""What the Cholesky factor of S would hold and cost, known before it is paid for (theory T7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.kernels.elimination import (
    column_counts,
    elimination_tree,
    find_components,
    postorder,
)
from softcosine.matrix.entries import Arrays, compressed
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.space.orderings import EliminationOrder, checked_order, elimination_order

__all__ = ["Elimination", "FillIn", "estimate_fill_in", "planned"]

BYTES_AN_ENTRY = 12  # a float64 and the number of its column


@dataclass(frozen=True, slots=True)
class FillIn:
    """Size and cost of the factor F with PᵀSP = F Fᵀ for an order of elimination P.

    Attributes
    ----------
    order : str
    n_terms : int
    n_stored : int
        Entries of S on and below the diagonal: what F holds where nothing fills in.
    n_entries : int
        Entries of F, the diagonal and chance zeros included.
    n_operations : int
        Multiplications of the factorisation, each with its addition: half the sum of the squares
        of the columns' entries, about.
    n_components : int
        Parts of S that share no neighbour; they are factored apart.
    largest_component : int
        Terms of the largest of them.
    """

    order: EliminationOrder
    n_terms: int
    n_stored: int
    n_entries: int
    n_operations: int
    n_components: int
    largest_component: int

    @property
    def memory(self) -> int:
        """Bytes that F takes."""
        return BYTES_AN_ENTRY * self.n_entries + 8 * (self.n_terms + 1)

    @property
    def ratio(self) -> float:
        """How many times as many entries F has as the lower half of S."""
        return self.n_entries / self.n_stored if self.n_stored else 1.0

    def __str__(self) -> str:
        return (
            f"{self.n_terms:,} terms in the order {self.order}: the factor has {self.n_entries:,} "
            f"entries ({self.memory / 2**20:,.1f} MiB), {self.ratio:.1f} times those of S; the "
            f"largest of {self.n_components:,} components has {self.largest_component:,} terms"
        )


@dataclass(frozen=True, slots=True)
class Elimination:
    """How S is to be eliminated.

    Attributes
    ----------
    S : tuple of arrays
        Row pointers, column indices and values of S, none of them 0; see `Entries.arrays`.
    pivots : ndarray of shape (n_terms,), int32
        The terms in the order of their elimination.
    parents : ndarray of shape (n_terms,), int32
        The elimination tree, by that order; -1 for roots.
    counts : ndarray of shape (n_terms,), int64
        Entries of the factor's columns, by that order.
    components : ndarray of shape (n_terms,), int32
        The connected component that each is in, by that order.
    fill_in : FillIn
    """

    S: Arrays
    pivots: NDArray[np.int32]
    parents: NDArray[np.int32]
    counts: NDArray[np.int64]
    components: NDArray[np.int32]
    fill_in: FillIn


def estimate_fill_in(
    S: TermSimilarityMatrix, *, order: EliminationOrder = "minimum_degree"
) -> FillIn:
    """Count the entries that the Cholesky factor of S would have, without computing it.

    The count is exact for the structure of S: no entry is left out, and what is counted is there
    but for chance zeros. S need not be definite for it.

    Parameters
    ----------
    S : TermSimilarityMatrix
        Symmetric.
    order : {"minimum_degree", "reverse_cuthill_mckee", "natural"}
        See `softcosine.space.orderings.elimination_order`.

    Returns
    -------
    FillIn

    Raises
    ------
    InvalidInputError
        If S is asymmetric or there is no such order.

    Notes
    -----
    Elimination tree and column counts take all but linear time; so does, in practice, the order by
    minimum degree.

    Examples
    --------
    A term in the middle of a star is eliminated last, and nothing fills in:

    >>> import numpy as np, softcosine as sc
    >>> star = np.eye(5)
    >>> star[0, 1:] = star[1:, 0] = 0.4
    >>> S = sc.TermSimilarityMatrix.from_matrix(star)
    >>> sc.estimate_fill_in(S).n_entries, sc.estimate_fill_in(S, order="natural").n_entries
    (9, 15)
    """
    return planned(S, order).fill_in


def planned(S: TermSimilarityMatrix, order: EliminationOrder) -> Elimination:
    """Order the terms of S and count; see `estimate_fill_in`."""
    checked_similarity(S).require_symmetric("a change of basis")
    entries = _without_zeros(S.arrays)
    indptr, indices, _ = entries
    pivots = elimination_order(entries, checked_order(order))
    n = len(pivots)
    ranks, parents, sequence, components = (np.empty(n, np.int32) for _ in range(4))
    counts = np.empty(n, np.int64)
    ranks[pivots] = np.arange(n, dtype=np.int32)
    elimination_tree(indptr, indices, pivots, ranks, parents)
    postorder(parents, sequence)
    column_counts(indptr, indices, pivots, ranks, parents, sequence, counts)
    n_components = find_components(parents, components)
    fill_in = FillIn(
        order=order,
        n_terms=n,
        n_stored=(len(indices) + n) // 2,
        n_entries=int(counts.sum()),
        n_operations=int((counts * (counts + 1) // 2).sum()),
        n_components=int(n_components),
        largest_component=int(np.bincount(components, minlength=1).max()),
    )
    return Elimination(entries, pivots, parents, counts, components, fill_in)


def _without_zeros(S: Arrays) -> Arrays:
    indptr, indices, data = S
    if data.all():
        return S
    matrix = compressed(indptr, indices, data).copy()
    matrix.eliminate_zeros()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data
