"""The log and the figures of a server."""

from __future__ import annotations

import json
import logging
import os
import re

import pytest

import softcosine as sc
from serve_answers import FAQ, problem
from softcosine.serve.app import JsonLines
from softcosine.serve.process import _Once


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, "softcosine.serve")
    return lambda: [
        json.loads(JsonLines().format(record))
        for record in caplog.records
        if record.name == "softcosine.serve.requests"
    ]


def test_a_request_is_one_line_without_its_query(serving, lines):
    answer = serving().post(f"{FAQ}/search", json={"q": "my secret tea"})
    (line,) = lines()
    assert line["request"] == answer.headers["x-request-id"]
    assert line["route"] == "/v1/indexes/{i}/search"
    assert line["index"] == "faq"
    assert line["status"] == 200
    assert line["ms"] > 0
    assert "secret" not in json.dumps(line)


def test_queries_are_logged_if_asked_for(serving, lines):
    serving(log_queries=True).post(f"{FAQ}/search", json={"q": "my\nsecret tea"})
    (line,) = lines()
    assert line["query"] == "my\nsecret tea"


def test_a_problem_is_named(serving, lines):
    client = serving()
    client.get("/v1/indexes/gone")
    client.get("/v1/indexes/%FF")
    assert [line["problem"] for line in lines()] == ["unknown-index", "malformed-request"]


def test_a_bug_is_logged_and_tells_nothing(serving, lines, monkeypatch, caplog):
    import softcosine as sc

    def broken(*_, **__):
        raise RuntimeError("inner secret")

    client = serving()
    monkeypatch.setattr(sc.SoftIndex, "search", broken)
    answer = client.post(f"{FAQ}/search", json={"q": "tea"})
    assert answer.status_code == 500
    assert answer.json()["type"] == "urn:softcosine:bug"
    assert "inner" not in answer.text
    assert lines()[-1]["level"] == "error"
    assert "inner secret" in caplog.text
    monkeypatch.undo()
    assert client.post(f"{FAQ}/search", json={"q": "tea"}).status_code == 200


def test_the_figures_count_requests_documents_and_segments(serving):
    client = serving()
    for _ in range(3):
        client.post(f"{FAQ}/search", json={"q": "tea"})
    client.get("/v1/indexes/invented")
    client.get("/invented")
    client.put(f"{FAQ}/documents/x", json={"text": "x"})
    text = client.get("/metrics").text
    search = 'route="/v1/indexes/{i}/search",status="200"'
    assert re.search(
        r'request_seconds_count\{index="faq",method="POST",' + re.escape(search) + r"\} 3\.0", text
    )
    assert 'softcosine_documents{index="faq"} 5.0' in text
    assert 'softcosine_segments{index="faq"}' in text
    assert "softcosine_searches_running 0.0" in text
    assert "invented" not in text


def test_a_client_that_leaves_within_the_body_is_no_bug(serving, lines, caplog):
    client, messages = serving(), [{"type": "http.request", "body": b"{", "more_body": True}]

    async def receive():
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message):
        pass

    for path, kind in (("/search", "json"), ("/documents", "x-ndjson")):
        headers = [(b"content-type", f"application/{kind}".encode()), (b"content-length", b"99")]
        scope = {
            "type": "http", "method": "POST", "path": FAQ + path, "headers": headers,
            "raw_path": f"{FAQ}{path}".encode(), "query_string": b"", "client": ("a", 1),
        }  # fmt: skip
        client.portal.call(client.app, scope, receive, send)
    assert [(line["status"], line["problem"]) for line in lines()] == [(499, "disconnected")] * 2
    assert "Traceback" not in caplog.text
    assert 'status="499"' in client.get("/metrics").text


def test_answers_name_no_files_but_the_log_does(serving, root, caplog):
    client = serving(limits={"writer_seconds": 0.0})
    (root / "broken").mkdir()
    (root / "broken" / "manifest.json").write_text("{}")
    damaged = client.post("/v1/indexes/broken/search", json={"q": "tea"})
    assert problem(damaged, 500) == "corrupt-index"
    with sc.SoftIndex.open(root / "faq").writer():
        busy = client.put(f"{FAQ}/documents/x", json={"text": "x"})
    assert problem(busy, 503) == "busy"
    several = client.post("/v1/search", json={"searches": [{"index": "broken", "q": "tea"}]})
    for answer in (damaged, busy, several):
        assert str(root) not in answer.text
        assert str(os.getpid()) not in answer.text
    assert caplog.text.count(str(root / "broken")) == 2
    assert str(root / "faq") in caplog.text


def test_a_damaged_index_is_logged_once(serving, root, caplog):
    client = serving()
    catalog = client.app.state.server.catalog
    catalog.get("faq")
    manifest = root / "faq" / "manifest.json"
    whole = manifest.read_bytes()
    for content in (whole[:50], whole, whole[:50]):
        manifest.write_bytes(content)
        for _ in range(3):
            catalog.refresh()
    assert caplog.text.count("the index faq cannot be refreshed") == 2


def test_equal_lines_are_logged_once_a_second():
    once, passed = _Once(), []
    for seconds in (0.0, 0.1, 0.9, 1.1, 1.2):
        for message in ("Invalid HTTP request received.", "other"):
            record = logging.makeLogRecord({"name": "uvicorn.error", "msg": message})
            record.created = 1000 + seconds
            passed.append((seconds, message) if once.filter(record) else None)
    assert [one and one[0] for one in passed if one] == [0.0, 0.0, 1.1, 1.1]
    request = {"name": "softcosine.serve.requests", "msg": "request", "facts": {}}
    assert all(once.filter(logging.makeLogRecord(request)) for _ in range(3))
