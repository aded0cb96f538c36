"""Comparison operators of metadata filters.

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
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.index.segment.metadata_columns import MISSING, MetadataColumn, is_number, key_of

__all__ = ["OPERATORS", "Operator"]


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


def _exists(value: Any, wanted: bool) -> bool:
    return (value is not MISSING) == wanted


def _anything(value: object) -> bool:
    return True


def _is_ordered(value: object) -> bool:
    return isinstance(value, str) or is_number(value)


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_boolean(value: object) -> bool:
    return isinstance(value, bool)


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
        _is_string,
        _contains_folded,
        lambda column, value: column.containing_folded(value),
    ),
    "exists": Operator(
        "True or False",
        _is_boolean,
        _exists,
        lambda column, wanted: ~column.missing() if wanted else column.missing(),
    ),
}
