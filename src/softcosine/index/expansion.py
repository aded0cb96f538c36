"""Queries expanded by S: W Sᵀ W x, and what their scores are multiplied by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.bounds import float32_holds
from softcosine.index.rankings import PreparedRanking
from softcosine.index.values import QueryVector
from softcosine.index.workspace import Workspace
from softcosine.kernels.search import expand_queries
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.norms import reciprocal, roots

__all__ = ["Expander", "Expansions"]


@dataclass(frozen=True, slots=True)
class Expansions:
    """Expanded queries W Sᵀ W x, one after the other.

    Attributes
    ----------
    pointers : ndarray of shape (n_queries + 1,), int64
        Where each query begins in `terms` and `weights`.
    terms : ndarray of shape (n_reached,), int32
        In the order in which they are met.
    weights : ndarray of shape (n_reached,), float64
    facts : ndarray of shape (n_queries, 6), float64
        See `softcosine.kernels.search.expand_queries`.
    factors : ndarray of shape (n_queries,), float64
        What scores are multiplied by.
    """

    pointers: NDArray[np.int64]
    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    facts: NDArray[np.float64]
    factors: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.factors.shape[0])

    @property
    def scales(self) -> NDArray[np.float64]:
        """Largest weight of each query, which is 1 in float32."""
        return self.facts[:, 0].copy()

    @property
    def reaching(self) -> NDArray[np.bool_]:
        """Whether any document can have a score other than 0, for each query."""
        reached: NDArray[np.bool_] = (self.factors != 0.0) & (self.facts[:, 0] != 0.0)
        return reached

    def holding(self, least: float, most: float) -> NDArray[np.bool_]:
        """Whether the approximate scores of each query obey their error bound.

        Parameters
        ----------
        least, most : float
            Of the documents' values and factors, see `PreparedRanking`.
        """
        ranges = [
            float32_holds(smallest, largest, least=least, most=most)
            for largest, smallest in self.facts[:, :2].tolist()
        ]
        holding: NDArray[np.bool_] = np.array(ranges, bool) & (self.facts[:, 2] == 0.0)
        return holding & (self.factors > 0.0)

    def own(self, query: int) -> slice:
        """Return where the terms of a query stand."""
        return slice(self.pointers[query], self.pointers[query + 1])


class Expander:
    """Expands queries for one ranking and one S.

    Parameters
    ----------
    S : TermSimilarityMatrix
    ranking : PreparedRanking
        Of any part.
    reach : float
        The most that a document's values may sum to.
    """

    def __init__(self, S: TermSimilarityMatrix, ranking: PreparedRanking, *, reach: float) -> None:
        self._S = S
        self._ranking = ranking
        self._reach = reach

    def expand(self, space: Workspace, queries: Sequence[QueryVector]) -> Expansions:
        """Expand queries, and find what their scores are multiplied by."""
        ranking, matrix = self._ranking, self._S.arrays
        terms, pointers = _joined([query.terms for query in queries])
        extra_terms, extra_pointers = _joined([query.extra_terms for query in queries])
        room = int((matrix[0][terms + 1] - matrix[0][terms]).sum()) + extra_terms.shape[0]
        reached, weights = np.empty(room, np.int32), np.empty(room)
        ends, facts = np.empty(len(queries) + 1, np.int64), np.empty((len(queries), 6))
        expand_queries(
            pointers, terms, np.concatenate([q.weights for q in queries]), *matrix,
            extra_pointers, extra_terms, np.concatenate([q.extra_values for q in queries]),
            ranking.term_weights, space.expansion, space.seen, space.touched,
            facts, ends, reached, weights,
        )  # fmt: skip
        factors = self._factors(queries, facts)
        with np.errstate(over="ignore", invalid="ignore"):
            reach = facts[:, 0] * self._reach * np.maximum(factors, 1.0)
        if np.any(facts[:, 5] > 0) or np.any(reach == np.inf):
            raise InvalidInputError(
                "the scores of this query may leave the range of float64; scale the query, the "
                "documents or the entries of S down."
            )
        n = int(ends[-1])
        return Expansions(ends, reached[:n], weights[:n], facts, factors)

    def _factors(
        self, queries: Sequence[QueryVector], facts: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """1 / the norm of each query, or 1 where the ranking divides by none."""
        normalization = self._ranking.normalization
        if normalization == "none":
            return np.ones(len(queries))
        if normalization == "ordinary":
            squares = sizes = facts[:, 4]
        else:
            squares = facts[:, 3] + [query.extra_norm for query in queries]
            sizes = np.abs(squares)
            if not self._S.non_negative:
                sizes = np.array([self._size(query) for query in queries])
        return reciprocal(roots(squares, sizes))

    def _size(self, query: QueryVector) -> float:
        """x'W|S|Wx of a query: what rounding may have cost is relative to it."""
        indptr, indices, data = self._S.arrays
        x = np.zeros(len(self._S))
        x[query.terms] = np.abs(query.weights)
        total = abs(query.extra_norm)
        for term in query.terms:
            row = slice(indptr[term], indptr[term + 1])
            total += x[term] * float(np.abs(data[row]).astype(np.float64) @ x[indices[row]])
        return float(total)


def _joined(parts: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Join arrays; where each begins is returned too."""
    pointers = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([part.shape[0] for part in parts], out=pointers[1:])
    return np.concatenate(parts), pointers
