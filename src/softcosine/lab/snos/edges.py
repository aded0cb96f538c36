"""Reader of named edges of a bipartite graph, such as clicks, to a matrix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from softcosine._validation import check_number
from softcosine.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """Weights between two kinds of named objects.

    Attributes
    ----------
    left, right : tuple of str
        In order of first occurrence.
    B : csr_array of shape (n_right, n_left)
        The right ones are the features of the left.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    B: csr_array


def read_edges(edges: Iterable[tuple[str, str, float]]) -> NamedGraph:
    """Read edges such as (query, page, clicks); weights of repeated edges are added.

    Raises
    ------
    InvalidInputError
        If an edge is not a triple of two strings and a finite non-negative number; names it.
    """
    left: dict[str, int] = {}
    right: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    weights: list[float] = []
    for edge in edges:
        a, b, weight = _checked(edge)
        columns.append(left.setdefault(a, len(left)))
        rows.append(right.setdefault(b, len(right)))
        weights.append(weight)
    ends = np.array(rows, np.int64), np.array(columns, np.int64)
    B = coo_array((np.array(weights, np.float64), ends), shape=(len(right), len(left)))
    return NamedGraph(tuple(left), tuple(right), csr_array(B))


def _checked(edge: Any) -> tuple[str, str, float]:
    try:
        a, b, weight = edge
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{edge!r} is no edge; give (object, feature, weight), such as (query, page, clicks)."
        ) from None
    if not (isinstance(a, str) and isinstance(b, str)):
        raise InvalidInputError(f"the edge ({a!r}, {b!r}) is not between two strings.")
    check_number(f"the weight of {a!r} and {b!r}", weight, least=0)
    return a, b, float(weight)
