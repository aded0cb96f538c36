"""Soft cardinality, the number of different things in a text, and set measures (theory T17)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine._validation import check_choice, check_number
from softcosine.errors import InvalidInputError
from softcosine.lab.kernels.cardinality import cardinalities, union_cardinalities
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.space.norms import checked_matrix, checked_weights

_BLOCK = 1 << 16  # pairs per block of unions
_MOST = 1e100  # sums of weights up to this stay finite

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SoftCardinalities:
    """Soft cardinalities of pairs of sets and of their unions, with set measures.

    The measures of equal sets are 1, and with S = I they are the ordinary ones. They are 0 if a
    divisor is 0. They can exceed 1, because an additional element that is similar to two
    dissimilar ones can make a set softly *smaller*. Nothing is clipped.

    Attributes
    ----------
    left, right : ndarray, float64
        Soft cardinalities of both sets, of shapes that fit `union`.
    union : ndarray, float64
        Soft cardinality of the union.
    """

    left: _Floats
    right: _Floats
    union: _Floats

    @property
    def intersection(self) -> _Floats:
        """Soft cardinality of the intersection: left + right - union, at least 0."""
        # Negative only by rounding: an element counts less in a union than in either set.
        return np.maximum(self.left + self.right - self.union, 0.0)

    @property
    def jaccard(self) -> _Floats:
        """Intersection over union."""
        return _ratio(self.intersection, self.union)

    @property
    def dice(self) -> _Floats:
        """Twice the intersection over the sum of both cardinalities."""
        return _ratio(2.0 * self.intersection, self.left + self.right)

    @property
    def cosine(self) -> _Floats:
        """Intersection over the root of the product of both cardinalities."""
        return _ratio(self.intersection, np.sqrt(self.left) * np.sqrt(self.right))

    @property
    def overlap(self) -> _Floats:
        """Intersection over the smaller cardinality."""
        return _ratio(self.intersection, np.minimum(self.left, self.right))


SET_MEASURES: dict[str, Callable[[SoftCardinalities], _Floats]] = {
    "jaccard": lambda counted: counted.jaccard,
    "dice": lambda counted: counted.dice,
    "cosine": lambda counted: counted.cosine,
    "overlap": lambda counted: counted.overlap,
}


def soft_cardinality(
    X: ArrayLike | csr_array,
    S: TermSimilarityMatrix,
    *,
    term_weights: ArrayLike | None = None,
    exponent: float = 1.0,
    multiset: bool = False,
) -> _Floats:
    r"""Soft cardinality of every row of X (theory T17).

    .. math:: |A|' = \sum_i \frac{w_i}{\sum_j s_{ij}^p}

    n equal elements count 1/n each, so together they count as one.

    Parameters
    ----------
    X : array or sparse array of shape (n_sets, n_terms)
        Non-negative. The elements of a set are the terms above 0, and the values are their
        weights: ones, or tf-idf.
    S : TermSimilarityMatrix of order n_terms, symmetric and non-negative
    term_weights : array of shape (n_terms,), optional
        Factors of the weights, such as idf.
    exponent : float
        p, above 0: with a higher exponent, medium similarities count less.
    multiset : bool
        Whether values are numbers of equal elements instead, such as term frequencies.
        Repetitions do not add to the cardinality, but reduce the weight of similar elements.

    Returns
    -------
    ndarray of shape (n_sets,), float64

    Raises
    ------
    InvalidInputError
        If a value is negative or not finite, or S is asymmetric.
    VocabularyMismatchError
        If X and S have different numbers of terms.

    Examples
    --------
    Two words of similarity 0.5 have soft cardinality 4/3:

    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    >>> soft_cardinality([[1, 1, 0], [1, 0, 1]], S).round(3)
    array([1.333, 2.   ])
    """
    counting = _Counting.of(S, term_weights, exponent, multiset)
    return counting.counted(counting.sets(X, "X"))


def paired_soft_cardinalities(
    X: ArrayLike | csr_array,
    Y: ArrayLike | csr_array,
    S: TermSimilarityMatrix,
    *,
    term_weights: ArrayLike | None = None,
    exponent: float = 1.0,
    multiset: bool = False,
) -> SoftCardinalities:
    """Soft cardinalities of row i of X, of row i of Y and of their union, each of shape (n,).

    Parameters and errors as for `soft_cardinality`. In the union a common element has the larger
    of its weights.
    """
    counting = _Counting.of(S, term_weights, exponent, multiset)
    left, right = counting.sets(X, "X"), counting.sets(Y, "Y")
    if len(left) != len(right):
        raise InvalidInputError(
            f"X has {len(left)} rows and Y has {len(right)}; pairs need as many of both."
        )
    rows = np.arange(len(left))
    return SoftCardinalities(
        counting.counted(left),
        counting.counted(right),
        counting.united(left, right, rows, rows),
    )


def paired_soft_set_similarity(
    X: ArrayLike | csr_array,
    Y: ArrayLike | csr_array,
    S: TermSimilarityMatrix,
    *,
    measure: str = "jaccard",
    term_weights: ArrayLike | None = None,
    exponent: float = 1.0,
    multiset: bool = False,
) -> _Floats:
    """Soft set measure of row i of X with row i of Y, shape (n,), float64.

    Parameters as for `soft_set_similarity`.

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    >>> paired_soft_set_similarity([[1, 0], [1, 0]], [[0, 1], [1, 0]], S).round(3)
    array([0.5, 1. ])
    """
    formula = _formula(measure)
    return formula(
        paired_soft_cardinalities(
            X, Y, S, term_weights=term_weights, exponent=exponent, multiset=multiset
        )
    )


def soft_set_similarity(
    X: ArrayLike | csr_array,
    Y: ArrayLike | csr_array | None,
    S: TermSimilarityMatrix,
    *,
    measure: str = "jaccard",
    term_weights: ArrayLike | None = None,
    exponent: float = 1.0,
    multiset: bool = False,
) -> _Floats:
    """Soft set measure of every row of X with every row of Y (theory T17).

    Parameters
    ----------
    X : array or sparse array of shape (n_x, n_terms)
    Y : array or sparse array of shape (n_y, n_terms), or None for X itself
    S, term_weights, exponent, multiset
        As for `soft_cardinality`.
    measure : {"jaccard", "dice", "cosine", "overlap"}
        See `SoftCardinalities`.

    Returns
    -------
    ndarray of shape (n_x, n_y), float64

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    >>> soft_set_similarity([[1, 0], [1, 1]], None, S, measure="dice").round(3)
    array([[1.   , 0.857],
           [0.857, 1.   ]])
    """
    formula = _formula(measure)
    counting = _Counting.of(S, term_weights, exponent, multiset)
    left = counting.sets(X, "X")
    right = left if Y is None else counting.sets(Y, "Y")
    x_counts, y_counts = counting.counted(left), counting.counted(right)
    result = np.empty((len(left), len(right)))
    step = max(1, _BLOCK // max(1, len(right)))
    for start in range(0, len(left), step):
        rows = np.arange(start, min(start + step, len(left)))
        united = counting.united(
            left, right, np.repeat(rows, len(right)), np.tile(np.arange(len(right)), len(rows))
        )
        counted = SoftCardinalities(
            x_counts[rows, None], y_counts, united.reshape(len(rows), len(right))
        )
        result[rows] = formula(counted)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class _Sets:
    """Rows in the form of kernels: terms above 0, with weight and amount."""

    pointers: NDArray[np.int64]
    terms: NDArray[np.int32]
    weights: _Floats
    amounts: _Floats

    def __len__(self) -> int:
        return len(self.pointers) - 1

    @property
    def longest(self) -> int:
        return int(np.diff(self.pointers).max(initial=0))


@dataclass(frozen=True, slots=True, eq=False)
class _Counting:
    """S raised to p, and the interpretation of values."""

    S: tuple[NDArray[np.int64], NDArray[np.int32], _Floats]
    term_weights: _Floats
    multiset: bool

    @classmethod
    def of(
        cls, S: TermSimilarityMatrix, term_weights: Any, exponent: Any, multiset: bool
    ) -> _Counting:
        checked_similarity(S).require_symmetric("a set measure")
        if not S.non_negative:
            raise InvalidInputError(
                "S has negative entries; of what is alike, a set measure needs a degree of 0 or "
                "more. Build S from a source, or replace them by 0."
            )
        check_number("exponent", exponent, above=0)
        indptr, indices, data = S.arrays
        with np.errstate(over="ignore"):
            powers = data.astype(np.float64) ** float(exponent)
        if not np.isfinite(powers).all():
            raise InvalidInputError(
                f"S has {data.max():g}, which cannot be raised to the exponent {exponent!r}; take "
                "a smaller one."
            )
        return cls((indptr, indices, powers), checked_weights(term_weights, len(S)), multiset)

    def sets(self, X: Any, name: str) -> _Sets:
        matrix = checked_matrix(X, len(self.term_weights), name)
        if matrix.nnz and matrix.data.min() < 0:
            row = int(np.searchsorted(matrix.indptr, int(matrix.data.argmin()), "right")) - 1
            raise InvalidInputError(
                f"{name} has {matrix.data.min():g} in row {row}; weights of elements, and their "
                "numbers, are 0 or more."
            )
        if np.any(matrix.data == 0):  # terms of weight 0 are no elements
            matrix = matrix.copy()
            matrix.eliminate_zeros()
        terms = np.ascontiguousarray(matrix.indices, np.int32)
        values, ones = np.ascontiguousarray(matrix.data), np.ones(matrix.nnz)
        weights = (ones if self.multiset else values) * self.term_weights[terms]
        largest = max(values.max(initial=0.0), weights.max(initial=0.0))
        if largest > _MOST:
            raise InvalidInputError(
                f"{name} holds {largest:g}, weights of terms included; scale it down to {_MOST:g}."
            )
        pointers = np.ascontiguousarray(matrix.indptr, np.int64)
        return _Sets(pointers, terms, weights, values if self.multiset else ones)

    def counted(self, sets: _Sets) -> _Floats:
        out = np.empty(len(sets))
        cardinalities(
            sets.pointers, sets.terms, sets.weights, sets.amounts, *self.S,
            np.zeros(len(self.term_weights)), out,
        )  # fmt: skip
        return out

    def united(
        self, left: _Sets, right: _Sets, rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> _Floats:
        out = np.empty(len(rows))
        room = left.longest + right.longest
        union_cardinalities(
            left.pointers, left.terms, left.weights, left.amounts,
            right.pointers, right.terms, right.weights, right.amounts, rows, columns, *self.S,
            np.zeros(len(self.term_weights)),
            np.empty(room, np.int32), np.empty(room), np.empty(room), out,
        )  # fmt: skip
        return out


def _formula(measure: str) -> Callable[[SoftCardinalities], _Floats]:
    check_choice("set measure", measure, SET_MEASURES)
    return SET_MEASURES[measure]


def _ratio(above: _Floats, below: _Floats) -> _Floats:
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.zeros(below.shape), where=below > 0)
