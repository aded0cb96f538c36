"""Readers of lines and JSON lines in the files of data sets, compressed or not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from softcosine._textio import numbered_lines
from softcosine.errors import MalformedFileError
from softcosine.files import read_records


def first_line(path: Path, *, encoding: str = "utf-8") -> str:
    """Return the first line that is not blank.

    Raises
    ------
    MalformedFileError
        If the file is empty.
    """
    for _, line in numbered_lines(path, encoding=encoding):
        return line
    raise MalformedFileError(path, "it is empty.")


def json_objects(
    path: Path, needed: Sequence[str], *, encoding: str = "utf-8"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the JSON object of every line.

    Parameters
    ----------
    path : Path
    needed : sequence of str
        Required keys of every object.
    encoding : str

    Raises
    ------
    MalformedFileError
        If a line is not an object, or a key is missing.
    """
    for record in read_records(str(path), format="jsonl", encoding=encoding):
        for name in needed:
            if name not in record.values:
                raise MalformedFileError(
                    path,
                    f"{name!r} is missing; "
                    f"there is {', '.join(map(repr, record.values)) or 'nothing'}.",
                    line=record.line,
                )
        assert record.line is not None
        yield record.line, record.values


def named(row: Mapping[str, Any], name: str, *, usual: str | None = None) -> str:
    """Return an id or a label of an object as a string.

    Parameters
    ----------
    row : mapping
        Object of a line.
    name : str
    usual : str, optional
        Value if the key is missing or null; without it, that is an error.

    Raises
    ------
    ValueError
        If the value is neither a string nor a number.
    """
    value = row.get(name)
    if value is None and usual is not None:
        return usual
    if not isinstance(value, str | int | float):
        raise ValueError(f"{name!r} is {json.dumps(value)[:40]}; needed is a string or a number.")
    return str(value)


def kept_fields(columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the fields that are not empty in all documents; the last field if all are empty."""
    kept = {name: texts for name, texts in columns.items() if any(text for text in texts)}
    return kept or dict([list(columns.items())[-1]])


def stem(path: Path) -> str:
    """Return a file name without the endings of its format."""
    name = path.name
    while (suffix := Path(name).suffix) and not suffix[1:].isdigit():
        name = name.removesuffix(suffix)
    return name or path.name
