"""Cache of the data prepared for the last searched tuple."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class LastTuple(Generic[T]):
    """Cache of one value, keyed by the identity of a tuple. Lists can change and are not cached.

    Thread-safe: every call returns the value of the sequence that it was given.
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[Sequence[str], T] | None = None

    def get(self, strings: Sequence[str], make: Callable[[], T]) -> T:
        """Return the cached value of this tuple, or the result of `make`.

        Parameters
        ----------
        strings : sequence of str
        make : callable
            Called without arguments if `strings` is not the tuple of the last call.
        """
        last = self._last  # read once: another thread may replace it
        if last is not None and last[0] is strings:
            return last[1]
        made = make()
        if isinstance(strings, tuple):
            self._last = (strings, made)
        return made
