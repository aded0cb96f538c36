"""How documents and queries become vectors that an engine can hold (theory T7, T8, T11).

==========  ================================================================================
``basis``   coordinates in an orthonormal basis, as many as there are terms: nothing is lost
``lsa``     coordinates of latent semantic analysis, few: scores are approximate
``sparse``  documents as they are, expanded queries: nothing is lost; for sparse engines
==========  ================================================================================

By any of them the dot product of a document and a query is the index's score for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.engines.capabilities import Capabilities
from softcosine.errors import IndefiniteMatrixError, InvalidInputError
from softcosine.index.ranked_vectors import QueryRows, RankedVectors
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sources.settings import is_whole

if TYPE_CHECKING:
    from softcosine.space.basis import OrthonormalBasis

__all__ = ["MAX_MEMORY", "N_DIMENSIONS", "ROUTES", "Basis", "Lsa", "Route", "Sparse", "made_route"]

# Bytes that dense coordinates, or a factor of S, may take where nobody chose the route.
MAX_MEMORY = 1 << 30
N_DIMENSIONS = 256
_PASSES = 3  # more make the singular vectors better, and recall no better

Progress = Callable[[str, int, "int | None"], None]
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
        terms, own = _of_terms(rows)
        n_known = int(np.searchsorted(terms, self.V.shape[0]))
        known = own if n_known == len(terms) else own[:, :n_known]
        return np.asarray(known @ self.V[terms[:n_known]].astype(np.float64))

    def queries(self, rows: QueryRows, S: TermSimilarityMatrix) -> Rows:
        """Return Vᵀ Sᵀ W x."""
        return self.documents(_expanded(rows, S))

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
        return _expanded(rows, S)

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


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a route is made of."""

    ranked: RankedVectors
    n_dimensions: int
    max_memory: int | None
    progress: Progress


def made_route(
    name: str,
    ranked: RankedVectors,
    capabilities: Capabilities,
    *,
    n_dimensions: int = N_DIMENSIONS,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> tuple[Route, str]:
    """Make the route of a name, and say why that one where the name is ``auto``.

    ``auto`` is ``sparse`` for engines of sparse vectors. For others it is ``basis`` where n_docs ·
    n_terms · 4 bytes, the documents' dense coordinates, and the factor of S, by the estimate of its
    fill-in, both stay within `max_memory`, and S has a factor; else ``lsa``.

    Parameters
    ----------
    name : {"auto", "basis", "lsa", "sparse"}
    ranked : RankedVectors
    capabilities : Capabilities
        Of the engine.
    n_dimensions : int
        Of ``lsa``; as many as there are, where there are fewer.
    max_memory : int, optional
        Bytes; 1 GiB for ``auto``, and what `orthonormal_basis` allows where ``basis`` is named.
    progress : callable, optional

    Raises
    ------
    InvalidInputError
        If there is no such route, the engine cannot hold its vectors, or the factor is too large.
    IndefiniteMatrixError
        If ``basis`` is named and S is not positive definite.
    """
    for setting, value in (("n_dimensions", n_dimensions), ("max_memory", max_memory)):
        if value is not None and not (is_whole(value) and value >= 1):
            raise InvalidInputError(
                f"{setting} is {value!r}; needed is a whole number of 1 or more."
            )
    if not isinstance(name, str) or name not in (*_MAKERS, "auto"):
        raise InvalidInputError(
            f"there is no route {name!r}; choose one of auto, {', '.join(_MAKERS)}."
        )
    sparse = capabilities.vectors == "sparse"
    if name != "auto" and (name == Sparse.name) != sparse:
        raise InvalidInputError(
            f"this engine holds {capabilities.vectors} vectors, which the route {name} does not "
            f"make; leave the route out, or take {'sparse' if sparse else 'basis or lsa'}."
        )
    asked = _Asked(ranked, int(n_dimensions), max_memory, progress or _silent)
    if name == "auto":
        route, why = (_sparse(asked), "") if sparse else _chosen(asked)
    else:
        route, why = _MAKERS[name](asked), ""
    _check_fit(route, ranked, capabilities)
    return route, why


def _chosen(asked: _Asked) -> tuple[Route, str]:
    """Take the basis where it fits."""
    from softcosine.space.fill_in import estimate_fill_in

    S, limit = asked.ranked.S, asked.max_memory or MAX_MEMORY
    dense = 4 * len(asked.ranked) * len(S)
    if dense > limit:
        return _lsa(asked), (
            f"{len(asked.ranked):,} documents have {_size(dense)} of coordinates in the basis of "
            f"all {len(S):,} terms, more than {_size(limit)}"
        )
    if not S.symmetric:
        return _lsa(asked), "S is asymmetric and has no basis"
    factor = estimate_fill_in(S).memory
    if factor > limit:
        return _lsa(asked), f"the factor of S has {_size(factor)}, more than {_size(limit)}"
    try:
        return _basis(asked), ""
    except IndefiniteMatrixError:
        return _lsa(asked), "S is not positive definite and has no basis"


def _basis(asked: _Asked) -> Route:
    from softcosine.space.basis import orthonormal_basis

    asked.progress("factoring S", 0, None)
    return Basis(orthonormal_basis(asked.ranked.S, max_memory=asked.max_memory))


def _lsa(asked: _Asked) -> Route:
    from softcosine.space.latent import right_singular_vectors

    ranked, n_terms = asked.ranked, len(asked.ranked.S)
    n_passes = 0

    def blocks() -> Any:
        nonlocal n_passes
        done = 0
        for _, rows in ranked.documents():
            asked.progress(f"reducing dimensions, pass {n_passes + 1}", done, len(ranked))
            yield rows
            done += rows.shape[0]
        n_passes += 1

    k = min(asked.n_dimensions, n_terms, len(ranked))
    V, sigma = right_singular_vectors(blocks, n_terms, k=k, n_iterations=_PASSES)
    # Of a lower rank, columns of zeros would be carried along.
    return Lsa(np.ascontiguousarray(V[:, : max(1, int(np.count_nonzero(sigma)))], np.float32))


def _sparse(asked: _Asked) -> Route:
    return Sparse(len(asked.ranked.S))


_MAKERS: dict[str, Callable[[_Asked], Route]] = {"basis": _basis, "lsa": _lsa, "sparse": _sparse}


def _check_fit(route: Route, ranked: RankedVectors, capabilities: Capabilities) -> None:
    """Refuse what the engine could not hold."""
    if not capabilities.negative and not (route.sparse and ranked.S.non_negative):
        raise InvalidInputError(
            "this engine takes no negative numbers, and these vectors have some; take another "
            "engine."
        )
    limit = capabilities.max_non_zeros
    if limit is None:
        return
    longest = route.n_dimensions
    if route.sparse:
        longest = max(int(np.diff(rows.indptr).max()) for _, rows in ranked.documents())
    if longest > limit:
        raise InvalidInputError(
            f"this engine holds vectors of at most {limit:,} non-zeros, and there are some of "
            f"{longest:,}; take the route lsa with fewer dimensions, or another engine."
        )


def _expanded(rows: QueryRows, S: TermSimilarityMatrix) -> csr_array:
    """Return Sᵀ W x."""
    terms, weights = _of_terms(rows.weighted)
    expanded = csr_array(weights @ S.to_scipy()[terms].astype(np.float64))
    return csr_array(expanded + rows.outside) if rows.outside.nnz else expanded


def _of_terms(rows: csr_array) -> tuple[NDArray[np.int64], csr_array]:
    """Return the terms that rows have, ascending, and the rows with no others.

    To multiply a few queries then costs what they have, not what a large matrix has.
    """
    terms, places = np.unique(rows.indices, return_inverse=True)
    arrays = (rows.data, places.ravel(), rows.indptr)
    return terms, csr_array(arrays, shape=(rows.shape[0], len(terms)))


def _same(left: TermSimilarityMatrix, right: TermSimilarityMatrix) -> bool:
    if left is right:
        return True
    pairs: list[tuple[Any, Any]] = list(zip(left.arrays, right.arrays, strict=True))
    return all(np.array_equal(*pair) for pair in pairs)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.0f} MiB"


def _silent(what: str, done: int, total: int | None) -> None:
    """Report nothing."""
