"""Terms are similar when a neural encoder's vectors of whole documents say so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine.sources.corpus.distilled_vectors import Encoder, distilled_vectors, encoded, unit
from softcosine.sources.corpus.learned import check_scale
from softcosine.sources.neighbors import Neighbors
from softcosine.sources.source import SourceState
from softcosine.sources.vectors.embedding import EmbeddingSimilarity
from softcosine.sources.vectors.encoded_vectors import Encode
from softcosine.sources.vectors.vector_table import VectorTable
from softcosine.sources.vectors.word_vectors import WordVectors
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze

if TYPE_CHECKING:
    from softcosine.text.vocabulary import Vocabulary

__all__ = ["DistilledSimilarity"]


class DistilledSimilarity:
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

    __slots__ = ("_space",)

    def __init__(self, space: EmbeddingSimilarity) -> None:
        self._space = space

    @classmethod
    def fit(
        cls,
        corpus: AnalyzedTexts,
        encodings: ArrayLike,
        *,
        penalty: float = 1.0,
        threshold: float = 0.0,
        exponent: float = 1.0,
        progress: Callable[[int, int], None] | None = None,
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
        names, rows = _names(corpus.vocabulary)
        table = WordVectors(names, _compact(vectors), rows=rows)
        return cls(EmbeddingSimilarity.of_table(table, threshold=threshold, exponent=exponent))

    @classmethod
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
        progress: Callable[[int, int], None] | None = None,
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
    def words(self) -> tuple[str, ...]:
        """Terms and surface forms that are known."""
        return self._space.words

    @property
    def table(self) -> VectorTable:
        """The terms' vectors, of unit length."""
        return self._space.table

    @property
    def threshold(self) -> float:
        """Least cosine that counts."""
        return self._space.threshold

    @property
    def exponent(self) -> float:
        """Power that cosines are raised to."""
        return self._space.exponent

    def __len__(self) -> int:
        """Return the number of terms and surface forms that are known."""
        return len(self._space)

    def __repr__(self) -> str:
        return (
            f"DistilledSimilarity({len(self)} words x {self._space.dimensions}, "
            f"threshold={self.threshold:g}, exponent={self.exponent:g})"
        )

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term stands in an encoded document, shape (n_terms,)."""
        return self._space.knows(terms)

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``; 1 for equal strings, 0 for unknown."""
        return self._space.similarities(left, right)

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, exactly."""
        return self._space.neighbors(terms, among, max_neighbors=max_neighbors)

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source; not the encoder."""
        inner = self._space.state()
        return SourceState("distilled", inner.settings, inner.arrays)

    @classmethod
    def from_state(cls, state: SourceState) -> DistilledSimilarity:
        """Source that `state` was taken from."""
        return cls(EmbeddingSimilarity.from_state(state))


def _names(vocabulary: Vocabulary) -> tuple[list[str], NDArray[np.int32]]:
    """Everything that terms are called, their forms first, and the number of each one's term."""
    forms = vocabulary.forms or [()] * len(vocabulary)
    names = [form for own in forms for form in own]
    rows = np.repeat(np.arange(len(vocabulary)), [len(own) for own in forms])
    return [*names, *vocabulary.terms], np.append(rows, np.arange(len(vocabulary))).astype(np.int32)


def _compact(vectors: NDArray[np.float64]) -> NDArray[np.float16]:
    """Vectors of unit length as float16: half the size, and cosines within 0.001."""
    return unit(vectors).astype(np.float16)
