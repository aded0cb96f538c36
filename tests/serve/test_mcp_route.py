"""`/mcp` of the server."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import softcosine as sc
from serve_answers import problem
from softcosine._deadline import seconds_left
from softcosine.serve.keys import KeyRing

pytest.importorskip("mcp")

HEADERS = {"Accept": "application/json, text/event-stream"}


def called(client, tool, *, headers=None, **arguments):
    """Answer of a tool."""
    request = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }  # fmt: skip
    return client.post("/mcp", json=request, headers={**HEADERS, **(headers or {})})


def result(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]["structuredContent"]


def test_tools_search_the_indexes_of_the_server(serving):
    client = serving()
    assert result(called(client, "search", query="bicycle"))["hits"][0]["id"] == "bike"
    document = {"text": "a bicycle bell"}
    assert client.put("/v1/indexes/faq/documents/bell", json=document).status_code < 300
    found = result(called(client, "search", query="bicycle bell", index="faq"))
    assert found["hits"][0]["id"] == "bell"
    unknown = called(client, "search", query="x", index="none").json()["result"]
    assert unknown["isError"]
    assert "faq" in unknown["content"][0]["text"]


def test_the_tools_read_only(serving):
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    listed = serving().post("/mcp", json=request, headers=HEADERS).json()["result"]["tools"]
    assert {tool["name"] for tool in listed} >= {"search", "explain"}
    assert all(tool["annotations"]["readOnlyHint"] for tool in listed)


def test_a_key_is_needed_where_keys_are(serving, tmp_path):
    path = tmp_path / "keys.json"
    secret = KeyRing(path).add("reader", ["search"])
    client = serving(keys=path)
    assert called(client, "search", query="tea").status_code == 401
    given = {"Authorization": f"Bearer {secret}"}
    assert result(called(client, "search", query="tea", headers=given))["hits"]


def test_a_tool_has_the_deadline_of_a_search(serving, monkeypatch):
    seen, search = [], sc.SoftIndex.search

    def seeing(index, *arguments, **options):
        seen.append(seconds_left())
        return search(index, *arguments, **options)

    monkeypatch.setattr(sc.SoftIndex, "search", seeing)
    assert result(called(serving(limits={"timeout_ms": 20_000}), "search", query="tea"))["hits"]
    assert 0 < seen[-1] <= 20  # the first is a search at the start


def test_calls_pass_the_gate_of_the_searches(serving, monkeypatch):
    client, release, search = serving(limits={"threads": 1, "waiting": 1}), threading.Event(), None

    def slow(index, *arguments, **options):
        release.wait(30)
        return search(index, *arguments, **options)

    search = sc.SoftIndex.search
    monkeypatch.setattr(sc.SoftIndex, "search", slow)
    gate = client.app.state.server.gate
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(called, client, "search", query="tea") for _ in range(2)]
        while gate.n_running < 2:
            time.sleep(0.01)
        refused = called(client, "search", query="tea")
        assert problem(refused, 429) == "too-many-searches"
        assert refused.headers["retry-after"]
        assert client.get("/v1/indexes/faq").status_code == 200  # nothing else waits
        release.set()
        assert all(result(one.result())["hits"] for one in waiting)
    assert gate.n_running == 0


def test_a_call_ends_at_its_deadline_while_it_waits(serving, monkeypatch):
    client, release = serving(limits={"threads": 1, "timeout_ms": 200}), threading.Event()
    gate = client.app.state.server.gate
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(lambda: client.portal.call(gate.run, lambda: release.wait(30), 100_000))
        while not gate.n_running:
            time.sleep(0.01)
        answer = called(client, "search", query="tea").json()["result"]
        release.set()
        assert answer["isError"]
        assert "deadline" in answer["content"][0]["text"]
        held.exception()


def test_errors_of_tools_name_no_files(serving, root):
    client = serving()
    broken = root / "broken"
    broken.mkdir()
    (broken / "manifest.json").write_text("{}")
    answer = called(client, "search", query="tea", index="broken")
    assert answer.json()["result"]["isError"]
    assert str(root) not in answer.text
