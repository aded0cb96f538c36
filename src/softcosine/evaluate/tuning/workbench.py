"""Rankings of documents by many settings, with shared analysis and postings."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.system import Ranked
from softcosine.evaluate.tuning.settings import Settings
from softcosine.evaluate.tuning.similarities import (
    Similarities,
    Similarity,
    Sources,
    analyzer_with_phrases,
)
from softcosine.index.query.query_vectors import ParsedQuery, heaviest, parse_query, query_vector
from softcosine.index.search.fields import Field, FieldsSearcher
from softcosine.index.search.top_docs import QueryVector
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze

if TYPE_CHECKING:
    from softcosine._progress import Report

__all__ = ["Workbench"]

_MAX_TERMS = 512  # query terms used, as in a search
_KEPT_QUERIES = 20  # cached lists of parsed queries


class Workbench:
    """Ranks documents by settings, with caches shared by the settings.

    Texts are analysed and postings are built once per stemmer, list of stop words and set of
    phrases, as one text and as fields; S, weights and rankings change without a new analysis.

    Parameters
    ----------
    documents : Documents
    background : sequence of str
        More texts for statistics and learning; they are never ranked.
    queries : sequence of str
        Expected queries; other queries are possible, but slower.
    sources : mapping of str to TermSimilaritySource or None
        See `Similarities`.
    longest : int
        Usual maximum number of neighbours per term; more need a new search in the source.
    report : callable, optional
        Called with the step, the number done, and the total or None.
    threads : int, optional
        The results do not depend on it.
    """

    def __init__(
        self,
        documents: Documents,
        *,
        background: Sequence[str] = (),
        queries: Sequence[str] = (),
        sources: Sources,
        longest: int = 200,
        report: Report | None = None,
        threads: int | None = None,
    ) -> None:
        self._documents = documents
        self._background = tuple(background)
        self._queries = tuple(queries)
        self._sources = sources
        self.longest = longest
        self._report = report
        self._threads = threads
        self._benches: dict[tuple[Analyzer, bool], _Bench] = {}
        self._ready: dict[str, TermSimilaritySource] = {}
        self._analyzers: dict[tuple[Analyzer, tuple[str, ...]], Analyzer] = {}

    @property
    def texts(self) -> list[str]:
        """Texts of the documents, followed by the background."""
        return [*self._documents.texts, *self._background]

    def index(self, settings: Settings) -> SoftIndex:
        """Return an index of the documents and the background by settings."""
        return self._bench(settings).index(settings)

    def ranked(self, queries: Documents, settings: Settings, *, k: int) -> Ranked:
        """Return the `k` best documents for each query."""
        bench = self._bench(settings)
        searcher = bench.index(settings).searcher()
        n_docs = len(self._documents)
        allowed = None
        if self._background:
            allowed = [
                np.arange(part.first, part.first + part.segment.n_docs) < n_docs
                for part in searcher.searchers[0].parts
            ]
        tops = searcher.search_batch(
            bench.vectors(queries, settings, searcher), k=min(k, n_docs), allowed=allowed,
            threads=self._threads,
        )  # fmt: skip
        numbers = np.full((len(queries), k), -1, np.int64)
        scores = np.zeros((len(queries), k))
        for row, top in enumerate(tops):
            numbers[row, : len(top.documents)] = top.documents
            scores[row, : len(top.documents)] = top.scores
        return Ranked(numbers, scores)

    def scored(
        self, queries: Documents, candidates: Sequence[NDArray[np.int64]], settings: Settings
    ) -> list[NDArray[np.float64]]:
        """Return the scores of each query's candidates, in the order of these."""
        bench = self._bench(settings)
        searcher = bench.index(settings).searcher()
        vectors = bench.vectors(queries, settings, searcher)
        return [
            searcher.scores(own, numbers) if len(numbers) else np.empty(0)
            for own, numbers in zip(vectors, candidates, strict=True)
        ]

    def _analyzer(self, settings: Settings) -> Analyzer:
        key = settings.analyzer, settings.sources
        if key not in self._analyzers:
            self._analyzers[key] = analyzer_with_phrases(settings, self._sources)
        return self._analyzers[key]

    def _bench(self, settings: Settings) -> _Bench:
        key = self._analyzer(settings), settings.fields is not None
        if key not in self._benches:
            documents = self._documents
            columns = [documents.fields[name] for name in documents.names] if key[1] else []
            columns = columns or [documents.texts]
            # Background texts have no fields, so they count in the statistics of every field.
            texts = [list(one) for one in zip(*columns, strict=True)]
            texts += [[text] * len(columns) for text in self._background]
            self._benches[key] = _Bench(
                texts, documents.names if key[1] else (), key[0], self._queries, self._sources,
                self._ready, self.longest, self._report,
            )  # fmt: skip
        return self._benches[key]


@dataclass
class _Bench:
    """Caches of one analysis of the texts.

    Attributes
    ----------
    texts : list of list of str
        Texts of the fields of every document, then of the background; one text without fields.
    names : tuple of str
        Names of the fields; empty if all are one text.
    """

    texts: list[list[str]]
    names: tuple[str, ...]
    analyzer: Analyzer
    queries: Sequence[str]
    sources: Sources
    ready: dict[str, TermSimilaritySource]
    longest: int
    report: Report | None

    def __post_init__(self) -> None:
        self._parsed: OrderedDict[tuple[str, ...], tuple[ParsedQuery, ...]] = OrderedDict()
        self._last: tuple[Settings, SoftIndex] | None = None

    @cached_property
    def analyzed(self) -> AnalyzedTexts:
        """The analysed texts."""
        if self.report is not None:
            self.report("reading texts", 0, None)
        flat = [text for fields in self.texts for text in fields]
        return analyze(flat, self.analyzer, n_fields=max(1, len(self.names)))

    @cached_property
    def similarities(self) -> Similarities:
        """Builder of S."""
        words = {
            word: None
            for text in self.queries
            for word in parse_query(text, self.analyzer, self._identity, None).unknown
        }
        # If a source does not have a word, its stem is looked up.
        outside = [*words, *self.analyzer.stem(list(words))]
        return Similarities(
            self.analyzed, self.sources, longest=self.longest, report=self.report,
            outside=outside, ready=self.ready,
        )  # fmt: skip

    @cached_property
    def plain(self) -> SoftIndex:
        """Index of the texts with S = I."""
        if self.report is not None:
            self.report("indexing", 0, None)
        if not self.names:
            texts: list[Any] = [text for (text,) in self.texts]
            return SoftIndex.from_texts(texts, S=self._identity, analyzer=self.analyzer)
        texts = [dict(zip(self.names, fields, strict=True)) for fields in self.texts]
        return SoftIndex.from_texts(
            texts, fields=self.names, S=self._identity, analyzer=self.analyzer
        )

    @cached_property
    def _identity(self) -> TermSimilarityMatrix:
        return TermSimilarityMatrix.identity(self.analyzed.vocabulary)

    def index(self, settings: Settings) -> SoftIndex:
        """Return the index with the S, the weights and the ranking of settings."""
        if self._last is None or self._last[0] != settings:
            changes: dict[str, Any] = {}
            if settings.fields is not None:
                weights = dict(settings.fields)
                changes["fields"] = tuple(Field(name, weights[name]) for name in self.names)
            found: Similarity = self.similarities.of(settings)
            snapshot = self.plain.snapshot.changed(
                S=found.S, source=found.source, weighting=settings.weighting,
                ranking=settings.ranking, plain=found.source is None, **changes,
            )  # fmt: skip
            self._last = settings, SoftIndex(snapshot)
        return self._last[1]

    def vectors(
        self, queries: Documents, settings: Settings, searcher: FieldsSearcher
    ) -> list[tuple[QueryVector, ...]]:
        """Return the vectors of the queries per field; long queries are cut as in a search."""
        found = self.similarities.of(settings)

        def weighed(parsed: ParsedQuery) -> tuple[QueryVector, ...]:
            return tuple(
                query_vector(parsed, one.ranking, found.S, found.source)
                for one in searcher.searchers
            )

        ready = []
        for parsed in self._queries(queries, found):
            vectors = weighed(parsed)
            if len(parsed.terms) > _MAX_TERMS:
                weights = np.zeros(len(parsed.terms))
                for weight, vector in zip(searcher.weights, vectors, strict=True):
                    weights += weight * vector.weights
                vectors = weighed(heaviest(parsed, weights, _MAX_TERMS))
            ready.append(vectors)
        return ready

    def _queries(self, queries: Documents, found: Similarity) -> tuple[ParsedQuery, ...]:
        """Parse queries as plain text; words outside the vocabulary depend on S and its source."""
        key = (found.key, *queries.ids)
        if key not in self._parsed:
            while len(self._parsed) >= _KEPT_QUERIES:
                self._parsed.popitem(last=False)
            stop_words = self.plain.snapshot.stop_words
            self._parsed[key] = tuple(
                parse_query(text, self.analyzer, found.S, found.source, stop_words=stop_words)
                for text in queries.texts
            )
        self._parsed.move_to_end(key)
        return self._parsed[key]
