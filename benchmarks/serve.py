"""Searches a second, and their latencies, through the HTTP server and in process.

The index is that of the demo: the names of Unicode's symbols. Clients are threads of one process
that each keep a connection over loopback; a writer adds a hundred documents a second, ten at a
time.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import numpy as np

import softcosine as sc
from measure import write_report
from softcosine.cli.symbols import index_symbols

CLIENTS = (1, 8, 32)
K = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each row")
    seconds = parser.parse_args().seconds
    rows, facts = measured(index_symbols(), CLIENTS, seconds=seconds)
    print(
        write_report(
            "serve",
            "What does the HTTP server cost?",
            rows,
            facts,
            notes=(
                "Every answer has ten hits with text, metadata and highlights. Clients and server "
                "share the machine, and the clients are Python threads.",
            ),
        )
    )


def measured(
    index: sc.SoftIndex, clients: Sequence[int], *, seconds: float
) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Return a line of the table for each number of clients, and facts."""
    queries = _queries(index)
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "symbols")
        opened = sc.SoftIndex.open(Path(folder) / "symbols")
        rows = [_row("in process", 1, _timed([_in_process(opened)], queries, seconds))]
        began = time.perf_counter()
        with _server(Path(folder)) as address, ExitStack() as connections:

            def connected() -> Callable[[str], list[str]]:
                connection = HTTPConnection(address.removeprefix("http://"), timeout=60)
                return _over_http(connections.enter_context(closing(connection)))

            answer = connected()(queries[0])
            started = time.perf_counter() - began
            if answer != opened.search(queries[0], k=K).ids:
                raise SystemExit("the server answers otherwise; the figures mean nothing.")
            for n in clients:
                calls = [connected() for _ in range(n)]
                rows.append(_row("HTTP", n, _timed(calls, queries, seconds)))
                with _writing(address):
                    rows.append(_row("HTTP, beside a writer", n, _timed(calls, queries, seconds)))
    return rows, {
        "documents": len(index),
        "seconds a row": seconds,
        "start to the first answer, s": round(started, 2),
    }


def _queries(index: sc.SoftIndex) -> list[str]:
    generator = random.Random(0)
    ids = generator.sample(list(index), min(500, len(index)))
    words = [re.findall(r"\w+", document.text) for document in index.get(ids)]
    return [" ".join(generator.sample(one, min(3, len(one)))) for one in words if one]


def _in_process(index: sc.SoftIndex) -> Callable[[str], list[str]]:
    def search(query: str) -> list[str]:
        hits = index.search(query, k=K)
        return [hit.id for hit in hits if hit.snippet is not None]

    return search


def _over_http(connection: HTTPConnection) -> Callable[[str], list[str]]:
    def search(query: str) -> list[str]:
        answer = _send(connection, "search", {"q": query, "k": K})
        return [hit["id"] for hit in json.loads(answer)["hits"]]

    return search


def _send(connection: HTTPConnection, route: str, body: object) -> bytes:
    headers = {"Content-Type": "application/json"}
    connection.request("POST", f"/v1/indexes/symbols/{route}", json.dumps(body), headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{answer.status}: {content.decode()[:300]}")
    return content


def _timed(
    calls: Sequence[Callable[[str], list[str]]], queries: Sequence[str], seconds: float
) -> list[float]:
    """Return the seconds of every search that some clients get answered in a time."""
    found: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + seconds

    def client(number: int) -> None:
        place = number
        while (began := time.perf_counter()) < end:
            calls[number](queries[place % len(queries)])
            found[number].append(time.perf_counter() - began)
            place += len(calls)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [one for own in found for one in own]


def _row(way: str, n: int, taken: Sequence[float]) -> dict[str, object]:
    p50, p95, p99 = (1000 * np.percentile(taken, [50, 95, 99])).round(2).tolist()
    rate = round(len(taken) / (sum(taken) / n))
    return {
        "way": way, "clients": n, "searches a second": rate,
        "p50 ms": p50, "p95 ms": p95, "p99 ms": p99,
    }  # fmt: skip


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """Run a server, and yield its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "softcosine", "serve", str(folder), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield re.findall(r"http://[\d.:]+", process.stdout.readline())[0]
    finally:
        process.terminate()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def _writing(address: str) -> Iterator[None]:
    """Add a hundred documents a second."""
    stop = threading.Event()
    connection = HTTPConnection(address.removeprefix("http://"), timeout=60)

    def write() -> None:
        number = 0
        while not stop.wait(0.1):
            documents = [
                {"id": f"new {number + i}", "text": f"a new symbol {number + i}"} for i in range(10)
            ]
            _send(connection, "documents", {"documents": documents})
            number += 10

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        connection.close()


if __name__ == "__main__":
    main()
