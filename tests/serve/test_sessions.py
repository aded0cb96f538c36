"""Sessions of the page: a cookie in place of a key."""

from __future__ import annotations

import json
import sqlite3
import time
from http.cookies import SimpleCookie

import pytest

from serve_answers import FAQ, problem
from softcosine.serve import sessions
from softcosine.serve.keys import KeyRing


@pytest.fixture
def ring(tmp_path):
    return KeyRing(tmp_path / "keys.json")


@pytest.fixture
def secret(ring):
    return ring.add("editor", ["search", "write"])


def signed_in(client, secret):
    """Sign in, and return the headers that a page sends beside its cookie."""
    answer = client.post("/session", json={"key": secret})
    assert answer.status_code == 200, answer.text
    return {"X-CSRF-Token": answer.json()["token"]}


def test_a_cookie_stands_for_the_key(serving, ring, secret):
    client = serving(keys=ring.path)
    assert client.get("/session").json() == {
        "keys": True, "key": None, "scopes": [], "token": None,
    }  # fmt: skip
    assert problem(client.get(FAQ), 401) == "missing-key"
    token = signed_in(client, secret)
    assert client.get("/session").json() == {
        "keys": True, "key": "editor", "scopes": ["search", "write"],
        "token": token["X-CSRF-Token"],
    }  # fmt: skip
    assert client.get(FAQ).status_code == 200
    assert client.post(f"{FAQ}/search", json={"q": "tea"}, headers=token).status_code == 200
    assert client.put(f"{FAQ}/documents/x", json={"text": "x"}, headers=token).status_code == 201
    assert problem(client.post(f"{FAQ}/merge", headers=token), 403) == "wrong-scope"


def test_signing_in_again_ends_the_session_before(serving, ring, secret):
    client = serving(keys=ring.path)
    signed_in(client, secret)
    before = dict(client.cookies)
    signed_in(client, secret)
    assert client.get(FAQ).status_code == 200
    assert dict(client.cookies) != before
    client.cookies.clear()
    client.cookies.update(before)
    assert problem(client.get(FAQ), 401) == "wrong-key"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_cookie_is_kept_from_scripts_and_other_sites(serving, ring, secret, scheme):
    client = serving(keys=ring.path)
    client.base_url = f"{scheme}://testserver"
    answer = client.post("/session", json={"key": secret})
    ((name, cookie),) = SimpleCookie(answer.headers["set-cookie"]).items()
    assert cookie["httponly"]
    assert cookie["samesite"] == "strict"
    assert cookie["path"] == "/"
    assert not cookie["max-age"]
    assert not cookie["expires"]
    assert not cookie["domain"]
    assert bool(cookie["secure"]) == (scheme == "https") == name.startswith("__Host-")
    # Neither the cookie nor the disk has the key, and the disk has no cookie.
    token = answer.json()["token"]
    assert len({cookie.value, token, secret}) == 3
    stored = (client.app.state.server.catalog.state / "state.sqlite3").read_bytes()
    for value in (secret, secret.removeprefix("sc_"), cookie.value, token):
        assert value.encode() not in stored
    assert answer.headers["cache-control"] == "private, no-cache"


def test_changes_by_cookie_need_the_token_of_the_page(serving, ring, secret):
    client = serving(keys=ring.path)
    token = signed_in(client, secret)["X-CSRF-Token"]
    other = serving(keys=ring.path)
    foreign = signed_in(other, secret)["X-CSRF-Token"]
    before = client.get(FAQ).json()["commit"]
    for headers in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": foreign}, {"X-CSRF-Token": "ü"}):
        headers = {name: value.encode() for name, value in headers.items()}
        for method, path, body in (
            ("PUT", f"{FAQ}/documents/a", {"text": "x"}),
            ("DELETE", f"{FAQ}/documents/tea", None),
            ("PATCH", f"{FAQ}/similarities", {}),
            ("POST", f"{FAQ}/documents", {"documents": []}),
            ("POST", "/mcp", {}),
            ("DELETE", "/session", None),
        ):
            answer = client.request(method, path, json=body, headers=headers)
            assert problem(answer, 403) == "missing-token", (method, path)
    assert client.get(FAQ).json()["commit"] == before
    # A bearer key is not sent by a browser of its own accord, and needs no token.
    bearer = {"Authorization": f"Bearer {secret}"}
    assert client.delete(f"{FAQ}/documents/tea", headers=bearer).status_code == 200
    assert client.delete("/session", headers={"X-CSRF-Token": token}).status_code == 204


def test_a_form_of_another_site_cannot_sign_in(serving, ring, secret):
    client = serving(keys=ring.path)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        body = f'{{"key": "{secret}"}}'
        answer = client.post("/session", content=body, headers={"Content-Type": kind})
        assert problem(answer, 415) == "unsupported-type"
        assert "set-cookie" not in answer.headers


def test_wrong_keys_do_not_sign_in(serving, ring, secret):
    client = serving(keys=ring.path)
    for body, status in (
        ({"key": "sc_wrong"}, 401), ({"key": secret + "x"}, 401), ({"key": ""}, 401),
        ({"key": "\ud800"}, 400), ({"key": 1}, 422), ({"key": "x" * 201}, 422), ({}, 422),
    ):  # fmt: skip
        answer = client.post(
            "/session", content=json.dumps(body), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == status, body
        assert "set-cookie" not in answer.headers


def test_signing_out_ends_the_session_and_not_only_its_cookie(serving, ring, secret):
    client = serving(keys=ring.path)
    token = signed_in(client, secret)
    copied = dict(client.cookies)
    other = serving(keys=ring.path)
    own = signed_in(other, secret)
    assert client.delete("/session", headers=token).status_code == 204
    assert not client.cookies
    client.cookies.update(copied)
    assert problem(client.get(FAQ), 401) == "wrong-key"
    assert client.get("/session").json()["key"] is None
    assert other.post(f"{FAQ}/search", json={"q": "tea"}, headers=own).status_code == 200


def test_a_session_ends_with_its_key(serving, ring, secret):
    client = serving(keys=ring.path)
    signed_in(client, secret)
    ring.add("other", ["search"])
    assert client.get(FAQ).status_code == 200
    ring.remove("editor")
    assert problem(client.get(FAQ), 401) == "wrong-key"
    ring.add("editor", ["search", "write"])  # the name is not the key
    assert problem(client.get(FAQ), 401) == "wrong-key"


def test_a_session_ends_after_hours(serving, ring, secret, monkeypatch):
    client = serving(keys=ring.path)
    monkeypatch.setattr(sessions, "_LIFETIME", -1.0)
    signed_in(client, secret)
    assert problem(client.get(FAQ), 401) == "wrong-key"
    monkeypatch.undo()
    signed_in(client, secret)
    with sqlite3.connect(client.app.state.server.catalog.state / "state.sqlite3") as connection:
        ((until,),) = connection.execute("select until from sessions")
    connection.close()
    assert 0 < until - time.time() <= 12 * 3600


def test_sessions_are_of_all_processes_of_a_server(serving, ring, secret):
    client, other = serving(keys=ring.path), serving(keys=ring.path)
    token = signed_in(client, secret)
    other.cookies.update(client.cookies)
    assert other.put(f"{FAQ}/documents/x", json={"text": "x"}, headers=token).status_code == 201
    assert other.delete("/session", headers=token).status_code == 204
    assert problem(client.get(FAQ), 401) == "wrong-key"


def test_a_read_only_server_offers_no_changes(serving, ring, secret):
    client = serving(keys=ring.path, read_only=True)
    token = signed_in(client, secret)
    assert client.get("/session").json()["scopes"] == ["search"]
    answer = client.put(f"{FAQ}/documents/x", json={"text": "x"}, headers=token)
    assert problem(answer, 403) == "read-only"


def test_a_server_without_keys_needs_no_session(serving):
    client = serving()
    everything = {"keys": False, "key": None, "scopes": ["search", "write", "admin"], "token": None}
    assert client.get("/session").json() == everything
    answer = client.post("/session", json={"key": "x"})
    assert answer.json() == everything
    assert "set-cookie" not in answer.headers
    assert client.delete("/session").status_code == 204
