"""Search for good settings by changes of one setting at a time, within a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.tuning.settings import Settings
from softcosine.evaluate.tuning.space import DIMENSIONS, Space

# Function from settings to the values of all queries, shape (n_queries,).
Measured = Callable[[Settings], NDArray[np.float64]]

_LEAST_GAIN = 1e-9  # smaller differences of means count as equal


@dataclass(frozen=True, slots=True)
class Searched:
    """Settings tried by a search.

    Attributes
    ----------
    tried : tuple of Settings
        In the order of the search; the first is the default.
    complete : bool
        Whether the search ended within the budget.
    """

    tried: tuple[Settings, ...]
    complete: bool

    def chosen(self, measured: Measured, rows: NDArray[np.int64], rule: str) -> Settings:
        """Return the settings that a rule chooses by the values of the given queries."""
        return RULES[rule](self.tried, measured, rows)


class _SpentError(Exception):
    """The budget is spent."""


def search(space: Space, measured: Measured, rows: NDArray[np.int64], *, budget: int) -> Searched:
    """Return the settings tried by a coordinate search from each start.

    The first round tries all values of each setting in turn and keeps the best. Further rounds try
    the next smaller and the next larger value of numbers, until a round changes nothing. The search
    tries only a small subset of the space.

    Parameters
    ----------
    space : Space
    measured : callable
    rows : ndarray of shape (n,), int64
        The queries to use.
    budget : int
        Maximum number of settings, 1 or more. Each start gets its share of the rest.
    """
    tried: dict[str, Settings] = {}
    means: dict[str, float] = {}
    starts = space.starts()
    complete = True

    def mean(settings: Settings, *, most: int) -> float:
        key = settings.key()
        if key not in means:
            if len(tried) >= most:
                raise _SpentError
            means[key] = float(measured(settings)[rows].mean())
            tried[key] = settings
        return means[key]

    for number, start in enumerate(starts):
        left = budget - len(tried)
        most = len(tried) + -(-left // (len(starts) - number))
        try:
            _climb(space, start, partial(mean, most=most))
        except _SpentError:
            complete = False
    return Searched(tuple(tried.values()), complete)


def _climb(space: Space, start: Settings, mean: Callable[[Settings], float]) -> None:
    current, best = start, mean(start)
    for round_ in count():
        before = current
        for dimension in DIMENSIONS:
            for moved in space.moves(current, dimension, near=round_ > 0):
                found = mean(moved)
                if found > best + _LEAST_GAIN:
                    current, best = moved, found
        if current == before:
            return


def _by_mean(tried: tuple[Settings, ...], measured: Measured, rows: NDArray[np.int64]) -> Settings:
    """Return the settings with the best mean; the first of equal ones."""
    means = [float(measured(settings)[rows].mean()) for settings in tried]
    return tried[int(np.argmax(np.array(means) > max(means) - _LEAST_GAIN))]


def _by_one_standard_error(
    tried: tuple[Settings, ...], measured: Measured, rows: NDArray[np.int64]
) -> Settings:
    """Return the settings closest to the default within one standard error of the best.

    The standard error is that of the paired differences per query (Breiman et al. 1984, with paired
    errors). Of equally close settings, the better ones are returned.
    """
    best = measured(_by_mean(tried, measured, rows))[rows]
    near = []
    for place, settings in enumerate(tried):
        own = measured(settings)[rows]
        shortfall = best - own
        error = float(shortfall.std(ddof=1)) / len(rows) ** 0.5 if len(rows) > 1 else 0.0
        if shortfall.mean() <= error + _LEAST_GAIN:
            n_changes = len(settings.differences(tried[0]))
            near.append((n_changes, -float(own.mean()), place))
    return tried[min(near)[2]]


RULES: dict[str, Callable[..., Settings]] = {
    "one_se": _by_one_standard_error,
    "mean": _by_mean,
}
