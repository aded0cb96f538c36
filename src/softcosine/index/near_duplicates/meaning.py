"""Documents compared by meaning, and by words and meaning.

**Bounds of meaning.** Products of a panel and a block of later documents, all of length 1 in
float32, are cosines with an absolute error (`softcosine.index.spaces.bounds.cosine_error`) in
whatever order they are summed (by BLAS, which has threads of its own). Every pair whose cosine,
plus the error, reaches a threshold is scored by the float64 routine of searches.

**Bounds of both.** The similarity is the mean of the soft cosine w and the cosine c, half the score
of `SoftIndex.similar` with the weight 1. If (w + c) / 2 reaches a threshold, w or c does, and so do
their float64 values, because sums round monotonically and halves are exact. So the candidates are
those by words together with those by meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from softcosine.index.near_duplicates.panels import (
    Bars,
    PairDocuments,
    Scored,
    ScoredPairs,
)
from softcosine.index.segment.coordinates import Coordinates, unit_vector
from softcosine.index.spaces.bounds import cosine_error
from softcosine.kernels.meaning import exact_cosines
from softcosine.space.chance import above_chance

_PANEL, _BLOCK = 256, 4096  # documents; a panel and a block stay in the cache


class DocumentsByMeaning:
    """Documents compared by the cosine of their coordinates: a `Comparison`.

    Takes some 260 bytes per document.

    Parameters
    ----------
    coordinates : sequence of Coordinates or None
        Of each segment; None if no document of it was encoded.
    chosen : sequence of ndarray, int64
        The documents of each segment that have a place, ascending.
    firsts : sequence of int
        Number of the first document of each segment.
    dimensions : int
    slope : float
        Of `softcosine.space.chance`: cosines are corrected for chance everywhere here.
    """

    slack = 1.0

    def __init__(
        self,
        coordinates: Sequence[Coordinates | None],
        chosen: Sequence[NDArray[np.int64]],
        firsts: Sequence[int],
        dimensions: int,
        slope: float = 1.0,
    ) -> None:
        self._coordinates = (
            Coordinates.merged(coordinates, chosen, dimensions)
            if chosen
            else Coordinates.none(0, dimensions)
        )
        self._known = self._coordinates.known
        numbers = [local + first for local, first in zip(chosen, firsts, strict=True)]
        self.numbers = np.concatenate([np.empty(0, np.int64), *numbers])
        n = len(self.numbers)
        self.panels = [(first, min(first + _PANEL, n)) for first in range(0, n, _PANEL)]
        self._slope, self._error = slope, cosine_error(dimensions, slope)

    def keys(self) -> Iterator[bytes]:
        """Yield the coordinates of each document; see `Comparison`."""
        return (vector.tobytes() for vector in self._coordinates.vectors)

    def meet(self, panel: int, bars: Bars, scored: Scored) -> None:
        """Compare a panel; see `Comparison`."""
        begin, end = self.panels[panel]
        rows = self.normalized(begin, end)
        for at in range(begin + 1, len(self.numbers), _BLOCK):
            starts, documents = self.candidates(rows, begin, at, bars)
            if len(documents):
                scores = self.scores(begin, starts, documents)
                scored(begin, ScoredPairs(starts, documents, scores))

    def candidates(
        self, rows: NDArray[np.float32], begin: int, at: int, bars: Bars, *, share: float = 1.0
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return the pairs of a panel with a block of later documents that can reach thresholds.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, dimensions), float32
            The panel, of length 1.
        begin, at : int
            First place of the panel, and of the block.
        bars : Bars
            Raised by the k best of a document in the panel or block alone.
        share : float
            Similarities on the scale of the thresholds are at least this share of cosines that are
            above 0; 0 if unknown.

        Returns
        -------
        starts : ndarray of shape (n_rows + 1,), int64
        documents : ndarray, uint32
            As in `ScoredPairs`.
        """
        stop = min(at + _BLOCK, len(self.numbers))
        known = self._known[begin : begin + len(rows), np.newaxis] & self._known[at:stop]
        cosines = above_chance(rows @ self.normalized(at, stop).T, self._slope, known)
        places = np.arange(at, stop)
        if at < begin + len(rows):  # pairs of the panel: each once
            cosines[places <= np.arange(begin, begin + len(rows))[:, np.newaxis]] = -np.inf
        k = bars.best.shape[1]
        if not k:
            reached = cosines >= bars.floor - self._error
        else:
            if share:
                self._raise(cosines, begin, at, bars, k, share)
            own, others = (
                bars.documents[first : first + n] - np.float32(self._error)
                for first, n in zip((begin, at), cosines.shape, strict=True)
            )
            reached = (cosines >= own[:, np.newaxis]) | (cosines >= others)
            reached &= cosines > -np.inf
        return _entries(reached, at)

    def _raise(
        self, cosines: NDArray[np.float32], begin: int, at: int, bars: Bars, k: int, share: float
    ) -> None:
        """Raise thresholds that are still the lowest to the k-th best of this block."""
        for matrix, first in ((cosines, begin), (cosines.T, at)):
            own = slice(first, first + len(matrix))
            if matrix.shape[1] < k or not (low := bars.documents[own] <= bars.floor).any():
                continue
            best = np.partition(matrix[low], -k, axis=1)[:, -k]
            least = share * (best - np.float32(2 * self._error))
            with bars.lock:
                places = np.flatnonzero(low) + first
                bars.documents[places] = np.maximum(bars.documents[places], least)

    def pair_scores(self, first: int, others: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the cosines of a document with others, by place, equal to `SoftIndex.similar`."""
        cosines = np.empty(len(others))
        vectors = self._coordinates.vectors
        exact_cosines(unit_vector(vectors[first]), vectors, others.astype(np.int64), cosines)
        return above_chance(cosines, self._slope, self._known[first] & self._known[others])

    def scores(
        self, begin: int, starts: NDArray[np.int64], documents: NDArray[np.uint32]
    ) -> NDArray[np.float64]:
        """Return the cosines of the pairs of a panel, as in `ScoredPairs`."""
        scores = np.empty(len(documents))
        for row in np.flatnonzero(np.diff(starts)).tolist():
            own = slice(starts[row], starts[row + 1])
            scores[own] = self.pair_scores(begin + row, documents[own])
        return scores

    def normalized(self, begin: int, end: int) -> NDArray[np.float32]:
        """Return the coordinates of documents, of length 1."""
        own = self._coordinates.vectors[begin:end].astype(np.float32)
        own *= self._coordinates.inverse_lengths[begin:end, np.newaxis]
        return own


class DocumentsByBoth:
    """Documents compared by the mean of soft cosine and cosine: a `Comparison`.

    Parameters
    ----------
    words : PairDocuments
        By soft_cosine.
    meaning : DocumentsByMeaning
        Of the same documents.
    """

    def __init__(self, words: PairDocuments, meaning: DocumentsByMeaning) -> None:
        self._words, self._meaning = words, meaning
        self.numbers, self.panels, self.slack = words.numbers, words.panels, words.slack

    def keys(self) -> Iterator[bytes]:
        """Yield the keys of words and of meaning of each document; see `Comparison`."""
        return map(bytes.__add__, self._meaning.keys(), self._words.keys())

    def meet(self, panel: int, bars: Bars, scored: Scored) -> None:
        """Compare a panel; see `Comparison`."""
        words, meaning = self._words, self._meaning
        begin, end = self.panels[panel]
        n, n_rows = len(self.numbers), end - begin
        rows = meaning.normalized(begin, end)
        space = words.space()
        factors = words.expand(space, begin, end)
        units, lowest = words.own(space, factors, bars)
        heaps = np.zeros((len(units), 0), np.float32)
        share = 0.5 * self.slack if words.S.non_negative else 0.0
        for at in range(begin + 1, n, _BLOCK):
            starts, documents = meaning.candidates(rows, begin, at, bars, share=share)
            pairs = [_keys(starts, documents, n)]
            own = lowest.copy()
            if bars.best.shape[1]:  # a negative threshold (no bounds) stays
                raised = np.maximum(own[:n_rows], bars.documents[begin:end])
                own[:n_rows] = np.where(own[:n_rows] > 0, raised, own[:n_rows])
            block = at, min(at + _BLOCK, n)
            sizes = words.candidates(space, begin, block, units, own, bars.documents, heaps)
            pairs += [_keys(space.starts, space.ordered[:size], n) for size in sizes]
            keys = np.unique(np.concatenate(pairs))
            if not len(keys):
                continue
            space.starts[:] = np.searchsorted(keys, np.arange(len(space.starts)) * n)
            documents = (keys % n).astype(np.uint32)
            by_words = words.scores(space, factors, begin, documents)
            starts = space.starts[: n_rows + 1].copy()
            scores = 0.5 * (by_words + meaning.scores(begin, starts, documents))
            scored(begin, ScoredPairs(starts, documents, scores))
        words.release(space)

    def pair_scores(self, first: int, others: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return exact similarities of a document with others, by ascending place."""
        by_words = self._words.pair_scores(first, others)
        return 0.5 * (by_words + self._meaning.pair_scores(first, others))


def _entries(reached: NDArray[np.bool_], at: int) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the entries of a mask of a panel and a block, as in `ScoredPairs`."""
    rows, documents = np.nonzero(reached)
    starts = np.searchsorted(rows, np.arange(len(reached) + 1))
    return starts.astype(np.int64), (documents + at).astype(np.uint32)


def _keys(starts: NDArray[np.int64], documents: NDArray[np.uint32], n: int) -> NDArray[np.int64]:
    """Return one number for each pair of a panel, ascending by row and document."""
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return rows * n + documents
