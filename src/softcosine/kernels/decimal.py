"""Parsing of lines with a word and decimal numbers, many at a time."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel

_EXACT = 22  # the largest power of ten that float64 holds exactly
_POWERS = np.array([float(f"1e{power}") for power in range(_EXACT + 1)])
_DIGITS = 18  # number of digits that always fit into int64


@helper
def _count_spaces(text):
    """Return the number of spaces, or -1 if two are adjacent; vectorises, unlike a branch."""
    spaces = np.int32(0)
    for i in range(text.shape[0]):
        spaces = np.int32(spaces + np.int32(text[i] == 32))
    left = text[:-1]
    right = text[1:]
    doubled = np.int32(0)
    for i in range(right.shape[0]):
        doubled = np.int32(doubled + np.int32((left[i] == 32) & (right[i] == 32)))
    return -1 if doubled else int(spaces)


@kernel("void(uint8[::1], int64[::1], int64[::1], int64[::1], int32[::1])")
def find_words(text, starts, word_ends, ends, n_spaces):
    """Find the first word of every line.

    text (n_bytes,) read; starts, ends (n_lines,) changed: on entry line ``i`` with its line feed is
    ``text[starts[i]:ends[i]]``, on exit it is stripped of spaces, carriage returns and line feeds;
    word_ends (n_lines,) out; n_spaces (n_lines,) out: number of spaces after the word, -1 if two
    are adjacent. O(n_bytes).
    """
    for line in range(starts.shape[0]):
        start = starts[line]
        end = ends[line]
        while start < end and (text[start] == 32 or text[start] == 13):
            start += 1
        while start < end and (text[end - 1] == 10 or text[end - 1] == 32 or text[end - 1] == 13):
            end -= 1
        place = start
        while place < end and text[place] != 32:
            place += 1
        starts[line] = start
        ends[line] = end
        word_ends[line] = place
        n_spaces[line] = _count_spaces(text[place:end])


@helper
def _scaled(digits, power):
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
    factor = float(_POWERS[abs(power)])
    return value / factor if power < 0 else value * factor


@helper
def _many_digits(text):
    """Return the first significant digits of a number with a point, and their power of ten."""
    digits = 0
    n_taken = 0
    power = 0
    after_point = False
    for byte in text:
        if byte == 46:
            after_point = True
        elif n_taken < _DIGITS:
            digits = digits * 10 + (int(byte) - 48)
            n_taken += digits > 0
            power -= after_point
        else:
            power += not after_point
    return digits, power


@kernel("void(uint8[::1], int64[::1], int64[::1], int64, int64, float32[:, ::1], int32[::1])")
def parse_rows(text, starts, ends, first, last, numbers, n_good):
    """Parse rows of decimal numbers separated by single spaces.

    text (n_bytes,) read; starts, ends (n_rows,) read: row ``i`` is ``text[starts[i]:ends[i]]``,
    with numbers such as ``-0.25`` or ``1e-3``; numbers (n_rows, d) out, only for rows `first` to
    `last`: correctly rounded up to 15 digits and exponents up to 22, otherwise within one unit in
    the last place of float32; n_good (n_rows,) out: d if the row is valid, else the number of
    values before the first that is invalid, not finite in float32, or beyond the d-th. O(n_bytes).
    """
    dimensions = numbers.shape[1]
    for row in range(first, last):
        place = starts[row]
        end = ends[row]
        n_good[row] = dimensions
        for column in range(dimensions):
            negative = place < end and text[place] == 45  # -
            if place < end and (text[place] == 45 or text[place] == 43):  # - +
                place += 1
            first_digit = place
            digits = 0
            while place < end and 48 <= text[place] <= 57:
                digits = digits * 10 + (int(text[place]) - 48)
                place += 1
            n_digits = place - first_digit
            power = 0
            if place < end and text[place] == 46:  # .
                place += 1
                first_decimal = place
                while place < end and 48 <= text[place] <= 57:
                    digits = digits * 10 + (int(text[place]) - 48)
                    place += 1
                power = first_decimal - place
                n_digits -= power
            if n_digits > _DIGITS:
                digits, power = _many_digits(text[first_digit:place])
            good = n_digits > 0
            if place < end and (text[place] == 101 or text[place] == 69):  # e E
                place += 1
                down = place < end and text[place] == 45
                if place < end and (text[place] == 45 or text[place] == 43):
                    place += 1
                exponent = 0
                exponent_start = place
                while place < end and 48 <= text[place] <= 57:
                    exponent = min(exponent * 10 + (int(text[place]) - 48), 100_000)
                    place += 1
                good &= place > exponent_start
                power += -exponent if down else exponent
            if column == dimensions - 1:
                good &= place == end
            else:
                good &= place < end and text[place] == 32
            value = _scaled(digits, power)
            if not good or value >= 3.4028235677973366e38:  # rounds to infinity
                n_good[row] = column
                break
            numbers[row, column] = -value if negative else value
            place += 1
