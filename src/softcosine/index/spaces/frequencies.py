"""Search by BM25 of soft frequencies (theory T20).

The first stage adds up approximate scores word by word; the bound of their rounding errors is that
of the other rankings (theory, "Exactness of the two-stage search").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine.errors import InvalidInputError
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.rankings import PreparedRanking, RankedSegment
from softcosine.index.spaces.bounds import HUGE, SUM_MARGIN, TINY
from softcosine.index.spaces.expansion import Expanded
from softcosine.index.spaces.space import UNDECIDED, Bound
from softcosine.index.spaces.words import Linear, PreparedWords, Words
from softcosine.kernels.documents import score_soft_frequencies
from softcosine.kernels.search import add_soft_frequency_scores
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix


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


class Frequencies(Words):
    """Words ranked by BM25 of soft frequencies (theory T20)."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        tables = np.concatenate([part.ranking.table for part in self.parts])
        frequencies = tables[tables > 0]
        self.frequency_range = (1.0, 1.0)  # of the frequencies above 0
        if frequencies.size:
            self.frequency_range = float(frequencies.min()), float(frequencies.max())
        self.saturation = max(
            float(part.ranking.saturation.max(initial=0.0)) for part in self.parts
        )

    def prepare(self, query: ReadyQuery) -> PreparedFrequencies:
        """Return a query in this space; InvalidInputError if scores may overflow float64."""
        words = SoftFrequencies.of(self.S, self.ranking, query.vectors[self.field])
        sizes = np.abs(words.shares).max(initial=0.0) * self.frequency_range[1] * self.table.longest
        if not np.isfinite(sizes) or not np.isfinite(np.abs(words.amounts).sum()):
            raise InvalidInputError(
                "the scores of this query may leave the range of float64; scale the query, the "
                "documents or the entries of S down."
            )
        return PreparedFrequencies(self, query, words)


class PreparedFrequencies(PreparedWords):
    """The words of a query with their neighbours."""

    def __init__(self, space: Frequencies, query: ReadyQuery, words: SoftFrequencies) -> None:
        super().__init__(space, query)
        self.space: Frequencies = space
        self._words = words

    @cached_property
    def bound(self) -> Bound:
        """Of the approximate scores."""
        shares, amounts, space = self._words.shares, self._words.amounts, self.space
        if not (shares.any() and amounts.any()):
            return Bound()
        if shares.min() < 0.0 or amounts.min() < 0.0:
            return UNDECIDED
        unit, longest = float(amounts.max()), space.table.longest
        least_share, (frequency, most) = float(shares[shares > 0].min()), space.frequency_range
        frequency *= least_share
        least = float(amounts[amounts > 0].min()) / unit
        least *= frequency / (frequency + space.saturation)
        greatest = max(float(shares.max()) * most * max(longest, 1), space.saturation)
        if min(frequency, least_share, least) < TINY or greatest > HUGE:
            return UNDECIDED
        n_roundings = min(len(self._words.terms), longest) + len(amounts)
        return Bound(unit, least, n_roundings)

    @cached_property
    def _in_float32(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        words = self._words
        amounts = words.amounts / self.bound.scale
        return words.shares.astype(np.float32), amounts.astype(np.float32)

    def add(self, run: slice, weight: np.float32, total: NDArray[np.float32]) -> None:
        """Add weight times the approximate scores of a run of segments to an array."""
        words, workspace = self._words, self.space.take()
        add_soft_frequency_scores(
            self.space.table.rows[run], words.pointers, words.terms, *self._in_float32, weight,
            workspace.scores, workspace.candidates, total,
        )  # fmt: skip
        self.space.idle.append(workspace)

    def exact(self, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of documents, in the given order."""
        return self._scored(documents)[0]

    def _scored(
        self, documents: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores of documents, and the soft frequencies in the last one."""
        words, space = self._words, self.space
        frequencies = np.zeros(len(words.amounts))
        given = space.table.rows, len(space.S), *words.by_term, words.amounts
        scores = space.scored(
            documents,
            lambda numbers, out: score_soft_frequencies(*given, numbers, frequencies, out),
        )
        return scores, frequencies

    @property
    def expanded(self) -> Expanded:
        """The weights of terms where scores are not saturated."""
        return self._words.expanded

    def bounding(self, impacts: NDArray[np.float64]) -> Expanded:
        """Return weights whose sum times impacts is at least a score (theory, "On a server")."""
        words, factor = self._words, self.space.ranking.k1 + 1.0
        terms, pointers, numbers, shares = words.by_term
        places = np.repeat(np.arange(len(terms)), np.diff(pointers))
        saturated = np.minimum(impacts[terms] / factor * SUM_MARGIN, 1.0)[places]
        useful = (shares > 0.0) & (words.amounts[numbers] > 0.0)
        shares, saturated = shares[useful], saturated[useful]
        shares = shares / (1.0 - saturated + np.minimum(shares, 1.0) * saturated)
        weights = np.zeros(len(terms))
        np.add.at(weights, places[useful], words.amounts[numbers[useful]] / factor * shares)
        return Expanded(terms, weights, 1.0)

    def keeping(self, terms: NDArray[np.int32]) -> PreparedFrequencies:
        """Return the query with some of the terms that it reaches."""
        return PreparedFrequencies(self.space, self.query, self._words.keeping(terms))

    def weights_in(self, document: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return the weight of each word in a document, of each word outside, and their factor."""
        # A pair contributes q_i s_ij idf_j tf_jd (k1 + 1) / (x_i + K_d); x_i is the soft frequency.
        vector, (part, local) = self.vector, self.space.part_of(document)
        ranking, frequencies = part.ranking, self._scored(np.array([document]))[1]
        idf = np.append(
            ranking.term_weights[vector.terms], [ranking.absent_weight] * len(vector.extra_weights)
        )
        counts = np.append(vector.weights, vector.extra_weights) / idf
        saturated = np.divide(
            counts, frequencies + ranking.saturation[local], out=np.zeros_like(counts),
            where=frequencies > 0,
        )  # fmt: skip
        n = len(vector.terms)
        return saturated[:n], saturated[n:], 1.0


def words_space(
    parts: Sequence[RankedSegment], S: TermSimilarityMatrix, field: int = 0, name: str = ""
) -> Words:
    """Return the space of the words of prepared segments."""
    return (Linear if parts[0].ranking.linear else Frequencies)(parts, S, field, name)
