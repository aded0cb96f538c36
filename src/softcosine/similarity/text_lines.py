"""Lines of text files, gzipped or not, with their numbers."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from softcosine._progress import Progress
from softcosine.errors import MalformedFileError

__all__ = ["Cells", "comma_cells", "tab_cells", "text_lines"]

_REPORTED = 1 << 16  # lines between two reports of progress
_SHOWN = 80  # characters of a line that is told of

# Cuts a line, given its file and number, into cells.
Cells = Callable[[Path, int, str], list[str]]


def text_lines(path: Path, progress: Progress | None = None) -> Iterator[tuple[int, str]]:
    """Give the number and text of every line that is not blank.

    Parameters
    ----------
    path : Path
        A file of UTF-8 text; by its content, not its name, it is known whether it is gzipped.
    progress : callable, optional
        Called as ``progress(done, total)``, in bytes of the file as it lies on disk.

    Raises
    ------
    MalformedFileError
        If a line is not UTF-8, or the compressed file is damaged; names the line.
    """
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        total = path.stat().st_size
        stream: Iterable[bytes] = gzip.GzipFile(fileobj=file) if zipped else file
        number = 0
        try:
            for number, raw in enumerate(stream, start=1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise MalformedFileError(
                        path, f"not UTF-8 ({error}); convert the file to UTF-8.", line=number
                    ) from None
                if line.strip():
                    yield number, line.rstrip("\r\n")
                if progress is not None and number % _REPORTED == 0:
                    progress(file.tell(), total)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise MalformedFileError(
                path, f"the compressed file cannot be read further: {error}", line=number + 1
            ) from None
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
