"""What an engine can do, so that nobody has to try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Capabilities"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine with its settings can do.

    Attributes
    ----------
    exact : bool
        Whether a search never misses one of the k best of the vectors that it holds, rounding
        aside.
    measure : {"dot product", "cosine"}
        What it ranks by. Vectors for a cosine get a coordinate more (theory T10).
    vectors : {"dense", "sparse"}
    negative : bool
        Whether vectors may have negative coordinates.
    max_non_zeros : int or None
        Most non-zeros, or dimensions, of a vector; None for no limit.
    adds, deletes : bool
        Whether vectors can be added, and deleted, once it is built.
    persistent : bool
        Whether it can be saved, or keeps what it holds by itself.
    """

    exact: bool
    measure: Literal["dot product", "cosine"] = "dot product"
    vectors: Literal["dense", "sparse"] = "dense"
    negative: bool = True
    max_non_zeros: int | None = None
    adds: bool = False
    deletes: bool = False
    persistent: bool = True

    @property
    def incremental(self) -> bool:
        """Whether it can follow any change of an index."""
        return self.adds and self.deletes
