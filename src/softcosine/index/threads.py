"""How many threads work."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from softcosine.errors import InvalidInputError

__all__ = ["in_threads", "n_threads"]

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


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


def in_threads(
    work: Callable[[_Task], _Result], tasks: Sequence[_Task], threads: int | None
) -> list[_Result]:
    """Return the result of each task, in their order, worked at by several threads.

    Raises
    ------
    InvalidInputError
        See `n_threads`; and whatever `work` raises.
    """
    workers = min(n_threads(threads), len(tasks))
    if workers <= 1:
        return list(map(work, tasks))
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, tasks))
