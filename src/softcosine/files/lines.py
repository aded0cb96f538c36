"""Text files, compressed or not, decoded line by line, with places for messages."""

from __future__ import annotations

import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softcosine.errors import InvalidInputError, MalformedFileError

__all__ = ["ADVICE", "STANDARD_INPUT", "Text", "opened"]

STANDARD_INPUT = "-"
ADVICE = "name the encoding that it is in, such as latin-1"

_GZIP = b"\x1f\x8b"
_UNDECODABLE = re.compile("[\udc80-\udcff]")
# Other byte order marks than that of UTF-8, which is skipped.
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True, slots=True)
class Text:
    """An open text, and what to call it in messages.

    Attributes
    ----------
    stream : TextIOWrapper
    path : str
    encoding : str
        As it was given.
    advice : str
        What to do about another one.
    """

    stream: io.TextIOWrapper
    path: str
    encoding: str
    advice: str

    def lines(self) -> Iterator[tuple[int, str]]:
        """Give every line, with its end, and its number; the first that is no text is an error."""
        number = 0
        try:
            for number, line in enumerate(self.stream, 1):
                if "\0" in line:
                    raise self.error("it holds NUL characters, so it is no text file", number)
                if not line.isascii() and _UNDECODABLE.search(line):
                    raise self.error(f"this is not {self.encoding}; {self.advice}", number)
                yield number, line
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self.error(f"the compressed file is cut short or damaged ({error})") from error
        except UnicodeError as error:
            raise self.error(
                f"this is not {self.encoding} ({error}); {self.advice}", number + 1
            ) from error

    def error(self, problem: str, line: int | None = None) -> MalformedFileError:
        """Make the error that names this text and a line."""
        return MalformedFileError(self.path, f"{problem}.", line=line)


@contextmanager
def opened(
    path: str | Path, encoding: str, newline: str | None = None, *, advice: str = ADVICE
) -> Iterator[Text]:
    """Open a text, so that undecodable bytes are found line by line.

    A file is compressed if its first bytes say so, whatever its name is.

    Parameters
    ----------
    path : str or Path
        ``"-"`` for standard input, which stays open.
    encoding : str
    newline : str or None
        As for Python's ``open``.
    advice : str
        What to do where the text is in another encoding.

    Raises
    ------
    InvalidInputError
        If there is no such encoding, or standard input is closed.
    MalformedFileError
        If the text begins like UTF-16 and should be UTF-8, or its name ends in ``.gz`` and it is
        not compressed.
    """
    standard = path == STANDARD_INPUT
    name = "standard input" if standard else str(path)
    raw: Any = _standard_input() if standard else Path(path).open("rb")  # noqa: SIM115
    stream = None
    try:
        binary = raw
        if not standard and (name.lower().endswith(".gz") or raw.peek(2)[:2] == _GZIP):
            binary = gzip.GzipFile(fileobj=raw)
        python_name = encoding
        if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
            python_name = "utf-8-sig"
            mark = _first_bytes(binary, name)
            if mark in _MARKS:
                raise MalformedFileError(
                    name,
                    f"it begins like {_MARKS[mark]} text, not {encoding}; "
                    f"{advice.replace('latin-1', _MARKS[mark])}.",
                )
        try:
            stream = io.TextIOWrapper(
                binary, encoding=python_name, errors="surrogateescape", newline=newline
            )
        except LookupError:
            raise InvalidInputError(
                f"there is no text encoding {encoding!r}; utf-8, utf-16 and latin-1 are some."
            ) from None
        yield Text(stream, name, encoding, advice)
    finally:
        if not standard:
            raw.close()
        elif stream is not None:
            stream.detach()  # or it would close standard input when it goes


def _standard_input() -> Any:
    if sys.stdin is None:
        raise InvalidInputError("standard input is closed; pipe something in, or give a file.")
    return sys.stdin.buffer


def _first_bytes(binary: Any, name: str) -> bytes:
    try:
        return bytes(binary.peek(2)[:2])
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise MalformedFileError(
            name, f"the compressed file is cut short or damaged ({error})."
        ) from error
