"""Leading eigenvectors of a large sparse symmetric matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine._threads import for_each_chunk
from softcosine.kernels.cooccurrence import (
    add_gram,
    combine_columns,
    diagonalize,
    sparse_times_dense,
)

__all__ = ["SparseRows", "leading_factors"]

_EXTRA = 16  # extra directions beyond the requested ones
_ROUNDS = 4  # iterations of multiplication and orthogonalisation
_SEED = 20_260_101
_CHUNK = 512
_GRAM_CHUNK = 4096
# Directions with a squared length below this share of the greatest are float32 rounding errors.
_NOISE = 1e-10


@dataclass(frozen=True, slots=True)
class SparseRows:
    """A square sparse matrix with unused elements between rows.

    Attributes
    ----------
    starts : ndarray of shape (n + 1,), int64
    ends : ndarray of shape (n,), int64
        Row ``i`` has the elements ``starts[i]:ends[i]``.
    columns : ndarray of shape (starts[-1],), int32
    values : ndarray of shape (starts[-1],), float32
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ends)

    def times(self, dense: NDArray[np.float32]) -> NDArray[np.float32]:
        """Multiply by a dense matrix of shape (n, c)."""
        product = np.empty_like(dense)

        def work(first: int, last: int) -> None:
            sparse_times_dense(
                self.starts, self.ends, self.columns, self.values, dense, first, last, product
            )

        for_each_chunk(work, len(self), chunk=_CHUNK)
        return product


def leading_factors(
    matrix: SparseRows,
    dimensions: int,
    *,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Return U sqrt(abs(L)), with the eigenvalues L of greatest size and their eigenvectors U.

    The method is randomised subspace iteration with a fixed seed (Halko, Martinsson & Tropp 2011,
    algorithm 4.4); exact up to rounding if the matrix has at most `dimensions` + 16 rows.

    Parameters
    ----------
    matrix : SparseRows of order n
        Symmetric.
    dimensions : int
        At least 1.
    progress : callable, optional
        Called as ``progress(done, total)`` after each product.

    Returns
    -------
    ndarray of shape (n, min(dimensions, n)), float32
    """
    n = len(matrix)
    width = min(dimensions + _EXTRA, n)
    if width == 0:
        return np.zeros((0, 0), np.float32)
    random = np.random.default_rng(_SEED)
    basis = random.standard_normal((n, width), dtype=np.float32)
    for done in range(_ROUNDS + 1):
        basis = _orthonormal(matrix.times(basis))
        if progress is not None:
            progress(done + 1, _ROUNDS + 2)
    small = _gram(basis, matrix.times(basis))
    values, vectors = _eigen((small + small.T) / 2.0)
    if progress is not None:
        progress(_ROUNDS + 2, _ROUNDS + 2)
    order = np.argsort(-np.abs(values), kind="stable")[: min(dimensions, n)]
    return _combined(basis, vectors[:, order] * np.sqrt(np.abs(values[order])))


def _orthonormal(dense: NDArray[np.float32]) -> NDArray[np.float32]:
    """Orthonormal basis of the columns; zero columns for missing directions."""
    values, vectors = _eigen(_gram(dense, dense))
    real = values > _NOISE * values.max()
    factors = np.where(real, 1.0 / np.sqrt(np.where(real, values, 1.0)), 0.0)
    return _combined(dense, vectors * factors)


def _gram(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return leftᵀ right, summed in chunks that do not depend on the number of threads."""
    n_chunks = -(-len(left) // _GRAM_CHUNK)
    parts = np.zeros((n_chunks, left.shape[1], right.shape[1]))

    def work(first: int, last: int) -> None:
        add_gram(left[first:last], right[first:last], parts[first // _GRAM_CHUNK])

    for_each_chunk(work, len(left), chunk=_GRAM_CHUNK)
    total = np.zeros(parts.shape[1:])
    for part in parts:
        total += part
    return total


def _eigen(symmetric: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenvalues, and eigenvectors as columns."""
    matrix = symmetric.copy()
    rows = np.empty_like(matrix)
    diagonalize(matrix, rows)
    return np.diag(matrix).copy(), np.ascontiguousarray(rows.T)


def _combined(dense: NDArray[np.float32], small: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Multiply a tall matrix by a small one."""
    product = np.empty((len(dense), small.shape[1]), np.float32)
    factors = np.ascontiguousarray(small, np.float64)

    def work(first: int, last: int) -> None:
        combine_columns(dense, factors, first, last, product)

    for_each_chunk(work, len(dense), chunk=_CHUNK)
    return product
