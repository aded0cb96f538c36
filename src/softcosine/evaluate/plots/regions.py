"""Regions of a map of documents, and their characteristic words."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

_CELLS = 96  # cells per side of the grid that measures density
_WORDS = 3
_LIFT = 2.0  # how much more frequent a characteristic word is in the region than elsewhere
_ALIKE = 0.3  # similarity from which a second word is redundant


@dataclass(frozen=True, slots=True)
class Region:
    """Documents that lie together on a map.

    Attributes
    ----------
    words : tuple of str
        Characteristic words, the best first; at most three.
    x, y : float
        The densest point.
    n_documents : int
    """

    words: tuple[str, ...]
    x: float
    y: float
    n_documents: int


def regions_of(
    places: NDArray[np.float64],
    X: csr_array,
    S: TermSimilarityMatrix,
    *,
    stop_words: Collection[str] = (),
) -> tuple[tuple[Region, ...], NDArray[np.int64]]:
    """Divide a map into regions around its densest points.

    Parameters
    ----------
    places : ndarray of shape (n, 2), float64
        From -1 to 1.
    X : csr_array of shape (n, n_terms)
        1 where a document has a term.
    S : TermSimilarityMatrix
        Gives the words of terms, and which words are similar.
    stop_words : collection of str
        Words that label a region only if there are no others.

    Returns
    -------
    regions : tuple of Region
        Largest first; each has at least five documents and 1/150 of all documents.
    owners : ndarray of shape (n,), int64
        The region of each document; -1 for none.
    """
    n = len(places)
    owners = np.full(n, -1, np.int64)
    if n == 0:
        return (), owners
    peaks, of_document = _peaks(places)
    sizes = np.bincount(of_document, minlength=len(peaks))
    least = max(5, n // 150)
    large = [one for one in np.argsort(-sizes, kind="stable").tolist() if sizes[one] >= least]
    frequencies = np.asarray(X.sum(axis=0), np.float64)
    regions = []
    for number, one in enumerate(large):
        inside = of_document == one
        owners[inside] = number
        words = _telling(np.asarray(X[inside].sum(axis=0), np.float64), frequencies,
                         int(sizes[one]), n, S, stop_words)  # fmt: skip
        x, y = peaks[one].tolist()
        regions.append(Region(words, x, y, int(sizes[one])))
    return tuple(regions), owners


def _peaks(places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the density peaks, and the peak that each document reaches uphill."""
    from scipy.ndimage import gaussian_filter

    cells = np.clip(((places + 1.0) / 2.0 * _CELLS).astype(np.int64), 0, _CELLS - 1)
    counts = np.zeros((_CELLS, _CELLS))
    np.add.at(counts, (cells[:, 0], cells[:, 1]), 1.0)
    # More documents allow a finer grid, as in any density estimate; chosen by eye.
    width = float(np.clip(0.17 * len(places) ** -0.27, 0.018, 0.08))
    density = gaussian_filter(counts, width * _CELLS, mode="constant")
    padded = np.pad(density, 1, constant_values=-1.0)
    around = np.stack(
        [padded[i : i + _CELLS, j : j + _CELLS] for i in range(3) for j in range(3)]
    ).reshape(9, -1)
    own = np.arange(_CELLS * _CELLS)
    best = around.argmax(axis=0)
    best[around[4] >= around.max(axis=0)] = 4  # a cell at least as dense as all its neighbours
    target = own + (best // 3 - 1) * _CELLS + best % 3 - 1
    while np.any(target[target] != target):
        target = target[target]
    reached = target[cells[:, 0] * _CELLS + cells[:, 1]]
    tops, of_document = np.unique(reached, return_inverse=True)
    middles = (np.column_stack([tops // _CELLS, tops % _CELLS]) + 0.5) / _CELLS * 2.0 - 1.0
    return middles, of_document.reshape(-1)


def _telling(
    inside: NDArray[np.float64],
    everywhere: NDArray[np.float64],
    n_inside: int,
    n: int,
    S: TermSimilarityMatrix,
    stop_words: Collection[str],
) -> tuple[str, ...]:
    """Return the most characteristic words of some documents.

    They are ordered by the term's summand p ln(p / q) of the divergence of the region from all
    documents; p and q are the shares of documents with the term. Of similar words only the first
    is returned.
    """
    share, usual = inside / n_inside, everywhere / n
    # In a region that covers most of the map, no word can be that much more frequent.
    lift = min(_LIFT, (1.0 + n / n_inside) / 2.0)
    often = (inside >= max(2.0, 0.1 * n_inside)) & (share >= lift * usual) & (share > usual)
    terms = np.flatnonzero(often)
    telling = [
        not all(word in stop_words for word in S.representative(term).casefold().split())
        for term in terms.tolist()
    ]
    if any(telling):
        terms = terms[telling]
    worth = share[terms] * np.log(share[terms] / usual[terms])
    indptr, indices, data = S.arrays
    taken: list[int] = []
    for term in terms[np.lexsort((terms, -worth))].tolist():
        row = slice(int(indptr[term]), int(indptr[term + 1]))
        same = indices[row][data[row] >= _ALIKE]
        if not np.isin(taken, same).any():
            taken.append(term)
        if len(taken) == _WORDS:
            break
    return tuple(S.representative(term) for term in taken)
