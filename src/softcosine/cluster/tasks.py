"""Tasks that can be repeated, run by joblib: each writes a file or folder, whole or not at all."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any

from softcosine._progress import Report
from softcosine._threads import usable_cpus, using_threads
from softcosine.errors import MissingDependencyError

_logger = logging.getLogger(__name__)
_ATTEMPTS = 3  # before a build stops because workers are killed


def run_tasks(
    what: str,
    task: Callable[..., None],
    calls: Sequence[tuple[Any, ...]],
    *,
    jobs: int | None,
    report: Report,
) -> None:
    """Run a task for every tuple of arguments, in any order.

    Tasks that a killed worker did not finish are run again.

    Parameters
    ----------
    what : str
        Name of the step.
    task : callable
        Can be pickled; does nothing if its result exists.
    calls : sequence of tuples
    jobs : int or None
        See `joblib.Parallel`.
    report : callable
        Called with (what, done, total).

    Raises
    ------
    MissingDependencyError
        If joblib is not installed.
    BrokenExecutor
        If workers are killed again and again.
    """
    try:
        from joblib import Parallel, delayed, effective_n_jobs
    except ImportError as error:
        raise MissingDependencyError("joblib", "shards", "Work in jobs") from error

    threads = max(1, usable_cpus() // effective_n_jobs(jobs))
    report(what, 0, len(calls))
    left = set(range(len(calls)))
    for attempt in range(1, _ATTEMPTS + 1):
        work = (
            delayed(_in_threads)(threads, task, number, calls[number]) for number in sorted(left)
        )
        try:
            parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
        except ValueError:  # this backend returns all results together
            parallel = Parallel(n_jobs=jobs)
        try:
            for number in parallel(work):
                left.remove(number)
                report(what, len(calls) - len(left), len(calls))
            return
        except BrokenExecutor:
            if attempt == _ATTEMPTS:
                raise
            _logger.warning("A worker was killed; its tasks are run again.")


def _in_threads(threads: int, task: Callable[..., None], number: int, call: tuple[Any, ...]) -> int:
    with using_threads(threads):
        task(*call)
    return number
