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
from softcosine.index.rankings import PreparedRanking, prepare
from softcosine.index.searcher import QueryVector, Searcher
from softcosine.index.segment import Segment
from softcosine.text.corpus import AnalyzedTexts

__all__ = [
    *("CACHE", "MAX_NEIGHBORS", "MIN_DF", "Workload", "load_workload", "newsgroups", "vectors"),
    "workload_of",
]

CACHE = Path(tempfile.gettempdir()) / "softcosine-benchmarks"
MIN_DF = 3
# Symmetric assembly leaves some columns short of the limit: so many give about 96 non-zeros each.
MAX_NEIGHBORS = 108


@dataclass(frozen=True, slots=True)
class Workload:
    """Documents ranked by soft cosine, ours and as plain matrices for the peers.

    Attributes
    ----------
    counts : csr_array of shape (n_docs, n_terms)
    S : TermSimilarityMatrix of order n_terms
    segment : Segment
    ranking : PreparedRanking
    searcher : Searcher
    """

    counts: csr_array
    S: TermSimilarityMatrix
    segment: Segment
    ranking: PreparedRanking
    searcher: Searcher

    def documents(self) -> csr_array:
        """Return W y / |y|_S (theory T9), float64, shape (n_docs, n_terms)."""
        values = self.ranking.table[self.segment.levels] * self.ranking.term_weights[
            self.counts.indices
        ]  # fmt: skip
        X = csr_array((values, self.counts.indices, self.counts.indptr), shape=self.counts.shape)
        return scaled_rows(X, self.ranking.factors)

    def queries(self, n_terms: int, n_queries: int, *, seed: int = 0) -> csr_array:
        """Sample queries W x / |x|_S: distinct terms of a random document each, counted once.

        Parameters
        ----------
        n_terms : int
            Documents with fewer terms are not drawn.
        n_queries : int

        Returns
        -------
        csr_array of shape (n_queries, all terms), float64
        """
        generator = np.random.default_rng((seed, n_terms))
        lengths = np.diff(self.counts.indptr)
        documents = generator.choice(np.flatnonzero(lengths >= n_terms), n_queries)
        terms = np.array([
            np.sort(generator.choice(self.segment.row(d)[0], n_terms, replace=False))
            for d in documents
        ]).astype(np.int32)  # fmt: skip
        pointers = np.arange(n_queries + 1) * n_terms
        shape = (n_queries, self.counts.shape[1])
        weights = self.ranking.term_weights[terms.ravel()]
        Q = csr_array((weights, terms.ravel(), pointers.astype(np.int32)), shape=shape)
        norms = np.sqrt((Q @ self.S.to_scipy().astype(np.float64)).multiply(Q).sum(axis=1))
        return scaled_rows(Q, 1.0 / norms)

    def touched(self, expanded: csr_array) -> float:
        """Return the mean share of all postings that the queries' terms own."""
        frequencies = self.segment.document_frequencies()
        return float((expanded.astype(bool) @ frequencies).mean() / self.counts.nnz)


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


def workload_of(counts: csr_array, S: TermSimilarityMatrix) -> Workload:
    """Invert counts (n_docs, n_terms) and prepare their ranking."""
    segment = Segment.from_counts(counts)
    ranking = prepare("soft_cosine", segment, S, Weighting(), segment.document_frequencies())
    return Workload(counts, S, segment, ranking, Searcher(segment, S, ranking))


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
