"""Work on chunks of rows in threads; kernels and BLAS release the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self

__all__ = ["Workers", "for_each_chunk"]


class Workers:
    """Threads for several rounds of work; they start with the first that needs them."""

    __slots__ = ("_pool",)

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)  # what waits after an error or Ctrl-C

    def for_each_chunk(self, work: Callable[[int, int], None], n_rows: int, *, chunk: int) -> None:
        """Call ``work(start, stop)`` for consecutive chunks of rows, several at a time.

        The chunks do not depend on the number of threads, so neither does what is computed,
        provided that every chunk writes its own rows only. A single chunk runs in the calling
        thread.
        """
        starts = range(0, n_rows, chunk)
        n_threads = os.cpu_count() or 1
        if len(starts) <= 1 or n_threads == 1:
            for start in starts:
                work(start, min(start + chunk, n_rows))
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(n_threads)
        tasks = [self._pool.submit(work, start, min(start + chunk, n_rows)) for start in starts]
        for task in tasks:
            task.result()


def for_each_chunk(work: Callable[[int, int], None], n_rows: int, *, chunk: int) -> None:
    """Call ``work(start, stop)`` for consecutive chunks; see `Workers.for_each_chunk`."""
    with Workers() as workers:
        workers.for_each_chunk(work, n_rows, chunk=chunk)
