"""Size and cost of the Cholesky factor of S, estimated before the factorisation (theory T7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from softcosine.kernels.elimination import (
    column_counts,
    elimination_tree,
    minimum_degree,
    postorder,
)
from softcosine.matrix.entries import Arrays, compressed
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity

BYTES_AN_ENTRY = 12  # a float64 value and an int32 column index

# A term with more than `_MANY` times the root of n neighbours is eliminated last, as in the program
# of Amestoy, Davis and Duff; up to `_FEW` neighbours never count as many.
_MANY, _FEW = 10.0, 16


@dataclass(frozen=True, slots=True)
class FillIn:
    """Size and cost of the factor F with PᵀSP = F Fᵀ, P the minimum degree order.

    Attributes
    ----------
    n_terms : int
    n_stored : int
        Entries of S on and below the diagonal: the size of F without fill-in.
    n_entries : int
        Entries of F, the diagonal and coincidental zeros included.
    n_operations : int
        Multiply-adds of the factorisation: about half the sum of the squared column counts.
    n_components : int
        Connected components of S; they are factored separately.
    largest_component : int
        Number of terms of the largest component.
    """

    n_terms: int
    n_stored: int
    n_entries: int
    n_operations: int
    n_components: int
    largest_component: int

    @property
    def memory(self) -> int:
        """Bytes of F."""
        return BYTES_AN_ENTRY * self.n_entries + 8 * (self.n_terms + 1)

    @property
    def ratio(self) -> float:
        """Entries of F divided by the entries of the lower triangle of S."""
        return self.n_entries / self.n_stored if self.n_stored else 1.0

    def __str__(self) -> str:
        return (
            f"{self.n_terms:,} terms: the factor has {self.n_entries:,} "
            f"entries ({self.memory / 2**20:,.1f} MiB), {self.ratio:.1f} times those of S; the "
            f"largest of {self.n_components:,} components has {self.largest_component:,} terms"
        )


@dataclass(frozen=True, slots=True)
class Elimination:
    """Plan of the elimination of S.

    Attributes
    ----------
    S : tuple of arrays
        Row pointers, column indices and values of S, without explicit zeros; see `Entries.arrays`.
    pivots : ndarray of shape (n_terms,), int32
        The terms in the order of elimination.
    parents : ndarray of shape (n_terms,), int32
        The elimination tree, in that order; -1 for roots.
    counts : ndarray of shape (n_terms,), int64
        Entries of each column of the factor, in that order.
    components : ndarray of shape (n_terms,), int32
        The connected component of each term, in that order.
    fill_in : FillIn
    """

    S: Arrays
    pivots: NDArray[np.int32]
    parents: NDArray[np.int32]
    counts: NDArray[np.int64]
    components: NDArray[np.int32]
    fill_in: FillIn


def estimate_fill_in(S: TermSimilarityMatrix) -> FillIn:
    """Count the entries of the Cholesky factor of S, without computing it.

    The count is exact for the structure of S; only coincidental zeros are counted too. S need not
    be positive definite. The time is almost linear in the entries of S, in practice.

    Parameters
    ----------
    S : TermSimilarityMatrix
        Symmetric.

    Raises
    ------
    InvalidInputError
        If S is asymmetric.

    Examples
    --------
    A term in the middle of a star is eliminated last, and nothing fills in:

    >>> import numpy as np, softcosine as sc
    >>> star = np.eye(5)
    >>> star[0, 1:] = star[1:, 0] = 0.4
    >>> S = sc.TermSimilarityMatrix.from_matrix(star)
    >>> sc.estimate_fill_in(S).n_entries
    9
    """
    return planned(S).fill_in


def planned(S: TermSimilarityMatrix) -> Elimination:
    """Order the terms of S and count entries; see `estimate_fill_in`."""
    checked_similarity(S).require_symmetric("a change of basis")
    entries = _without_zeros(S.arrays)
    indptr, indices, _ = entries
    pivots = _elimination_order(entries)
    n = len(pivots)
    ranks, parents, sequence = (np.empty(n, np.int32) for _ in range(3))
    counts = np.empty(n, np.int64)
    ranks[pivots] = np.arange(n, dtype=np.int32)
    elimination_tree(indptr, indices, pivots, ranks, parents)
    postorder(parents, sequence)
    column_counts(indptr, indices, pivots, ranks, parents, sequence, counts)
    n_components, components = connected_components(compressed(*entries), directed=False)
    fill_in = FillIn(
        n_terms=n,
        n_stored=(len(indices) + n) // 2,
        n_entries=int(counts.sum()),
        n_operations=int((counts * (counts + 1) // 2).sum()),
        n_components=int(n_components),
        largest_component=int(np.bincount(components, minlength=1).max()),
    )
    return Elimination(entries, pivots, parents, counts, components[pivots], fill_in)


def _elimination_order(S: Arrays) -> NDArray[np.int32]:
    """Return the terms by approximate minimum degree, those with very many neighbours last."""
    indptr, indices, data = S
    n = len(indptr) - 1
    degrees = np.diff(indptr)
    # A term with many neighbours is updated whenever one of them is eliminated, and comes last in
    # any case.
    last = degrees > max(_FEW, _MANY * np.sqrt(n))
    hubs = np.flatnonzero(last)
    hubs = hubs[np.lexsort((hubs, degrees[hubs]))].astype(np.int32)
    others = np.flatnonzero(~last).astype(np.int32)
    if len(hubs):
        rest = compressed(indptr, indices, data)[others][:, others]
        indptr, indices = rest.indptr.astype(np.int64), rest.indices.astype(np.int32)
    order = np.empty(len(others), np.int32)
    minimum_degree(indptr, indices, order)
    return np.concatenate([others[order], hubs])


def _without_zeros(S: Arrays) -> Arrays:
    indptr, indices, data = S
    if data.all():
        return S
    matrix = compressed(indptr, indices, data).copy()
    matrix.eliminate_zeros()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data
