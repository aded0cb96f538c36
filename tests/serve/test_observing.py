"""The log and the figures of a server."""

from __future__ import annotations

import json
import logging
import re

import pytest

from serve_answers import FAQ
from softcosine.serve.app import JsonLines


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
