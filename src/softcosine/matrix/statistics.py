"""Statistics of S: numbers of neighbours, similarities, definiteness."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softcosine.matrix.definiteness import smallest_eigenvalue

if TYPE_CHECKING:
    from softcosine.matrix.entries import Entries

__all__ = ["MatrixStatistics", "matrix_statistics"]


@dataclass(frozen=True, slots=True)
class MatrixStatistics:
    """Statistics of S; neighbours are off-diagonal entries, counted by row.

    Attributes
    ----------
    n_terms, n_terms_with_neighbors, n_neighbors : int
        A symmetric pair of neighbours counts twice.
    mean_neighbors, max_neighbors
        Over all terms.
    mean_similarity : float
        Over all neighbours; 0 if there are none.
    symmetric, dominant : bool
        Whether S equals its transpose, and is strictly diagonally dominant.
    smallest_eigenvalue : float or None
        None if S is asymmetric or it was not requested.
    """

    n_terms: int
    n_terms_with_neighbors: int
    n_neighbors: int
    mean_neighbors: float
    max_neighbors: int
    mean_similarity: float
    symmetric: bool
    dominant: bool
    smallest_eigenvalue: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as a dictionary."""
        return asdict(self)


def matrix_statistics(S: Entries, *, eigenvalue: bool = True) -> MatrixStatistics:
    """Return statistics; with `eigenvalue`, also the smallest one (seconds if S is large)."""
    n = len(S)
    entries = S.to_scipy()
    counts = np.diff(entries.indptr) - 1
    total = int(counts.sum())
    similarity = float(entries.data.sum(dtype=np.float64) - n) / total if total else 0.0
    return MatrixStatistics(
        n_terms=n,
        n_terms_with_neighbors=int(np.count_nonzero(counts)),
        n_neighbors=total,
        mean_neighbors=total / n if n else 0.0,
        max_neighbors=int(counts.max(initial=0)),
        mean_similarity=similarity,
        symmetric=S.symmetric,
        dominant=S.dominant,
        smallest_eigenvalue=smallest_eigenvalue(entries) if eigenvalue and S.symmetric else None,
    )
