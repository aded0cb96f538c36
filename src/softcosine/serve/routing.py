"""`route`: a route, declared once: who may use it, what it reads, what it answers.

The OpenAPI document is made of the declarations. A body is JSON, read strictly: its key is checked
first, and validation ends with the first error.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct
from msgspec.json import schema_components
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from softcosine.serve.keys import Scope
from softcosine.serve.models import ProblemAnswer
from softcosine.serve.problems import Problem, decoded
from softcosine.serve.served_index import ServedIndex
from softcosine.serve.server import Server, admit
from softcosine.serve.spooling import content_type, read_json
from softcosine.version import __version__

_LARGE = 64 << 10  # bytes that are not parsed in the event loop
_REFERENCE = "#/components/schemas/{name}"
_ABOUT = "Search by meaning: every index of a folder. Errors are problems (RFC 9457)."
_HEADERS: dict[str, dict[str, Any]] = {
    "If-Match": {
        "description": "The commit that must be the last one, as its ETag; * for any.",
        "schema": {"type": "string", "pattern": r'^\s*("[^"]*"|\*)\s*$'},
    },
    "If-None-Match": {
        "description": "A commit that is known; 304 if it is still the last one.",
        "schema": {"type": "string"},
    },
}
_B = TypeVar("_B")


class _AnyText(Convertor[str]):
    """The rest of an address, with slashes and line breaks, which the convertor `path` lacks."""

    regex = r"[\s\S]+"

    def convert(self, value: str) -> str:
        return value


register_url_convertor("any_text", _AnyText())


@dataclass(frozen=True, slots=True)
class Call(Generic[_B]):
    """A request that may pass.

    Attributes
    ----------
    request : Request
    server : Server
    served : ServedIndex
        The index that the path names as ``{i}``; missing in other routes.
    body : object
        The body, or the query parameters.
    """

    request: Request
    server: Server
    served: ServedIndex
    body: _B

    def header(self, name: str) -> str | None:
        """Return a header."""
        return self.request.headers.get(name)

    @property
    def path(self) -> dict[str, str]:
        """The parameters of the path."""
        return self.request.path_params

    def not_modified(self, tag: str) -> bool:
        """Whether ``If-None-Match`` names a tag."""
        tags = (self.header("if-none-match") or "").split(",")
        return any(one.strip().removeprefix("W/") == f'"{tag}"' for one in tags)


_Function = Callable[[Call[Any]], Awaitable[Response]]
_DECLARED: list[route] = []


@dataclass(eq=False, slots=True)
class route:  # noqa: N801  # a decorator
    """Decorator: a function as a route.

    Attributes
    ----------
    method, path : str
    scope : {"search", "write", "admin"} or None
        None for any key: the function calls `require` itself.
    answers : mapping of int to type
        The JSON answers by their status; None for one without content, str for a text. A route
        without answers is not in the OpenAPI document.
    body, query : type, optional
        Of the JSON body, or of the query parameters.
    streams : mapping of str to type
        Types of content that the function reads as a stream.
    changes : bool
        Whether a read-only server refuses the route.
    public : bool
        Whether it needs no key.
    headers : tuple of str
        Headers that it reads.
    opens : bool
        Whether the index ``{i}`` of the path, if there is one, is opened.
    """

    method: str
    path: str
    scope: Scope | None = "search"
    _: KW_ONLY
    answers: Mapping[int, Any] = field(default_factory=dict)
    body: Any = None
    query: type[Struct] | None = None
    streams: Mapping[str, Any] = field(default_factory=dict)
    changes: bool = False
    public: bool = False
    headers: tuple[str, ...] = ()
    opens: bool = True
    function: _Function = field(init=False)

    def __call__(self, function: _Function) -> _Function:
        """Declare the route of a function."""
        self.function = function
        _DECLARED.append(self)
        return function

    async def respond(self, request: Request) -> Response:
        """Answer a request."""
        request.scope["route"] = self
        server: Server = request.app.state.server
        if not self.public:
            await admit(request, server, self.scope, changes=self.changes)
        name = request.path_params.get("i") if self.opens else None
        served = None if name is None else await server.index(name)
        body: Any = None
        if self.body is not None:
            if (kind := content_type(request.headers)) != "application/json":
                raise Problem(
                    "unsupported-type",
                    f"the body is of {kind or 'no type':.100}; send application/json.",
                )
            content = await request.body()
            if len(content) > _LARGE:
                body = await asyncio.to_thread(read_json, content, self.body)
            else:
                body = read_json(content, self.body)
        elif self.query is not None:
            body = decoded(self.query, dict(request.query_params), strict=False)
        return await self.function(Call(request, server, cast(ServedIndex, served), body))


def change(method: str, path: str, **declared: Any) -> route:
    """Return the decorator of a route that changes an index, perhaps at a commit (If-Match)."""
    return route(method, path, "write", changes=True, headers=("If-Match",), **declared)


def matching(call: Call[Any]) -> str | None:
    """Return the commit of ``If-Match``; None if any will do."""
    given = call.header("if-match")
    tag = "*" if given is None else given.strip()
    if tag == "*":
        return None
    if len(tag) < 2 or tag[0] != '"' or tag[-1] != '"' or '"' in tag[1:-1]:
        raise Problem(
            "invalid-input", f"If-Match is {tag!r:.100}; send one ETag of this server, in quotes."
        )
    return tag[1:-1]


def routes() -> list[Route]:
    """Return the routes of all declarations."""
    made = []
    for one in _DECLARED:
        made.append(Route(one.path, one.respond, methods=[one.method]))
        made[-1].methods = {one.method}  # without HEAD
    return made


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document."""
    told = [one for one in _DECLARED if one.answers]
    kinds: list[Any] = [ProblemAnswer]
    for one in told:
        kinds += [one.body, one.query, *one.streams.values(), *one.answers.values()]
    kinds = [kind for number, kind in enumerate(kinds) if kind and kind not in kinds[:number]]
    _, schemas = schema_components(kinds, ref_template=_REFERENCE)
    paths: dict[str, Any] = {}
    for one in told:
        paths.setdefault(re.sub(r":\w+\}", "}", one.path), {})[one.method.lower()] = _told(one)
    info = {"title": "softcosine", "version": __version__, "description": _ABOUT}
    bearer = {"type": "http", "scheme": "bearer", "description": "A key of `softcosine keys add`."}
    components = {"schemas": schemas, "securitySchemes": {"HTTPBearer": bearer}}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": components}


def _told(one: route) -> dict[str, Any]:
    """Return the description of a route."""
    description = (one.function.__doc__ or "").strip()
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)", one.path)
    ]
    if one.query is not None:
        _, parts = schema_components([one.query], ref_template=_REFERENCE)
        properties = parts[one.query.__name__]["properties"]
        parameters += [{"name": n, "in": "query", "schema": own} for n, own in properties.items()]
    parameters += [{"name": name, "in": "header", **_HEADERS[name]} for name in one.headers]
    responses = {str(status): _content(kind) for status, kind in one.answers.items()}
    problem = {"application/problem+json": {"schema": _schema(ProblemAnswer)}}
    responses["default"] = {"description": "A problem", "content": problem}
    told: dict[str, Any] = {"operationId": one.function.__name__, "responses": responses}
    told |= {"summary": description.partition("\n")[0], "description": description}
    if parameters:
        told["parameters"] = parameters
    bodies = {"application/json": one.body} if one.body is not None else one.streams
    if bodies:
        content = {name: {"schema": _schema(kind)} for name, kind in bodies.items()}
        told["requestBody"] = {"required": True, "content": content}
    if not one.public:
        told["security"] = [{"HTTPBearer": []}]
    return told


def _content(kind: Any) -> dict[str, Any]:
    if kind is None:
        return {"description": "Done"}
    if kind is str:
        return {"description": "A text", "content": {"text/plain": {"schema": {"type": "string"}}}}
    return {"description": "Done", "content": {"application/json": {"schema": _schema(kind)}}}


def _schema(kind: Any) -> dict[str, Any]:
    """Return the schema of a type, or a reference to it."""
    (own,), _ = schema_components([kind], ref_template=_REFERENCE)
    return own
