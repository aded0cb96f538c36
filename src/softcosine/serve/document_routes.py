"""Routes of documents: read, list, add, replace, delete."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from pydantic import TypeAdapter
from starlette.responses import Response

from softcosine.cluster.opening import EitherIndex
from softcosine.index.wire import wire
from softcosine.serve.changing import Changes
from softcosine.serve.checked_route import CheckedRoute
from softcosine.serve.json_text import json_bytes, json_response, json_value
from softcosine.serve.models import (
    Changed,
    DeleteBody,
    Deleted,
    DocumentAnswer,
    DocumentBody,
    DocumentsAnswer,
    DocumentsBody,
    Facets,
    NewDocument,
    Sort,
    returns,
)
from softcosine.serve.problems import Problem
from softcosine.serve.served_index import EitherWriter
from softcosine.serve.server import Served, Shared, may
from softcosine.serve.spooling import JSON_LINES, content_type, read_json, read_lines, spooled
from softcosine.serve.tags import IfNoneMatch, not_modified

__all__ = ["router"]

_PATH = "/indexes/{i}/documents"
_contents, _document = TypeAdapter(DocumentBody), TypeAdapter(NewDocument)
_documents = TypeAdapter(DocumentsBody)
_reading, _writing = [may("search")], [may("write", changes=True)]

router = APIRouter(prefix="/v1", tags=["documents"], route_class=CheckedRoute)


@router.get(_PATH, responses=returns(DocumentsAnswer), dependencies=_reading)
async def list_documents(
    server: Shared,
    served: Served,
    where: Annotated[str | None, Query(description="A filter, as JSON.")] = None,
    offset: Annotated[int, Query(ge=0)] = 0,
    k: Annotated[int, Query(ge=0)] = 10,
    sort: Annotated[Sort | None, Query()] = None,
    facet: Annotated[Facets | None, Query()] = None,
) -> Response:
    """List the documents that pass a filter."""
    served.check_page(k, offset)
    try:
        passing = None if where is None else json_value(where.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise Problem("malformed-request", f"where is no JSON: {error}.") from error
    index = served.view.index

    def listed() -> bytes:
        found = index.filter(passing, k=k, offset=offset, sort=sort, facets=facet or ())
        return json_bytes({**wire(found), "commit": index.commit})

    content = await server.gate.run(listed)
    return Response(content, media_type="application/json")


@router.post(_PATH, responses=returns(Changed), dependencies=_writing, openapi_extra={
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/DocumentsBody"}},
            "application/x-ndjson": {"schema": {"$ref": "#/components/schemas/NewDocument"}},
        },
    }
})  # fmt: skip
async def add_documents(request: Request, changes: Changes) -> Response:
    """Add or replace documents in one commit, or none of them.

    The body is ``{"documents": [...]}``, or JSON lines of one document each, which can be larger.
    """
    kind = content_type(request.headers)
    lines = kind in JSON_LINES
    if not lines and kind != "application/json":
        raise _unsupported(kind, "application/json or application/x-ndjson")
    # On disk first: a slow client does not hold the writer, and the body takes no memory.
    async with spooled(request) as body:

        def add(writer: EitherWriter, index: EitherIndex) -> dict[str, int]:
            n_read, limit = 0, changes.server.limits.body_bytes
            for document in (
                read_lines(body, _document, limit)
                if lines
                else read_json(body, _documents).documents
            ):
                writer.add(document.id, document.text, document.metadata)
                n_read += 1
            n_new = writer.n_docs - len(index)
            return {"added": n_new, "replaced": n_read - n_new}

        return await changes.make(add, body=body)


@router.post(f"{_PATH}/delete", responses=returns(Deleted), dependencies=_writing)
async def delete_documents(changes: Changes, body: DeleteBody) -> Response:
    """Delete documents by their ids, by a filter, or by both, in one commit."""
    if body.ids is None and body.where is None:
        raise Problem("invalid-input", "give the ids of documents to delete, or a filter: where.")

    def delete(writer: EitherWriter, _: EitherIndex) -> dict[str, int]:
        n = sum(
            writer.delete(id, missing_ok=body.missing_ok) for id in dict.fromkeys(body.ids or ())
        )
        return {"deleted": n + (0 if body.where is None else writer.delete(where=body.where))}

    return await changes.make(delete)


@router.get(_PATH + "/{id:any_text}", responses=returns(DocumentAnswer), dependencies=_reading)
async def get_document(
    server: Shared, served: Served, id: str, if_none_match: IfNoneMatch = None
) -> Response:
    """Return a document."""
    index = served.view.index
    if not_modified(if_none_match, index.commit):
        return Response(status_code=304, headers={"ETag": f'"{index.commit}"'})
    (document,) = await server.gate.run(lambda: index.get([id]))
    return json_response({**wire(document), "commit": index.commit}, commit=index.commit)


@router.put(
    _PATH + "/{id:any_text}", responses=returns(Changed) | returns(Changed, 201),
    dependencies=_writing,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/DocumentBody"}}
            },
        }
    },
)  # fmt: skip
async def put_document(request: Request, changes: Changes, id: str) -> Response:
    """Add a document, or replace the one with the same id."""
    if (kind := content_type(request.headers)) != "application/json":
        raise _unsupported(kind, "application/json")
    async with spooled(request) as body:

        def put(writer: EitherWriter, index: EitherIndex) -> dict[str, int]:
            contents = read_json(body, _contents)
            new = id not in index
            writer.add(id, contents.text, contents.metadata)
            return {"added": int(new), "replaced": int(not new)}

        created = f"/v1/indexes/{changes.served.name}/documents/{quote(id, safe='')}"
        return await changes.make(put, body=body, created=created)


@router.delete(_PATH + "/{id:any_text}", responses=returns(Deleted), dependencies=_writing)
async def delete_document(changes: Changes, id: str) -> Response:
    """Delete a document."""

    def delete(writer: EitherWriter, _: EitherIndex) -> dict[str, int]:
        return {"deleted": writer.delete(id)}

    return await changes.make(delete)


def _unsupported(kind: str, wanted: str) -> Problem:
    return Problem("unsupported-type", f"the body is {kind or 'of no type'!r:.100}; send {wanted}.")
