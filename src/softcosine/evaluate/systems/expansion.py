"""Query expansion as search engines do it: similar terms are added, and no norm is soft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array, vstack

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import Corpus
from softcosine.evaluate.systems.bm25 import impacts
from softcosine.evaluate.systems.fitted import FittedVectors, both_ways
from softcosine.evaluate.systems.partners import Partners
from softcosine.evaluate.systems.rows import SparseRows, unit_rows
from softcosine.evaluate.systems.settings import choice, number, optional, setting, whole
from softcosine.evaluate.systems.similarities import Similarities, SimilaritySettings
from softcosine.index.query import parse_query
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.text.weighting import Weighting

__all__ = ["Expansion"]

_COSINE = Weighting("log", "smooth")


@dataclass(frozen=True, kw_only=True)
class Expansion(SimilaritySettings):
    """BM25, or cosine, of the query with similar terms beside its own.

    Every term of the query brings its neighbours in S, as often as it is asked for times how
    similar they are times `weight`; then the query is weighed and compared as if it had been asked
    so. Neither norms nor idf know of S: what soft cosine and soft BM25 add to this is left out.

    Parameters
    ----------
    by : {"bm25", "cosine"}
    weight : float
        What neighbours count beside the query's own terms.
    k1, b : float
        Of BM25.
    max_neighbors : int or None
        Terms that a term brings, at most; 10 by default.
    **settings
        See `SimilaritySettings`.

    Notes
    -----
    Texts and their partners are compared as by `softcosine.evaluate.systems.bm25.BM25`.
    """

    called = "expansion"
    by: str = setting("bm25", choice("bm25", "cosine"), "how the expanded query is compared")
    weight: float = setting(1.0, number(0.0), "what similar terms count beside the query's own")
    k1: float = setting(1.2, number(0.0), "of BM25: how slowly frequency saturates")
    b: float = setting(0.75, number(0.0, 1.0), "of BM25: how far length counts")
    max_neighbors: int | None = setting(
        10, optional(whole(0), none="default"), "terms that a term brings"
    )

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedVectors:
        """Index the documents, and find which terms are similar."""
        corpus = Corpus.of(documents, background, self)
        found = self.similarities(corpus.analyzed, corpus.analyzer, corpus.vocabulary)
        neighbors = self._neighbors(found.S)
        if self.by == "bm25":
            rows = impacts(corpus, k1=self.k1, b=self.b, method="lucene")
        else:
            counts = corpus.analyzed.counts()[: corpus.n_docs]
            rows = unit_rows(corpus.weighted(counts, _COSINE))

        def vectors(texts: Sequence[str]) -> csr_array:
            expanded = self._expanded(texts, corpus, found, neighbors)
            if self.by == "bm25":
                return expanded
            return unit_rows(corpus.weighted(expanded, Weighting("raw", _COSINE.idf)))

        return FittedVectors(
            SparseRows(rows),
            vectors,
            lambda left, right: self._paired(left, right, corpus, found),
            note=found.note,
        )

    def _neighbors(self, S: TermSimilarityMatrix) -> csr_array:
        """Return what each term brings: itself, and its neighbours by their weight."""
        entries = csr_array(S.to_scipy(), dtype=np.float64)
        own = eye_array(len(S), format="csr")
        return csr_array(own + self.weight * (entries - diags_array(entries.diagonal())))

    def _asked(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        return frequencies if self.by == "bm25" else _COSINE.frequencies(frequencies)

    def _expanded(
        self, texts: Sequence[str], corpus: Corpus, found: Similarities, neighbors: csr_array
    ) -> csr_array:
        """Return how much each term is asked for by each text, shape (n_texts, n_terms)."""
        rows = []
        for text in texts:
            parsed = parse_query(text, corpus.analyzer, found.S, found.source)
            asked = np.zeros(len(found.S))
            asked[parsed.terms] = self._asked(parsed.frequencies)
            expanded = asked @ neighbors
            for word in parsed.outside:
                (frequency,) = self._asked(np.array([word.frequency]))
                np.add.at(expanded, word.terms, self.weight * frequency * word.similarities)
            rows.append(csr_array(expanded[None, :]))
        return _stacked(rows, len(found.S))

    def _paired(
        self, left: Sequence[str], right: Sequence[str], corpus: Corpus, found: Similarities
    ) -> NDArray[np.float64]:
        partners = Partners.of(left, right, corpus.analyzer, found)
        counts = csr_array(partners.counts, dtype=np.float64)
        counts.data = self._asked(counts.data)
        brought = csr_array(counts @ self._neighbors(partners.S))
        average = corpus.average_length
        if self.by == "cosine":
            asked = partners.weighted(Weighting("raw", _COSINE.idf), average, brought)
            X, Y = map(unit_rows, partners.weighted(_COSINE, average))
            Qx, Qy = map(unit_rows, asked)
        else:
            X, Y = partners.weighted(Weighting("bm25", "bm25", k1=self.k1, b=self.b), average)
            Qx, Qy = csr_array(brought[: len(left)]), csr_array(brought[len(left) :])
        return both_ways((Qx, Qy), (X, Y))


def _stacked(rows: Sequence[csr_array], n_terms: int) -> csr_array:
    return vstack(rows, format="csr") if rows else csr_array((0, n_terms), dtype=np.float64)
