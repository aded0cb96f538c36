"""Routes of changes beside documents: similarities, aliases, merge, backup, encode."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from starlette.responses import Response

from softcosine._progress import Report, silent
from softcosine.cluster.opening import EitherIndex
from softcosine.serve.checked_route import CheckedRoute
from softcosine.serve.json_text import json_response
from softcosine.serve.models import (
    AliasBody,
    Aliases,
    BackupBody,
    EncodeBody,
    SimilaritiesAnswer,
    SimilaritiesBody,
    TaskAnswer,
    returns,
)
from softcosine.serve.repeats import IdempotencyKey, Repeatable, once, replayed
from softcosine.serve.served_index import Change, EitherWriter
from softcosine.serve.server import Served, Shared, may
from softcosine.serve.similarities import similarities_answer, with_decisions
from softcosine.serve.tags import IfMatch, matching
from softcosine.serve.task_routes import started

__all__ = ["router"]

_INDEX = "/indexes/{i}"
_reading = [may("search")]
_writing, _administering = [may("write", changes=True)], [may("admin", changes=True)]
Prefer = Annotated[
    str | None, Header(description="`respond-async`: answer 202 at once, with a task (RFC 7240).")
]

router = APIRouter(prefix="/v1", route_class=CheckedRoute)


@router.get(
    _INDEX + "/similarities", responses=returns(SimilaritiesAnswer), dependencies=_reading,
    tags=["similarities"],
)  # fmt: skip
async def get_similarities(server: Shared, served: Served) -> Response:
    """Return your decisions about words: pinned, forbidden and weighed pairs."""
    index = served.view.index
    answer = await server.gate.run(lambda: similarities_answer(index))
    return json_response(answer, commit=index.commit)


@router.patch(
    _INDEX + "/similarities", dependencies=_writing, tags=["similarities"],
    responses=returns(SimilaritiesAnswer) | returns(TaskAnswer, 202),
)  # fmt: skip
async def change_similarities(
    request: Request,
    server: Shared,
    served: Served,
    body: SimilaritiesBody,
    if_match: IfMatch = None,
    idempotency_key: IdempotencyKey = None,
    prefer: Prefer = None,
) -> Response:
    """Pin, forbid and weigh pairs of words; the similarities of the index are built anew.

    That takes seconds in large indexes: with ``Prefer: respond-async`` it is a task, whose result
    is the answer.
    """
    commit = matching(if_match)

    async def changed(report: Report, repeatable: Repeatable | None = None) -> Change[None]:
        def work(writer: EitherWriter, index: EitherIndex) -> None:
            with_decisions(writer, index, body, report)

        return await served.change(
            server.writers, work, if_match=commit, once=repeatable, progress=report
        )

    if "respond-async" in (prefer or "").replace(" ", "").split(","):

        async def in_background(report: Report) -> dict[str, Any]:
            return similarities_answer((await changed(report)).view.index)

        answer = await started(
            request, server, idempotency_key, "similarities", served.name, in_background
        )
        answer.headers["Preference-Applied"] = "respond-async"
        return answer

    async def change(repeatable: Repeatable | None) -> Response:
        done = await changed(silent, repeatable)
        answer = json_response(similarities_answer(done.view.index), commit=done.view.commit)
        return replayed(answer) if done.replayed else answer

    return await once(request, server.store, idempotency_key, change)


@router.get("/aliases", responses=returns(Aliases), dependencies=_reading, tags=["aliases"])
async def list_aliases(server: Shared) -> Response:
    """List the aliases and their indexes."""
    return json_response({"aliases": server.catalog.aliases})


@router.put(
    "/aliases/{name}", responses=returns(Aliases), dependencies=_administering, tags=["aliases"]
)
async def put_alias(server: Shared, name: str, body: AliasBody) -> Response:
    """Let a name stand for an index: searches move to it at once."""
    await asyncio.to_thread(server.catalog.set_alias, name, body.index)
    return json_response({"aliases": server.catalog.aliases})


@router.delete("/aliases/{name}", status_code=204, dependencies=_administering, tags=["aliases"])
async def delete_alias(server: Shared, name: str) -> Response:
    """Delete an alias; the index stays."""
    await asyncio.to_thread(server.catalog.set_alias, name, None)
    return Response(status_code=204)


@router.post(
    _INDEX + "/merge", responses=returns(TaskAnswer, 202), status_code=202,
    dependencies=_administering, tags=["tasks"],
)  # fmt: skip
async def merge(
    request: Request, server: Shared, served: Served, idempotency_key: IdempotencyKey = None
) -> Response:
    """Merge all segments, and free the space of deleted documents."""

    async def work(report: Report) -> dict[str, Any]:
        def merged(writer: EitherWriter, _: EitherIndex) -> None:
            report("merging", 0, None)
            writer.merge()
            report("committing", 0, None)

        done = await served.change(server.writers, merged, progress=report)
        return {"commit": done.commit}

    return await started(request, server, idempotency_key, "merge", served.name, work)


@router.post(
    _INDEX + "/backup", responses=returns(TaskAnswer, 202), status_code=202,
    dependencies=_administering, tags=["tasks"],
)  # fmt: skip
async def backup(
    request: Request,
    server: Shared,
    served: Served,
    body: BackupBody,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Copy the last commit to another index of the same folder."""
    to = server.catalog.new_path(body.to, overwrite=body.overwrite)
    index = served.view.index

    async def work(report: Report) -> dict[str, Any]:
        def copied() -> dict[str, Any]:
            report("copying", 0, None)
            made = index.backup(to, overwrite=body.overwrite)
            return {"index": body.to, "commit": made.commit, "bytes": made.n_bytes}

        return await asyncio.get_running_loop().run_in_executor(server.writers, copied)

    return await started(request, server, idempotency_key, "backup", served.name, work)


@router.post(
    _INDEX + "/encode", responses=returns(TaskAnswer, 202), status_code=202,
    dependencies=_administering, tags=["tasks"],
)  # fmt: skip
async def encode(
    request: Request,
    server: Shared,
    served: Served,
    body: EncodeBody,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Give coordinates of meaning to all documents that have none."""

    async def work(report: Report) -> dict[str, Any]:
        def encoded(writer: EitherWriter, _: EitherIndex) -> int:
            report("encoding", 0, None)
            return writer.encode(body.encoder, meaning=body.meaning)

        done = await served.change(server.writers, encoded, progress=report)
        return {"encoded": done.result, "commit": done.commit}

    return await started(request, server, idempotency_key, "encode", served.name, work)
