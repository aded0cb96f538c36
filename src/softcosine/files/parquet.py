"""Parquet files, row by row; needs pyarrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from itertools import repeat
from pathlib import Path
from typing import Any, BinaryIO

from softcosine.errors import MalformedFileError, needing


def read_rows(
    path: str, *, stream: BinaryIO | None = None, row_groups: Sequence[int] | None = None
) -> Iterator[dict[str, Any]]:
    """Read the rows of a parquet file, with values that metadata can store.

    Dates, datetimes and decimals stay as they are; times of day and durations become strings, bytes
    are decoded as UTF-8, and NaN becomes null.

    Parameters
    ----------
    path : str
    stream : binary file, optional
        The file, if `path` is only its name in messages.
    row_groups : sequence of int, optional
        All by default.

    Raises
    ------
    MalformedFileError
        If the file is damaged, a column name is repeated, bytes cannot be decoded, or a date or
        time is outside the years 1 to 9999, which are those of Python and of ISO 8601.
    MissingDependencyError
        If pyarrow is not installed.
    """
    with opened_parquet(path, stream) as rows:
        names = rows.schema_arrow.names
        for name in (name for name, n in Counter(names).items() if n > 1):
            raise MalformedFileError(path, f"it names the column {name!r} twice.")
        for batch in rows.iter_batches(batch_size=4096, row_groups=row_groups):
            columns = map(_values, batch.columns, repeat(path), names)
            for row in zip(*columns, strict=True):
                yield dict(zip(names, row, strict=True))


@contextmanager
def opened_parquet(path: str, stream: BinaryIO | None = None) -> Iterator[Any]:
    """Yield an open file of pyarrow; errors as of `read_rows`."""
    with needing("pyarrow", "parquet", "Reading parquet files"):
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    with stream or Path(path).open("rb") as file:
        try:
            yield ParquetFile(file)
        except MalformedFileError:
            raise
        except (ValueError, OSError, ArrowException) as error:
            raise MalformedFileError(path, f"it is no readable parquet file ({error}).") from error


def _values(values: Any, path: str, column: str) -> list[Any]:
    try:
        return [_plain(value, path, column) for value in values.to_pylist()]
    except OverflowError as error:
        told = f"the column {column!r} holds a date or time outside the years 1 to 9999"
        raise MalformedFileError(path, f"{told}; make it null, or a string column.") from error


def _plain(value: Any, path: str, column: str) -> Any:
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if value is None or isinstance(value, str | int | date | Decimal):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise MalformedFileError(path, f"the column {column!r} is not in UTF-8.") from None
    if isinstance(value, list | tuple):
        return [_plain(one, path, column) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain(one, path, column) for name, one in value.items()}
    return str(value)
