"""Metadata values: types beside those of JSON, and their stored form.

==========================  ======================================================================
a NumPy scalar              the number, string or boolean that it holds
``date``                    ``"2024-05-01"``
``datetime``                in UTC, of fixed width: ``"2024-05-01T10:00:00.000000Z"``
``uuid.UUID``               ``"123e4567-e89b-12d3-a456-426614174000"``
``Decimal``                 an integer if it is whole, else the nearest float
==========================  ======================================================================

The order of these strings is chronological. A filter value that is a date or datetime is converted
in the same way, so it matches stored ones. A datetime without a time zone is taken as UTC, because
local time depends on the machine. A date sorts before all times of that day. Metadata are returned
with these strings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from softcosine._validation import check_type
from softcosine.errors import InvalidInputError

Default = Callable[[Any], Any]


def json_of(value: Any, default: Default | None = None) -> str:
    """Return a value as JSON.

    Parameters
    ----------
    value : object
    default : callable, optional
        Converts values of other types, like ``default`` of `json.dumps`.

    Raises
    ------
    TypeError, ValueError, RecursionError
        If a value cannot be represented, such as NaN.
    """

    def converted(part: Any) -> Any:
        if isinstance(part, np.datetime64):
            part = _moment(part)
        if isinstance(part, datetime):
            return _in_utc(part)
        if isinstance(part, date):
            return part.isoformat()
        if isinstance(part, UUID):
            return str(part)
        if isinstance(part, np.bool_ | np.integer):
            return part.item()
        if isinstance(part, np.floating):
            return float(part)
        if default is not None:
            return default(part)
        if isinstance(part, Decimal):
            return int(part) if (nearest := float(part)).is_integer() else nearest
        raise TypeError(
            f"an object of type {type(part).__name__} is not JSON serializable; pass default=, a "
            "function of what to write"
        )

    return json.dumps(value, allow_nan=False, default=converted)


def metadata_json(document: object, metadata: Any, default: Default | None) -> str | None:
    """Return the metadata of a document as JSON; None if it has none.

    Raises
    ------
    InvalidInputError
        If they are not a mapping, or cannot be represented; `document` names the document.
    """
    if metadata is None:
        return None
    check_type(f"the metadata of document {document}", metadata, Mapping, "pass a mapping or None")
    try:
        return json_of(dict(metadata), default) if metadata else None
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"the metadata of document {document} cannot be written as JSON: {error}."
        ) from error


def _moment(value: np.datetime64) -> date:
    """Return a NumPy date as a date, or as a datetime if it has a time of day."""
    unit = np.datetime_data(value.dtype)[0]
    moment = value.astype("M8[D]" if unit in ("Y", "M", "W", "D") else "M8[us]").item()
    if not isinstance(moment, date):
        raise ValueError(f"the time {value} is none that a datetime can hold")
    return moment


def _in_utc(moment: datetime) -> str:
    if moment != moment:  # pandas' NaT
        raise ValueError(f"the time {moment} is none that a datetime can hold")
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(UTC)
        except OverflowError as error:
            raise ValueError(f"the time {moment} has no year in UTC: {error}") from error
    # Field by field, because subclasses such as that of pandas format nanoseconds.
    return (
        f"{moment.year:04}-{moment.month:02}-{moment.day:02}T{moment.hour:02}:{moment.minute:02}:"
        f"{moment.second:02}.{moment.microsecond:06}Z"
    )
