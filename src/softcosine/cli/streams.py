"""Standard streams that may be closed, full, or connected to a closed pipe."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from pathlib import Path


class _ClosedOutput(io.StringIO):
    """Replacement for a closed standard output; every write raises OSError."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "it is closed", "standard output")


def prepare_streams() -> None:
    """Replace closed standard streams, and escape characters that a stream cannot encode."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is None:
            # Take descriptors 0 to 2, so that no file opened later gets one of them.
            with suppress(OSError):
                os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = _ClosedOutput()
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal cannot show is not an error.
            stream.reconfigure(errors="backslashreplace")


def settle_output() -> None:
    """Flush standard output; drop what cannot be written, so that Python does not fail at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        drop_output()


def drop_output() -> None:
    """Redirect standard output to the null device."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
