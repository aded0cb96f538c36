"""`Changes`: make a change of an index once, and answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from softcosine.cluster.opening import EitherIndex
from softcosine.serve.json_text import json_response
from softcosine.serve.repeats import IdempotencyKey, Repeatable, once, replayed
from softcosine.serve.served_index import EitherWriter, ServedIndex
from softcosine.serve.server import Served, Server, Shared
from softcosine.serve.spooling import digest_of
from softcosine.serve.tags import IfMatch, matching

__all__ = ["Changes"]


@dataclass(frozen=True, slots=True)
class _Changes:
    """Changes of an index by one request, with its headers If-Match and Idempotency-Key."""

    request: Request
    server: Server
    served: ServedIndex
    if_match: str | None
    key: str | None

    async def make(
        self,
        work: Callable[[EitherWriter, EitherIndex], dict[str, int]],
        *,
        body: IO[bytes] | None = None,
        refresh: bool | None = None,
        created: str | None = None,
    ) -> Response:
        """Return what a change has changed, after its commit.

        A change that an earlier request with the same Idempotency-Key made is not made again.

        Parameters
        ----------
        work : callable
            Makes the change; returns the counts of the answer.
        body : file, optional
            The body, if the route has spooled it.
        refresh : bool, optional
            See `IndexWriter.commit`.
        created : str, optional
            Address of the document, if it may be new.
        """

        async def change(repeatable: Repeatable | None) -> Response:
            done = await self.served.change(
                self.server.writers, work, if_match=matching(self.if_match), once=repeatable,
                refresh=refresh,
            )  # fmt: skip
            location = created if done.result.get("added") else None
            answer = json_response(
                {**done.result, "commit": done.commit},
                status=200 if location is None else 201,
                commit=done.commit,
                location=location,
            )
            return replayed(answer) if done.replayed else answer

        digest = None
        if self.key is not None and body is not None:
            digest = await asyncio.to_thread(digest_of, body)
        return await once(self.request, self.server.store, self.key, change, digest)


async def _changes(
    request: Request,
    server: Shared,
    served: Served,
    if_match: IfMatch = None,
    idempotency_key: IdempotencyKey = None,
) -> _Changes:
    return _Changes(request, server, served, if_match, idempotency_key)


Changes = Annotated[_Changes, Depends(_changes)]
