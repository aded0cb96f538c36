r"""Metadata filters: the syntax of ``where=``.

>>> where = Where.parse({"lang": "en", "year": {">=": 2020, "<": 2024}, "tags": {"contains": "x"}})
>>> where.matches({"lang": "en", "year": 2021, "tags": ["x", "y"]})
True

A filter is a dictionary; all of its conditions must hold. The value of a key is a JSON value that
must be equal, or a dictionary of operators. ``author.name`` is the key *name* of the object
*author*.

=================================  =============================================================
``==`` ``!=``                      equal, not equal
``<`` ``<=`` ``>`` ``>=``          numbers by value, strings in code point order
``in`` ``not in``                  equal to a value of a list, or to none
``contains``                       a list contains the value, a string contains the string
``icontains``                      a string contains the string, whatever the case of letters
``exists``                         ``True``: the key exists; ``False``: it does not
=================================  =============================================================

Numbers compare with numbers and strings with strings; a boolean is not a number, and null is an
ordinary value. Values of different types are unequal and not ordered. For a missing key only
``!=``, ``not in`` and ``"exists": False`` are true.

Dates, datetimes and UUIDs are stored and compared as strings
(`softcosine.index.segment.metadata_values`).

``"all"``, ``"any"`` and ``"not"`` combine filters: ``{"any": [{"lang": "en"}, {"year": 2020}]}``,
or ``{"not": {"lang": "en"}}``, which also holds if the key is missing.

A backslash escapes the next character: ``author\.name`` is a key with a dot,
``\any`` a key called *any*, and ``\\`` a backslash.

A filter has at most `MAX_CONDITIONS` conditions, on at most `MAX_KEYS` keys; ``{"in": [...]}`` is
one, however long its list.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine.errors import InvalidInputError
from softcosine.index.segment.metadata_columns import (
    MAX_DEPTH,
    MISSING,
    MetadataColumn,
    MetadataColumns,
    Path,
    is_number,
    key_of,
    value_at,
)
from softcosine.index.segment.metadata_values import json_of


@dataclass(frozen=True, slots=True)
class Operator:
    """A comparison operator.

    Attributes
    ----------
    wanted : str
        Description of the values that it accepts, for messages.
    accepts : callable
        Whether it accepts a JSON value in a filter.
    holds : callable
        Whether the comparison is true of a document's value (or `MISSING`) and the filter's value.
    table : callable
        The same for all values of a column.
    """

    wanted: str
    accepts: Callable[[Any], bool]
    holds: Callable[[Any, Any], bool]
    table: Callable[[MetadataColumn, Any], NDArray[np.bool_]]


def _equals(value: Any, wanted: Any) -> bool:
    return key_of(value) == key_of(wanted)


def _is_one_of(value: Any, wanted: list[Any]) -> bool:
    return any(_equals(value, one) for one in wanted)


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted in value
    return isinstance(value, list) and any(_equals(one, wanted) for one in value)


def _contains_folded(value: Any, wanted: str) -> bool:
    return isinstance(value, str) and wanted.casefold() in value.casefold()


def _anything(value: object) -> bool:
    return True


def _is_ordered(value: object) -> bool:
    return isinstance(value, str) or is_number(value)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _order(
    compare: Callable[[Any, Any], bool], table: Callable[[MetadataColumn, Any], NDArray[np.bool_]]
) -> Operator:
    def holds(value: Any, wanted: Any) -> bool:
        one_type = isinstance(value, str) if isinstance(wanted, str) else is_number(value)
        return one_type and compare(value, wanted)

    return Operator("a number or a string", _is_ordered, holds, table)


OPERATORS = {
    "==": Operator("a value", _anything, _equals, lambda column, value: column.equal([value])),
    "!=": Operator(
        "a value",
        _anything,
        lambda value, wanted: not _equals(value, wanted),
        lambda column, value: ~column.equal([value]),
    ),
    "<": _order(operator.lt, lambda column, value: column.below(value, inclusive=False)),
    "<=": _order(operator.le, lambda column, value: column.below(value, inclusive=True)),
    ">": _order(operator.gt, lambda column, value: column.above(value, inclusive=False)),
    ">=": _order(operator.ge, lambda column, value: column.above(value, inclusive=True)),
    "in": Operator("a list", _is_list, _is_one_of, lambda column, values: column.equal(values)),
    "not in": Operator(
        "a list",
        _is_list,
        lambda value, wanted: not _is_one_of(value, wanted),
        lambda column, values: ~column.equal(values),
    ),
    "contains": Operator(
        "a value", _anything, _contains, lambda column, value: column.holding(value)
    ),
    "icontains": Operator(
        "a string",
        lambda wanted: isinstance(wanted, str),
        _contains_folded,
        lambda column, value: column.containing_folded(value),
    ),
    "exists": Operator(
        "True or False",
        lambda wanted: isinstance(wanted, bool),
        lambda value, wanted: (value is not MISSING) == wanted,
        lambda column, wanted: ~column.missing() if wanted else column.missing(),
    ),
}


_Columns = Mapping[Path, MetadataColumn]
MAX_CONDITIONS = 1024
MAX_KEYS = 100
_MOST_NESTED = 50
_MOST_EXACT = 2**53  # integers up to here are exact in float64


@dataclass(frozen=True, slots=True)
class Where:
    """A parsed filter; compared and hashed by its `key`.

    Attributes
    ----------
    key : str
        The filter as canonical JSON: equal for filters that differ only in order or spelling.
    """

    key: str
    _node: _Node = field(compare=False, repr=False)

    @classmethod
    def parse(cls, where: Mapping[str, Any] | Where) -> Where:
        """Return the parsed filter.

        Parameters
        ----------
        where : mapping
            An empty one matches every document.

        Raises
        ------
        InvalidInputError
            If it is not a valid filter, for example because of an unknown operator, or if it has
            more than `MAX_CONDITIONS` conditions, or more than `MAX_KEYS` keys.
        """
        if isinstance(where, Where):
            return where
        node = _parse(where, 0, count(1))
        if (n_keys := len(set(node.paths()))) > MAX_KEYS:
            raise InvalidInputError(
                f"the filter has conditions on {n_keys} keys; use at most {MAX_KEYS}."
            )
        return cls(_text(node.to_json()), node)

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Whether the filter matches a document's metadata."""
        return self._node.matches(dict(metadata))

    def mask(self, columns: MetadataColumns) -> NDArray[np.bool_]:
        """Return the documents of a segment that match, shape (n_docs,).

        Computed at each call; ``columns.mask(where)`` caches it.
        """
        paths = set(self._node.paths())
        return self._node.mask(columns.columns(paths), columns.n_docs)

    def required(self) -> Iterable[tuple[dict[str, Any], Path, list[Any]]]:
        """Yield the conditions that are not under a ``not``.

        Each with its filter, its key and the values that it compares with.
        """
        for one in self._node.conditions():
            values = one.value if one.operator in ("in", "not in") else [one.value]
            yield one.to_json(), one.path, values


class _Node(Protocol):
    """A node of a filter expression."""

    def matches(self, metadata: dict[str, Any]) -> bool: ...

    def mask(self, columns: _Columns, n_docs: int) -> NDArray[np.bool_]: ...

    def paths(self) -> Iterable[Path]: ...

    def conditions(self) -> Iterable[_Condition]: ...

    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class _Condition:
    """One operator on one key."""

    path: Path
    operator: str
    value: Any

    def matches(self, metadata: dict[str, Any]) -> bool:
        return OPERATORS[self.operator].holds(value_at(metadata, self.path), self.value)

    def mask(self, columns: _Columns, n_docs: int) -> NDArray[np.bool_]:
        check_deadline()
        column = columns[self.path]
        return column.mask(OPERATORS[self.operator].table(column, self.value))

    def paths(self) -> Iterable[Path]:
        return (self.path,)

    def conditions(self) -> Iterable[_Condition]:
        return (self,)

    def to_json(self) -> dict[str, Any]:
        return {spelled_path(self.path): {self.operator: self.value}}


@dataclass(frozen=True, slots=True)
class _All:
    """All operands match; every document if there are none."""

    parts: tuple[_Node, ...]

    def matches(self, metadata: dict[str, Any]) -> bool:
        return all(part.matches(metadata) for part in self.parts)

    def mask(self, columns: _Columns, n_docs: int) -> NDArray[np.bool_]:
        masks = (part.mask(columns, n_docs) for part in self.parts)
        return reduce(np.logical_and, masks, np.ones(n_docs, np.bool_))

    def paths(self) -> Iterable[Path]:
        return (path for part in self.parts for path in part.paths())

    def conditions(self) -> Iterable[_Condition]:
        return (one for part in self.parts for one in part.conditions())

    def to_json(self) -> dict[str, Any]:
        return {"all": [part.to_json() for part in self.parts]}


@dataclass(frozen=True, slots=True)
class _Any:
    """Some operand matches; no document if there are none."""

    parts: tuple[_Node, ...]

    def matches(self, metadata: dict[str, Any]) -> bool:
        return any(part.matches(metadata) for part in self.parts)

    def mask(self, columns: _Columns, n_docs: int) -> NDArray[np.bool_]:
        masks = (part.mask(columns, n_docs) for part in self.parts)
        return reduce(np.logical_or, masks, np.zeros(n_docs, np.bool_))

    def paths(self) -> Iterable[Path]:
        return (path for part in self.parts for path in part.paths())

    def conditions(self) -> Iterable[_Condition]:
        return (one for part in self.parts for one in part.conditions())

    def to_json(self) -> dict[str, Any]:
        return {"any": [part.to_json() for part in self.parts]}


@dataclass(frozen=True, slots=True)
class _Not:
    """The operand does not match."""

    part: _Node

    def matches(self, metadata: dict[str, Any]) -> bool:
        return not self.part.matches(metadata)

    def mask(self, columns: _Columns, n_docs: int) -> NDArray[np.bool_]:
        return np.logical_not(self.part.mask(columns, n_docs))

    def paths(self) -> Iterable[Path]:
        return self.part.paths()

    def conditions(self) -> Iterable[_Condition]:
        return ()

    def to_json(self) -> dict[str, Any]:
        return {"not": self.part.to_json()}


def _parse(where: object, depth: int, numbers: Iterator[int]) -> _Node:
    """Return a filter; `numbers` number its conditions."""
    if not isinstance(where, Mapping):
        raise InvalidInputError(
            f"the filter {_shown(where)} is of type {type(where).__name__}; pass a dictionary such "
            'as {"lang": "en", "year": {">=": 2020}}.'
        )
    if depth > _MOST_NESTED:
        raise InvalidInputError(
            f"the filter is nested more than {_MOST_NESTED} deep; make it flatter."
        )
    parts: list[_Node] = []
    for key, value in where.items():
        if not isinstance(key, str):
            raise InvalidInputError(
                f"the filter has the key {_shown(key)}, of type {type(key).__name__}; keys of "
                "metadata are strings."
            )
        join = _JOINTS.get(key)
        parts.extend(
            [join(value, depth + 1, numbers)] if join else _conditions(key, value, numbers)
        )
    return _joined(_All, parts)


def _parse_all(filters: object, depth: int, numbers: Iterator[int]) -> _Node:
    return _joined(_All, _listed("all", filters, depth, numbers))


def _parse_any(filters: object, depth: int, numbers: Iterator[int]) -> _Node:
    return _joined(_Any, _listed("any", filters, depth, numbers))


def _parse_not(where: object, depth: int, numbers: Iterator[int]) -> _Node:
    if not isinstance(where, Mapping):
        raise _misjoined("not", "a filter", where)
    return _Not(_parse(where, depth, numbers))


_JOINTS: dict[str, Callable[[object, int, Iterator[int]], _Node]] = {
    "all": _parse_all,
    "any": _parse_any,
    "not": _parse_not,
}


def _listed(name: str, filters: object, depth: int, numbers: Iterator[int]) -> list[_Node]:
    if not isinstance(filters, list | tuple) or not all(isinstance(f, Mapping) for f in filters):
        raise _misjoined(name, "a list of filters", filters)
    return [_parse(one, depth, numbers) for one in filters]


def _misjoined(name: str, wanted: str, given: object) -> InvalidInputError:
    return InvalidInputError(
        f"{name!r} in a filter stands beside {_shown(given)}; it needs {wanted}. A key of your "
        f"metadata called {name} is written '\\{name}', in Python source \"\\\\{name}\"."
    )


def _joined(join: type[_All] | type[_Any], parts: list[_Node]) -> _Node:
    """Return the canonical combination: nested ones of the same kind merged, distinct, sorted."""
    flat: dict[str, _Node] = {}
    for part in parts:
        for one in part.parts if isinstance(part, join) else (part,):
            flat[_text(one.to_json())] = one
    ordered = tuple(flat[text] for text in sorted(flat))
    return ordered[0] if len(ordered) == 1 else join(ordered)


def _conditions(key: str, value: object, numbers: Iterator[int]) -> list[_Node]:
    """Return the conditions of a key."""
    path = key_path(key)
    asked = value if isinstance(value, Mapping) else {"==": value}
    if not asked:
        raise InvalidInputError(
            f"the filter on {_shown(key)} has no operator; to ask for an empty object write "
            f"{{{_shown(key)}: {{'==': {{}}}}}}."
        )
    return [_condition(path, key, name, operand, numbers) for name, operand in asked.items()]


def _condition(
    path: Path, key: str, name: object, value: Any, numbers: Iterator[int]
) -> _Condition:
    if next(numbers) > MAX_CONDITIONS:
        raise InvalidInputError(
            f"the filter has more than {MAX_CONDITIONS:,} conditions; compare a key with many "
            'values by one: {"lang": {"in": [...]}}.'
        )
    operator = OPERATORS.get(name) if isinstance(name, str) else None
    if operator is None:
        raise InvalidInputError(
            f"the filter on {_shown(key)} has the operator {_shown(name)}; operators are "
            f"{', '.join(OPERATORS)}. A key of a nested object is reached by a dot: 'author.name'."
        )
    try:
        value = _canonical(json.loads(json_of(value)), 0)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"the filter on {_shown(key)} compares with {_shown(value)}, of type "
            f"{type(value).__name__}, which metadata cannot hold: {error}. Values are strings, "
            "finite numbers, True, False, None, dates and times, lists and dictionaries."
        ) from error
    if not operator.accepts(value):
        raise InvalidInputError(
            f"the operator {name!r} on {_shown(key)} compares with {_shown(value)}; it needs "
            f"{operator.wanted}."
        )
    if name in ("in", "not in"):
        texts = {_text(one): one for one in value}
        value = [texts[text] for text in sorted(texts)]
    return _Condition(path, str(name), value)


def _canonical(value: Any, depth: int) -> Any:
    """Return a JSON value with integral floats as integers."""
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
    if isinstance(value, float) and value.is_integer() and abs(value) <= _MOST_EXACT:
        return int(value)
    if isinstance(value, list):
        return [_canonical(part, depth + 1) for part in value]
    if isinstance(value, dict):
        return {key: _canonical(part, depth + 1) for key, part in value.items()}
    return value


def key_path(key: str) -> Path:
    """Split a metadata key at its dots, except escaped ones.

    Raises
    ------
    InvalidInputError
        If the key ends with a backslash.
    """
    path, characters = [""], iter(key)
    for character in characters:
        if character == ".":
            path.append("")
            continue
        if character == "\\" and (character := next(characters, "")) == "":
            raise InvalidInputError(
                f"the key {_shown(key)} ends in a lone backslash, which takes the meaning from a "
                "dot behind it; write two for a backslash itself."
            )
        path[-1] += character
    return tuple(path)


def spelled_path(path: Path) -> str:
    """Return the key of a filter that `key_path` splits into a path."""
    key = ".".join(part.replace("\\", "\\\\").replace(".", "\\.") for part in path)
    return f"\\{key}" if key in _JOINTS else key


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _shown(value: object) -> str:
    try:
        shown = repr(value)
    except (RecursionError, ValueError):  # ValueError: a number with too many digits
        return "that"
    return shown if len(shown) <= 80 else f"{shown[:79]}…"
