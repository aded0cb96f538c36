"""`create_app`: the routes, the state they share, start and end; a log line per request."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Scope

from softcosine.serve import (  # noqa: F401  # they declare routes
    document_routes,
    index_routes,
    mcp_route,
    page_routes,
    search_routes,
    status_routes,
    task_routes,
)
from softcosine.serve.intake import Intake
from softcosine.serve.problems import add_handlers
from softcosine.serve.routing import routes
from softcosine.serve.server import Server
from softcosine.serve.settings import ServeSettings

_REFRESH = 0.5  # seconds between two looks at the commits of other processes
# Request headers that pages of other origins may send.
_HEADERS = ("Authorization", "Content-Type", "If-Match", "Prefer")
# Response headers that they may read.
_EXPOSED = ("ETag", "Location", "Retry-After", "X-Request-Id")
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
            allow_headers=[*_HEADERS],
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
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
        }
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
