"""Text files of judged collections, compressed or not, line by line, with places for messages."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from softcosine.errors import InvalidInputError, MalformedFileError

__all__ = [
    "first_line",
    "json_fault",
    "json_objects",
    "kept_fields",
    "named",
    "numbered_lines",
    "stem",
]

_GZIP = b"\x1f\x8b"
_UNDECODABLE = re.compile("[\udc80-\udcff]")


def numbered_lines(path: Path, *, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Give every line that is not blank, without its end, and its number from 1.

    Whether the file is compressed is told by its first bytes, not by its name.

    Raises
    ------
    MalformedFileError
        If it is cut short, or a line is not of this encoding; the line is named.
    """
    number, advice = 0, "name the encoding that it is in, such as latin-1."
    name = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    with _binary(path) as file:
        try:
            # What cannot be decoded is found line by line, not where a block of bytes ends.
            text = io.TextIOWrapper(file, name, errors="surrogateescape", newline="\n")
        except LookupError:
            raise InvalidInputError(
                f"there is no text encoding {encoding!r}; utf-8, utf-16 and latin-1 are some."
            ) from None
        try:
            for number, line in enumerate(text, 1):
                if not line.isascii() and _UNDECODABLE.search(line):
                    raise MalformedFileError(path, f"this is not {encoding}; {advice}", line=number)
                if line.strip():
                    yield number, line.rstrip("\r\n")
        except UnicodeError as error:
            raise MalformedFileError(
                path, f"this is not {encoding} ({error}); {advice}", line=number + 1
            ) from error
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise MalformedFileError(
                path, f"the compressed file is cut short or damaged ({error})."
            ) from error


def first_line(path: Path, *, encoding: str = "utf-8") -> str:
    """Return the first line that is not blank.

    Raises
    ------
    MalformedFileError
        If there is none.
    """
    for _, line in numbered_lines(path, encoding=encoding):
        return line
    raise MalformedFileError(path, "it is empty.")


def json_objects(
    path: Path, needed: Sequence[str], *, encoding: str = "utf-8"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give every line's JSON object and the line's number.

    Parameters
    ----------
    path : Path
    needed : sequence of str
        Names that every object must have.
    encoding : str

    Raises
    ------
    MalformedFileError
        If a line is no object, or lacks a name.
    """
    for number, line in numbered_lines(path, encoding=encoding):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise MalformedFileError(
                path,
                f"this is no JSON ({json_fault(error)}); every line must be one object.",
                line=number,
            ) from error
        if not isinstance(found, dict):
            raise MalformedFileError(path, "this is JSON, but no object.", line=number)
        for name in needed:
            if name not in found:
                raise MalformedFileError(
                    path,
                    f"{name!r} is missing; there is {', '.join(map(repr, found)) or 'nothing'}.",
                    line=number,
                )
        yield number, found


def named(row: Mapping[str, Any], name: str, *, usual: str | None = None) -> str:
    """Return what names something, such as an id or a label: a string, or a number as one.

    Parameters
    ----------
    row : mapping
        A line's object.
    name : str
    usual : str, optional
        What stands for a value that is missing or null; by default that is an error.

    Raises
    ------
    ValueError
        If the value is something else; says what.
    """
    value = row.get(name)
    if value is None and usual is not None:
        return usual
    if not isinstance(value, str | int | float):
        raise ValueError(f"{name!r} is {json.dumps(value)[:40]}; needed is a string or a number.")
    return str(value)


def json_fault(error: Exception) -> str:
    """Return what is wrong with a line of JSON, and where in the line."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return str(error)


def kept_fields(columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the fields that some document has; of all-empty ones, the last."""
    kept = {name: texts for name, texts in columns.items() if any(text for text in texts)}
    return kept or dict([list(columns.items())[-1]])


def stem(path: Path) -> str:
    """Return a file's name without what tells its format."""
    name = path.name
    while (suffix := Path(name).suffix) and not suffix[1:].isdigit():
        name = name.removesuffix(suffix)
    return name or path.name


@contextmanager
def _binary(path: Path) -> Iterator[BinaryIO]:
    with path.open("rb") as raw:
        compressed = raw.read(2) == _GZIP
        raw.seek(0)
        if not compressed:
            yield raw
            return
        with gzip.GzipFile(fileobj=raw) as file:
            yield file  # type: ignore[misc]  # it reads as one
