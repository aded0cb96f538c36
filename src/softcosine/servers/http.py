"""JSON over HTTP to Elasticsearch and OpenSearch, by the standard library.

Both speak the same language here, while their two clients differ in every call; so neither is
needed. Connections are kept and shared by threads. Proxies are not supported.
"""

from __future__ import annotations

import json
import os
import ssl
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import gaierror
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit
from weakref import finalize

from softcosine._retries import with_retries
from softcosine.errors import InvalidInputError, ServerError

_BUSY = {429, 502, 503, 504}
_FINAL = (TimeoutError, ConnectionRefusedError, ssl.SSLError, gaierror)
_NAMES = ("elasticsearch", "opensearch")


@dataclass(frozen=True, slots=True)
class Reply:
    """The status of a reply and its JSON."""

    status: int
    json: Any


class _BusyError(Exception):
    """Status and content of a reply by which a server refuses for now."""


class Http:
    """A server that takes and returns JSON over HTTP.

    User and password, or an API key, come from the URL or from the environment:
    ``ELASTICSEARCH_USER``, ``ELASTICSEARCH_PASSWORD``, ``ELASTICSEARCH_API_KEY``, and the same with
    ``OPENSEARCH``. Certificates are checked; ``SSL_CERT_FILE`` names those of your own authority.

    Parameters
    ----------
    url : str
        Such as ``https://host:9200/index``.
    timeout : float
        Seconds to connect, and to wait for a reply.

    Attributes
    ----------
    address : str
        The URL without user, password and parameters.
    path : str
        Of the URL.

    Raises
    ------
    InvalidInputError
        If the URL is none of HTTP; the message has no password.
    """

    def __init__(self, url: str, *, timeout: float = 30.0) -> None:
        try:
            parts = urlsplit(url)
            self._place = parts.hostname or "", parts.port
        except (ValueError, AttributeError, TypeError) as error:
            raise InvalidInputError(
                f"the address is no URL: {error}; write it as http://host:9200/index."
            ) from None
        if parts.scheme not in ("http", "https") or not self._place[0]:
            raise InvalidInputError(
                "the address of the server is no URL of HTTP; write it as http://host:9200/index."
            )
        host = parts.netloc.rpartition("@")[2]
        self.address, self.path = f"{parts.scheme}://{host}{parts.path}", parts.path
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if authorization := _authorization(parts):
            self._headers["Authorization"] = authorization
        self._name: str | None = None
        self._timeout = timeout
        self._idle: list[HTTPConnection] = []
        finalize(self, _close, self._idle)

    @property
    def name(self) -> str:
        """Name of the server, by its first reply."""
        return self._name or "elasticsearch or opensearch"

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: Collection[int] = (),
        retry: bool = True,
        timeout: float | None = None,
    ) -> Reply:
        """Return the reply to a request.

        Parameters
        ----------
        method : str
        path : str
            With parameters, quoted.
        body : JSON value, optional
        accept : collection of int
            Statuses from 400 on that are returned, not raised.
        retry : bool
            Whether the request may be sent again after a lost connection. A server that refuses
            for now (429, 503) is always asked again, in growing intervals.
        timeout : float, optional
            Seconds to wait for this reply.

        Raises
        ------
        ServerError
        """
        data = None
        if body is not None:  # in ASCII, so that lone surrogates pass
            data = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()

        def once() -> tuple[int, bytes]:
            status, content = self._sent(method, path, data, timeout)
            if status in _BUSY:
                raise _BusyError(status, content)
            return status, content

        def worth(error: Exception) -> bool:
            return isinstance(error, _BusyError) or (retry and not isinstance(error, _FINAL))

        try:
            status, content = with_retries(once, worth)
        except _BusyError as error:
            status, content = error.args
        except TimeoutError as error:
            seconds = self._timeout if timeout is None else timeout
            raise self.error(
                f"no reply within {seconds:g} seconds; raise the timeout, or see _cluster/health"
            ) from error
        except (OSError, HTTPException) as error:
            raise self.error(f"{_told(error)}; see whether it runs there") from error
        return self._checked(status, content, accept)

    def scrolled(self, path: str, body: dict[str, Any], *, kept: str) -> Iterator[dict[str, Any]]:
        """Yield all hits of a search of the index at `path`, page by page.

        Raises
        ------
        ServerError
            If a shard fails, so that hits would be missing.
        """
        body = {"sort": ["_doc"], **body}
        reply = self.request("POST", f"{path}/_search?scroll={kept}", body).json
        scroll = reply.get("_scroll_id")
        try:
            while True:
                self.check_complete(reply)
                hits = reply["hits"]["hits"]
                yield from hits
                if not hits:
                    return
                # Not sent again: a second request would skip hits.
                page = {"scroll": kept, "scroll_id": scroll}
                reply = self.request("POST", "/_search/scroll", page, retry=False).json
                scroll = reply["_scroll_id"]
        finally:
            with suppress(ServerError):
                self.request("DELETE", "/_search/scroll", {"scroll_id": scroll}, retry=False)

    def check_complete(self, reply: dict[str, Any]) -> None:
        """Raise ServerError if the reply to a search lacks the hits of some shards."""
        if why := why_partial(reply):
            raise self.error(f"the answer is not complete: {why}")

    def error(self, problem: str) -> ServerError:
        """Return an error of this server."""
        return ServerError(self.name, self.address, f"{problem}.")

    def _sent(
        self, method: str, path: str, data: bytes | None, timeout: float | None
    ) -> tuple[int, bytes]:
        """Return status and content of one attempt."""
        connection = self._idle.pop() if self._idle else self._connection()
        try:
            connection.timeout = self._timeout if timeout is None else timeout
            if connection.sock is not None:
                connection.sock.settimeout(connection.timeout)
            connection.request(method, path, body=data, headers=self._headers)
            response = connection.getresponse()
            content = response.read()  # raises IncompleteRead if the reply is cut short
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        if self._name is None and response.status < 400:  # OpenSearch has no such header
            self._name = _NAMES[response.getheader("X-elastic-product") is None]
        return response.status, content

    def _connection(self) -> HTTPConnection:
        if self._tls is None:
            return HTTPConnection(*self._place, timeout=self._timeout)
        return HTTPSConnection(*self._place, timeout=self._timeout, context=self._tls)

    def _checked(self, status: int, content: bytes, accept: Collection[int]) -> Reply:
        try:
            value = json.loads(content) if content else None
        except ValueError as error:
            if status < 400:
                raise self.error("the reply is no JSON; another program may run there") from error
            value = content[:200].decode("utf-8", "replace")
        if status < 400 or status in accept:
            return Reply(status, value)
        if b"maxClauseCount" in content:
            raise self.error(
                f"the query has more clauses than the server takes ({_reason(value)}); raise "
                "indices.query.bool.max_clause_count there, or send fewer words (first_stage=)"
            )
        if status in (401, 403):
            upper = (self._name or _NAMES[0]).upper()
            like = "" if self._name else " (or OPENSEARCH_...)"
            raise self.error(
                f"access refused ({status}: {_reason(value)}); set {upper}_USER and "
                f"{upper}_PASSWORD, or {upper}_API_KEY{like}, of a user who may do this"
            )
        raise self.error(f"status {status}: {_reason(value)}")


def _close(connections: list[HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def why_partial(reply: dict[str, Any]) -> str:
    """Return why a reply to a search is partial; empty if it is complete.

    A shard of which no copy is available is neither successful nor counted as failed.
    """
    shards = reply["_shards"]
    if missing := shards["total"] - shards["successful"]:
        return f"{missing} of {shards['total']} shards failed or are not available"
    return "the search timed out" if reply["timed_out"] else ""


def _reason(value: Any) -> str:
    """Return the reason of an error as the server gives it."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        causes: Iterable[Any] = error.get("root_cause") or [error]
        reasons = dict.fromkeys(str(one.get("reason") or one.get("type")) for one in causes)
        return "; ".join(reasons)[:500]
    return str(error)[:500]


def _authorization(parts: SplitResult) -> str:
    if parts.username is not None:
        return _basic(unquote(parts.username), unquote(parts.password or ""))
    for name in map(str.upper, _NAMES):
        if key := os.environ.get(f"{name}_API_KEY"):
            return f"ApiKey {key}"
        if user := os.environ.get(f"{name}_USER"):
            return _basic(user, os.environ.get(f"{name}_PASSWORD", ""))
    return ""


def _basic(user: str, password: str) -> str:
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}" if user else ""


def _told(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens at this address"
    return f"no connection, or it was lost ({type(error).__name__}: {error})"
