"""Rows written to a file, whole or not at all: JSON lines, CSV or TSV, as its name says."""

from __future__ import annotations

import csv
import json
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from softcosine.errors import AlreadyExistsError, InvalidInputError

__all__ = ["TableWriter", "check_file", "check_table"]

_Write = Callable[[dict[str, Any]], None]


def check_file(path: Path | None, *, overwrite: bool) -> None:
    """Find out what keeps a file from being written before anything is done.

    Raises
    ------
    AlreadyExistsError
        If the file is there, and is not to be overwritten, or is a folder.
    FileNotFoundError
        If its folder is not there.
    """
    if path is None:
        return
    if path.is_dir():
        raise AlreadyExistsError(f"{path} is a folder; choose the name of a file.")
    if path.exists() and not overwrite:
        raise AlreadyExistsError(f"{path} exists already; say --overwrite, or take another name.")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first.")


def check_table(path: Path, *, overwrite: bool) -> None:
    """Find out what is wrong with the name of a file before there is anything to write.

    Raises
    ------
    InvalidInputError
        If it tells no format.
    AlreadyExistsError
        If the file is there, and is not to be overwritten.
    FileNotFoundError
        If its folder is not there.
    """
    if path.suffix.lower() not in _FORMATS:
        raise InvalidInputError(
            f"{path}: the name does not tell the format; let it end in {', '.join(_FORMATS)}."
        )
    check_file(path, overwrite=overwrite)


class TableWriter:
    """Writes rows to a file that takes its name at the end, and is gone where that is an error.

    A context manager, which gives what writes a row.

    Parameters
    ----------
    path : Path
    names : sequence of str
        Of the columns.
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
    """Write values as IANA registers the format: none holds a tab or a line break."""
    file.write("\t".join(names) + "\n")

    def write(row: dict[str, Any]) -> None:
        values = [str(row[name]) for name in names]
        for value in values:
            if "\t" in value or len(value.splitlines()) > 1:
                raise InvalidInputError(
                    f"{value[:80]!r} holds a tab or a line break, which TSV cannot; write .csv or "
                    ".jsonl."
                )
        file.write("\t".join(values) + "\n")

    return write


_FORMATS: dict[str, Callable[[IO[str], Sequence[str]], _Write]] = {
    ".jsonl": _json_lines,
    ".csv": _csv,
    ".tsv": _tsv,
}
