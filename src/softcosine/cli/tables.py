"""Atomic writer of tables as JSON lines, CSV or TSV, by the ending of the file name."""

from __future__ import annotations

import csv
import json
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from softcosine.errors import AlreadyExistsError, InvalidInputError

_Write = Callable[[dict[str, Any]], None]


def check_file(path: Path | None, *, overwrite: bool) -> None:
    """Check that a file can be written, before any work is done.

    Raises
    ------
    AlreadyExistsError
        If the path is a folder, or exists and `overwrite` is false.
    FileNotFoundError
        If its folder does not exist.
    """
    if path is None:
        return
    if path.is_dir():
        raise AlreadyExistsError(f"{path} is a folder; choose the name of a file.")
    if path.exists() and not overwrite:
        raise AlreadyExistsError(
            f"{path} already exists; pass --overwrite, or choose another name."
        )
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first.")


def check_table(path: Path, *, overwrite: bool) -> None:
    """Check that a table can be written, before any work is done.

    Raises
    ------
    InvalidInputError
        If the file name has no known ending.
    AlreadyExistsError
        If the file exists and `overwrite` is false.
    FileNotFoundError
        If its folder does not exist.
    """
    if path.suffix.lower() not in _FORMATS:
        raise InvalidInputError(
            f"{path}: unknown format; choose a name that ends in {', '.join(_FORMATS)}."
        )
    check_file(path, overwrite=overwrite)


class TableWriter:
    """Context manager that returns a function to write a row.

    The file gets its name at the end; after an error it is removed.

    Parameters
    ----------
    path : Path
    names : sequence of str
        Names of the columns.
    """

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._path = path
        self._names = names
        self._new = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.tmp")
        self._file: IO[str] | None = None

    def __enter__(self) -> _Write:
        from softcosine.storage import naming_the_target

        with naming_the_target(self._path, self._new):
            self._file = self._new.open("x", encoding="utf-8", errors="surrogatepass", newline="")
        return _FORMATS[self._path.suffix.lower()](self._file, self._names)

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        assert self._file is not None
        try:
            self._file.close()
            if kind is None:
                self._new.replace(self._path)
        finally:
            self._new.unlink(missing_ok=True)


def _json_lines(file: IO[str], names: Sequence[str]) -> _Write:
    def write(row: dict[str, Any]) -> None:
        file.write(json.dumps(row) + "\n")

    return write


def _csv(file: IO[str], names: Sequence[str]) -> _Write:
    table = csv.DictWriter(file, names, lineterminator="\n")
    table.writeheader()

    def write(row: dict[str, Any]) -> None:
        table.writerow(row)

    return write


def _tsv(file: IO[str], names: Sequence[str]) -> _Write:
    """Return a writer of TSV as registered by IANA: no value contains a tab or a line break."""
    file.write("\t".join(names) + "\n")

    def write(row: dict[str, Any]) -> None:
        values = [str(row[name]) for name in names]
        for value in values:
            if "\t" in value or len(value.splitlines()) > 1:
                raise InvalidInputError(
                    f"{value[:80]!r} contains a tab or a line break, which TSV does not allow; "
                    "write .csv or .jsonl."
                )
        file.write("\t".join(values) + "\n")

    return write


_FORMATS: dict[str, Callable[[IO[str], Sequence[str]], _Write]] = {
    ".jsonl": _json_lines,
    ".csv": _csv,
    ".tsv": _tsv,
}
