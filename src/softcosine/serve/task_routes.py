"""Routes of tasks, and `started`: the answer to a request that starts one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from softcosine._progress import Report
from softcosine.serve.checked_route import CheckedRoute
from softcosine.serve.json_text import json_response
from softcosine.serve.keys import Scope
from softcosine.serve.models import TaskAnswer, returns
from softcosine.serve.problems import Problem
from softcosine.serve.repeats import Repeatable, once
from softcosine.serve.server import Server, Shared, may, require

__all__ = ["router", "started"]

# The scope that starts a task also reads and cancels it; "admin" for all others.
_SCOPES: dict[str, Scope] = {"pairs": "search", "dedupe": "search", "similarities": "write"}

router = APIRouter(prefix="/v1/tasks", tags=["tasks"], route_class=CheckedRoute)


@router.get("/{id}", responses=returns(TaskAnswer), dependencies=[may(None)])
async def get_task(request: Request, server: Shared, id: str) -> Response:
    """Return the state of a task, and its result if it is done."""
    record = await server.tasks.get(id)
    own: Scope = _SCOPES.get(record["kind"], "admin")
    require(request, server, own, "search")
    return json_response(record)


@router.delete("/{id}", responses=returns(TaskAnswer), dependencies=[may(None)])
async def cancel_task(request: Request, server: Shared, id: str) -> Response:
    """Cancel a task: what it has not committed is rolled back."""
    scope = _SCOPES.get((await server.tasks.get(id))["kind"], "admin")
    require(request, server, scope, changes=scope != "search")
    return json_response(await server.tasks.cancel(id))


async def started(
    request: Request,
    server: Server,
    key: str | None,
    kind: str,
    index: str,
    work: Callable[[Report], Awaitable[dict[str, Any]]],
    check: Callable[[], None] = lambda: None,
) -> Response:
    """Start a task, and return its state with the status 202.

    Parameters
    ----------
    request : Request
    server : Server
    key : str or None
        The Idempotency-Key.
    kind, index, work
        See `softcosine.serve.tasks.Tasks.start`.
    check : callable, optional
        Called before a new task, not before the answer to a repeated request.
    """

    async def start(repeatable: Repeatable | None) -> Response:
        if repeatable is not None and repeatable.begun:
            raise Problem("busy", "the first request with this Idempotency-Key still runs.")
        check()
        record = await server.tasks.start(kind, index, work)
        return json_response(record, status=202, location=f"/v1/tasks/{record['id']}")

    return await once(request, server.store, key, start)
