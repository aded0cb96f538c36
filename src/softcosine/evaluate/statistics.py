r"""Statistics of a sample and of its bootstrap resamples.

A sample has n units: queries, test documents or pairs. A resample draws n units with replacement,
so the number of draws of each unit describes it. Every statistic computes its value from these
counts, for many resamples at once, as if the units were repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Values = NDArray[np.float64]
Counts = NDArray[np.float64]  # whole numbers in float64, for matrix products


class Statistic(Protocol):
    """A statistic of a sample that can be computed on resamples."""

    @property
    def n_units(self) -> int:
        """Number of units of the sample."""
        ...

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample.

        Parameters
        ----------
        counts : ndarray of shape (n_resamples, n_units), float64
            Number of draws of each unit: whole numbers.

        Returns
        -------
        ndarray of shape (n_resamples,), float64
            Never NaN.
        """
        ...


@dataclass(frozen=True)
class Mean:
    """Mean of a value per unit, such as the average precision of every query."""

    values: Values

    @property
    def n_units(self) -> int:
        """Number of units of the sample."""
        return int(self.values.shape[0])

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample, see `Statistic`."""
        return _divided(counts @ self.values, counts.sum(axis=1))


@dataclass(frozen=True)
class Ratio:
    """Sum of one value divided by the sum of another, such as errors by decisions.

    0 if the denominator is 0.
    """

    numerators: Values
    denominators: Values

    @property
    def n_units(self) -> int:
        """Number of units of the sample."""
        return int(self.numerators.shape[0])

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample, see `Statistic`."""
        return _divided(counts @ self.numerators, counts @ self.denominators)


@dataclass(frozen=True)
class MacroF1:
    """Mean of F1 over classes and over splits.

    A class that neither occurs nor is predicted counts 0, as in scikit-learn.

    Parameters
    ----------
    n_units : int
    n_classes : int
    splits : sequence of (units, labels, predicted)
        Test units of a split, their classes and their predicted classes.
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
        """Contribution of each unit, per split and class, to hits and to both totals."""
        rows, columns = [], []
        for split, (units, labels, predicted) in enumerate(self.splits):
            hit, first = labels == predicted, 2 * split * self.n_classes
            total = first + self.n_classes
            rows += [units[hit], units, units]
            columns += [first + labels[hit], total + labels, total + predicted]
        places = np.concatenate(rows), np.concatenate(columns)
        shape = (self.n_units, 2 * len(self.splits) * self.n_classes)
        return csr_array((np.ones(len(places[0])), places), shape)  # sums duplicate entries


@dataclass(frozen=True)
class _Paired:
    """Two values per unit."""

    left: Values
    right: Values

    @property
    def n_units(self) -> int:
        """Number of units of the sample."""
        return int(self.left.shape[0])


@dataclass(frozen=True)
class Correlation(_Paired):
    """Pearson's correlation of two values per unit; 0 if one of them is constant."""

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample, see `Statistic`."""
        return _correlation(counts, _standard(self.left)[None], _standard(self.right)[None])


@dataclass(frozen=True)
class RankCorrelation(_Paired):
    """Spearman's correlation: Pearson's correlation of ranks, with mean ranks for equal values."""

    @cached_property
    def _groups(self) -> tuple[_Groups, _Groups]:
        return _Groups.of(self.left), _Groups.of(self.right)

    def resampled(self, counts: Counts) -> Values:
        """Return the value on every resample, see `Statistic`."""
        left, right = self._groups
        return _correlation(counts, left.ranks(counts), right.ranks(counts))


@dataclass(frozen=True)
class _Labelled:
    """A score and a label per unit."""

    scores: Values
    labels: NDArray[np.bool_]

    @property
    def n_units(self) -> int:
        """Number of units of the sample."""
        return int(self.scores.shape[0])


@dataclass(frozen=True)
class AreaUnderCurve(_Labelled):
    """Share of pairs with label 1 scored above label 0; equal scores count one half.

    1/2 for a sample without both labels.
    """

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
class AveragePrecision(_Labelled):
    """Mean precision at the ranks of units with label 1; equal scores share one rank.

    As in scikit-learn; 0 for a sample without label 1.
    """

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
    """Units sorted by a value, grouped by equal values."""

    order: NDArray[np.int64]  # units, sorted
    starts: NDArray[np.int64]  # start of each group in `order`
    group: NDArray[np.int64]  # group of every unit

    @classmethod
    def of(cls, values: Values) -> _Groups:
        order = np.argsort(values, kind="stable")
        ascending = values[order]
        new = np.concatenate([[True], ascending[1:] != ascending[:-1]])
        group = np.empty(values.shape[0], np.int64)
        group[order] = np.cumsum(new) - 1
        return cls(order, np.flatnonzero(new), group)

    def summed(self, counts: Counts) -> Counts:
        """Return the number of draws of each group, shape (n_resamples, n_groups)."""
        summed: Counts = np.add.reduceat(counts[:, self.order], self.starts, axis=1)
        return summed

    def ranks(self, counts: Counts) -> Values:
        """Return the mean rank of every unit, from 1, shape (n_resamples, n_units)."""
        drawn = self.summed(counts)
        return (np.cumsum(drawn, axis=1) - 0.5 * (drawn - 1))[:, self.group]


def midranks(values: Values) -> Values:
    """Return the rank of every value, from 1; equal values share their mean rank.

    Examples
    --------
    >>> midranks(np.array([0.5, 0.1, 0.5])).tolist()
    [2.5, 1.0, 2.5]
    """
    return np.asarray(_Groups.of(values).ranks(np.ones((1, values.shape[0])))[0])


def _correlation(counts: Counts, left: Values, right: Values) -> Values:
    """Return the weighted correlation per resample; one row can stand for all resamples."""
    n = counts.sum(axis=1, keepdims=True)
    x = left - (counts * left).sum(axis=1, keepdims=True) / n
    y = right - (counts * right).sum(axis=1, keepdims=True) / n
    weighted = counts * x
    both = (weighted * y).sum(axis=1)
    own = (weighted * x).sum(axis=1) * (counts * y * y).sum(axis=1)
    # Rounding can leave a tiny variance in a constant sample.
    return np.where(own > 1e-24 * n[:, 0] ** 2, np.clip(_divided(both, np.sqrt(own)), -1, 1), 0.0)


def _standard(values: Values) -> Values:
    """Return values of mean 0 and standard deviation 1, which limits rounding errors."""
    centered = values - values.mean()
    spread = np.sqrt(np.mean(centered**2))
    return centered / spread if spread > 0 else np.zeros_like(centered)


def _divided(left: NDArray[np.generic], right: NDArray[np.generic]) -> Values:
    """Return left / right, with 0 where right is 0."""
    result = np.zeros(np.broadcast_shapes(left.shape, right.shape))
    np.divide(left, right, out=result, where=right != 0)
    return result
