"""The word scores of a distilled index: soft BM25 divided by its maximum for the query."""

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
    """Return an index for soft BM25 with the unmodified similarities of a source.

    S has the 100 most similar terms of each term, without antonyms and terms with digits. Soft BM25
    has no norm, so S is neither shrunk nor balanced.
    """
    source = guarded(source)
    S = TermSimilarityMatrix.from_source(
        source, index.vocabulary, max_neighbors=100, order="frequent_first", warn=False
    )
    return index.with_similarity(S, source=source)


def attained(
    index: SoftIndex, searcher: FieldsSearcher, parsed: ParsedQuery
) -> NDArray[np.float64]:
    """Return soft BM25 of every document, divided by the maximum for the words of the query.

    Parameters
    ----------
    index : SoftIndex
        With one field.
    searcher : FieldsSearcher
        Of this index, for soft BM25.
    parsed : ParsedQuery

    Returns
    -------
    ndarray of shape (n_docs,), float64
        At most 1 if S = I; zeros if all words of the query are unknown.
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
