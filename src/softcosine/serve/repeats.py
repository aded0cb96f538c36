"""``Idempotency-Key``: a request that is sent again gets the first answer and changes nothing.

Answers are in the state of the server for a day. A change of an index also leaves a receipt in its
commit, so that a server that died before it could answer finds out whether the change was made.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from softcosine.serve.problems import Problem
from softcosine.serve.state_store import StateStore, StoredAnswer

_LONGEST = 200
_KEPT_HEADERS = ("etag", "location")


@dataclass(frozen=True, slots=True)
class Repeatable:
    """A request with an Idempotency-Key.

    Attributes
    ----------
    key : str
        Hash of the key and of who sent it.
    fingerprint : str
        Hash of the request.
    begun : bool
        Whether the key came before and has no answer: that request still runs, or its process died.
    """

    key: str
    fingerprint: str
    begun: bool


async def once(
    request: Request,
    store: StateStore,
    change: Callable[[Repeatable | None], Awaitable[Response]],
    body: bytes | None = None,
) -> Response:
    """Return the answer of a change, or the one that an earlier request with this key got.

    Only successful answers are kept.

    Parameters
    ----------
    request : Request
    store : StateStore
    change : callable
        Gets the request, if it has a key; without a key the change is made in any case.
    body : bytes, optional
        The body, or its hash; by default it is read.

    Raises
    ------
    Problem
        ``key-reused`` if the key came with another request.
    """
    if (key := request.headers.get("idempotency-key")) is None:
        return await change(None)
    if not 0 < len(key) <= _LONGEST:
        raise Problem("invalid-input", "the Idempotency-Key must have from 1 to 200 characters.")
    content = await request.body() if body is None else body
    url, if_match = request.url, request.headers.get("if-match", "")
    parts = (request.method, url.path, url.query, if_match)  # at whatever address of the server
    fingerprint = hashlib.sha256("\n".join(parts).encode() + b"\n" + content).digest()
    # Keys of one user are not those of another.
    own = f"{getattr(request.state, 'key', '')} {key}"
    known = await asyncio.to_thread(store.begin, own, fingerprint)
    if known is not None:
        if known.fingerprint != fingerprint:
            raise key_reused()
        if known.status:
            answer = Response(
                known.body, known.status, known.headers, media_type="application/json"
            )
            return replayed(answer)
    hashed = hashlib.sha256(own.encode()).hexdigest()
    try:
        answer = await change(Repeatable(hashed, fingerprint.hex(), known is not None))
    except BaseException:
        if known is None:
            await asyncio.to_thread(store.forget, own)
        raise
    headers = {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
    stored = StoredAnswer(fingerprint, answer.status_code, headers, bytes(answer.body))
    await asyncio.to_thread(store.keep, own, stored)
    return answer


def replayed(answer: Response) -> Response:
    """Return an answer, marked as that of an earlier request."""
    answer.headers["Idempotency-Replayed"] = "true"
    return answer


def key_reused() -> Problem:
    """Return the problem of a key that came with another request."""
    return Problem("key-reused", "the Idempotency-Key came with another request; choose a new one.")
