"""Errors as answers (RFC 9457, ``application/problem+json``): a stable type, and what to do.

=========================  ======  ==============================================================
type (``urn:softcosine:``)  status  meaning
=========================  ======  ==============================================================
malformed-request          400     the body is not JSON in UTF-8, or the address is not UTF-8
missing-key, wrong-key     401     the server has keys, and the request has none, or an unknown one
wrong-scope                403     the key does not allow this
wrong-origin               403     a page of another site sends this to a server without keys
missing-token              403     the request comes by cookie, without the token of the page
read-only                  403     the server or the folder takes no changes
not-found                  404     no such route
unknown-index              404     no index or alias has this name
unknown-document           404     no document has this id
unknown-term               404     no document and no source has this word
unknown-task               404     no task has this id
method-not-allowed         405     the route has other methods
slow-request               408     the client paused too long within the body
already-exists             409     an index or alias has this name
changed-meanwhile          412     If-Match names another commit than the last one
too-large                  413     the body is too large
unsupported-type           415     the body is neither JSON nor JSON lines
wrong-host                 421     the Host header is none of the names of this server
invalid-request            422     a field is missing, unknown, or of a wrong type; named in errors
invalid-input              422     the library refuses a value
indefinite-matrix          422     S is not positive semidefinite where a norm is needed
over-limit                 422     a number or a query is over a limit of the server
large-answer               422     the documents that an answer needs are over the limit of bytes
too-many-searches          429     as many searches as allowed run and wait
disconnected               499     the client closed the connection within the body
bug                        500     an unexpected error; the log has the request id
corrupt-index              500     a file of the index is damaged
missing-dependency         501     an optional package is not installed on the server
busy                       503     another writer has the index, too many changes wait, or a shard
                                   was started again after a commit that is not yet refreshed
stopping                   503     the server is about to end
deadline                   504     the search took longer than its deadline
disk-full                  507     no space left on the disk; nothing was changed
=========================  ======  ==============================================================
"""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match

from softcosine.errors import (
    PROBLEM_PREFIX,
    PROBLEMS,
    CommitNotFoundError,
    IndexFormatError,
    MalformedFileError,
    SoftCosineError,
)
from softcosine.index.requests import refusal
from softcosine.serve.json_text import json_bytes

_log = logging.getLogger(__name__)

_METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")

_KINDS = {
    400: ("malformed-request",),
    401: ("missing-key", "wrong-key"),
    403: ("wrong-scope", "wrong-origin", "missing-token", "read-only"),
    404: ("not-found", "unknown-index", "unknown-document", "unknown-term", "unknown-task"),
    405: ("method-not-allowed",),
    408: ("slow-request",),
    409: ("already-exists",),
    412: ("changed-meanwhile",),
    413: ("too-large",),
    415: ("unsupported-type",),
    421: ("wrong-host",),
    422: ("invalid-request", "invalid-input", "indefinite-matrix", "over-limit", "large-answer"),
    429: ("too-many-searches",),
    499: ("disconnected",),
    500: ("bug", "corrupt-index"),
    501: ("missing-dependency",),
    503: ("busy", "stopping"),
    504: ("deadline",),
    507: ("disk-full",),
}
_STATUS = {kind: status for status, kinds in _KINDS.items() for kind in kinds}
# The first class that fits: subclasses stand before their bases.
_OF_ERRORS: tuple[tuple[type[Exception], str], ...] = (
    (ClientDisconnect, "disconnected"),
    (CommitNotFoundError, "busy"),
    (MalformedFileError, "bug"),
    *((error, kind) for kind, error in PROBLEMS.items()),
    (IndexFormatError, "corrupt-index"),
    (TimeoutError, "busy"),
)
# Details of errors whose messages name files, hosts and processes; these are for the log.
_DETAILS = {
    "disconnected": "the client closed the connection.",
    "busy": "another writer has the index or a file of the server, or a commit is being replaced; "
    "send the request again later.",
    "bug": "a file of the server cannot be used; the log of the server names it.",
    "already-exists": "there is an index or a file of this name already.",
    "corrupt-index": "a file of the index is damaged; the log of the server names it.",
    "read-only": "the server may not write here, so the index can be searched but not changed.",
}
_RETRY = {"too-many-searches": "1", "busy": "2", "stopping": "5"}


class Problem(HTTPException):
    """An error that has an answer.

    Parameters
    ----------
    kind : str
        See the table of this module.
    detail : str
        What was seen, what is needed, what to do.
    errors : sequence of mappings, optional
        One per faulty field.
    """

    def __init__(self, kind: str, detail: str, *, errors: Sequence[Mapping[str, str]] = ()) -> None:
        headers = {"Retry-After": _RETRY[kind]} if kind in _RETRY else {}
        if _STATUS[kind] == 401:
            headers["WWW-Authenticate"] = 'Bearer realm="softcosine"'
        super().__init__(_STATUS[kind], detail, headers)
        self.kind = kind
        self.errors = errors

    def to_dict(self, request_id: str | None = None) -> dict[str, Any]:
        """Return the problem as JSON types."""
        record: dict[str, Any] = {
            "type": PROBLEM_PREFIX + self.kind,
            "title": self.kind.replace("-", " ").capitalize(),
            "status": self.status_code,
            "detail": self.detail,
        }
        if request_id is not None:
            record["instance"] = request_id
        if self.errors:
            record["errors"] = list(self.errors)
        return record


def problem_of(error: BaseException) -> Problem:
    """Return the problem of an exception; one that is not expected goes to the log."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Problem(
            "disk-full", "the disk of the server is full; nothing was changed. Free some space."
        )
    for kind, name in _OF_ERRORS:
        if isinstance(error, kind):
            if name in _DETAILS and f"{error}":
                _log.warning("%s: %s", name, error)
            return Problem(name, _DETAILS.get(name) or str(error))
    _log.error("unexpected %s", type(error).__name__, exc_info=error)
    return Problem("bug", "an unexpected error; the log of the server has it under this request.")


def problem_response(problem: Problem, request_id: str | None) -> Response:
    """Return the answer of a problem."""
    content, kind = json_bytes(problem.to_dict(request_id)), "application/problem+json"
    return Response(content, problem.status_code, problem.headers, media_type=kind)


def add_handlers(app: Starlette) -> None:
    """Answer all errors of an application by problems."""

    def answer(request: Request, problem: Problem) -> Response:
        request.state.problem = problem.kind
        # Messages of the library name the folder of an index.
        problem.detail = problem.detail.replace(f"{app.state.server.catalog.root}{os.sep}", "")
        return problem_response(problem, getattr(request.state, "id", None))

    async def known(request: Request, error: Exception) -> Response:
        name = request.path_params.get("i") if request.scope["route"].opens else None
        if isinstance(error, OSError) and name and name not in app.state.server.catalog:
            return answer(request, Problem("unknown-index", f"the index {name} was deleted."))
        return answer(request, problem_of(error))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if isinstance(error, Problem):
            return answer(request, error)
        kinds = {404: "not-found", 405: "method-not-allowed"}
        method, path = request.method, request.url.path
        told = {
            404: f"there is no route {path}; /openapi.json lists them.",
            405: f"{path} cannot be reached by {method}; /openapi.json lists the methods.",
        }
        kind = kinds.get(error.status_code, "malformed-request")
        problem = Problem(kind, told.get(error.status_code, str(error.detail)))
        problem.headers = {**(problem.headers or {}), **(error.headers or {})}
        if error.status_code == 405:
            problem.headers["Allow"] = ", ".join(_methods(request))
        return answer(request, problem)

    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(SoftCosineError, known)
    app.add_exception_handler(OSError, known)
    app.add_exception_handler(ClientDisconnect, known)


def decoded(kind: Any, value: Any, place: str = "", *, strict: bool = True) -> Any:
    """Return a value of JSON types as a request.

    Raises
    ------
    Problem
        ``invalid-request``, with the name of the first faulty field.
    """
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        message = str(error)
    reason, _, path = message.partition(" - at `$")
    name = re.sub(r"\[(\d+)\]", r".\1", path.strip("`.").removeprefix("["))
    if unknown := re.search(r"(unknown|required) field `(.*)`$", reason):
        name = f"{name}.{unknown[2]}".strip(".")
        reason = "unknown field" if unknown[1] == "unknown" else "missing field"
    told = f"{name or 'the value'}: {reason}."
    if isinstance(kind, type) and isinstance(value, dict):
        told = str(refusal(message, kind, value))
    raise Problem(
        "invalid-request",
        f"{place}: {told}" if place else told,
        errors=[{"field": name[:200], "problem": reason}],
    )


def _methods(request: Request) -> list[str]:
    """Return the methods of an address; Starlette returns those of its first route only."""
    routes, found = request.app.routes, []
    for method in _METHODS:
        scope = {**request.scope, "method": method}
        found += [method] if any(one.matches(scope)[0] is Match.FULL for one in routes) else []
    return found
