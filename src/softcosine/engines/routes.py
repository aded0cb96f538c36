"""How documents and queries become vectors that an engine can hold (theory T7, T8, T11).

==========  ================================================================================
``basis``   coordinates in an orthonormal basis, as many as there are terms: nothing is lost
``lsa``     coordinates of latent semantic analysis, few: scores are approximate
``sparse``  documents as they are, expanded queries: nothing is lost; for sparse engines
==========  ================================================================================

By any of them the dot product of a document and a query is the index's score for them.
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

__all__ = ["ROUTES", "Basis", "Lsa", "Route", "Rows", "Sparse"]

Rows: TypeAlias = NDArray[np.float64] | csr_array


class Route(Protocol):
    """A way from documents and queries to vectors; immutable."""

    name: ClassVar[str]

    @property
    def n_dimensions(self) -> int:
        """Of the vectors."""
        ...

    @property
    def sparse(self) -> bool:
        """Whether vectors are sparse."""
        ...

    def documents(self, rows: csr_array) -> Rows:
        """Return vectors of documents W y, given and returned as rows."""
        ...

    def queries(self, rows: QueryRows, S: TermSimilarityMatrix) -> Rows:
        """Return vectors of queries."""
        ...

    def follows(self, S: TermSimilarityMatrix) -> bool:
        """Whether vectors stay what they are where this S takes the place of the old one."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is to be saved."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], S: TermSimilarityMatrix) -> Self:
        """Make it again of what was saved."""
        ...


@dataclass(frozen=True, slots=True)
class Basis:
    """Coordinates in an orthonormal basis of the soft vector space (theory T7)."""

    name: ClassVar[str] = "basis"
    basis: OrthonormalBasis

    @property
    def n_dimensions(self) -> int:
        """As many as there are terms."""
        return self.basis.n_terms

    @property
    def sparse(self) -> bool:
        """They are taken as dense."""
        return False

    def documents(self, rows: csr_array) -> Rows:
        """Return Eᵀ W y."""
        return np.asarray(self.basis.coordinates(rows).toarray())

    def queries(self, rows: QueryRows, S: TermSimilarityMatrix) -> Rows:
        """Return Eᵀ W x, and E⁻¹ of what words outside the vocabulary add to Sᵀ W x."""
        coordinates = np.asarray(self.basis.coordinates(rows.weighted).toarray())
        if rows.outside.nnz:
            outside = self.basis.solved(rows.outside)
            coordinates += outside.toarray() if isinstance(outside, csr_array) else outside
        return coordinates

    def follows(self, S: TermSimilarityMatrix) -> bool:
        """Only the same S has the same basis."""
        return _same(self.basis.S, S)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the factor."""
        return self.basis.arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], S: TermSimilarityMatrix) -> Self:
        """Make it of the factor."""
        from softcosine.space.basis import OrthonormalBasis

        return cls(OrthonormalBasis.from_arrays(S, dict(arrays)))


@dataclass(frozen=True, slots=True)
class Lsa:
    """Coordinates of latent semantic analysis (theory T11).

    Attributes
    ----------
    V : ndarray of shape (n_terms, n_dimensions), float32
        Orthonormal columns. Terms that came later are not among them and count for nothing.
    """

    name: ClassVar[str] = "lsa"
    V: NDArray[np.float32]

    @property
    def n_dimensions(self) -> int:
        """As many as were asked for, or as there are."""
        return int(self.V.shape[1])

    @property
    def sparse(self) -> bool:
        """They are dense."""
        return False

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
        """Documents do not depend on S, but for their norms, and terms come behind the others."""
        return len(S) >= int(self.V.shape[0])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return V."""
        return {"V": self.V}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], S: TermSimilarityMatrix) -> Self:
        """Make it of V."""
        return cls(arrays["V"])


@dataclass(frozen=True, slots=True)
class Sparse:
    """Documents as they are, and expanded queries (theory T8, T9)."""

    name: ClassVar[str] = "sparse"
    n_terms: int

    @property
    def n_dimensions(self) -> int:
        """As many as there are terms."""
        return self.n_terms

    @property
    def sparse(self) -> bool:
        """They are."""
        return True

    def documents(self, rows: csr_array) -> Rows:
        """Return W y."""
        return rows

    def queries(self, rows: QueryRows, S: TermSimilarityMatrix) -> Rows:
        """Return Sᵀ W x."""
        return rows.expanded(S)

    def follows(self, S: TermSimilarityMatrix) -> bool:
        """Documents do not depend on S, but for their norms."""
        return len(S) == self.n_terms

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the number of terms."""
        return {"n_terms": np.array([self.n_terms])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], S: TermSimilarityMatrix) -> Self:
        """Make it of the number of terms."""
        return cls(int(arrays["n_terms"][0]))


ROUTES: dict[str, type[Basis] | type[Lsa] | type[Sparse]] = {
    one.name: one for one in (Basis, Lsa, Sparse)
}


def _same(left: TermSimilarityMatrix, right: TermSimilarityMatrix) -> bool:
    if left is right:
        return True
    pairs: list[tuple[Any, Any]] = list(zip(left.arrays, right.arrays, strict=True))
    return all(np.array_equal(*pair) for pair in pairs)
