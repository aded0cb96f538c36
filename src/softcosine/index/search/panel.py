"""Candidates of many queries, found in one pass over the documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softcosine.index.search.parts import Part
from softcosine.kernels.panel import PANEL, clear_panel, fill_panel, score_panel
from softcosine.kernels.search import select_candidates

__all__ = ["Panel"]

# Documents scored at a time: 4 MiB of scores, an odd number of cache lines per query.
_CHUNK = 16_400


class Panel:
    """A matrix of up to PANEL expanded queries, and scratch arrays; empty between passes.

    Takes 128 bytes per term. For one pass at a time.
    """

    def __init__(self, n_terms: int) -> None:
        self._weights = np.zeros((n_terms, PANEL), np.uint16)
        self._scores = np.empty((PANEL, _CHUNK), np.float32)
        self._candidates = np.empty(_CHUNK, np.uint32)
        self._approximate = np.empty(_CHUNK, np.float32)

    def put(
        self, column: int, terms: NDArray[np.int32], weights: NDArray[np.float64], scale: float
    ) -> None:
        """Insert an expanded query, with its weights divided by `scale`."""
        fill_panel(terms, weights, scale, column, self._weights)

    def clear(self, column: int, terms: NDArray[np.int32]) -> None:
        """Remove a query."""
        clear_panel(terms, column, self._weights)

    def candidates(
        self,
        part: Part,
        factors: NDArray[np.float32],
        numbers: NDArray[np.int64],
        heaps: NDArray[np.float32],
        floors: NDArray[np.float32],
        slacks: NDArray[np.float64],
    ) -> list[tuple[NDArray[np.uint32], NDArray[np.float32]]]:
        """Return the candidates of each query in one segment, ascending, with their scores.

        See `select_candidates`.

        Parameters
        ----------
        part : Part
        factors : ndarray of shape (n_docs,), float32
        numbers : ndarray of shape (n_columns,), int64
            Query of each column; queries without a column have no candidates.
        heaps : ndarray of shape (n_queries, k), float32
            The largest scores of earlier segments; updated with those of this segment.
        floors, slacks : ndarray of shape (n_queries,)
        """
        segment, ranking = part.segment, part.ranking
        documents = [[self._candidates[:0]] for _ in floors]
        approximate = [[self._approximate[:0]] for _ in floors]
        for start in range(0, segment.n_docs, _CHUNK):
            stop = min(start + _CHUNK, segment.n_docs)
            score_panel(
                ranking.kind, *segment.forward, ranking.table,
                ranking.saturation32, segment.reals, self._weights, start, stop,
                self._scores,
            )  # fmt: skip
            for column, query in enumerate(numbers.tolist()):
                scores = self._scores[column, : stop - start]
                n = select_candidates(
                    scores, factors[start:stop], start, heaps[query], floors[query],
                    slacks[query], self._candidates, self._approximate,
                )  # fmt: skip
                documents[query].append(self._candidates[:n].copy())
                approximate[query].append(self._approximate[:n].copy())
        return [
            (np.concatenate(own), np.concatenate(scores))
            for own, scores in zip(documents, approximate, strict=True)
        ]
