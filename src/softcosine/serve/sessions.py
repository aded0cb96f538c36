"""`Sessions`: keys of browsers, which send a cookie in place of a key.

The cookie is a random token. The state of the server has its hash, and the hash of the key, so that
every process knows the session, and it ends with its key. Neither the browser nor the disk has the
key itself.

A browser adds the cookie to all requests to this host, also those of pages that another program
serves on another port: for SameSite that is the same site. So requests by cookie, except GET, must
have a header with a second token, which only pages of this server can read. A check of
Sec-Fetch-Site would need no token, but browsers send it to https and to this host only; and the
Origin differs from the Host behind proxies that rewrite it.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from softcosine.errors import MalformedFileError
from softcosine.serve.keys import Key, KeyRing, hashed
from softcosine.serve.problems import Problem
from softcosine.serve.state_store import StateStore

_log = logging.getLogger(__name__)
_LIFETIME = 12 * 3600.0  # seconds
_HEADER = "X-CSRF-Token"
SAFE = ("GET", "HEAD")  # methods of requests that change nothing


class Sessions:
    """The keys of requests, by cookie or as bearer.

    Parameters
    ----------
    keys : KeyRing
    store : StateStore
    """

    def __init__(self, keys: KeyRing, store: StateStore) -> None:
        self._keys = keys
        self._store = store

    async def key_of(self, request: Request, bearer: str | None) -> Key:
        """Return the key that a request is made with.

        Raises
        ------
        Problem
            ``missing-key``, ``wrong-key``, ``missing-token``.
        """
        if bearer is not None:
            return self._known(bearer)
        if (token := request.cookies.get(_name(request))) is None:
            raise Problem("missing-key", "send a key of this server: 'Authorization: Bearer KEY'.")
        if (key := await self._signed_in(token)) is None:
            raise Problem("wrong-key", "the session has ended, or its key is removed; sign in.")
        given = request.headers.get(_HEADER, "")
        if request.method not in SAFE and not hmac.compare_digest(
            given.encode(), csrf_token(token).encode()
        ):
            raise Problem("missing-token", f"the header {_HEADER} is missing; reload the page.")
        return key

    async def current(self, request: Request) -> tuple[Key, str] | None:
        """Return the key of the session of a request, and its CSRF token."""
        token = request.cookies.get(_name(request))
        key = None if token is None else await self._signed_in(token)
        return None if token is None or key is None else (key, csrf_token(token))

    async def begin(self, secret: str) -> tuple[Key, str]:
        """Return the key of a new session, and its token for `keep`.

        Raises
        ------
        Problem
            ``wrong-key``.
        """
        key = self._known(secret)
        token = secrets.token_urlsafe(32)
        until = time.time() + _LIFETIME
        await asyncio.to_thread(self._store.put_session, hashed(token), key.sha256, until)
        return key, token

    async def end(self, request: Request) -> None:
        """End the session of a request."""
        if (token := request.cookies.get(_name(request))) is not None:
            await asyncio.to_thread(self._store.end_session, hashed(token))

    def keep(self, request: Request, answer: Response, token: str) -> None:
        """Set the cookie of a session, which lasts until the browser closes.

        An empty token deletes it.
        """
        answer.set_cookie(
            _name(request), token, max_age=None if token else 0, path="/", httponly=True,
            secure=_secure(request), samesite="strict",
        )  # fmt: skip

    def _known(self, secret: str) -> Key:
        if (key := self._key(self._keys.find, secret)) is None:
            raise Problem("wrong-key", "this server does not know the key; it may be removed.")
        return key

    async def _signed_in(self, token: str) -> Key | None:
        digest = await asyncio.to_thread(self._store.session, hashed(token))
        return None if digest is None else self._key(self._keys.of_hash, digest)

    def _key(self, find: Callable[[str], Key | None], text: str) -> Key | None:
        try:
            return find(text)
        except (MalformedFileError, OSError) as error:
            _log.exception("the keys cannot be read")  # the answer does not name the file
            raise Problem("bug", "the keys of this server cannot be read; see its log.") from error


def _secure(request: Request) -> bool:
    return request.url.scheme == "https"


def _name(request: Request) -> str:
    """Return the name of the cookie; cookies of all ports of a host are in one place."""
    _, port = request.scope.get("server") or ("", None)
    # Browsers take a cookie of this prefix over TLS only, and from no subdomain.
    return f"{'__Host-' if _secure(request) else ''}softcosine-{port}"


def csrf_token(token: str) -> str:
    """Return the CSRF token of a session, which all requests by cookie except GET and HEAD need."""
    return hashed(f"changes {token}")
