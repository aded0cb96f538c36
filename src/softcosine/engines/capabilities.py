"""Capabilities of a vector engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Capabilities"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Capabilities of an engine with its settings.

    Attributes
    ----------
    exact : bool
        Whether a search returns the k best vectors, up to rounding.
    measure : {"dot product", "cosine"}
        Measure of the ranking. For a cosine, vectors get an extra coordinate (theory T10).
    adds, deletes : bool
        Whether vectors can be added or deleted after the build.
    persistent : bool
        Whether the engine can be saved, or stores its vectors itself.
    """

    exact: bool
    measure: Literal["dot product", "cosine"] = "dot product"
    adds: bool = False
    deletes: bool = False
    persistent: bool = True

    @property
    def incremental(self) -> bool:
        """Whether the engine can follow all changes of an index."""
        return self.adds and self.deletes
