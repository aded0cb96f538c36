"""The heaviest terms of an expanded query, which the first stage of a search keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from softcosine.index.rankings import Part
from softcosine.kernels.postings import greatest_impacts


def heaviest_terms(
    terms: NDArray[np.int32],
    weights: NDArray[np.float64],
    impacts: NDArray[np.float64],
    own: NDArray[np.int32],
    *,
    n: int | None,
) -> NDArray[np.bool_]:
    """Return which terms of an expanded query the first stage keeps.

    It keeps the query's own terms, and of the others those with the largest ``|weight| * greatest
    impact``, the most that they can add to a score (theory, "First stage by some terms"); ties go
    to the smaller term number. With n, it keeps ``max(len(own) + n, 2 n)`` terms, or all if there
    are fewer.

    Parameters
    ----------
    terms : ndarray of shape (n_reached,), int32
        Distinct, in any order, such as `Expanded.terms`.
    weights : ndarray of shape (n_reached,), float64
        Their weights in W Sᵀ W x.
    impacts : ndarray of shape (n_terms,), float64
        Of every term of the vocabulary; see `Searcher.greatest_impacts`.
    own : ndarray of shape (m,), int32
        The query's terms, such as `QueryVector.terms`.
    n : int or None
        None keeps all.

    Returns
    -------
    ndarray of shape (n_reached,), bool
        Parallel to `terms`.
    """
    kept = np.zeros(terms.shape[0], np.bool_)
    if own.shape[0]:  # faster than np.isin for few terms
        ascending = np.sort(own)
        kept = ascending[np.searchsorted(ascending[:-1], terms)] == terms
    room = terms.shape[0] if n is None else max(n, 2 * n - own.shape[0])
    others = np.flatnonzero(~kept)
    if others.shape[0] > room:
        heaviness = np.abs(weights[others]) * impacts[terms[others]]
        least = np.partition(heaviness, -room)[-room] if room else np.inf
        equal = others[heaviness == least]
        others = others[heaviness > least]
        n_equal = room - others.shape[0]
        kept[equal[np.argsort(terms[equal])[:n_equal]]] = True
    kept[others] = True
    return kept


def impacts_of(parts: Sequence[Part], n_terms: int) -> NDArray[np.float64]:
    """Return the greatest impact of each term: value times factor, over all live documents.

    A score without the query's factor is at most the sum of weight times impact over the terms of
    the expanded query. Shape (n_terms,), 0 for terms that are in no live document. One pass over
    all postings; does not depend on the cut into segments.
    """
    impacts = np.zeros(n_terms)
    for part in parts:
        segment, ranking = part.segment, part.ranking
        factors = ranking.factors if part.live is None else ranking.factors * part.live
        found = np.empty(segment.present_terms.shape[0])
        greatest_impacts(
            ranking.kind, segment.term_groups, segment.group_starts, segment.group_levels,
            ranking.table, segment.documents, segment.posting_weights, ranking.saturation,
            ranking.k1, factors, found,
        )  # fmt: skip
        present = segment.present_terms
        impacts[present] = np.maximum(impacts[present], found)
    return impacts


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the first stage leaves out of a query.

    Attributes
    ----------
    n_terms : int
        Number of terms of the expanded query.
    n_kept : int
        Number of those that the first stage keeps.
    most : float
        The most that the others add to a score, up to rounding; 0 only if they can add nothing, inf
        if a weight is negative.
    """

    n_terms: int = 0
    n_kept: int = 0
    most: float = 0.0

    @classmethod
    def of(
        cls,
        terms: NDArray[np.int32],
        weights: NDArray[np.float64],
        factor: float,
        impacts: NDArray[np.float64],
        own: NDArray[np.int32],
        n: int,
    ) -> Self:
        """Return it for the arguments of `heaviest_terms` and the factor of the query's scores."""
        n_terms = terms.shape[0]
        others = ~heaviest_terms(terms, weights, impacts, own, n=n)
        n_kept = n_terms - int(np.count_nonzero(others))
        parts = weights[others] * impacts[terms[others]]
        if not parts.any():
            return cls(n_terms, n_kept)
        return cls(n_terms, n_kept, np.inf if weights.min() < 0 else factor * float(parts.sum()))

    def plus(self, other: LeftOut, weight: float) -> LeftOut:
        """Return the sum with what is left out of a query in a field of some weight."""
        most = self.most + weight * other.most
        return LeftOut(self.n_terms + other.n_terms, self.n_kept + other.n_kept, most)
