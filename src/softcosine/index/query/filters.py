r"""Metadata filters: the syntax of ``where=``.

>>> where = Where.parse({"lang": "en", "year": {">=": 2020, "<": 2024}, "tags": {"contains": "x"}})
>>> where.matches({"lang": "en", "year": 2021, "tags": ["x", "y"]})
True

A filter is a dictionary; all of its conditions must hold. The value of a key is a JSON value that
must be equal, or a dictionary of operators. ``author.name`` is the key of this name, or, in a
document without it, the key *name* of the object *author*.

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

Decimals are stored and compared as numbers, dates, datetimes and UUIDs as strings
(`softcosine.index.segment.metadata_values`).

``"all"``, ``"any"`` and ``"not"`` combine filters: ``{"any": [{"lang": "en"}, {"year": 2020}]}``,
or ``{"not": {"lang": "en"}}``, which also holds if the key is missing.

A backslash escapes the next character: ``author\.name`` is only the key with the dot,
``\any`` a key called *any*, and ``\\`` a backslash.

A filter has at most `MAX_CONDITIONS` conditions, on at most `MAX_KEYS` keys; ``{"in": [...]}`` is
one, however long its list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine.errors import InvalidInputError
from softcosine.index.requests import key_path
from softcosine.index.segment.metadata_columns import (
    MAX_DEPTH,
    MetadataColumn,
    MetadataColumns,
    Path,
    is_number,
    value_at,
)
from softcosine.index.segment.metadata_values import json_of


class Operator(NamedTuple):
    """A comparison operator.

    Attributes
    ----------
    wanted : str
        Description of the values that it accepts, for messages.
    accepts : callable
        Whether it accepts a JSON value in a filter.
    table : callable
        For which values of a column the comparison with the filter's value is true.
    """

    wanted: str
    accepts: Callable[[Any], bool]
    table: Callable[[MetadataColumn, Any], NDArray[np.bool_]]


def _anything(_: object) -> bool:
    return True


def _is_ordered(value: object) -> bool:
    return isinstance(value, str) or is_number(value)


def _is_a(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kind)


_ORDERED = "a number or a string"
OPERATORS = {
    "==": Operator("a value", _anything, lambda column, value: column.equal([value])),
    "!=": Operator("a value", _anything, lambda column, value: ~column.equal([value])),
    "<": Operator(_ORDERED, _is_ordered, partial(MetadataColumn.below, inclusive=False)),
    "<=": Operator(_ORDERED, _is_ordered, partial(MetadataColumn.below, inclusive=True)),
    ">": Operator(_ORDERED, _is_ordered, partial(MetadataColumn.above, inclusive=False)),
    ">=": Operator(_ORDERED, _is_ordered, partial(MetadataColumn.above, inclusive=True)),
    "in": Operator("a list", _is_a(list), MetadataColumn.equal),
    "not in": Operator("a list", _is_a(list), lambda column, values: ~column.equal(values)),
    "contains": Operator("a value", _anything, MetadataColumn.holding),
    "icontains": Operator("a string", _is_a(str), MetadataColumn.containing_folded),
    "exists": Operator(
        "True or False",
        _is_a(bool),
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
        if (n_keys := len(node.paths())) > MAX_KEYS:
            raise InvalidInputError(
                f"the filter has conditions on {n_keys} keys; use at most {MAX_KEYS}."
            )
        return cls(_text(node.to_json()), node)

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Whether the filter matches a document's metadata."""
        columns = {
            path: MetadataColumn([value_at(dict(metadata), path)]) for path in self._node.paths()
        }
        return bool(self._node.mask(columns, 1)[0])

    def mask(self, columns: MetadataColumns) -> NDArray[np.bool_]:
        """Return the documents of a segment that match, shape (n_docs,).

        Computed at each call; ``columns.mask(where)`` caches it.
        """
        return self._node.mask(columns.columns(self._node.paths()), columns.n_docs)

    def required(self) -> Iterable[tuple[dict[str, Any], Path, list[Any]]]:
        """Yield the conditions that are not under a ``not``.

        Each with its filter, its key and the values that it compares with.
        """
        for one in self._node.conditions(under_not=False):
            values = one.value if one.operator in ("in", "not in") else [one.value]
            yield one.to_json(), one.path, values


@dataclass(frozen=True, slots=True)
class _Condition:
    """One operator on one key."""

    path: Path
    operator: str
    value: Any

    def mask(self, columns: _Columns, n_docs: int) -> NDArray[np.bool_]:
        check_deadline()
        column = columns[self.path]
        return column.mask(OPERATORS[self.operator].table(column, self.value))

    def paths(self) -> set[Path]:
        return {self.path}

    def conditions(self, *, under_not: bool) -> Iterable[_Condition]:
        return (self,)

    def to_json(self) -> dict[str, Any]:
        return {spelled_path(self.path): {self.operator: self.value}}


@dataclass(frozen=True, slots=True)
class _Joint:
    """Conjunction, disjunction or negation of filters.

    An empty conjunction matches every document, an empty disjunction none.
    """

    name: str
    parts: tuple[_Node, ...]

    def mask(self, columns: _Columns, n_docs: int) -> NDArray[np.bool_]:
        masks = [part.mask(columns, n_docs) for part in self.parts]
        if self.name == "not":
            return ~masks[0]
        join = np.logical_and if self.name == "all" else np.logical_or
        return reduce(join, masks, np.full(n_docs, self.name == "all"))

    def paths(self) -> set[Path]:
        return {one.path for one in self.conditions(under_not=True)}

    def conditions(self, *, under_not: bool) -> Iterator[_Condition]:
        for part in self.parts if under_not or self.name != "not" else ():
            yield from part.conditions(under_not=under_not)

    def to_json(self) -> dict[str, Any]:
        parts = [part.to_json() for part in self.parts]
        return {self.name: parts[0] if self.name == "not" else parts}


_Node = _Condition | _Joint
_JOINTS = ("all", "any", "not")


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
        if key in _JOINTS:
            parts.append(_parse_joint(key, value, depth + 1, numbers))
        else:
            parts.extend(_conditions(key, value, numbers))
    return _joined("all", parts)


def _parse_joint(name: str, value: object, depth: int, numbers: Iterator[int]) -> _Node:
    filters = [value] if name == "not" else value
    if not isinstance(filters, list | tuple) or not all(isinstance(f, Mapping) for f in filters):
        wanted = "a filter" if name == "not" else "a list of filters"
        raise InvalidInputError(
            f"{name!r} in a filter stands beside {_shown(value)}; it needs {wanted}. A key of your "
            f"metadata called {name} is written '\\{name}', in Python source \"\\\\{name}\"."
        )
    parts = [_parse(one, depth, numbers) for one in filters]
    return _Joint(name, tuple(parts)) if name == "not" else _joined(name, parts)


def _joined(name: str, parts: list[_Node]) -> _Node:
    """Return the canonical combination: nested ones of the same kind merged, distinct, sorted."""
    flat: dict[str, _Node] = {}
    for part in parts:
        nested = isinstance(part, _Joint) and part.name == name
        for one in part.parts if nested else (part,):  # type: ignore[union-attr]
            flat[_text(one.to_json())] = one
    ordered = tuple(flat[text] for text in sorted(flat))
    return ordered[0] if len(ordered) == 1 else _Joint(name, ordered)


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
