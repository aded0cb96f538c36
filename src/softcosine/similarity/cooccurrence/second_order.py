"""Terms are similar when they stand near the same terms, though never near each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.kernels.common_contexts import common_contexts, row_lengths
from softcosine.similarity.cooccurrence.counts import Nearness, company
from softcosine.similarity.cooccurrence.factors import SparseRows
from softcosine.similarity.cooccurrence.information import check_information, information
from softcosine.similarity.cooccurrence.learned import LearnedPairs, best_pairs, check_scale
from softcosine.similarity.threads import for_each_chunk

if TYPE_CHECKING:
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.stream import TextStream

__all__ = ["SecondOrderSimilarity"]

_BLOCK_ROWS = 1024
_CHUNK_ROWS = 32


class SecondOrderSimilarity(LearnedPairs):
    r"""Similarity of terms by the company that they keep, without fewer dimensions.

    Every term is described by its positive pointwise mutual information m_ij with the terms within
    `window` places of it, as by `CooccurrenceSimilarity`; there the leading factors of the matrix
    are compared, here its rows themselves:

    .. math:: s_{ij} = \left(\sqrt{r_i r_j} \frac{\sum_c m_{ic} m_{jc}}{|m_i| |m_j|}\right)^e
        \text{ where the power's base is at least } t, \quad r_i = \frac{n_i}{n_i + \kappa}

    with n_i the occurrences of term i. The cosines are lower than those of factors, and say less
    of rare terms, which may share no context by which to be compared.

    The source knows the terms that are similar to some other, and under stemming all surface forms
    of each. Build it by `fit`.

    Examples
    --------
    >>> from softcosine.text.corpus import analyze
    >>> texts = ["flat tyre", "flat tire", "new tyre", "new tire", "new moon"] * 9
    >>> source = SecondOrderSimilarity.fit(analyze(texts), shift=1, evidence=0)
    >>> (source.similarities(["tyre"] * 2, ["tire", "moon"]) > 0.9).tolist()
    [True, False]
    """

    __slots__ = ()

    kind: ClassVar[str] = "second_order"

    @classmethod
    def fit(
        cls,
        corpus: AnalyzedTexts | TextStream,
        *,
        window: int = 5,
        min_count: int = 5,
        max_terms: int = 30_000,
        shift: float = 5.0,
        smoothing: float = 0.75,
        evidence: float = 10.0,
        threshold: float = 0.1,
        exponent: float = 3.0,
        max_neighbors: int = 10,
        progress: Callable[[int, int], None] | None = None,
    ) -> SecondOrderSimilarity:
        """Learn from a corpus.

        Parameters
        ----------
        corpus : AnalyzedTexts or TextStream
            What `analyze` gave, or texts that are too many for memory. Both teach the same.
        window : int, default 5
            How many places apart two terms of a document may stand to count as together.
        min_count : int, default 5
            Terms with fewer occurrences are left out.
        max_terms : int, default 30,000
            Of the rest, the most frequent are taken, ties by their strings.
        shift : float, default 5.0
            Information has to exceed the logarithm of this. At least 1. Contexts that are common
            to all, such as function words, then count for less than with 1, and it is quicker.
        smoothing : float, default 0.75
            In (0, 1]; 1 is the plain pointwise mutual information.
        evidence : float, default 10.0
            kappa above: at so many occurrences a term's r is one half. 0 takes every cosine as it
            is.
        threshold : float, default 0.1
            t above, in [0, 1].
        exponent : float, default 3.0
            e above.
        max_neighbors : int, default 10
            How many others each term chooses, exactly the best; a pair stays that either of its
            terms chose.
        progress : callable, optional
            Called as ``progress(done, total)``, in terms.

        Returns
        -------
        SecondOrderSimilarity
            The same bits for the same corpus and settings, on any number of threads.

        Raises
        ------
        InvalidInputError
            If a setting is out of range.

        Notes
        -----
        Takes one multiplication for every two terms and context that they share, and memory for
        all information (8 bytes a pair of terms that stand together).
        """
        check_information(shift=shift, smoothing=smoothing, evidence=evidence)
        check_scale(threshold=threshold, exponent=exponent, max_neighbors=max_neighbors)
        nearness = Nearness(window, fading=True, min_count=min_count, max_terms=max_terms)
        with company(corpus, nearness) as known:
            matrix = information(known.pairs, shift=shift, smoothing=smoothing)
        weights = np.sqrt(known.frequencies / (known.frequencies + evidence))
        S = best_pairs(
            _cosines(matrix, weights, threshold, progress),
            len(matrix),
            threshold=threshold,
            exponent=exponent,
            max_neighbors=max_neighbors,
        )
        learned = {"window": nearness.window, "exponent": float(exponent)}
        return cls._of(known.names, known.rows, S, learned)


def _cosines(
    matrix: SparseRows,
    weights: NDArray[np.float64],
    threshold: float,
    progress: Callable[[int, int], None] | None,
) -> Iterator[tuple[int, csr_array]]:
    """Weighted cosines of each row with all others, but for some too low, block by block."""
    n = len(matrix)
    lengths = np.zeros(n)
    row_lengths(matrix.starts, matrix.values, lengths)
    factors = np.divide(weights, lengths, out=np.zeros(n), where=lengths > 0.0)
    least = np.nextafter(np.float32(threshold), np.float32(0.0))
    for first in range(0, n, _BLOCK_ROWS):
        last = min(first + _BLOCK_ROWS, n)
        dense = np.zeros((last - first, n), np.float64)

        def work(
            start: int, stop: int, first: int = first, dense: NDArray[np.float64] = dense
        ) -> None:
            common_contexts(
                matrix.starts, matrix.columns, matrix.values, factors, first, start, stop, dense
            )

        for_each_chunk(work, last - first, chunk=_CHUNK_ROWS)
        # The rest is compared in float32, to which a cosine just below may be rounded up.
        dense[dense < least] = 0.0
        yield first, csr_array(dense)
        if progress is not None:
            progress(last, n)
