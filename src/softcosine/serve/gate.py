"""`SearchGate`: searches in threads, not more than the server allows, each with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

from softcosine._deadline import check_deadline, deadline_error, using_deadline
from softcosine._threads import using_threads
from softcosine.index.segment.documents import Reading, reading
from softcosine.serve.problems import Problem
from softcosine.serve.settings import Limits

_T = TypeVar("_T")


class Budget:
    """Bytes that the searches of one request may read and write, on several threads.

    Parameters
    ----------
    most : float
    """

    def __init__(self, most: float) -> None:
        self._most = self._left = most

    def spend(self, n_bytes: int) -> None:
        """Count bytes; raise Problem (``large-answer``) if they are too many."""
        self._left -= n_bytes
        if self._left < 0:
            raise Problem(
                "large-answer",
                f"the documents and the answer of this request take more than {self._most:,} "
                "bytes; lower k, or read text and snippet by GET /v1/indexes/{i}/documents/{id}.",
            )


class SearchGate:
    """Runs searches in threads; kernels release the interpreter lock.

    Parameters
    ----------
    limits : Limits
    noun : str
        What runs, in messages.
    waiting_counts : bool
        Whether deadlines include the time until a thread is free.

    Attributes
    ----------
    n_running : int
        Searches that run or wait, also those whose requests were answered at their deadline.
    """

    def __init__(
        self, limits: Limits, noun: str = "searches", *, waiting_counts: bool = True
    ) -> None:
        self._limits = limits
        self._noun = noun
        self._waiting_counts = waiting_counts
        self._pool = ThreadPoolExecutor(limits.threads, "softcosine-search")
        self.n_running = self._n_places = 0

    def check(self, n_places: int = 0) -> None:
        """Raise Problem (``too-many-searches``) if no more may wait."""
        if max(self.n_running, n_places) >= self._limits.threads + self._limits.waiting:
            told = f"{self.n_running} {self._noun} run or wait; try again later."
            raise Problem("too-many-searches", told)

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place for a request that will search; there are as many as searches may run."""
        self.check(self._n_places)
        self._n_places += 1
        try:
            yield
        finally:
            self._n_places -= 1

    def seconds(self, timeout_ms: int | None) -> float:
        """Return the deadline of a request in seconds, at most that of the limits."""
        asked = self._limits.timeout_ms if timeout_ms is None else timeout_ms
        return min(asked, self._limits.timeout_ms) / 1000

    async def run(
        self,
        work: Callable[[], _T],
        timeout_ms: int | None = None,
        budget: Budget | None = None,
    ) -> _T:
        """Return the result of a search.

        What it reads counts in the budget, by default one of its own, and so does a result in
        bytes.

        Raises
        ------
        Problem
            ``too-many-searches``, ``large-answer``.
        DeadlineExceededError
        """
        self.check()
        seconds = self.seconds(timeout_ms)
        budget = Budget(self._limits.answer_bytes) if budget is None else budget

        def timed() -> _T:
            reading.set(Reading(budget.spend))
            with using_threads(1), using_deadline(seconds):
                check_deadline()
                result = work()
            budget.spend(len(result) if isinstance(result, bytes) else 0)
            return result

        counted = seconds if self._waiting_counts else None
        with using_deadline(counted):
            context = copy_context()  # the time runs from here, and what waits keeps it
        loop = asyncio.get_running_loop()
        self.n_running += 1
        future = self._pool.submit(context.run, timed)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._ended))
        try:
            async with asyncio.timeout(counted):  # what waits is cancelled, what runs looks itself
                return await asyncio.wrap_future(future)
        except TimeoutError as error:
            raise deadline_error(seconds) from error

    def _ended(self) -> None:
        self.n_running -= 1

    def close(self) -> None:
        """Wait for the searches that run."""
        self._pool.shutdown()
