"""Significance of differences: paired bootstrap and randomisation test.

Both are paired: the systems run on the same queries, so only their difference varies. The same
seed and input give the same bits (with the same NumPy and number of threads). Memory is bounded
for any number of resamples.

The bootstrap (Efron and Tibshirani 1993; for retrieval, Sakai 2006) draws the units with
replacement and computes the statistic of each resample, so it works for correlations as well as
means. The interval has the percentiles of the resamples; p is twice the smaller share of resamples
on one side of 0. The randomisation test (Fisher; for retrieval, Smucker, Allan and Carterette
2007) computes how often the difference is as large if the two systems are exchanged at random for
each query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._validation import check_number, check_whole
from softcosine.errors import InvalidInputError
from softcosine.evaluate.statistics import Mean, Statistic

N_RESAMPLES = 10_000
CONFIDENCE = 0.95
_ROUNDING = 1e-12
_CHUNK = 1 << 20  # counts at a time: 8 MB


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference with its bootstrap interval.

    Attributes
    ----------
    difference : float
        Observed difference.
    low, high : float
        Percentile interval of the bootstrap.
    p : float
        Two-sided p of no difference; between 0 and 1, never 0.
    """

    difference: float
    low: float
    high: float
    p: float

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0.0 or self.high < 0.0

    def to_dict(self) -> dict[str, float]:
        """Return the attributes for JSON."""
        return asdict(self)


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    *,
    n_resamples: int = N_RESAMPLES,
    confidence: float = CONFIDENCE,
    random_state: int = 0,
) -> Interval:
    """Return the difference of two means over the same units, ``mean(a) - mean(b)``.

    Parameters
    ----------
    a, b : array of shape (n_units,)
        Values per unit in the same order, such as the average precision of every query.
    n_resamples : int
    confidence : float
        Confidence of the interval.
    random_state : int

    Raises
    ------
    InvalidInputError
        If the shapes differ, there is no unit, or a value is not finite.

    Examples
    --------
    >>> found = paired_bootstrap([0.5, 0.6, 0.7, 0.9], [0.4, 0.6, 0.5, 0.6])
    >>> f"{found.difference:.2f} [{found.low:.2f}, {found.high:.2f}]"
    '0.15 [0.05, 0.25]'
    """
    left, right = _paired(a, b)
    differences = bootstrap(
        [Mean(left - right)], n_resamples=n_resamples, random_state=random_state
    )[0]
    return interval_of(float(np.mean(left - right)), differences, confidence=confidence)


def paired_bootstrap_of_collections(
    a: Sequence[ArrayLike],
    b: Sequence[ArrayLike],
    *,
    relative: bool = False,
    n_resamples: int = N_RESAMPLES,
    confidence: float = CONFIDENCE,
    random_state: int = 0,
) -> Interval:
    """Return the mean difference over collections, which are resampled separately.

    Every collection has the same weight, whatever its number of queries.

    Parameters
    ----------
    a, b : sequence of arrays of shape (n_units of the collection,)
    relative : bool
        Whether to use ``mean(a) / mean(b) - 1`` of every collection instead of the difference.
    n_resamples, confidence, random_state
        See `paired_bootstrap`.

    Raises
    ------
    InvalidInputError
        See `paired_bootstrap`; also if `relative` and a mean of `b` is 0.
    """
    if len(a) != len(b) or not len(a):
        raise InvalidInputError(f"{len(a)} and {len(b)} collections were given; pair them.")
    check_settings(n_resamples, confidence)
    observed, differences = 0.0, np.zeros(n_resamples)
    for position, (one, other) in enumerate(zip(a, b, strict=True)):
        left, right = _paired(one, other)
        if relative and right.mean() == 0.0:
            raise InvalidInputError(
                f"the mean of collection {position} is 0, so a relative gain is undefined."
            )
        ours, theirs = bootstrap(
            [Mean(left), Mean(right)], n_resamples=n_resamples,
            random_state=(random_state, position),
        )  # fmt: skip
        observed += _gain(left.mean(keepdims=True), right.mean(keepdims=True), relative)[0]
        differences += _gain(ours, theirs, relative)
    return interval_of(observed / len(a), differences / len(a), confidence=confidence)


def bootstrap(
    statistics: Sequence[Statistic],
    *,
    n_resamples: int = N_RESAMPLES,
    random_state: int | tuple[int, ...] = 0,
) -> NDArray[np.float64]:
    """Return the value of every statistic on the same resamples.

    Parameters
    ----------
    statistics : sequence of Statistic
        Statistics of the same sample.
    n_resamples : int
    random_state : int or tuple of int

    Returns
    -------
    ndarray of shape (n_statistics, n_resamples), float64
        The difference of two rows is the paired bootstrap of the difference.

    Raises
    ------
    InvalidInputError
        If the samples have different sizes, or `n_resamples` is less than 1.
    """
    sizes = {statistic.n_units for statistic in statistics}
    if len(sizes) != 1 or sizes == {0}:
        raise InvalidInputError(
            f"statistics of {sorted(sizes)} units were given; needed are those of one sample."
        )
    check_settings(n_resamples)
    result = np.empty((len(statistics), n_resamples))
    start = 0
    for counts in resampled_counts(sizes.pop(), n_resamples, random_state):
        stop = start + counts.shape[0]
        for row, statistic in enumerate(statistics):
            result[row, start:stop] = statistic.resampled(counts)
        start = stop
    return result


def resampled_counts(
    n_units: int, n_resamples: int, random_state: int | tuple[int, ...] = 0
) -> Iterator[NDArray[np.float64]]:
    """Yield the number of draws of each unit in chunks of resamples, shape (n_rows, n_units)."""
    check_settings(n_resamples)
    rng = np.random.default_rng(random_state)
    for n_rows in _chunks(n_units, n_resamples):
        drawn = rng.integers(0, n_units, (n_rows, n_units))
        drawn += np.arange(n_rows)[:, None] * n_units
        counts = np.bincount(drawn.ravel(), minlength=n_rows * n_units)
        yield counts.reshape(n_rows, n_units).astype(np.float64)


def interval_of(
    difference: float, resampled: NDArray[np.float64], *, confidence: float = CONFIDENCE
) -> Interval:
    """Return the interval of an observed difference from the differences of the resamples."""
    check_settings(resampled.shape[0], confidence)
    # Equal values summed in another order differ by rounding, which must not count.
    resampled = np.where(np.abs(resampled) < _ROUNDING, 0.0, resampled)
    tail = 0.5 * (1.0 - confidence)
    low, high = np.quantile(resampled, [tail, 1.0 - tail])
    one_side = min(int(np.sum(resampled <= 0.0)), int(np.sum(resampled >= 0.0)))
    p = min(1.0, 2.0 * (one_side + 1) / (resampled.shape[0] + 1))
    return Interval(difference, float(low), float(high), p)


def randomization_test(
    a: ArrayLike, b: ArrayLike, *, n_resamples: int = N_RESAMPLES, random_state: int = 0
) -> float:
    """Return the two-sided p of no difference between two means over the same units.

    Parameters
    ----------
    a, b : array of shape (n_units,)
    n_resamples : int
        Number of random exchanges; the observed order counts as one more, so p is never 0.
    random_state : int

    Raises
    ------
    InvalidInputError
        See `paired_bootstrap`.

    Examples
    --------
    >>> round(randomization_test([0.5, 0.6, 0.7, 0.9], [0.4, 0.6, 0.5, 0.6]), 2)
    0.25
    """
    check_settings(n_resamples)
    left, right = _paired(a, b)
    differences = left - right
    n = differences.shape[0]
    # Sums of the same numbers in another order can differ by rounding.
    least = abs(float(differences.sum())) - _ROUNDING * float(np.abs(differences).sum())
    rng = np.random.default_rng(random_state)
    n_as_large = 0
    for n_rows in _chunks(n, n_resamples):
        kept = rng.integers(0, 2, (n_rows, n), dtype=np.int8)
        sums = (2.0 * kept - 1.0) @ differences
        n_as_large += int(np.sum(np.abs(sums) >= least))
    return (n_as_large + 1) / (n_resamples + 1)


def holm(p: Sequence[float]) -> list[float]:
    """Return p values adjusted for several comparisons by Holm's method, in the same order.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda place: p[place])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[place]))
        adjusted[place] = largest
    return adjusted


def _gain(
    left: NDArray[np.float64], right: NDArray[np.float64], relative: bool
) -> NDArray[np.float64]:
    return relative_gains(left, right) if relative else left - right


def relative_gains(values: NDArray[np.float64], base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``values / base - 1``; 0 where `base` is 0."""
    return np.divide(values, base, out=np.ones_like(values), where=base != 0.0) - 1.0


def _chunks(n_units: int, n_resamples: int) -> Iterator[int]:
    """Yield the numbers of resamples per chunk; they depend only on the sizes."""
    step = max(1, _CHUNK // n_units)
    for start in range(0, n_resamples, step):
        yield min(step, n_resamples - start)


def _paired(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if left.ndim != 1 or left.shape != right.shape or left.shape[0] == 0:
        raise InvalidInputError(
            f"values of shape {left.shape} and {right.shape} were given; needed is one of each "
            "for the same units, and at least one unit."
        )
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise InvalidInputError("a value is NaN or infinite; every unit needs its number.")
    return left, right


def check_settings(n_resamples: int, confidence: float = CONFIDENCE) -> None:
    """Raise InvalidInputError if a setting is out of range."""
    check_whole("n_resamples", n_resamples)
    check_number("confidence", confidence, above=0, below=1)
