"""Query expansion by S: W Sᵀ W x, the factors of the scores, and the terms that add most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine.errors import InvalidInputError
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.rankings import PreparedRanking, RankedSegment
from softcosine.index.spaces.bounds import float32_holds
from softcosine.kernels.postings import greatest_impacts
from softcosine.kernels.search import expand_queries
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.norms import root


class Workspace:
    """Scratch arrays for one search at a time; arrays that must be zero are zeroed after use."""

    def __init__(self, n_docs: int, n_terms: int) -> None:
        self.scores = np.zeros(n_docs, np.float32)
        # Room for the candidates of several queries, or of any single query.
        self.candidates = np.empty(max(2 * n_docs, 2**14), np.uint32)
        self.approximate = np.empty(self.candidates.shape[0], np.float32)
        self.expansion = np.zeros(n_terms)
        self.seen = np.zeros(n_terms, np.uint8)
        self.touched = np.empty(n_terms + 1, np.int32)


@dataclass(frozen=True, slots=True)
class Expansions:
    """Several expanded queries W Sᵀ W x.

    Attributes with one number per query are lists, because arrays of one number slow down single
    searches.

    Attributes
    ----------
    pointers : ndarray of shape (n_queries + 1,), int64
        Offset of each query in `terms` and `weights`.
    terms : ndarray of shape (n_reached,), int32
        In order of first occurrence.
    weights : ndarray of shape (n_reached,), float64
    facts : list of lists
        Six numbers per query, see `softcosine.kernels.search.expand_queries`.
    factors : list of float
        Factor of the scores of each query.
    """

    pointers: NDArray[np.int64]
    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    facts: list[list[float]]
    factors: list[float]

    def __len__(self) -> int:
        return len(self.factors)

    @property
    def scales(self) -> list[float]:
        """Largest weight of each query; it is scaled to 1 in float32."""
        return [facts[0] for facts in self.facts]

    @property
    def reaching(self) -> list[bool]:
        """Whether any document can have a nonzero score, for each query."""
        pairs = zip(self.factors, self.facts, strict=True)
        return [factor != 0.0 and facts[0] != 0.0 for factor, facts in pairs]

    def holding(self, least: float, most: float) -> list[bool]:
        """Whether the error bound of the approximate scores holds, for each query.

        Parameters
        ----------
        least, most : float
            Of the documents' values and factors, see `PreparedRanking`.
        """
        return [
            n_negative == 0.0
            and factor > 0.0
            and float32_holds(smallest, largest, least=least, most=most)
            for factor, (largest, smallest, n_negative, *_) in zip(
                self.factors, self.facts, strict=True
            )
        ]

    def own(self, query: int) -> slice:
        """Return the range of a query in `terms` and `weights`."""
        return slice(self.pointers[query], self.pointers[query + 1])

    def kept(self, masks: Sequence[NDArray[np.bool_]]) -> Expansions:
        """Return the same with some terms of each query only; its factor does not change."""
        mask = np.concatenate(masks)
        facts: list[list[float]] = []
        pointers = running_sum(np.count_nonzero(own) for own in masks)
        weights = self.weights[mask]
        for row, (begin, end) in zip(self.facts, pairwise(pointers.tolist()), strict=True):
            sizes = np.abs(weights[begin:end])
            smallest = sizes.min(initial=np.inf, where=sizes > 0.0)
            n_negative = np.count_nonzero(weights[begin:end] < 0.0)
            facts.append([*map(float, (sizes.max(initial=0.0), smallest, n_negative)), *row[3:]])
        return Expansions(pointers, self.terms[mask], weights, facts, self.factors)


@dataclass(frozen=True, slots=True)
class Expanded:
    """An expanded query W Sᵀ W x by term, and the factor of its scores."""

    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    factor: float


class Expander:
    """Expands queries for one ranking and one S.

    Parameters
    ----------
    S : TermSimilarityMatrix
    ranking : PreparedRanking
        Of any segment.
    reach : float
        Upper bound of the sum of a document's values.
    """

    def __init__(self, S: TermSimilarityMatrix, ranking: PreparedRanking, *, reach: float) -> None:
        self._S = S
        self._ranking = ranking
        self._reach = reach
        self._longest_row = int(np.diff(S.arrays[0]).max(initial=0))

    def expand(self, workspace: Workspace, queries: Sequence[QueryVector]) -> Expansions:
        """Return expanded queries with their factors."""
        ranking, matrix = self._ranking, self._S.arrays
        terms, pointers = _joined([query.terms for query in queries])
        extra_terms, extra_pointers = _joined([query.extra_terms for query in queries])
        room = terms.shape[0] * self._longest_row + extra_terms.shape[0]
        reached, weights = np.empty(room, np.int32), np.empty(room)
        ends, facts = np.empty(len(queries) + 1, np.int64), np.empty((len(queries), 6))
        expand_queries(
            pointers, terms, _all([query.weights for query in queries]), *matrix,
            extra_pointers, extra_terms, _all([query.extra_values for query in queries]),
            ranking.term_weights, workspace.expansion, workspace.seen, workspace.touched,
            facts, ends, reached, weights,
        )  # fmt: skip
        rows = facts.tolist()
        factors = [self._factor(query, row) for query, row in zip(queries, rows, strict=True)]
        for row, factor in zip(rows, factors, strict=True):
            if row[5] > 0 or row[0] * self._reach * max(factor, 1.0) == np.inf:
                raise InvalidInputError(
                    "the scores of this query may leave the range of float64; scale the query, "
                    "the documents or the entries of S down."
                )
        n = int(ends[-1])
        return Expansions(ends, reached[:n], weights[:n], rows, factors)

    def _factor(self, query: QueryVector, facts: list[float]) -> float:
        """Return 1 / the norm of a query, or 1 if the ranking does not normalise."""
        normalization = self._ranking.normalization
        if normalization == "none":
            return 1.0
        if normalization == "ordinary":
            square = size = facts[4]
        else:
            square = facts[3] + query.extra_norm
            size = abs(square) if self._S.non_negative else self._size(query)
        norm = root(square, size)
        return 1.0 / norm if norm > 0.0 else 0.0

    def _size(self, query: QueryVector) -> float:
        """Return x'W|S|Wx of a query, the scale of its rounding error."""
        indptr, indices, data = self._S.arrays
        x = np.zeros(len(self._S))
        x[query.terms] = np.abs(query.weights)
        total = abs(query.extra_norm)
        for term in query.terms:
            row = slice(indptr[term], indptr[term + 1])
            total += x[term] * float(np.abs(data[row]).astype(np.float64) @ x[indices[row]])
        return float(total)


def _joined(parts: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return arrays as one, and the offset of each."""
    return _all(parts), running_sum(part.shape[0] for part in parts)


def _all(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


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
        Of every term of the vocabulary; see `impacts_of`.
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


def impacts_of(parts: Sequence[RankedSegment], n_terms: int) -> NDArray[np.float64]:
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
