"""`create_app`: the routes, the state they share, start and end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
from softcosine.serve.logs import record_request
from softcosine.serve.problems import add_handlers
from softcosine.serve.routing import routes
from softcosine.serve.server import Server
from softcosine.serve.settings import ServeSettings

_REFRESH = 0.5  # seconds between two looks at the commits of other processes
# Request headers that pages of other origins may send.
_HEADERS = ("Authorization", "Content-Type", "If-Match", "Idempotency-Key", "Prefer")
# Response headers that they may read.
_EXPOSED = (
    "ETag", "Location", "Retry-After", "X-Request-Id", "Idempotency-Replayed", "Preference-Applied",
)  # fmt: skip
_log = logging.getLogger(__name__)


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
