"""Bodies of requests on disk, and JSON lines in them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from tempfile import SpooledTemporaryFile
from typing import IO, TypeVar

from fastapi import Request
from pydantic import TypeAdapter, ValidationError

from softcosine.serve.json_text import json_value
from softcosine.serve.problems import Problem, validation_problem

__all__ = ["JSON_LINES", "content_type", "digest_of", "read_lines", "spooled"]

JSON_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")

_T = TypeVar("_T")
_IN_MEMORY = 1 << 20


def content_type(request: Request) -> str:
    """Return the type of the body of a request, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


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


def digest_of(body: IO[bytes]) -> bytes:
    """Return the SHA-256 of a body, which is then at its start again."""
    digest = hashlib.sha256()
    while chunk := body.read(_IN_MEMORY):
        digest.update(chunk)
    body.seek(0)
    return digest.digest()


def read_lines(body: IO[bytes], kind: TypeAdapter[_T]) -> Iterator[_T]:
    """Yield the values of JSON lines; blank lines are skipped.

    Raises
    ------
    Problem
        ``malformed-request`` or ``invalid-request``, with the number of the line.
    """
    for number, line in enumerate(body, 1):
        if not line.strip():
            continue
        try:
            yield kind.validate_python(json_value(line))
        except ValidationError as error:
            raise validation_problem(error.errors(), f"line {number}") from error
        except ValueError as error:
            raise Problem(
                "malformed-request", f"line {number} is no JSON: {error}; nothing was changed."
            ) from error
