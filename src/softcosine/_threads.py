"""The number of threads, and thread pools that work on chunks of rows.

Kernels and BLAS release the interpreter lock. No result depends on the number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache, wraps
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from softcosine._validation import is_whole, must_be

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
_Function = TypeVar("_Function", bound=Callable[..., Any])

_VARIABLE = "SOFTCOSINE_THREADS"
_NEEDED = "a whole number other than 0 (-1 stands for all CPUs)"
_given: ContextVar[int | None] = ContextVar("softcosine_threads", default=None)


def n_threads(threads: int | None = None) -> int:
    """Return the number of threads to use.

    Parameters
    ----------
    threads : int, optional
        A number of threads; -1 means all usable CPUs, -2 all but one, and so on. The default is
        the number that `using_threads` set, else the environment variable
        ``SOFTCOSINE_THREADS``, else all usable CPUs.

    Raises
    ------
    InvalidInputError
        If the number is 0 or not an integer, or the variable is invalid.
    """
    if threads is None:
        threads = _given.get()
    if threads is None:
        text = os.environ.get(_VARIABLE, "").strip() or "-1"
        try:
            threads = int(text)
        except ValueError:
            raise must_be(_VARIABLE, text, _NEEDED) from None
    if not is_whole(threads) or threads == 0:
        raise must_be("threads", threads, f"{_NEEDED}, or None")
    return int(threads) if threads > 0 else max(1, usable_cpus() + 1 + int(threads))


@contextmanager
def using_threads(threads: int | None) -> Iterator[None]:
    """Set the default number of threads inside the block.

    Use it for methods without a ``threads`` argument, such as those of term similarity sources.

    Parameters
    ----------
    threads : int or None
        -1 means all usable CPUs, -2 all but one, and so on; None changes nothing.

    Examples
    --------
    >>> import softcosine as sc
    >>> source = sc.EditDistanceSimilarity()
    >>> with sc.using_threads(1):  # doctest: +ELLIPSIS
    ...     float(source.similarities(["tyre"], ["tire"])[0])
    0.427...
    """
    token = _given.set(_given.get() if threads is None else n_threads(threads))
    try:
        yield
    finally:
        _given.reset(token)


def takes_threads(function: _Function) -> _Function:
    """Run a function with the number of threads that its keyword argument ``threads`` gives."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with using_threads(kwargs.get("threads")):
            return function(*args, **kwargs)

    return cast("_Function", call)


def usable_cpus() -> int:
    """Return the number of CPUs this process may use, by its affinity and cgroup quotas.

    The affinity is read anew at each call, because schedulers set it after a worker has started.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    n = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min(n, math.ceil(min(_quota(), n))))


@cache
def _quota(root: Path = Path("/")) -> float:
    """CPUs that the cgroups of this process allow; infinity without a limit."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return math.inf
    least = math.inf
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        # Version 1 has a folder for each group of controllers, and mostly a link "cpu" to it.
        for mount in {root / "sys/fs/cgroup" / own for own in (controllers, controllers and "cpu")}:
            group = mount / name.strip("/")
            for folder in (group, *group.parents[: len(group.parts) - len(mount.parts)]):
                least = min(least, _limit(folder, version=1 if controllers else 2))
    return least


def _limit(folder: Path, *, version: int) -> float:
    files = ("cpu.max",) if version == 2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    try:
        quota, period = " ".join((folder / name).read_text() for name in files).split()
        return math.inf if quota in ("max", "-1") else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


class Workers:
    """Thread pool for several rounds of work; threads start when first needed."""

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

        The chunks do not depend on the number of threads, so neither do the results, provided that
        each chunk writes only its own rows. A single chunk runs in the calling thread.
        """
        starts = range(0, n_rows, chunk)
        n = n_threads()
        if len(starts) <= 1 or n == 1:
            for start in starts:
                work(start, min(start + chunk, n_rows))
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(n)
        tasks = [self._pool.submit(work, start, min(start + chunk, n_rows)) for start in starts]
        for task in tasks:
            task.result()


class Background:
    """Runs one task at a time in a second thread; with one thread, in the calling one.

    Parameters
    ----------
    threads : int, optional
        As for `n_threads`.
    """

    __slots__ = ("_pid", "_pool", "_task", "concurrent")

    def __init__(self, threads: int | None = None) -> None:
        self.concurrent = n_threads(threads) > 1
        self._pool = ThreadPoolExecutor(1) if self.concurrent else None
        self._task: Future[None] | None = None
        self._pid = os.getpid()

    def start(self, task: Callable[[], None]) -> None:
        """Start a task, in the context of the caller; the last one has been waited for."""
        assert self._task is None
        if self._pool is not None:
            self._task = self._pool.submit(copy_context().run, task)
            return
        self._task = Future()
        try:
            task()
        except BaseException as error:
            self._task.set_exception(error)
        else:
            self._task.set_result(None)

    def wait(self) -> BaseException | None:
        """Wait for the last task; return its error, once. An interrupt leaves the task running."""
        if self._task is None:
            return None
        wait([self._task])
        task, self._task = self._task, None
        return task.exception()

    def close(self) -> None:
        """Wait for the last task, and end the thread."""
        if self._pid == os.getpid():  # threads do not survive a fork
            self.wait()
            if self._pool is not None:
                self._pool.shutdown()


def for_each_chunk(work: Callable[[int, int], None], n_rows: int, *, chunk: int) -> None:
    """Call ``work(start, stop)`` for consecutive chunks; see `Workers.for_each_chunk`."""
    with Workers() as workers:
        workers.for_each_chunk(work, n_rows, chunk=chunk)


def in_threads(
    work: Callable[[_Task], _Result], tasks: Sequence[_Task], threads: int | None
) -> list[_Result]:
    """Return the result of each task, in order; several threads share the tasks.

    Raises
    ------
    InvalidInputError
        As for `n_threads`, unless there is a single task. Errors of `work` pass through.
    """
    workers = 1 if len(tasks) == 1 else min(n_threads(threads), len(tasks))
    if workers <= 1:
        return list(map(work, tasks))
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(in_context(work), tasks))


def in_context(work: Callable[[_Task], _Result]) -> Callable[[_Task], _Result]:
    """Return a function that runs in the caller's context on any thread."""
    context = copy_context()
    return lambda task: context.copy().run(work, task)  # a context runs in one thread at a time
