"""Conversion of results to pandas, and of data frames to documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softcosine.errors import InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

Column = str | int


def data_frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return a pandas data frame; MissingDependencyError if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError("pandas", "pandas", "to_pandas()") from error
    return pd.DataFrame(dict(columns))


@dataclass(frozen=True, slots=True)
class FrameDocuments:
    """The documents of a data frame.

    Attributes
    ----------
    fields : list of str, or None
        Names of the columns if several contain texts.
    texts : list of str, or of dict of str to str
        Dicts if several columns contain texts.
    ids : list of str, or None
    metadata : list of dict of str to Any
    """

    fields: list[str] | None
    texts: list[Any]
    ids: list[str] | None
    metadata: list[dict[str, Any]]


def read_frame(
    frame: Any,
    *,
    text: Column | Iterable[Column],
    id: Column | None,
    metadata: Iterable[Column] | None,
) -> FrameDocuments:
    """Return the documents of a data frame, one per row.

    Parameters
    ----------
    frame : DataFrame of pandas or polars
    text : str, int, or iterable of them
        The text column or columns. Integers name columns of a frame without a header.
    id : str, int or None
        The id column, strings or integers.
    metadata : iterable of str or int, or None
        Columns of metadata; all other columns if None. Missing values are left out.

    Raises
    ------
    InvalidInputError
        If it is not a data frame, lacks a column, or a text or id is missing or has a wrong type.
    """
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        raise InvalidInputError(
            f"the data frame is of type {type(frame).__name__}; pass one of pandas or polars, or "
            "texts to from_texts."
        )
    several = not isinstance(text, str) and isinstance(text, Iterable)
    columns: list[Any] = list(text) if several else [text]  # type: ignore[arg-type]
    if not columns:
        raise InvalidInputError('text names no column; name one or several, as text="body".')
    if metadata is None:
        metadata = [name for name in frame.columns if name not in {*columns, id}]
    elif isinstance(metadata, str) or not isinstance(metadata, Iterable):
        raise InvalidInputError(
            f"metadata is {metadata!r}; pass a list of columns, as [{metadata!r}]."
        )
    names, metadata = list(frame.columns), list(metadata)
    for name in (*columns, *([] if id is None else [id]), *metadata):
        if (n := names.count(name)) != 1:
            there = f"are {n} columns" if n else "is no column"
            shown = ", ".join(map(repr, names))
            raise InvalidInputError(f"there {there} {name!r}; the data frame has {shown}.")
    fields, texts = None, _texts(frame, columns[0])
    if several:
        fields = list(map(str, columns))
        every = zip(*(_texts(frame, name) for name in columns), strict=True)
        texts = [dict(zip(fields, row, strict=True)) for row in every]
    values = [list(frame[name]) for name in metadata]
    return FrameDocuments(
        fields,
        texts,
        None if id is None else [_id(value, row, id) for row, value in enumerate(frame[id])],
        [
            {
                str(name): own[row]
                for name, own in zip(metadata, values, strict=True)
                if not _missing(own[row])
            }
            for row in range(len(texts))
        ],
    )


def _texts(frame: Any, name: Column) -> list[Any]:
    texts = list(frame[name])
    for row, value in enumerate(texts):
        if not isinstance(value, str):
            raise InvalidInputError(
                f"column {name!r} has {'no text' if _missing(value) else repr(value)[:80]} in row "
                f"{row}; every row needs a string. Fill the others in, or drop these rows."
            )
    return texts


def _id(value: Any, row: int, name: Column) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
        raise InvalidInputError(
            f"column {name!r} has {'no id' if _missing(value) else repr(value)[:80]} in row "
            f"{row}; ids are strings or whole numbers."
        )
    return str(value)


def _missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, or a null value of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)
