"""One request and its reply: repetitions, lost connections, and errors as exceptions."""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import quote

import msgspec

from softcosine._deadline import check_deadline, seconds_left
from softcosine._retries import wait_after
from softcosine.client.calls import Lost, Reply, Request, Steps
from softcosine.client.failures import error_of
from softcosine.errors import InvalidInputError, ServerError
from softcosine.index.segment.metadata_values import json_of
from softcosine.index.wire import form, read

_T = TypeVar("_T")
_REFUSED = (429, 503)  # the server has not begun


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
    address : str
    timeout : float
        Seconds to wait for a reply. No request is repeated later than that after its first try.
    retries : int
        How often a request is repeated that was refused for now, or whose connection broke.
    """

    address: str
    timeout: float
    retries: int

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        params: tuple[tuple[str, str], ...] = (),
        changes: bool = False,
        if_match: str | None = None,
        repeatable: bool = True,
        in_background: bool = False,
        timed: bool = False,
    ) -> Steps[dict[str, Any]]:
        """Return the JSON object of the reply; empty if there is none.

        Parameters
        ----------
        method, path, params
            See `Request`; the path below ``/v1/``.
        body : mapping or bytes, optional
            A mapping is sent as JSON, bytes are JSON lines.
        changes : bool
            Whether the request has an Idempotency-Key, so that repeating it changes nothing.
        if_match : str, optional
            The commit that must be the last one.
        repeatable : bool
            See `Request`.
        in_background : bool
            Whether the server is asked to answer with a task.
        timed : bool
            Whether the body, a mapping, gets a time limit: that of the context (`time_limit`).

        Raises
        ------
        ServerError
            If no server answers, or it is none of softcosine.
        SoftCosineError, OSError
            See ``failures.py``.
        """
        headers: dict[str, str] = {}
        if body is not None:
            lines = isinstance(body, bytes)
            headers["Content-Type"] = "application/x-ndjson" if lines else "application/json"
        if changes:
            headers["Idempotency-Key"] = uuid.uuid4().hex
        if if_match is not None:
            headers["If-Match"] = f'"{if_match}"'
        if in_background:
            headers["Prefer"] = "respond-async"
        attempt, end = 0, time.monotonic() + self.timeout
        while True:
            if isinstance(body, Mapping):
                content: bytes | None = json_bytes({**body, **time_limit()} if timed else body)
            else:
                content = body
            request = Request(method, f"v1/{path}", content, headers, params, repeatable)
            outcome: Reply | Lost = yield request
            wait = self._wait(request, outcome, attempt)
            if wait is None or wait > min(end - time.monotonic(), seconds_left()):
                return self._json(request, outcome)
            attempt += 1
            yield wait

    def search(self, path: str, body: Mapping[str, Any]) -> Steps[dict[str, Any]]:
        """Return the JSON of a search; it ends at the deadline of the context."""
        return (yield from self.ask("POST", path, body, timed=True))

    def _wait(self, request: Request, outcome: Reply | Lost, attempt: int) -> float | None:
        """Return after how many seconds a request is to be repeated; None if not."""
        if attempt >= self.retries:
            return None
        if isinstance(outcome, Lost):
            again = outcome.reason == "lost" and request.repeatable
            return wait_after(attempt) if again else None
        if outcome.status not in _REFUSED:
            return None
        return wait_after(attempt, outcome.headers.get("retry-after", ""))

    def _json(self, request: Request, outcome: Reply | Lost) -> dict[str, Any]:
        if isinstance(outcome, Lost):
            raise self._lost(request, outcome) from outcome.error
        try:
            value = json.loads(outcome.body or b"{}")
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            if 200 <= outcome.status < 300:
                return value
            if outcome.headers.get("content-type", "").startswith("application/problem+json"):
                raise error_of(value, self.address)
        raise self.error(
            f"the reply (status {outcome.status}) is none of softcosine serve; another program may "
            "run there, or the address lacks a part of its path."
        )

    def _lost(self, request: Request, outcome: Lost) -> ServerError:
        told = str(outcome.error) or type(outcome.error).__name__
        if outcome.reason == "connect":
            return self.error(
                f"no connection: {told}. See whether 'softcosine serve' runs there, and whether "
                "the address and verify= are right."
            )
        doubt = "" if request.repeatable else " The change may have been made."
        if outcome.reason == "timeout":
            return self.error(
                f"no reply within {self.timeout:g} seconds; raise timeout=, or see whether the "
                f"server is overloaded.{doubt}"
            )
        return self.error(f"the connection was lost: {told}; see the log of the server.{doubt}")

    def error(self, problem: str) -> ServerError:
        """Return an error of this server."""
        return ServerError("softcosine", self.address, problem)


def result_of(kind: type[_T], record: object) -> _T:
    """Return the result that a reply holds; ValidationError of msgspec for another form."""
    return read(kind, msgspec.convert(record, form(cast(Any, kind))))


def time_limit() -> dict[str, int]:
    """Return the field of a search that ends it at the deadline of the context, if there is one.

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
