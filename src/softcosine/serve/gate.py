"""`SearchGate`: searches in threads, not more than the server allows, each with a deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from softcosine._deadline import check_deadline, using_deadline
from softcosine._threads import using_threads
from softcosine.serve.problems import Problem
from softcosine.serve.settings import Limits

__all__ = ["SearchGate"]

_T = TypeVar("_T")


class SearchGate:
    """Runs searches in threads; kernels release the interpreter lock.

    Attributes
    ----------
    n_running : int
        Searches that run or wait.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.threads, "softcosine-search")
        self.n_running = 0

    def check(self) -> None:
        """Raise Problem (``too-many-searches``) if no more may wait."""
        if self.n_running >= self._limits.threads + self._limits.waiting:
            raise Problem(
                "too-many-searches",
                f"{self.n_running} searches run or wait, and no more may; send the request again "
                "later.",
            )

    async def run(self, work: Callable[[], _T], timeout_ms: int | None = None) -> _T:
        """Return the result of a search.

        The deadline includes the time until a thread is free.

        Raises
        ------
        Problem
            ``too-many-searches``.
        DeadlineExceededError
        """
        self.check()
        asked = self._limits.timeout_ms if timeout_ms is None else timeout_ms
        end = time.monotonic() + min(asked, self._limits.timeout_ms) / 1000

        def timed() -> _T:
            with using_threads(1), using_deadline(max(0.0, end - time.monotonic())):
                check_deadline()
                return work()

        self.n_running += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, timed)
        finally:
            self.n_running -= 1

    def close(self) -> None:
        """Wait for the searches that run."""
        self._pool.shutdown()
