"""Requests that are sent again, later and later, where a server is busy or a connection breaks."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

ATTEMPTS = 5
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0  # seconds
_logger = logging.getLogger(__name__)


def wait_after(attempt: int, retry_after: str = "") -> float:
    """Return the seconds to wait after a failed attempt, counted from 0, or as a server asks."""
    own = min(_FIRST_WAIT * 3**attempt, _LONGEST_WAIT)
    wait = float(retry_after) if retry_after.isdecimal() else own
    # Random, so that clients that were refused together do not come back together.
    return wait * (1.0 + 0.2 * random.random())


def with_retries(work: Callable[[], _T], worth: Callable[[Exception], bool]) -> _T:
    """Return the result of `work`, which is idempotent; repeat it after errors that are worth it.

    Parameters
    ----------
    work : callable
    worth : callable
        Whether another attempt after an error may succeed, as after 429 and 503.
    """
    for attempt in range(ATTEMPTS):
        try:
            return work()
        except Exception as error:
            if attempt == ATTEMPTS - 1 or not worth(error):
                raise
            _logger.info("another attempt after %s: %s", type(error).__name__, error)
        time.sleep(wait_after(attempt))
    raise AssertionError
