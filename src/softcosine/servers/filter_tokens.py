"""Metadata as tokens, so that a server that only compares keywords and numbers can filter by it.

Servers differ from us in what equals a list, a missing key or ``1.0``. Therefore the values of
documents and of filters are made comparable here, and a server compares tokens.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Generic, Literal, TypeVar

from softcosine.index.query.filters import UntranslatableError
from softcosine.index.segment.metadata_columns import Path, is_number

__all__ = [
    "Comparison",
    "TokenFilters",
    "element_token",
    "existence_token",
    "number_key",
    "numbers_of",
    "tokens_of",
    "value_token",
]

_T = TypeVar("_T")
Comparison = Literal["lt", "lte", "gt", "gte"]

_EXACT = 2**53  # integers below are exact in float64
_NEGATED = {"!=": "==", "not in": "in"}
_COMPARISONS: dict[str, Comparison] = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


class TokenFilters(ABC, Generic[_T]):
    """A `FilterLanguage` whose conditions are on tokens and numbers.

    It cannot express the order of strings, strings inside of strings, numbers from 2**53 on, and
    more conditions than `most_conditions`.
    """

    most_conditions: float = math.inf

    def __init__(self) -> None:
        self._n_conditions = 0

    @abstractmethod
    def having(self, wanted: Sequence[str]) -> _T:
        """Return a filter of documents with any of some tokens."""

    @abstractmethod
    def compared(self, key: str, operator: Comparison, number: float) -> _T:
        """Return a filter of documents whose number of a `number_key` compares so."""

    @abstractmethod
    def negation(self, part: _T) -> _T:
        """Return a filter that holds if a part does not."""

    def condition(self, path: Path, operator: str, value: Any) -> _T:
        """Return an operator on a key."""
        self._n_conditions += operator not in _NEGATED
        if self._n_conditions > self.most_conditions:
            raise UntranslatableError
        if operator in _NEGATED:
            return self.negation(self.condition(path, _NEGATED[operator], value))
        if operator == "==":
            return self.having([value_token(path, value)])
        if operator == "in":
            return self.having([value_token(path, one) for one in value])
        if operator == "exists":
            held = self.having([existence_token(path)])
            return held if value else self.negation(held)
        if operator == "contains" and not isinstance(value, str):
            return self.having([element_token(path, value)])
        if operator in _COMPARISONS and not isinstance(value, str) and abs(value) < _EXACT:
            return self.compared(number_key(path), _COMPARISONS[operator], value)
        raise UntranslatableError


def existence_token(path: Path) -> str:
    """Return the token of documents that have a key."""
    return _token("key", path)


def value_token(path: Path, value: Any) -> str:
    """Return the token of documents whose value of a key equals a value."""
    return _token("value", path, _canonical(value))


def element_token(path: Path, value: Any) -> str:
    """Return the token of documents whose value of a key is a list with an equal element."""
    return _token("element", path, _canonical(value))


def number_key(path: Path) -> str:
    """Return the name under which the number at a key stands in `numbers_of`."""
    return _token("number", path)


def tokens_of(metadata: dict[str, Any]) -> list[str]:
    """Return the tokens of a document, ascending."""
    tokens = set()
    for path, value in _values(metadata, ()):
        tokens |= {existence_token(path), value_token(path, value)}
        if isinstance(value, list):
            tokens |= {element_token(path, element) for element in value}
    return sorted(tokens)


def numbers_of(metadata: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of a document by `number_key`; larger ones than float64 as its largest."""
    numbers = {}
    for path, value in _values(metadata, ()):
        if is_number(value):
            numbers[number_key(path)] = _float(value)
    return numbers


def _values(value: dict[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    for key, inner in value.items():
        at = (*path, key)
        yield at, inner
        if isinstance(inner, dict):
            yield from _values(inner, at)


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return 1.7e308 if value > 0 else -1.7e308


def _canonical(value: Any) -> Any:
    """Return a JSON value in which equal numbers are equally written."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_canonical(part) for part in value]
    if isinstance(value, dict):
        return {key: _canonical(part) for key, part in value.items()}
    return value


def _token(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
