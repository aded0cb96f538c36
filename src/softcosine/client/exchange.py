"""Requests of a client: repetitions, replies, and errors as exceptions; calls of both clients.

A call is written once, as a coroutine. `AsyncClient` returns it; `Client`, whose `_send` and
`_pause` block, runs it to its end at once.
"""

from __future__ import annotations

import errno
import json
import math
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, cast, overload
from urllib.parse import quote

import msgspec

from softcosine._deadline import check_deadline, seconds_left
from softcosine._retries import wait_after
from softcosine.errors import (
    PROBLEM_PREFIX,
    PROBLEMS,
    InvalidInputError,
    MissingDependencyError,
    ProblemError,
    ServerError,
    needing,
)
from softcosine.index.segment.metadata_values import json_of
from softcosine.index.wire import form, read

_T = TypeVar("_T")
_P = ParamSpec("_P")
_REFUSED = (429, 503)  # the server has not begun
_OF_REQUESTS = ("invalid-request", "malformed-request", "over-limit")
_KEYS = {
    "missing-key": "the server needs a key; pass key=, or set SOFTCOSINE_KEY.",
    "wrong-key": "the server does not know the key of key= or SOFTCOSINE_KEY; it may be removed.",
}


class Blocking:
    """An object whose calls return their results."""


class Awaiting:
    """An object whose calls return coroutines."""


class call(Generic[_P, _T]):  # noqa: N801  # a decorator
    """Decorator: a coroutine as a method that returns its result, or itself, as the client does."""

    def __init__(self, function: Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]) -> None:
        @wraps(function)
        def method(owner: Any, *args: _P.args, **kwargs: _P.kwargs) -> Any:
            return owner._client._run(function(owner, *args, **kwargs))

        self._method = method
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> Callable[Concatenate[Any, _P], Any]: ...
    @overload
    def __get__(self, owner: Blocking, kind: type) -> Callable[_P, _T]: ...
    @overload
    def __get__(self, owner: Awaiting, kind: type) -> Callable[_P, Coroutine[Any, Any, _T]]: ...
    def __get__(self, owner: Blocking | Awaiting | None, kind: type) -> Callable[..., Any]:
        return self._method if owner is None else self._method.__get__(owner)  # type: ignore[attr-defined]


def httpx_module() -> Any:
    """Return httpx; MissingDependencyError if it is not installed."""
    with needing("httpx", "client", "softcosine.Client"):
        import httpx
    return httpx


class Changed(NamedTuple):
    """What a commit has changed.

    Attributes
    ----------
    added, replaced : int
        Numbers of documents.
    commit : str
        Checksum of the commit.
    deleted, updated : int
        Numbers of documents deleted, and given other metadata.
    missing : int
        Number of ids to delete that no document had.
    """

    added: int
    replaced: int
    commit: str
    deleted: int = 0
    updated: int = 0
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """How requests are sent to a server.

    Attributes
    ----------
    client : Client or AsyncClient
    address : str
    timeout : float
        Seconds to wait for a reply. No request is repeated later than that after its first try.
    retries : int
        How often a request is repeated that was refused for now, or whose connection broke.
    """

    client: Any
    address: str
    timeout: float
    retries: int

    async def ask(
        self,
        kind: type[_T],
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        key: str = "",
        params: Mapping[str, str] | None = None,
        if_match: str | None = None,
        repeatable: bool = True,
        timed: bool = False,
    ) -> _T:
        """Return what the reply holds.

        Parameters
        ----------
        kind : type
            Of the result; `softcosine.index.wire` reads it.
        method, params
            Of the request.
        path : str
            Below ``/v1/`` of the server, percent-encoded.
        body : mapping or bytes, optional
            A mapping is sent as JSON, bytes are JSON lines.
        key : str
            Of the result in the JSON object of the reply; by default the object is the result.
        if_match : str, optional
            The commit that must be the last one.
        repeatable : bool
            Whether it may be sent again although it may have been executed; not with `if_match`.
        timed : bool
            Whether the body, a mapping, gets a time limit: that of the context (`time_limit`).

        Raises
        ------
        ServerError
            If no server answers, or it is none of softcosine.
        SoftCosineError, OSError
            See `error_of`.
        """
        httpx, headers = httpx_module(), dict[str, str]()
        repeatable = repeatable and if_match is None
        if body is not None:
            lines = isinstance(body, bytes)
            headers["Content-Type"] = "application/x-ndjson" if lines else "application/json"
        if if_match is not None:
            headers["If-Match"] = f'"{if_match}"'
        attempt, end = 0, time.monotonic() + self.timeout
        while True:
            content: Any = body
            if isinstance(body, Mapping):
                content = json_bytes({**body, **time_limit()} if timed else body)
            reply = lost = wait = None
            try:
                reply = await self.client._send(
                    method=method, url=f"v1/{path}", content=content, headers=headers, params=params
                )
                if reply.status_code in _REFUSED:
                    wait = wait_after(attempt, reply.headers.get("retry-after", ""))
            except httpx.HTTPError as error:
                lost = error
                unsent = httpx.ConnectError, httpx.UnsupportedProtocol, httpx.TimeoutException
                if repeatable and not isinstance(error, unsent):
                    wait = wait_after(attempt)
            if (
                wait is None
                or attempt >= self.retries
                or wait > min(end - time.monotonic(), seconds_left())
            ):
                break
            attempt += 1
            await self.client._pause(wait)
        if lost is not None:
            raise self._lost(lost, repeatable) from lost
        return self.read(kind, self._json(reply), key)

    def read(self, kind: type[_T], record: Any, key: str = "") -> _T:
        """Return the result that the JSON of a reply holds; ServerError if it has another form."""
        try:
            value = msgspec.convert(record[key] if key else record, form(cast(Any, kind)))
        except (KeyError, msgspec.ValidationError) as error:
            raise self.error(
                f"the reply is not in the form of softcosine serve ({type(error).__name__}: "
                f"{error}); compare the versions of server and client."
            ) from error
        return read(kind, value)

    def _json(self, reply: Any) -> dict[str, Any]:
        try:
            value = json.loads(reply.content or b"{}")
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            if 200 <= reply.status_code < 300:
                return value
            if reply.headers.get("content-type", "").startswith("application/problem+json"):
                raise error_of(value, self.address)
        raise self.error(
            f"the reply (status {reply.status_code}) is none of softcosine, but of another program."
        )

    def _lost(self, error: Exception, repeatable: bool) -> ServerError:
        told, httpx = str(error) or type(error).__name__, httpx_module()
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.UnsupportedProtocol):
            return self.error(f"no connection: {told}. See whether 'softcosine serve' runs there.")
        doubt = "" if repeatable else " The change may have been made."
        if isinstance(error, httpx.TimeoutException):
            return self.error(f"no reply within {self.timeout:g} seconds; raise timeout=.{doubt}")
        return self.error(f"the connection was lost: {told}; see the log of the server.{doubt}")

    def error(self, problem: str) -> ServerError:
        """Return an error of this server."""
        return ServerError("softcosine", self.address, problem)


def time_limit() -> dict[str, int]:
    """Return the time limit of the current context as a field of a search; empty without one.

    Raises
    ------
    DeadlineExceededError
        If it has passed.
    """
    check_deadline()
    left = seconds_left()
    return {} if left == math.inf else {"timeout_ms": max(1, int(1000 * left))}


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON; dates, UUIDs and NumPy scalars as in metadata.

    Raises
    ------
    InvalidInputError
    """
    try:
        return json_of(value).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"the request cannot be written as JSON: {error}.") from error


def segment(text: str) -> str:
    """Return a text as one part of a path; dots alone would be removed from it."""
    if not isinstance(text, str):
        raise InvalidInputError(f"a name or word is {text!r:.100}; pass a string.")
    if text in (".", ".."):
        return text.replace(".", "%2E")
    return quote(text, safe="", errors="surrogatepass")


def error_of(problem: Mapping[str, Any], address: str) -> Exception:
    """Return the exception of a problem, with the message of the library.

    Parameters
    ----------
    problem : mapping
        The JSON of the server.
    address : str
        Of the server; in a note, as is the id of the request, which the log of the server has.
    """
    kind = str(problem.get("type", "")).removeprefix(PROBLEM_PREFIX)
    detail = _KEYS.get(kind) or str(problem.get("detail", "the server gives no reason."))
    error: Exception
    if kind == "disk-full":
        error = OSError(errno.ENOSPC, detail)
    elif kind == "unknown-index":
        error = FileNotFoundError(detail)
    elif kind == "missing-dependency":
        error = MissingDependencyError.__new__(MissingDependencyError)
        ImportError.__init__(error, detail)  # the message has the package and the extra already
    elif kind in PROBLEMS or kind in _OF_REQUESTS:
        error = PROBLEMS.get(kind, InvalidInputError)(detail)
    else:
        error = ProblemError(address, detail, kind=kind)
    error.add_note(f"softcosine at {address}, request {problem.get('instance', 'of several')}")
    return error
