"""The entries of S, independent of its terms."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.errors import IndefiniteMatrixWarning, InvalidInputError
from softcosine.matrix import definiteness
from softcosine.matrix.ranges import check_compressed, check_numbers, check_values

__all__ = ["Arrays", "Entries", "asymmetry", "compressed"]

# Row pointers, column indices and values, as used by kernels.
Arrays = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]


class Entries:
    """A square sparse matrix with unit diagonal, and its properties.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32, or its arrays
        Column indices ascending, diagonal stored. Arrays may be memory-mapped; they are not read
        here, but checked before their first use.
    """

    def __init__(self, S: csr_array | Arrays) -> None:
        self.__dict__["_unchecked" if isinstance(S, tuple) else "_S"] = S
        self._n_terms: int = len(S[0]) - 1 if isinstance(S, tuple) else S.shape[0]

    def __len__(self) -> int:
        return self._n_terms

    @property
    def shape(self) -> tuple[int, int]:
        """(n_terms, n_terms)."""
        return (len(self), len(self))

    def to_scipy(self) -> csr_array:
        """Return S as a SciPy array (n_terms, n_terms), float32. Do not modify it."""
        return self._S

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "arrays" in state:
            self.__dict__["arrays"] = tuple(map(_writable, state["arrays"]))
            self.__dict__.pop("_unchecked", None)

    @cached_property
    def arrays(self) -> Arrays:
        """Return row pointers, column indices and values, as used by kernels.

        Raises
        ------
        CorruptIndexError
            If stored arrays are invalid. They are checked on first use, in one pass; thread-safe.
        """
        if "_unchecked" in self.__dict__:
            indptr, indices, data = self.__dict__["_unchecked"]
            check_compressed(indptr, indices, data, len(self))
            return _writable(indptr), _writable(indices), _writable(data)
        return (
            _writable(self._S.indptr, np.int64),
            _writable(self._S.indices, np.int32),
            _writable(self._S.data, np.float32),
        )

    def row(self, i: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return columns and values of one row, without reading or checking other rows."""
        indptr, indices, data = self.__dict__.get("_unchecked") or self.arrays
        own = slice(indptr[i], indptr[i + 1])
        check_numbers("matrix/indices", indices[own], len(self))
        check_values("matrix/data", data[own])
        return indices[own], data[own]

    @cached_property
    def _S(self) -> csr_array:  # noqa: N802 - the papers' letter
        return compressed(*self.arrays)

    @cached_property
    def symmetric(self) -> bool:
        """Whether S equals its transpose."""
        return definiteness.is_symmetric(self._S)

    @cached_property
    def non_negative(self) -> bool:
        """Whether all entries are at least 0."""
        return bool(np.all(self._S.data >= 0))

    @cached_property
    def dominant(self) -> bool:
        """Whether S is strictly diagonally dominant (and thus positive definite if symmetric)."""
        return definiteness.is_dominant(self._S)

    def require_symmetric(self, purpose: str) -> None:
        """Raise InvalidInputError if S is asymmetric; `purpose` is part of the message."""
        if not self.symmetric:
            raise asymmetry(purpose)

    def warn_if_indefinite(self) -> None:
        """Warn once if S is symmetric and has a negative eigenvalue."""
        if not self.symmetric or self.dominant:
            return
        lowest = definiteness.smallest_eigenvalue(self._S, tolerance=1e-2)
        if lowest < -definiteness.ROUNDING:
            warnings.warn(
                f"S is not positive semidefinite (an eigenvalue is {lowest:.3g}), so soft cosines "
                "above 1 can occur. S.shrunk() repairs it and keeps every neighbour, as does "
                'balanced=True; strategy="dominant" keeps the strongest ones only.',
                IndefiniteMatrixWarning,
                stacklevel=3,
            )


def compressed(
    indptr: NDArray[np.integer[Any]], indices: NDArray[np.int32], data: NDArray[np.float32]
) -> csr_array:
    """Return a square SciPy array that shares the given arrays.

    Parameters
    ----------
    indptr : ndarray of shape (n_terms + 1,), integers
    indices : ndarray of shape (n_entries,), int32
        Ascending in each row.
    data : ndarray of shape (n_entries,), float32
    """
    n = len(indptr) - 1
    if indptr[-1] <= np.iinfo(np.int32).max:  # SciPy converts both index arrays to the wider type
        indptr = indptr.astype(np.int32, copy=False)
    S = csr_array((data, indices, indptr), shape=(n, n))
    S.has_sorted_indices = True
    return S


def asymmetry(purpose: str) -> InvalidInputError:
    """Return the error for a purpose that needs a symmetric S."""
    return InvalidInputError(
        f"S is asymmetric, and {purpose} needs a symmetric one; build it with "
        'strategy="symmetric" or "dominant".'
    )


def _writable(array: NDArray[Any], dtype: Any = None) -> NDArray[Any]:
    """Return an array that kernels accept; read-only arrays mapped by joblib are copied."""
    return np.require(np.asarray(array), dtype, ("C", "W"))
