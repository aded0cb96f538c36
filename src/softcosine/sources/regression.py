"""Terms are similar when each helps to predict the other, all other terms being known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.errors import InvalidInputError
from softcosine.sources.company import Company, Nearness, company
from softcosine.sources.inverse import BLOCK, invert_in_place
from softcosine.sources.learned import LearnedPairs, best_pairs, check_scale

if TYPE_CHECKING:
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.stream import TextStream

__all__ = ["RegressionSimilarity"]

_PRECISIONS = {"single": np.float32, "double": np.float64}


class RegressionSimilarity(LearnedPairs):
    r"""Similarity of terms by statistical regression of each on all others.

    Let X tell which document has which term (1 or 0), each column divided by its length to the
    power `balance`. The ridge regression of all columns on each other, none on itself, has a closed
    form (Steck 2019, "Embarrassingly shallow autoencoders"):

    .. math:: \min_B |X - XB|^2 + \lambda |B|^2, \; b_{ii} = 0: \quad
        B = I - P \operatorname{diag}(P)^{-1}, \quad P = (X^\top X + \lambda I)^{-1}

    A weight b_ij is what the presence of term i adds to the prediction of term j beyond all other
    terms: of two terms that come together only because both are in the company of a third, it says
    nothing, where direct co-occurrence says much. Negative weights count as 0, and the two
    directions are averaged,

    .. math:: s_{ij} = \min\left(1, \frac{\max(0, b_{ij}) + \max(0, b_{ji})}{2 g}\right)^e
        \text{ where the power's base is at least } t, \text{ else } 0

    with s_ii = 1. The scale g is the greatest of all averages, or 1 if that is less: weights below
    1 stay as they are.

    The source knows the terms that are similar to some other, and under stemming all surface forms
    of each. Build it by `fit`.

    Examples
    --------
    >>> from softcosine.text.corpus import analyze
    >>> texts = ["flat tyre", "flat tyre pump", "pump", "flat land", "moon"] * 5
    >>> source = RegressionSimilarity.fit(analyze(texts), threshold=0)
    >>> pairs = source.similarities(["flat"] * 3, ["tyre", "land", "pump"])
    >>> [bool(similarity > 0.2) for similarity in pairs]
    [True, True, False]
    """

    __slots__ = ()

    kind: ClassVar[str] = "regression"

    @classmethod
    def fit(
        cls,
        corpus: AnalyzedTexts | TextStream,
        *,
        penalty: float = 0.5,
        balance: float = 1.0,
        min_count: int = 5,
        max_terms: int = 15_000,
        precision: Literal["single", "double"] = "single",
        threshold: float = 0.02,
        exponent: float = 1.0,
        max_neighbors: int = 100,
        progress: Callable[[int, int], None] | None = None,
    ) -> RegressionSimilarity:
        """Learn from a corpus.

        Parameters
        ----------
        corpus : AnalyzedTexts or TextStream
            What `analyze` gave, or texts that are too many for memory. Both teach the same.
        penalty : float, default 0.5
            lambda above, above 0. With a balance of 1 all columns have the length 1, and it means
            the same for every corpus.
        balance : float, default 1.0
            In [0, 1]; 0 takes the columns as they are, so that frequent terms weigh more.
        min_count : int, default 5
            Terms in fewer documents are left out.
        max_terms : int, default 15,000
            Of the rest, those in most documents are taken, ties by their strings.
        precision : {"single", "double"}, default "single"
            Of the inverse: 4 or 8 bytes for every two terms, 0.9 or 1.8 GB for 15,000 terms.
        threshold : float, default 0.02
            t above, in [0, 1].
        exponent : float, default 1.0
            e above.
        max_neighbors : int, default 100
            How many others each term chooses; a pair stays that either of its terms chose.
        progress : callable, optional
            Called as ``progress(done, total)``, in steps of the inversion.

        Returns
        -------
        RegressionSimilarity
            The same bits for the same corpus and settings, on any number of threads.

        Raises
        ------
        InvalidInputError
            If a setting is out of range, or the penalty is too small for the precision.

        Notes
        -----
        O(max_terms³).
        """
        for name, value, top in (("penalty", penalty, np.inf), ("balance", balance, 1.0)):
            if not 0.0 <= value <= top or value == np.inf or (name == "penalty" and value == 0.0):
                needed = "a number above 0" if name == "penalty" else "a number in [0, 1]"
                raise InvalidInputError(f"{name} is {value}; needed is {needed}.")
        if precision not in _PRECISIONS:
            raise InvalidInputError(
                f"precision is {precision!r}; needed is one of {', '.join(_PRECISIONS)}."
            )
        check_scale(threshold=threshold, exponent=exponent, max_neighbors=max_neighbors)
        nearness = Nearness(None, fading=False, min_count=min_count, max_terms=max_terms)
        with company(corpus, nearness) as known:
            P = _gram(known, penalty, balance, np.dtype(_PRECISIONS[precision]))
        n_terms = len(known.frequencies)
        invert_in_place(P, progress=progress)
        S = best_pairs(
            _averages(P[:n_terms, :n_terms]),
            n_terms,
            threshold=threshold,
            exponent=exponent,
            max_neighbors=max_neighbors,
        )
        return cls._of(known.names, known.rows, S, {"penalty": penalty, "balance": balance})


def _gram(known: Company, penalty: float, balance: float, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return XᵀX + lambda I, with rows and columns of the identity up to a multiple of BLOCK."""
    n = len(known.frequencies)
    order = -(-n // BLOCK) * BLOCK
    A = np.zeros((order, order), dtype)
    A.flat[:: order + 1] = 1.0
    frequencies = known.frequencies.astype(np.float64)
    factors = np.maximum(frequencies, 1.0) ** (-0.5 * balance)
    for first, last, block in known.pairs.blocks():
        rows = np.repeat(np.arange(first, last), np.diff(block.indptr))
        A[rows, block.indices] = block.data * (factors[rows] * factors[block.indices])
    A.flat[: n * order : order + 1] = frequencies * factors * factors + penalty
    return A


def _averages(P: NDArray[Any]) -> Iterator[tuple[int, csr_array]]:
    """Mean of the weights of both directions where it is positive, block by block."""
    pivots = 1.0 / np.diag(P).astype(np.float64)

    def averages(first: int) -> NDArray[np.float64]:
        # Weights of both directions have one sign, so the mean of the positive parts is the
        # positive part of the mean.
        block = -0.5 * P[first : first + BLOCK] * (pivots[first : first + BLOCK, None] + pivots)
        block[block < 0.0] = 0.0
        rows = np.arange(len(block))
        block[rows, first + rows] = 0.0
        return block

    firsts = range(0, len(P), BLOCK)
    greatest = max((float(averages(first).max()) for first in firsts), default=0.0)
    for first in firsts:
        yield first, csr_array(averages(first) / max(greatest, 1.0))
