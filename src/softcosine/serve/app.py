"""`create_app`: the routes, the state they share, start and end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Scope

from softcosine.serve import (
    bulk_routes,
    change_routes,
    comparison_routes,
    document_routes,
    index_routes,
    page_routes,
    search_routes,
    session_routes,
    status_routes,
    task_routes,
)
from softcosine.serve.intake import Intake
from softcosine.serve.logs import record_request
from softcosine.serve.mcp_route import add_mcp
from softcosine.serve.models import (
    Change,
    DocumentBody,
    DocumentsBody,
    NewDocument,
    answer_schemas,
)
from softcosine.serve.problems import add_handlers
from softcosine.serve.server import Server
from softcosine.serve.settings import ServeSettings
from softcosine.version import __version__

__all__ = ["create_app"]

_REFRESH = 0.5  # seconds between two looks at the commits of other processes
# Request headers that pages of other origins may send.
_HEADERS = ("Authorization", "Content-Type", "If-Match", "Idempotency-Key", "Prefer")
# Response headers that they may read.
_EXPOSED = (
    "ETag", "Location", "Retry-After", "X-Request-Id", "Idempotency-Replayed", "Preference-Applied",
)  # fmt: skip
_log = logging.getLogger(__name__)


def create_app(settings: ServeSettings) -> FastAPI:
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
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(server.warm)
        task = asyncio.create_task(refreshing())
        server.ready = True
        try:
            async with running_mcp():
                yield
        finally:
            server.ready = False
            task.cancel()
            await server.close()

    app = FastAPI(
        title="softcosine",
        version=__version__,
        description="Search by meaning: every index of a folder. Errors are problems (RFC 9457).",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        responses={
            "default": {
                "description": "A problem",
                "content": {
                    "application/problem+json": {
                        "schema": {"$ref": "#/components/schemas/ProblemAnswer"}
                    }
                },
            }
        },
    )
    app.state.server = server
    running_mcp = add_mcp(app, server)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    add_handlers(app)
    for routes in (  # searched in this order
        search_routes, document_routes, page_routes, session_routes, status_routes, index_routes,
        bulk_routes, comparison_routes, change_routes, task_routes,
    ):  # fmt: skip
        app.include_router(routes.router)
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


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the bodies that a route reads as a stream."""
    if app.openapi_schema is None:
        schemas = FastAPI.openapi(app)["components"]["schemas"]
        streamed: dict[str, Any] = {
            "NewDocument": NewDocument, "DocumentBody": DocumentBody,
            "DocumentsBody": DocumentsBody, "Change": Change,
        }  # fmt: skip
        schemas |= answer_schemas()
        for name, kind in streamed.items():
            own = TypeAdapter(kind).json_schema(ref_template="#/components/schemas/{model}")
            schemas |= own.pop("$defs", {}) | {name: own}
    return app.openapi_schema or {}
