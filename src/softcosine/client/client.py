"""`Client` and `AsyncClient`: connections to a server by httpx, and its calls."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine, Iterator
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, Self, Unpack
from urllib.parse import urlsplit

from softcosine._validation import check_number, check_whole, checked_name
from softcosine.client.exchange import Awaiting, Blocking, Exchange, call, httpx_module
from softcosine.client.index_calls import IndexCalls, Record, WriterCalls
from softcosine.errors import InvalidInputError, UnknownDocumentError
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.version import __version__

if TYPE_CHECKING:
    import httpx

    from softcosine.index.options import IndexKeywords

_KEY = "SOFTCOSINE_KEY"


class _Connected:
    """What both clients do: the calls of a server; see `Client`."""

    _kind: str  # of client in httpx
    _check_headers: Any  # of a reply, before its body is read

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        verify: SSLContext | bool = True,
        transport: Any = None,
    ) -> None:
        check_number("timeout", timeout, least=0)
        check_whole("retries", retries, least=0)
        address = _checked_address(url)
        headers = {"User-Agent": f"softcosine/{__version__}", "Accept": "application/json"}
        headers["Accept-Encoding"] = "identity"
        if secret := _checked_key(os.environ.get(_KEY) if key is None else key):
            headers["Authorization"] = f"Bearer {secret}"
        self._client, self._exchange = self, Exchange(self, address, timeout, retries)
        self._http: Any = getattr(httpx_module(), self._kind)(
            base_url=address, headers=headers, timeout=timeout, verify=verify, transport=transport,
            event_hooks={"response": [self._check_headers]},
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._exchange.address!r})"

    @call
    async def indexes(self) -> list[dict[str, Any]]:
        """Return the state of each index, as `RemoteIndex.info`."""
        return await self._exchange.ask(list[dict[str, Any]], "GET", "indexes", key="indexes")

    @call
    async def create(self, /, name: str, **options: Unpack[IndexKeywords]) -> dict[str, Any]:
        """Create an index without documents; return its state.

        Parameters
        ----------
        name : str
        **options
            ``similarity`` (a recipe without files, models and objects as sources, or its
            dictionary), ``plain``, ``language``, ``ranking``, ``fields``, ``max_neighbors``,
            ``min_df``, ``max_df``, ``positions``, ``keep_texts``, ``encoder`` (a name), ``meaning``
            and ``note`` of `SoftIndex.create`.

        Raises
        ------
        AlreadyExistsError, InvalidInputError, PermissionError
        """
        if isinstance(recipe := options.get("similarity"), SimilarityRecipe):
            options["similarity"] = recipe.to_dict()
        path = f"indexes/{checked_name(name)}"
        return await self._exchange.ask(Record, "PUT", path, options, repeatable=False)

    @call
    async def delete(self, name: str) -> None:
        """Delete an index and its files; searches that run on it finish.

        Raises
        ------
        FileNotFoundError
            If there is no such index.
        AlreadyExistsError
            If an alias stands for it.
        """
        await self._exchange.ask(
            Record, "DELETE", f"indexes/{checked_name(name)}", repeatable=False
        )

    @call
    async def aliases(self) -> dict[str, str]:
        """Return for each alias its index."""
        return await self._exchange.ask(dict[str, str], "GET", "aliases", key="aliases")

    @call
    async def set_alias(self, alias: str, index: str) -> None:
        """Point an alias to an index; searches use it at once."""
        await self._exchange.ask(Record, "PUT", f"aliases/{checked_name(alias)}", {"index": index})

    @call
    async def delete_alias(self, alias: str) -> None:
        """Delete an alias; the index stays."""
        await self._exchange.ask(
            Record, "DELETE", f"aliases/{checked_name(alias)}", repeatable=False
        )


class Client(_Connected, Blocking):
    """A client of ``softcosine serve``.

    Connections are kept, and shared by threads. A request that the server refuses for now (429,
    503) is repeated after its ``Retry-After``; one whose connection broke is repeated if that
    cannot change anything twice.

    Parameters
    ----------
    url : str
        ``http://host:8080`` or ``https://host``, perhaps with a path in front of ``/v1``.
    key : str, optional
        A key of ``softcosine keys add``; by default that of the environment variable
        ``SOFTCOSINE_KEY``, if any.
    timeout : float
        Seconds to connect, and to wait for a reply. A request is not repeated later than that.
    retries : int
        How often one request is repeated.
    verify : ssl.SSLContext or bool
        How certificates are checked, as in httpx.
    transport : httpx.BaseTransport, optional
        In place of TCP, such as ``httpx.HTTPTransport(uds=...)``.

    Raises
    ------
    InvalidInputError
        If the address or the key cannot be used.
    MissingDependencyError
        If httpx is not installed.
    """

    _kind = "Client"

    def index(self, name: str) -> RemoteIndex:
        """Return an index or alias of the server; sends no request."""
        return RemoteIndex(name, self)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _run(self, steps: Coroutine[Any, Any, Any]) -> Any:
        try:
            steps.send(None)
        except StopIteration as end:
            return end.value
        raise AssertionError

    async def _send(self, **request: Any) -> Any:
        return self._http.request(**request)

    async def _pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def _check_headers(self, reply: httpx.Response) -> None:
        _check_not_compressed(reply, self._exchange)


class AsyncClient(_Connected, Awaiting):
    """The client for asyncio: as `Client`, with ``await`` before each call."""

    _kind = "AsyncClient"

    def index(self, name: str) -> AsyncRemoteIndex:
        """Return an index or alias of the server; sends no request."""
        return AsyncRemoteIndex(name, self)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def _run(self, steps: Coroutine[Any, Any, Any]) -> Any:
        return steps

    async def _send(self, **request: Any) -> Any:
        return await self._http.request(**request)

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _check_headers(self, reply: httpx.Response) -> None:
        _check_not_compressed(reply, self._exchange)


class RemoteIndex(IndexCalls, Blocking):
    """An index of a server, by `Client.index`."""

    def writer(self, *, if_match: str | None = None) -> RemoteWriter:
        """Return a writer, whose changes are one commit, or none; sends no request.

        Parameters
        ----------
        if_match : str, optional
            A commit; if it is not the last one, nothing is changed.
        """
        return RemoteWriter(self._client, self._path, if_match)

    def __len__(self) -> int:
        return self.count()

    def __iter__(self) -> Iterator[str]:
        """Ids of the documents, in order of insertion."""
        return iter(self.filter(k=None).ids)

    def __contains__(self, id: object) -> bool:
        try:
            return isinstance(id, str) and bool(self.get([id]))
        except UnknownDocumentError:
            return False


class AsyncRemoteIndex(IndexCalls, Awaiting):
    """An index of a server, by `AsyncClient.index`."""

    def writer(self, *, if_match: str | None = None) -> AsyncRemoteWriter:
        """Return a writer; only its `commit` is awaited. See `RemoteIndex.writer`."""
        return AsyncRemoteWriter(self._client, self._path, if_match)


class RemoteWriter(WriterCalls, Blocking):
    """A writer, by `RemoteIndex.writer`; as a context manager it commits on exit."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        try:
            if kind is None and self._lines:
                self.commit()
        finally:
            self.close()


class AsyncRemoteWriter(WriterCalls, Awaiting):
    """A writer of `AsyncRemoteIndex.writer`, with ``async with``; see `RemoteWriter`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        try:
            if kind is None and self._lines:
                await self.commit()
        finally:
            self.close()


def _check_not_compressed(reply: httpx.Response, exchange: Exchange) -> None:
    """Raise ServerError before httpx unpacks a body, which can fill the memory."""
    encoding = reply.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        raise exchange.error(
            f"the reply is compressed ({encoding}); let the proxy heed Accept-Encoding."
        )


def _checked_address(url: str) -> str:
    """Return the address of a server; InvalidInputError, without its password, if it is none."""
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except (ValueError, AttributeError, TypeError):
        right = False
    if not right:
        raise InvalidInputError(
            "the address of the server is no URL of HTTP; write it as http://127.0.0.1:8080."
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidInputError(
            "the address of the server has a user, a query or a fragment; pass a key by key=."
        )
    return url.rstrip("/")


def _checked_key(key: str | None) -> str:
    """Return a key without white space around it; InvalidInputError, without the key, if wrong."""
    secret = "" if key is None else str(key).strip()
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise InvalidInputError(
            "the key has characters that no key has; pass it as 'softcosine keys add' printed it."
        )
    return secret
