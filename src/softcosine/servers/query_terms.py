"""The terms and weights of an expanded query that a first stage sends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.index.search.fields import FieldsSearcher
from softcosine.index.search.heaviest_terms import heaviest_terms
from softcosine.index.search.top_docs import QueryVector
from softcosine.servers.documents import keys_of

__all__ = ["SentTerms", "query_terms"]


@dataclass(frozen=True, slots=True)
class SentTerms:
    """The terms that a first stage sends, and what the others can add to a score.

    Attributes
    ----------
    terms : ndarray of shape (n,), int64
    weights : ndarray of shape (n,), float64
        Above 0, the greatest one is 1.
    scale : float
        Factor of these weights.
    rest : float
        Upper bound of the part of a score that is from the terms left out.
    n_all : int
        Number of all terms that can add to a score.
    """

    terms: NDArray[np.int64]
    weights: NDArray[np.float64]
    scale: float
    rest: float
    n_all: int


def query_terms(
    searcher: FieldsSearcher,
    vectors: Sequence[QueryVector],
    *,
    n: int | None,
    most: int | None = None,
) -> SentTerms:
    """Return the query's own terms and the heaviest others, over all fields.

    Parameters
    ----------
    searcher : FieldsSearcher
    vectors : sequence of QueryVector
        One per field.
    n : int or None
        See `softcosine.index.search.heaviest_terms.heaviest_terms`.
    most : int, optional
        Maximum number of terms; the heaviest ones then.
    """
    columns: list[tuple[NDArray[Any], ...]] = []
    fields = list(zip(searcher.searchers, searcher.weights, vectors, strict=True))
    for number, (own, weight, vector) in enumerate(fields):
        expanded = own.bounding(vector)
        terms, factors = expanded.terms, expanded.weights * (expanded.factor * weight)
        impacts, owned = own.greatest_impacts[terms], np.isin(terms, vector.terms)
        # Impacts are not negative, so that a negative weight can only lower a score.
        useful = (factors > 0) & (impacts > 0)
        keys = keys_of(terms, number, len(fields))
        columns.append(tuple(one[useful] for one in (keys, factors, impacts, owned)))
    every, factor, impact, is_own = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    order = np.argsort(every)
    every, factor, impact, is_own = every[order], factor[order], impact[order], is_own[order]
    places = np.arange(len(every), dtype=np.int32)
    kept = heaviest_terms(places, factor, impact, places[is_own], n=n)
    if most is not None and np.count_nonzero(kept) > most:
        heaviest = np.argsort(-(factor * impact)[kept], kind="stable")[most:]
        kept[np.flatnonzero(kept)[heaviest]] = False
    scale = float(factor[kept].max(initial=0.0))
    rest = float((factor * impact)[~kept].sum())
    return SentTerms(every[kept], factor[kept] / (scale or 1.0), scale, rest, n_all=len(every))
