"""What was prepared for the last tuple that was searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["LastTuple"]

T = TypeVar("T")


class LastTuple(Generic[T]):
    """Remembers what was made of the last tuple; of a list, which could change unseen, nothing.

    Several threads may ask at once: what they get is always of the sequence that they give.
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[Sequence[str], T] | None = None

    def get(self, strings: Sequence[str], make: Callable[[], T]) -> T:
        """Return what `make` gave for this very tuple, or gives now.

        Parameters
        ----------
        strings : sequence of str
        make : callable
            Called without arguments, if `strings` are not the tuple of the last call.
        """
        last = self._last  # read once: another thread may replace it
        if last is not None and last[0] is strings:
            return last[1]
        made = make()
        if isinstance(strings, tuple):
            self._last = (strings, made)
        return made
