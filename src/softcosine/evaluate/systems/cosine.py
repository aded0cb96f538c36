"""Cosine similarity of tf-idf vectors, the default baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from scipy.sparse import csr_array

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import Corpus, TextSettings, words_shown
from softcosine.evaluate.systems.fitted import FittedVectors, products
from softcosine.evaluate.systems.rows import SparseRows, unit_rows
from softcosine.evaluate.systems.settings import choice, setting
from softcosine.index.search.explanation import Explanation
from softcosine.index.spaces.part import Part
from softcosine.text.weighting import Weighting


@dataclass(frozen=True, kw_only=True)
class Cosine(TextSettings):
    """Cosine of the angle between tf-idf vectors.

    Parameters
    ----------
    tf, idf : str
        See `softcosine.Weighting`; ``tf="raw"`` is the default of scikit-learn.
    **settings
        See `TextSettings`.
    """

    called = "cosine"
    tf: str = setting("log", choice("raw", "log", "binary"), "weight of the term frequency")
    idf: str = setting(
        "smooth", choice("none", "smooth", "probabilistic", "bm25"), "inverse document frequency"
    )

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedVectors:
        """Weight the documents by the statistics of documents and background."""
        corpus = Corpus.of(documents, background, self)
        weighting = Weighting(self.tf, self.idf)
        counts = corpus.analyzed.counts()[: corpus.n_docs]
        rows = SparseRows(unit_rows(corpus.weighted(counts, weighting)))

        def vectors(texts: Sequence[str]) -> csr_array:
            return unit_rows(corpus.weighted(corpus.counts(texts), weighting))

        return FittedVectors(
            rows,
            vectors,
            lambda left, right: products(
                *map(unit_rows, corpus.weighted_pairs(left, right, weighting))
            ),
            partial(explain_terms, "cosine", corpus, documents, rows, vectors),
        )


def explain_terms(
    ranking: str,
    corpus: Corpus,
    documents: Documents,
    rows: SparseRows,
    vectors: Callable[[Sequence[str]], csr_array],
    asking: Documents,
    number: int,
) -> Explanation:
    """Return the common terms of a query and a document with their contributions."""
    query, document, query_text = vectors(asking.texts), rows.row(number), asking.texts[0]
    shared = csr_array(query * document)
    asked = words_shown(corpus.analyzer, query_text)
    said = words_shown(corpus.analyzer, documents.texts[number])
    parts = []
    for column, value in zip(shared.indices.tolist(), shared.data.tolist(), strict=True):
        term = corpus.vocabulary.term(column)
        if value:
            parts.append(Part(asked.get(term, term), said.get(term, term), 1.0, value, exact=True))
    parts.sort(key=lambda part: (-abs(part.contribution), part.query_word, part.document_word))
    (score,) = (query @ csr_array(document.T)).toarray().ravel().tolist()
    return Explanation(query_text, documents.ids[number], float(score), tuple(parts), ranking)
