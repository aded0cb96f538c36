"""`/mcp`: the reading tools of the MCP server over the indexes of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from softcosine.errors import InvalidInputError
from softcosine.index.soft_index import SoftIndex
from softcosine.serve.catalog import Catalog
from softcosine.serve.problems import Problem, problem_of
from softcosine.serve.routing import Call, route
from softcosine.serve.served_index import whole
from softcosine.serve.server import Server
from softcosine.storage.remote import is_sharded


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


class _Mcp(Response):
    """The answer of the MCP server, whose tools run as searches do."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._server.gate.place():
            tools, app = await asyncio.to_thread(_made, self._server)
            async with tools.session_manager.run():
                await app(scope, receive, send)


def _made(server: Server) -> tuple[Any, ASGIApp]:
    """Return the tools and their application, without sessions: each request has its own.

    The package takes a second to import, at the first request.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    from softcosine.mcp.server import mcp_server

    async def run(work: Callable[[], bytes]) -> bytes:
        try:
            return await server.gate.run(work)
        except Exception as error:  # the tool shows its message
            raise InvalidInputError(problem_of(error).detail) from error

    tools = mcp_server(_Indexes(server.catalog), run=run)
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # `Intake` does
    return tools, tools.streamable_http_app(
        json_response=True, stateless_http=True, transport_security=unchecked
    )


@route("POST", "/mcp")
async def mcp(call: Call[None]) -> Response:
    """Answer by the tools of the MCP server, which read only."""
    if find_spec("mcp") is None:
        raise Problem("not-found", "there is no /mcp without the package mcp.")
    return _Mcp(call.server)
