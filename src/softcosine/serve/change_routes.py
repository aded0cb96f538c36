"""Routes of changes beside documents: similarities, aliases, merge, backup, encode, tasks."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from softcosine._progress import Report
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer.index_writer import IndexWriter
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
)
from softcosine.serve.repeats import IdempotencyKey, once
from softcosine.serve.server import Served, Server, Shared, may
from softcosine.serve.similarities import similarities_answer, with_decisions
from softcosine.serve.tags import IfMatch, matching

__all__ = ["router"]

_INDEX = "/indexes/{i}"
_reading = [may("search")]
_writing, _administering = [may("write", changes=True)], [may("admin", changes=True)]

router = APIRouter(prefix="/v1", route_class=CheckedRoute)


@router.get(
    _INDEX + "/similarities", response_model=SimilaritiesAnswer, dependencies=_reading,
    tags=["similarities"],
)  # fmt: skip
async def get_similarities(server: Shared, served: Served) -> Response:
    """Return your decisions about words: pinned, forbidden and weighed pairs."""
    index = served.view.index
    answer = await server.gate.run(lambda: similarities_answer(index))
    return json_response(answer, commit=index.commit)


@router.patch(
    _INDEX + "/similarities", response_model=SimilaritiesAnswer, dependencies=_writing,
    tags=["similarities"],
)  # fmt: skip
async def change_similarities(
    server: Shared, served: Served, body: SimilaritiesBody, if_match: IfMatch = None
) -> Response:
    """Pin, forbid and weigh pairs of words; the similarities of the index are built anew."""
    _, view = await served.change(
        server.writers,
        lambda writer, index: with_decisions(writer, index, body),
        if_match=matching(if_match),
    )
    return json_response(similarities_answer(view.index), commit=view.commit)


@router.get("/aliases", response_model=Aliases, dependencies=_reading, tags=["aliases"])
async def list_aliases(server: Shared) -> Response:
    """List the aliases and their indexes."""
    return json_response({"aliases": server.catalog.aliases})


@router.put(
    "/aliases/{name}", response_model=Aliases, dependencies=_administering, tags=["aliases"]
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
    _INDEX + "/merge", response_model=TaskAnswer, status_code=202, dependencies=_administering,
    tags=["tasks"],
)  # fmt: skip
async def merge(
    request: Request, server: Shared, served: Served, idempotency_key: IdempotencyKey = None
) -> Response:
    """Merge all segments, and free the space of deleted documents."""

    async def work(report: Report) -> dict[str, Any]:
        def merged(writer: IndexWriter, _: SoftIndex) -> None:
            report("merging", 0, None)
            writer.merge()
            report("committing", 0, None)

        _, view = await served.change(server.writers, merged, progress=report)
        return {"commit": view.commit}

    return await _started(request, server, idempotency_key, "merge", served.name, work)


@router.post(
    _INDEX + "/backup", response_model=TaskAnswer, status_code=202, dependencies=_administering,
    tags=["tasks"],
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
    index = served.view.one("a backup")

    async def work(report: Report) -> dict[str, Any]:
        def copied() -> dict[str, Any]:
            report("copying", 0, None)
            made = index.backup(to, overwrite=body.overwrite)
            return {"index": body.to, "generation": made.generation, "bytes": made.n_bytes}

        return await asyncio.get_running_loop().run_in_executor(server.writers, copied)

    return await _started(request, server, idempotency_key, "backup", served.name, work)


@router.post(
    _INDEX + "/encode", response_model=TaskAnswer, status_code=202, dependencies=_administering,
    tags=["tasks"],
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
        def encoded(writer: IndexWriter, _: SoftIndex) -> int:
            report("encoding", 0, None)
            return writer.encode(body.encoder, meaning=body.meaning)

        n_encoded, view = await served.change(server.writers, encoded, progress=report)
        return {"encoded": n_encoded, "commit": view.commit}

    return await _started(request, server, idempotency_key, "encode", served.name, work)


@router.get("/tasks/{id}", response_model=TaskAnswer, dependencies=_reading, tags=["tasks"])
async def get_task(server: Shared, id: str) -> Response:
    """Return the state of a task."""
    return json_response(await server.tasks.get(id))


@router.delete(
    "/tasks/{id}", response_model=TaskAnswer, dependencies=_administering, tags=["tasks"]
)
async def cancel_task(server: Shared, id: str) -> Response:
    """Cancel a task: what it has not committed is rolled back."""
    return json_response(await server.tasks.cancel(id))


async def _started(
    request: Request, server: Server, key: str | None, kind: str, index: str, work: Any
) -> Response:
    async def start() -> Response:
        record = await server.tasks.start(kind, index, work)
        return json_response(record, status=202, location=f"/v1/tasks/{record['id']}")

    return await once(request, server.store, key, start)
