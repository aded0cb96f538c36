"""Retries of requests that a busy server refused."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["with_retries"]

_T = TypeVar("_T")

_ATTEMPTS = 5
_FIRST_WAIT = 0.2  # seconds; doubled each time


def with_retries(work: Callable[[], _T], worth: Callable[[Exception], bool]) -> _T:
    """Return the result of `work`; call it again, later and later, after errors that are worth it.

    Parameters
    ----------
    work : callable
        Idempotent.
    worth : callable
        Whether another attempt after an error may succeed, as after 429 and 503.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return work()
        except Exception as error:
            if attempt == _ATTEMPTS - 1 or not worth(error):
                raise
        # Random, so that clients that were refused together do not come back together.
        time.sleep(_FIRST_WAIT * 2**attempt * (0.5 + random.random()))
    raise AssertionError
