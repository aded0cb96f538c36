"""Clean exit on Ctrl-C, SIGTERM and SIGHUP."""

from __future__ import annotations

import _thread
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType


# Windows has no SIGHUP.
_ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_AGAIN = 0.02  # seconds until a swallowed interrupt is raised again


class _Ended(SystemExit):
    """SystemExit raised by a signal, so that cleanup code runs."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)  # the exit code that shells use
        self.number = number


@contextmanager
def interrupted_quietly() -> Iterator[None]:
    """Exit silently on Ctrl-C; raise interrupts again that callbacks swallow.

    An exception cannot pass through some code, such as the callbacks of LLVM while kernels are
    loaded: Python reports the KeyboardInterrupt there and continues. This context manager raises
    it again a moment later.
    """
    report = sys.unraisablehook

    def again(lost: UnraisableHookArgs) -> None:
        if isinstance(lost.exc_value, _Ended):
            number = lost.exc_value.number
            signal.signal(number, _end)
        elif issubclass(lost.exc_type, KeyboardInterrupt):
            number = signal.SIGINT
        else:
            report(lost)
            return
        from threading import Timer

        timer = Timer(_AGAIN, _thread.interrupt_main, [number])
        timer.daemon = True
        timer.start()

    sys.unraisablehook = again
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
    finally:
        sys.unraisablehook = report


@contextmanager
def orderly_ends() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit, so that cleanup code runs.

    Signals that are ignored, as under ``nohup``, stay ignored.
    """
    from threading import current_thread, main_thread

    changed = []
    if current_thread() is main_thread():
        for number in _ENDS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end)
                changed.append(number)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def end_at_once() -> None:
    """Let SIGTERM and SIGHUP end the process without cleanup, inside `orderly_ends`.

    For commands whose main thread waits for threads that no exception reaches.
    """
    for number in _ENDS:
        if signal.getsignal(number) is _end:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    # A second signal must not interrupt the cleanup.
    for other in _ENDS:
        signal.signal(other, signal.SIG_IGN)
    raise _Ended(number)
