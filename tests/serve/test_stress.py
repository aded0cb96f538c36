"""Bodies that are made to stall a server: it answers others within a second, in bounded memory."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

import softcosine as sc
from softcosine.serve.keys import SCOPES, KeyRing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

SECONDS, MEGABYTES = 1.0, 500
FAQ = "/v1/indexes/faq"
QUERY, CHANGE, DOCUMENTS = 120_000, 1_000_000, 8_000_000  # bytes, just below the limits
ROUTES = [
    ("POST", "/session", 4000),
    *(
        ("POST", f"{FAQ}/{name}", QUERY)
        for name in (
            "search", "similar", "explain", "scores", "explain-similar", "pairs", "dedupe",
            "expand", "suggest", "merge",
        )
    ),
    ("POST", "/v1/search", QUERY),
    ("POST", "/mcp", 30_000),
    ("PUT", "/v1/indexes/new", QUERY),
    ("PUT", "/v1/aliases/best", QUERY),
    ("PATCH", f"{FAQ}/similarities", CHANGE),
    ("PUT", f"{FAQ}/documents/a", DOCUMENTS),
    ("POST", f"{FAQ}/documents", DOCUMENTS),
]  # fmt: skip
# What comes before, again and again, and after; a number is put in at {}.
SHAPES = {
    "unknown fields": ('{"q": "tea"', ', "f{}": 1', "}"),
    "numbers as ids": ('{"q": "tea", "ids": [1', ", 1", "]}"),
    "ids": ('{"q": "tea", "ids": ["tea"', ', "d{}"', "]}"),
    "numbers as words": ('{"q": [1', ", 1", "]}"),
    "numbers as fields": ('{"q": {"f": 1', ', "f{}": 1', "}}"),
    "misspelled words": ('{"q": "tea', " q{}q", '"}'),
    "facets": ('{"q": "tea", "facets": ["n"', ', "n{}"', "]}"),
    "facets of one key": ('{"q": "tea", "facets": ["n"', ', "n"', "]}"),
    "sort keys": ('{"q": "tea", "sort": ["n"', ', "n{}"', "]}"),
    "conditions": ('{"q": "tea", "where": {"any": [{"n": 1}', ', {"n{}": 1}', "]}}"),
    "lists as conditions": ('{"q": "tea", "where": {"any": [[]', ", []", "]}}"),
    "values": ('{"q": "tea", "where": {"n": {"in": [1', ", {}", "]}}}"),
    "searches": ('{"searches": [1', ", 1", "]}"),
    "documents": ('{"documents": [1', ", 1", "]}"),
    "lists as documents": ('{"documents": [[]', ",[]", "]}"),
    "small documents": ('{"documents": [{"id": "a", "text": 1}', ', {"id": "{}", "text": 1}', "]}"),
    "lists in metadata": (
        '{"id": "a", "op": "add", "text": "x", "metadata": {"n": [[]',
        ",[]",
        "]}}",
    ),
    "numbers as decisions": ('{"pin": [1', ", 1", "]}"),
    "deep": ('{"where": ', "[", ""),
    "a tool": (
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", '
        '"arguments": {"query": "tea',
        " q{}q",
        '"}}}',
    ),
    "lines": ('{"id": "a", "text": "x"}', "\n1", ""),
}


def body_of(shape, size):
    """Return a body of at most a size."""
    start, again, end = SHAPES[shape]
    first = again.replace("{}", "1000000")
    n = (size - len(start) - len(end)) // len(first)
    if first == again:
        return (start + n * again + end).encode()
    middle = "".join([again.replace("{}", str(1_000_000 + i)) for i in range(n)])
    return (start + middle + end).encode()


class Watched:
    """A server whose health is looked at all the time."""

    def __init__(self, process, address, key):
        self.process, self.address, self.key = process, address, key
        self._longest, self._asked, self._end = 0.0, time.perf_counter(), threading.Event()
        self.begun = self.megabytes
        self._watch = threading.Thread(target=self._look)
        self._watch.start()

    def _look(self):
        while not self._end.wait(0.02):
            self._asked = time.perf_counter()
            healthy = self.send("GET", "/health") == 200
            self._longest = max(self._longest, self._waited if healthy else math.inf)

    @property
    def _waited(self):
        return time.perf_counter() - self._asked

    def worst(self):
        """Return the longest time of an answer since the last call; the next one may be late."""
        longest, self._longest = max(self._longest, self._waited), 0.0
        return longest

    def send(self, method, path, body=None, kind="application/json", key=None):
        """Return the status of an answer; None if the server closed the connection."""
        headers = {"Content-Type": kind, "Accept": "application/json, text/event-stream"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        connection = HTTPConnection(self.address, timeout=60)
        try:
            connection.request(method, path, body, headers)
            return connection.getresponse().status
        except (BrokenPipeError, ConnectionResetError, HTTPException):
            return None
        finally:
            connection.close()

    @property
    def megabytes(self):
        """The most memory that the process has had."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1024

    def end(self):
        self._end.set()
        self._watch.join()
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("stressed") / "indexes"
    root.mkdir()
    n = 20_000
    texts = [f"tea pot w{i % 977} v{i % 3571}" for i in range(n)]
    metadata = [{"n": i, "kind": i % 7} for i in range(n)]
    sc.SoftIndex.from_texts(
        texts, ids=[f"d{i}" for i in range(n)], metadata=metadata, plain=True
    ).save(root / "faq")
    ring = KeyRing(root.parent / "keys.json")
    key = ring.add("all", SCOPES)
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "softcosine", "serve", str(root), "--port", "0"),
            *("--keys", str(ring.path), "--timeout", "2"),
        ],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    address = re.search(r"http://(\S+)", process.stdout.readline())[1]
    watched = Watched(process, address, key)
    yield watched
    watched.end()


def stressed(server, requests, allowed):
    """Send requests, four at a time; a stall by another program does not happen twice."""
    for _ in range(2):
        server.worst()
        with ThreadPoolExecutor(4) as pool:
            statuses = list(pool.map(lambda one: server.send(*one), requests))
        assert set(statuses) <= allowed, dict(zip(SHAPES, statuses, strict=False))
        if (worst := server.worst()) < SECONDS:
            break
    assert worst < SECONDS
    assert server.megabytes - server.begun < MEGABYTES


@pytest.mark.parametrize(("method", "path", "size"), ROUTES)
def test_no_body_stalls_the_server(server, method, path, size):
    requests = [(method, path, body_of(shape, size)) for shape in SHAPES]
    requests = [(*one, "application/json", server.key) for one in requests]
    stressed(server, requests, {200, 201, 202, 400, 401, 404, 406, 409, 413, 415, 422, 504, None})


@pytest.mark.parametrize("path", [f"{FAQ}/documents", f"{FAQ}/changes"])
def test_no_json_lines_stall_the_server(server, path):
    requests = [
        ("POST", path, body_of(shape, DOCUMENTS), "application/x-ndjson", server.key)
        for shape in SHAPES
    ]
    stressed(server, requests, {400, 413, 422, None})


def test_nobody_stalls_the_server_without_a_key(server):
    body = body_of("unknown fields", 16 << 20)
    requests = [(method, path, body) for method, path, _ in ROUTES for _ in range(4)]
    stressed(server, requests, {401, 413, 404, None})
