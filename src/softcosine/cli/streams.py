"""Standard input, output and error, also where they are closed, full or read by nobody."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["drop_output", "prepare_streams", "settle_output"]


class _ClosedOutput(io.StringIO):
    """Stands for a standard output that is closed: an error for whoever writes to it."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "it is closed", "standard output")


def prepare_streams() -> None:
    """Put something where a standard stream is closed, and let no text be one too many."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is None:
            # In order from 0, so that no file that is opened later gets a standard stream's number.
            with suppress(OSError):
                os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = _ClosedOutput()
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A text that the terminal cannot show is no error.
            stream.reconfigure(errors="backslashreplace")


def settle_output() -> None:
    """Write what still waits; what cannot be written is dropped, before Python tries at its end."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        drop_output()


def drop_output() -> None:
    """Send standard output nowhere from now on."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
