"""Types of the columns of CSV and TSV files, inferred from all of their cells.

===========  =====================================================================================
``integer``  ``-7``, ``2024``; at most 15 digits, without leading zeros or a plus sign
``decimal``  ``0.5``, ``12.50``, ``1e-3``; also integers, as in 9.99, 10, 100.00
``boolean``  ``true`` and ``false`` in any case
``date``     ISO 8601: ``2024-05-01``, also with a time: ``2024-05-01 10:00:00+02:00``
``text``     all others, such as phone numbers, ``1.2.3``, ``007``, ``1,5`` and ``01.05.2024``
===========  =====================================================================================

A column has the first of these types that all of its cells have; empty cells are missing values.
Versions such as 1.9 and 1.10 have the form of decimals: give their column the type ``text``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from softcosine._validation import check_choice
from softcosine.errors import InvalidInputError

# More digits are rather an id, and JSON readers with float64 would change them.
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,14})")
_DECIMAL = re.compile(r"-?((0|[1-9][0-9]{0,14})(\.[0-9]+)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[-+][0-9]{2}(:?[0-9]{2})?)?)?"
)
_BOOLEANS = {"true": True, "false": False}


def _decimal(cell: str) -> float:
    if not math.isfinite(value := float(cell)):
        raise ValueError
    return value


def _boolean(cell: str) -> bool:
    if cell.lower() not in _BOOLEANS:
        raise ValueError
    return _BOOLEANS[cell.lower()]


def _date(cell: str) -> date:
    if not _DATE.fullmatch(cell):
        raise ValueError
    return date.fromisoformat(cell) if len(cell) == 10 else datetime.fromisoformat(cell)


_PARSERS: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "decimal": _decimal,
    "boolean": _boolean,
    "date": _date,
    "text": str,
}
TYPES = tuple(_PARSERS)
_FORMS = {"integer": _INTEGER, "decimal": _DECIMAL}
# What a column can be if a cell is not of its type; text if it is not here.
_WIDER: dict[str | None, tuple[str, ...]] = {None: TYPES, "integer": ("decimal", "text")}


def parsed_cell(cell: str, type: str) -> Any:
    """Return the value of a cell that is not empty; ValueError if it is not of the type."""
    return cell if type == "text" else _PARSERS[type](cell.strip())


def _is(cell: str, type: str) -> bool:
    if type in _FORMS and not _FORMS[type].fullmatch(cell):
        return False
    try:
        _PARSERS[type](cell)
    except ValueError:
        return False
    return True


def type_of(value: object) -> str | None:
    """Return the type of a metadata value; None for null, lists and objects."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "date" if _is(value, "date") else "text"
    return "integer" if isinstance(value, int) else "decimal" if isinstance(value, float) else None


class ColumnTypes:
    """Infers the types of columns from their cells, row by row."""

    def __init__(self) -> None:
        self._types: dict[str, str | None] = {}  # None if all cells are empty

    def read(self, row: Mapping[str, str]) -> bool:
        """Take the cells of a row; return whether some column is not text yet."""
        types = self._types
        for name, cell in row.items():
            type = types.setdefault(name, None)
            if type == "text" or not (cell := cell.strip()):
                continue
            if type is None or not _is(cell, type):
                wider = _WIDER.get(type, ("text",))
                types[name] = next(one for one in wider if _is(cell, one))
        return any(type != "text" for type in types.values())

    def inferred(self) -> dict[str, str]:
        """Return the type of each column."""
        return {name: type or "text" for name, type in self._types.items()}


def chosen_types(inferred: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return inferred types, replaced by those that the user gives.

    Raises
    ------
    InvalidInputError
        If a given type does not exist, or no table has the column as metadata.
    """
    for name, type in given.items():
        check_choice(f"the type of the column {name!r}", type, TYPES)
        if name not in inferred:
            known = ", ".join([*inferred][:20]) or "none"
            raise InvalidInputError(
                f"there is no column {name!r} to give a type; there are: {known}."
            )
    return {**inferred, **given}
