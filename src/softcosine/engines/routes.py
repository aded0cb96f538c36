"""Routes: how documents and queries become vectors for an engine (theory T7, T8, T11).

=========  ================================================================
``basis``  coordinates in an orthonormal basis, one per term: lossless
``lsa``    coordinates of latent semantic analysis, few: scores are approximate
=========  ================================================================

In each, the dot product of a document and a query is the score that the index gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.index.search.ranked_vectors import QueryRows, of_terms
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

if TYPE_CHECKING:
    from softcosine.space.basis import OrthonormalBasis

__all__ = ["ROUTES", "Basis", "Lsa", "Route", "Rows"]

Rows: TypeAlias = NDArray[np.float64]


class Route(Protocol):
    """A map from documents and queries to vectors; immutable."""

    name: ClassVar[str]

    @property
    def n_dimensions(self) -> int:
        """Dimensions of the vectors."""
        ...

    def documents(self, rows: csr_array) -> Rows:
        """Return the vectors of documents W y, given and returned as rows."""
        ...

    def queries(self, rows: QueryRows, S: TermSimilarityMatrix) -> Rows:
        """Return the vectors of queries."""
        ...

    def follows(self, S: TermSimilarityMatrix) -> bool:
        """Whether documents keep their vectors if this S replaces the old one."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], S: TermSimilarityMatrix) -> Self:
        """Rebuild the route from saved arrays."""
        ...


@dataclass(frozen=True, slots=True)
class Basis:
    """Coordinates in an orthonormal basis of the soft vector space (theory T7)."""

    name: ClassVar[str] = "basis"
    basis: OrthonormalBasis

    @property
    def n_dimensions(self) -> int:
        """Number of terms."""
        return self.basis.n_terms

    def documents(self, rows: csr_array) -> Rows:
        """Return Eᵀ W y."""
        return np.asarray(self.basis.coordinates(rows).toarray())

    def queries(self, rows: QueryRows, S: TermSimilarityMatrix) -> Rows:
        """Return Eᵀ W x, plus E⁻¹ of what words outside the vocabulary add to Sᵀ W x."""
        coordinates = np.asarray(self.basis.coordinates(rows.weighted).toarray())
        if rows.outside.nnz:
            outside = self.basis.solved(rows.outside)
            coordinates += outside.toarray() if isinstance(outside, csr_array) else outside
        return coordinates

    def follows(self, S: TermSimilarityMatrix) -> bool:
        """Whether S is the same: another S has another basis."""
        return _same(self.basis.S, S)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the factor."""
        return self.basis.arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], S: TermSimilarityMatrix) -> Self:
        """Rebuild the route from the factor."""
        from softcosine.space.basis import OrthonormalBasis

        return cls(OrthonormalBasis.from_arrays(S, dict(arrays)))


@dataclass(frozen=True, slots=True)
class Lsa:
    """Coordinates of latent semantic analysis (theory T11).

    Attributes
    ----------
    V : ndarray of shape (n_terms, n_dimensions), float32
        Orthonormal columns. Terms added to the vocabulary later are ignored.
    """

    name: ClassVar[str] = "lsa"
    V: NDArray[np.float32]

    @property
    def n_dimensions(self) -> int:
        """The requested number, or the rank if that is lower."""
        return int(self.V.shape[1])

    def documents(self, rows: csr_array) -> Rows:
        """Return Vᵀ W y."""
        terms, own = of_terms(rows)
        n_known = int(np.searchsorted(terms, self.V.shape[0]))
        known = own if n_known == len(terms) else own[:, :n_known]
        return np.asarray(known @ self.V[terms[:n_known]].astype(np.float64))

    def queries(self, rows: QueryRows, S: TermSimilarityMatrix) -> Rows:
        """Return Vᵀ Sᵀ W x."""
        return self.documents(rows.expanded(S))

    def follows(self, S: TermSimilarityMatrix) -> bool:
        """Whether S has at least as many terms: documents depend on S only by their norms."""
        return len(S) >= int(self.V.shape[0])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return V."""
        return {"V": self.V}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], S: TermSimilarityMatrix) -> Self:
        """Rebuild the route from V."""
        return cls(arrays["V"])


ROUTES: dict[str, type[Basis] | type[Lsa]] = {one.name: one for one in (Basis, Lsa)}


def _same(left: TermSimilarityMatrix, right: TermSimilarityMatrix) -> bool:
    if left is right:
        return True
    pairs: list[tuple[Any, Any]] = list(zip(left.arrays, right.arrays, strict=True))
    return all(np.array_equal(*pair) for pair in pairs)
