"""Prepared segments: the units that a searcher searches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.index.search.rankings import PreparedRanking
from softcosine.index.segment.segment import Segment

__all__ = ["Part"]


@dataclass(frozen=True, slots=True)
class Part:
    """A segment prepared for one ranking.

    Attributes
    ----------
    segment : Segment
    ranking : PreparedRanking
    first : int
        Number of its first document in the index.
    live : ndarray of shape (n_docs,), bool, or None
        Mask of live documents; None if none is deleted.
    """

    segment: Segment
    ranking: PreparedRanking
    first: int = 0
    live: NDArray[np.bool_] | None = None
