"""Rivals of the retrieval study that are no systems of the package."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import softcosine as sc
from retrieval_sets import Collection, ndcg_of

__all__ = ["Bm25", "RelevanceModel", "summed"]

Values = NDArray[np.float64]


class Bm25:
    """BM25 as matrices: impacts of the documents, and what the queries ask for."""

    def __init__(self, collection: Collection, analyzer: sc.Analyzer, *, k1: float, b: float):
        documents = sc.analyze(collection.dataset.documents.texts, analyzer)
        self.counts = csr_array(documents.counts(), dtype=np.float64)
        numbers = {term: i for i, term in enumerate(documents.vocabulary.terms)}
        queries = np.zeros((len(collection.dataset.judged), self.counts.shape[1]))
        for row, text in enumerate(collection.dataset.judged.texts):
            for term in analyzer.terms(text):
                if term in numbers:
                    queries[row, numbers[term]] += 1.0
        self.queries = queries
        weighting = sc.Weighting(tf="bm25", idf="bm25", k1=k1, b=b)
        self.impacts = weighting.transform(self.counts)

    def scores(self, queries: Values | None = None) -> Values:
        """Return the scores of queries, by default those of the collection."""
        asked = self.queries if queries is None else queries
        return np.ascontiguousarray((self.impacts @ asked.T).T)


class RelevanceModel:
    """Pseudo relevance feedback (RM3: Abdul-Jaleel et al. 2004) over BM25 (0.9, 0.4).

    The best `n_documents`, weighed by their scores, give the `n_terms` most frequent terms of
    theirs half of the query's weight.
    """

    n_documents, n_terms, own_share = 10, 10, 0.5

    def figures(self, collection: Collection, analyzer: sc.Analyzer) -> Values:
        """Return nDCG@10 of every judged query."""
        bm25 = Bm25(collection, analyzer, k1=0.9, b=0.4)
        first = bm25.scores()
        lengths = np.maximum(np.asarray(bm25.counts.sum(axis=1)).ravel(), 1.0)
        asked = bm25.queries / np.maximum(bm25.queries.sum(axis=1, keepdims=True), 1.0)
        for query, scores in enumerate(first):
            best = np.argsort(-scores, kind="stable")[: self.n_documents]
            weights = scores[best] / max(float(scores[best].sum()), 1e-12)
            model = np.asarray((weights / lengths[best]) @ bm25.counts[best])
            chosen = np.argsort(-model, kind="stable")[: self.n_terms]
            expansion = np.zeros_like(model)
            expansion[chosen] = model[chosen] / max(float(model[chosen].sum()), 1e-12)
            asked[query] = self.own_share * asked[query] + (1.0 - self.own_share) * expansion
        return ndcg_of(collection.dataset, bm25.scores(asked))


def summed(
    collection: Collection, analyzer: sc.Analyzer, shares: Sequence[float]
) -> dict[float, Values]:
    """Return nDCG@10 of BM25 plus the encoder's cosine, by what the cosine counts.

    BM25 (1.2, 0.75) is divided by the most that a query can get. A share of infinity is the cosine
    alone; then what is below 0 is found too.
    """
    assert collection.documents is not None
    assert collection.queries is not None
    bm25 = Bm25(collection, analyzer, k1=1.2, b=0.75)
    idf = sc.Weighting(idf="bm25").term_weights(
        np.bincount(bm25.counts.indices, minlength=bm25.counts.shape[1]), bm25.counts.shape[0]
    )
    most = np.maximum(bm25.queries @ idf * 2.2, 1e-12)[:, None]
    words = bm25.scores() / most
    cosines = collection.queries @ collection.documents.T
    return {
        share: ndcg_of(
            collection.dataset, 1.0 + cosines if share == np.inf else words + share * cosines
        )
        for share in shares
    }
