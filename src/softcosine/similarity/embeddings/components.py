"""Removal of the mean and the first principal components of word vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_whole
from softcosine.errors import InvalidInputError

__all__ = ["without_components"]

_CHUNK = 16_384  # rows per chunk; fixed, so that sums are the same in every run
_ROUNDING = 2.0**-24  # relative rounding error of float32


def without_components(
    vectors: NDArray[Any], n_components: int, *, scales: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    r"""Return the vectors minus their mean and their projection on the first principal components.

    .. math:: v' = (v - \mu) - \sum_{k \le D} (u_k^\top (v - \mu)) u_k

    Mu and Viswanath 2018, "All-but-the-Top: Simple and Effective Postprocessing for Word
    Representations", algorithm 1; they recommend D of about dimensions / 100.

    Parameters
    ----------
    vectors : ndarray of shape (n, dimensions)
        Zero vectors stay zero and are ignored. Results below the rounding error of float32 become
        zero.
    n_components : int
        D; 0 for centring only.
    scales : ndarray of shape (dimensions,), optional
        Factor of each component, applied first.

    Returns
    -------
    ndarray of shape (n, dimensions), float32
        Sums and components are computed in float64.

    Raises
    ------
    InvalidInputError
        If `n_components` is negative or exceeds the dimensions, or a vector contains NaN or
        infinity.
    """
    n, dimensions = vectors.shape
    check_whole("remove_components", n_components, least=0, most=dimensions)
    answer = np.zeros((n, dimensions), np.float32)

    def chunks() -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Yield the vectors that are not zero, with their numbers."""
        for start in range(0, n, _CHUNK):
            part = np.asarray(vectors[start : start + _CHUNK]).astype(np.float64)
            if scales is not None:
                part *= scales
            there = np.flatnonzero(part.any(axis=1))
            yield start + there, part[there]

    n_there = 0
    total = np.zeros(dimensions)
    for numbers, part in chunks():
        n_there += len(numbers)
        total += part.sum(axis=0)
    if not np.isfinite(total).all():
        raise InvalidInputError("the vectors hold NaN or infinity; leave these words out.")
    mean = total / max(1, n_there)
    first = np.empty((dimensions, 0))
    if n_components and n_there:
        products = np.zeros((dimensions, dimensions))
        for _, part in chunks():
            part -= mean
            products += part.T @ part
        first = np.linalg.eigh(products)[1][:, dimensions - n_components :]
    for numbers, part in chunks():
        lengths = np.linalg.norm(part, axis=1)
        part -= mean
        part -= (part @ first) @ first.T
        part[np.linalg.norm(part, axis=1) <= _ROUNDING * lengths] = 0.0  # no direction is left
        answer[numbers] = part
    return answer
