"""Limits: bodies, pages, queries, searches at the same time, deadlines, waiting changes."""

from __future__ import annotations

import asyncio
import errno
import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

import softcosine as sc
from serve_answers import FAQ, ended, problem
from softcosine.serve.state_store import StateStore

JSON = {"Content-Type": "application/json"}


def test_a_body_over_the_limit_is_refused(serving):
    client = serving(limits={"query_bytes": 1000, "bulk_bytes": 5000})
    large = json.dumps({"q": "x" * 2000})
    assert problem(client.post(f"{FAQ}/search", content=large, headers=JSON), 413) == "too-large"
    pieces = (large[i : i + 100].encode() for i in range(0, len(large), 100))
    answer = client.post(f"{FAQ}/search", content=pieces, headers=JSON)  # without Content-Length
    assert problem(answer, 413) == "too-large"
    lines = "\n".join(json.dumps({"id": str(i), "text": "x" * 50}) for i in range(40))
    headers = {"Content-Type": "application/x-ndjson"}
    assert client.post(f"{FAQ}/documents", content=lines, headers=headers).status_code == 200
    answer = client.post(f"{FAQ}/documents", content=lines * 3, headers=headers)
    assert problem(answer, 413) == "too-large"


def test_pages_and_queries_over_the_limits_are_refused(serving):
    client = serving(limits={"k": 5, "offset": 7, "query_words": 3, "query_characters": 20})
    for asked in (
        {"q": "tea", "k": 6},
        {"q": "tea", "offset": 8},
        {"q": "a b c d"},
        {"q": ["a", "b", "c", "d"]},
        {"q": "x" * 21},
        {"q": {"text": "a b c d"}},
    ):
        assert problem(client.post(f"{FAQ}/search", json=asked), 422) == "over-limit"
    assert problem(client.get(f"{FAQ}/documents?k=6"), 422) == "over-limit"
    assert problem(client.get(f"{FAQ}/terms/tea?k=6"), 422) == "over-limit"
    assert problem(client.post(f"{FAQ}/similar", json={"id": "tea", "k": 6}), 422) == "over-limit"
    searches = [{"index": "faq", "q": "tea"}] * 33
    assert problem(client.post("/v1/search", json={"searches": searches}), 422) == "over-limit"
    assert client.post(f"{FAQ}/search", json={"q": "tea", "k": 5}).status_code == 200


class Slow:
    """Searches that last until they are released."""

    def __init__(self, monkeypatch):
        self.release, self.started = threading.Event(), threading.Semaphore(0)
        search = sc.SoftIndex.search

        def slow(index, *arguments, **options):
            self.started.release()
            self.release.wait(30)
            return search(index, *arguments, **options)

        monkeypatch.setattr(sc.SoftIndex, "search", slow)


def test_more_searches_than_may_wait_are_refused(serving, monkeypatch):
    client = serving(limits={"threads": 1, "waiting": 1})
    slow = Slow(monkeypatch)
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(client.post, f"{FAQ}/search", json={"q": "tea"}) for _ in range(2)]
        slow.started.acquire(timeout=20)
        gate = client.app.state.server.gate
        while gate.n_running < 2:
            time.sleep(0.01)
        refused = client.post(f"{FAQ}/search", json={"q": "tea"})
        slow.release.set()
        assert problem(refused, 429) == "too-many-searches"
        assert refused.json()["detail"].startswith("2 searches run or wait")
        assert refused.headers["retry-after"] == "1"
        assert [one.result().status_code for one in running] == [200, 200]
    assert client.post(f"{FAQ}/search", json={"q": "tea"}).status_code == 200
    assert gate.n_running == 0


def test_a_search_ends_at_its_deadline(serving, monkeypatch):
    client = serving(limits={"timeout_ms": 300})
    search = sc.SoftIndex.search

    def slow(index, *arguments, **options):
        time.sleep(0.4)
        return search(index, *arguments, **options)

    monkeypatch.setattr(sc.SoftIndex, "search", slow)
    for asked in ({"q": "tea"}, {"q": "tea", "timeout_ms": 1}, {"q": "tea", "timeout_ms": 10**6}):
        answer = client.post(f"{FAQ}/search", json=asked)
        assert problem(answer, 504) == "deadline"
        seconds = min(0.3, asked.get("timeout_ms", 300) / 1000)
        assert f"after its deadline of {seconds:g} seconds" in answer.json()["detail"]
    monkeypatch.undo()
    assert client.post(f"{FAQ}/search", json={"q": "tea"}).status_code == 200


def test_a_search_that_waits_is_answered_at_its_deadline(serving, monkeypatch):
    client = serving(limits={"threads": 1})
    slow = Slow(monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(client.post, f"{FAQ}/search", json={"q": "tea"})
        slow.started.acquire(timeout=20)
        try:
            waiting = client.post(f"{FAQ}/search", json={"q": "tea", "timeout_ms": 50})
            assert not slow.release.is_set()
            assert problem(waiting, 504) == "deadline"
            assert client.app.state.server.gate.n_running == 1
        finally:
            slow.release.set()
        assert running.result().status_code == 200


def test_a_search_that_outlives_its_deadline_is_answered_and_counted(serving, monkeypatch):
    client = serving(limits={"threads": 1, "waiting": 0})
    slow = Slow(monkeypatch)
    assert problem(client.post(f"{FAQ}/search", json={"q": "tea", "timeout_ms": 50}), 504)
    assert problem(client.post(f"{FAQ}/search", json={"q": "tea"}), 429)
    slow.release.set()


@pytest.mark.parametrize(
    ("method", "url", "kind", "limit"),
    [
        ("POST", "/session", "application/json", 4 << 10),
        ("POST", "/mcp", "application/json", 32 << 10),
        ("POST", f"{FAQ}/search", "application/json", 128 << 10),
        ("POST", "/v1/indexes/documents/search", "application/json", 128 << 10),
        ("PUT", "/v1/indexes/changes", "application/json", 128 << 10),
        ("PATCH", f"{FAQ}/similarities", "application/json", 1 << 20),
        ("PUT", f"{FAQ}/documents/a", "application/json", 8 << 20),
        ("POST", f"{FAQ}/documents", "application/json", 8 << 20),
        ("POST", f"{FAQ}/documents", "Application/JSON; charset=utf-8", 8 << 20),
        ("POST", f"{FAQ}/documents", "text/plain", 8 << 20),
        ("POST", f"{FAQ}/documents", "Application/X-NDJSON", 1 << 30),
        ("POST", f"{FAQ}/changes", "application/x-ndjson", 1 << 30),
    ],
)
def test_each_kind_of_route_has_its_limit(client, method, url, kind, limit):
    headers = {"Content-Type": kind, "Content-Length": str(limit + 1)}
    answer = client.request(method, url, headers=headers)
    assert problem(answer, 413) == "too-large"
    assert f"{limit:,} bytes" in answer.json()["detail"]


def test_a_json_line_over_the_limit_is_refused(serving):
    client = serving(limits={"body_bytes": 1000})
    line = json.dumps({"id": "a", "text": "x" * 1000})
    headers = {"Content-Type": "application/x-ndjson"}
    answer = client.post(f"{FAQ}/documents", content="\n" + line, headers=headers)
    assert problem(answer, 413) == "too-large"
    assert answer.json()["detail"].startswith("line 2 is larger than 1,000 bytes")


def test_more_changes_than_may_wait_are_refused(serving, root):
    client = serving(limits={"writes": 2, "writer_seconds": 20.0})
    other = sc.SoftIndex.open(root / "faq").writer()
    with ThreadPoolExecutor(2) as pool:
        waiting = [
            pool.submit(client.put, f"{FAQ}/documents/{id}", json={"text": id}) for id in "ab"
        ]
        served = client.app.state.server.catalog.get("faq")
        while served.n_writes < 2:
            time.sleep(0.01)
        refused = client.put(f"{FAQ}/documents/c", json={"text": "c"})
        other.close()
        assert problem(refused, 503) == "busy"
        assert refused.headers["retry-after"]
        assert [one.result().status_code for one in waiting] == [201, 201]
    assert client.get(FAQ).json()["documents"] == 6


def test_a_writer_of_another_process_is_waited_for_and_named(serving, root):
    client = serving(limits={"writer_seconds": 0.1})
    with sc.SoftIndex.open(root / "faq").writer():
        answer = client.put(f"{FAQ}/documents/a", json={"text": "x"})
        assert problem(answer, 503) == "busy"
        assert "writer" in answer.json()["detail"]
    assert client.put(f"{FAQ}/documents/a", json={"text": "x"}).status_code == 201


def test_a_full_disk_changes_nothing(client, monkeypatch):
    before = client.get(FAQ).json()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    from softcosine.index.directory.store_writer import StoreWriter

    monkeypatch.setattr(StoreWriter, "commit", full)
    body = "\n".join(json.dumps({"id": str(i), "text": "kettle"}) for i in range(20))
    headers = {"Content-Type": "application/x-ndjson"}
    assert problem(client.post(f"{FAQ}/documents", content=body, headers=headers), 507)
    assert client.get(FAQ).json() == before
    monkeypatch.undo()
    assert client.post(f"{FAQ}/documents", content=body, headers=headers).json()["added"] == 20


@pytest.mark.parametrize(
    "where", ["/v1/indexes/faq%FF/search", "/v1/indexes/faq/documents?where=%FF"]
)
def test_an_address_that_is_not_utf_8_is_refused(client, where):
    assert problem(client.request("GET", where), 400) == "malformed-request"


@pytest.fixture
def long_texts(root):
    """An index of 40 documents of 10,000 characters each."""
    with sc.SoftIndex.create(root / "long", plain=True, encoder=None).writer() as writer:
        for number in range(40):
            writer.add(f"d{number}", f"tea word{number} " + "filler " * 1428, {"n": number})
    return "/v1/indexes/long"


def test_an_answer_of_too_many_bytes_is_refused(serving, long_texts):
    client = serving(limits={"answer_bytes": 100_000})
    few = client.post(f"{long_texts}/search", json={"q": "tea", "k": 4})
    assert len(few.json()["hits"]) == 4
    for route, body in (
        ("search", {"q": "tea", "k": 40}),
        ("search", {"q": "tea", "k": 40, "fields": ["snippet"]}),
        ("similar", {"id": "d1", "k": 39}),
        ("filter", {"k": 40}),
    ):
        answer = client.post(f"{long_texts}/{route}", json=body)
        assert problem(answer, 422) == "large-answer", route
        assert "100,000" in answer.json()["detail"]
    assert problem(client.get(f"{long_texts}/documents?k=40"), 422) == "large-answer"
    body = {"q": "tea", "k": 40, "fields": ["metadata"]}  # no text is read
    hits = client.post(f"{long_texts}/search", json=body).json()["hits"]
    assert sorted(hit["metadata"]["n"] for hit in hits) == list(range(40))
    small = serving(limits={"answer_bytes": 1000})
    assert len(small.get(f"{long_texts}/documents/d7").json()["text"]) > 9000  # one is never more


def test_explanations_and_facets_count_too(serving, long_texts):
    client = serving(limits={"answer_bytes": 3000})
    body = {"q": "tea", "k": 20, "fields": [], "highlight": False}
    assert client.post(f"{long_texts}/search", json=body).status_code == 200
    for more in ({"explain": True}, {"facets": ["n"] * 3}):
        answer = client.post(f"{long_texts}/search", json=body | {"k": 40} | more)
        assert problem(answer, 422) == "large-answer", more


def test_the_searches_of_a_request_share_the_bytes(serving, long_texts):
    client = serving(limits={"answer_bytes": 100_000, "threads": 1})
    one = {"index": "long", "q": "tea", "k": 2}
    answer = client.post("/v1/search", json={"searches": [one] * 8})
    assert len(answer.content) < 100_000
    kinds = Counter(result.get("type", "hits") for result in answer.json()["results"])
    assert 1 <= kinds["hits"] <= 3
    assert kinds["urn:softcosine:large-answer"] == 8 - kinds["hits"]


def test_a_task_whose_end_cannot_be_stored_has_failed(serving, monkeypatch, root):
    client, release, pairs = serving(), threading.Event(), sc.SoftIndex.pairs

    def waiting(*arguments, **options):
        release.wait(30)
        return pairs(*arguments, **options)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "database or disk is full")

    monkeypatch.setattr(sc.SoftIndex, "pairs", waiting)
    task = client.post(f"{FAQ}/pairs", json={"min_similarity": 0.1}).json()
    while (record := client.get(f"/v1/tasks/{task['id']}").json())["state"] == "waiting":
        time.sleep(0.01)
    monkeypatch.setattr(StateStore, "put_task", full)
    assert problem(client.post(f"{FAQ}/merge"), 507) == "disk-full"
    release.set()
    record = ended(client, task)
    assert record["state"] == "failed"
    assert record["problem"]["type"] == "urn:softcosine:disk-full"
    assert "softcosine_tasks_running 0.0" in client.get("/metrics").text
    assert StateStore(root / ".serve").task(task["id"])["state"] == "running"
    monkeypatch.undo()  # space is free again
    assert client.get(f"/v1/tasks/{task['id']}").json() == record
    assert StateStore(root / ".serve").task(task["id"]) == record


def test_a_new_index_on_a_full_disk_is_no_deleted_one(client, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sc.SoftIndex, "create", full)
    assert problem(client.put("/v1/indexes/new", json={}), 507) == "disk-full"


def test_a_body_that_comes_too_slowly_is_refused(serving, monkeypatch):
    client, answers, paces = serving(limits={"receive_seconds": 0.4}), [], [0.1]

    async def receive():
        await asyncio.sleep(paces[0])
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def send(message):
        answers.append(message)

    path = f"{FAQ}/search"
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(),
        "query_string": b"", "headers": [(b"content-type", b"application/json")],
    }  # fmt: skip
    for pace in (0.1, 30.0):  # all pauses together, or one
        paces[0] = pace
        client.portal.call(client.app, scope, receive, send)
        assert [one["status"] for one in answers[::2]] == [408]
        answers.clear()
