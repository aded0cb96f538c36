"""Term similarity distilled from a neural encoder's vectors of documents."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from softcosine._progress import Progress
from softcosine._threads import takes_threads
from softcosine.encoders.encoder import Encode, Encoder
from softcosine.similarity.cooccurrence.distilled_vectors import distilled_vectors, encoded, unit
from softcosine.similarity.cooccurrence.names import names_of
from softcosine.similarity.embeddings.compared_vectors import ComparedVectors
from softcosine.similarity.embeddings.word_vectors import WordVectors
from softcosine.similarity.source import check_scale
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze


class DistilledSimilarity(ComparedVectors):
    r"""Term similarity distilled from a neural encoder's vectors of the documents of a corpus.

    Every document is encoded once. Let X be the tf-idf rows of the documents at unit length, and D
    their encodings at unit length minus the mean. Ridge regression finds vectors of terms whose
    weighted sums approximate the encodings of the documents,

    .. math:: \min_V |D - XV|^2 + \lambda |V|^2, \quad
        s_{ij} = \cos(v_i, v_j)^e \text{ where } \cos(v_i, v_j) \ge t, \text{ else } 0.

    So the soft cosine of two documents approximates their similarity by the encoder, words have
    their meaning in this corpus, and queries need no encoder.

    The similarities are numerous and weak, so give them a low weight in rankings.
    docs/results/retrieval.md measures ``scaled(source, 0.1)`` joined with word vectors by
    `noisy_or`.

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
        """Learn from a corpus and the encodings of its documents.

        Parameters
        ----------
        corpus : AnalyzedTexts
            Result of `analyze`.
        encodings : array-like of shape (n_docs, dimensions)
            Encoder output per document. A document with a row of zeros is ignored.
        penalty : float, default 1.0
            lambda in the formula, above 0. With a larger penalty, a term's vector approaches the
            mean of its documents, regardless of their other terms.
        threshold, exponent : float
            As for EmbeddingSimilarity.
        threads : int, optional
            See `softcosine.using_threads`.
        progress : callable, optional
            Called as ``progress(done, total)``, in dimensions.

        Returns
        -------
        DistilledSimilarity
            The same bits for the same corpus, encodings and settings, with any number of threads.

        Raises
        ------
        InvalidInputError
            If a setting is out of range, or there is not one finite encoding per document.

        Notes
        -----
        Cost: some tens of products of X with the encodings (conjugate gradients).
        """
        check_scale(threshold=threshold, exponent=exponent)
        vectors = distilled_vectors(corpus, encodings, penalty=penalty, progress=progress)
        names, rows = names_of(corpus.vocabulary)
        table = WordVectors(names, unit(vectors).astype(np.float16), rows=rows)
        return cls.of_table(table, threshold=threshold, exponent=exponent)

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
            As for EncoderSimilarity; it encodes texts.
        analyzer : Analyzer, optional
            The analyzer of the index. By default ``Analyzer()``.
        cache, name, batch_size
            As for EncoderSimilarity; a later run reuses cached encodings.
        penalty, threshold, exponent : float
            As for `fit`.
        threads : int, optional
            See `softcosine.using_threads`.
        progress : callable, optional
            Called as ``progress(done, total)``, in texts to encode.
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
