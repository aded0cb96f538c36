"""The ways to join sources, by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softcosine.similarity.source import TermSimilaritySource

__all__ = ["JOINS", "join_by"]

# Where each join stands; what is not asked for is not loaded.
JOINS = {
    "strongest": ("softcosine.similarity.combine.combined", "strongest"),
    "mean": ("softcosine.similarity.combine.combined", "mean"),
    "noisy-or": ("softcosine.similarity.combine.noisy_or", "noisy_or"),
    "first": ("softcosine.similarity.combine.combined", "first"),
}


def join_by(name: str) -> Callable[..., TermSimilaritySource]:
    """Return the function that joins sources, by one of the names in `JOINS`."""
    module, function = JOINS[name]
    join: Callable[..., TermSimilaritySource] = getattr(import_module(module), function)
    return join
