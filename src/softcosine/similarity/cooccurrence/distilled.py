"""Terms are similar when a neural encoder's vectors of whole documents say so."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from softcosine._progress import Progress
from softcosine._threads import takes_threads
from softcosine.similarity.cooccurrence.distilled_vectors import distilled_vectors, encoded, unit
from softcosine.similarity.cooccurrence.learned_vectors import LearnedVectors, check_scale
from softcosine.similarity.cooccurrence.names import names_of
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.encoded_vectors import Encode
from softcosine.similarity.embeddings.encoder import Encoder
from softcosine.similarity.embeddings.vector_table import VectorTable
from softcosine.similarity.embeddings.word_vectors import WordVectors
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze

__all__ = ["DistilledSimilarity"]


class DistilledSimilarity(LearnedVectors):
    r"""What a neural encoder knows of a corpus, distilled into similarities of its terms.

    Every document is encoded once. Let X hold the documents' tf-idf rows of unit length, and D
    their encodings of unit length less their mean. Ridge regression finds the vectors of terms
    whose sums come nearest to the encodings of the documents that they stand in,

    .. math:: \min_V |D - XV|^2 + \lambda |V|^2, \quad
        s_{ij} = \cos(v_i, v_j)^e \text{ where } \cos(v_i, v_j) \ge t, \text{ else } 0.

    So the soft cosine of two documents imitates what the encoder thinks of them, words have the
    meaning that they have in this corpus, and no query meets the encoder any more.

    The similarities are many and vague: in a ranking none may count much beside the word itself.
    ``scaled(source, 0.1)`` joined with word vectors by `noisy_or` is what
    docs/results/retrieval.md measures.

    The source knows the terms of the vocabulary, and under stemming all surface forms of each.
    Build it by `fit` or `from_texts`.

    Examples
    --------
    >>> from softcosine.text.corpus import analyze
    >>> texts = ["river bank", "money bank", "river flood", "money loan"]
    >>> encodings = [[1, 0.2], [0, 1], [1, 0], [0.2, 1]]
    >>> source = DistilledSimilarity.fit(analyze(texts), encodings)
    >>> source.similarities(["flood", "flood"], ["river", "loan"]).round(2)
    array([0.98, 0.  ], dtype=float32)
    """

    __slots__ = ()

    kind: ClassVar[str] = "distilled"

    @classmethod
    @takes_threads
    def fit(
        cls,
        corpus: AnalyzedTexts,
        encodings: ArrayLike,
        *,
        penalty: float = 1.0,
        threshold: float = 0.0,
        exponent: float = 1.0,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> DistilledSimilarity:
        """Learn from a corpus whose documents have been encoded.

        Parameters
        ----------
        corpus : AnalyzedTexts
            What `analyze` gave.
        encodings : array-like of shape (n_docs, dimensions)
            What the encoder gave for each document. A row of zeros says nothing of its document.
        penalty : float, default 1.0
            lambda above, above 0. The larger, the more a term's vector is the mean of those of
            its documents, whatever else stands in them.
        threshold, exponent : float
            As for EmbeddingSimilarity.
        threads : int, optional
            See `softcosine.using_threads`.
        progress : callable, optional
            Called as ``progress(done, total)``, in dimensions.

        Returns
        -------
        DistilledSimilarity
            The same bits for the same corpus, encodings and settings, on any number of threads.

        Raises
        ------
        InvalidInputError
            If a setting is out of range, or there is not one finite encoding for each document.

        Notes
        -----
        Conjugate gradients: some tens of products of X with the encodings.
        """
        check_scale(threshold=threshold, exponent=exponent)
        vectors = distilled_vectors(corpus, encodings, penalty=penalty, progress=progress)
        names, rows = names_of(corpus.vocabulary)
        table = WordVectors(names, unit(vectors).astype(np.float16), rows=rows)
        return cls(EmbeddingSimilarity.of_table(table, threshold=threshold, exponent=exponent))

    @classmethod
    @takes_threads
    def from_texts(
        cls,
        texts: Sequence[str],
        model: str | Encode | Encoder | None,
        *,
        analyzer: Analyzer | None = None,
        cache: str | PathLike[str] | None = None,
        name: str | None = None,
        batch_size: int = 32,
        penalty: float = 1.0,
        threshold: float = 0.0,
        exponent: float = 1.0,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> DistilledSimilarity:
        """Encode texts, each once, and learn from them.

        Parameters
        ----------
        texts : sequence of str
        model : str, callable, object with ``encode``, or None
            As for EncoderSimilarity; it is given texts.
        analyzer : Analyzer, optional
            The index's own. By default ``Analyzer()``.
        cache, name, batch_size
            As for EncoderSimilarity: a later run takes from the file what is there.
        penalty, threshold, exponent : float
            As for `fit`.
        threads : int, optional
            See `softcosine.using_threads`.
        progress : callable, optional
            Called as ``progress(done, total)``, in texts that are encoded.
        """
        given = list(texts)
        encodings = encoded(
            given, model, cache=cache, name=name, batch_size=batch_size, progress=progress
        )
        return cls.fit(
            analyze(given, analyzer),
            encodings,
            penalty=penalty,
            threshold=threshold,
            exponent=exponent,
        )

    @property
    def table(self) -> VectorTable:
        """The terms' vectors, of unit length."""
        return self._space.table
