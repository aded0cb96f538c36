"""Fitted system on a `SoftIndex`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import silent
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import words_shown
from softcosine.evaluate.systems.fitted import check_partners, products
from softcosine.evaluate.systems.partners import Partners
from softcosine.evaluate.systems.rows import ranked_lists, unit_rows
from softcosine.evaluate.systems.sentence_model import SentenceModel
from softcosine.evaluate.systems.similarities import Similarities
from softcosine.evaluate.systems.system import Ranked
from softcosine.index.query.query_vectors import ParsedQuery, heaviest, parse_query, query_vector
from softcosine.index.search.explanation import Explanation, by_size, explain
from softcosine.index.search.fields import FieldsSearcher
from softcosine.index.search.first_stage import FirstStage, search_in_two_stages
from softcosine.index.search.meaning import QueryMeaning
from softcosine.index.search.query_encoding import QueryEncoding
from softcosine.index.search.rankings import PreparedRanking
from softcosine.index.search.top_docs import QueryVector, Top
from softcosine.index.soft_index import SoftIndex
from softcosine.space.measures import paired_soft_cosine_similarity

__all__ = ["FittedSoft"]


@dataclass(frozen=True, slots=True)
class FittedSoft:
    """Ranks as `SoftIndex.search`, without query syntax and without a limit of query terms.

    Attributes
    ----------
    index : SoftIndex
        Index of the documents, followed by background texts.
    documents : Documents
    similarities : Similarities
    of_fields : bool
        Whether each field is compared with the query's field of the same name.
    expand : bool
    max_terms : int or None
    closed : bool
        For pairs; see `softcosine.evaluate.systems.analysis.Corpus`.
    keep_stop_words : bool
    model : SentenceModel or None
        Encoder of the documents.
    encoding : QueryEncoding or None
        How the meaning of queries is found.
    first_stage : FirstStage or None
    """

    index: SoftIndex
    documents: Documents
    similarities: Similarities
    of_fields: bool
    expand: bool
    max_terms: int | None
    closed: bool
    keep_stop_words: bool = False
    model: SentenceModel | None = None
    encoding: QueryEncoding | None = None
    first_stage: FirstStage | None = None

    @property
    def note(self) -> str:
        """Note on the source of the similarities, and on the encoder."""
        told = self.similarities.note
        return told if self.model is None else f"{told} {self.model.note}".strip()

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        """Return the `k` best documents for each query."""
        searcher, n_docs = self.index.searcher(), len(self.documents)
        allowed = [
            np.arange(part.first, part.first + part.segment.n_docs) < n_docs
            for part in searcher.searchers[0].parts
        ]
        options: dict[str, Any] = {"k": k, "allowed": allowed}
        ready = [vectors for _, vectors in self._ready(searcher, queries)]
        meant = self._meant(queries)
        if self.first_stage is not None and self.expand:
            both = None if self.encoding is None else self.encoding.searcher
            pairs = list(zip(ready, meant, strict=True))
            tops = search_in_two_stages(searcher, both, pairs, self.first_stage, **options)
        else:
            tops = self._exact(searcher, ready, meant, expand_postings=self.expand, **options)
        lists = ((top.documents, top.scores) for top in tops)
        return ranked_lists(lists, n_queries=len(queries), k=k)

    def _exact(
        self,
        searcher: FieldsSearcher,
        ready: Sequence[tuple[QueryVector, ...]],
        meant: Sequence[QueryMeaning | None],
        **options: Any,
    ) -> list[Top]:
        words = [own for own, meaning in zip(ready, meant, strict=True) if meaning is None]
        both = [(own, found) for own, found in zip(ready, meant, strict=True) if found is not None]
        tops = {False: iter(searcher.search_batch(words, **options))}
        if self.encoding is not None:
            tops[True] = iter(self.encoding.searcher.search_batch(both, **options))
        return [next(tops[meaning is not None]) for meaning in meant]

    def scored(
        self, queries: Documents, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Return the scores of given documents, bit-identical to those of `ranked`.

        Documents of other words get one too where `ranked` leaves them out for a low cosine.
        """
        searcher = self.index.searcher()
        ready = zip(self._ready(searcher, queries), self._meant(queries), candidates, strict=True)
        return [
            self._scores(searcher, vectors, meaning, np.asarray(numbers, np.int64))
            for (_, vectors), meaning, numbers in ready
        ]

    def paired(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Return the soft cosine of each text and its partner; S is extended by new words.

        With an encoder, the mean of it and the cosine of the meaning.
        """
        check_partners(left, right)
        if not len(left):
            return np.empty(0)
        partners = Partners.of(
            left, right, self.index.analyzer, self.similarities, closed=self.closed
        )
        average = self.index.snapshot.statistics[0].average_length
        X, Y = partners.weighted(self.index.weighting, average)
        words = paired_soft_cosine_similarity(X, Y, partners.S)
        if self.encoding is None or self.encoding.encoder is None:
            return words
        weight = self.index.snapshot.settings.meaning_weights["soft_cosine"]
        encoder, space = self.encoding.encoder, self.encoding.space
        units = unit_rows(encoder.documents(space, [*left, *right], silent).astype(np.float64))
        return (words + weight * products(units[: len(left)], units[len(left) :])) / (1 + weight)

    def explained(self, query: Documents, number: int) -> Explanation:
        """Return the pairs of similar words and their contributions to the score."""
        searcher = self.index.searcher()
        ((parsed, vectors),) = self._ready(searcher, query)
        text = self.index.documents.text(number)
        shown = words_shown(self.index.analyzer, text)
        score, parts = explain(searcher, self.index.fields, vectors, parsed, number, shown)
        (meaning,) = self._meant(query)
        if self.encoding is not None and meaning is not None:
            score = float(self._scores(searcher, vectors, meaning, np.array([number]))[0])
            shares = self.encoding.parts(meaning, [(query.texts[0], 1.0)], number)
            parts = by_size([*parts, *shares])
        return Explanation(
            query.texts[0], self.documents.ids[number], score, parts, searcher.ranking.name
        )

    def _meant(self, queries: Documents) -> list[QueryMeaning | None]:
        """Return the meaning of each query; None where only its words count."""
        if self.encoding is None:
            return [None] * len(queries)
        if self.model is not None and self.encoding.ask == "encoder":
            self.model.vectors(queries.texts)  # all at once, with one write to the cache
        return [self.encoding.meaning([(text, 1.0)]) for text in queries.texts]

    def _scores(
        self,
        searcher: FieldsSearcher,
        vectors: tuple[QueryVector, ...],
        meaning: QueryMeaning | None,
        numbers: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        if self.encoding is None or meaning is None:
            return searcher.scores(vectors, numbers)
        return self.encoding.searcher.scores(vectors, meaning, numbers)

    def _ready(
        self, searcher: FieldsSearcher, queries: Documents
    ) -> list[tuple[tuple[ParsedQuery, ...], tuple[QueryVector, ...]]]:
        """Parse and weight each query for every field of the index."""
        whole, fields = queries.texts, self.index.fields
        columns = [
            queries.fields.get(one.name, whole) if self.of_fields else whole for one in fields
        ]
        stop_words = () if self.keep_stop_words else self.index.snapshot.stop_words
        known: dict[str, ParsedQuery] = {
            text: parse_query(
                text, self.index.analyzer, self.index.S, self.index.source, stop_words=stop_words
            )
            for text in dict.fromkeys(chain.from_iterable(columns))
        }
        ready = []
        for texts in zip(*columns, strict=True):
            fitting = zip(texts, searcher.searchers, strict=True)
            pairs = [self._weighed(known[text], one.ranking) for text, one in fitting]
            ready.append((tuple(own for own, _ in pairs), tuple(vector for _, vector in pairs)))
        return ready

    def _weighed(
        self, parsed: ParsedQuery, ranking: PreparedRanking
    ) -> tuple[ParsedQuery, QueryVector]:
        S, source = self.index.S, self.index.source
        vector = query_vector(parsed, ranking, S, source)
        if self.max_terms is None or len(parsed.terms) <= self.max_terms:
            return parsed, vector
        shorter = heaviest(parsed, vector.weights, self.max_terms)
        return shorter, query_vector(shorter, ranking, S, source)
