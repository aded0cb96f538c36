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
        Those that can add most to a score first.
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

    def batches(self, most: int | None) -> list[SentTerms]:
        """Return the terms in batches of at most `most`; a score is at most the sum of theirs."""
        n = len(self.terms)
        size = n if most is None else most
        return [self._part(slice(begin, begin + size)) for begin in range(0, n, max(1, size))]

    def _part(self, place: slice) -> SentTerms:
        weights = self.weights[place]
        greatest = float(weights.max())
        scale = self.scale * greatest
        return SentTerms(self.terms[place], weights / greatest, scale, self.rest, self.n_all)


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
    sent = np.flatnonzero(kept)
    sent = sent[np.argsort(-(factor * impact)[sent], kind="stable")][:most]
    kept[:] = False
    kept[sent] = True
    scale = float(factor[sent].max(initial=0.0))
    rest = float((factor * impact)[~kept].sum())
    return SentTerms(every[sent], factor[sent] / (scale or 1.0), scale, rest, n_all=len(every))
