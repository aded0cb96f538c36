"""S = E Eᵀ: sparse columns one by one, the nearly full rest by LAPACK (theory T7).

Eliminating a term links all its neighbours. In the graph of a real S, so many terms are linked
after some time that the rest, the core, is nearly full. LAPACK is many times faster there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf
from scipy.sparse import csr_array

from softcosine._ragged import running_sum
from softcosine.kernels.cholesky import (
    count_in_core,
    count_outside_core,
    factor_outside_core,
    lay_out_core,
    lay_out_outside_core,
    subtract_from_core,
)
from softcosine.space.fill_in import BYTES_AN_ENTRY, Elimination

# Time of a multiplication and addition in LAPACK relative to one in sparse columns, and time to
# set up and copy one entry of the core in the same unit.
_LAPACK = 1 / 25
_AN_ENTRY = 2.0
_LEAST_CORE = 32
# Rows and columns of a core in one LAPACK call.
_BLOCK = 2048


class NotDefiniteError(Exception):
    """The pivot of a term is not above zero beyond rounding."""

    def __init__(self, term: int, pivot: float) -> None:
        super().__init__(term, pivot)
        self.term, self.pivot = term, pivot


@dataclass(frozen=True, slots=True)
class Cores:
    """Ends of the elimination order that are factored as full matrices, at most one per component.

    Attributes
    ----------
    members : tuple of ndarray, int32
        Per core: the positions of its terms in the order, ascending.
    columns : tuple of ndarray, int32
        Per core: the positions of the other terms of its component, ascending.
    """

    members: tuple[NDArray[np.int32], ...]
    columns: tuple[NDArray[np.int32], ...]

    @property
    def n_terms(self) -> int:
        """Number of terms in all cores."""
        return sum(len(members) for members in self.members)

    def memory(self, elimination: Elimination) -> int:
        """Peak memory of the factorisation in bytes, the factor included."""
        outside = np.ones(len(elimination.pivots), np.bool_)
        for members in self.members:
            outside[members] = False
        squares = sum(8 * len(members) ** 2 for members in self.members)
        columns = int(elimination.counts[outside].sum())
        return squares + BYTES_AN_ENTRY * columns + elimination.fill_in.memory


def find_cores(elimination: Elimination) -> Cores:
    """Choose the terms to factor as full matrices, by the number of entries of their columns."""
    components = elimination.components
    places = np.argsort(components, kind="stable").astype(np.int32)
    sizes = np.bincount(components, minlength=1)
    starts = running_sum(sizes)
    members, columns = [], []
    for component in np.flatnonzero(sizes > 1).tolist():
        own = places[starts[component] : starts[component + 1]]
        n = len(own) - _quickest(elimination.counts[own])
        if n < len(own):
            members.append(own[n:])
            columns.append(own[:n])
    return Cores(tuple(members), tuple(columns))


def _quickest(counts: NDArray[np.int64]) -> int:
    """Return how many of the last columns LAPACK factors faster."""
    if len(counts) < _LEAST_CORE:
        return 0
    sparse = np.concatenate([[0.0], np.cumsum(counts * (counts + 1.0) / 2.0)])
    entries = np.concatenate([np.cumsum(counts[::-1])[::-1], [0]])
    n = np.arange(len(counts), -1, -1, dtype=np.float64)
    times = sparse + _LAPACK * n**3 / 6.0 + _AN_ENTRY * n**2 / 2.0
    # If the core is less than half full, the saved time does not justify the memory.
    times[(entries < n**2 / 4.0) | ((n > 0) & (n < _LEAST_CORE))] = np.inf
    return len(counts) - int(np.argmin(times))


def factored(elimination: Elimination, cores: Cores, *, least: float) -> csr_array:
    """Compute E with S = E Eᵀ; the rows of S are in the order of elimination.

    Parameters
    ----------
    elimination : Elimination
    cores : Cores
    least : float
        A pivot up to this value counts as zero.

    Returns
    -------
    csr_array of shape (n_terms, n_terms), float64
        Column k belongs to the k-th term of the order; columns ascending. Entries that are zero
        by coincidence are stored, except in the cores.

    Raises
    ------
    NotDefiniteError
    """
    S, order, counts = elimination.S, elimination.pivots, elimination.counts
    n = len(order)
    ranks = np.empty(n, np.int32)
    ranks[order] = np.arange(n, dtype=np.int32)
    core = np.zeros(n, np.bool_)
    for members in cores.members:
        core[members] = True
    starts = running_sum(np.where(core, 0, counts))
    rows, values = np.empty(starts[-1], np.int32), np.empty(max(starts[-1], 1), np.float64)
    splits, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    failed = factor_outside_core(
        *S, order, ranks, elimination.parents, core, least, starts, rows, values, splits, ends
    )
    if failed >= 0:
        raise NotDefiniteError(int(order[failed]), float(values[0]))
    squares = []
    places = np.full(n, -1, np.int32)
    for members, columns in zip(cores.members, cores.columns, strict=True):
        square = np.zeros((len(members), len(members)))
        subtract_from_core(
            *S, order, ranks, members, places, columns, splits, ends, rows, values, square
        )
        _factor_core(square, order[members], least)
        squares.append(square)
    # Columns and cores as one CSR array.
    held = np.zeros(n, np.int64)
    count_outside_core(starts, ends, rows, order, held)
    for square, members in zip(squares, cores.members, strict=True):
        count_in_core(square, members, order, held)
    indptr = running_sum(held)
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float64)
    unwritten = indptr[:-1].copy()
    lay_out_outside_core(starts, ends, rows, values, order, unwritten, indices, data)
    for square, members in zip(squares, cores.members, strict=True):
        lay_out_core(square, members, order, unwritten, indices, data)
    return csr_array((data, indices, indptr), shape=(n, n))


def _factor_core(square: NDArray[np.float64], terms: NDArray[np.int32], least: float) -> None:
    """Replace the lower triangle by its Cholesky factor.

    The factorisation goes block by block, each from the blocks to its left, because OpenBLAS's
    multithreaded dpotrf crashes the process at an order of about 16,000 or more.
    """
    for start in range(0, len(square), _BLOCK):
        here = slice(start, start + _BLOCK)
        for row in range(start, len(square), _BLOCK):
            rows = slice(row, row + _BLOCK)
            if start:
                square[rows, here] -= square[rows, :start] @ square[here, :start].T
            if row == start:
                # LAPACK is column-major: the lower triangle by rows is its upper triangle.
                block = np.ascontiguousarray(square[here, here])
                _, info = dpotrf(block.T, lower=0, clean=0, overwrite_a=1)
                if info > 0:
                    # LAPACK leaves an impossible pivot, one that is not positive, in place.
                    pivot = min(float(block[info - 1, info - 1]), 0.0)
                    raise NotDefiniteError(int(terms[start + info - 1]), pivot)
                square[here, here] = block
            else:
                right = np.ascontiguousarray(square[rows, here])
                square[rows, here] = dtrsm(
                    1.0, block.T, right.T, lower=0, trans_a=1, overwrite_b=1
                ).T
    pivots = np.diagonal(square) ** 2
    small = np.flatnonzero(~(pivots > least))
    if len(small):
        raise NotDefiniteError(int(terms[small[0]]), float(pivots[small[0]]))
