"""Conversion of exceptions into one line on standard error and an exit code.

Exit codes: 0 success, even without results; 1 an error, such as a missing index; 2 wrong usage or
unreadable input; 130 interrupted.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from softcosine.cli.output import printable
from softcosine.cli.streams import drop_output, settle_output
from softcosine.errors import (
    IndexLockedError,
    InvalidInputError,
    SoftCosineError,
)

_FAILED, _BAD_INPUT, _INTERRUPTED = 1, 2, 130
# What Python advises, and the options for it.
_OPTIONS = {
    "pass overwrite=True": "pass --overwrite", 'encoder="minilm"': "--encoder minilm",
    "encoder=.": "--encoder.", "correct=False": "--no-correct",
    "min_score=0": "--min 0",
}  # fmt: skip
_LONGEST = 1200  # characters of a message
# Commands with words as arguments.
_TAKING_WORDS = (" search", " explain", " terms", " similar", " expand")
# The exception for wrong usage, which typer does not export.
_UsageError: Any = typer.BadParameter.__base__


@contextmanager
def clear_errors(*, debug: bool = False) -> Iterator[None]:
    """Print any exception as one line and raise typer.Exit.

    Parameters
    ----------
    debug : bool
        Whether to print the traceback first.
    """
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except BrokenPipeError:
        # The reader closed the pipe; the interpreter must not write to it when it ends.
        drop_output()
        raise typer.Exit(_FAILED) from None
    except KeyboardInterrupt:
        _say("interrupted; nothing was left half-written.", debug)
        raise typer.Exit(_INTERRUPTED) from None
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # typer prints the help itself
            raise
        _say(_usage(error), debug)
        raise typer.Exit(_BAD_INPUT) from None
    except Exception as error:
        settle_output()
        _say(_message(error), debug)
        bad = isinstance(error, InvalidInputError)
        raise typer.Exit(_BAD_INPUT if bad else _FAILED) from None


def show_warning(message: Warning | str, *_: Any) -> None:
    """Print a warning; a replacement for ``warnings.showwarning``."""
    _say(str(message), debug=False)


@contextmanager
def saying_how_to_go_on(checkpoint: Path | None) -> Iterator[None]:
    """Print on Ctrl-C that the same command resumes from a folder or file, if there is one."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None and checkpoint.exists():
            show_warning(f"the same command resumes from the checkpoint in {checkpoint}.")
        raise


def in_options(advice: str) -> str:
    """Return what Python advises in the options of the command line."""
    for python, option in _OPTIONS.items():
        advice = advice.replace(python, option)
    return advice


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        # Errors of files have a file name; those of standard output have none.
        place = "standard output" if error.errno == errno.ENOSPC else None
        place = error.filename if error.filename is not None else place
        return f"{error.strerror}." if place is None else f"{place}: {error.strerror}."
    if isinstance(error, IndexLockedError) and "timeout=" in str(error):
        return f"{str(error).rpartition(';')[0]}; try again when that writer has finished."
    if isinstance(error, SoftCosineError | OSError):
        return in_options(str(error))
    if isinstance(error, MemoryError):
        return f"not enough memory ({error or 'no details'})."
    return (
        f"unexpected {type(error).__name__}: {error}; this is a bug in softcosine or a damaged "
        "index (run softcosine admin check INDEX); --debug shows the traceback."
    )


def _usage(error: Any) -> str:
    """Return the message of a usage error with the given value and the help command."""
    problem = error.format_message().removesuffix(".")
    details = getattr(error.__cause__, "errors", None)
    if callable(details):  # some versions of typer leave the value out
        problem += f"; given was {details()[0].get('input')!r}"
    path = error.ctx.command_path if error.ctx is not None else "softcosine"
    end = "" if problem.endswith("?") else "."
    if type(error).__name__ == "NoSuchOption" and path.endswith(_TAKING_WORDS):
        end += f" Put words that begin with - at the end, after --: {path} INDEX -- '-word'."
    return f"{problem}{end} See {path} --help."


def _say(message: str, debug: bool) -> None:
    if debug:
        for line in traceback.format_exc().splitlines():
            print(printable(line), file=sys.stderr)  # noqa: T201
    line = printable(" ".join(message.split()))
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST * 2 // 3]} … {line[-_LONGEST // 3 :]}"
    print(f"softcosine: {line}", file=sys.stderr)  # noqa: T201
