"""Metadata filters in SQL, on a column ``metadata`` of type jsonb."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from psycopg.sql import SQL, Composable

from softcosine.index.query.filters import UntranslatableError, Where
from softcosine.index.segment.metadata_columns import Path, is_number
from softcosine.servers.storable_text import is_storable

__all__ = ["filter_of"]

_LARGEST = 2**53  # larger numbers are decimal in PostgreSQL, binary in Python


def filter_of(where: Where) -> Composable | None:
    """Return a condition that holds for the same metadata; None if SQL cannot tell.

    That is so for strings that PostgreSQL cannot store, for numbers beyond 2**53, and for
    ``icontains``: PostgreSQL folds case as its locale does.
    """
    return where.translated(_Sql())


class _Sql:
    """A `FilterLanguage`; every condition is true or false, never NULL."""

    def condition(self, path: Path, operator: str, value: Any) -> Composable:
        known = operator in _CONDITIONS
        if not known or not is_storable([*path, value]) or not _is_small(value):
            raise UntranslatableError
        return _CONDITIONS[operator](_value_at(path), value)

    def all(self, parts: Sequence[Composable]) -> Composable:
        return SQL("({})").format(SQL(" AND ").join(parts)) if parts else SQL("true")

    def any(self, parts: Sequence[Composable]) -> Composable:
        return SQL("({})").format(SQL(" OR ").join(parts)) if parts else SQL("false")

    def negation(self, part: Composable) -> Composable:
        return SQL("(NOT {})").format(part)


def _is_small(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_small, value))
    if isinstance(value, dict):
        return all(map(_is_small, value.values()))
    return not is_number(value) or abs(value) <= _LARGEST


def _value_at(path: Path) -> Composable:
    """Return the value of a key as jsonb; NULL if the key is missing."""
    # The operator -> with a text finds nothing in an array; #> would take it for a position.
    steps = [SQL("-> {}::text").format(_string(key)) for key in path]
    return SQL("(metadata {})").format(SQL(" ").join(steps))


def _string(text: str) -> Composable:
    """Return a string constant; unlike ``Literal``, with percent signs doubled, as in templates."""
    escaped = text.replace("\\", "\\\\").replace("'", "''").replace("%", "%%")
    return SQL(f"E'{escaped}'")


def _json(value: Any) -> Composable:
    return SQL("{}::jsonb").format(_string(json.dumps(value)))


def _equal(at: Composable, value: Any) -> Composable:
    return SQL("coalesce({} = {}, false)").format(at, _json(value))


def _one_of(at: Composable, values: list[Any]) -> Composable:
    return _Sql().any([_equal(at, value) for value in values])


def _not(condition: Composable) -> Composable:
    return SQL("(NOT {})").format(condition)


def _ordered(at: Composable, sign: str, value: Any) -> Composable:
    # CASE, because AND may evaluate its sides in any order, and a cast can fail.
    if isinstance(value, str):
        return SQL(
            "CASE WHEN jsonb_typeof({0}) = 'string' THEN ({0} #>> '{{}}') COLLATE \"C\" {1} {2} "
            "ELSE false END"
        ).format(at, SQL(sign), _string(value))
    return SQL(
        "CASE WHEN jsonb_typeof({0}) = 'number' THEN ({0})::numeric {1} {2}::numeric ELSE false END"
    ).format(at, SQL(sign), _string(json.dumps(value)))


def _contains(at: Composable, value: Any) -> Composable:
    held = SQL(
        "CASE WHEN jsonb_typeof({0}) = 'array' THEN EXISTS (SELECT FROM jsonb_array_elements({0}) "
        "AS element WHERE element = {1}) ELSE false END"
    ).format(at, _json(value))
    if not isinstance(value, str):
        return held
    inside = SQL(
        "CASE WHEN jsonb_typeof({0}) = 'string' THEN strpos({0} #>> '{{}}', {1}) > 0 ELSE false END"
    ).format(at, _string(value))
    return _Sql().any([held, inside])


def _exists(at: Composable, wanted: bool) -> Composable:
    return SQL("({} IS NOT NULL)" if wanted else "({} IS NULL)").format(at)


_CONDITIONS: dict[str, Callable[[Composable, Any], Composable]] = {
    "==": _equal,
    "!=": lambda at, value: _not(_equal(at, value)),
    "<": lambda at, value: _ordered(at, "<", value),
    "<=": lambda at, value: _ordered(at, "<=", value),
    ">": lambda at, value: _ordered(at, ">", value),
    ">=": lambda at, value: _ordered(at, ">=", value),
    "in": _one_of,
    "not in": lambda at, values: _not(_one_of(at, values)),
    "contains": _contains,
    "exists": _exists,
}
