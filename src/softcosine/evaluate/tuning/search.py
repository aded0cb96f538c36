"""The search for good settings: one thing changed at a time, within a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.tuning.settings import Settings
from softcosine.evaluate.tuning.space import DIMENSIONS, Space

__all__ = ["RULES", "Measured", "Searched", "search"]

# Figures of all queries by some settings, shape (n_queries,).
Measured = Callable[[Settings], NDArray[np.float64]]

_LEAST_GAIN = 1e-9  # a mean that is larger by less is not larger


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search looked at.

    Attributes
    ----------
    tried : tuple of Settings
        In the order in which they were tried; the first is the default.
    complete : bool
        Whether it came to an end before the budget did.
    """

    tried: tuple[Settings, ...]
    complete: bool

    def chosen(self, measured: Measured, rows: NDArray[np.int64], rule: str) -> Settings:
        """Return the settings that a rule chooses by the figures of some queries."""
        return RULES[rule](self.tried, measured, rows)


class _SpentError(Exception):
    """The budget is at its end."""


def search(space: Space, measured: Measured, rows: NDArray[np.int64], *, budget: int) -> Searched:
    """Go from each start to settings that no single change makes better on the mean.

    Every setting is tried at all its values, one after the other, and the best is kept; then again,
    numbers at the next smaller and the next larger value, until a whole round changes nothing. What
    is tried depends on what was best before, so each search sees a part of the space only.

    Parameters
    ----------
    space : Space
    measured : callable
    rows : ndarray of shape (n,), int64
        The queries that may be looked at.
    budget : int
        How many settings may be tried, 1 or more. No start takes more than its share of what is
        left.
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
    """Return the first of the best."""
    means = [float(measured(settings)[rows].mean()) for settings in tried]
    return tried[int(np.argmax(np.array(means) > max(means) - _LEAST_GAIN))]


def _by_one_standard_error(
    tried: tuple[Settings, ...], measured: Measured, rows: NDArray[np.int64]
) -> Settings:
    """Return what differs least from the default among what is hardly worse than the best.

    Hardly worse: by no more than one standard error of the difference, query by query (Breiman et
    al. 1984, with paired errors). Of equally near ones the better.
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
