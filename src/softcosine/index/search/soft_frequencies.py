"""The words of a query with their neighbours, for soft frequencies (theory T20)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine.index.search.rankings import PreparedRanking
from softcosine.index.search.top_docs import Expanded, QueryVector
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

__all__ = ["SoftFrequencies"]


@dataclass(frozen=True)
class SoftFrequencies:
    """The words of a query, and the share of a neighbour's frequency that each of them gets.

    Words outside the vocabulary come last.

    Attributes
    ----------
    pointers : ndarray of shape (n_words + 1,), int64
        Offset of each word in `terms` and `shares`.
    terms : ndarray of shape (n_neighbors,), int32
        Neighbours of each word, with itself.
    shares : ndarray of shape (n_neighbors,), float64
        s_ij idf_j / idf_i.
    amounts : ndarray of shape (n_words,), float64
        q_i idf_i (k1 + 1).
    """

    pointers: NDArray[np.int64]
    terms: NDArray[np.int32]
    shares: NDArray[np.float64]
    amounts: NDArray[np.float64]

    @classmethod
    def of(cls, S: TermSimilarityMatrix, ranking: PreparedRanking, query: QueryVector) -> Self:
        """Return the words of a query."""
        indptr, indices, data = S.arrays
        idf = ranking.term_weights
        rows = [slice(indptr[i], indptr[i + 1]) for i in query.terms.tolist()]
        terms = np.concatenate([*(indices[row] for row in rows), query.extra_terms])
        weights = np.concatenate([query.weights, query.extra_weights])
        lengths = np.concatenate(
            [[row.stop - row.start for row in rows], np.diff(query.extra_pointers)]
        ).astype(np.int64)
        own = np.concatenate(
            [idf[query.terms], np.full(len(query.extra_weights), ranking.absent_weight)]
        )
        values = [data[row].astype(np.float64) for row in rows]
        for number, weight in enumerate(query.extra_weights.tolist()):
            row = slice(query.extra_pointers[number], query.extra_pointers[number + 1])
            values.append(query.extra_values[row] / weight)
        shares = np.concatenate([*values, np.empty(0)]) * idf[terms] / np.repeat(own, lengths)
        pointers = running_sum(lengths)
        return cls(pointers, terms.astype(np.int32), shares, weights * (ranking.k1 + 1.0))

    def keeping(self, terms: NDArray[np.int32]) -> Self:
        """Return the words with some of their neighbours."""
        kept = np.isin(self.terms, terms)
        n_before = running_sum(kept)
        return replace(
            self, pointers=n_before[self.pointers], terms=self.terms[kept], shares=self.shares[kept]
        )

    @cached_property
    def by_term(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """The distinct terms, ascending, and for each the words that ask for it with shares.

        As offsets of each term in the two last arrays, ascending by word within a term.
        """
        order = np.argsort(self.terms, kind="stable")
        terms, starts = np.unique(self.terms[order], return_index=True)
        words = np.repeat(np.arange(len(self.amounts), dtype=np.int32), np.diff(self.pointers))
        pointers = np.append(starts, len(order)).astype(np.int64)
        return terms, pointers, words[order], self.shares[order]

    @property
    def expanded(self) -> Expanded:
        """The weight of each term where scores are not saturated, apart from k1 + 1."""
        terms, pointers, words, shares = self.by_term
        weights = np.zeros(len(terms))
        np.add.at(
            weights, np.repeat(np.arange(len(terms)), np.diff(pointers)),
            self.amounts[words] * shares,
        )  # fmt: skip
        return Expanded(terms, weights, 1.0)
