r"""Measures as statistics of a sample: their value, and their value on every resample.

A sample has n units: queries, test documents or pairs. A resample of the bootstrap draws n of them
with replacement, so all it takes is how often each unit was drawn. Every statistic computes its
value from these counts alone, for many resamples at once, as if the units had been repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = [
    "AreaUnderCurve",
    "AveragePrecision",
    "Correlation",
    "MacroF1",
    "Mean",
    "RankCorrelation",
    "Ratio",
    "Statistic",
    "midranks",
]

Values = NDArray[np.float64]
Counts = NDArray[np.float64]  # whole numbers, as products want them


class Statistic(Protocol):
    """A number of a sample."""

    @property
    def n_units(self) -> int:
        """How many units the sample has."""
        ...

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample.

        Parameters
        ----------
        counts : ndarray of shape (n_resamples, n_units), float64
            How often each unit was drawn: whole numbers.

        Returns
        -------
        ndarray of shape (n_resamples,), float64
            Never NaN.
        """
        ...


@dataclass(frozen=True)
class Mean:
    """The mean of a value of every unit, such as the average precision of every query."""

    values: Values

    @property
    def n_units(self) -> int:
        """How many units the sample has."""
        return int(self.values.shape[0])

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample, see `Statistic`."""
        return _divided(counts @ self.values, counts.sum(axis=1))


@dataclass(frozen=True)
class Ratio:
    """The sum of one value over the sum of another, such as errors over decisions.

    0 where nothing is divided by.
    """

    numerators: Values
    denominators: Values

    @property
    def n_units(self) -> int:
        """How many units the sample has."""
        return int(self.numerators.shape[0])

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample, see `Statistic`."""
        return _divided(counts @ self.numerators, counts @ self.denominators)


@dataclass(frozen=True)
class MacroF1:
    """The mean over classes of F1, and its mean over splits.

    A class that is neither there nor predicted counts 0, as in scikit-learn.

    Parameters
    ----------
    n_units : int
    n_classes : int
    splits : sequence of (units, labels, predicted)
        The units that a split tests, the class of each and what was predicted for it.
    """

    n_units: int
    n_classes: int
    splits: Sequence[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample, see `Statistic`."""
        shape = (counts.shape[0], len(self.splits), 2, self.n_classes)
        summed = (counts @ self._counted).reshape(shape)
        f1 = _divided(2.0 * summed[:, :, 0], summed[:, :, 1])
        return np.asarray(f1.mean(axis=(1, 2)))

    @cached_property
    def _counted(self) -> csr_array:
        """What a unit adds: for every split, to the hits of every class, and to both totals."""
        rows, columns = [], []
        for split, (units, labels, predicted) in enumerate(self.splits):
            hit, first = labels == predicted, 2 * split * self.n_classes
            total = first + self.n_classes
            rows += [units[hit], units, units]
            columns += [first + labels[hit], total + labels, total + predicted]
        places = np.concatenate(rows), np.concatenate(columns)
        shape = (self.n_units, 2 * len(self.splits) * self.n_classes)
        return csr_array((np.ones(len(places[0])), places), shape)  # adds what falls together


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation of two values of every unit; 0 where one of them is constant."""

    left: Values
    right: Values

    @property
    def n_units(self) -> int:
        """How many units the sample has."""
        return int(self.left.shape[0])

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample, see `Statistic`."""
        return _correlation(counts, _standard(self.left)[None], _standard(self.right)[None])


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's correlation: Pearson's of ranks, equal values sharing the mean of theirs."""

    left: Values
    right: Values

    @property
    def n_units(self) -> int:
        """How many units the sample has."""
        return int(self.left.shape[0])

    @cached_property
    def _groups(self) -> tuple[_Groups, _Groups]:
        return _Groups.of(self.left), _Groups.of(self.right)

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample, see `Statistic`."""
        left, right = self._groups
        return _correlation(counts, left.ranks(counts), right.ranks(counts))


@dataclass(frozen=True)
class AreaUnderCurve:
    """How often a unit of label 1 scores above one of label 0; equal scores count half.

    1/2 for a sample that lacks a label.
    """

    scores: Values
    labels: NDArray[np.bool_]

    @property
    def n_units(self) -> int:
        """How many units the sample has."""
        return int(self.scores.shape[0])

    @cached_property
    def _grouped(self) -> _Groups:
        return _Groups.of(self.scores)

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample, see `Statistic`."""
        positive = self._grouped.summed(counts * self.labels)
        negative = self._grouped.summed(counts * ~self.labels)
        below = np.cumsum(negative, axis=1) - negative
        won = (positive * (below + 0.5 * negative)).sum(axis=1)
        n_pairs = positive.sum(axis=1) * negative.sum(axis=1)
        return np.where(n_pairs > 0, _divided(won, n_pairs), 0.5)


@dataclass(frozen=True)
class AveragePrecision:
    """The mean precision at the ranks of units of label 1, equal scores at one common rank.

    As in scikit-learn; 0 for a sample without label 1.
    """

    scores: Values
    labels: NDArray[np.bool_]

    @property
    def n_units(self) -> int:
        """How many units the sample has."""
        return int(self.scores.shape[0])

    @cached_property
    def _grouped(self) -> _Groups:
        return _Groups.of(-self.scores)

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample, see `Statistic`."""
        positive = self._grouped.summed(counts * self.labels)
        found = np.cumsum(positive, axis=1)
        seen = np.cumsum(self._grouped.summed(counts), axis=1)
        return _divided((positive * _divided(found, seen)).sum(axis=1), found[:, -1])


@dataclass(frozen=True)
class _Groups:
    """Units in ascending order of a value, with equal values together."""

    order: NDArray[np.int64]  # units, sorted
    starts: NDArray[np.int64]  # of the groups, in that order
    group: NDArray[np.int64]  # of every unit

    @classmethod
    def of(cls, values: Values) -> _Groups:
        order = np.argsort(values, kind="stable")
        ascending = values[order]
        new = np.concatenate([[True], ascending[1:] != ascending[:-1]])
        group = np.empty(values.shape[0], np.int64)
        group[order] = np.cumsum(new) - 1
        return cls(order, np.flatnonzero(new), group)

    def summed(self, counts: Counts) -> Counts:
        """Return how many drawn units each group has, shape (n_resamples, n_groups)."""
        summed: Counts = np.add.reduceat(counts[:, self.order], self.starts, axis=1)
        return summed

    def ranks(self, counts: Counts) -> Values:
        """Return the mean rank of every unit, from 1, shape (n_resamples, n_units)."""
        drawn = self.summed(counts)
        return (np.cumsum(drawn, axis=1) - 0.5 * (drawn - 1))[:, self.group]


def midranks(values: Values) -> Values:
    """Return the rank of every value, from 1; equal values share the mean of theirs.

    Examples
    --------
    >>> midranks(np.array([0.5, 0.1, 0.5])).tolist()
    [2.5, 1.0, 2.5]
    """
    return np.asarray(_Groups.of(values).ranks(np.ones((1, values.shape[0])))[0])


def _correlation(counts: Counts, left: Values, right: Values) -> Values:
    """Return the weighted correlation of rows that may be the same for all resamples."""
    n = counts.sum(axis=1, keepdims=True)
    x = left - (counts * left).sum(axis=1, keepdims=True) / n
    y = right - (counts * right).sum(axis=1, keepdims=True) / n
    weighted = counts * x
    both = (weighted * y).sum(axis=1)
    own = (weighted * x).sum(axis=1) * (counts * y * y).sum(axis=1)
    # Of a constant sample, rounding may leave something that is no variance.
    return np.where(own > 1e-24 * n[:, 0] ** 2, np.clip(_divided(both, np.sqrt(own)), -1, 1), 0.0)


def _standard(values: Values) -> Values:
    """Return values of mean 0 and deviation 1, which differ little in size."""
    centered = values - values.mean()
    spread = np.sqrt(np.mean(centered**2))
    return centered / spread if spread > 0 else np.zeros_like(centered)


def _divided(left: NDArray[np.generic], right: NDArray[np.generic]) -> Values:
    """Return left / right, and 0 where right is 0."""
    result = np.zeros(np.broadcast_shapes(left.shape, right.shape))
    np.divide(left, right, out=result, where=right != 0)
    return result
