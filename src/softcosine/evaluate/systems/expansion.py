"""Query expansion as in search engines: similar terms in the query, without soft norms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import Corpus
from softcosine.evaluate.systems.bm25 import impacts
from softcosine.evaluate.systems.expanded_queries import Expander, brought_by_terms
from softcosine.evaluate.systems.fitted import FittedVectors, both_ways
from softcosine.evaluate.systems.partners import Partners
from softcosine.evaluate.systems.rows import SparseRows, unit_rows
from softcosine.evaluate.systems.settings import choice, number, optional, setting, whole
from softcosine.evaluate.systems.similarities import SimilaritySettings
from softcosine.index.search.explanation import Explanation
from softcosine.matrix.recipe import BuiltSimilarity
from softcosine.text.weighting import Weighting

_COSINE = Weighting("log", "smooth")
_ASKED = Weighting("raw", "smooth")  # for frequencies that are already weighted


@dataclass(frozen=True, kw_only=True)
class Expansion(SimilaritySettings):
    """BM25 or cosine of the query expanded by similar terms.

    Every term of the query adds its neighbours in S with its frequency times their similarity
    times `weight`; then the expanded query is weighted and compared as usual. Norms and idf do not
    use S, unlike in soft cosine and soft BM25.

    Parameters
    ----------
    by : {"bm25", "cosine"}
    weight : float
        Weight of neighbours relative to the terms of the query.
    k1, b : float
        Parameters of BM25.
    max_neighbors : int or None
        Maximum number of neighbours per term; default 10.
    **settings
        See `SimilaritySettings`.

    Notes
    -----
    Texts and their partners are compared as by `softcosine.evaluate.systems.bm25.BM25`.
    """

    called = "expansion"
    by: str = setting("bm25", choice("bm25", "cosine"), "how the expanded query is compared")
    weight: float = setting(1.0, number(0.0), "weight of similar terms")
    k1: float = setting(1.2, number(0.0), "BM25: saturation of the term frequency")
    b: float = setting(0.75, number(0.0, 1.0), "BM25: strength of the length normalisation")
    max_neighbors: int | None = setting(
        10, optional(whole(0), none="default"), "maximum number of neighbours per term"
    )

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedVectors:
        """Index the documents, and build S."""
        corpus = Corpus.of(documents, background, self)
        found = self.similarities(
            corpus.analyzed, corpus.analyzer, corpus.vocabulary, language=corpus.language
        )
        expander = Expander.of(corpus.analyzer, found, weight=self.weight, counted=self._counted)
        if self.by == "bm25":
            matrix = impacts(corpus, k1=self.k1, b=self.b, method="lucene")
        else:
            counts = corpus.analyzed.counts()[: corpus.n_docs]
            matrix = unit_rows(corpus.weighted(counts, _COSINE))
        rows = SparseRows(matrix)

        def vectors(texts: Sequence[str]) -> csr_array:
            expanded = expander.expanded(texts)
            if self.by == "bm25":
                return expanded
            return unit_rows(corpus.weighted(expanded, _ASKED))

        def explain(query: Documents, number: int) -> Explanation:
            asked, held = vectors(query.texts), rows.row(number)
            expanded = expander.expanded(query.texts).toarray().ravel()
            scales = np.divide(
                asked.toarray().ravel(), expanded, out=np.zeros_like(expanded), where=expanded > 0
            )
            parts = expander.parts(query.texts[0], scales, held, documents.texts[number])
            (score,) = (asked @ csr_array(held.T)).toarray().ravel().tolist()
            ranking = f"expansion by {self.by}"
            return Explanation(query.texts[0], documents.ids[number], score, parts, ranking)

        return FittedVectors(
            rows,
            vectors,
            lambda left, right: self._paired(left, right, corpus, found),
            explain,
            note=found.note,
        )

    @property
    def _counted(self) -> Weighting:
        """Weighting of the frequencies of query terms."""
        return Weighting("raw", "none") if self.by == "bm25" else _COSINE

    def _paired(
        self, left: Sequence[str], right: Sequence[str], corpus: Corpus, found: BuiltSimilarity
    ) -> NDArray[np.float64]:
        partners = Partners.of(left, right, corpus.analyzer, found, closed=corpus.closed)
        counts = csr_array(partners.counts, dtype=np.float64)
        counts.data = self._counted.frequencies(counts.data)
        brought = csr_array(counts @ brought_by_terms(partners.S, self.weight))
        average = corpus.average_length
        if self.by == "cosine":
            asked = partners.weighted(_ASKED, average, brought)
            X, Y = map(unit_rows, partners.weighted(_COSINE, average))
            Qx, Qy = map(unit_rows, asked)
        else:
            X, Y = partners.weighted(Weighting("bm25", "bm25", k1=self.k1, b=self.b), average)
            Qx, Qy = csr_array(brought[: len(left)]), csr_array(brought[len(left) :])
        return both_ways((Qx, Qy), (X, Y))
