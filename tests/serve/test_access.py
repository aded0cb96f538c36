"""Keys and scopes."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from serve_answers import FAQ, ended, problem
from softcosine.errors import AlreadyExistsError, InvalidInputError, MalformedFileError
from softcosine.serve.keys import KeyRing
from softcosine.serve.process import Bind, serve
from softcosine.serve.settings import ServeSettings


@pytest.fixture
def ring(tmp_path):
    return KeyRing(tmp_path / "keys.json")


@pytest.fixture
def secured(serving, ring):
    secrets = {name: ring.add(name, [name]) for name in ("search", "write", "admin")}
    return serving(keys=ring.path), secrets


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


# What needs which scope; the answer to the right key matters less than not being 401 or 403.
ROUTES = [
    ("GET", "/metrics", None, "search"),
    ("GET", "/v1/indexes", None, "search"),
    ("GET", FAQ, None, "search"),
    ("POST", f"{FAQ}/search", {"q": "tea"}, "search"),
    ("POST", "/v1/search", {"searches": []}, "search"),
    ("POST", f"{FAQ}/similar", {"id": "tea"}, "search"),
    ("POST", f"{FAQ}/explain", {"q": "tea", "id": "tea"}, "search"),
    ("POST", f"{FAQ}/scores", {"q": "tea", "ids": []}, "search"),
    ("POST", f"{FAQ}/explain-similar", {"id": "tea", "other": "tea"}, "search"),
    ("POST", f"{FAQ}/pairs", {"k": 1}, "search"),
    ("POST", f"{FAQ}/dedupe", {}, "search"),
    ("POST", f"{FAQ}/expand", {"q": "tea", "to": "lucene"}, "search"),
    ("POST", f"{FAQ}/filter", {}, "search"),
    ("POST", f"{FAQ}/suggest", {"prefix": "t"}, "search"),
    ("GET", f"{FAQ}/terms/tea", None, "search"),
    ("GET", f"{FAQ}/documents", None, "search"),
    ("GET", f"{FAQ}/documents/tea", None, "search"),
    ("GET", f"{FAQ}/similarities", None, "search"),
    ("GET", "/v1/aliases", None, "search"),
    ("GET", "/v1/tasks/p", None, "search"),
    ("PUT", f"{FAQ}/documents/a", {"text": "x"}, "write"),
    ("DELETE", f"{FAQ}/documents/a", None, "write"),
    ("POST", f"{FAQ}/documents", {"documents": []}, "write"),
    ("POST", f"{FAQ}/changes", {}, "write"),
    ("PATCH", f"{FAQ}/similarities", {}, "write"),
    ("PUT", "/v1/indexes/new", {"plain": True}, "admin"),
    ("PUT", "/v1/aliases/best", {"index": "faq"}, "admin"),
    ("DELETE", "/v1/aliases/best", None, "admin"),
    ("POST", f"{FAQ}/merge", None, "admin"),
    ("DELETE", "/v1/tasks/x", None, "admin"),
    ("DELETE", "/v1/indexes/new", None, "admin"),
]


def test_every_route_needs_its_scope(secured):
    client, secrets = secured
    for id, kind in (("x", "merge"), ("p", "pairs")):
        record = {"id": id, "kind": kind, "index": "faq", "state": "running"}
        client.app.state.server.store.put_task(id, record, ended=False)
    for method, url, body, scope in ROUTES:
        send = {} if body is None else {"json": body}
        assert problem(client.request(method, url, **send), 401) == "missing-key"
        answer = client.request(method, url, **send, headers=bearer("sc_wrong"))
        assert problem(answer, 401) == "wrong-key"
        assert answer.headers["www-authenticate"].startswith("Bearer")
        for other in set(secrets) - {scope}:
            answer = client.request(method, url, **send, headers=bearer(secrets[other]))
            assert problem(answer, 403) == "wrong-scope", (method, url, other)
        answer = client.request(method, url, **send, headers=bearer(secrets[scope]))
        assert answer.status_code not in (401, 403), (method, url, answer.text)


def test_a_key_that_starts_a_task_can_read_it(secured):
    client, secrets = secured
    client.headers.update(bearer(secrets["write"]))
    body = {"pin": [{"word": "kettle", "other": "pot", "similarity": 0.9}]}
    task = client.patch(f"{FAQ}/similarities", json=body).json()
    assert ended(client, task)["result"]["lines"] == ["kettle = pot 0.9"]
    url = f"/v1/tasks/{task['id']}"
    assert client.get(url, headers=bearer(secrets["search"])).status_code == 200
    refused = client.get(url, headers=bearer(secrets["admin"]))
    assert problem(refused, 403) == "wrong-scope"
    assert refused.json()["detail"].endswith("this request needs write or search.")


def test_the_list_above_is_complete(secured):
    client, _ = secured
    told = client.get("/openapi.json").json()["paths"]
    there = {
        (method.upper(), path)
        for path, one in told.items()
        if path.startswith("/v1")
        for method in one
    }
    import re

    def covered(method, path):
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))
        return any(method == m and re.fullmatch(pattern, url) for m, url, *_ in ROUTES)

    assert [one for one in sorted(there) if not covered(*one)] == []


def test_what_needs_no_key(secured):
    client, _ = secured
    for url in ("/health", "/ready", "/version", "/openapi.json"):
        assert client.get(url).status_code == 200


def test_a_key_that_is_removed_is_refused_at_once(secured, ring):
    client, secrets = secured
    assert client.get(FAQ, headers=bearer(secrets["search"])).status_code == 200
    ring.remove("search")
    assert problem(client.get(FAQ, headers=bearer(secrets["search"])), 401) == "wrong-key"
    new = ring.add("again", ["search", "write"])
    assert client.get(FAQ, headers=bearer(new)).status_code == 200


def test_the_file_has_no_secret_and_belongs_to_its_owner(ring):
    secret = ring.add("me", ["write", "search"])
    text = ring.path.read_text()
    assert secret not in text
    assert secret.removeprefix("sc_") not in text
    if os.name == "posix":
        assert stat.S_IMODE(ring.path.stat().st_mode) == 0o600
    (key,) = KeyRing(ring.path).current()
    assert (key.name, key.scopes) == ("me", ("search", "write"))
    assert ring.find(secret) == key
    assert ring.find(secret + "x") is None
    assert ring.find("\ud800") is None


def test_wrong_keys_and_files_are_errors(ring, tmp_path):
    ring.add("me", ["search"])
    with pytest.raises(AlreadyExistsError):
        ring.add("me", ["search"])
    for name, scopes in (("", ["search"]), ("a b", ["search"]), ("you", []), ("you", ["all"])):
        with pytest.raises(InvalidInputError):
            ring.add(name, scopes)
    with pytest.raises(InvalidInputError):
        ring.remove("you")
    for text in ("x", "[]", '{"keys": [{}]}', json.dumps({"keys": [{"name": 1}]})):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(MalformedFileError):
            KeyRing(tmp_path / "bad.json")
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist"):
        KeyRing(tmp_path / "nowhere" / "keys.json").add("me", ["search"])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_other_hosts_may_connect_with_a_key_only(root, ring, host):
    settings = ServeSettings(root)
    for keys in (None, ring.path):  # a file without keys does not count
        with pytest.raises(InvalidInputError, match="--insecure"):
            serve(ServeSettings(root, keys=keys), Bind(host), print)
    assert settings.keys is None


def test_which_addresses_are_of_this_host():
    assert Bind("127.0.0.1").loopback
    assert Bind("127.8.8.8").loopback
    assert Bind("::1").loopback
    assert Bind("localhost").loopback
    assert not Bind("0.0.0.0").loopback


def test_browsers_of_other_sites_are_let_in_by_name_only(serving):
    ask = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    assert "access-control-allow-origin" not in serving().get(FAQ, headers=ask).headers
    client = serving(origins=("https://a.example",))
    assert client.get(FAQ, headers=ask).headers["access-control-allow-origin"] == ask["Origin"]
    assert client.options(f"{FAQ}/search", headers=ask).status_code == 200
    change = {"Origin": ask["Origin"]}
    answer = client.patch(f"{FAQ}/similarities", json={"pin": []}, headers=change)
    shown = answer.headers["access-control-expose-headers"].lower().split(", ")
    assert {"etag", "location"} <= set(shown)
    ask["Origin"] = "https://b.example"
    assert "access-control-allow-origin" not in client.get(FAQ, headers=ask).headers


def test_a_server_without_keys_answers_to_its_own_names_only(serving):
    client = serving(hosts=("localhost", "::1", "Search.example"))
    for host in ("localhost", "localhost:8080", "[::1]:8080", "[::1]", "search.EXAMPLE"):
        assert client.get(FAQ, headers={"Host": host}).status_code == 200, host
    for host in ("evil.example", "localhost.evil.example", "", "[::2]:80", "localhost:80:80"):
        assert problem(client.get(FAQ, headers={"Host": host}), 421) == "wrong-host", host


def test_a_request_is_refused_before_its_body_is_read(secured):
    client, secrets = secured

    def status(method, url, *headers):
        sent = []

        async def receive():
            raise AssertionError("the body is read")

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": url,
            "raw_path": url.encode(), "query_string": b"", "root_path": "", "scheme": "http",
            "headers": [(b"content-type", b"application/json"), *headers],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        }  # fmt: skip
        asyncio.run(client.app(scope, receive, send))
        return sent[0]["status"]

    for method, url, _, scope in ROUTES:
        if not url.startswith("/v1/tasks/"):  # which look up the scope
            assert status(method, url) == 401, (method, url)
            other = next(secrets[one] for one in secrets if one != scope)
            wrong = (b"authorization", f"Bearer {other}".encode())
            assert status(method, url, wrong) == 403, (method, url)
    assert status("POST", "/mcp") in (401, 404)  # 404 without the package mcp


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),
        ({"Origin": "http://testserver"}, True),
        ({"Origin": "http://mine.example"}, True),
        ({"Origin": "http://other.example", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Origin": "http://other.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://testserver", "Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
    ],
)
def test_pages_of_other_sites_change_nothing_where_there_is_no_key(serving, headers, allowed):
    client = serving(origins=("http://mine.example",))
    answer = client.post(f"{FAQ}/merge", headers=headers)
    assert answer.status_code == 202 if allowed else problem(answer, 403) == "wrong-origin"
    assert client.get(FAQ, headers=headers).status_code == 200


def test_a_damaged_file_of_keys_is_not_named(secured, ring, caplog):
    client, secrets = secured
    ring.path.write_text("{")
    answer = client.get(FAQ, headers=bearer(secrets["search"]))
    assert problem(answer, 500) == "bug"
    assert "keys" in answer.json()["detail"]
    assert ring.path.name not in answer.text
    assert str(ring.path) in caplog.text


def test_no_key_is_lost_or_comes_back(tmp_path):
    path = tmp_path / "keys.json"
    KeyRing(path).add("leaked", ["admin"])

    def change(number):
        ring = KeyRing(path)  # as of another process
        return ring.remove("leaked") if number == 7 else ring.add(f"k{number}", ["search"])

    with ThreadPoolExecutor(8) as pool:
        secrets = [one for one in pool.map(change, range(24)) if one is not None]
    assert all(KeyRing(path).find(secret) for secret in secrets)
    assert {key.name for key in KeyRing(path).current()} == {f"k{n}" for n in range(24)} - {"k7"}


def test_listed_keys_are_escaped(run, tmp_path):
    key = {"name": "me", "scopes": ["search"], "made": "\x1b[2Jnow", "sha256": ""}
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [key]}))
    shown = run("keys", "list", tmp_path / "keys.json")
    assert "now" in shown
    assert "\x1b" not in shown
