"""``/session``: sign in on the page, sign out, and what the page may do."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from softcosine.serve.checked_route import CheckedRoute
from softcosine.serve.json_text import json_response
from softcosine.serve.keys import SCOPES, Key
from softcosine.serve.models import Body
from softcosine.serve.server import Server, Shared
from softcosine.serve.sessions import csrf_token

__all__ = ["router"]

router = APIRouter(prefix="/session", route_class=CheckedRoute, include_in_schema=False)


class _SignIn(Body):
    key: Annotated[str, Field(max_length=200)]


@router.get("")
async def get_session(request: Request, server: Shared) -> Response:
    """Return the scopes of the page, and the token that its requests need."""
    current = None if server.sessions is None else await server.sessions.current(request)
    return json_response(_record(server, *(current or (None, None))))


@router.post("")
async def sign_in(request: Request, server: Shared, body: _SignIn) -> Response:
    """Begin a session by a key."""
    if server.sessions is None:
        return json_response(_record(server, None, None))
    key, token = await server.sessions.begin(body.key)
    # End an earlier session now: its cookie is replaced, so it could not be ended later.
    await server.sessions.end(request)
    request.state.key = key.name
    answer = json_response(_record(server, key, csrf_token(token)))
    server.sessions.keep(request, answer, token)
    return answer


@router.delete("")
async def sign_out(request: Request, server: Shared) -> Response:
    """End a session."""
    answer = Response(status_code=204)
    if server.sessions is not None:
        await server.sessions.key_of(request, None)
        await server.sessions.end(request)
        server.sessions.keep(request, answer, "")
    return answer


def _record(server: Server, key: Key | None, token: str | None) -> dict[str, Any]:
    scopes = SCOPES if server.sessions is None else () if key is None else key.scopes
    return {
        "keys": server.sessions is not None,
        "key": None if key is None else key.name,
        "scopes": [scope for scope in scopes if scope == "search" or server.read_only is None],
        "token": token,
    }
