"""Soft cosine by gensim's own index, for tiny data.

It avoids known bugs of gensim 4.4: a single query divides each document by the norm of only those
terms that the query reaches, so queries are sent in batches of at least two; a query with a term
outside the matrix crashes the interpreter, so only terms of the documents are passed on. gensim
computes all similarities densely, about a second per query on 20,000 documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.errors import InvalidInputError, MissingDependencyError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import Corpus
from softcosine.evaluate.systems.fitted import check_partners
from softcosine.evaluate.systems.rows import best, ranked_lists
from softcosine.evaluate.systems.settings import flag, number, setting, whole
from softcosine.evaluate.systems.system import Ranked
from softcosine.evaluate.systems.word_vectors import VectorSettings, VectorTexts
from softcosine.index.search.explanation import Explanation
from softcosine.text.weighting import Weighting

Bag = list[tuple[int, float]]

_TOGETHER = 64  # queries per batch; the result is dense


@dataclass(frozen=True, kw_only=True)
class GensimSoftCosine(VectorSettings):
    """Soft cosine of tf-idf vectors by gensim's SoftCosineSimilarity.

    Parameters
    ----------
    threshold, exponent : float
        Minimum and exponent of cosines of word vectors; the defaults are gensim's.
    max_neighbors : int
        Maximum number of similar terms per term.
    dominant : bool
        Whether to make S strictly diagonally dominant, as gensim recommends for indexes.
    max_docs : int
        More documents raise an error.
    **settings
        See `VectorSettings`.

    Notes
    -----
    In pairs of texts, terms that no document or background text has are left out.
    """

    called = "gensim"
    threshold: float = setting(0.0, number(0.0, 1.0), "minimum cosine of vectors")
    exponent: float = setting(2.0, number(0.01), "exponent of the cosines of vectors")
    max_neighbors: int = setting(100, whole(1), "maximum number of similar terms per term")
    dominant: bool = setting(False, flag, "makes S strictly diagonally dominant")
    max_docs: int = setting(2000, whole(1), "maximum number of documents")

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedGensim:
        """Build gensim's matrix and index over the words with vectors."""
        if len(documents) > self.max_docs:
            raise InvalidInputError(
                f"there are {len(documents):,} documents, and gensim's soft cosine takes a second "
                f"for each query on 20,000; give fewer, or raise max_docs of {self.called!r}, "
                f"which is {self.max_docs:,}."
            )
        corpus = Corpus.of(documents, background, self)
        counts = corpus.analyzed.counts()
        matrix = self._matrix(VectorTexts.of(counts, corpus.vocabulary, self.source()), corpus)
        return FittedGensim(corpus, matrix, _bags(corpus, counts[: corpus.n_docs]))

    def _matrix(self, texts: VectorTexts, corpus: Corpus) -> Any:
        """Return gensim's term similarity matrix, over the terms of the corpus."""
        try:
            from gensim.corpora import Dictionary
            from gensim.models import KeyedVectors
            from gensim.similarities import (
                SparseTermSimilarityMatrix,
                WordEmbeddingSimilarityIndex,
            )
        except ImportError as error:
            raise MissingDependencyError("gensim", "gensim", "Its soft cosine") from error
        terms = corpus.vocabulary.terms
        if not terms:
            return None
        dictionary = Dictionary()
        dictionary.token2id = {term: number for number, term in enumerate(terms)}
        dictionary.id2token = dict(enumerate(terms))
        dictionary.dfs = dict(enumerate(corpus.document_frequencies.tolist()))
        dictionary.num_docs = corpus.n_texts
        vectors = KeyedVectors(texts.points.shape[1] or 1)
        if len(texts.places):
            vectors.add_vectors(texts.words(), texts.points.astype(np.float32))
        index = WordEmbeddingSimilarityIndex(
            vectors, threshold=self.threshold, exponent=self.exponent
        )
        with redirect_stderr(StringIO()):  # gensim's progress bar cannot be turned off
            return SparseTermSimilarityMatrix(
                index, dictionary, symmetric=True, dominant=self.dominant,
                nonzero_limit=self.max_neighbors,
            )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FittedGensim:
    """Fitted system on gensim's index.

    Attributes
    ----------
    corpus : Corpus
    matrix : gensim.similarities.SparseTermSimilarityMatrix or None
        None if no text has a term.
    bags : list of lists of (int, float)
        The documents in gensim's format.
    """

    corpus: Corpus
    matrix: Any
    bags: list[Bag]

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        """Return the `k` best documents for each query."""
        numbers = np.arange(len(self.bags))
        lists = (best(numbers, scores, k=k) for scores in self._similarities(queries.texts))
        return ranked_lists(lists, n_queries=len(queries), k=k)

    def scored(
        self, queries: Documents, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Return the scores of given documents; gensim compares all documents."""
        return [
            scores[numbers]
            for scores, numbers in zip(self._similarities(queries.texts), candidates, strict=True)
        ]

    def paired(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Return gensim's soft cosine of each text and its partner."""
        check_partners(left, right)
        asked, partners = self._bags_of(left), self._bags_of(right)
        return np.array(
            [
                float(self.matrix.inner_product(X, Y, normalized=(True, True))) if X and Y else 0.0
                for X, Y in zip(asked, partners, strict=True)
            ],
            np.float64,
        )

    def explained(self, query: Documents, number: int) -> Explanation | None:
        """Return None: gensim has no explanations."""
        return None

    def _similarities(self, texts: Sequence[str]) -> list[NDArray[np.float64]]:
        """Return the similarity of every document to each text."""
        from gensim.similarities import SoftCosineSimilarity

        asked = self._bags_of(texts)
        found = [np.zeros(len(self.bags)) for _ in texts]
        filled = [position for position, bag in enumerate(self.bags) if bag]
        if not filled or not any(asked):
            return found
        # gensim divides by the lengths of documents and queries, so none can be empty.
        index = SoftCosineSimilarity([self.bags[position] for position in filled], self.matrix)
        answered = [position for position, bag in enumerate(asked) if bag]
        for start in range(0, len(answered), _TOGETHER):
            group = answered[start : start + _TOGETHER]
            bags = [asked[position] for position in group]
            # A single query gets wrong scores.
            scores = np.asarray(index[bags if len(bags) > 1 else bags * 2], np.float64)
            for position, own in zip(group, scores, strict=False):
                found[position][filled] = own
        return found

    def _bags_of(self, texts: Sequence[str]) -> list[Bag]:
        return _bags(self.corpus, self.corpus.counts(texts))


def _bags(corpus: Corpus, counts: csr_array) -> list[Bag]:
    """Return weighted texts; gensim's TfidfModel would give weight 0 to terms of all texts."""
    weighted = corpus.weighted(counts, Weighting("log", "smooth"))
    return [
        list(
            zip(
                weighted.indices[start:end].tolist(),
                weighted.data[start:end].tolist(),
                strict=True,
            )
        )
        for start, end in zip(weighted.indptr[:-1], weighted.indptr[1:], strict=True)
    ]
