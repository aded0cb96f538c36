"""Search by BM25 of soft frequencies (theory T20).

The first stage adds up approximate scores word by word; the bound of their rounding errors is that
of the other rankings (theory, "Exactness of the two-stage search").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine.errors import InvalidInputError
from softcosine.index.search.approximate_scores import (
    ApproximateFrequencyScores,
    ApproximateScores,
)
from softcosine.index.search.bounds import SUM_MARGIN
from softcosine.index.search.field_sums import summed_candidates
from softcosine.index.search.heaviest_terms import LeftOut, heaviest_terms
from softcosine.index.search.parts import Part
from softcosine.index.search.plan import ALONE, NOTHING
from softcosine.index.search.searcher import Asked, Searcher
from softcosine.index.search.soft_frequencies import SoftFrequencies
from softcosine.index.search.top_docs import Expanded, QueryVector, Top
from softcosine.index.search.workspace import Workspace
from softcosine.index.segment.segment import MAX_DOCS
from softcosine.kernels.documents import score_soft_frequencies
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

__all__ = ["FrequencySearcher", "searcher_of"]


def searcher_of(parts: Sequence[Part], S: TermSimilarityMatrix) -> Searcher:
    """Return the searcher of prepared segments."""
    return (Searcher if parts[0].ranking.linear else FrequencySearcher)(parts, S)


class FrequencySearcher(Searcher):
    """Searches the segments of an index by BM25 of soft frequencies; see `Searcher`.

    Each query of a batch is searched by itself.
    """

    def __init__(self, parts: Sequence[Part], S: TermSimilarityMatrix) -> None:
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
        limited = self._copied()
        limited._n_others, limited._last = n, None
        return limited

    def second_stage(
        self, query: QueryVector, documents: NDArray[np.int64], n: int
    ) -> tuple[NDArray[np.float64], LeftOut]:
        """Return the scores of candidates, and what ``limited(n)`` leaves out of the query.

        A saturation of a sum is at most the sum of saturations, so that the bound of the terms that
        are left out is that of `bounding`.
        """
        bound, impacts = self.bounding(query), self.greatest_impacts
        left_out = LeftOut.of(bound.terms, bound.weights, 1.0, impacts, query.terms, n)
        if self._words(query).shares.min(initial=0.0) < 0 and left_out.n_kept < left_out.n_terms:
            left_out = replace(left_out, most=np.inf)  # what lowers a score may be left out
        return self.scores(query, documents), left_out

    def expanded(self, query: QueryVector) -> Expanded:
        """Return the weights of terms where scores are not saturated, for snippets."""
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
    def approximate_scores(
        self, query: QueryVector
    ) -> Iterator[ApproximateScores | ApproximateFrequencyScores]:
        """Yield the approximate scores of a query, to which others can be added."""
        words, space = self._words(query), self._taken()
        yield ApproximateFrequencyScores(self.table, space, words, self._range, self._saturation)
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

    def _search(self, space: Workspace, queries: Sequence[QueryVector], asked: Asked) -> list[Top]:
        return [self._one(query, asked) for query in queries]

    def _one(self, query: QueryVector, asked: Asked) -> Top:
        """Find the candidates of one query, and score them exactly."""
        found, plan = None, ALONE
        if asked.expand_postings and asked.positive:
            found = summed_candidates(
                [self], [1.0], [query], k=asked.k, min_score=asked.minimum, allowed=asked.allowed
            )
            plan = ALONE if found or found is None else NOTHING
        if found is None:
            lists, plan = self._otherwise(query, True, asked)
            found = [
                own.astype(np.int64) + part.first
                for own, part in zip(lists, self.parts, strict=True)
            ]
        documents = np.concatenate([np.empty(0, np.int64), *found])
        scores = self.scores(query, documents)
        kept = scores > asked.minimum if asked.exclusive else scores >= asked.minimum
        return Top.of(documents, scores, kept, asked.k, plan)
