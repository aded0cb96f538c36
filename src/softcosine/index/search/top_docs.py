"""What goes into a search and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_whole, is_number
from softcosine.errors import InvalidInputError
from softcosine.index.search.plan import ALONE, Plan

__all__ = [
    "Expanded",
    "QueryVector",
    "Top",
    "check_k",
    "check_min_score",
    "check_offset",
]


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A query's coordinates W x, and what its words outside the vocabulary add.

    Attributes
    ----------
    terms : ndarray of shape (m,), int32, ascending
    weights : ndarray of shape (m,), float64
    extra_terms : ndarray of shape (e,), int32
        Indexed terms that outside words are similar to.
    extra_values : ndarray of shape (e,), float64
        What they add to Sᵀ W x there.
    extra_norm : float
        What they add to x'WSWx.
    """

    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    extra_terms: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    extra_values: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    extra_norm: float = 0.0


@dataclass(frozen=True, slots=True)
class Top:
    """Documents by (score descending, number ascending), and how they were found."""

    documents: NDArray[np.int64]
    scores: NDArray[np.float64]
    plan: Plan = ALONE


@dataclass(frozen=True, slots=True)
class Expanded:
    """An expanded query: W Sᵀ W x by term, and what scores are multiplied by."""

    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    factor: float


def check_min_score(min_score: float) -> float:
    """Return min_score if it is a number; InvalidInputError otherwise."""
    if is_number(min_score):
        return float(min_score)
    raise InvalidInputError(f"min_score is {min_score!r}; it must be a number.")


def check_offset(offset: int) -> int:
    """Return offset if it is a whole number of 0 or more; InvalidInputError otherwise."""
    check_whole("offset", offset, least=0)
    return int(offset)


def check_k(k: int, *, least: int = 1) -> int:
    """Return k if it is a whole number of `least` or more; InvalidInputError otherwise."""
    check_whole("k", k, least=least)
    return int(k)
