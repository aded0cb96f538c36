"""`create_app`: the routes, what every request passes before them, start, end, a log line each."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from softcosine.serve import (  # noqa: F401  # they declare routes
    document_routes,
    index_routes,
    mcp_route,
    search_routes,
    status_routes,
)
from softcosine.serve.problems import Problem, add_handlers, problem_of, problem_response
from softcosine.serve.routing import routes
from softcosine.serve.server import Server
from softcosine.serve.settings import Limits, ServeSettings
from softcosine.serve.spooling import JSON_LINES, content_type

_REFRESH = 0.5  # seconds between two looks at the commits of other processes
# Request headers that pages of other origins may send.
_SENT = ("Authorization", "Content-Type", "If-Match", "Prefer")
# Response headers that they may read.
_EXPOSED = ("ETag", "Location", "Retry-After", "X-Request-Id")
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"private, no-cache"),  # proxies must not keep what a cookie lets through
]
_PACE = 1000  # bytes of a body that come in a second at least, once it has paused long enough
_SMALL = {"/session": 4 << 10, "/mcp": 32 << 10}  # bytes
_BEFORE_ID = re.compile(rb"/v1/indexes/[^/]*/(documents|terms)/")
_CHANGED = re.compile(r"/v1/indexes/[^/]+(/documents|/changes|/similarities)(?=/|$)")
_log = logging.getLogger(__name__)
_requests = logging.getLogger("softcosine.serve.requests")


def create_app(settings: ServeSettings) -> Starlette:
    """Return the application of a server, for any ASGI server.

    Parameters
    ----------
    settings : ServeSettings

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        If there is nothing to serve.
    """
    server = Server(settings)

    async def refreshing() -> None:
        while True:
            await asyncio.sleep(_REFRESH)
            try:
                await asyncio.to_thread(server.catalog.refresh)
            except Exception:  # one failure must not end the refreshes
                _log.exception("the indexes cannot be refreshed")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(server.warm)
        task = asyncio.create_task(refreshing())
        server.ready = True
        try:
            yield
        finally:
            server.ready = False
            task.cancel()
            await server.close()

    app = Starlette(lifespan=lifespan, routes=routes())
    app.router.redirect_slashes = False
    app.state.server = server
    add_handlers(app)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=[*_SENT],
            expose_headers=[*_EXPOSED],
        )

    def record(scope: Scope, status: int, seconds: float) -> None:
        server.metrics.record(scope, status, seconds)
        record_request(scope, status, seconds, queries=settings.log_queries)

    app.add_middleware(Intake, limits=settings.limits, hosts=settings.hosts, record=record)
    return app


class JsonLines(logging.Formatter):
    """Formats a log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        level = record.levelname.lower()
        line: dict[str, Any] = {"time": f"{moment}.{int(record.msecs):03}Z", "level": level}
        facts = getattr(record, "facts", None)
        line |= facts if isinstance(facts, dict) else {"message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


def record_request(scope: Scope, status: int, seconds: float, *, queries: bool) -> None:
    """Log a request.

    Parameters
    ----------
    scope : Scope
    status : int
    seconds : float
    queries : bool
        Whether to log the text of a query.
    """
    state = scope.get("state", {})
    facts: dict[str, Any] = {
        "request": state.get("id"),
        "method": scope["method"],
        "route": getattr(scope.get("route"), "path", None),
        "index": scope.get("path_params", {}).get("i"),
        "status": status,
        "ms": round(1000 * seconds, 3),
    }
    for name in ("key", "problem", *(("query",) if queries else ())):
        if name in state:
            facts[name] = state[name]
    level = logging.ERROR if status >= 500 and status not in (503, 504) else logging.INFO
    _requests.log(level, "request", extra={"facts": facts})


class Intake:
    """Middleware: request ids, size and pace of bodies, addresses in UTF-8, and a record of each.

    Parameters
    ----------
    app : ASGI application
    limits : Limits
    hosts : collection of str
        See `ServeSettings`.
    record : callable
        Called at the end of each request with its scope, the status and the seconds.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: Limits,
        hosts: Collection[str],
        record: Callable[[Scope, int, float], None],
    ) -> None:
        self._app = app
        self._limits = limits
        self._hosts = frozenset(host.lower() for host in hosts)
        self._record = record

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, begun = time.perf_counter(), 500, False
        request_id = secrets.token_hex(8)
        state = scope.setdefault("state", {})
        state["id"] = request_id

        async def sending(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                headers = [(b"x-request-id", request_id.encode()), *_HEADERS]
                message = {**message, "headers": [*message["headers"], *headers]}
            await send(message)

        async def refuse(problem: Problem) -> None:
            state["problem"] = problem.kind
            await problem_response(problem, request_id)(scope, receive, sending)

        try:
            problem = _address_problem(scope) or self._host_problem(scope)
            if (problem := problem or self._size_problem(scope)) is not None:
                await refuse(problem)
            else:
                await self._app(scope, self._limited(scope, receive), sending)
        except Exception as error:
            # The routes answer known errors; what comes here is a bug.
            if begun:
                raise
            await refuse(problem_of(error))
        finally:
            self._record(scope, status, time.perf_counter() - started)

    def _host_problem(self, scope: Scope) -> Problem | None:
        given = dict(scope["headers"]).get(b"host", b"").decode("latin-1").lower()
        host = given.rpartition(":")[0] if re.search(r":\d*$", given) else given
        if not self._hosts or host.strip("[]") in self._hosts:
            return None
        return Problem(
            "wrong-host",
            f"this server is {min(self._hosts)}, not {given!r:.100}; see --allow-host.",
        )

    def _limit(self, scope: Scope) -> int:
        """Return the greatest size of the body of a request."""
        limits, path = self._limits, scope["path"]
        if not (found := _CHANGED.match(path)):
            return _SMALL.get(path, limits.query_bytes)
        if found[1] == "/similarities":
            return limits.change_bytes
        if scope["method"] == "POST" and content_type(Headers(scope=scope)) in JSON_LINES:
            return limits.bulk_bytes
        return limits.body_bytes

    def _size_problem(self, scope: Scope) -> Problem | None:
        size = dict(scope["headers"]).get(b"content-length", b"0")
        limit = self._limit(scope)
        return _too_large(limit) if size.isdigit() and int(size[:20]) > limit else None

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """Return a `receive` that refuses large bodies and slow clients."""
        limit, n_bytes, more = self._limit(scope), 0, True
        pause, begun = self._limits.receive_seconds, time.monotonic()

        async def limited() -> Message:
            nonlocal n_bytes, more
            if not more:  # what comes after the body is the end of the connection
                return await receive()
            left = begun + pause + n_bytes / _PACE - time.monotonic()
            try:
                async with asyncio.timeout(min(pause, left)):
                    message = await receive()
            except TimeoutError as error:
                raise Problem(
                    "slow-request",
                    f"fewer than {_PACE:,} bytes a second came, or none for {pause:g} seconds.",
                ) from error
            n_bytes += len(message.get("body", b""))
            more = bool(message.get("more_body"))
            if n_bytes > limit:
                raise _too_large(limit)
            return message

        return limited


def _too_large(limit: int) -> Problem:
    return Problem("too-large", f"the body is larger than {limit:,} bytes; send it in parts.")


def _address_problem(scope: Scope) -> Problem | None:
    """Return the problem of an address that servers would not read as it is written; None if fine.

    Servers replace bytes that are not UTF-8, and take an encoded slash for one.
    """
    path: bytes = scope.get("raw_path") or b""
    parts: tuple[Any, ...] = (path, scope.get("query_string") or b"")
    try:
        for part in parts:
            unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        return Problem(
            "malformed-request", "the address has bytes that are not UTF-8; encode it as UTF-8."
        )
    names = before.group() if (before := _BEFORE_ID.match(path)) else path
    if b"%2f" in names.lower():
        return Problem("not-found", "%2F stands in ids and words alone, and separates no names.")
    return None
