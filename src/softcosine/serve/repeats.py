"""``Idempotency-Key``: a request that is sent again gets the first answer and changes nothing."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Header, Request
from starlette.responses import Response

from softcosine.serve.problems import Problem
from softcosine.serve.state_store import StateStore, StoredAnswer

__all__ = ["IdempotencyKey", "once"]

_LONGEST = 200
_KEPT_HEADERS = ("etag", "location")

IdempotencyKey = Annotated[
    str | None,
    Header(
        description="Any text of up to 200 characters; a request with the same key gets the same "
        "answer for a day."
    ),
]


async def once(
    request: Request,
    store: StateStore,
    key: str | None,
    change: Callable[[], Awaitable[Response]],
    body: bytes | None = None,
) -> Response:
    """Return the answer of a change, or the one that an earlier request with this key got.

    Only successful answers are kept. If the server dies between the commit of a change and its
    answer, a repeated request makes the change again.

    Parameters
    ----------
    request : Request
    store : StateStore
    key : str or None
        Without a key the change is made in any case.
    change : callable
    body : bytes, optional
        The body, or its hash; by default it is read.

    Raises
    ------
    Problem
        ``key-reused`` if the key came with another request, ``busy`` if its request still runs.
    """
    if key is None:
        return await change()
    if not 0 < len(key) <= _LONGEST:
        raise Problem("invalid-input", "the Idempotency-Key must have from 1 to 200 characters.")
    content = await request.body() if body is None else body
    parts = (request.method, str(request.url), request.headers.get("if-match", ""))
    fingerprint = hashlib.sha256("\n".join(parts).encode() + b"\n" + content).digest()
    # Keys of one user are not those of another.
    own = f"{getattr(request.state, 'key', '')} {key}"
    known = await asyncio.to_thread(store.begin, own, fingerprint)
    if known is not None:
        if known.fingerprint != fingerprint:
            raise Problem(
                "key-reused", "the Idempotency-Key came with another request; choose a new one."
            )
        if not known.status:
            raise Problem("busy", "the first request with this Idempotency-Key still runs.")
        headers = {**known.headers, "Idempotency-Replayed": "true"}
        return Response(known.body, known.status, headers, media_type="application/json")
    try:
        answer = await change()
    except BaseException:
        await asyncio.to_thread(store.forget, own)
        raise
    headers = {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
    stored = StoredAnswer(fingerprint, answer.status_code, headers, bytes(answer.body))
    await asyncio.to_thread(store.keep, own, stored)
    return answer
