"""Requests to servers that are down, busy, closed to strangers, or end in the middle."""

from __future__ import annotations

import socket
from base64 import b64encode

import pytest

from scripted_server import serving
from softcosine import _retries
from softcosine.errors import InvalidInputError, ServerError
from softcosine.servers.http import Http


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch):
    monkeypatch.setattr(_retries, "_FIRST_WAIT", 0.0)
    for name in ("API_KEY", "USER", "PASSWORD"):
        for server in ("ELASTICSEARCH", "OPENSEARCH"):
            monkeypatch.delenv(f"{server}_{name}", raising=False)


def opened(port, *, user="", **settings):
    return Http(f"http://{user}127.0.0.1:{port}", **settings)


CUT = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":'


def test_a_busy_server_is_asked_again():
    busy = (429, {"error": {"reason": "too many"}})
    with serving(busy, (503, {}), (200, {"a": 1})) as (port, seen):
        assert opened(port).request("GET", "/x").json == {"a": 1}
        assert len(seen) == 3
    with serving(*[busy] * 5) as (port, seen), pytest.raises(ServerError, match="429: too many"):
        opened(port).request("GET", "/x")


def test_a_reply_cut_short_is_no_answer():
    with serving(CUT, (200, {"a": 1})) as (port, seen):
        assert opened(port).request("GET", "/x").json == {"a": 1}
        assert len(seen) == 2
    with serving(CUT) as (port, seen), pytest.raises(ServerError, match="IncompleteRead"):
        opened(port).request("POST", "/x", {}, retry=False)


def test_a_connection_that_was_closed_is_opened_again():
    with serving((200, 1), b"", (200, 2)) as (port, _):
        one = opened(port)
        assert [one.request("GET", "/x").json for _ in range(2)] == [1, 2]


def test_strangers_are_told_how_to_name_themselves(monkeypatch):
    refused = (401, {"error": {"root_cause": [{"reason": "missing token"}]}})
    with serving(refused) as (port, _):
        with pytest.raises(ServerError, match=r"missing token.*ELASTICSEARCH_API_KEY") as caught:
            opened(port, user="me:secret@").request("GET", "/x")
        assert "secret" not in str(caught.value)
    with serving(*[(200, 1)] * 4) as (port, seen):
        opened(port).request("GET", "/")
        monkeypatch.setenv("ELASTICSEARCH_USER", "me")
        monkeypatch.setenv("ELASTICSEARCH_PASSWORD", "pä:ss")
        opened(port).request("GET", "/")
        monkeypatch.setenv("ELASTICSEARCH_API_KEY", "key")
        opened(port).request("GET", "/")
        opened(port, user="a%40b:c@").request("GET", "/")
    basic = [b64encode(one.encode()).decode() for one in ("me:pä:ss", "a@b:c")]
    assert [one[2] for one in seen] == [
        None,
        f"Basic {basic[0]}",
        "ApiKey key",
        f"Basic {basic[1]}",
    ]


def test_an_address_of_http_is_of_the_server_that_answers(monkeypatch):
    def answer(status, headers=b""):
        return b"HTTP/1.1 %d X\r\n%sContent-Length: 2\r\n\r\n{}" % (status, headers)

    product = b"X-elastic-product: Elasticsearch\r\n"
    with serving(answer(401), answer(200), answer(200, product)) as (port, seen):
        monkeypatch.setenv("OPENSEARCH_USER", "me")
        server, other = opened(port), opened(port)
        advice = r"elasticsearch or opensearch.*set ELASTICSEARCH_USER .* \(or OPENSEARCH_\.\.\.\)"
        with pytest.raises(ServerError, match=advice):
            server.request("GET", "/x")
        server.request("GET", "/x")
        other.request("GET", "/x")
    assert (server.name, other.name) == ("opensearch", "elasticsearch")
    assert {one[2] for one in seen} == {f"Basic {b64encode(b'me:').decode()}"}


def test_what_is_no_server_of_json_is_named():
    with serving((200, b"<html>")) as (port, _), pytest.raises(ServerError, match="no JSON"):
        opened(port).request("GET", "/x")
    with serving() as (port, _):
        pass
    with pytest.raises(ServerError, match=f"127.0.0.1:{port}: nothing listens"):
        opened(port).request("GET", "/x")
    with pytest.raises(ServerError, match="no connection"):
        Http("http://nowhere.invalid:9200").request("GET", "/")


def test_a_silent_server_is_given_up():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(ServerError, match=r"no reply within 0\.1 seconds"):
            opened(silent.getsockname()[1], timeout=0.1).request("GET", "/x")


def test_bodies_are_ascii_and_some_statuses_are_accepted():
    with serving((200, 1), (404, {"error": "none"})) as (port, seen):
        one = opened(port)
        one.request("POST", "/x", {"a": "ü"})
        assert seen[0][3] == '{"a":"\\u00fc"}'
        assert one.request("DELETE", "/x", accept=(404,)).status == 404


def test_the_scheme_of_the_address_decides_about_tls():
    for url, tls in (("https://localhost:9200", True), ("http://example.org:9200", False)):
        assert (Http(url)._tls is not None) == tls
    assert Http("http://a:secret@[::1]:9200/x?y=1").address == "http://[::1]:9200/x"


@pytest.mark.parametrize(
    "url",
    ["elasticsearch://localhost", "localhost:9200", "http://a:secret@h:x", "http://", None, ""],
)
def test_an_address_that_is_no_url_of_http_is_refused(url):
    with pytest.raises(InvalidInputError, match="write it as http://host:9200/index") as caught:
        Http(url)
    assert "secret" not in str(caught.value)
