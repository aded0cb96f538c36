"""No term's neighbours together outweigh it: S balanced (theory T6)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.sources.constraints.decisions import DecidedSimilarity
from softcosine.sources.source import TermSimilaritySource

__all__ = ["balancing_scales", "rescaled", "row_outside", "with_pins"]


def balancing_scales(S: csr_array, *, unit: float = 1.0) -> NDArray[np.float32]:
    """Return what each term's similarities are multiplied by: 1 / sqrt(max(1, their sum)).

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
    unit : float
        What the off-diagonals were multiplied by before; sums are of what they were.

    Returns
    -------
    ndarray of shape (n_terms,), float32
        In (0, 1]. Sums are of absolute off-diagonals, in float64.
    """
    sums = abs(S.astype(np.float64)).sum(axis=1) - np.abs(S.diagonal().astype(np.float64))
    return np.asarray(1.0 / np.sqrt(np.maximum(sums / unit, 1.0)), np.float32)


def rescaled(
    S: csr_array, scales: NDArray[np.float32], *, only: NDArray[np.bool_] | None = None
) -> csr_array:
    """Multiply s_ij by the scales of i and j, for different i and j.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
    scales : ndarray of shape (n_terms,), float32
    only : ndarray of shape (n_terms,), bool, optional
        Entries with at least one of these terms change, the others stay.

    Returns
    -------
    csr_array, float32
        Symmetric to the bit if S is.
    """
    rows = np.repeat(np.arange(S.shape[0], dtype=np.int32), np.diff(S.indptr))
    changing = rows != S.indices
    if only is not None:
        changing &= only[rows] | only[S.indices]
    factors = np.where(changing, scales[rows] * scales[S.indices], np.float32(1.0))
    return csr_array((S.data * factors, S.indices, S.indptr), shape=S.shape)


def with_pins(S: csr_array, words: tuple[str, ...], source: TermSimilaritySource) -> csr_array:
    """Give the pairs that a person has pinned in the source the values that they were given.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
        Only entries that it has are changed.
    words : tuple of str
        The word that stands for each term.
    source : TermSimilaritySource
    """
    if not isinstance(source, DecidedSimilarity):
        return S
    pins = source.decisions.pins()
    named = {word for pair in pins for word in pair}
    numbers: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        folded = word.casefold()
        if folded in named:
            numbers.setdefault(folded, []).append(number)
    data = S.data.copy()
    for (left, right), value in pins.items():
        for i in numbers.get(left, ()):
            for j in numbers.get(right, ()):
                for row, column in ((i, j), (j, i)):
                    part = slice(*S.indptr[row : row + 2].tolist())
                    data[part][S.indices[part] == column] = value
    return csr_array((data, S.indices, S.indptr), shape=S.shape)


def row_outside(
    similarities: NDArray[np.floating[Any]],
    scales: NDArray[np.float32],
    pinned: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], float]:
    """Balance the similarities of a word that is no term, as if its row were one of S.

    Parameters
    ----------
    similarities : ndarray of shape (n_neighbors,)
        With its neighbours among the terms, as the source gives them.
    scales : ndarray of shape (n_neighbors,), float32
        Of these neighbours.
    pinned : ndarray of shape (n_neighbors,), bool
        Pairs that a person pinned; these stay.

    Returns
    -------
    similarities : ndarray of shape (n_neighbors,), float64
    scale : float
        The word's own.
    """
    given = similarities.astype(np.float64)
    scale = float(1.0 / np.sqrt(max(float(np.abs(given).sum()), 1.0)))
    return np.where(pinned, given, given * scale * scales), scale
