"""`Server`: what the routes share, who may use them, and figures for Prometheus."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette import types
from starlette.requests import Request

from softcosine.errors import SoftCosineError
from softcosine.index.wire import wire
from softcosine.serve.catalog import Catalog
from softcosine.serve.gate import SearchGate
from softcosine.serve.keys import KeyRing, Scope
from softcosine.serve.problems import Problem
from softcosine.serve.served_index import ServedIndex
from softcosine.serve.sessions import SAFE, Sessions
from softcosine.serve.settings import ServeSettings
from softcosine.serve.state_store import StateStore
from softcosine.serve.tasks import Tasks

_WRITERS = 4  # indexes that are changed at the same time
_BUCKETS = (*(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5), 1.0, 2.5, 5.0, 10.0, 60.0)
_OF_INDEX: tuple[tuple[str, str, Callable[[ServedIndex], int]], ...] = (
    ("documents", "Documents of an index.", lambda one: len(one.view.index)),
    ("segments", "Segments of an index.", lambda one: one.view.index.snapshot.n_segments),
    ("generation", "Number of the last commit.", lambda one: one.view.index.snapshot.generation),
    ("changes_waiting", "Changes of an index that run or wait here.", lambda one: one.n_writes),
)
_log = logging.getLogger(__name__)


class Server:
    """The state that all routes of one process share."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.limits = settings.limits
        self.catalog = Catalog(settings)
        self.gate = SearchGate(settings.limits)
        self.comparisons = SearchGate(
            settings.limits.of_comparisons(), "comparisons", waiting_counts=False
        )
        self.writers = ThreadPoolExecutor(_WRITERS, "softcosine-write")
        self.store = StateStore(self.catalog.state)
        self.sessions = (
            None if settings.keys is None else Sessions(KeyRing(settings.keys), self.store)
        )
        self.tasks = Tasks(self.store)
        self.metrics = Metrics(self.catalog, self.gate, self.tasks)
        self.ready = False

    @property
    def read_only(self) -> str | None:
        """Why all changes are refused; None if they are not."""
        if self.settings.read_only:
            return "this server takes no changes (--read-only)."
        if self.catalog.elsewhere:
            return (
                "an index at a URL is opened for reading; change it in its folder, and copy it: "
                "softcosine admin backup FOLDER URL --overwrite."
            )
        return None

    async def index(self, name: str) -> ServedIndex:
        """Return an index by its name or alias."""
        served = self.catalog.opened_as(name)
        return await asyncio.to_thread(self.catalog.get, name) if served is None else served

    def warm(self) -> None:
        """Open the first index and search it, so that the first request does not wait for that."""
        for name in self.catalog.names[:1]:
            try:
                wire(self.catalog.get(name).view.index.search("warm", k=1))
            except (SoftCosineError, OSError):
                _log.exception("the index %s cannot be opened", name)

    async def close(self) -> None:
        """End the tasks, and wait for searches and changes that run."""
        await self.tasks.stop()
        await asyncio.to_thread(self.gate.close)
        await asyncio.to_thread(self.comparisons.close)
        await asyncio.to_thread(self.writers.shutdown)
        await asyncio.to_thread(self.store.close)


async def admit(request: Request, server: Server, scope: Scope | None, *, changes: bool) -> None:
    """Raise Problem if a request may not pass; None of scope is for any key."""
    if server.sessions is None:
        _check_site(request, server.settings.origins)
    else:
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        bearer = secret.strip() if kind.lower() == "bearer" and secret.strip() else None
        key = await server.sessions.key_of(request, bearer)
        request.state.key, request.state.scopes = key.name, key.scopes
    if scope is not None:
        require(request, server, scope, changes=changes)


def _check_site(request: Request, origins: Collection[str]) -> None:
    """Raise Problem if a page of another site sends a request that is not only read.

    Without keys nothing else keeps it off: browsers send a POST without a body to any site.
    """
    headers = request.headers
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if request.method in SAFE or origin in origins or site in ("same-origin", "none"):
        return
    if site is None and (origin is None or origin.partition("://")[2] == headers.get("host")):
        return  # not a browser, or an older one
    raise Problem(
        "wrong-origin",
        f"a page of {origin or 'another site'!r:.100} sends this request; see --origin.",
    )


def require(request: Request, server: Server, *scopes: Scope, changes: bool = False) -> None:
    """Raise Problem if the key of a request has none of the scopes; `admit` reads the key."""
    given = getattr(request.state, "scopes", scopes)
    if not set(scopes) & set(given):
        raise Problem(
            "wrong-scope",
            f"the key {request.state.key} is for {', '.join(given)}, and this request needs "
            f"{' or '.join(dict.fromkeys(scopes))}.",
        )
    if changes and server.read_only is not None:
        raise Problem("read-only", server.read_only)


class Metrics(Collector):
    """Figures of one process; latencies include those of all workers.

    Parameters
    ----------
    catalog : Catalog
    gate : SearchGate
    tasks : Tasks
    """

    def __init__(self, catalog: Catalog, gate: SearchGate, tasks: Tasks) -> None:
        self._catalog, self._gate, self._tasks = catalog, gate, tasks
        self._registry = CollectorRegistry()
        text, labels = "Time of a request and its answer.", ("method", "route", "index", "status")
        self._seconds = Histogram(
            "softcosine_request_seconds", text, labels, buckets=_BUCKETS, registry=self._registry
        )
        self._registry.register(self)

    def record(self, scope: types.Scope, status: int, seconds: float) -> None:
        """Count a request."""
        given = scope.get("path_params", {}).get("i", "")
        # Names that requests invent must not make new series.
        index = given if given in {one.name for one in self._catalog.opened} else ""
        route = getattr(scope.get("route"), "path", "") or ""
        method = scope["method"] if route else ""
        self._seconds.labels(method, route, index, str(status)).observe(seconds)

    def text(self) -> bytes:
        """Return the figures in the text format of Prometheus."""
        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges, read at each scrape."""
        for name, text, value in _OF_INDEX:
            family = GaugeMetricFamily(f"softcosine_{name}", text, labels=["index"])
            for served in self._catalog.opened:
                family.add_metric([served.name], value(served))
            yield family
        for name, n_running in (
            ("searches", self._gate.n_running),
            ("tasks", self._tasks.n_running),
        ):
            text = f"{name.title()} that run or wait in this process."
            yield GaugeMetricFamily(f"softcosine_{name}_running", text, value=n_running)
