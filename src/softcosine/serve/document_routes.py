"""Routes of documents: read, list, add, replace, delete, several changes in one commit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from softcosine.cluster.opening import EitherIndex
from softcosine.index.requests import FilterRequest
from softcosine.index.wire import wire
from softcosine.serve import models
from softcosine.serve.gate import Budget
from softcosine.serve.json_text import json_response
from softcosine.serve.problems import Problem
from softcosine.serve.routing import Call, change, matching, route
from softcosine.serve.search_routes import answered, executed
from softcosine.serve.served_index import EitherWriter
from softcosine.serve.spooling import (
    JSON_LINES,
    content_type,
    read_json,
    read_lines,
    spooled,
)

__all__: list[str] = []

_PATH, _DOCUMENT = "/v1/indexes/{i}/documents", "/v1/indexes/{i}/documents/{id:any_text}"


async def _changed(
    call: Call[Any],
    work: Callable[[EitherWriter, EitherIndex], dict[str, int]],
    *,
    refresh: bool | None = None,
    created: str | None = None,
) -> Response:
    """Return what a change has changed, after its commit.

    Parameters
    ----------
    call : Call
    work : callable
        Makes the change; returns the counts of the answer.
    refresh : bool, optional
        See `IndexWriter.commit`.
    created : str, optional
        Address of the document, if it may be new.
    """
    done = await call.served.change(
        call.server.writers, work, if_match=matching(call), refresh=refresh
    )
    location = created if done.result.get("added") else None
    record, status = {**done.result, "commit": done.commit}, 200 if location is None else 201
    return json_response(record, status=status, commit=done.commit, location=location)


@route("GET", _PATH, query=models.ListQuery, answers={200: models.DocumentsAnswer})
async def list_documents(call: Call[models.ListQuery]) -> Response:
    """List the documents; ``POST .../filter`` has filters, sorting and facets."""
    return await executed(call, "filter", FilterRequest(k=call.body.k, offset=call.body.offset))


@change(
    "POST",
    _PATH,
    streams={"application/json": models.DocumentsBody, "application/x-ndjson": models.NewDocument},
    answers={200: models.Changed},
)
async def add_documents(call: Call[None]) -> Response:
    """Add or replace documents in one commit, or none of them.

    The body is ``{"documents": [...]}``, or JSON lines of one document each, which can be larger.
    """
    kind = content_type(call.request.headers)
    lines = kind in JSON_LINES
    if not lines and kind != "application/json":
        raise Problem(
            "unsupported-type", f"the body is of {kind or 'no type':.100}; send JSON or JSON lines."
        )
    # On disk first: a slow client does not hold the writer, and the body takes no memory.
    async with spooled(call.request) as body:

        def add(writer: EitherWriter, index: EitherIndex) -> dict[str, int]:
            n_read, limit = 0, call.server.limits.body_bytes
            for document in (
                read_lines(body, models.NewDocument, limit)
                if lines
                else read_json(body.read(), models.DocumentsBody).documents
            ):
                writer.add(document.id, document.text, document.metadata)
                n_read += 1
            n_new = writer.n_docs - len(index)
            return {"added": n_new, "replaced": n_read - n_new}

        return await _changed(call, add)


@route("GET", _DOCUMENT, headers=("If-None-Match",), answers={200: models.DocumentAnswer})
async def get_document(call: Call[None]) -> Response:
    """Return a document."""
    index = call.served.view.index
    if call.not_modified(index.commit):
        return Response(status_code=304, headers={"ETag": f'"{index.commit}"'})

    def made() -> dict[str, Any]:
        (document,) = index.get([call.path["id"]])
        return {**wire(document), "commit": index.commit}

    return await answered(call, made, budget=Budget(math.inf), commit=index.commit)


@change(
    "PUT",
    _DOCUMENT,
    body=models.DocumentBody,
    answers={200: models.Changed, 201: models.Changed},
)
async def put_document(call: Call[models.DocumentBody]) -> Response:
    """Add a document, or replace the one with the same id."""
    id, body = call.path["id"], call.body

    def put(writer: EitherWriter, index: EitherIndex) -> dict[str, int]:
        new = id not in index
        writer.add(id, body.text, body.metadata)
        return {"added": int(new), "replaced": int(not new)}

    created = f"/v1/indexes/{call.served.name}/documents/{quote(id, safe='')}"
    return await _changed(call, put, created=created)


@change("DELETE", _DOCUMENT, answers={200: models.Deleted})
async def delete_document(call: Call[None]) -> Response:
    """Delete a document."""

    def delete(writer: EitherWriter, _: EitherIndex) -> dict[str, int]:
        return {"deleted": writer.delete(call.path["id"])}

    return await _changed(call, delete)


@change(
    "POST",
    "/v1/indexes/{i}/changes",
    query=models.ChangesQuery,
    streams={"application/x-ndjson": models.Change},
    answers={200: models.BulkAnswer},
)
async def change_index(call: Call[models.ChangesQuery]) -> Response:
    """Make several changes in one commit, or none of them; the body has a JSON line for each.

    Without a line, `refresh` alone is done.
    """
    if content_type(call.request.headers) not in JSON_LINES:
        raise Problem("unsupported-type", "send JSON lines: Content-Type: application/x-ndjson.")
    async with spooled(call.request) as body:

        def work(writer: EitherWriter, index: EitherIndex) -> dict[str, int]:
            counts = Counter[str]()
            for one in read_lines(body, models.Change, call.server.limits.body_bytes):
                counts.update(_made(writer, one))
            n_new = max(0, writer.n_docs - len(index) + counts["deleted"])
            others = {name: counts[name] for name in ("deleted", "missing", "updated")}
            return {"added": n_new, "replaced": counts["written"] - n_new, **others}

        return await _changed(call, work, refresh=call.body.refresh)


def _made(writer: EitherWriter, change: models.Change) -> dict[str, int]:
    """Make a change; return what is counted of it."""
    if isinstance(change, models.Addition):
        writer.add(change.id, change.text, change.metadata)
        return {"written": 1}
    if isinstance(change, models.Deletion):
        n_deleted = writer.delete(change.id, where=change.where, missing_ok=change.missing_ok)
        return {"deleted": n_deleted, "missing": int(change.where is None and not n_deleted)}
    writer.update_metadata(change.id, change.metadata, replace=change.replace)
    return {"updated": 1}
