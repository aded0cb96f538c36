"""Writers that are killed at random moments, again and again, and actions that must not hang."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Says the number of the last commit, first the one that it finds.
Say = Callable[[int], Any]


class Victims:
    """Processes that commit until they are killed.

    Parameters
    ----------
    write : callable
        Runs in a process of its own: commits for ever, and says each commit's number once it is
        reported.
    usual : float
        Seconds that a commit may take, to begin with; learned from then on.
    """

    def __init__(self, write: Callable[[Say], None], *, usual: float) -> None:
        self._write = write
        self._usual = usual

    def killed(self, last: int) -> int:
        """Start one, kill it at some moment, and return the last commit that it reported.

        `last` is returned where it had no time to report any.
        """
        said, say = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self._write(lambda number: os.write(say, b"%d\n" % number))
            finally:
                os._exit(1)
        os.close(say)
        lines = os.fdopen(said)
        numbers = []
        if random.random() < 0.8:  # else it may be killed while it still opens the index
            for _ in range(random.choice((1, 1, 1, 2))):
                start = time.perf_counter()
                numbers.append(int(lines.readline()))
                self._usual += 0.2 * (time.perf_counter() - start - self._usual)
        time.sleep(random.uniform(0, 1.5 * self._usual))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with lines:
            numbers += [int(line) for line in lines.read().split()]
        return numbers[-1] if numbers else last


@contextlib.contextmanager
def ended(process: subprocess.Popen[Any]) -> Iterator[None]:
    """Kill a process that still runs after the body, such as one that outlives its time-out."""
    with process:
        try:
            yield
        finally:
            process.kill()


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in the main thread if the body takes longer, also where it blocks."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"this took more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_script(script: str, path: Path, rounds: int) -> int:
    """Run a script of the tests in a process of its own; the number that it prints."""
    folders = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), str(rounds)],
        stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "PYTHONPATH": folders},
    )  # fmt: skip
    return int(done.stdout)
