"""Where shards are searched: the protocol, and threads of this process."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, Protocol

from softcosine._deadline import check_deadline, using_deadline
from softcosine._threads import n_threads, using_threads
from softcosine.cluster.shard import Shard
from softcosine.errors import DeadlineExceededError

_LATE = 8  # threads for each shard, as calls that came too late still run


class Workers(Protocol):
    """Opened shards that answer calls."""

    def scatter(
        self, method: str, calls: Mapping[int, Sequence[Any]], seconds: float | None
    ) -> dict[int, Any]:
        """Call a method of several shards at once.

        Parameters
        ----------
        method : str
            Of `softcosine.cluster.shard.Shard`.
        calls : mapping of int to sequence
            The arguments for each shard, by its number.
        seconds : float or None
            How long to wait; None for ever.

        Returns
        -------
        dict of int to object
            The answers; without those of shards that did not answer in time.

        Raises
        ------
        Exception
            Errors of the method pass through.
        """

    def close(self) -> None:
        """End all processes that were started; further calls fail."""


class ThreadWorkers:
    """Searches shards on threads of this process.

    Parameters
    ----------
    shards : sequence of Shard
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = tuple(shards)
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._pool = ThreadPoolExecutor(_LATE * len(self._shards), "softcosine-shard")

    def scatter(
        self, method: str, calls: Mapping[int, Sequence[Any]], seconds: float | None
    ) -> dict[int, Any]:
        """Call a method of several shards at once; see `Workers`."""
        if self._process != os.getpid():  # threads do not survive a fork
            self._start()
        end = None if seconds is None else time.monotonic() + seconds
        threads = max(1, n_threads() // max(1, len(calls)))

        def call(number: int, arguments: Sequence[Any]) -> Any:
            with using_threads(threads), using_deadline(seconds):
                return self._shards[number].call(method, arguments)

        tasks: dict[int, Future[Any]] = {
            number: self._pool.submit(copy_context().run, call, number, arguments)
            for number, arguments in calls.items()
        }
        wait(tasks.values(), None if end is None else max(0.0, end - time.monotonic()))
        answers = {}
        for number, task in tasks.items():
            if not task.done():
                task.cancel()
                continue
            try:
                answers[number] = task.result()
            except DeadlineExceededError:
                check_deadline()  # that of the caller; else the shard was too slow
        return answers

    def close(self) -> None:
        """End the threads; calls that wait for one still run."""
        self._pool.shutdown(wait=False)  # what is cancelled would not wake those who `wait` for it
