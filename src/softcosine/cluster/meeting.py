"""Commits of several shards that become visible together, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Meeting"]

_Said = TypeVar("_Said")


class Meeting(Generic[_Said]):
    """Where the writers of shards wait until all are ready.

    The one that comes last decides for all; if it fails, or one leaves with an error, nothing is
    decided, and every `announce` raises.

    Parameters
    ----------
    n : int
        Number of writers, each of which either announces or leaves.
    decide : callable
        Called once with what was announced, by number of shard.
    """

    def __init__(self, n: int, decide: Callable[[dict[int, _Said]], object]) -> None:
        self._awaited = n
        self._decide = decide
        self._said: dict[int, _Said] = {}
        self._changed = threading.Condition()
        self._decided = False
        self._error: BaseException | None = None

    def announce(self, number: int, said: _Said) -> None:
        """Say that a shard is ready, and wait for the decision; OSError if there is none."""
        with self._changed:
            self._said[number] = said
            self._count()
            self._changed.wait_for(lambda: self._decided or self._error is not None)
            if not self._decided:
                raise OSError(
                    f"nothing was committed, since a shard failed: {self._error}"
                ) from self._error

    def leave(self, error: BaseException | None = None) -> None:
        """Say that a shard has nothing to commit, or has failed."""
        with self._changed:
            if error is not None and not self._decided:
                self._error = self._error or error
                self._changed.notify_all()
            else:
                self._count()

    def _count(self) -> None:
        self._awaited -= 1
        if self._awaited == 0 and self._error is None and self._said:
            try:
                self._decide(self._said)
                self._decided = True
            except BaseException as error:
                self._error = error
            self._changed.notify_all()
