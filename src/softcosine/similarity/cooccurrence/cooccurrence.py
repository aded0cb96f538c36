"""Term similarity learned from the co-occurrences of terms in a corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._progress import Progress
from softcosine._ragged import running_sum
from softcosine._threads import for_each_chunk, takes_threads
from softcosine._validation import check_number, check_whole
from softcosine.kernels.cooccurrence import (
    add_gram,
    combine_columns,
    diagonalize,
    positive_information,
    sparse_times_dense,
)
from softcosine.similarity.cooccurrence.counts import Nearness, cooccurrence_counts
from softcosine.similarity.cooccurrence.pair_counts import PairCounts
from softcosine.similarity.embeddings.compared_vectors import ComparedVectors
from softcosine.similarity.embeddings.word_vectors import WordVectors
from softcosine.similarity.source import check_scale

if TYPE_CHECKING:
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.stream import TextStream

_EXTRA = 16  # extra directions beyond the requested ones
_ROUNDS = 4  # iterations of multiplication and orthogonalisation
_SEED = 20_260_101
_CHUNK = 512
_GRAM_CHUNK = 4096
# Directions with a squared length below this share of the greatest are float32 rounding errors.
_NOISE = 1e-10


@dataclass(frozen=True, slots=True)
class SparseRows:
    """A square sparse matrix with unused elements between rows.

    Attributes
    ----------
    starts : ndarray of shape (n + 1,), int64
    ends : ndarray of shape (n,), int64
        Row ``i`` has the elements ``starts[i]:ends[i]``.
    columns : ndarray of shape (starts[-1],), int32
    values : ndarray of shape (starts[-1],), float32
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ends)

    def times(self, dense: NDArray[np.float32]) -> NDArray[np.float32]:
        """Multiply by a dense matrix of shape (n, c)."""
        product = np.empty_like(dense)

        def work(first: int, last: int) -> None:
            sparse_times_dense(
                self.starts, self.ends, self.columns, self.values, dense, first, last, product
            )

        for_each_chunk(work, len(self), chunk=_CHUNK)
        return product


def leading_factors(
    matrix: SparseRows,
    dimensions: int,
    *,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Return U sqrt(abs(L)), with the eigenvalues L of greatest size and their eigenvectors U.

    The method is randomised subspace iteration with a fixed seed (Halko, Martinsson & Tropp 2011,
    algorithm 4.4); exact up to rounding if the matrix has at most `dimensions` + 16 rows.

    Parameters
    ----------
    matrix : SparseRows of order n
        Symmetric.
    dimensions : int
        At least 1.
    progress : callable, optional
        Called as ``progress(done, total)`` after each product.

    Returns
    -------
    ndarray of shape (n, min(dimensions, n)), float32
    """
    n = len(matrix)
    width = min(dimensions + _EXTRA, n)
    if width == 0:
        return np.zeros((0, 0), np.float32)
    random = np.random.default_rng(_SEED)
    basis = random.standard_normal((n, width), dtype=np.float32)
    for done in range(_ROUNDS + 1):
        basis = _orthonormal(matrix.times(basis))
        if progress is not None:
            progress(done + 1, _ROUNDS + 2)
    small = _gram(basis, matrix.times(basis))
    values, vectors = _eigen((small + small.T) / 2.0)
    if progress is not None:
        progress(_ROUNDS + 2, _ROUNDS + 2)
    order = np.argsort(-np.abs(values), kind="stable")[: min(dimensions, n)]
    return _combined(basis, vectors[:, order] * np.sqrt(np.abs(values[order])))


def _orthonormal(dense: NDArray[np.float32]) -> NDArray[np.float32]:
    """Orthonormal basis of the columns; zero columns for missing directions."""
    values, vectors = _eigen(_gram(dense, dense))
    real = values > _NOISE * values.max()
    factors = np.where(real, 1.0 / np.sqrt(np.where(real, values, 1.0)), 0.0)
    return _combined(dense, vectors * factors)


def _gram(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return leftᵀ right, summed in chunks that do not depend on the number of threads."""
    n_chunks = -(-len(left) // _GRAM_CHUNK)
    parts = np.zeros((n_chunks, left.shape[1], right.shape[1]))

    def work(first: int, last: int) -> None:
        add_gram(left[first:last], right[first:last], parts[first // _GRAM_CHUNK])

    for_each_chunk(work, len(left), chunk=_GRAM_CHUNK)
    total = np.zeros(parts.shape[1:])
    for part in parts:
        total += part
    return total


def _eigen(symmetric: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenvalues, and eigenvectors as columns."""
    matrix = symmetric.copy()
    rows = np.empty_like(matrix)
    diagonalize(matrix, rows)
    return np.diag(matrix).copy(), np.ascontiguousarray(rows.T)


def _combined(dense: NDArray[np.float32], small: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Multiply a tall matrix by a small one."""
    product = np.empty((len(dense), small.shape[1]), np.float32)
    factors = np.ascontiguousarray(small, np.float64)

    def work(first: int, last: int) -> None:
        combine_columns(dense, factors, first, last, product)

    for_each_chunk(work, len(dense), chunk=_CHUNK)
    return product


_CHUNK_TERMS = 256


def check_information(*, shift: float, smoothing: float, evidence: float) -> None:
    """Raise InvalidInputError if a setting is out of range."""
    check_number("shift", shift, least=1)
    check_number("smoothing", smoothing, above=0, most=1)
    check_number("evidence", evidence, least=0)


def information(pairs: PairCounts, *, shift: float, smoothing: float) -> SparseRows:
    r"""Return the positive pointwise mutual information of every pair of terms.

    .. math:: m_{ij} = \max\left(0, \ln \frac{n_{ij}}{N \sqrt{p_i p'_i p_j p'_j}} - \ln k\right)

    with the symbols of `CooccurrenceSimilarity`. Zero entries are dropped; column indices are
    sorted.

    Parameters
    ----------
    pairs : PairCounts
    shift : float
        k in the formula.
    smoothing : float
        Exponent of the smoothed shares p'.
    """
    surprise = _surprise(pairs.totals, smoothing)
    lengths = np.zeros(len(pairs), np.int64)
    columns: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    values: list[NDArray[np.float32]] = [np.empty(0, np.float32)]
    for first, last, block in pairs.blocks():
        starts = block.indptr.astype(np.int64)
        weighed = _weighed(block, starts, first, surprise, float(np.log(shift)))
        positive = weighed > 0.0
        before = running_sum(positive)
        lengths[first:last] = np.diff(before[starts])
        columns.append(block.indices[positive])
        values.append(weighed[positive])
    bounds = running_sum(lengths)
    return SparseRows(bounds, bounds[1:].copy(), np.concatenate(columns), np.concatenate(values))


def _weighed(
    block: csr_array,
    starts: NDArray[np.int64],
    row: int,
    surprise: NDArray[np.float64],
    shift: float,
) -> NDArray[np.float32]:
    """Information of the entries of some rows; `row` is the first."""
    values = np.empty(block.nnz, np.float32)

    def work(first: int, last: int) -> None:
        positive_information(
            starts, block.indices, block.data, row, surprise, shift, first, last, values
        )

    for_each_chunk(work, len(starts) - 1, chunk=_CHUNK_TERMS)
    return values


def _surprise(totals: NDArray[np.int64], smoothing: float) -> NDArray[np.float64]:
    """Term-dependent summand of the information: -ln sqrt(N p p'), always finite."""
    whole = float(totals.sum())
    if whole == 0.0:
        return np.zeros(len(totals))
    shares = np.maximum(totals, 1) / whole
    powers = shares**smoothing
    smoothed = powers / powers[totals > 0].sum()
    return np.asarray(-0.5 * (np.log(shares) + np.log(smoothed) + np.log(whole)))


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
            Result of `analyze`, or a stream of texts larger than memory, with the same result.
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
        threads : int, optional
            See `softcosine.using_threads`.
        progress : callable, optional
            Called as ``progress(done, total)``, in steps of similar duration.

        Returns
        -------
        CooccurrenceSimilarity
            The same bits for the same corpus and settings, with any number of threads.

        Raises
        ------
        InvalidInputError
            If a setting is out of range.

        Notes
        -----
        20 Newsgroups (2.8 million tokens, 30,000 terms used) takes some seconds.
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
        return cls.of_table(table, threshold=threshold, exponent=exponent)

    @property
    def usual_neighbors(self) -> int:
        """Default limit of neighbours per term in S; more lower the quality of rankings."""
        return 10


def _compact(vectors: NDArray[np.float32]) -> NDArray[np.float16]:
    """Return unit vectors as float16: half the size, cosines exact to 0.001."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return (vectors / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float16)
