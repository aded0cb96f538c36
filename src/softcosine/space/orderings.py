"""Elimination orders of the terms of S that keep its Cholesky factor sparse (theory T7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from softcosine._validation import check_choice
from softcosine.kernels.minimum_degree import minimum_degree
from softcosine.matrix.entries import Arrays, compressed

__all__ = ["EliminationOrder", "checked_order", "elimination_order"]

EliminationOrder = Literal["minimum_degree", "reverse_cuthill_mckee", "natural"]

_Order = NDArray[np.int32]

# A term with more than `_MANY` times the root of n neighbours is eliminated last, as in the program
# of Amestoy, Davis and Duff; up to `_FEW` neighbours never count as many.
_MANY, _FEW = 10.0, 16


def elimination_order(S: Arrays, order: EliminationOrder) -> _Order:
    """Return the terms in order of elimination.

    Parameters
    ----------
    S : tuple of arrays
        Row pointers, column indices and values of a symmetric matrix; see `Entries.arrays`.
    order : {"minimum_degree", "reverse_cuthill_mckee", "natural"}
        Approximate minimum degree; reversed breadth-first order from the rim, which keeps entries
        near the diagonal; or the order of the vocabulary.

    Returns
    -------
    ndarray of shape (n_terms,), int32
    """
    return _ORDERS[checked_order(order)](S)


def checked_order(order: object) -> EliminationOrder:
    """Return the order; InvalidInputError lists the known ones."""
    check_choice("order", order, get_args(EliminationOrder))
    return order  # type: ignore[return-value]


def _minimum_degree(S: Arrays) -> _Order:
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


def _reverse_cuthill_mckee(S: Arrays) -> _Order:
    indptr, indices, data = S
    n = len(indptr) - 1
    if not n:
        return np.empty(0, np.int32)
    order = reverse_cuthill_mckee(compressed(indptr, indices, data), symmetric_mode=True)
    return np.ascontiguousarray(order, np.int32)


def _natural(S: Arrays) -> _Order:
    return np.arange(len(S[0]) - 1, dtype=np.int32)


_ORDERS: dict[EliminationOrder, Callable[[Arrays], _Order]] = {
    "minimum_degree": _minimum_degree,
    "reverse_cuthill_mckee": _reverse_cuthill_mckee,
    "natural": _natural,
}
