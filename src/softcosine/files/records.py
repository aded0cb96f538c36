"""Readers of record files: JSON lines, JSON, CSV, TSV, plain text and parquet, as streams."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from softcosine._textio import ADVICE, STANDARD_INPUT, Text, opened
from softcosine._validation import check_choice
from softcosine.errors import InvalidInputError, MalformedFileError

_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "lines",
    ".parquet": "parquet",
}
_MOST_DIGITS = 4000  # of an integer; Python's own limit is a little higher
_LARGEST_FIELD = 1 << 28  # characters; without a limit, a quotation mark could take all memory
_DELIMITERS = ",;\t|"
_SEPARATOR = re.compile(r'"?sep=([^\w"\r\n])"?[\r\n]*', re.IGNORECASE)  # as Excel writes it
TABLES = ("csv", "tsv")  # formats whose cells have no types


@dataclass(frozen=True, slots=True)
class Record:
    """Named values of one record of a file.

    Attributes
    ----------
    values : dict
        Strings in text formats; otherwise JSON values, and dates from parquet.
    path : str
        The file.
    line : int or None
        Last line of the record, from 1, if the format has lines.
    is_row : bool
        Whether the values are cells of a row of CSV or TSV, strings of any type.
    """

    values: dict[str, Any]
    path: str
    line: int | None = None
    is_row: bool = False


def read_records(
    path: str,
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    advice: str = ADVICE,
    stream: BinaryIO | None = None,
    row_groups: Sequence[int] | None = None,
) -> Iterator[Record]:
    """Read the records of one file, or of standard input for ``"-"``.

    Parameters
    ----------
    path : str
        Text formats may be compressed by gzip.
    format : str, optional
        One of `FORMATS`; by default from the file's name. Standard input is read as JSON lines if
        its first line is a JSON object, else as plain lines.
    encoding : str
        Encoding of text formats. A byte order mark of UTF-8 is skipped.
    advice : str
        What to do if a text has another encoding.
    stream : buffered reader, optional
        The bytes to read, if `path` is only their name in messages.
    row_groups : sequence of int, optional
        Which row groups of a parquet file to read; all by default.

    Raises
    ------
    MalformedFileError
        If the file breaks its format; names the line.
    InvalidInputError
        If the file's name gives no format, or the encoding does not exist.
    MissingDependencyError
        If the file is parquet and pyarrow is not installed.
    """
    chosen = format or format_of(path)
    check_choice("format", chosen, FORMATS)
    if chosen == "parquet":
        if path == STANDARD_INPUT:
            raise InvalidInputError("parquet cannot be read from standard input; give the file.")
        from softcosine.files.parquet import read_rows

        for values in read_rows(path, stream=stream, row_groups=row_groups):
            yield Record(values, path)
        return
    newline = "" if chosen in TABLES else None
    unknown = path == STANDARD_INPUT and format is None
    with opened(path, encoding, newline, advice=advice, stream=stream) as text:
        yield from _lines_of_some_kind(text) if unknown else _READERS[chosen](text)


def format_of(path: str) -> str:
    """Return the format that a file's name gives."""
    if path == STANDARD_INPUT:
        return "lines"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    if suffixes and suffixes[-1] in _SUFFIXES:
        return _SUFFIXES[suffixes[-1]]
    raise InvalidInputError(
        f"{path}: the name does not tell the format; say --format and one of {', '.join(FORMATS)}."
    )


def _lines_of_some_kind(text: Text) -> Iterator[Record]:
    """Read JSON lines if the first line is a JSON object, else plain lines."""
    numbered = text.lines()
    for number, line in numbered:
        if line.strip():
            read = _json_lines if _is_object(line) else _lines
            yield from read(text, chain([(number, line)], numbered))


def _is_object(line: str) -> bool:
    try:
        return isinstance(parsed_json(line), dict)
    except ValueError:
        return False


def _lines(text: Text, numbered: Iterable[tuple[int, str]] | None = None) -> Iterator[Record]:
    for number, line in numbered or text.lines():
        if line.strip():
            yield Record({"text": line.rstrip("\n")}, text.path, number)


def _whole(text: Text) -> Iterator[Record]:
    yield Record({"text": "".join(line for _, line in text.lines())}, text.path)


def _json_lines(text: Text, numbered: Iterable[tuple[int, str]] | None = None) -> Iterator[Record]:
    for number, line in numbered or text.lines():
        if not line.strip():
            continue
        try:
            values = parsed_json(line.rstrip("\r\n"))
        except ValueError as error:
            fault = str(error)
            if isinstance(error, json.JSONDecodeError):
                fault = f"{error.msg} at column {error.colno}"
            raise text.error(f"this is no JSON ({fault}); a line is an object", number) from error
        yield Record(_checked_object(values, text, number), text.path, number)


def _json(text: Text) -> Iterator[Record]:
    try:
        values = parsed_json("".join(line for _, line in text.lines()))
    except ValueError as error:
        if isinstance(error, MalformedFileError):
            raise
        raise text.error(
            f"this is no JSON ({error}); if every line is an object of its own, say --format jsonl",
            getattr(error, "lineno", None),
        ) from error
    if not isinstance(values, list):
        raise text.error(f"it holds {_kind(values)}; an array of objects was needed")
    for number, value in enumerate(values, 1):
        yield Record(_checked_object(value, text, None, f"item {number} is "), text.path)


def parsed_json(line: str) -> Any:
    """Return the value of a JSON text.

    Raises
    ------
    ValueError
        If it is not valid JSON, is nested too deeply, or holds a non-finite or too large number.
    """
    try:
        return json.loads(line, parse_constant=_no_number, parse_float=_finite, parse_int=_readable)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON number; write null")


def _readable(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits; write it as a string")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:40]} is beyond the range of numbers; write it as a string")
    return value


def _checked_object(
    value: Any, text: Text, line: int | None, place: str = "this is "
) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise text.error(
        f'{place}{_kind(value)}; an object was needed, such as {{"id": "a", "text": "..."}}', line
    )


def _kind(value: object) -> str:
    names = {list: "an array", dict: "an object", str: "a string", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")


def _csv(text: Text) -> Iterator[Record]:
    """Read rows; the delimiter is that of a "sep=" line, else what splits the header most."""
    csv.field_size_limit(_LARGEST_FIELD)
    lines, head = (line for _, line in text.lines()), [""]
    while (line := next(lines, None)) is not None:
        head.append(line)
        if line.strip():
            break
    delimiter = max(_DELIMITERS, key=lambda one: len(next(csv.reader(head[-1:], delimiter=one))))
    if said := _SEPARATOR.fullmatch(head[-1]):
        delimiter, head[-1] = said[1], "\n"
    reader = csv.reader(chain(head[1:], lines), delimiter=delimiter, strict=True)
    return _rows(text, reader, delimiter)


def _tsv(text: Text) -> Iterator[Record]:
    csv.field_size_limit(_LARGEST_FIELD)
    # Without quoting, as IANA registers the format: quotation marks have no meaning.
    lines = (line for _, line in text.lines())
    return _rows(text, csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE), "\t")


def _rows(text: Text, reader: Any, delimiter: str) -> Iterator[Record]:
    """Yield each row as a record, named by the header."""
    header: list[str] | None = None
    try:
        for row in reader:
            if not row or row == [""]:
                continue
            if header is None:
                header = row
                for name in (name for name, n in Counter(row).items() if n > 1):
                    raise text.error(f"the header names {name!r} twice", reader.line_num)
            elif len(row) != len(header):
                told = f"this row has {len(row)} fields and the header {len(header)}"
                raise text.error(f"{told}, separated by {delimiter!r}", reader.line_num)
            else:
                values = dict(zip(header, row, strict=True))
                yield Record(values, text.path, reader.line_num, is_row=True)
    except csv.Error as error:
        raise text.error(f"the quoting is broken ({error})", reader.line_num) from error


_READERS: dict[str, Callable[[Text], Iterator[Record]]] = {
    "jsonl": _json_lines,
    "json": _json,
    "csv": _csv,
    "tsv": _tsv,
    "lines": _lines,
    "text": _whole,
}
FORMATS = (*_READERS, "parquet")
