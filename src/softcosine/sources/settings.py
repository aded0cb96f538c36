"""What a setting has to be before its range is looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["is_number", "is_pair", "is_whole"]


def is_number(value: object) -> bool:
    """Whether a value is a real number."""
    return isinstance(value, int | float | np.integer | np.floating)


def is_whole(value: object) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_pair(value: object) -> bool:
    """Whether a value is a sequence of two, and no string of two characters."""
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2
