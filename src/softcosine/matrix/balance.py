"""No term's neighbours together outweigh it: S balanced (theory T6)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.similarity.checked_answers import similarities_by
from softcosine.similarity.in_terms import are_pinned, have_pins
from softcosine.similarity.source import TermSimilaritySource

__all__ = ["balancing_scales", "pinned_pairs", "rescaled", "with_pins"]


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
    rows, changing = _beside(S, only)
    factors = np.where(changing, scales[rows] * scales[S.indices], np.float32(1.0))
    return csr_array((S.data * factors, S.indices, S.indptr), shape=S.shape)


def with_pins(
    S: csr_array,
    words: tuple[str, ...],
    source: TermSimilaritySource,
    *,
    unit: float = 1.0,
    only: NDArray[np.bool_] | None = None,
) -> csr_array:
    """Give the pairs that a person has pinned or listed back what the source says of them.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
        No entry is added.
    words : tuple of str
        The word that stands for each term.
    source : TermSimilaritySource
    unit : float
        What all off-diagonals were multiplied by.
    only : ndarray of shape (n_terms,), bool, optional
        As for `rescaled`.
    """
    rows, changing = _beside(S, only)
    pinned = pinned_pairs(source, words, rows, S.indices, among=changing)
    left = [words[i] for i in rows[pinned].tolist()]
    right = [words[j] for j in S.indices[pinned].tolist()]
    data = S.data.copy()
    data[pinned] = similarities_by(source, left, right) * np.float32(unit)
    return csr_array((data, S.indices, S.indptr), shape=S.shape)


def pinned_pairs(
    source: TermSimilaritySource,
    words: tuple[str, ...],
    rows: NDArray[np.integer[Any]],
    columns: NDArray[np.integer[Any]],
    *,
    among: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """Return the places of the pairs of terms that a person has pinned or listed.

    Parameters
    ----------
    source : TermSimilaritySource
    words : tuple of str
        The word that stands for each term.
    rows, columns : ndarray of shape (n_pairs,)
        Numbers of the terms.
    among : ndarray of shape (n_pairs,), bool, optional
        Only these are looked at.
    """
    asked = np.arange(len(rows)) if among is None else np.flatnonzero(among)
    held = np.zeros(len(words), np.bool_)
    held[rows[asked]] = held[columns[asked]] = True
    terms = np.flatnonzero(held)  # an S that grows asks about few
    held[terms] = have_pins(source, [words[i] for i in terms.tolist()])
    asked = asked[held[rows[asked]] & held[columns[asked]]]
    left = [words[i] for i in rows[asked].tolist()]
    right = [words[j] for j in columns[asked].tolist()]
    return np.asarray(asked[are_pinned(source, left, right)])


def _beside(
    S: csr_array, only: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Row of every entry, and which are off-diagonals, of some terms if these are given."""
    rows = np.repeat(np.arange(S.shape[0], dtype=np.int32), np.diff(S.indptr))
    chosen = rows != S.indices
    if only is not None:
        chosen &= only[rows] | only[S.indices]
    return rows, chosen
