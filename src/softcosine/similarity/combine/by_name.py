"""Joins of sources by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softcosine.similarity.source import TermSimilaritySource

JOINS = ("strongest", "noisy-or", "first")


def join_by(name: str) -> Callable[..., TermSimilaritySource]:
    """Return the function of a join by its name in `JOINS`."""
    from softcosine.similarity.combine import combined

    join: Callable[..., TermSimilaritySource] = getattr(combined, name.replace("-", "_"))
    return join
