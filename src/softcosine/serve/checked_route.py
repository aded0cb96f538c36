"""`CheckedRoute`: a route that checks the key of a request, then reads its JSON strictly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response

from softcosine.serve.json_text import json_value
from softcosine.serve.problems import Problem
from softcosine.serve.server import Access

__all__ = ["CheckedRoute"]


_LARGE = 64 << 10  # bytes that are not parsed in the event loop


class _AnyText(Convertor[str]):
    """The rest of an address, with slashes and line breaks, which the convertor `path` lacks."""

    regex = r"[\s\S]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any_text", _AnyText())


class _CheckedRequest(Request):
    async def json(self) -> Any:
        try:
            body = await self.body()
            if len(body) > _LARGE:
                return await asyncio.to_thread(json_value, body)
            return json_value(body)
        except ValueError as error:
            raise Problem("malformed-request", f"the body is no JSON: {error}.") from error


class CheckedRoute(APIRoute):
    """A route that refuses keys before it reads a body, JSON with NaN, and what is not UTF-8."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler."""
        handler = super().get_route_handler()

        async def checked(request: Request) -> Response:
            request = _CheckedRequest(request.scope, request.receive)
            for one in self.dependencies:
                if isinstance(one.dependency, Access):
                    await one.dependency(request)
            return await handler(request)

        return checked
