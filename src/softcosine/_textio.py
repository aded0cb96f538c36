"""Text files, plain or compressed, decoded line by line, with error messages that name the line."""

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

STANDARD_INPUT = "-"
ADVICE = "name the encoding that it is in, such as latin-1"
_CONVERT = "convert it: iconv -f latin-1 -t utf-8"

# Errors that damaged or truncated compressed files raise.
DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)

# Splits a line into cells; the file and the line number are for messages.
Cells = Callable[[Path, int, str], list[str]]

_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"\xfd7": lzma.LZMAFile,
}
_REPORTED = 1 << 16  # lines between two reports of progress
_SHOWN = 80  # characters of a line in a message
_PIECE = 1 << 20  # characters of a line that are read before it counts as long
_LONGEST = 1 << 29  # characters of a line, so that an endless one does not fill the memory
_UNDECODABLE = re.compile("[\udc80-\udcff]")
# Encodings to propose, by undecodable bytes that cp1252 or latin-1 has no letters for.
_FITTING = {"cp850": "[\udc81\udc8d\udc8f\udc90\udc9d]", "cp1252": "[\udc80-\udc9f]", "latin-1": ""}
# Byte order marks other than that of UTF-8, which is skipped.
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Text:
    """An open text file and its name in messages.

    Attributes
    ----------
    stream : text file
    path : str
    encoding : str
        As passed.
    advice : str
        What to do if the file has another encoding.
    raw : binary file
        The file as stored on disk.
    """

    stream: IO[str]
    path: str
    encoding: str
    advice: str
    raw: BinaryIO

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of each line with its end; undecodable text raises."""
        number = 0
        try:
            for number, line in enumerate(iter(self._line, ""), 1):
                if "\0" in line:
                    raise self.error("it holds NUL characters, so it is no text, or utf-16", number)
                if len(line) > _LONGEST:
                    raise self.error(f"it exceeds {_LONGEST:,} characters; break it up", number)
                if not line.isascii() and _UNDECODABLE.search(line):
                    text = line + self.stream.read(64 * _PIECE)
                    fitting = next(name for name, odd in _FITTING.items() if re.search(odd, text))
                    advice = self.advice.replace("latin-1", fitting)
                    raise self.error(f"this is not {self.encoding}; {advice}", number)
                yield number, line
        except DAMAGED as error:
            raise self.error(_damage(error), number + 1) from error
        except UnicodeError as error:
            raise self.error(
                f"this is not {self.encoding} ({error}); {self.advice}", number + 1
            ) from error

    def _line(self) -> str:
        """Return the next line; only the beginning if it is too long, or long with a NUL."""
        line = self.stream.readline(_PIECE)
        if len(line) < _PIECE or line[-1] in "\r\n" or "\0" in line:
            return line
        return line + self.stream.readline(_LONGEST)

    def error(self, problem: str, line: int | None = None) -> MalformedFileError:
        """Return the error that names this file and a line."""
        return MalformedFileError(self.path, f"{problem}.", line=line)


@contextmanager
def opened(
    path: str | Path,
    encoding: str = "utf-8",
    newline: str | None = None,
    *,
    advice: str = _CONVERT,
    stream: BinaryIO | None = None,
) -> Iterator[Text]:
    """Open a text file so that undecodable bytes are reported with their line.

    The first bytes decide whether a file is compressed by gzip or xz, not its name.

    Parameters
    ----------
    path : str or Path
        ``"-"`` for standard input, which stays open.
    encoding : str
    newline : str or None
        As for Python's ``open``.
    advice : str
        What to do if the text has another encoding.
    stream : buffered reader, optional
        The bytes to read, if `path` is only their name in messages, which then says nothing about
        compression.

    Raises
    ------
    InvalidInputError
        If the encoding does not exist, or standard input is closed.
    MalformedFileError
        If the text begins like UTF-16 where UTF-8 is expected, or the name ends in ``.gz`` and the
        file is not compressed.
    """
    standard = path == STANDARD_INPUT
    name = "standard input" if standard else str(path)
    raw: Any = stream
    packed = stream is None and name.lower().endswith(".gz")
    if raw is None:
        raw = _standard_input() if standard else Path(path).open("rb")  # noqa: SIM115
    text = None
    try:
        binary = raw if standard else unpacked(raw, gzipped=packed)
        python_name = encoding
        if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
            python_name = "utf-8-sig"
            if _first_bytes(binary, name) in _UTF_16:
                fitting = advice.replace("latin-1", "utf-16")
                raise MalformedFileError(name, f"it begins like utf-16, not {encoding}; {fitting}.")
        try:
            text = io.TextIOWrapper(
                binary, encoding=python_name, errors="surrogateescape", newline=newline
            )
        except LookupError:
            raise InvalidInputError(
                f"there is no text encoding {encoding!r}; utf-8, utf-16 and latin-1 are some."
            ) from None
        yield Text(text, name, encoding, advice, raw)
    finally:
        if not standard:
            raw.close()
        elif text is not None:
            text.detach()  # or it would close standard input when it goes


def unpacked(raw: Any, *, gzipped: bool = False) -> BinaryIO:
    """Return a stream of a file's bytes, decompressed if its first bytes mark it as compressed.

    Parameters
    ----------
    raw : buffered reader
        At its start.
    gzipped : bool
        Decompress by gzip whatever the first bytes are.
    """
    opener = _OPENERS[b"\x1f\x8b"] if gzipped else _OPENERS.get(raw.peek(2)[:2])
    return cast(BinaryIO, opener(raw) if opener else raw)


def numbered_lines(
    path: str | Path, *, encoding: str | None = None, progress: Progress | None = None
) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text of each line that is not blank, without line end.

    Parameters
    ----------
    path : path
    encoding : str, optional
        UTF-8 by default. Pass it only where the user can choose it: error messages then suggest
        another encoding.
    progress : callable, optional
        Called as ``progress(n_done, n_total)``, in bytes of the file on disk.

    Raises
    ------
    MalformedFileError
        If the file is truncated, or a line cannot be decoded; names the line.
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
    """Split a line of a table at its tabs; quotation marks have no meaning."""
    return [cell.strip() for cell in line.split("\t")]


def comma_cells(path: Path, number: int, line: str) -> list[str]:
    """Split a line of a table at its commas, except commas in double quotes.

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
