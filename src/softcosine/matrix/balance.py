"""Balancing of S: the neighbours of a term together do not outweigh it (theory T6)."""

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
    """Return the scale of each term's similarities: 1 / sqrt(max(1, their sum)).

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
    unit : float
        Factor of the off-diagonals so far; sums are of the values before this factor.

    Returns
    -------
    ndarray of shape (n_terms,), float32
        In (0, 1]. Absolute off-diagonals are summed in float64.
    """
    sums = abs(S.astype(np.float64)).sum(axis=1) - np.abs(S.diagonal().astype(np.float64))
    return np.asarray(1.0 / np.sqrt(np.maximum(sums / unit, 1.0)), np.float32)


def rescaled(
    S: csr_array, scales: NDArray[np.float32], *, only: NDArray[np.bool_] | None = None
) -> csr_array:
    """Return S with s_ij multiplied by the scales of i and j, for different i and j.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
    scales : ndarray of shape (n_terms,), float32
    only : ndarray of shape (n_terms,), bool, optional
        Change only entries with at least one of these terms.

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
    """Return S with the source's similarities restored for pinned pairs.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
        No entry is added.
    words : tuple of str
        Representative word of each term.
    source : TermSimilaritySource
    unit : float
        Factor of all off-diagonals.
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
    """Return the positions of the pairs that are pinned by a decision or a list.

    Parameters
    ----------
    source : TermSimilaritySource
    words : tuple of str
        Representative word of each term.
    rows, columns : ndarray of shape (n_pairs,)
        Numbers of the terms.
    among : ndarray of shape (n_pairs,), bool, optional
        Consider only these pairs.
    """
    asked = np.arange(len(rows)) if among is None else np.flatnonzero(among)
    held = np.zeros(len(words), np.bool_)
    held[rows[asked]] = held[columns[asked]] = True
    terms = np.flatnonzero(held)  # few terms when S is extended
    held[terms] = have_pins(source, [words[i] for i in terms.tolist()])
    asked = asked[held[rows[asked]] & held[columns[asked]]]
    left = [words[i] for i in rows[asked].tolist()]
    right = [words[j] for j in columns[asked].tolist()]
    return np.asarray(asked[are_pinned(source, left, right)])


def _beside(
    S: csr_array, only: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Row of every entry, and which entries are off-diagonals (of the given terms)."""
    rows = np.repeat(np.arange(S.shape[0], dtype=np.int32), np.diff(S.indptr))
    chosen = rows != S.indices
    if only is not None:
        chosen &= only[rows] | only[S.indices]
    return rows, chosen
