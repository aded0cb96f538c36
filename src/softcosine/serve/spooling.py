"""Bodies of requests on disk."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from tempfile import SpooledTemporaryFile
from typing import IO

from fastapi import Request

__all__ = ["digest_of", "spooled"]

_IN_MEMORY = 1 << 20


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
