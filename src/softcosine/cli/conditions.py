"""Parser of ``--where``: a filter in JSON, or a comparison such as ``year>=2020``."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from typing import Any

from softcosine.errors import InvalidInputError
from softcosine.files import parsed_json

_OPERATORS = ("=", "==", "!=", "<", "<=", ">", ">=")
# The operator takes all signs up to the value, so that an unknown operator is noticed.
_COMPARISON = re.compile(
    r"\s*(?P<key>[^=<>!~\s](?:[^=<>!]*[^=<>!~\s])?)\s*(?P<sign>~*[=<>!]+~*)(?P<value>.*)", re.DOTALL
)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")  # as JSON writes it
# Keys that combine filters; a backslash makes them ordinary keys.
_JOINTS = ("all", "any", "not")
_EQUAL = {"=": "in", "==": "in", "!=": "not in"}


def read_where(given: Sequence[str] | None) -> dict[str, Any] | None:
    """Return the filters of a command line as one filter.

    A value that is valid JSON has its JSON type: 2020 is a number, true (in any case) a boolean. An
    equality also matches the same text, as of columns with leading zeros.

    Parameters
    ----------
    given : sequence of str, or None
        All of them must match.

    Returns
    -------
    dict or None
        The ``where=`` of `SoftIndex.search`; None for no filter.

    Raises
    ------
    InvalidInputError
        If one is neither JSON nor a comparison, has an unknown operator, or compares with a
        number beyond the range of float64.
    """
    read = [_json(one) if one.lstrip().startswith("{") else _comparison(one) for one in given or ()]
    if not read:
        return None
    return read[0] if len(read) == 1 else {"all": read}


def _json(given: str) -> dict[str, Any]:
    try:
        value = parsed_json(given)
    except ValueError as error:
        raise InvalidInputError(
            f"--where {_shown(given)} begins like JSON but is not valid ({error}); write it as "
            '\'{"lang": "en"}\', or compare: lang=en.'
        ) from error
    assert isinstance(value, dict), "what begins with { is an object"
    return value


def _comparison(given: str) -> dict[str, Any]:
    found = _COMPARISON.fullmatch(given)
    if found is None:
        raise InvalidInputError(
            f"--where {_shown(given)} is not a filter; write KEY=VALUE, such as lang=en or "
            "'year>=2020' (also !=, <, <=, >), or JSON."
        )
    key, sign, text = found["key"], found["sign"], found["value"].strip()
    if sign not in _OPERATORS:
        raise InvalidInputError(
            f"--where {_shown(given)} has the unknown operator {_shown(sign)}; use one of "
            f"{', '.join(_OPERATORS)}. Put a value that begins with a sign in quotation marks: "
            f"'{key}=\"{sign[1:] or sign}...\"'."
        )
    if not text and sign not in _EQUAL:
        raise InvalidInputError(
            f"--where {_shown(given)} has no value after {sign}; write such as '{key}{sign}2020'."
        )
    key = f"\\{key}" if key in _JOINTS else key
    value = _value(given, text)
    if sign not in _EQUAL:
        return {key: {sign: value}}
    return {key: {_EQUAL[sign]: [value] if isinstance(value, str) else [value, text]}}


def _value(given: str, text: str) -> Any:
    if _NUMBER.fullmatch(text) and math.isinf(float(text)):
        raise InvalidInputError(
            f"--where {_shown(given)} has a number above {sys.float_info.max:.3g}; quote text."
        )
    try:
        return parsed_json(text.lower() if text.lower() in ("true", "false") else text)
    except ValueError:
        return text


def _shown(given: str) -> str:
    return repr(given if len(given) <= 80 else f"{given[:79]}…")
