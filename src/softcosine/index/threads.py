"""How many threads work."""

from __future__ import annotations

import os

import numpy as np

from softcosine.errors import InvalidInputError

__all__ = ["n_threads"]


def n_threads(asked: int | None) -> int:
    """Return the number of threads: all processors for None, all but n - 1 for -n.

    Raises
    ------
    InvalidInputError
        If a number other than a whole one is asked for, or 0.
    """
    if asked is None:
        return os.cpu_count() or 1
    if isinstance(asked, bool) or not isinstance(asked, int | np.integer) or asked == 0:
        raise InvalidInputError(
            f"{asked!r} threads were asked for; pass a whole number, None for all processors, or "
            "a negative one to leave some free (-1: none)."
        )
    # Counting processors asks the operating system: not where nobody wants to know.
    return int(asked) if asked > 0 else max(1, (os.cpu_count() or 1) + 1 + int(asked))
