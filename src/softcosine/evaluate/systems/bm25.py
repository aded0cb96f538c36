"""BM25 by the package bm25s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from softcosine.errors import MissingDependencyError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import Corpus, TextSettings
from softcosine.evaluate.systems.cosine import explain_terms
from softcosine.evaluate.systems.fitted import FittedVectors, both_ways
from softcosine.evaluate.systems.rows import SparseRows
from softcosine.evaluate.systems.settings import choice, number, setting
from softcosine.text.weighting import Weighting


@dataclass(frozen=True, kw_only=True)
class BM25(TextSettings):
    """BM25; with ``method="lucene"``, soft BM25 where S = I gives the same order (theory T15).

    Parameters
    ----------
    k1 : float
        Saturation of the term frequency.
    b : float
        Strength of the length normalisation.
    method : {"lucene", "robertson", "atire"}
        The variants of bm25s in which terms outside a document add nothing.
    **settings
        See `TextSettings`.

    Notes
    -----
    Pairs of texts are compared in both directions and normalised by their self-similarity:
    (s(l, r) + s(r, l)) / (s(l, l) + s(r, r)), by Lucene's formula.
    """

    called = "bm25"
    k1: float = setting(1.2, number(0.0), "saturation of the term frequency")
    b: float = setting(0.75, number(0.0, 1.0), "strength of the length normalisation")
    method: str = setting(
        "lucene", choice("lucene", "robertson", "atire"), "which formula of bm25s"
    )

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedVectors:
        """Index the documents; idf and average length include the background."""
        corpus = Corpus.of(documents, background, self)
        rows = SparseRows(impacts(corpus, k1=self.k1, b=self.b, method=self.method))

        def vectors(texts: Sequence[str]) -> csr_array:
            return csr_array(corpus.counts(texts), dtype=np.float64)

        return FittedVectors(
            rows,
            vectors,
            partial(self._paired, corpus),
            partial(explain_terms, "BM25", corpus, documents, rows, vectors),
        )

    def _paired(
        self, corpus: Corpus, left: Sequence[str], right: Sequence[str]
    ) -> NDArray[np.float64]:
        saturated = Weighting("bm25", "bm25", k1=self.k1, b=self.b)
        asked = corpus.weighted_pairs(left, right, Weighting("raw", "none"))
        held = corpus.weighted_pairs(left, right, saturated)
        return both_ways(asked, held)


def impacts(corpus: Corpus, *, k1: float, b: float, method: str) -> csr_array:
    """Return the impacts of all terms in all documents, computed by bm25s.

    Returns
    -------
    csr_array of shape (n_docs, n_terms), float64
        Without the background texts, which count in the statistics.

    Raises
    ------
    MissingDependencyError
    """
    try:
        import bm25s
    except ImportError as error:
        raise MissingDependencyError("bm25s", "evaluate", "BM25") from error
    analyzed, n_terms = corpus.analyzed, len(corpus.vocabulary)
    if not n_terms:  # the average length is undefined
        return csr_array((corpus.n_docs, 0), dtype=np.float64)
    tokens, offsets = analyzed.tokens.tolist(), analyzed.offsets.tolist()
    texts = [
        [token for token in tokens[start:end] if token >= 0] for start, end in pairwise(offsets)
    ]
    model = bm25s.BM25(k1=k1, b=b, method=method, dtype="float64")
    numbers = {term: number for number, term in enumerate(corpus.vocabulary.terms)}
    model.index((texts, numbers), create_empty_token=False, show_progress=False)
    found = model.scores
    shape = (corpus.n_texts, n_terms)
    columns = csc_array((found["data"], found["indices"], found["indptr"]), shape=shape)
    rows = csr_array(columns.tocsr()[: corpus.n_docs])
    rows.sort_indices()
    return rows
