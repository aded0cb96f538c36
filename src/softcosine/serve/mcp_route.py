"""`/mcp`: the reading tools of the MCP server over the indexes of the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from importlib.util import find_spec
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from softcosine._deadline import using_deadline
from softcosine.cluster.opening import is_sharded
from softcosine.index.soft_index import SoftIndex
from softcosine.serve.catalog import Catalog
from softcosine.serve.problems import Problem
from softcosine.serve.routing import Call, route
from softcosine.serve.served_index import whole
from softcosine.serve.server import Server


class _Indexes(Mapping[str, SoftIndex]):
    """The indexes of a catalog that are not sharded, each as of its last commit."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __getitem__(self, name: str) -> SoftIndex:
        try:
            return whole(self._catalog.get(name).view.index, "mcp").at_commit()  # tools refresh it
        except Problem as problem:
            raise KeyError(name) from problem

    def __iter__(self) -> Iterator[str]:
        root = self._catalog.root
        return (name for name in self._catalog.names if not is_sharded(root / name))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Passed(Response):
    """The answer of another application, whose searches have a deadline."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        super().__init__()
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with using_deadline(self._seconds):
            await self._app(scope, receive, send)


class _Mcp:
    """The MCP server, made at its first request, because its package takes a second to import."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._made: asyncio.Future[ASGIApp] | None = None
        self._end = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def app(self) -> ASGIApp:
        """Return the application that answers."""
        if self._made is None:
            self._made = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._made))
        return await asyncio.shield(self._made)

    async def _run(self, made: asyncio.Future[ASGIApp]) -> None:
        """Enter and leave the sessions of the package, which has to be in one task."""
        try:
            tools, answering = await asyncio.to_thread(self._make)
            async with tools.session_manager.run():
                made.set_result(answering)
                await self._end.wait()
        except Exception as error:
            if made.done():
                raise
            made.set_exception(error)

    def _make(self) -> tuple[Any, ASGIApp]:
        from softcosine.mcp.server import asgi_app, mcp_server

        tools = mcp_server(_Indexes(self._catalog))
        # The host is checked by the server, for all routes.
        return tools, asgi_app(tools, path="/mcp", hosts=None)

    @asynccontextmanager
    async def until_end(self) -> AsyncIterator[None]:
        """Let it end with the block."""
        try:
            yield
        finally:
            self._end.set()
            if self._running is not None:
                await self._running


def add_mcp(server: Server) -> Callable[[], AbstractAsyncContextManager[None]]:
    """Declare `/mcp`, if the package `mcp` is installed; the result is entered while it runs.

    The tools read only, and need a key that may search.
    """
    if find_spec("mcp") is None:
        return nullcontext
    made = _Mcp(server.catalog)
    server.mcp = made.app
    return made.until_end


@route("POST", "/mcp")
async def mcp(call: Call[None]) -> Response:
    """Answer by the tools of the MCP server."""
    if call.server.mcp is None:
        raise Problem("not-found", "there is no /mcp without the package mcp.")
    return _Passed(await call.server.mcp(), call.server.limits.timeout_ms / 1000)
