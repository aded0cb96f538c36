"""`changed`: make a change of an index once, and answer."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import Request
from starlette.responses import Response

from softcosine.cluster.opening import EitherIndex
from softcosine.serve.json_text import json_response
from softcosine.serve.repeats import Repeatable, once, replayed
from softcosine.serve.served_index import EitherWriter, ServedIndex
from softcosine.serve.server import Server
from softcosine.serve.tags import matching

__all__ = ["changed"]


async def changed(
    request: Request,
    server: Server,
    served: ServedIndex,
    work: Callable[[EitherWriter, EitherIndex], dict[str, int]],
    *,
    if_match: str | None,
    key: str | None,
    body: bytes | None = None,
    refresh: bool | None = None,
    created: str | None = None,
) -> Response:
    """Return what a change has changed, after its commit.

    Parameters
    ----------
    request : Request
    server : Server
    served : ServedIndex
    work : callable
        Makes the change; returns the counts of the answer.
    if_match : str or None
        The header.
    key : str or None
        The Idempotency-Key. A change that an earlier request with it made is not made again.
    body : bytes, optional
        The body, or its hash; by default it is read.
    refresh : bool, optional
        See `IndexWriter.commit`.
    created : str, optional
        Address of the document, if it may be new.
    """

    async def change(repeatable: Repeatable | None) -> Response:
        done = await served.change(
            server.writers, work, if_match=matching(if_match), once=repeatable, refresh=refresh
        )
        location = created if done.result.get("added") else None
        answer = json_response(
            {**done.result, "commit": done.commit},
            status=200 if location is None else 201,
            commit=done.commit,
            location=location,
        )
        return replayed(answer) if done.replayed else answer

    return await once(request, server.store, key, change, body)
