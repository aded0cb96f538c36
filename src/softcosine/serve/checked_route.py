"""`CheckedRoute`: a route that reads the JSON of its requests strictly."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response

from softcosine.serve.json_text import json_value
from softcosine.serve.problems import Problem

__all__ = ["CheckedRoute"]


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
            return json_value(await self.body())
        except ValueError as error:
            raise Problem("malformed-request", f"the body is no JSON: {error}.") from error


class CheckedRoute(APIRoute):
    """A route that refuses JSON with NaN, too deep JSON, and what is not UTF-8."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler."""
        handler = super().get_route_handler()

        async def checked(request: Request) -> Response:
            return await handler(_CheckedRequest(request.scope, request.receive))

        return checked
