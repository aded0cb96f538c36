"""Rows of different lengths, concatenated into one array."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def running_sum(counts: NDArray[Any] | Iterable[int | np.integer[Any]]) -> NDArray[np.int64]:
    """Return the sums of the first 0, 1, 2, ... counts: where rows of such lengths start and end.

    Parameters
    ----------
    counts : ndarray of shape (n,) or iterable of int

    Returns
    -------
    ndarray of shape (n + 1,), int64
    """
    if not isinstance(counts, np.ndarray):
        counts = np.fromiter(counts, np.int64)
    sums = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, dtype=np.int64, out=sums[1:])
    return sums


def slices(
    starts: NDArray[np.integer[Any]], rows: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return every place of the given rows, row by row.

    Parameters
    ----------
    starts : ndarray of shape (n_rows + 1,), integers
        Row r has the places ``range(starts[r], starts[r + 1])``.
    rows : ndarray of shape (n_asked,), integers

    Returns
    -------
    of : ndarray of shape (n_places,), int64
        Index into `rows` of each place, ascending.
    places : ndarray of shape (n_places,), int64

    Examples
    --------
    >>> of, places = slices(np.array([0, 2, 5]), np.array([1, 0]))
    >>> of.tolist(), places.tolist()
    ([0, 0, 0, 1, 1], [2, 3, 4, 0, 1])
    """
    lengths = (starts[rows + 1] - starts[rows]).astype(np.int64)
    of = np.repeat(np.arange(len(rows), dtype=np.int64), lengths)
    before = np.cumsum(lengths) - lengths
    return of, np.arange(len(of)) + np.repeat(starts[rows] - before, lengths)
