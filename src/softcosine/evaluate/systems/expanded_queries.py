"""Expanded queries: terms with their neighbours, and the word that added each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array, vstack

from softcosine.evaluate.systems.analysis import words_shown
from softcosine.index.search.explanation import Part
from softcosine.index.soft_index import SoftIndex
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
