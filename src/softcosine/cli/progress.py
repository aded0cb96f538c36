"""Progress bars on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from softcosine.cli.output import console, duration

if TYPE_CHECKING:
    from rich.progress import Progress


_SLOW = 0.6  # seconds of work before progress is shown
_RATED = ("encoding texts", "encoding word pieces")  # steps that show the rate and the time left


class Reporter:
    """Progress callback that shows a bar on standard error, if that is a terminal.

    Call it with the name of the step, the number of items done, and their total or None. The bar
    appears after a short time and is removed at the end.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._progress: Progress | None = None
        self._terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def seconds(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self._started

    def stop(self) -> None:
        """Remove the bar; show none from now on."""
        if self._progress is not None:
            self._progress.stop()
        self._terminal = False

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Report progress."""
        if not self._terminal or self.seconds < _SLOW:
            return
        if self._progress is None:
            self._progress = _progress_bars()
            self._progress.start()
        tasks = self._progress.tasks
        if not tasks or tasks[0].description != what or done < tasks[0].completed:
            for task in tasks:
                self._progress.remove_task(task.id)
            self._progress.add_task(what, total=total, far="")
        (task,) = self._progress.tasks
        far = f"{done:,}" if total is None else f"{done:,} of {total:,}"
        if what in _RATED and task.speed:
            far += f", {task.speed:,.0f} a second"
            left = task.time_remaining
            far += "" if left is None else f", about {duration(left)} left"
        self._progress.update(task.id, completed=done, total=total, far=far if done else "")


@contextmanager
def announcing_compilation() -> Iterator[None]:
    """Announce the first kernel ever compiled on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    import logging

    logger = logging.getLogger("softcosine.kernels.jit")
    level = logger.level

    class Announcement(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logger.removeHandler(self)
            if getattr(record, "is_first", False):
                text = "Compiling kernels; every command takes longer the first time ..."
                console(stderr=True).print(text, style="dim")

    announcement = Announcement()
    logger.addHandler(announcement)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(announcement)
        logger.setLevel(level)


def _progress_bars() -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[far]}", style="green"),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
        redirect_stdout=False,  # rich would redirect prints to standard error
    )
