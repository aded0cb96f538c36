"""Routes about the server itself: health, readiness, version, metrics."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from starlette.responses import PlainTextResponse, Response

from softcosine.serve.checked_route import CheckedRoute
from softcosine.serve.problems import Problem
from softcosine.serve.server import Shared, may
from softcosine.version import __version__

__all__ = ["router"]

router = APIRouter(tags=["server"], route_class=CheckedRoute)


class Health(BaseModel):
    """The process answers."""

    status: str


class Version(BaseModel):
    """The release of the server."""

    name: str
    version: str


@router.get("/health")
async def health() -> Health:
    """Whether the process answers; needs no key."""
    return Health(status="ok")


@router.get("/ready")
async def ready(server: Shared) -> Health:
    """Whether requests are welcome: not before the start and after the order to stop."""
    if not server.ready:
        raise Problem("stopping", "the server starts or stops.")
    return Health(status="ready")


@router.get("/metrics", response_class=PlainTextResponse, dependencies=[may("search")])
async def metrics(server: Shared) -> Response:
    """Return figures for Prometheus: latencies by route and index, sizes, queues."""
    return Response(await asyncio.to_thread(server.metrics.text), media_type=CONTENT_TYPE_LATEST)


@router.get("/version")
async def version() -> Version:
    """Return the release."""
    return Version(name="softcosine", version=__version__)
