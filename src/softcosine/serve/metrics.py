"""Figures of a server for Prometheus (``/metrics``)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.types import Scope

from softcosine.serve.catalog import Catalog
from softcosine.serve.gate import SearchGate
from softcosine.serve.served_index import ServedIndex
from softcosine.serve.tasks import Tasks

_BUCKETS = (.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1.0, 2.5, 5.0, 10.0, 60.0)  # fmt: skip


class Metrics:
    """The figures of one process; of several workers, latencies are those of all of them.

    Parameters
    ----------
    catalog : Catalog
    gate : SearchGate
    tasks : Tasks
    """

    def __init__(self, catalog: Catalog, gate: SearchGate, tasks: Tasks) -> None:
        self._catalog = catalog
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "softcosine_request_seconds",
            "Time from the first byte of a request to the last of its answer.",
            ("method", "route", "index", "status"),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._state = _State(catalog, gate, tasks)
        self._registry.register(self._state)

    def record(self, scope: Scope, status: int, seconds: float) -> None:
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
            registry.register(self._state)
        return generate_latest(registry)


class _State(Collector):
    """Gauges that are read when somebody asks."""

    def __init__(self, catalog: Catalog, gate: SearchGate, tasks: Tasks) -> None:
        self._catalog = catalog
        self._gate = gate
        self._tasks = tasks

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges."""
        of_index: tuple[tuple[str, str, Callable[[ServedIndex], int]], ...] = (
            ("documents", "Documents of an index.", lambda one: len(one.view.index)),
            ("segments", "Segments of an index.", lambda one: one.view.index.snapshot.n_segments),
            (
                "generation",
                "Number of the last commit.",
                lambda one: one.view.index.snapshot.generation,
            ),
            (
                "changes_waiting",
                "Changes of an index that run or wait in this process.",
                lambda one: one.n_writes,
            ),
        )
        for name, text, value in of_index:
            family = GaugeMetricFamily(f"softcosine_{name}", text, labels=["index"])
            for served in self._catalog.opened:
                family.add_metric([served.name], value(served))
            yield family
        yield GaugeMetricFamily(
            "softcosine_searches_running",
            "Searches that run or wait in this process.",
            value=self._gate.n_running,
        )
        yield GaugeMetricFamily(
            "softcosine_tasks_running",
            "Tasks that run or wait in this process.",
            value=self._tasks.n_running,
        )
