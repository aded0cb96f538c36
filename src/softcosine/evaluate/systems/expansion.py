"""Query expansion as in search engines: similar terms in the query, without soft norms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array, vstack

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import Corpus, words_shown
from softcosine.evaluate.systems.bm25 import impacts
from softcosine.evaluate.systems.fitted import FittedVectors, both_ways
from softcosine.evaluate.systems.partners import Partners
from softcosine.evaluate.systems.rows import SparseRows, unit_rows
from softcosine.evaluate.systems.settings import choice, number, optional, setting, whole
from softcosine.evaluate.systems.similarities import SimilaritySettings
from softcosine.index.search.explanation import Explanation
from softcosine.index.soft_index import SoftIndex
from softcosine.index.spaces.part import Part
from softcosine.matrix.recipe import BuiltSimilarity
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.text.analyzer import Analyzer
from softcosine.text.weighting import Weighting


@dataclass(frozen=True, slots=True)
class Brought:
    """Expansion of one word of a query.

    Attributes
    ----------
    word : str
    term : int
        Number of its term; -1 if no document has it.
    terms : ndarray of shape (n,), int32
        Its term and neighbours.
    frequency : float
        Weighted frequency in the query.
    similarities : ndarray of shape (n,), float64
        Similarity to each term times the weight of neighbours; 1 for its own term.
    """

    word: str
    term: int
    terms: NDArray[np.int32]
    frequency: float
    similarities: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Expander:
    """Expands queries over the vocabulary of S.

    Attributes
    ----------
    index : SoftIndex
        Without documents, for its vocabulary and its parser.
    weight : float
        Weight of neighbours relative to the terms of the query.
    counted : Weighting
        Its tf weights the frequencies of the query.
    neighbors : csr_array of shape (n_terms, n_terms), float64
        See `brought_by_terms`.
    """

    index: SoftIndex
    weight: float
    counted: Weighting
    neighbors: csr_array

    @classmethod
    def of(
        cls, analyzer: Analyzer, similarities: BuiltSimilarity, *, weight: float, counted: Weighting
    ) -> Expander:
        """Return an expander with the neighbours of each term."""
        S = similarities.S
        index = SoftIndex.create(S=S, analyzer=analyzer)
        index = index.with_similarity(S, source=similarities.source)
        return cls(index, weight, counted, brought_by_terms(S, weight))

    def brought(self, text: str) -> Iterator[Brought]:
        """Yield the expansion of each word of a query; unknown words have none."""
        parsed = self.index.parse(text, keep_stop_words=True)
        indptr, indices, data = (getattr(self.neighbors, name) for name in _ARRAYS)
        frequencies = self.counted.frequencies(parsed.frequencies).tolist()
        for word, term, frequency in zip(
            parsed.words, parsed.terms.tolist(), frequencies, strict=True
        ):
            own = slice(indptr[term], indptr[term + 1])
            yield Brought(word, term, indices[own], frequency, data[own])
        for other in parsed.outside:
            (frequency,) = self.counted.frequencies([other.frequency]).tolist()
            yield Brought(other.word, -1, other.terms, frequency, self.weight * other.similarities)

    def expanded(self, texts: Sequence[str]) -> csr_array:
        """Return the weight of each term in each expanded text, shape (n_texts, n_terms)."""
        n_terms = len(self.index.vocabulary)
        rows = []
        for text in texts:
            asked = np.zeros(n_terms)
            for one in self.brought(text):
                asked[one.terms] += one.frequency * one.similarities
            rows.append(csr_array(asked[None, :]))
        return vstack(rows, format="csr") if rows else csr_array((0, n_terms), dtype=np.float64)

    def parts(
        self, text: str, scales: NDArray[np.float64], document: csr_array, document_text: str
    ) -> tuple[Part, ...]:
        """Return the contributions of pairs of words of a query and a document to their product.

        Parameters
        ----------
        text : str
        scales : ndarray of shape (n_terms,), float64
            Factors of the frequencies of the expanded query.
        document : csr_array of shape (1, n_terms)
        document_text : str
        """
        held = document.toarray().ravel()
        shown = words_shown(self.index.analyzer, document_text)
        vocabulary = self.index.vocabulary
        parts = []
        for one in self.brought(text):
            added = one.frequency * one.similarities * scales[one.terms] * held[one.terms]
            for place in np.flatnonzero(added).tolist():
                number = int(one.terms[place])
                term = vocabulary.term(number)
                parts.append(
                    Part(
                        one.word, shown.get(term, term), float(one.similarities[place]),
                        float(added[place]), exact=number == one.term,
                    )
                )  # fmt: skip
        parts.sort(key=lambda part: (-abs(part.contribution), part.query_word, part.document_word))
        return tuple(parts)


_ARRAYS = ("indptr", "indices", "data")


def brought_by_terms(S: TermSimilarityMatrix, weight: float) -> csr_array:
    """Return the expansion of each term as a row: itself, and its neighbours times `weight`."""
    entries = csr_array(S.to_scipy(), dtype=np.float64)
    own = eye_array(len(S), format="csr")
    return csr_array(own + weight * (entries - diags_array(entries.diagonal())))


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
            told=lambda: found.note,
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
