"""Routes about the server itself: health, version, metrics, OpenAPI; the page and its sessions."""

from __future__ import annotations

import asyncio
import hashlib
from importlib.resources import files
from typing import Any, NamedTuple

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from softcosine.serve.json_text import json_response
from softcosine.serve.keys import SCOPES, Key
from softcosine.serve.models import SignInBody, Status, Version
from softcosine.serve.problems import Problem
from softcosine.serve.routing import Call, openapi, route
from softcosine.serve.server import Server
from softcosine.serve.sessions import csrf_token
from softcosine.version import __version__


@route("GET", "/health", public=True, answers={200: Status})
async def health(call: Call[None]) -> Response:
    """Whether the process answers; needs no key."""
    return json_response({"status": "ok"})


@route("GET", "/ready", public=True, answers={200: Status})
async def ready(call: Call[None]) -> Response:
    """Whether requests are welcome: not before the start and after the order to stop."""
    if not call.server.ready:
        raise Problem("stopping", "the server starts or stops.")
    return json_response({"status": "ready"})


@route("GET", "/metrics", answers={200: str})
async def metrics(call: Call[None]) -> Response:
    """Return figures for Prometheus: latencies by route and index, sizes, queues."""
    text = await asyncio.to_thread(call.server.metrics.text)
    return Response(text, media_type=CONTENT_TYPE_LATEST)


@route("GET", "/version", public=True, answers={200: Version})
async def version(call: Call[None]) -> Response:
    """Return the release."""
    return json_response({"name": "softcosine", "version": __version__})


@route("GET", "/openapi.json", public=True)
async def description(call: Call[None]) -> Response:
    """Return the OpenAPI document."""
    return json_response(openapi())


@route("GET", "/session", public=True)
async def get_session(call: Call[None]) -> Response:
    """Return the scopes of the page, and the token that its requests need."""
    sessions = call.server.sessions
    current = None if sessions is None else await sessions.current(call.request)
    return json_response(_record(call.server, *(current or (None, None))))


@route("POST", "/session", public=True, body=SignInBody)
async def sign_in(call: Call[SignInBody]) -> Response:
    """Begin a session by a key."""
    server, request = call.server, call.request
    if server.sessions is None:
        return json_response(_record(server, None, None))
    key, token = await server.sessions.begin(call.body.key)
    # End an earlier session now: its cookie is replaced, so it could not be ended later.
    await server.sessions.end(request)
    request.state.key = key.name
    answer = json_response(_record(server, key, csrf_token(token)))
    server.sessions.keep(request, answer, token)
    return answer


@route("DELETE", "/session", public=True)
async def sign_out(call: Call[None]) -> Response:
    """End a session."""
    sessions, request = call.server.sessions, call.request
    answer = Response(status_code=204)
    if sessions is not None:
        await sessions.key_of(request, None)
        await sessions.end(request)
        sessions.keep(request, answer, "")
    return answer


def _record(server: Server, key: Key | None, token: str | None) -> dict[str, Any]:
    scopes = SCOPES if server.sessions is None else () if key is None else key.scopes
    return {
        "keys": server.sessions is not None,
        "key": None if key is None else key.name,
        "scopes": [scope for scope in scopes if scope == "search" or server.read_only is None],
        "token": token,
    }


# No other host, no inline script or style, no frame around the page, and no text that becomes
# markup: `require-trusted-types-for` lets a browser refuse `innerHTML`.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class _File(NamedTuple):
    content: bytes
    kind: str
    tag: str


def _read() -> dict[str, _File]:
    found = {}
    for file in files("softcosine.serve").joinpath("page").iterdir():
        kind = _TYPES.get("." + file.name.rpartition(".")[2])
        if kind is not None:
            content = file.read_bytes()
            found[file.name] = _File(content, kind, hashlib.sha256(content).hexdigest()[:32])
    return found


_FILES = _read()


@route("GET", "/", public=True)
@route("GET", "/page/{name}", public=True)
async def page_file(call: Call[None]) -> Response:
    """Return a file of the page; browsers cache it by its ETag."""
    name = call.path.get("name", "index.html")
    if (file := _FILES.get(name)) is None:
        raise Problem("not-found", f"the page has no file {name:.100}.")
    headers = {
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "ETag": f'"{file.tag}"',
    }
    if call.not_modified(file.tag):
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.kind)
