"""Whether the memory of the HTTP server stays the same under load.

Two workers serve the names of Unicode's symbols. Four clients search by all routes, with facets,
explanations, misspelt words and filters; one adds, replaces and deletes documents among 2,000 ids;
one reads neighbours and metrics, and pins words, so that S is built
anew. Every ten seconds the memory of the workers is read from /proc (Linux).
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import softcosine as sc
from measure import write_report
from serve import queries_of, running_server, send
from softcosine.cli.symbols import index_symbols

SEARCHERS = 4
IDS = 2000  # that are written
WORKERS = 2
MB = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two readings")
    given = parser.parse_args()
    rows, facts = measured(index_symbols(), seconds=given.seconds, every=given.every)
    print(
        write_report(
            "serve_memory",
            "Does the memory of the HTTP server stay the same under load?",
            rows,
            facts,
            notes=(
                "Memory is that of all workers together: resident with the mapped files of the "
                "index, which they share, and without them (anonymous). Clients and server share "
                "the machine.",
            ),
        )
    )


def measured(
    index: sc.SoftIndex, *, seconds: float, every: float
) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Return a line of the table for each minute, or for each reading of a short run, and facts."""
    queries, ids = queries_of(index), list(itertools.islice(index, 1000))
    counts = {"searches": 0, "changes": 0}
    readings: list[tuple[float, int, int, int, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "symbols")
        options = ("--workers", str(WORKERS), "--waiting", "1000")
        with running_server(Path(folder), *options) as (address, process):
            calls = [_searching(queries, ids, number) for number in range(SEARCHERS)]
            with _clients(address, [*calls, _writing, _deciding], counts):
                began = time.perf_counter()
                while (now := time.perf_counter() - began) < seconds:
                    time.sleep(min(every, seconds - now))
                    resident, anonymous = _memory(process)
                    readings.append((
                        time.perf_counter() - began, resident, anonymous, counts["searches"],
                        counts["changes"],
                    ))  # fmt: skip
    step = max(1, round(60 / every)) if seconds > 120 else 1
    rows: list[dict[str, object]] = [
        {
            "minute": round(now / 60, 2), "searches": searches, "changes": changes,
            "resident MB": round(resident / MB), "anonymous MB": round(anonymous / MB),
        }
        for now, resident, anonymous, searches, changes in readings[step - 1 :: step]
    ]  # fmt: skip
    own = [one[2] / MB for one in readings]
    third = len(own) // 3
    return rows, {
        "documents": len(index),
        "workers": WORKERS,
        "readings": len(readings),
        "anonymous MB, mean of the second third": round(_mean(own[third : 2 * third])),
        "anonymous MB, mean of the last third": round(_mean(own[2 * third :])),
        "anonymous MB, most": round(max(own)),
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def _memory(process: int) -> tuple[int, int]:
    """Return the resident and the anonymous bytes of the children of a process."""
    resident = anonymous = 0
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        lines = Path(f"/proc/{child}/status").read_text().splitlines()
        facts = {name: value for name, _, value in (line.partition(":") for line in lines)}
        resident += 1024 * int(facts["VmRSS"].split()[0])
        anonymous += 1024 * int(facts["RssAnon"].split()[0])
    return resident, anonymous


# A client: called with a connection and a number, sends a request; returns what it counts as.
Client = Callable[[HTTPConnection, int], str]


@contextmanager
def _clients(address: str, clients: Sequence[Client], counts: dict[str, int]) -> Iterator[None]:
    """Let clients send requests one after the other, each by a connection of its own."""
    stop, lock = threading.Event(), threading.Lock()
    failures: list[BaseException] = []

    def run(client: Client) -> None:
        try:
            with closing(HTTPConnection(address.removeprefix("http://"), timeout=120)) as one:
                _wait(one)
                for number in itertools.count():
                    if stop.is_set():
                        return
                    kind = client(one, number)
                    with lock:
                        counts[kind] += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


def _wait(connection: HTTPConnection) -> None:
    """Wait until the workers answer."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            connection.request("GET", "/ready")
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                return
        except OSError:
            connection.close()
        time.sleep(0.2)
    raise SystemExit("the server does not get ready.")


def _searching(queries: Sequence[str], ids: Sequence[str], seed: int) -> Client:
    generator = random.Random(seed)

    def search(connection: HTTPConnection, number: int) -> str:
        q, id = generator.choice(queries), generator.choice(ids)
        route, body = (
            ("search", {"q": q}),
            ("search", {"q": q, "explain": True, "facets": ["category", "kind"]}),
            ("search", {"q": q, "k": 50, "offset": generator.randrange(100)}),
            ("search", {"q": q, "plain": True, "where": {"kind": "new"}}),
            ("similar", {"id": id}),
            ("expand", {"q": q, "to": "elasticsearch"}),
            ("suggest", {"prefix": q[:2]}),
        )[number % 7]
        send(connection, route, body)
        return "searches"

    return search


def _writing(connection: HTTPConnection, number: int) -> str:
    time.sleep(0.1)
    if number % 5 == 4:
        change = {"op": "delete", "where": {"n": number - IDS // 20}}
        lines = {"Content-Type": "application/x-ndjson"}
        send(connection, "changes", change, **lines)
    else:
        documents = [
            {
                "id": f"new {(10 * number + i) % IDS}",
                "text": f"a new symbol {i} word{number % 50}",
                "metadata": {"kind": "new", "n": number},
            }
            for i in range(10)
        ]
        send(connection, "documents", {"documents": documents})
    return "changes"


def _deciding(connection: HTTPConnection, number: int) -> str:
    time.sleep(1.0)
    if number % 20:
        path = f"/v1/indexes/symbols/terms/{quote('cat')}" if number % 2 else "/metrics"
        connection.request("GET", path)
        connection.getresponse().read()
        return "searches"
    pin = [{"word": "cat", "other": f"word{number % 50}", "similarity": 0.5}]
    task = json.loads(send(connection, "similarities", {"pin": pin}, "PATCH"))
    assert task["kind"] == "similarities"
    return "changes"


if __name__ == "__main__":
    main()
