"""Work on chunks of rows in threads; kernels and BLAS release the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

__all__ = ["for_each_chunk"]


def for_each_chunk(work: Callable[[int, int], None], n_rows: int, *, chunk: int) -> None:
    """Call ``work(start, stop)`` for consecutive chunks of rows, several at a time.

    The chunks do not depend on the number of threads, so neither does what is computed, provided
    that every chunk writes its own rows only. A single chunk runs in the calling thread.
    """
    starts = range(0, n_rows, chunk)
    n_threads = min(len(starts), os.cpu_count() or 1) if len(starts) > 1 else 1
    if n_threads == 1:
        for start in starts:
            work(start, min(start + chunk, n_rows))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        tasks = [pool.submit(work, start, min(start + chunk, n_rows)) for start in starts]
        for task in tasks:
            task.result()
