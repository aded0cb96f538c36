"""Settings of systems: valid values, their form in specs, and their form in names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from math import isfinite
from numbers import Integral, Real
from typing import Any, ClassVar

from softcosine.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of values of a setting.

    Attributes
    ----------
    what : str
        Description in messages, such as "a whole number of 1 or more".
    read : callable
        Parses a value of a spec, or raises ValueError.
    holds : callable
        Whether a value is valid.
    none : str
        The word for None in a spec.
    """

    what: str
    read: Callable[[str], Any]
    holds: Callable[[Any], bool]
    none: str = "none"


def number(low: float = 0.0, high: float = float("inf")) -> Kind:
    """Return the kind of finite real numbers from `low` to `high`."""
    bounds = f"from {low:g} to {high:g}" if isfinite(high) else f"of {low:g} or more"
    return Kind(
        f"a number {bounds}",
        float,
        lambda value: _is_number(value) and isfinite(value) and low <= value <= high,
    )


def whole(low: int) -> Kind:
    """Return the kind of whole numbers of at least `low`."""
    return Kind(
        f"a whole number of {low} or more",
        int,
        lambda value: isinstance(value, Integral) and _is_number(value) and int(value) >= low,
    )


def choice(*names: str) -> Kind:
    """Return the kind of one of several names."""
    what = f"one of {', '.join(names)}" if len(names) > 1 else names[0]
    return Kind(what, str, lambda value: value in names)


def text(what: str) -> Kind:
    """Return the kind of non-empty strings."""
    return Kind(what, str, lambda value: isinstance(value, str) and bool(value))


def optional(kind: Kind, *, none: str = "none") -> Kind:
    """Return a kind that also accepts None, with a word for it in specs."""
    return Kind(
        f"{kind.what}, or {none}",
        lambda given: None if given == none else kind.read(given),
        lambda value: value is None or kind.holds(value),
        none,
    )


def _pieces(given: str) -> list[str]:
    r"""Split at every + without a backslash before it."""
    return [piece.replace(r"\+", "+") for piece in re.split(r"(?<!\\)\+", given)]


def joined_names(pieces: Iterable[str]) -> str:
    """Return names joined as in a spec."""
    return "+".join(piece.replace("+", r"\+") for piece in pieces)


def _document_limit(given: str) -> int | float:
    return int(given) if given.isdecimal() else float(given)


flag = Kind(
    "true or false",
    lambda given: {"true": True, "false": False, "yes": True, "no": False}[given.lower()],
    lambda value: isinstance(value, bool),
)
several = Kind(
    r"names joined by + (one within a name is \+)",
    lambda given: tuple(_pieces(given)),
    lambda value: (
        isinstance(value, tuple | list) and all(isinstance(name, str) and name for name in value)
    ),
)
document_limit = Kind(
    "a number of documents, or a share of them such as 0.5",
    _document_limit,
    lambda value: _is_number(value) and 0 <= value < float("inf"),
)


def _weights(given: str) -> dict[str, float]:
    pairs = [piece.rpartition(":") for piece in _pieces(given)]
    return {name or weight: float(weight) if name else 1.0 for name, _, weight in pairs}


weights = Kind(
    "names with their weights, such as title:2+text:1",
    _weights,
    lambda value: (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(name, str) and _is_number(weight) for name, weight in value.items())
    ),
)


def setting(default: Any, kind: Kind, what: str) -> Any:
    """Declare a setting of a system.

    Parameters
    ----------
    default : object
    kind : Kind
    what : str
        Description for people.
    """
    return field(default=default, metadata={"kind": kind, "what": what})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base class of systems; checks the settings on creation.

    Parameters
    ----------
    label : str, optional
        Name of the system in tables, instead of its name and settings; `from_spec` sets it to the
        spec.

    Raises
    ------
    InvalidInputError
        If a setting is not valid; the message has its name and the valid values.
    """

    called: ClassVar[str] = ""
    label: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for own in _settings_of(type(self)):
            value, kind = getattr(self, own.name), own.metadata["kind"]
            if not kind.holds(value):
                raise InvalidInputError(
                    f"{own.name} of {self.called!r} is {value!r}; it must be {kind.what}."
                )

    @property
    def name(self) -> str:
        """The label, or a spec of the settings that differ from the defaults."""
        if self.label is not None:
            return self.label
        told = [
            f"{own.name}={written(getattr(self, own.name), own)}"
            for own in fields(self)
            if own.compare and getattr(self, own.name) != own.default
        ]
        return f"{self.called}:{','.join(told)}" if told else self.called

    @classmethod
    def read(cls, given: Mapping[str, str]) -> dict[str, Any]:
        """Return the parsed values of the settings in a spec.

        Raises
        ------
        InvalidInputError
            If a setting is unknown or its value is not valid; the message lists the valid ones.
        """
        known = {own.name: own.metadata["kind"] for own in _settings_of(cls)}
        values = {}
        for name, value in given.items():
            if name not in known:
                raise InvalidInputError(
                    f"{cls.called!r} has no setting {name!r}; it has {', '.join(known)}."
                )
            try:
                values[name] = known[name].read(value)
            except (ValueError, KeyError):
                raise InvalidInputError(
                    f"{name} of {cls.called!r} is {value!r}; it must be {known[name].what}."
                ) from None
        return values

    @classmethod
    def listed(cls) -> list[tuple[str, str, str]]:
        """Return the name, the default as in a spec, and the description of every setting."""
        return [
            (
                own.name,
                written(own.default, own),
                f"{own.metadata['what']}: {own.metadata['kind'].what}",
            )
            for own in _settings_of(cls)
        ]


def written(value: Any, own: Field[Any]) -> str:
    """Return a value as in a spec, quoted if it contains separators of settings."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        none: str = own.metadata["kind"].none
        return none
    if isinstance(value, float):
        return float.__repr__(value)  # 1.0 is a share of documents, 1 is a number of them
    if isinstance(value, Mapping):
        value = joined_names(f"{name}:{_shortest(weight)}" for name, weight in value.items())
    if isinstance(value, tuple | list):
        value = joined_names(value)
    if isinstance(value, str):
        return f'"{value}"' if "," in value else value
    return str(value) if isinstance(value, Integral) else getattr(value, "__name__", _kind(value))


def _shortest(weight: float) -> str:
    short = f"{weight:g}"
    return short if float(short) == weight else repr(float(weight))


def _kind(value: object) -> str:
    """Return the class name of a value that a spec cannot express, such as a source."""
    return type(value).__name__


def _settings_of(cls: type[Settings]) -> list[Field[Any]]:
    return [own for own in fields(cls) if "kind" in own.metadata]


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
