"""The heaviest terms of an expanded query, which the first stage of a search keeps."""

from __future__ import annotations

from collections.abc import Sequence

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
