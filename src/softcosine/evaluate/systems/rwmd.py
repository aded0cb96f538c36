"""Relaxed word mover's distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.fitted_transport import (
    FittedTransport,
    TransportSettings,
    TransportTexts,
)
from softcosine.evaluate.systems.settings import choice, setting
from softcosine.evaluate.systems.transport import Movable, Query


@dataclass(frozen=True, kw_only=True)
class RWMD(TransportSettings):
    """Relaxed word mover's distance between unit vectors; a similarity is 1 / (1 + distance).

    Parameters
    ----------
    sides : {"both", "documents", "queries"}
        The larger of both directions; or only the cost of moving documents to queries, which is
        linear in the sum of all lengths (Atasu et al. 2017); or only the other direction.
    **settings
        See `TransportSettings`.
    """

    called = "rwmd"
    sides: str = setting(
        "both", choice("both", "documents", "queries"), "which texts are moved to the others"
    )

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedRWMD:
        """Look up the words of the documents; idf includes the background."""
        texts = TransportTexts.of(self, documents, background)
        return FittedRWMD(texts=texts, movable=texts.documents(), sides=self.sides)


@dataclass(frozen=True, kw_only=True)
class FittedRWMD(FittedTransport):
    """Ranks by the relaxed distance, exactly.

    Attributes
    ----------
    sides : str
        See `RWMD`.
    """

    sides: str

    def distances(self, query: Query, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances from a query to some documents with points."""
        if self.sides == "documents":
            return self.movable.to_query(query)[documents]
        if self.sides == "queries":
            return self.movable.from_query(query, documents)
        return self.movable.relaxed(query, documents)

    def nearest(self, query: Query, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return documents that include the k nearest, and their distances."""
        if self.sides == "both":
            return self.movable.relaxed_nearest(query, k=k)
        known = np.flatnonzero(self.movable.known)
        return known, self.distances(query, known)

    def over(self, movable: Movable) -> Self:
        """Return the same system over other documents."""
        return replace(self, movable=movable)
