"""Terms are similar when a corpus uses them in the same cooccurrence_counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine._threads import takes_threads
from softcosine._validation import check_whole
from softcosine.similarity.cooccurrence.counts import Nearness, cooccurrence_counts
from softcosine.similarity.cooccurrence.factors import leading_factors
from softcosine.similarity.cooccurrence.information import check_information, information
from softcosine.similarity.cooccurrence.learned_vectors import LearnedVectors, check_scale
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.word_vectors import WordVectors

if TYPE_CHECKING:
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.stream import TextStream

__all__ = ["CooccurrenceSimilarity"]


class CooccurrenceSimilarity(LearnedVectors):
    r"""Similarity learned from which terms stand near which in a corpus.

    Every term is described by its positive pointwise mutual information with the terms within
    `window` places of it,

    .. math:: m_{ij} = \max\left(0, \ln \frac{n_{ij}}{N \sqrt{p_i p'_i p_j p'_j}} - \ln k\right)

    where n_ij sums ``window + 1 - distance`` over all places where i and j stand together, N is
    the sum of all n_ij, p_i the share of term i in it, and p'_i the share of its power
    `smoothing`, which keeps rare terms from weighing too much (Levy, Goldberg & Dagan 2015; here
    from both sides, so that m is symmetric). The leading `dimensions` eigenvectors of m, times
    the square roots of the eigenvalues' sizes, are the terms' vectors; their cosines are the
    similarities,

    .. math:: s_{ij} = \left(\sqrt{r_i r_j} \cos(v_i, v_j)\right)^e \ge t^e, \quad
        r_i = \frac{n_i}{n_i + \kappa}

    with n_i the occurrences of term i: two terms that were seen a few times only, and happened to
    share a sentence, are not similar for that. A tiny corpus knows few terms or none.

    The source knows the terms of the vocabulary, and under stemming all surface forms of each.
    Build it by `fit`.
    """

    __slots__ = ()

    kind: ClassVar[str] = "cooccurrence"

    @classmethod
    @takes_threads
    def fit(
        cls,
        corpus: AnalyzedTexts | TextStream,
        *,
        window: int = 5,
        dimensions: int = 128,
        min_count: int = 5,
        max_terms: int = 30_000,
        shift: float = 1.0,
        smoothing: float = 0.75,
        evidence: float = 10.0,
        threshold: float = 0.3,
        exponent: float = 4.0,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> CooccurrenceSimilarity:
        """Learn from a corpus.

        Parameters
        ----------
        corpus : AnalyzedTexts or TextStream
            What `analyze` gave, or texts that are too many for memory. Both teach the same.
        window : int, default 5
            How many places apart two terms of a document may stand to count as together.
        dimensions : int, default 128
            Length of the terms' vectors.
        min_count : int, default 5
            Terms with fewer occurrences are left out.
        max_terms : int, default 30,000
            Of the rest, the most frequent are taken, ties by their strings.
        shift : float, default 1.0
            k above: information has to exceed ln k. At least 1.
        smoothing : float, default 0.75
            In (0, 1]; 1 is the plain pointwise mutual information.
        evidence : float, default 10.0
            kappa above: at so many occurrences a term's r is one half. 0 takes every cosine as it
            is.
        threshold, exponent : float
            As for EmbeddingSimilarity.
        threads : int, optional
            See `softcosine.using_threads`.
        progress : callable, optional
            Called as ``progress(done, total)``, in steps of about equal length.

        Returns
        -------
        CooccurrenceSimilarity
            The same bits for the same corpus and settings, on any number of threads.

        Raises
        ------
        InvalidInputError
            If a setting is out of range.

        Notes
        -----
        20 Newsgroups (2.8 million running terms, 30,000 of them taken) takes some seconds.
        """
        check_whole("dimensions", dimensions)
        check_scale(threshold=threshold, exponent=exponent)
        check_information(shift=shift, smoothing=smoothing, evidence=evidence)
        nearness = Nearness(window, min_count=min_count, max_terms=max_terms)
        with cooccurrence_counts(corpus, nearness) as known:
            matrix = information(known.pairs, shift=shift, smoothing=smoothing)
        vectors = leading_factors(matrix, dimensions, progress=progress)
        table = WordVectors(
            known.names,
            _compact(vectors),
            rows=known.rows,
            weights=np.sqrt(known.frequencies / (known.frequencies + evidence)),
        )
        return cls(EmbeddingSimilarity.of_table(table, threshold=threshold, exponent=exponent))

    @property
    def usual_neighbors(self) -> int:
        """How many neighbours a term should have in S: more than so few cost rankings."""
        return 10


def _compact(vectors: NDArray[np.float32]) -> NDArray[np.float16]:
    """Vectors of unit length as float16: half the size, and cosines within 0.001."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return (vectors / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float16)
