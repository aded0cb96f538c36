"""`/mcp`: the reading tools of the MCP server over the indexes of the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from importlib.util import find_spec

from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from softcosine.cluster.opening import is_sharded
from softcosine.index.soft_index import SoftIndex
from softcosine.serve.catalog import Catalog
from softcosine.serve.problems import Problem
from softcosine.serve.server import Server, may

__all__ = ["add_mcp"]


class _Indexes(Mapping[str, SoftIndex]):
    """The indexes of a catalog that are not sharded, each as of its last commit."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __getitem__(self, name: str) -> SoftIndex:
        try:
            return self._catalog.get(name).view.one("mcp").at_commit()  # tools refresh it
        except Problem as problem:
            raise KeyError(name) from problem

    def __iter__(self) -> Iterator[str]:
        root = self._catalog.root
        return (name for name in self._catalog.names if not is_sharded(root / name))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Passed(Response):
    """The answer of another application."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def add_mcp(app: FastAPI, server: Server) -> Callable[[], AbstractAsyncContextManager[None]]:
    """Add `/mcp`, if the package `mcp` is installed; the result is to be entered while it runs.

    The tools read only, and need a key that may search.
    """
    if find_spec("mcp") is None:
        return nullcontext
    from softcosine.mcp.server import asgi_app, mcp_server

    tools = mcp_server(_Indexes(server.catalog))
    # The host is checked by the server, for all routes.
    answering = asgi_app(tools, path="/mcp", hosts=None)

    async def mcp() -> Response:
        return _Passed(answering)

    app.add_api_route(
        "/mcp", mcp, methods=["POST"], dependencies=[may("search")], include_in_schema=False
    )
    running: Callable[[], AbstractAsyncContextManager[None]] = tools.session_manager.run
    return running
