"""Arrays of S."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError

# Row pointers, column indices and values, as used by kernels.
Arrays = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]


def compressed(
    indptr: NDArray[np.integer[Any]], indices: NDArray[np.int32], data: NDArray[np.float32]
) -> scipy.sparse.csr_array:
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
    S = scipy.sparse.csr_array((data, indices, indptr), shape=(n, n))
    S.has_sorted_indices = True
    return S


def asymmetry(purpose: str) -> InvalidInputError:
    """Return the error for a purpose that needs a symmetric S."""
    return InvalidInputError(
        f"S is asymmetric, and {purpose} needs a symmetric one; build it with "
        'strategy="symmetric" or "dominant".'
    )


def writable(array: NDArray[Any], dtype: Any = None) -> NDArray[Any]:
    """Return an array that kernels accept; read-only arrays mapped by joblib are copied."""
    return np.require(np.asarray(array), dtype, ("C", "W"))
