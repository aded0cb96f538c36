"""Error bounds of approximate scores (theory, "Exactness of the two-stage search")."""

from __future__ import annotations

import numpy as np

# Unit roundoff of columns and panels, which store the upper half of a float32.
HALF = 2.0**-8
SUM_MARGIN = 1.0 + 1e-6  # above the rounding errors of sums of 2**31 numbers in float64
_UNIT_ROUNDOFF = 2.0**-24  # of float32
_OTHER_ROUNDINGS = 16  # of a weight, a value and factors, beside the sums
_ABOVE_CHANCE = 12  # of 1 - slope (1 - c), and a sum with 1, on the scale of c
TINY, HUGE = 1e-30, 1e30  # range in which float32 neither underflows nor overflows, with a margin


def slack(n_summands: int, *, half: bool) -> float:
    """Return the factor of the k-th largest approximate score that a result must reach.

    Parameters
    ----------
    n_summands : int
        Maximum number of summands of a score.
    half : bool
        Whether a weight or value of each summand was rounded to the upper half of a float32.
    """
    gamma = _gamma(n_summands)
    ratio = (1.0 - gamma) / (1.0 + gamma)
    if half:
        ratio *= (1.0 - HALF) / (1.0 + HALF)
    # Round down by one more unit, because the bound itself is rounded to float32.
    return ratio * (1.0 - 4 * _UNIT_ROUNDOFF)


def relative_error(n_summands: int, *, half: bool) -> float:
    """Return the largest relative error of an approximate score, of parameters as of `slack`."""
    gamma = _gamma(n_summands)
    least = (1.0 - gamma) * (1.0 - HALF if half else 1.0)
    return (1.0 / least - 1.0) * (1.0 + _UNIT_ROUNDOFF)


def cosine_error(dimensions: int, slope: float = 1.0) -> float:
    """Return an upper bound of the error of a cosine in float32.

    Also after `softcosine.space.chance.above_chance`, which rounds numbers up to 2 slope + 1.
    """
    return slope * _gamma(dimensions + (0 if slope == 1.0 else _ABOVE_CHANCE))


def _gamma(n_summands: int) -> float:
    """Return M u / (1 - M u) for the M roundings of a score in float32."""
    gamma = (n_summands + _OTHER_ROUNDINGS) * _UNIT_ROUNDOFF
    return gamma / (1.0 - gamma)


def approximate_floor(minimum: float, unit: float) -> np.float32:
    """Return a minimum score on the approximate scale, on which `unit` is 1."""
    return np.float32(min(minimum / unit, HUGE) if minimum > 0 else 0.0)


def float32_holds(smallest: float, largest: float, *, least: float, most: float) -> bool:
    """Whether float32 neither underflows nor overflows.

    Parameters
    ----------
    smallest, largest : float
        Of the nonzero weights of the expanded query.
    least, most : float
        Of the values and factors, see `PreparedRanking`.
    """
    return 0.0 < largest < np.inf and smallest / largest * least >= TINY and most <= HUGE
