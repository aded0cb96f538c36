"""Joins of sources by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softcosine.similarity.source import TermSimilaritySource

__all__ = ["JOINS", "join_by"]

# Module of each join; loaded on first use.
JOINS = {
    "strongest": ("softcosine.similarity.combine.combined", "strongest"),
    "mean": ("softcosine.similarity.combine.combined", "mean"),
    "noisy-or": ("softcosine.similarity.combine.noisy_or", "noisy_or"),
    "first": ("softcosine.similarity.combine.combined", "first"),
}


def join_by(name: str) -> Callable[..., TermSimilaritySource]:
    """Return the function of a join by its name in `JOINS`."""
    module, function = JOINS[name]
    join: Callable[..., TermSimilaritySource] = getattr(import_module(module), function)
    return join
