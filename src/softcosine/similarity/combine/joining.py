"""Exact neighbours under a join of several sources, without comparing all pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.similarity.checked_answers import known_by, neighbors_by, similarities_by
from softcosine.similarity.composite import Settled, neighbors_in_rounds
from softcosine.similarity.neighbors import Neighbors, Pairs, StringOrder
from softcosine.similarity.source import TermSimilaritySource

__all__ = ["Join", "joined_neighbors"]

# Maps the similarities by each source, of shape (n_pairs,), to the joint one: 0 where all are 0,
# and never decreasing in any of them, rounding included.
Join = Callable[[Sequence[NDArray[np.float32]]], NDArray[np.float32]]

_BLOCK_PAIRS = 1 << 21  # neighbours per source and chunk


def joined_neighbors(
    sources: Sequence[TermSimilaritySource],
    join: Join,
    terms: Sequence[str],
    among: Sequence[str],
    *,
    max_neighbors: int,
    order: StringOrder,
) -> Neighbors:
    """Return the neighbours under a join of several sources; exact if the sources are.

    The joint similarity of a pair that is in no source's list of neighbours is at most the join of
    the last similarities of these lists. So the lists, at first twice as long as requested, are
    extended term by term until the last neighbour is above that bound (threshold algorithm of
    Fagin, Lotem & Naor 2003). In the worst case, where all similarities are nearly equal, they
    contain all strings.

    Parameters
    ----------
    sources : sequence of TermSimilaritySource
    join : callable
    terms, among, max_neighbors
        As for each source.
    order : StringOrder
        Caches the order of the strings of `among`.
    """
    if max_neighbors == 0 or len(terms) == 0:
        return Neighbors.none(len(terms))

    def best(words: Sequence[str], asked: NDArray[np.int64], limit: int) -> Settled:
        limit = min(limit, max(len(among), 1))
        step = max(1, _BLOCK_PAIRS // limit)
        parts, settled = [], []
        for start in range(0, len(words), step):
            block = words[start : start + step]
            listed, bound = _from_lists(sources, join, block, among, limit)
            found = Neighbors.from_pairs(
                *listed, n_terms=len(block), among=among, max_neighbors=max_neighbors, order=order
            )
            last = np.zeros(len(block), np.float32)
            full = np.diff(found.indptr) == max_neighbors
            last[full] = found.similarities[found.indptr[1:][full] - 1]
            parts.append(found)
            settled.append((bound == 0.0) | (last > bound))
        return Neighbors.concatenated(parts), np.concatenate(settled)

    return neighbors_in_rounds(best, terms, [(np.arange(len(terms)), 2 * max_neighbors)])


def _from_lists(
    sources: Sequence[TermSimilaritySource],
    join: Join,
    terms: Sequence[str],
    among: Sequence[str],
    limit: int,
) -> tuple[Pairs, NDArray[np.float32]]:
    """All pairs in the lists, joined; and for each term an upper bound of all other pairs."""
    lists = [neighbors_by(source, terms, among, max_neighbors=limit) for source in sources]
    rows, columns, values = _union(lists, len(among))
    lasts = []
    for source, part, value in zip(sources, lists, values, strict=True):
        last = np.zeros(len(terms), np.float32)
        # A list that is not full, or has room for all strings, omits no pair.
        full = (np.diff(part.indptr) == limit) & (limit < len(among))
        if full.any():
            last[full] = part.similarities[part.indptr[1:][full] - 1]
            _fill_in(source, value, terms, among, rows, columns, (value == 0.0) & full[rows])
        lasts.append(last)
    return (rows, columns, join(list(values))), join(lasts)


def _union(
    parts: Sequence[Neighbors], n_among: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """All pairs of several lists of neighbours, and their similarities in each, 0 where absent.

    Returns
    -------
    rows, columns : ndarray of shape (n_pairs,), int64
        Every pair once, sorted.
    values : ndarray of shape (n_parts, n_pairs), float32
    """
    keys = [part.rows() * n_among + part.indices for part in parts]
    pairs = np.sort(np.concatenate(keys))  # np.unique is many times slower
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    values = np.zeros((len(parts), len(pairs)), np.float32)
    for value, key, part in zip(values, keys, parts, strict=True):
        value[np.searchsorted(pairs, key)] = part.similarities
    return pairs // max(n_among, 1), pairs % max(n_among, 1), values


def _fill_in(
    source: TermSimilaritySource,
    value: NDArray[np.float32],
    terms: Sequence[str],
    among: Sequence[str],
    rows: NDArray[np.integer[Any]],
    columns: NDArray[np.integer[Any]],
    missing: NDArray[np.bool_],
) -> None:
    """Compute the similarities of the `missing` pairs by a source, and write them."""
    doubtful = missing & known_by(source, terms)[rows] & known_by(source, among)[columns]
    asked = np.flatnonzero(doubtful)
    if len(asked):
        left = [terms[i] for i in rows[asked].tolist()]
        right = [among[j] for j in columns[asked].tolist()]
        value[asked] = similarities_by(source, left, right)
