"""Search by BM25 of soft frequencies (theory T20).

The first stage adds up approximate scores word by word; the bound of their rounding errors is that
of the other rankings (theory, "Exactness of the two-stage search").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine._ragged import running_sum
from softcosine.errors import InvalidInputError
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.rankings import PreparedRanking, RankedSegment
from softcosine.index.segment.segment import MAX_DOCS
from softcosine.index.spaces.approximate_scores import ApproximateScores, best_by_sums
from softcosine.index.spaces.bounds import HUGE, SUM_MARGIN, TINY
from softcosine.index.spaces.expansion import Workspace, heaviest_terms
from softcosine.index.spaces.plan import ALONE
from softcosine.index.spaces.space import (
    Expanded,
    Limits,
    Top,
)
from softcosine.index.spaces.words import Searcher
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


def searcher_of(parts: Sequence[RankedSegment], S: TermSimilarityMatrix) -> Searcher:
    """Return the searcher of prepared segments."""
    return (Searcher if parts[0].ranking.linear else FrequencySearcher)(parts, S)


class FrequencySearcher(Searcher):
    """Searches the segments of an index by BM25 of soft frequencies; see `Searcher`.

    Each query of a batch is searched by itself.
    """

    def __init__(self, parts: Sequence[RankedSegment], S: TermSimilarityMatrix) -> None:
        super().__init__(parts, S)
        tables = np.concatenate([part.ranking.table for part in parts])
        frequencies = tables[tables > 0]
        self._range = (1.0, 1.0)
        if frequencies.size:
            self._range = float(frequencies.min()), float(frequencies.max())
        self._last: tuple[QueryVector, SoftFrequencies] | None = None
        self._n_others: int | None = None  # terms of `heaviest_terms`; None for all
        self._saturation = max(float(part.ranking.saturation.max(initial=0.0)) for part in parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrequencySearcher, (self.parts, self.S)

    def scores(self, query: QueryVector, documents: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the scores of documents, in the given order, bit-identical to a search."""
        return self._scored(self._words(query), documents)[0]

    def frequencies(self, query: QueryVector, document: int) -> NDArray[np.float64]:
        """Return the soft frequency of each word of a query in a document.

        Words outside the vocabulary come last.
        """
        return self._scored(self._words(query), np.array([document]))[1]

    def limited(self, n: int) -> Searcher:
        """Return a searcher by the own and heaviest terms alone, by the weights of `bounding`."""
        assert len(self.greatest_impacts) == len(self.S)  # computed here, and shared
        limited = self._copied()
        limited._n_others, limited._last = n, None
        return limited

    def expanded(self, query: QueryVector) -> Expanded:
        """Return the weights of terms where scores are not saturated."""
        return self._words(query).expanded

    def bounding(self, query: QueryVector) -> Expanded:
        """Return weights whose sum times impacts is at least a score (theory, "On a server")."""
        return self._bounding(self._words(query))

    def _bounding(self, words: SoftFrequencies) -> Expanded:
        terms, pointers, numbers, shares = words.by_term
        places = np.repeat(np.arange(len(terms)), np.diff(pointers))
        factor = self.ranking.k1 + 1.0
        saturated = np.minimum(self.greatest_impacts[terms] / factor * SUM_MARGIN, 1.0)[places]
        useful = (shares > 0.0) & (words.amounts[numbers] > 0.0)
        shares, saturated = shares[useful], saturated[useful]
        shares = shares / (1.0 - saturated + np.minimum(shares, 1.0) * saturated)
        weights = np.zeros(len(terms))
        np.add.at(weights, places[useful], words.amounts[numbers[useful]] / factor * shares)
        return Expanded(terms, weights, 1.0)

    @contextmanager
    def approximate_scores(self, query: QueryVector) -> Iterator[ApproximateScores | None]:
        """Yield the approximate scores of a query, to be added up; None if float32 cannot decide.

        Scratch arrays are in use until the end.
        """
        words, space = self._words(query), self._taken()
        shares, amounts = words.shares, words.amounts

        def add(segments: slice, weight: np.float32, total: NDArray[np.float32]) -> None:
            add_soft_frequency_scores(
                self.table.rows[segments], words.pointers, words.terms, shares.astype(np.float32),
                (amounts / unit).astype(np.float32), weight, space.scores, space.candidates, total,
            )  # fmt: skip

        if not (shares.any() and amounts.any()):
            yield ApproximateScores()
        elif shares.min() < 0.0 or amounts.min() < 0.0:
            yield None
        else:
            unit = float(amounts.max())
            n_terms = min(len(words.terms), self.table.longest)
            least_share, (frequency, most) = float(shares[shares > 0].min()), self._range
            frequency *= least_share
            least = float(amounts[amounts > 0].min()) / unit
            least *= frequency / (frequency + self._saturation)
            greatest = max(
                float(shares.max()) * most * max(self.table.longest, 1), self._saturation
            )
            if min(frequency, least_share, least) >= TINY and greatest <= HUGE:
                yield ApproximateScores(add, unit, least, n_terms + len(amounts), self.table.half)
            else:
                yield None
        self._idle.append(space)

    def _words(self, query: QueryVector) -> SoftFrequencies:
        """Return the words of a query.

        Raises
        ------
        InvalidInputError
            If scores may leave the range of float64.
        """
        last = self._last  # both stages of a search need them
        if last is not None and last[0] is query:
            return last[1]
        words = SoftFrequencies.of(self.S, self.ranking, query)
        if self._n_others is not None:
            bound, impacts = self._bounding(words), self.greatest_impacts
            words = words.keeping(
                bound.terms[
                    heaviest_terms(
                        bound.terms, bound.weights, impacts, query.terms, n=self._n_others
                    )
                ]
            )
        sizes = np.abs(words.shares).max(initial=0.0) * self._range[1] * self.table.longest
        if not np.isfinite(sizes) or not np.isfinite(np.abs(words.amounts).sum()):
            raise InvalidInputError(
                "the scores of this query may leave the range of float64; scale the query, the "
                "documents or the entries of S down."
            )
        self._last = query, words
        return words

    def _scored(
        self, words: SoftFrequencies, documents: NDArray[np.integer]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores of documents, and the soft frequencies in the last one."""
        scores, frequencies = np.empty(len(documents)), np.zeros(len(words.amounts))
        numbers = np.ascontiguousarray(documents, np.int64)
        for begin in range(0, len(documents), MAX_DOCS):
            check_deadline()
            some = slice(begin, begin + MAX_DOCS)
            wrong = score_soft_frequencies(
                self.table.rows, len(self.S), *words.by_term, words.amounts, numbers[some],
                frequencies, scores[some],
            )  # fmt: skip
            self._check_scored(wrong)
        return scores, frequencies

    def _search(
        self, space: Workspace, queries: Sequence[QueryVector], limits: Limits
    ) -> list[Top]:
        return [
            best_by_sums([self], [1.0], [query], limits, partial(self.scores, query), ALONE)
            for query in queries
        ]
