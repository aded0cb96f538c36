"""Qdrant: filters by tokens, and replies of a busy or strict server."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given, settings

import softcosine as sc
from softcosine.errors import InvalidInputError, ServerError
from softcosine.index.query.filters import Where
from softcosine.servers import retries
from softcosine.servers.filter_tokens import numbers_of, tokens_of
from softcosine.servers.server_index import ServerIndex
from test_filters import filters, metadata
from toy_encoder import ToyEncoder, toy_space

pytest.importorskip("qdrant_client")
pytest.importorskip("qdrant_edge")

from qdrant_stand_in import running


@settings(max_examples=300)
@given(facts=metadata, condition=filters)
def test_filters_by_tokens_hold_for_the_same_metadata(facts, condition):
    from qdrant_client.local.payload_filters import check_filter

    from softcosine.servers.qdrant_filters import filter_of

    where, _ = condition
    parsed = Where.parse(where)
    translated = filter_of(parsed)
    if translated is None:
        return
    payload = {"tokens": tokens_of(facts), "numbers": numbers_of(facts)}
    assert check_filter(translated, payload, 1, {}) == parsed.matches(facts)


@pytest.fixture
def replies():
    """The replies of a server, one after the other, as status and JSON; the last one repeats."""
    given = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = given.pop(0) if len(given) > 1 else given[0]
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield given, f"qdrant://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def index():
    return sc.SoftIndex.from_texts(["w1"], plain=True, language="none")


EXISTS = (200, {"result": {"exists": False}, "status": "ok", "time": 0.0})


def test_a_busy_server_is_asked_again(replies, index, monkeypatch):
    monkeypatch.setattr(retries, "_FIRST_WAIT", 0.001)
    given, url = replies
    given += [(429, {}), (503, {}), EXISTS]
    ServerIndex.connect(index, url).close()
    assert given == [EXISTS]
    given[:] = [(429, {"status": {"error": "too many"}})]
    with pytest.raises(ServerError, match="429"):
        ServerIndex.connect(index, url)


def test_a_refused_key_is_said(replies, index):
    given, url = replies
    given += [(401, {})]
    with pytest.raises(ServerError, match="QDRANT_API_KEY"):
        ServerIndex.connect(index, url)


def test_a_collection_of_somebody_else_is_refused(qdrant, index):
    from softcosine.servers.qdrant_in_process import InProcessClient

    client = InProcessClient(qdrant.removeprefix("qdrant://"))
    client.create_collection("theirs", vectors_config={}, sparse_vectors_config={"words": None})
    client.close()
    with ServerIndex.connect(index, qdrant, collection="theirs") as served:
        for call in (served.export, served.sync, lambda: served.export(overwrite=True)):
            with pytest.raises(ServerError, match="has no marker"):
                call()


def test_an_unknown_transport_is_refused(index):
    with pytest.raises(InvalidInputError, match=r"qdrant\+https"):
        ServerIndex.connect(index, "qdrant+grpc://127.0.0.1")


def test_requests_over_http_are_those_of_the_engine(tmp_path):
    words = [f"w{i}" for i in range(12)]
    texts = [f"w{i % 5} w{i % 7} w{i % 11}" for i in range(40)]
    index = sc.SoftIndex.from_texts(
        texts, metadata=[{"year": i} for i in range(40)], plain=True, language="none",
        encoder=ToyEncoder(), meaning_space=toy_space(words),
    )  # fmt: skip
    with (
        running(tmp_path / "qdrant") as server,
        ServerIndex.connect(index, f"qdrant://127.0.0.1:{server.port}") as served,
    ):
        assert served.export().n_sent == 40
        with index.writer() as writer:
            writer.delete("7")
            writer.add("new", "w1 w2")
        synced = served.sync()
        assert (synced.n_sent, synced.n_deleted) == (1, 1)
        for options in (
            {"ask": "words", "exact": True},
            {"ask": "words", "where": {"year": {">": 20}}, "exact": True},
            {"ask": "encoder", "where": {"not": {"year": 3}}},
        ):
            own = {name: value for name, value in options.items() if name != "exact"}
            hits, exact = served.search("w1 w3", **options), index.search("w1 w3", **own)
            assert [(hit.id, hit.score) for hit in hits] == [(h.id, h.score) for h in exact]
        assert served.export(overwrite=True).n_sent == 40
        assert not served.sync()


def test_a_server_that_goes_down_during_a_sync_is_completed_later(tmp_path, index, monkeypatch):
    monkeypatch.setattr("softcosine.servers.sync._MOST_DOCUMENTS", 10)
    index = sc.SoftIndex.from_texts(["w1 w2"] * 50, plain=True, language="none")
    with (
        running(tmp_path / "qdrant") as server,
        ServerIndex.connect(index, f"qdrant://127.0.0.1:{server.port}") as served,
    ):

        def go_down(what, done, total):
            server.down = done >= 30

        with pytest.raises(ServerError, match="no answer"):
            served.export(progress=go_down)
        with pytest.raises(ServerError, match="no answer"):
            served.search("w1")
        server.down = False
        with pytest.raises(ServerError, match="broke off"):
            served.search("w1")
        assert 0 < served.sync().n_sent < 50
        assert served.search("w1").ids == index.search("w1").ids
