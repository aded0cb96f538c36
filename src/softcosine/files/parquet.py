"""Parquet files, row by row; needs pyarrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

from softcosine.errors import MalformedFileError, MissingDependencyError


def read_rows(
    path: str, *, stream: BinaryIO | None = None, row_groups: Sequence[int] | None = None
) -> Iterator[dict[str, Any]]:
    """Read the rows of a parquet file, with values that metadata can store.

    Dates and datetimes stay as they are; times of day, durations and decimals become strings, bytes
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
        If the file is damaged, a column name is repeated, or bytes cannot be decoded.
    MissingDependencyError
        If pyarrow is not installed.
    """
    with opened_parquet(path, stream) as rows:
        names = rows.schema_arrow.names
        for name in (name for name, n in Counter(names).items() if n > 1):
            raise MalformedFileError(
                path, f"it names the column {name!r} twice; every column needs its name."
            )
        for batch in rows.iter_batches(batch_size=4096, row_groups=row_groups):
            for values in batch.to_pylist():
                yield {name: _plain(value, path, name) for name, value in values.items()}


@contextmanager
def opened_parquet(path: str, stream: BinaryIO | None = None) -> Iterator[Any]:
    """Yield an open file of pyarrow; errors as of `read_rows`."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingDependencyError("pyarrow", "parquet", "Reading parquet files") from error
    with stream or Path(path).open("rb") as file:
        try:
            yield ParquetFile(file)
        except MalformedFileError:
            raise
        except (ValueError, OSError, ArrowException) as error:
            raise MalformedFileError(path, f"it is no readable parquet file ({error}).") from error


def _plain(value: Any, path: str, column: str) -> Any:
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if value is None or isinstance(value, str | int | date):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise MalformedFileError(
                path,
                f"the column {column!r} holds bytes that are no text in UTF-8; leave it out, or "
                "write it as a string column.",
            ) from None
    if isinstance(value, list | tuple):
        return [_plain(one, path, column) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain(one, path, column) for name, one in value.items()}
    return str(value)
