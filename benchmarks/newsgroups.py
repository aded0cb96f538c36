"""The workload "20NG": 20 Newsgroups, a dense S learned from the same text, and sampled queries."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from measure import data_folder, read_jsonl
from softcosine import CooccurrenceSimilarity, TermSimilarityMatrix, Weighting, analyze
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.rankings import PreparedRanking, RankedSegment, prepare
from softcosine.index.segment.segment import Segment, cut
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.spaces.frequencies import words_space
from softcosine.index.spaces.space import Limits, Top
from softcosine.index.spaces.sum import Sum
from softcosine.index.spaces.words import Words
from softcosine.text.corpus import AnalyzedTexts

__all__ = [
    *("CACHE", "MAX_NEIGHBORS", "MIN_DF", "Workload", "load_workload", "newsgroups", "ranked"),
    *("sampled", "scaled_rows", "vectors", "workload_of"),
]

CACHE = Path(tempfile.gettempdir()) / "softcosine-benchmarks"
MIN_DF = 3
# Symmetric assembly leaves some columns short of the limit: so many give about 96 non-zeros each.
MAX_NEIGHBORS = 108


class Searcher:
    """The words of one field, searched by query vectors."""

    def __init__(self, parts: Sequence[RankedSegment], S: TermSimilarityMatrix) -> None:
        space: Words = words_space(parts, S)
        self.words = Sum(parts, ((1.0, space),))

    def search_batch(
        self, vectors: Sequence[QueryVector], *, k: int, threads: int | None = None
    ) -> list[Top]:
        """Return the k best documents of each query."""
        queries = [ReadyQuery((vector,)) for vector in vectors]
        return self.words.best(queries, Limits(k=k, threads=threads))

    def search(self, vector: QueryVector, *, k: int) -> Top:
        """Return the k best documents on one thread."""
        return self.search_batch([vector], k=k, threads=1)[0]


@dataclass(frozen=True, slots=True)
class Workload:
    """Documents ranked by soft cosine, ours and as plain matrices for the peers.

    Attributes
    ----------
    counts : csr_array of shape (n_docs, n_terms)
    S : TermSimilarityMatrix of order n_terms
    statistics : FieldStatistics
    parts : tuple of RankedSegment
    searcher : Searcher
    """

    counts: csr_array
    S: TermSimilarityMatrix
    statistics: FieldStatistics
    parts: tuple[RankedSegment, ...]
    searcher: Searcher

    @property
    def segment(self) -> Segment:
        """All documents, of a workload that one segment holds."""
        (part,) = self.parts
        return part.segment

    @property
    def ranking(self) -> PreparedRanking:
        """The ranking; its numbers of documents are those of the first segment."""
        return self.parts[0].ranking

    def weighted(self) -> csr_array:
        """Return W y, float64, shape (n_docs, n_terms)."""
        tables = [part.ranking.table[part.segment.levels] for part in self.parts]
        values = np.concatenate(tables) * self.ranking.term_weights[self.counts.indices]
        shape = self.counts.shape
        return csr_array((values, self.counts.indices, self.counts.indptr), shape=shape)

    def documents(self) -> csr_array:
        """Return W y / |y|_S (theory T9), float64, shape (n_docs, n_terms)."""
        factors = [part.ranking.factors for part in self.parts]
        return scaled_rows(self.weighted(), np.concatenate(factors))

    def queries(self, n_terms: int, n_queries: int, *, seed: int = 0) -> csr_array:
        """Sample queries W x / |x|_S; see `sampled`."""
        return sampled(
            self.counts, self.S, self.ranking.term_weights, n_terms, n_queries, seed=seed
        )

    def touched(self, expanded: csr_array) -> float:
        """Return the mean share of all postings that the queries' terms own."""
        frequencies = self.statistics.document_frequencies
        return float((expanded.astype(bool) @ frequencies).mean() / frequencies.sum())


def sampled(
    counts: csr_array,
    S: TermSimilarityMatrix,
    term_weights: NDArray[np.float64],
    n_terms: int,
    n_queries: int,
    *,
    seed: int = 0,
) -> csr_array:
    """Sample queries W x / |x|_S: distinct terms of a random document each, counted once.

    Parameters
    ----------
    counts : csr_array of shape (n_docs, all terms)
    S : TermSimilarityMatrix
    term_weights : ndarray of shape (all terms,)
    n_terms : int
        Documents with fewer terms are not drawn.
    n_queries : int

    Returns
    -------
    csr_array of shape (n_queries, all terms), float64
    """
    generator = np.random.default_rng((seed, n_terms))
    lengths = np.diff(counts.indptr)
    documents = generator.choice(np.flatnonzero(lengths >= n_terms), n_queries)
    rows = [counts.indices[slice(*counts.indptr[d : d + 2])] for d in documents]
    terms = np.array([
        np.sort(generator.choice(row, n_terms, replace=False)) for row in rows
    ]).astype(np.int32)  # fmt: skip
    pointers = np.arange(n_queries + 1) * n_terms
    shape = (n_queries, counts.shape[1])
    weights = term_weights[terms.ravel()]
    Q = csr_array((weights, terms.ravel(), pointers.astype(np.int32)), shape=shape)
    norms = np.sqrt((Q @ S.to_scipy().astype(np.float64)).multiply(Q).sum(axis=1))
    return scaled_rows(Q, 1.0 / norms)


def scaled_rows(X: csr_array, factors: NDArray[np.float64]) -> csr_array:
    """Multiply every row by its factor; columns stay sorted."""
    values = X.data * np.repeat(factors, np.diff(X.indptr))
    return csr_array((values, X.indices, X.indptr), shape=X.shape)


def vectors(Q: csr_array) -> list[QueryVector]:
    """Return the rows of Q as our searches take them."""
    parts = [slice(*Q.indptr[i : i + 2]) for i in range(Q.shape[0])]
    return [QueryVector(Q.indices[part].astype(np.int32), Q.data[part]) for part in parts]


def newsgroups() -> list[str]:
    """Return the texts of all 18,846 messages."""
    path = data_folder() / "classification" / "20news_bydate.jsonl.gz"
    return [record["text"] for record in read_jsonl(path)]


def load_workload(
    texts: Sequence[str],
    *,
    cache: Path | None = None,
    min_df: int = MIN_DF,
    max_neighbors: int = MAX_NEIGHBORS,
    dimensions: int = 128,
) -> Workload:
    """Index texts with an S learned from them; S, which takes minutes, is kept in `cache`."""
    analyzed = analyze(texts, min_df=min_df)
    S = _learned(analyzed, cache, max_neighbors, dimensions)
    return workload_of(analyzed.counts(), S)


def workload_of(
    counts: csr_array, S: TermSimilarityMatrix, *, name: str = "soft_cosine"
) -> Workload:
    """Invert counts (n_docs, n_terms) and prepare a ranking of them."""
    segments = [Segment.from_counts(X) for X in cut(counts)]
    statistics, parts = ranked(segments, S, name=name)
    return Workload(counts, S, statistics, parts, Searcher(parts, S))


def ranked(
    segments: Sequence[Segment], S: TermSimilarityMatrix, *, name: str = "soft_cosine"
) -> tuple[FieldStatistics, tuple[RankedSegment, ...]]:
    """Prepare a ranking of segments, which hold the documents in their order."""
    statistics = FieldStatistics.of(segments, len(S))
    parts: list[RankedSegment] = []
    first = 0
    for segment in segments:
        like = parts[0].ranking if parts else None
        ranking = prepare(name, segment, S, Weighting(), statistics, like=like, first=first)
        parts.append(RankedSegment(segment, ranking, first))
        first += segment.n_docs
    return statistics, tuple(parts)


def _learned(
    analyzed: AnalyzedTexts, cache: Path | None, max_neighbors: int, dimensions: int
) -> TermSimilarityMatrix:
    """Every term's nearest neighbours by PPMI and truncated SVD, no cosine too small."""
    name = f"S-{len(analyzed.vocabulary)}-{max_neighbors}-{dimensions}"
    if cache is not None:
        try:
            S = TermSimilarityMatrix.load(cache / name)
            if S.vocabulary == analyzed.vocabulary:
                return S
        except OSError:  # none yet, or of another version
            pass
    source = CooccurrenceSimilarity.fit(
        analyzed, min_count=1, max_terms=len(analyzed.vocabulary), dimensions=dimensions,
        evidence=0.0, threshold=0.0,
    )  # fmt: skip
    S = TermSimilarityMatrix.from_source(
        source, analyzed.vocabulary, max_neighbors=max_neighbors, guard=False, warn=False
    )
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        S.save(cache / name, overwrite=True)
    return S
