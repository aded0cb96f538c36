"""What opening an index at a URL costs: requests, bytes and time, the first time and later.

Run ``python benchmarks/remote_index.py``. moto's S3 server and the reader share this machine; the
server is written in Python, so the seconds are of it as much as of the reader. With a delay before
every reply they show what a network adds.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest

from measure import write_report
from newsgroups import newsgroups
from softcosine import SoftIndex

DELAY = 0.03  # seconds
NEW = 200  # documents of a later commit
# What a process does that opens the index and asks one question.
READER = """
import json, sys, time

begin = time.perf_counter()
if "://" in sys.argv[1]:
    import s3fs
start = time.perf_counter()
from softcosine import SoftIndex

begun = time.perf_counter()
index = SoftIndex.open(sys.argv[1])
opened = time.perf_counter()
ids = index.search("space shuttle launch").ids
print(json.dumps([start - begin, opened - begun, time.perf_counter() - opened, ids]))
"""


class Read(NamedTuple):
    """Seconds of a process that opened an index, and the ids of its hits."""

    importing: float
    opening: float
    searching: float
    ids: list[str]


def read(place: str, cache: Path) -> Read:
    """Open an index in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", READER, place],
        env={**os.environ, "SOFTCOSINE_CACHE": str(cache)},
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return Read(*json.loads(done.stdout))


class Traffic:
    """What the replies of a server were, and the seconds that each way to open took."""

    def __init__(self, front: Any) -> None:
        self._front = front
        self._seconds: dict[str, list[Read]] = {}
        self._traffic: dict[str, tuple[int, float]] = {}

    def of(self, name: str, action: Callable[[], Read], *, delay: float = 0.0) -> None:
        """Run an action once, with a delay before every reply."""
        self._front.requests.clear()
        self._front.delay = delay
        self._seconds.setdefault(name, []).append(action())
        self._front.delay = 0.0
        fetched = sum(n for kind, _, n in self._front.requests if kind == "GET")
        self._traffic[name] = len(self._front.requests), round(fetched / 1e6, 3)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each name."""
        rows = []
        for name, runs in self._seconds.items():
            opening = sorted(one.opening for one in runs)
            requests, fetched = self._traffic[name]
            rows.append(
                {
                    "what": name,
                    "requests": requests,
                    "MB fetched": fetched,
                    "runs": len(runs),
                    "median s": round(median(opening), 3),
                    "min s": round(opening[0], 3),
                    "max s": round(opening[-1], 3),
                    "s to import s3fs": round(median(one.importing for one in runs), 3),
                    "s of the first search": round(median(one.searching for one in runs), 3),
                }
            )
        return rows


def measured(texts: Sequence[str], runs: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the rows of the report, and the parameters of the index."""
    sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
    storage = import_module("object_storage")
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        storage.s3_server(patch) as front,
    ):
        here, url = Path(folder), f"s3://{storage.BUCKET}/index"
        local, kept, traffic = str(here / "index"), here / "kept", Traffic(front)
        index = SoftIndex.create(local, encoder="static")
        with index.writer() as writer:
            writer.add_many([str(n) for n in range(len(texts))], texts)
        size = sum(one.stat().st_size for one in here.rglob("*") if one.is_file())
        n_bytes = len(pickle.dumps(index)), len(pickle.dumps(index.with_note("in memory")))

        def backed_up() -> Read:
            start = time.perf_counter()
            index.backup(url, overwrite=True)
            return Read(0.0, time.perf_counter() - start, 0.0, [])

        def first() -> Read:
            with tempfile.TemporaryDirectory(dir=here) as empty:
                return read(url, Path(empty))

        traffic.of("softcosine admin backup to the URL", backed_up)
        if read(local, here).ids != read(url, kept).ids:
            raise SystemExit("the copy answers differently; compare no times.")
        slow = f", {1000 * DELAY:g} ms before each reply"
        for _ in range(runs):
            traffic.of("folder of this disk", lambda: read(local, here))
            traffic.of("URL, the first time", first)
            traffic.of(f"URL, the first time{slow}", first, delay=DELAY)
            traffic.of("URL, later", lambda: read(url, kept))
            traffic.of(f"URL, later{slow}", lambda: read(url, kept), delay=DELAY)
        new = texts[:NEW]
        with index.writer() as writer:
            writer.add_many([f"new {n}" for n in range(len(new))], new)
        traffic.of(f"softcosine admin backup after {NEW} new documents", backed_up)
        traffic.of(f"URL, after {NEW} new documents", lambda: read(url, kept))
        return traffic.rows(), {
            "documents": len(texts),
            "MB of the index": round(size / 1e6, 1),
            "bytes of its pickle": n_bytes[0],
            "bytes of its pickle in memory": n_bytes[1],
        }


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args(arguments)
    rows, parameters = measured(newsgroups(), options.runs)
    notes = (
        "Seconds are those of SoftIndex.open, or of backup. Every opening is a new process, the "
        "kinds interleaved. Checked first: the copy at the URL gives the same hits.",
        "Bytes and requests are counted by a proxy before moto, an S3 server in Python on "
        "this machine: they depend on the index alone, the seconds also on the server.",
    )
    title = "Opening an index at a URL of object storage"
    print(write_report("remote_index", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main(sys.argv[1:])
