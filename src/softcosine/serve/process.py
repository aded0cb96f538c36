"""The processes of a server: bind, start, stop (``softcosine serve``)."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from softcosine.errors import InvalidInputError
from softcosine.serve.app import JsonLines, create_app
from softcosine.serve.catalog import Catalog
from softcosine.serve.keys import KeyRing
from softcosine.serve.settings import ServeSettings
from softcosine.serve.state_store import StateStore

_LOCAL = ("localhost", "127.0.0.1", "::1")
_BACKLOG = 128  # connections that wait to be accepted, which is done for all at once
_HEADERS = 10.0  # seconds that a client may take for the headers of a request


def _most_connections() -> int:
    """Return how many connections a process takes: half of the files that it may open."""
    if sys.platform == "win32":
        return 256
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1024 if files == resource.RLIM_INFINITY else min(1024, files // 2)


_CONNECTIONS = _most_connections()


@dataclass(frozen=True, slots=True)
class Bind:
    """Where a server listens.

    Attributes
    ----------
    host : str
    port : int
        0 for a free one.
    insecure : bool
        Whether other hosts may connect without a key.
    certificate, private_key : Path or None
        Files of PEM for TLS.
    workers : int
        Processes.
    grace : float
        Seconds that requests get to finish at the end.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    insecure: bool = False
    certificate: Path | None = None
    private_key: Path | None = None
    workers: int = 1
    grace: float = 30.0

    @property
    def loopback(self) -> bool:
        """Whether only this host can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def serve(settings: ServeSettings, bind: Bind, started: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; then finish the requests that run.

    Parameters
    ----------
    settings : ServeSettings
    bind : Bind
    started : callable
        Called with the address when the first request can come.

    Raises
    ------
    InvalidInputError
        If other hosts could connect and there is no key.
    FileNotFoundError, NotADirectoryError, MalformedFileError
    OSError
        If the port is taken.
    """
    _check_keys(settings, bind)
    if bind.loopback and settings.keys is None:
        settings = replace(settings, hosts=(*_LOCAL, bind.host, *settings.hosts))
    catalog = Catalog(settings)  # here, so that errors come before the start
    _log_json()
    with ExitStack() as left:
        if settings.state is None and (catalog.single or settings.read_only):
            folder = left.enter_context(tempfile.TemporaryDirectory(prefix="softcosine-"))
            settings = replace(settings, state=Path(folder))
        StateStore(settings.state or catalog.state).start()
        listening = left.enter_context(_listening(bind))
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        address = f"http{'s' if bind.certificate else ''}://{shown}:{port}"
        options: dict[str, Any] = {
            "http": _Connection,
            "ws": "none",
            "backlog": _BACKLOG,
            "log_config": None,
            "access_log": False,
            "server_header": False,
            "lifespan": "on",
            "timeout_graceful_shutdown": int(bind.grace),
            "ssl_certfile": bind.certificate,
            "ssl_keyfile": bind.private_key,
        }
        if bind.workers > 1:
            started(address)
            figures = left.enter_context(tempfile.TemporaryDirectory(prefix="softcosine-metrics-"))
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = figures  # read by the workers as they start
            config = uvicorn.Config(
                partial(_app_of_worker, settings), factory=True, workers=bind.workers, **options
            )
            Multiprocess(config, sockets=[listening]).run()
            return
        server = _Server(uvicorn.Config(create_app(settings), **options))
        server.announce = partial(started, address)
        try:
            server.run(sockets=[listening])
        except (KeyboardInterrupt, SystemExit):
            if not server.started:
                raise


class _Connection(H11Protocol):
    """Bounds connections: how many there are, and how long one may wait for a request.

    If there are too many, the one that has waited longest ends, of the client that has more than
    half of all, if there is one. `timeout_keep_alive_task` is set while a connection waits.
    """

    until: float | None = None  # when the headers of a request must be there

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        host = (self.client or "")[:1]
        for most, hosts in ((_CONNECTIONS // 2, (host,)), (_CONNECTIONS, ())):
            everyone: list[Any] = list(self.connections)
            some = [one for one in everyone if not hosts or (one.client or "")[:1] in hosts]
            waiting = [one for one in some if one.timeout_keep_alive_task is not None]
            if len(some) > most and waiting:
                longest = min(waiting, key=lambda one: one.timeout_keep_alive_task.when())
                self.connections.discard(longest)
                longest.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def _wait(self) -> None:
        """End the connection if the headers of the next request take too long.

        So does the rest of a body whose request is answered.
        """
        answered = self.cycle is not None and self.cycle.response_complete
        if self.conn.their_state is not h11.IDLE and not answered:
            self.until = None
        elif self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self.until = self.until or self.loop.time() + _HEADERS
            handle = self.loop.call_at(self.until, self.timeout_keep_alive_handler)
            self.timeout_keep_alive_task = handle


class _Once(logging.Filter):
    """Passes one of several equal lines per second; lines of requests always pass."""

    def __init__(self) -> None:
        super().__init__()
        self._seen, self._since = set[tuple[str, str]](), 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if hasattr(record, "facts"):
            return True
        if record.created - self._since >= 1.0:
            self._seen, self._since = set(), record.created
        line = record.name, record.getMessage()
        new = line not in self._seen
        self._seen.add(line)
        return new


class _Server(uvicorn.Server):
    announce: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.announce()


def _app_of_worker(settings: ServeSettings) -> Starlette:
    _log_json()
    return create_app(settings)


def _check_keys(settings: ServeSettings, bind: Bind) -> None:
    has_key = settings.keys is not None and bool(KeyRing(settings.keys).current())
    if not (bind.loopback or has_key or bind.insecure):
        raise InvalidInputError(
            f"{bind.host} can be reached from other hosts, and no key is needed; make one by "
            "'softcosine keys add FILE NAME' and pass --keys FILE, or pass --insecure."
        )
    if settings.keys is not None and not has_key:
        raise InvalidInputError(
            f"{settings.keys} has no key; make one by 'softcosine keys add FILE NAME'."
        )


def _listening(bind: Bind) -> socket.socket:
    family = socket.AF_INET6 if ":" in bind.host else socket.AF_INET
    # asyncio turns Nagle's algorithm off if the socket names its protocol; else answers, which are
    # sent in two parts, take 40 ms more.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((bind.host, bind.port))
        listening.listen(_BACKLOG)
        listening.set_inheritable(True)
    except OSError as error:
        listening.close()
        raise OSError(
            f"{bind.host}:{bind.port} is not free ({error.strerror}); choose another --port."
        ) from error
    return listening


def _log_json() -> None:
    """Write log lines of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(_Once())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("softcosine.serve").setLevel(logging.INFO)
    logging.captureWarnings(True)
