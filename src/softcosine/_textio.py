"""Text files, compressed or not, decoded line by line, with places for messages."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from softcosine._progress import Progress
from softcosine.errors import InvalidInputError, MalformedFileError

__all__ = [
    "ADVICE",
    "DAMAGED",
    "STANDARD_INPUT",
    "Cells",
    "Text",
    "comma_cells",
    "numbered_lines",
    "opened",
    "tab_cells",
    "unpacked",
]

STANDARD_INPUT = "-"
ADVICE = "name the encoding that it is in, such as latin-1"
_CONVERT = "convert it: iconv -f latin-1 -t utf-8"

# What compressed files that are cut short or altered raise.
DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)

# Cuts a line, given its file and number, into cells.
Cells = Callable[[Path, int, str], list[str]]

_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"\xfd7": lzma.LZMAFile,
}
_REPORTED = 1 << 16  # lines between two reports of progress
_SHOWN = 80  # characters of a line in a message
_UNDECODABLE = re.compile("[\udc80-\udcff]")
# Other byte order marks than that of UTF-8, which is skipped.
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True, slots=True)
class Text:
    """An open text, and what to call it in messages.

    Attributes
    ----------
    stream : text file
    path : str
    encoding : str
        As it was given.
    advice : str
        What to do about another one.
    raw : binary file
        As it lies on disk.
    """

    stream: IO[str]
    path: str
    encoding: str
    advice: str
    raw: BinaryIO

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
        except DAMAGED as error:
            raise self.error(_damage(error), number + 1) from error
        except UnicodeError as error:
            raise self.error(
                f"this is not {self.encoding} ({error}); {self.advice}", number + 1
            ) from error

    def error(self, problem: str, line: int | None = None) -> MalformedFileError:
        """Make the error that names this text and a line."""
        return MalformedFileError(self.path, f"{problem}.", line=line)


@contextmanager
def opened(
    path: str | Path,
    encoding: str = "utf-8",
    newline: str | None = None,
    *,
    advice: str = _CONVERT,
) -> Iterator[Text]:
    """Open a text, so that undecodable bytes are found line by line.

    A file is compressed, by gzip or xz, if its first bytes say so, whatever its name is.

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
        binary = raw if standard else unpacked(raw, gzipped=name.lower().endswith(".gz"))
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
        yield Text(stream, name, encoding, advice, raw)
    finally:
        if not standard:
            raw.close()
        elif stream is not None:
            stream.detach()  # or it would close standard input when it goes


def unpacked(raw: Any, *, gzipped: bool = False) -> BinaryIO:
    """Return a stream of a file's bytes, unpacked if its first bytes say that it is compressed.

    Parameters
    ----------
    raw : buffered reader
        At its start.
    gzipped : bool
        Unpack it by gzip whatever its first bytes say.
    """
    opener = _OPENERS[b"\x1f\x8b"] if gzipped else _OPENERS.get(raw.peek(2)[:2])
    return cast(BinaryIO, opener(raw) if opener else raw)


def numbered_lines(
    path: str | Path, *, encoding: str | None = None, progress: Progress | None = None
) -> Iterator[tuple[int, str]]:
    """Give every line that is not blank, without its end, and its number from 1.

    Parameters
    ----------
    path : path
    encoding : str, optional
        UTF-8 by default; give it where the user can choose one, for then an error advises so.
    progress : callable, optional
        Called as ``progress(done, total)``, in bytes of the file as it lies on disk.

    Raises
    ------
    MalformedFileError
        If it is cut short, or a line is not of this encoding; the line is named.
    """
    path, advice = Path(path), ADVICE if encoding else _CONVERT
    total = path.stat().st_size
    with opened(path, encoding or "utf-8", "\n", advice=advice) as text:
        for number, line in text.lines():
            if line.strip():
                yield number, line.rstrip("\r\n")
            if progress is not None and number % _REPORTED == 0:
                progress(text.raw.tell(), total)
    if progress is not None:
        progress(total, total)


def tab_cells(path: Path, number: int, line: str) -> list[str]:
    """Cut a line of a table at its tabs; quotation marks are characters like any other."""
    return [cell.strip() for cell in line.split("\t")]


def comma_cells(path: Path, number: int, line: str) -> list[str]:
    """Cut a line of a table at its commas, but for those in double quotes.

    Raises
    ------
    MalformedFileError
        If a double quote is not closed; names the line.
    """
    try:
        (cells,) = csv.reader([line], strict=True)
    except (csv.Error, ValueError) as error:
        raise MalformedFileError(
            path, f"{line[:_SHOWN]!r} cannot be cut into cells: {error}", line=number
        ) from None
    return [cell.strip() for cell in cells]


def _damage(error: BaseException) -> str:
    return f"the compressed file is cut short or damaged ({error})"


def _standard_input() -> Any:
    if sys.stdin is None:
        raise InvalidInputError("standard input is closed; pipe something in, or give a file.")
    return sys.stdin.buffer


def _first_bytes(binary: Any, name: str) -> bytes:
    try:
        return bytes(binary.peek(2)[:2])
    except DAMAGED as error:
        raise MalformedFileError(name, f"{_damage(error)}.") from error
