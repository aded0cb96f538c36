"""The route of several changes in one commit: add, delete, update metadata, set weights."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import TypeAdapter
from starlette.responses import Response

from softcosine.cluster.opening import EitherIndex
from softcosine.serve.changing import Changes
from softcosine.serve.checked_route import CheckedRoute
from softcosine.serve.models import Addition, BulkAnswer, Change, Deletion, MetadataUpdate, returns
from softcosine.serve.problems import Problem
from softcosine.serve.served_index import EitherWriter
from softcosine.serve.server import may
from softcosine.serve.spooling import JSON_LINES, content_type, read_lines, spooled
from softcosine.text.weighting import Weighting

__all__ = ["router"]

_change: TypeAdapter[Change] = TypeAdapter(Change)

router = APIRouter(prefix="/v1", tags=["documents"], route_class=CheckedRoute)


@router.post(
    "/indexes/{i}/changes", responses=returns(BulkAnswer),
    dependencies=[may("write", changes=True)],
    openapi_extra={
        "requestBody": {
            "content": {
                "application/x-ndjson": {"schema": {"$ref": "#/components/schemas/Change"}}
            },
        }
    },
)  # fmt: skip
async def change_index(
    request: Request,
    changes: Changes,
    refresh: Annotated[
        bool | None,
        Query(description="Whether the statistics of the terms are computed anew; else the rule."),
    ] = None,
) -> Response:
    """Make several changes in one commit, or none of them; the body has a JSON line for each.

    Without a line, `refresh` alone is done.
    """
    if content_type(request.headers) not in JSON_LINES:
        raise Problem("unsupported-type", "send JSON lines: Content-Type: application/x-ndjson.")
    async with spooled(request) as body:

        def work(writer: EitherWriter, index: EitherIndex) -> dict[str, int]:
            counts = Counter[str]()
            for one in read_lines(body, _change, changes.server.limits.body_bytes):
                counts.update(_made(writer, one))
            n_new = max(0, writer.n_docs - len(index) + counts["deleted"])
            return {
                "added": n_new,
                "replaced": counts["written"] - n_new,
                "deleted": counts["deleted"],
                "missing": counts["missing"],
                "updated": counts["updated"],
            }

        return await changes.make(work, body=body, refresh=refresh)


def _made(writer: EitherWriter, change: Change) -> dict[str, int]:
    """Make a change; return what is counted of it."""
    if isinstance(change, Addition):
        writer.add(change.id, change.text, change.metadata)
        return {"written": 1}
    if isinstance(change, Deletion):
        n_deleted = writer.delete(change.id, where=change.where, missing_ok=change.missing_ok)
        return {"deleted": n_deleted, "missing": int(change.where is None and not n_deleted)}
    if isinstance(change, MetadataUpdate):
        writer.update_metadata(change.id, change.metadata, replace=change.replace)
        return {"updated": 1}
    weighting = Weighting.from_dict(change.weighting.model_dump())
    writer.set_weighting(weighting, ranking=change.ranking)
    return {}
