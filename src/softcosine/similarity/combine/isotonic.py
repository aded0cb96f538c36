"""Isotonic regression: the increasing map that fits judgements best, with few knots."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._validation import check_number, check_whole
from softcosine.errors import InvalidInputError

__all__ = ["Calibration"]

_MOST = 0.999  # maximum calibrated similarity of different strings
_MAX_KNOTS = 8
_PRIOR = 5.0  # weight of the identity in each group, in pairs


@dataclass(frozen=True, slots=True)
class Calibration:
    r"""A strictly increasing piecewise linear map of [0, 1] into itself, with 0 for 0.

    It is fitted by isotonic regression: the knots are the means of the blocks of the pool adjacent
    violators algorithm (Barlow et al. 1972), joined by lines.

    Attributes
    ----------
    raw : tuple of float
        Raw similarities of the knots, strictly increasing from 0 to 1.
    judged : tuple of float
        Calibrated similarities of the knots, strictly increasing from 0 to less than 1, also as
        float32.
    fitted_on : str
        Description of the judgements.
    n_pairs : int
        Number of pairs used: those with a raw similarity above 0.

    Examples
    --------
    >>> calibration = Calibration((0, 0.5, 1), (0, 0.2, 0.9))
    >>> calibration(np.array([0, 0.25, 0.5, 0.75, 1])).round(3).tolist()
    [0.0, 0.10000000149011612, 0.20000000298023224, 0.550000011920929, 0.8999999761581421]
    """

    raw: tuple[float, ...] = (0.0, 1.0)
    judged: tuple[float, ...] = (0.0, _MOST)
    fitted_on: str = ""
    n_pairs: int = 0

    def __post_init__(self) -> None:
        x, y = (tuple(map(float, knots)) for knots in (self.raw, self.judged))
        object.__setattr__(self, "raw", x)
        object.__setattr__(self, "judged", y)
        rising = all(a < b for knots in (x, y) for a, b in pairwise(knots))
        ends = len(x) >= 2 and len(x) == len(y) and x[0] == y[0] == 0.0 and x[-1] == 1.0
        if not (rising and ends and np.float32(y[-1]) < 1.0):
            raise InvalidInputError(
                f"the knots are {list(x)} and {list(y)}; needed are as many of both, rising "
                "strictly, raw ones from 0 to 1 and judged ones from 0 to less than 1."
            )

    @classmethod
    def fit(
        cls,
        raw: ArrayLike,
        judged: ArrayLike,
        *,
        fitted_on: str = "pairs that were given",
        max_knots: int = _MAX_KNOTS,
        prior: float = _PRIOR,
    ) -> Calibration:
        """Fit by isotonic regression of judgements on raw similarities.

        The pairs are divided by raw similarity into groups of about equal size. Equal values stay
        in one group, and the value 1 has its own. The mean judgement of a group is shrunk towards
        its mean raw similarity, as if `prior` further pairs confirmed the source; likewise at raw
        similarity 1. Few pairs therefore change the map little, and no pairs give the identity.

        Parameters
        ----------
        raw, judged : array-like of shape (n_pairs,)
            In [0, 1]. Pairs of raw similarity 0 are ignored, because the map is 0 there.
        fitted_on : str
        max_knots : int
            Maximum number of knots between both ends.
        prior : float
            Weight of the identity, in pairs; above 0.

        Raises
        ------
        InvalidInputError
            If values are not finite numbers in [0, 1], or the lengths differ.
        """
        check_whole("max_knots", max_knots)
        check_number("prior", prior, above=0)
        x, y = np.asarray(raw, np.float64).ravel(), np.asarray(judged, np.float64).ravel()
        if len(x) != len(y):
            raise InvalidInputError(
                f"there are {len(x)} similarities but {len(y)} judgements; one belongs to one."
            )
        for values, what in ((x, "similarity"), (y, "judgement")):
            wrong = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))
            if len(wrong):
                raise InvalidInputError(
                    f"{what} number {wrong[0]} is {values[wrong[0]]}; needed are numbers in "
                    "[0, 1]: divide judgements by the greatest that their scale has."
                )
        x, y = x[x > 0.0], y[x > 0.0]
        points = [
            (n + prior, mean, (n * value + prior * mean) / (n + prior))
            for whole in (False, True)
            for n, mean, value in _groups(x[(x == 1.0) == whole], y[(x == 1.0) == whole], max_knots)
        ]
        if not points or points[-1][1] < 1.0:
            points.append((prior, 1.0, 1.0))
        return cls(*_knots(_pooled(points)), fitted_on, len(x))

    def __call__(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Map similarities in [0, 1]; the shape is preserved."""
        x, y = np.array(self.raw), np.array(self.judged)
        slopes = np.diff(y) / np.diff(x)
        raw = values.astype(np.float64)
        piece = np.searchsorted(x[1:-1], raw, side="right")
        answer: NDArray[np.float64] = y[piece] + slopes[piece] * (raw - x[piece])
        # Rounding must not make a segment end above the start of the next one.
        np.minimum(answer, y[piece + 1], out=answer)
        return answer.astype(np.float32)

    def of_power(self, exponent: float) -> Calibration:
        """Return the calibration of a source whose similarities are raised to a power.

        Knots and points between them are transformed, so that each pair keeps its calibrated
        similarity.
        """
        x = np.array(self.raw)
        x = np.unique(np.concatenate([x[:-1] + np.diff(x) * part for part in (0, 0.25, 0.5, 0.75)]))
        x = np.append(x, 1.0)
        y = np.interp(x, self.raw, self.judged)
        powers = x**exponent
        # Merge knots that the power makes equal, and knots that equal 0 in float32.
        stay = (np.diff(powers, prepend=-1.0) > np.finfo(np.float32).tiny) & (powers < 1.0)
        stay[-1] = True
        return Calibration(
            tuple(powers[stay].tolist()), tuple(y[stay].tolist()), self.fitted_on, self.n_pairs
        )


def _groups(
    x: NDArray[np.float64], y: NDArray[np.float64], n_groups: int
) -> list[tuple[float, float, float]]:
    """Divide pairs by x into at most `n_groups`: number of pairs, mean x, mean y of each."""
    _, where, counts = np.unique(x, return_inverse=True, return_counts=True)
    # A value belongs to the group that contains the median of its pairs.
    middle = np.cumsum(counts) - counts / 2.0
    group = (middle * n_groups / max(len(x), 1)).astype(np.int64)[where]
    sizes = np.bincount(group, minlength=1)
    found = np.flatnonzero(sizes)
    n = sizes[found].astype(np.float64)
    mean_x = np.bincount(group, weights=x)[found] / n if len(found) else n
    mean_y = np.bincount(group, weights=y)[found] / n if len(found) else n
    return list(zip(n.tolist(), mean_x.tolist(), mean_y.tolist(), strict=True))


def _pooled(points: list[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """Pool adjacent violators: points with increasing x become blocks with increasing y."""
    blocks: list[tuple[float, float, float]] = []
    for block in points:
        while blocks and blocks[-1][2] >= block[2]:
            (n, x, y), (m, u, v) = blocks.pop(), block
            block = (n + m, (n * x + m * u) / (n + m), (n * y + m * v) / (n + m))
        blocks.append(block)
    return blocks


def _knots(blocks: list[tuple[float, float, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the knots of the blocks, with both ends."""
    # If the last block was pooled from several groups, the map must still increase a little.
    _, last_x, last_y = blocks[-1]
    end = min(_MOST, last_y + 0.01 * (1.0 - last_x))
    inner = [(x, y) for _, x, y in blocks if x < 1.0 and 0.0 < y < end]
    return (0.0, *(x for x, _ in inner), 1.0), (0.0, *(y for _, y in inner), end)
