"""Deadlines of searches and other work, kept in a context variable."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from softcosine._validation import check_number
from softcosine.errors import DeadlineExceededError

_end: ContextVar[float] = ContextVar("softcosine_deadline", default=math.inf)  # monotonic seconds
_given: ContextVar[float] = ContextVar("softcosine_deadline_given", default=math.inf)


@contextmanager
def using_deadline(seconds: float | None) -> Iterator[None]:
    """End searches and comparisons in the block after some seconds by DeadlineExceededError.

    A search looks at the clock before every group of segments and between its steps, a comparison
    of all documents after some of them, so it ends soon after the deadline, not exactly then. The
    index stays usable. Of nested deadlines the earliest counts.

    Parameters
    ----------
    seconds : float or None
        From now on; None changes nothing.

    Examples
    --------
    >>> import softcosine as sc
    >>> index = sc.SoftIndex.from_texts(["a flat tyre", "green tea"], plain=True)
    >>> with sc.using_deadline(10):
    ...     index.search("tyre").ids
    ['0']
    """
    check_number("seconds", seconds, least=0, optional=True)
    end = math.inf if seconds is None else time.monotonic() + seconds
    if end >= _end.get():
        yield
        return
    token, told = _end.set(end), _given.set(float(seconds or 0.0))
    try:
        yield
    finally:
        _end.reset(token)
        _given.reset(told)


def has_deadline() -> bool:
    """Return whether the current context has a deadline."""
    return _end.get() != math.inf


def seconds_left() -> float:
    """Return the seconds until the deadline of the current context; infinite without one."""
    return _end.get() - time.monotonic()


def check_deadline() -> None:
    """Raise DeadlineExceededError if the deadline of the current context has passed."""
    if time.monotonic() >= _end.get():
        raise deadline_error(_given.get())


def deadline_error(seconds: float) -> DeadlineExceededError:
    """Return the error of a search that was ended after its deadline."""
    return DeadlineExceededError(
        f"the search was ended after its deadline of {seconds:g} seconds; allow more, or make it "
        "smaller: fewer words, a filter, first_stage=, no facets or sort."
    )
