"""Results as JSON types and back, by their public fields.

A result is a dataclass or a named tuple; ``_lazy`` of its class names values that are computed when
first used, with their types, and ``_read`` makes a result of all these values.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, NotRequired, TypedDict, TypeVar, Union, get_args, get_origin, get_type_hints

_T = TypeVar("_T")


def wire(value: Any) -> Any:
    """Return a result as JSON types."""
    if value is None or isinstance(value, str | int | float):
        return value
    kind: Any = type(value)
    if own := _fields(kind):
        return {name: wire(getattr(value, name)) for name in own}
    if isinstance(value, Mapping):
        return {key: wire(one) for key, one in value.items()}
    return value.tolist() if hasattr(value, "tolist") else [wire(one) for one in value]


def read(kind: type[_T], value: Any) -> _T:
    """Return the result of JSON types that have its `form`."""
    return _read(kind, value)  # type: ignore[no-any-return]


def _read(kind: Any, value: Any) -> Any:
    inner = [one for one in get_args(kind) if one is not NoneType and one is not Ellipsis]
    if value is None or get_origin(kind) in (Union, UnionType):
        return value if value is None or len(inner) > 1 else _read(inner[0], value)
    if isinstance(value, list) and inner:
        return tuple(_read(inner[0], one) for one in value)
    if own := _fields(kind):
        values = {name: _read(own[name], one) for name, one in value.items() if name in own}
        return getattr(kind, "_read", kind)(**values)
    if isinstance(value, dict) and inner:
        return {key: _read(inner[1], one) for key, one in value.items()}
    return value


@cache
def form(kind: Any) -> Any:
    """Return the type of a result as JSON types, for msgspec: a typed dictionary, list or value."""
    inner = get_args(kind)
    if own := _fields(kind):
        optional = {*getattr(kind, "_lazy", ()), *_with_defaults(kind)}
        forms = {
            name: NotRequired[form(one)] if name in optional else form(one)
            for name, one in own.items()
        }
        made: Any = TypedDict(kind.__name__, forms)  # type: ignore[misc]
        made.__doc__ = kind.__doc__.partition("\n")[0]
        return made
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(map(form, inner))]  # noqa: UP007
    if get_origin(kind) in (tuple, list, Sequence):
        return list[form(inner[0])]  # type: ignore[misc]
    if get_origin(kind) in (dict, Mapping):
        return dict[inner[0], form(inner[1])]  # type: ignore[misc,valid-type]
    return kind


@cache
def _fields(kind: Any) -> dict[str, Any]:
    """Return the public fields of a result and their types; empty for other types."""
    if not is_dataclass(kind) and not hasattr(kind, "_fields"):
        return {}
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else kind._fields
    hints = get_type_hints(kind)
    own = {name: hints[name] for name in names if not name.startswith("_")}
    return {**own, **getattr(kind, "_lazy", {})}


def _with_defaults(kind: Any) -> list[str]:
    """Return the fields that may be missing."""
    if not is_dataclass(kind):
        return list(kind._field_defaults)
    makers: tuple[Any, Any] = (kind, getattr(kind, "_read", kind))
    parameters = [one for maker in makers for one in inspect.signature(maker).parameters.values()]
    return [one.name for one in parameters if one.default is not one.empty]
