"""Decimal numbers in text, parsed many at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softcosine.kernels.jit import helper, kernel

__all__ = ["parse_decimals"]

_EXACT = 22  # the greatest power of ten that float64 holds exactly
_DIGITS = 18  # so many always fit into int64


@helper
def _scaled(digits: int, power: int) -> float:
    """Return ``digits * 10**power``: correctly rounded to float64 up to 2**53 and 10**22."""
    value = float(digits)
    if power < -330 - _DIGITS or digits == 0:
        return 0.0
    if power > 330:
        return np.inf
    while power < -_EXACT:
        value /= 1e22
        power += _EXACT
    while power > _EXACT:
        value *= 1e22
        power -= _EXACT
    factor = 1.0
    for _ in range(abs(power)):
        factor *= 10.0
    return value / factor if power < 0 else value * factor


@kernel("int64(uint8[::1], float32[::1])")
def parse_decimals(text: NDArray[np.uint8], numbers: NDArray[np.float32]) -> int:
    """Parse decimal numbers with single spaces between them; returns how many were good.

    text (n_bytes,) read: numbers such as ``-0.25`` or ``1e-3``; numbers (n,) out: correctly rounded
    for up to 15 digits and exponents up to 22, within one unit in the last place of float32 beyond;
    infinity above the range of float32. Parsing stops at the first thing that is not a number, and
    when `numbers` is full; all is well if n is returned. O(n_bytes).
    """
    n_bytes = text.shape[0]
    place = 0
    for number in range(numbers.shape[0]):
        negative = place < n_bytes and text[place] == 45  # -
        if place < n_bytes and (text[place] == 45 or text[place] == 43):  # - +
            place += 1
        digits = 0
        n_digits = 0  # significant ones that were taken
        n_seen = 0
        power = 0
        after_point = False
        while place < n_bytes:
            byte = int(text[place])
            if 48 <= byte <= 57:
                n_seen += 1
                if n_digits < _DIGITS:
                    digits = digits * 10 + (byte - 48)
                    n_digits += digits > 0
                    power -= after_point
                else:
                    power += not after_point
            elif byte == 46 and not after_point:  # .
                after_point = True
            else:
                break
            place += 1
        if n_seen == 0:
            return number
        if place < n_bytes and (text[place] == 101 or text[place] == 69):  # e E
            place += 1
            down = place < n_bytes and text[place] == 45
            if place < n_bytes and (text[place] == 45 or text[place] == 43):
                place += 1
            exponent = 0
            start = place
            while place < n_bytes and 48 <= text[place] <= 57:
                exponent = min(exponent * 10 + (int(text[place]) - 48), 100_000)
                place += 1
            if place == start:
                return number
            power += -exponent if down else exponent
        if place < n_bytes and text[place] != 32:
            return number
        place += 1
        value = _scaled(digits, power)
        if value > 3.4028235677973366e38:  # the first that rounds to infinity
            value = np.inf
        numbers[number] = -value if negative else value
    return len(numbers)
