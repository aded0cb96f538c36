"""The part of a distilled index that knows words: soft BM25, of the most that a query can bring."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softcosine.index.query.query_vectors import ParsedQuery, query_vector
from softcosine.index.search.fields import FieldsSearcher
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.overrides.guard import guarded
from softcosine.similarity.source import TermSimilaritySource

__all__ = ["attained", "made_soft"]


def made_soft(index: SoftIndex, source: TermSimilaritySource) -> SoftIndex:
    """Return an index of soft BM25 whose similarities are as a source gives them.

    Antonyms and terms with digits are kept apart. Soft BM25 has no norm, so S is neither shrunk
    nor balanced: the 100 most similar terms of each.
    """
    source = guarded(source)
    S = TermSimilarityMatrix.from_source(
        source, index.vocabulary, max_neighbors=100, order="frequent_first", warn=False
    )
    return index.with_similarity(S, source=source)


def attained(
    index: SoftIndex, searcher: FieldsSearcher, parsed: ParsedQuery
) -> NDArray[np.float64]:
    """Return soft BM25 of every document, of the most that the query's own words can bring.

    Parameters
    ----------
    index : SoftIndex
        Of one field.
    searcher : FieldsSearcher
        Its own, by soft BM25.
    parsed : ParsedQuery

    Returns
    -------
    ndarray of shape (n_docs,), float64
        Up to 1 where S = I; zeros where nobody knows a word of the query.
    """
    ranking = searcher.ranking
    inside = float(parsed.frequencies @ ranking.term_weights[parsed.terms] ** 2)
    outside = sum(word.frequency for word in parsed.outside) * ranking.absent_weight**2
    n_docs = sum(part.segment.n_docs for part in searcher.searchers[0].parts)
    most = (ranking.k1 + 1.0) * (inside + outside)
    if most <= 0.0:
        return np.zeros(n_docs)
    vector = query_vector(parsed, ranking, index.S, index.source)
    return searcher.scores((vector,), np.arange(n_docs)) / most
