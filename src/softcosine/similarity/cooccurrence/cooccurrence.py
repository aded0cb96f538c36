"""Term similarity learned from the co-occurrences of terms in a corpus."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._progress import Progress
from softcosine._validation import check_number, check_type, check_whole
from softcosine.similarity.cooccurrence.counts import cooccurrences, frequent
from softcosine.similarity.cooccurrence.names import names_of
from softcosine.similarity.embeddings.compared_vectors import ComparedVectors
from softcosine.similarity.embeddings.word_vectors import WordVectors
from softcosine.similarity.source import check_scale
from softcosine.text.corpus import AnalyzedTexts

_EXTRA = 16  # extra directions beyond the requested ones
_ROUNDS = 5  # of multiplication and orthogonalisation
_SEED = 20_260_101


def information(counts: csr_array, *, shift: float, smoothing: float) -> csr_array:
    r"""Return the positive pointwise mutual information of every pair of terms.

    .. math:: m_{ij} = \max\left(0, \ln \frac{n_{ij}}{N \sqrt{p_i p'_i p_j p'_j}} - \ln k\right)

    with the symbols of `CooccurrenceSimilarity`.
    """
    totals = counts.sum(axis=1)
    whole = float(totals.sum()) or 1.0
    shares = np.maximum(totals, 1) / whole
    powers = shares**smoothing
    smoothed = powers / (powers[totals > 0].sum() or 1.0)
    surprise = -0.5 * (np.log(shares) + np.log(smoothed) + np.log(whole))
    found = counts.tocoo()
    rows, columns = found.coords
    values = np.log(found.data) + (surprise[rows] + surprise[columns]) - np.log(shift)
    kept = values > 0.0
    return csr_array((values[kept], (rows[kept], columns[kept])), shape=counts.shape)


def leading_factors(
    matrix: csr_array, dimensions: int, *, progress: Progress | None = None
) -> NDArray[np.float64]:
    """Return U sqrt(abs(L)), with the eigenvalues L of greatest size and their eigenvectors U.

    The method is randomised subspace iteration with a fixed seed (Halko, Martinsson & Tropp 2011,
    algorithm 4.4); exact up to rounding if the matrix has at most `dimensions` + 16 rows.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Symmetric.
    dimensions : int
        At least 1.
    progress : callable, optional
        Called as ``progress(done, total)`` after each product.

    Returns
    -------
    ndarray of shape (n, min(dimensions, n)), float64
    """
    n = matrix.shape[0]
    basis = np.random.default_rng(_SEED).standard_normal((n, min(dimensions + _EXTRA, n)))
    for done in range(_ROUNDS):
        basis, _ = np.linalg.qr(matrix @ basis)
        if progress is not None:
            progress(done + 1, _ROUNDS)
    values, vectors = np.linalg.eigh(basis.T @ (matrix @ basis))
    order = np.argsort(-np.abs(values), kind="stable")[: min(dimensions, n)]
    factors: NDArray[np.float64] = basis @ (vectors[:, order] * np.sqrt(np.abs(values[order])))
    return factors


class CooccurrenceSimilarity(ComparedVectors):
    r"""Term similarity learned from the co-occurrences of terms in a corpus.

    A term is represented by its positive pointwise mutual information with the terms within
    `window` positions of it,

    .. math:: m_{ij} = \max\left(0, \ln \frac{n_{ij}}{N \sqrt{p_i p'_i p_j p'_j}} - \ln k\right)

    where n_ij is the sum of ``window + 1 - distance`` over all co-occurrences of i and j, N is the
    sum of all n_ij, p_i is the share of term i in it, and p'_i is the share of p_i to the power
    `smoothing`, which lowers the weight of rare terms (Levy, Goldberg & Dagan 2015; here on both
    sides, so that m is symmetric). The vectors of terms are the leading `dimensions` eigenvectors
    of m times the square roots of the absolute eigenvalues. The similarities come from their
    cosines,

    .. math:: s_{ij} = \left(\sqrt{r_i r_j} \cos(v_i, v_j)\right)^e \ge t^e, \quad
        r_i = \frac{n_i}{n_i + \kappa}

    where n_i is the number of occurrences of term i. The factors r lower the similarity of rare
    terms that share a sentence by chance. With a tiny corpus, the source knows few terms or none.

    The source knows the terms of the vocabulary, and under stemming all surface forms of each.
    Build it by `fit`.
    """

    __slots__ = ()

    kind: ClassVar[str] = "cooccurrence"
    label: ClassVar[str] = "texts"

    @classmethod
    def fit(
        cls,
        corpus: AnalyzedTexts,
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
        progress: Progress | None = None,
    ) -> CooccurrenceSimilarity:
        """Learn from a corpus.

        Parameters
        ----------
        corpus : AnalyzedTexts
            Result of `analyze`.
        window : int, default 5
            Greatest distance of two terms of a document that counts as a co-occurrence.
        dimensions : int, default 128
            Number of components of each vector.
        min_count : int, default 5
            Terms with fewer occurrences are dropped.
        max_terms : int, default 30,000
            Limit; the most frequent terms are used, ties ordered by string.
        shift : float, default 1.0
            k in the formula: information must exceed ln k. At least 1.
        smoothing : float, default 0.75
            In (0, 1]; 1 is the plain pointwise mutual information.
        evidence : float, default 10.0
            kappa in the formula: the number of occurrences at which r is one half. 0 disables it.
        threshold, exponent : float
            As for EmbeddingSimilarity.
        progress : callable, optional
            Called as ``progress(done, total)``, in steps of similar duration.

        Returns
        -------
        CooccurrenceSimilarity

        Raises
        ------
        InvalidInputError
            If a setting is out of range.

        Notes
        -----
        20 Newsgroups (2.8 million tokens, 30,000 terms used) takes some seconds.
        """
        check_type("the corpus", corpus, AnalyzedTexts, "call fit(softcosine.analyze(texts))")
        check_whole("dimensions", dimensions)
        check_whole("window", window)
        check_number("shift", shift, least=1)
        check_number("smoothing", smoothing, above=0, most=1)
        check_number("evidence", evidence, least=0)
        check_scale(threshold=threshold, exponent=exponent)
        terms = corpus.vocabulary
        occurrences = np.bincount(corpus.tokens[corpus.tokens >= 0], minlength=len(terms))
        kept = frequent(occurrences, terms, min_count=min_count, max_terms=max_terms)
        counts = cooccurrences(corpus, kept, window)
        matrix = information(counts, shift=shift, smoothing=smoothing)
        vectors = leading_factors(matrix, dimensions, progress=progress)
        vectors[np.diff(matrix.indptr) == 0] = 0.0  # in place of rounding errors
        names, rows = names_of(terms, kept)
        trust = np.sqrt(occurrences[kept] / (occurrences[kept] + evidence))
        table = WordVectors(names, _compact(vectors), rows=rows, weights=trust)
        return cls.of_table(table, threshold=threshold, exponent=exponent)

    @property
    def usual_neighbors(self) -> int:
        """Default limit of neighbours per term in S; more lower the quality of rankings."""
        return 10


def _compact(vectors: NDArray[np.float64]) -> NDArray[np.float16]:
    """Return unit vectors as float16: half the size, cosines exact to 0.001."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return (vectors / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float16)
