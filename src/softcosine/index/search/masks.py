"""Sets of documents of one segment, as boolean arrays of shape (n_docs,)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mask", "all_of", "mask_of"]

Mask = NDArray[np.bool_]


def mask_of(documents: NDArray[np.integer], n_docs: int) -> Mask:
    """Return a set of documents as a mask."""
    mask = np.zeros(n_docs, np.bool_)
    mask[documents] = True
    return mask


def all_of(inside: Iterable[Mask | None], outside: Iterable[Mask] = ()) -> Mask | None:
    """Return the documents that are in every set `inside`, and in no set `outside`.

    Parameters
    ----------
    inside : iterable of (ndarray of shape (n_docs,), bool) or None
            None is the set of all documents, such as a missing filter, or the live documents of a
            segment without deletes.
    outside : iterable of ndarray of shape (n_docs,), bool

    Returns
    -------
    ndarray of shape (n_docs,), bool, or None
        A new array; None for all documents.
    """
    result: Mask | None = None
    for mask in inside:
        if mask is not None:
            result = mask.copy() if result is None else np.logical_and(result, mask, out=result)
    for mask in outside:
        if result is None:
            result = np.logical_not(mask)
        else:
            np.greater(result, mask, out=result)  # in the first set and not in the second
    return result
