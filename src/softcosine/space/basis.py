"""Orthonormal basis of the soft vector space: coordinates that need no S (theory T7)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine._validation import is_whole, must_be
from softcosine.errors import (
    CorruptIndexError,
    IndefiniteMatrixError,
    InvalidInputError,
)
from softcosine.kernels.cholesky import solve_rows
from softcosine.matrix.definiteness import ROUNDING
from softcosine.matrix.ranges import check_array, check_numbers, check_starts, check_values
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.space.cholesky import NotDefiniteError, factored, find_cores
from softcosine.space.fill_in import Elimination, planned
from softcosine.space.norms import checked_matrix
from softcosine.space.orderings import EliminationOrder, checked_order
from softcosine.space.term_weights import checked_weights

__all__ = ["Factoring", "OrthonormalBasis", "factored_basis", "orthonormal_basis"]

_MEMORY = Path("/proc/meminfo")
# Memory limit and usage of a container, in both versions of cgroups.
_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def available_memory() -> int | None:
    """Bytes this process can still allocate without swapping; None if unknown.

    On Linux the kernel's available memory or what is left to the container, on Windows the free
    memory, elsewhere the total memory of the machine.
    """
    if sys.platform == "win32":
        return _on_windows()
    try:
        found = [_available()]
    except (OSError, ValueError):
        return _physical()
    for limit, used in _LIMITS:
        try:
            left = int(limit.read_text()) - int(used.read_text())
            found.append(left + _given_back(used.parent / "memory.stat"))
        except (OSError, ValueError):  # no such file, or the value "max"
            continue
    return max(min(found), 0)


def _given_back(statistics: Path) -> int:
    """Bytes of cached files that count as used and that the kernel can reclaim."""
    try:
        facts = dict(line.split(maxsplit=1) for line in statistics.read_text().splitlines())
        return int(facts.get("total_inactive_file", facts.get("inactive_file", 0)))
    except (OSError, ValueError):
        return 0


def _available() -> int:
    for line in _MEMORY.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"{_MEMORY} has no MemAvailable")


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _on_windows() -> int | None:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [
            ("size", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("total", "free", *"abcde")),
        ]

    status = Status(size=ctypes.sizeof(Status))
    if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):  # type: ignore[attr-defined]
        return None
    return int(status.free)


# Share of the available memory that a factor may take by default.
_SHARE = 0.5
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
    order : str
        Order of elimination.
    """

    def __init__(
        self,
        S: TermSimilarityMatrix,
        E: csr_array,
        pivots: NDArray[np.int32],
        *,
        order: EliminationOrder,
    ) -> None:
        self.S, self.E, self.pivots, self.order = S, E, pivots, order

    def __repr__(self) -> str:
        return (
            f"OrthonormalBasis({self.n_terms} terms, {self.n_entries} entries, "
            f"order={self.order!r})"
        )

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
            given = np.ascontiguousarray(Z[start : start + _BLOCK].toarray())
            found = np.empty_like(given)
            with np.errstate(over="ignore", invalid="ignore"):
                solve_rows(indptr, indices, self.E.data, self.pivots, given, found)
            if not np.all(np.isfinite(found)):
                raise InvalidInputError("a coordinate leaves the range of float64; scale Z down.")
            blocks.append(csr_array(found))
        return _stacked(blocks)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays from which `from_arrays` rebuilds the basis, given S."""
        return {
            "indptr": self.E.indptr.astype(np.int64, copy=False),
            "indices": self.E.indices.astype(np.int32, copy=False),
            "data": self.E.data,
            "pivots": self.pivots,
            "order": _written(self.order),
        }

    @classmethod
    def from_arrays(cls, S: TermSimilarityMatrix, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild a basis of S from the arrays of `arrays`.

        Raises
        ------
        CorruptIndexError
            If the arrays are not a basis.
        InvalidInputError
            If they are the basis of another S, for example because S has changed.
        """
        n = len(checked_similarity(S))
        try:
            # Compiled kernels take writable arrays only; writable arrays are not copied.
            indptr, indices, data, pivots = (
                np.require(arrays[name], requirements=["C", "W"])
                for name in ("indptr", "indices", "data", "pivots")
            )
            order = checked_order(_read(arrays["order"]))
        except (KeyError, InvalidInputError) as error:
            raise CorruptIndexError(f"these arrays are no basis: {error}") from error
        check_array("pivots", pivots, ("int32",))
        if len(pivots) != n:
            raise _of_another(f"it has {len(pivots)} terms and S has {n}")
        check_array("indptr", indptr, ("int64",), n + 1)
        check_array("indices", indices, ("int32",))
        check_array("data", data, ("float64",), len(indices))
        check_starts("indptr", indptr, len(indices))
        check_numbers("indices", indices, n)
        check_values("data", data)
        if not np.array_equal(np.sort(pivots), np.arange(n)):
            raise CorruptIndexError("the pivots of a basis are not all of its terms.")
        basis = cls(S, _square(indptr, indices, data), pivots, order=order)
        if not _is_triangular(basis.E, pivots):
            raise CorruptIndexError("the rows of a basis do not end with their own axes.")
        if not _multiplies_to(basis.E, S):
            raise _of_another("E times its transpose is not S")
        return basis


@dataclass(frozen=True, slots=True)
class Factoring:
    """An implementation of the factorisation of S.

    Attributes
    ----------
    memory : callable
        Maps an `Elimination` to the bytes at the peak, the factor included.
    factored : callable
        Called with an `Elimination` and ``least=``, the largest pivot that counts as zero; returns
        E as `softcosine.space.cholesky.factored` does.
    """

    memory: Callable[[Elimination], int]
    factored: Callable[..., csr_array]


_OWN = Factoring(
    memory=lambda plan: find_cores(plan).memory(plan),
    factored=lambda plan, *, least: factored(plan, find_cores(plan), least=least),
)


def orthonormal_basis(
    S: TermSimilarityMatrix,
    *,
    order: EliminationOrder = "minimum_degree",
    max_memory: int | None = None,
) -> OrthonormalBasis:
    r"""Factor S into E Eᵀ: coordinates whose ordinary dot product is the soft one (theory T7).

    .. math:: P^\top S P = F F^\top, \quad E = P F

    Parameters
    ----------
    S : TermSimilarityMatrix
        order : {"minimum_degree", "reverse_cuthill_mckee", "natural"}
            Order in which the terms are eliminated. It changes the fill-in, but no product; with
            "natural", E is lower triangular.
        max_memory : int, optional
            Limit of the peak memory in bytes; half of the available memory by default.

    Raises
    ------
    InvalidInputError
        If S is asymmetric, a setting is unknown, or the factor exceeds `max_memory`; the message
        gives the estimate of `softcosine.estimate_fill_in`.
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
    return factored_basis(S, _OWN, order=order, max_memory=max_memory)


def factored_basis(
    S: TermSimilarityMatrix,
    factoring: Factoring,
    *,
    order: EliminationOrder,
    max_memory: int | None,
) -> OrthonormalBasis:
    """Compute E by the given factorisation of S; see `orthonormal_basis`."""
    limit = _checked_limit(max_memory)
    plan = planned(S, order)
    _require_memory(factoring.memory(plan), plan, limit)
    least = 8 * np.finfo(np.float64).eps * max(plan.fill_in.largest_component, 1)
    try:
        E = factoring.factored(plan, least=least)
    except NotDefiniteError as error:
        raise _indefinite(S, error, least) from error
    if not _multiplies_to(E, S):
        raise IndefiniteMatrixError(
            "the factor of S does not multiply to S: S is too near to a singular matrix. Use "
            "S.shrunk(), which keeps every neighbour."
        )
    return OrthonormalBasis(S, E, plan.pivots, order=plan.fill_in.order)


def _checked_limit(max_memory: int | None) -> int | None:
    if max_memory is None:
        available = available_memory()
        return None if available is None else int(available * _SHARE)
    if not is_whole(max_memory):
        raise must_be("max_memory", max_memory, "a number of bytes")
    return int(max_memory)


def _require_memory(needed: int, plan: Elimination, limit: int | None) -> None:
    if limit is not None and needed > limit:
        raise InvalidInputError(
            f"a change of basis needs {needed / 2**20:,.0f} MiB, and {limit / 2**20:,.0f} MiB are "
            f"allowed. {plan.fill_in}. Build S with fewer neighbours or strategy='dominant', "
            "raise max_memory, or do without a factor: expand_queries and unit_documents serve "
            "the same ranking by dot product, SoftLSA in few dimensions."
        )


def _indefinite(
    S: TermSimilarityMatrix, found: NotDefiniteError, least: float
) -> IndefiniteMatrixError:
    pivot = 0.0 if found.pivot is None else found.pivot
    kind = "indefinite" if pivot < -ROUNDING else "singular or indefinite"
    told = "too small a pivot" if found.pivot is None else f"the pivot {pivot:.3g}"
    return IndefiniteMatrixError(
        f"S is {kind}: when the terms before it are eliminated, {S.vocabulary.term(found.term)!r} "
        f"is left with {told}, and a change of basis needs one above {least:.1g}. Use S.shrunk(), "
        "which keeps every neighbour, or build S with strategy='dominant'."
    )


def _multiplies_to(E: csr_array, S: TermSimilarityMatrix) -> bool:
    """Whether E Eᵀ r equals S r for random r, up to rounding."""
    r = np.random.default_rng(0).choice([-1.0, 1.0], (E.shape[0], 3))
    with np.errstate(over="ignore", invalid="ignore"):
        difference = np.abs(E @ (E.T @ r) - S.to_scipy().astype(np.float64) @ r)
    # Upper bound of every row sum of S.
    sizes = abs(S.to_scipy()).sum(axis=1, dtype=np.float64).max(initial=1.0)
    return bool(np.all(difference <= 1e-9 * sizes))


def _is_triangular(E: csr_array, pivots: NDArray[np.int32]) -> bool:
    """Whether the columns of each row end at the row's own term, with a positive entry there."""
    ranks = np.empty(len(pivots), np.int64)
    ranks[pivots] = np.arange(len(pivots))
    if np.any(np.diff(E.indptr) < 1):
        return False
    lasts = E.indptr[1:] - 1
    rising = np.diff(E.indices) > 0
    rising[lasts[:-1]] = True  # from one row to the next
    return bool(
        rising.all() and np.array_equal(E.indices[lasts], ranks) and (E.data[lasts] > 0).all()
    )


def _square(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], data: NDArray[np.float64]
) -> csr_array:
    if len(indices) <= np.iinfo(np.int32).max:  # of two types, SciPy takes the wider for both
        indptr = indptr.astype(np.int32)
    return csr_array((data, indices, indptr), shape=(len(indptr) - 1,) * 2)


def _stacked(blocks: list[csr_array]) -> csr_array:
    from scipy.sparse import vstack

    return csr_array(vstack(blocks, format="csr"))


def _of_another(why: str) -> InvalidInputError:
    return InvalidInputError(
        f"this basis is one of another S: {why}. S has changed since; make the basis anew by "
        "orthonormal_basis(S)."
    )


def _written(word: str) -> NDArray[np.uint8]:
    return np.frombuffer(word.encode("ascii"), np.uint8)


def _read(letters: NDArray[Any]) -> str:
    return np.asarray(letters, np.uint8).tobytes().decode("ascii", "replace")
