"""How long a search takes, in the middle and at worst, while others search and one writes.

Run ``python benchmarks/latency.py``. 20 Newsgroups with the S of that workload lies on disk; one or
two searchers, as threads of a process or as processes, ask one query after another, alone or while
another process adds documents and commits without a pause. Before each query a searcher looks for
a new commit (`SoftIndex.refresh`), which is part of the time.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np

from measure import parser_of, write_report
from newsgroups import CACHE, Workload, load_workload, newsgroups
from softcosine import SoftIndex

N_TERMS = 5  # of a query
BATCH = 100  # documents that the writer adds between commits
N_QUERIES = 256
WARMUP = 10  # queries of each searcher that are not counted
_PLAIN = re.compile("[a-z]+")
# Searchers: processes, and threads of each.
SEARCHERS = {"1 searcher": (1, 1), "2 threads": (1, 2), "2 processes": (2, 1)}


def searcher(path: Path, given: Path, threads: int) -> None:
    """Search until told to stop; what each query took is printed as JSON.

    Says "ready", and begins when a line comes in; another line ends it.
    """
    queries = json.loads(given.read_text(encoding="utf-8"))["queries"]
    index = SoftIndex.open(path)
    stop = threading.Event()
    found: list[list[float]] = [[] for _ in range(threads)]

    def work(number: int) -> None:
        for query in cycle(queries[number::threads]):
            if stop.is_set():
                return
            start = time.perf_counter()
            index.refresh()
            index.search(query)
            found[number].append(time.perf_counter() - start)

    for query in queries[:WARMUP]:
        index.search(query)
    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    converse(workers, stop)
    print(json.dumps({"seconds": [s for one in found for s in one[1:]]}))


def writer(path: Path, given: Path) -> None:
    """Add documents and commit until told to stop; the number of commits is printed as JSON."""
    texts = cycle(json.loads(given.read_text(encoding="utf-8"))["texts"])
    index = SoftIndex.open(path)
    stop = threading.Event()
    seconds: list[float] = []

    def work() -> None:
        n = 0
        with index.writer() as changes:
            while not stop.is_set():
                start = time.perf_counter()
                for _ in range(BATCH):
                    changes.add(id=f"new-{n}", text=next(texts))
                    n += 1
                changes.commit()
                seconds.append(time.perf_counter() - start)

    converse([threading.Thread(target=work)], stop)
    print(json.dumps({"seconds": seconds}))


def converse(workers: Sequence[threading.Thread], stop: threading.Event) -> None:
    """Run threads from one line of the standard input to the next."""
    print("ready", flush=True)
    sys.stdin.readline()
    for worker in workers:
        worker.start()
    sys.stdin.readline()
    stop.set()
    for worker in workers:
        worker.join()


def started(role: str, path: Path, given: Path, *more: str) -> subprocess.Popen[str]:
    """Start a process of this script, and wait until it is ready."""
    command = [sys.executable, str(Path(__file__).resolve()), role, str(path), str(given), *more]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        raise SystemExit(f"a {role} could not start.")
    return process


def told(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Send every process a line."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def together(
    path: Path, given: Path, *, processes: int, threads: int, writing: bool, seconds: float
) -> tuple[list[float], list[float]]:
    """Run searchers, and a writer if `writing`; seconds of the searches and of the commits."""
    searching = [started("searcher", path, given, str(threads)) for _ in range(processes)]
    writers = [started("writer", path, given)] if writing else []
    told(writers + searching)
    time.sleep(seconds)
    told(searching + writers)
    found: list[list[float]] = [[], []]
    for process in searching + writers:
        output, _ = process.communicate()
        if process.returncode:
            raise SystemExit("a searcher or the writer failed.")
        found[process in writers] += json.loads(output.splitlines()[-1])["seconds"]
    return found[0], found[1]


def prepared(workload: Workload, texts: Sequence[str], folder: Path) -> tuple[Path, Path]:
    """Save the index and what is asked of it and added to it; the paths of both."""
    path, given = folder / "index", folder / "given.json"
    SoftIndex.from_texts(texts, S=workload.S, ranking="soft_bm25").save(path)
    Q = workload.queries(4 * N_TERMS, N_QUERIES)  # of which the plain words are taken
    terms = workload.S.vocabulary.terms
    generator = np.random.default_rng(0)
    queries = []
    for i in range(N_QUERIES):
        row = generator.permutation(Q.indices[slice(*Q.indptr[i : i + 2])])
        words = [terms[j] for j in row if _PLAIN.fullmatch(terms[j])]
        queries.append(" ".join(words[:N_TERMS]))
    given.write_text(json.dumps({"queries": queries, "texts": list(texts[:2_000])}))
    return path, given


def measured(
    path: Path,
    given: Path,
    *,
    seconds: float,
    runs: int,
    searchers: Mapping[str, tuple[int, int]] = SEARCHERS,
) -> list[dict[str, object]]:
    """Run every company of searchers and writer in turn; a line of the table each."""
    searches: dict[tuple[str, bool], list[float]] = {}
    commits: dict[tuple[str, bool], list[float]] = {}
    for _ in range(runs):
        for name, (processes, threads) in searchers.items():
            for writing in (False, True):
                copy = path.with_name("copy")  # so that each begins with the same documents
                shutil.copytree(path, copy)
                found, written = together(
                    copy, given, processes=processes, threads=threads, writing=writing,
                    seconds=seconds,
                )  # fmt: skip
                shutil.rmtree(copy)
                searches.setdefault((name, writing), []).extend(found)
                commits.setdefault((name, writing), []).extend(written)
    rows: list[dict[str, object]] = []
    for (name, writing), found in searches.items():
        milliseconds = np.array(found) * 1e3
        p50, p95, p99 = np.percentile(milliseconds, (50, 95, 99)).tolist()
        row: dict[str, object] = {
            "searching": name,
            "a writer": "yes" if writing else "no",
            "searches": len(found),
            "searches a second": round(len(found) / seconds / runs),
            "p50 ms": round(p50, 3),
            "p95 ms": round(p95, 3),
            "p99 ms": round(p99, 3),
            "max ms": round(float(milliseconds.max()), 2),
        }
        if writing:
            made = commits[name, writing]
            row["commits"] = len(made)
            row["ms a commit, median"] = round(float(np.median(made)) * 1e3, 1) if made else None
        rows.append(row)
    return rows


NOTES = (
    "Milliseconds from asking to having the hits with their texts, the look for a new commit "
    "included, and where there is one, the opening of its files. Queries are words, parsed and "
    "analysed.",
    f"The writer adds {BATCH} documents and commits, again and again, in a process of its own; "
    "so with two searchers three processes or threads share the processors.",
    "Runs of all lines are interleaved; each begins with a fresh copy of the index.",
)


def main() -> None:
    parser = parser_of(__doc__, cache=CACHE, runs=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each run")
    options = parser.parse_args()
    texts = newsgroups()
    workload = load_workload(texts, cache=options.cache)
    with tempfile.TemporaryDirectory() as made:
        path, given = prepared(workload, texts, Path(made))
        rows = measured(path, given, seconds=options.seconds, runs=options.runs)
    parameters = {
        "documents": len(texts),
        "terms of a query": N_TERMS,
        "k": 10,
        "runs": options.runs,
        "seconds a run": options.seconds,
    }
    title = "Search among others: latency of 20 Newsgroups on disk"
    print(write_report("latency", title, rows, parameters, notes=NOTES))


if __name__ == "__main__":
    if sys.argv[1:2] == ["searcher"]:
        searcher(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1:2] == ["writer"]:
        writer(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
