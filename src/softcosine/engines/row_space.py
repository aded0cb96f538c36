"""Vectors of a route in the form an engine takes: float32, scaled, extended for a cosine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.engines.capabilities import Capabilities
from softcosine.engines.engine import Block
from softcosine.engines.routes import Route, Rows
from softcosine.index.search.ranked_vectors import QueryRows, RankedVectors
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

__all__ = ["RowSpace"]

_CELLS = 1 << 22  # float64 numbers of a block
_ROOM = 1.0 + 1e-6  # a length of 1 after rounding


@dataclass(frozen=True, slots=True)
class RowSpace:
    """Rows for an engine, and the meaning of its scores.

    Documents are divided by the length M of the longest one, queries by their own length. For
    engines that rank by cosine, documents get an extra coordinate that makes all lengths 1, and
    queries a zero (theory T10 in its general form): the cosine is then the dot product.

    Attributes
    ----------
    route : Route
    scale : float
        M; 1 if there are no documents, or only zero vectors.
    cosine : bool
        Whether the engine ranks by cosine.
    """

    route: Route
    scale: float
    cosine: bool

    @classmethod
    def of(cls, route: Route, ranked: RankedVectors, capabilities: Capabilities) -> RowSpace:
        """Return the row space of these documents; measures M."""
        longest = max(
            (float(_lengths(rows).max(initial=0.0)) for _, rows in _projected(route, ranked)),
            default=0.0,
        )
        return cls(route, longest or 1.0, capabilities.measure == "cosine")

    @property
    def n_dimensions(self) -> int:
        """Dimensions of the rows."""
        return self.route.n_dimensions + self.cosine

    def documents(
        self, ranked: RankedVectors
    ) -> Iterator[tuple[NDArray[np.int64], csr_array, Block]]:
        """Yield documents block by block: numbers, vectors W y, and rows for the engine."""
        for numbers, rows in ranked.documents(rows=_block_rows(self.route)):
            yield numbers, rows, self.rows(rows)

    def rows(self, documents: csr_array) -> Block:
        """Return the engine's rows for documents W y."""
        rows = self.route.documents(documents) / self.scale
        if not self.cosine:
            return _single(rows)
        rest = np.sqrt(np.maximum(0.0, 1.0 - _lengths(rows) ** 2))
        return _single(_longer(rows, rest))

    def holds(self, documents: csr_array) -> bool:
        """Whether new documents fit; for a cosine, none may be longer than M."""
        if not self.cosine:
            return True
        lengths = _lengths(self.route.documents(documents))
        return bool(lengths.max(initial=0.0) <= self.scale * _ROOM)

    def queries(
        self, queries: QueryRows, S: TermSimilarityMatrix
    ) -> tuple[Block, NDArray[np.float64]]:
        """Return rows of length 1, and the factors of the engine's scores.

        The factor is 0 for queries without matching terms.
        """
        rows = self.route.queries(queries, S)
        lengths = _lengths(rows)
        with np.errstate(divide="ignore"):
            factors = np.where(lengths > 0, 1.0 / lengths, 0.0)
        rows = rows * factors[:, None]
        if self.cosine:
            rows = _longer(rows, np.zeros(rows.shape[0]))
        return _single(rows), lengths * self.scale


def _projected(route: Route, ranked: RankedVectors) -> Iterator[tuple[NDArray[np.int64], Rows]]:
    for numbers, rows in ranked.documents(rows=_block_rows(route)):
        yield numbers, route.documents(rows)


def _block_rows(route: Route) -> int:
    return max(1, min(8192, _CELLS // max(1, route.n_dimensions)))


def _lengths(rows: Rows) -> NDArray[np.float64]:
    """Return |row| without overflow: inner-product rankings have rows of any size."""
    scales = np.abs(rows).max(axis=1, initial=0.0)
    scales[scales == 0] = 1.0
    scaled = rows / scales[:, None]
    return np.asarray(scales * np.sqrt(np.einsum("ij,ij->i", scaled, scaled)))


def _longer(rows: Rows, column: NDArray[np.float64]) -> Rows:
    """Append a coordinate."""
    return np.hstack([rows, column[:, None]])


def _single(rows: Rows) -> Block:
    return np.ascontiguousarray(rows, np.float32)
