"""Term similarity by regression: each term predicts the other, given all other terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._progress import Progress
from softcosine._threads import takes_threads
from softcosine._validation import check_choice, check_number, check_type
from softcosine.errors import InvalidInputError
from softcosine.lab.learned_pairs import LearnedPairs, best_pairs
from softcosine.similarity.cooccurrence.counts import frequent
from softcosine.similarity.cooccurrence.names import names_of
from softcosine.similarity.source import check_scale
from softcosine.text.corpus import AnalyzedTexts

BLOCK = 256  # rows swept together; orders are a multiple of it


def invert_in_place(A: NDArray[Any], *, progress: Progress | None = None) -> None:
    r"""Replace a symmetric positive definite matrix by its inverse, by block sweeps.

    Sweeping the block k with D = A_kk replaces

    .. math:: A_{ij} \to A_{ij} - A_{ik} D^{-1} A_{kj}, \quad A_{ik} \to A_{ik} D^{-1}, \quad
        A_{kk} \to -D^{-1}

    after all blocks A is minus its inverse (Dempster 1969; Goodnight 1979). Only the
    lower triangle of blocks is read and updated, so it takes n³ multiply-adds, as many as
    a Cholesky factorisation with the inversion of the factor. LAPACK divides the work by the number
    of threads, which changes its last bits. Here all work is matrix products of fixed sizes,
    multiples of BLOCK, in which many a BLAS sums each entry in one order; some, on some processors,
    sum otherwise where the rows of another number of threads end.

    Parameters
    ----------
    A : ndarray of shape (n, n), float32 or float64
        C-contiguous, n a multiple of BLOCK. Blocks above the diagonal are not read. On return the
        full inverse.
    progress : callable, optional
        Called as ``progress(done, total)`` after each block.

    Raises
    ------
    InvalidInputError
        If the matrix is not positive definite at the precision of its dtype.

    Notes
    -----
    Additional memory is 3 BLOCK n entries.
    """
    n = len(A)
    assert n % BLOCK == 0
    ends = range(0, n, BLOCK)
    for k in ends:
        own = slice(k, k + BLOCK)
        inverse = _small_inverse(A[own, own])
        column = np.empty((n, BLOCK), A.dtype)  # A_ik for all i
        column[:k] = A[own, :k].T
        column[k:] = A[k:, own]
        scaled = column @ inverse
        for j in ends:  # the lower blocks of block column j
            if j != k:
                below = slice(j, n)
                A[below, j : j + BLOCK] -= scaled[below] @ column[j : j + BLOCK].T
        A[own, :k] = scaled[:k].T
        A[k:, own] = scaled[k:]
        A[own, own] = -inverse
        if progress is not None:
            progress(k // BLOCK + 1, len(ends))
    for j in ends:
        A[j:, j : j + BLOCK] *= -1
        own = slice(j, j + BLOCK)
        A[own, j + BLOCK :] = A[j + BLOCK :, own].T


def _small_inverse(D: NDArray[Any]) -> NDArray[Any]:
    """Inverse of one block, in float64, row by row."""
    A = (D.astype(np.float64) + D.T) / 2.0
    for k in range(len(A)):
        pivot = A[k, k]
        if not pivot > 0.0:
            raise InvalidInputError(
                "the matrix to be inverted is not positive definite in its precision; take a "
                "larger penalty, or double precision."
            )
        row = A[k] / pivot
        column = A[:, k].copy()
        column[k] = 0.0
        A -= column[:, np.newaxis] * row
        A[:, k] = -column / pivot
        A[k] = row
        A[k, k] = 1.0 / pivot
    return np.asarray((A + A.T) / 2.0, D.dtype)


_PRECISIONS = {"single": np.float32, "double": np.float64}


class RegressionSimilarity(LearnedPairs):
    r"""Similarity of terms by regression of each term on all others.

    Let X hold which document has which term (1 or 0), each column divided by its length. The ridge
    regression of all columns on each other, without a column on itself, has a closed form (Steck
    2019, "Embarrassingly shallow autoencoders for sparse data"):

    .. math:: \min_B |X - XB|^2 + \lambda |B|^2, \; b_{ii} = 0: \quad
        B = I - P \operatorname{diag}(P)^{-1}, \quad P = (X^\top X + \lambda I)^{-1}

    A weight b_ij is what the presence of term i adds to the prediction of term j beyond all other
    terms. Two terms that co-occur only because both co-occur with a third get no weight, though
    their co-occurrence is high. Negative weights count as 0, and the mean of the two directions is
    scaled,

    .. math:: s_{ij} = \left((1 + \lambda) \frac{\max(0, b_{ij}) + \max(0, b_{ji})}{2}\right)^e
        \text{ where the power's base is at least } t, \text{ else } 0

    with s_ii = 1. The factor offsets the shrinkage by the penalty: two terms that co-occur with no
    third get the cosine of their columns. Values above 1 count as 1.

    The source covers terms with at least one similar term and, with stemming, all their surface
    forms. `fit` builds it.

    Examples
    --------
    >>> from softcosine.text.corpus import analyze
    >>> texts = ["river bank", "money bank", "bank", "river bank", "money bank", "tree"] * 5
    >>> source = RegressionSimilarity.fit(analyze(texts))
    >>> source.similarities(["bank", "bank", "river"], ["river", "money", "money"]).round(2)
    array([0.42, 0.42, 0.  ], dtype=float32)
    """

    __slots__ = ()

    kind: ClassVar[str] = "regression"

    @classmethod
    @takes_threads
    def fit(
        cls,
        corpus: AnalyzedTexts,
        *,
        penalty: float = 2.0,
        min_count: int = 5,
        max_terms: int = 15_000,
        precision: Literal["single", "double"] = "single",
        threshold: float = 0.05,
        exponent: float = 2.0,
        max_neighbors: int = 10,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> RegressionSimilarity:
        """Return the source learned from a corpus.

        Parameters
        ----------
        corpus : AnalyzedTexts
            Result of `analyze`.
        penalty : float, default 2.0
            λ above, positive. It is comparable between corpora, because all columns have length 1.
            Larger values bring the result nearer to the cosines of the columns.
        min_count : int, default 5
            Minimum document frequency of a term.
        max_terms : int, default 15,000
            Of the rest, the terms of highest document frequency; ties by string.
        precision : {"single", "double"}, default "single"
            Of the inverse: 4 or 8 bytes per pair of terms, 0.9 or 1.8 GB for 15,000 terms.
        threshold : float, default 0.05
            t above, in [0, 1].
        exponent : float, default 2.0
            e above.
        max_neighbors : int, default 10
            Number of others that each term chooses; a pair is kept if either term chooses it.
        threads : int, optional
            See `softcosine.using_threads`.
        progress : callable, optional
            Called as ``progress(done, total)``, in steps of the inversion.

        Returns
        -------
        RegressionSimilarity
            The same corpus and settings give the same bits; with other numbers of threads, too,
            where the BLAS sums in one order (see `invert_in_place`).

        Raises
        ------
        InvalidInputError
            If a setting is out of range, or the penalty is too small for the precision.

        Notes
        -----
        O(max_terms³).
        """
        check_number("penalty", penalty, above=0)
        check_choice("precision", precision, _PRECISIONS)
        check_scale(threshold=threshold, exponent=exponent, max_neighbors=max_neighbors)
        check_type("the corpus", corpus, AnalyzedTexts, "call fit(softcosine.analyze(texts))")
        holds = corpus.counts().astype(bool)
        kept = frequent(
            holds.sum(axis=0), corpus.vocabulary, min_count=min_count, max_terms=max_terms
        )
        P = _gram(holds[:, kept], penalty, np.dtype(_PRECISIONS[precision]))
        n_terms, (names, rows) = len(kept), names_of(corpus.vocabulary, kept)
        invert_in_place(P, progress=progress)
        S = best_pairs(
            _averages(P[:n_terms, :n_terms], 1.0 + penalty),
            n_terms,
            threshold=threshold,
            exponent=exponent,
            max_neighbors=max_neighbors,
        )
        return cls(names, rows, S, {"penalty": float(penalty), "exponent": float(exponent)})


def _gram(holds: csr_array, penalty: float, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return XᵀX + lambda I, with rows and columns of the identity up to a multiple of BLOCK."""
    n, frequencies = holds.shape[1], holds.sum(axis=0)
    order = -(-n // BLOCK) * BLOCK
    A = np.zeros((order, order), dtype)
    A.flat[:: order + 1] = 1.0
    factors = 1.0 / np.sqrt(np.maximum(frequencies, 1))
    X = csr_array(holds, dtype=np.float64)
    together = (X.T @ X).tocoo()
    rows, columns = together.coords
    A[rows, columns] = together.data * (factors[rows] * factors[columns])
    A.flat[: n * order : order + 1] = 1.0 + penalty
    return A


def _averages(P: NDArray[Any], scale: float) -> Iterator[tuple[int, csr_array]]:
    """Yield the scaled mean of the weights of both directions, positive only, block by block."""
    pivots = 1.0 / np.diag(P).astype(np.float64)
    for first in range(0, len(P), BLOCK):
        # Weights of both directions have one sign, so the mean of the positive parts equals the
        # positive part of the mean.
        sums = pivots[first : first + BLOCK, np.newaxis] + pivots
        block = -0.5 * scale * P[first : first + BLOCK] * sums
        block[block < 0.0] = 0.0
        rows = np.arange(len(block))
        block[rows, first + rows] = 0.0
        yield first, csr_array(block)
