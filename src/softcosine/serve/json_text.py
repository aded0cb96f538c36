"""JSON of requests and answers: strict reading, fast writing."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
from starlette.responses import Response

from softcosine.files import parsed_json
from softcosine.index.wire import wire

_MOST_CONTAINERS = 250_000  # a list takes 30 times as much memory as its text


def json_bytes(value: Any) -> bytes:
    """Return JSON types and results, such as snippets, as JSON in UTF-8."""
    try:
        return msgspec.json.encode(value)
    except (ValueError, OverflowError):  # a lone surrogate, or an integer of more than 64 bits
        return json.dumps(value, allow_nan=False, default=wire).encode()


def json_response(
    value: Any, *, status: int = 200, commit: str | None = None, location: str | None = None
) -> Response:
    """Return a value, or its JSON, as an answer, with the commit as its ETag."""
    headers = {}
    if commit is not None:
        headers["ETag"] = f'"{commit}"'
    if location is not None:
        headers["Location"] = location
    content = value if isinstance(value, bytes) else json_bytes(value)
    return Response(content, status, headers, media_type="application/json")


def json_value(body: bytes) -> Any:
    """Return the value of a JSON text.

    Raises
    ------
    ValueError
        If it is not JSON in UTF-8, is nested too deeply, holds NaN, a number too large or half
        of a surrogate pair, or has too many lists and objects.
    """
    if body.count(b"[") + body.count(b"{") > _MOST_CONTAINERS:
        raise ValueError(f"it has more than {_MOST_CONTAINERS:,} lists and objects; send several")
    try:
        value = parsed_json(body.decode())
        if re.search(rb"\\u[dD][89a-fA-F]", body):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from error
    except UnicodeEncodeError as error:
        raise ValueError("it has half of a surrogate pair") from error
    return value
