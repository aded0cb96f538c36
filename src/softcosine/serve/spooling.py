"""Bodies of requests on disk, and JSON lines in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from starlette.requests import Request

from softcosine.serve.json_text import json_value
from softcosine.serve.problems import Problem, decoded

JSON_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")

_IN_MEMORY = 1 << 20


def content_type(headers: Mapping[str, str]) -> str:
    """Return the type of the body of a request, without parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


@asynccontextmanager
async def spooled(request: Request) -> AsyncIterator[IO[bytes]]:
    """Yield the body of a request as a file, which is on disk if it is large."""
    with SpooledTemporaryFile(_IN_MEMORY) as body:
        n_bytes = 0
        async for chunk in request.stream():
            n_bytes += len(chunk)
            if n_bytes > _IN_MEMORY:
                await asyncio.to_thread(body.write, chunk)
            else:
                body.write(chunk)
        body.seek(0)
        yield body


def read_json(body: bytes, kind: Any) -> Any:
    """Return the value of a JSON body.

    Raises
    ------
    Problem
        ``malformed-request`` or ``invalid-request``.
    """
    try:
        value = json_value(body)
    except ValueError as error:
        raise Problem("malformed-request", f"the body is no JSON: {error}.") from error
    return decoded(kind, value)


def read_lines(body: IO[bytes], kind: Any, limit: int) -> Iterator[Any]:
    """Yield the values of JSON lines of up to `limit` bytes; blank lines are skipped.

    Raises
    ------
    Problem
        ``malformed-request``, ``too-large`` or ``invalid-request``, with the number of the line.
    """
    for number, line in enumerate(iter(lambda: body.readline(limit + 1), b""), 1):
        if len(line) > limit:
            raise Problem("too-large", f"line {number} is larger than {limit:,} bytes.")
        if not line.strip():
            continue
        try:
            value = json_value(line)
        except ValueError as error:
            raise Problem("malformed-request", f"line {number} is no JSON: {error}.") from error
        yield decoded(kind, value, f"line {number}")
