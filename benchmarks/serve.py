"""Searches a second, and their latencies, through the HTTP server and in process.

The index is that of the demo: the names of Unicode's symbols. Clients are threads of one process
that each keep a connection over loopback; a writer adds a hundred documents a second, ten at a
time. bm25s and tantivy answer behind the same stack (`serve_peer.py`), where they are installed.

With ``--answers`` it measures the processor time of an answer instead, against that of the search
alone, on 20 Newsgroups.
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
from functools import partial
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import softcosine as sc
from measure import write_report
from newsgroups import newsgroups
from serve_peer import PEERS
from softcosine.cli.symbols import index_symbols

CLIENTS = (1, 8, 32)
K = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each row")
    parser.add_argument("--answers", action="store_true", help="what an answer takes to a search")
    arguments = parser.parse_args()
    if arguments.answers:
        index = sc.SoftIndex.from_texts(newsgroups(), encoder="static")
        rows, facts = answers(index, runs=3)
        notes = (
            "Medians over all queries of the best of the runs, each on one thread. Queries are "
            "three words of a document. A search fetches ten hits with their texts; an answer of "
            "the server has their highlights, too. CPU is that of all threads. With --answers.",
        )
        title = "What does an answer with ten highlights take, against the search alone?"
        print(write_report("serve_answers", title, rows, facts, notes=notes, script="serve"))
        return
    seconds = arguments.seconds
    peers = [peer for peer in PEERS if find_spec(peer)]
    rows, facts = measured(index_symbols(), CLIENTS, seconds=seconds, peers=peers)
    print(
        write_report(
            "serve",
            "What does the HTTP server cost?",
            rows,
            facts,
            notes=(
                "Every answer has ten hits with text, metadata and highlights. Clients and server "
                "share the machine, and the clients are Python threads. CPU is that of the server "
                "for an answer.",
                "Peers find the words of the query alone, and answer with ids, scores and texts.",
            ),
        )
    )


def measured(
    index: sc.SoftIndex, clients: Sequence[int], *, seconds: float, peers: Sequence[str] = ()
) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Return a line of the table for each number of clients, and facts."""
    queries = queries_of(index)
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "symbols")
        opened = sc.SoftIndex.open(Path(folder) / "symbols")
        in_process = _in_process(opened)
        in_process(queries[0])  # kernels are compiled
        rows = [_row("in process", 1, _timed([in_process], queries, seconds))]
        began = time.perf_counter()
        with running_server(Path(folder)) as (address, pid), ExitStack() as connections:
            connected = partial(_connected, address, connections)
            answer = connected()(queries[0])
            started = time.perf_counter() - began
            if answer != opened.search(queries[0], k=K).ids:
                raise SystemExit("the server answers otherwise; the figures mean nothing.")
            for n in clients:
                rows.append(_served("HTTP", pid, n, connected, queries, seconds))
                with _writing(address):
                    way = "HTTP, beside a writer"
                    rows.append(_served(way, pid, n, connected, queries, seconds))
        workers = running_server(Path(folder), "--workers", "2")
        with workers as (address, pid), ExitStack() as connections:
            connected = partial(_connected, address, connections)
            for _ in range(20):  # both have opened the index
                connected()(queries[0])
            rows += [
                _served("HTTP, 2 workers", pid, n, connected, queries, seconds) for n in clients
            ]
        texts = Path(folder) / "texts.json"
        texts.write_text(json.dumps([document.text for document in index.get(index)]))
        for peer in peers:
            command = ["serve_peer.py", peer, str(texts)]
            with running(command) as (address, pid), ExitStack() as connections:
                connected = partial(_connected, address, connections)
                connected()(queries[0])
                rows += [
                    _served(f"HTTP, {peer}", pid, n, connected, queries, seconds) for n in clients
                ]
    return rows, {
        "documents": len(index),
        "seconds a row": seconds,
        "start to the first answer, s": round(started, 2),
    }


def answers(index: sc.SoftIndex, *, runs: int) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Return the processor time of a search, with highlights, and over HTTP; and facts."""
    queries = queries_of(index)[:200]
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "symbols")
        opened = sc.SoftIndex.open(Path(folder) / "symbols")
        with running_server(Path(folder)) as (address, pid), ExitStack() as connections:
            server = partial(processor_ms, pid)
            ways: dict[str, tuple[Callable[[], float | None], Callable[[str], object]]] = {
                "search alone": (_own_ms, partial(opened.search, k=K)),
                "search and ten highlights": (_own_ms, _in_process(opened)),
                "HTTP answer with ten highlights": (server, _connected(address, connections)),
            }
            taken = {way: np.full(len(queries), np.inf) for way in ways}
            with sc.using_threads(1):
                for _ in range(runs + 1):  # in the first, kernels are compiled
                    for place, query in enumerate(queries):
                        for way, (clock, answer) in ways.items():
                            began = clock() or 0.0
                            answer(query)
                            own = (clock() or 0.0) - began
                            taken[way][place] = min(taken[way][place], own)
    medians = {way: float(np.median(own)) for way, own in taken.items()}
    rows: list[dict[str, object]] = [
        {
            "way": way,
            "CPU ms": round(own, 2),
            "of the search": round(own / medians["search alone"], 2),
        }
        for way, own in medians.items()
    ]
    return rows, {"documents": len(index), "queries": len(queries), "runs": runs}


def _own_ms() -> float:
    return 1000.0 * time.process_time()


def queries_of(index: sc.SoftIndex) -> list[str]:
    """Return queries of three words of a document."""
    generator = random.Random(0)
    ids = generator.sample(list(index), min(500, len(index)))
    words = [re.findall(r"\w+", document.text) for document in index.get(ids)]
    return [" ".join(generator.sample(one, min(3, len(one)))) for one in words if one]


def _in_process(index: sc.SoftIndex) -> Callable[[str], list[str]]:
    def search(query: str) -> list[str]:
        hits = index.search(query, k=K)
        return [hit.id for hit in hits if hit.snippet is not None]

    return search


def _connected(address: str, connections: ExitStack) -> Callable[[str], list[str]]:
    connection = HTTPConnection(address.removeprefix("http://"), timeout=60)
    connections.enter_context(closing(connection))

    def search(query: str) -> list[str]:
        answer = send(connection, "search", {"q": query, "k": K})
        return [hit["id"] for hit in json.loads(answer)["hits"]]

    return search


def send(
    connection: HTTPConnection, route: str, body: object, method: str = "POST", **headers: str
) -> bytes:
    """Return the answer of a route of the index."""
    given = {"Content-Type": "application/json", **headers}
    connection.request(method, f"/v1/indexes/symbols/{route}", json.dumps(body), given)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status not in (200, 202):  # 202: a task in the background
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


def _served(
    way: str,
    pid: int,
    n: int,
    connected: Callable[[], Callable[[str], list[str]]],
    queries: Sequence[str],
    seconds: float,
) -> dict[str, object]:
    calls = [connected() for _ in range(n)]
    began = processor_ms(pid)
    taken = _timed(calls, queries, seconds)
    row = _row(way, n, taken)
    if began is not None and (ended := processor_ms(pid)) is not None:
        row["CPU ms"] = round((ended - began) / len(taken), 2)
    return row


def processor_ms(pid: int) -> float | None:
    """Return the processor time so far of a process and those it started; None without /proc."""
    tasks = Path(f"/proc/{pid}/task")
    children = [one for task in tasks.glob("*/children") for one in task.read_text().split()]
    threads = [
        thread
        for one in (pid, *children)
        for thread in Path(f"/proc/{one}/task").glob("*/schedstat")
    ]
    return sum(int(one.read_text().split()[0]) for one in threads) / 1e6 if threads else None


def _row(way: str, n: int, taken: Sequence[float]) -> dict[str, object]:
    p50, p95, p99 = (1000 * np.percentile(taken, [50, 95, 99])).round(2).tolist()
    rate = round(len(taken) / (sum(taken) / n))
    return {
        "way": way, "clients": n, "searches a second": rate,
        "p50 ms": p50, "p95 ms": p95, "p99 ms": p99,
    }  # fmt: skip


@contextmanager
def running_server(folder: Path, *options: str) -> Iterator[tuple[str, int]]:
    """Run a server, and yield its address and the id of its process."""
    command = ["-m", "softcosine", "serve", str(folder), "--port", "0", *options]
    with running(command) as started:
        yield started


@contextmanager
def running(command: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Run a program of Python that prints its address; yield that and the id of its process."""
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        cwd=Path(__file__).parent,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield re.findall(r"http://[\d.:]+", process.stdout.readline())[0], process.pid
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
            send(connection, "documents", {"documents": documents})
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
