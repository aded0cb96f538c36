"""A server as a process: start, stop, kill, workers, TLS."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from unittest.mock import Mock
from urllib.parse import quote, urlsplit

import pytest
import uvicorn

from softcosine.cluster.opening import ShardOptions, open_either
from softcosine.serve import process as processes
from softcosine.serve.keys import KeyRing
from softcosine.serve.process import Bind, _listening, serve
from softcosine.serve.settings import Limits, ServeSettings

FAQ = "/v1/indexes/faq"
LENGTH = [(b"content-length", b"2")]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")


class Running:
    """A server and a connection to it."""

    def __init__(self, process, address, errors):
        self.process, self.errors = process, errors
        self.address = urlsplit(address)
        self.headers = None  # of the last answer

    def ask(self, method, path, body=None, *, headers=None, timeout=60.0):
        if self.address.scheme == "https":
            context = ssl._create_unverified_context()
            connection = HTTPSConnection(self.address.netloc, timeout=timeout, context=context)
        else:
            connection = HTTPConnection(self.address.netloc, timeout=timeout)
        try:
            content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            given = {"Content-Type": "application/json", **(headers or {})}
            connection.request(method, path, content, given)
            answer = connection.getresponse()
            text, self.headers = answer.read(), answer.headers
            return answer.status, json.loads(text) if text else None
        finally:
            connection.close()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(60)


@pytest.fixture
def start(tmp_path):
    started = []

    def begin(*arguments):
        errors = (tmp_path / f"errors-{len(started)}").open("w+")
        process = subprocess.Popen(
            [sys.executable, "-m", "softcosine", "serve", *map(str, arguments), "--port", "0"],
            stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
        started.append((process, errors))
        line = process.stdout.readline()
        errors.seek(0)
        assert " at http" in line, errors.read()
        return Running(process, line.split(" at ")[1].split()[0], errors)

    yield begin
    for process, errors in started:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
        errors.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_starts_answers_and_ends(start, root, number):
    server = start(root)
    line = server.process.stdout.readline()
    assert line == "There is no key (--keys): anybody on this machine may write.\n"
    assert server.ask("GET", "/ready")[0] == 200
    assert server.ask("GET", "/ready", headers={"Host": "evil.example"})[0] == 421
    status, answer = server.ask("POST", f"{FAQ}/search", {"q": "bicycle"})
    assert (status, answer["hits"][0]["id"]) == (200, "bike")
    assert server.end(number) == 0
    server.errors.seek(0)
    lines = [json.loads(line) for line in server.errors]
    assert [line["status"] for line in lines] == [200, 421, 200]


def test_ids_are_decoded_once(start, root):
    server = start(root / "faq")
    for id in ("%2F", "a/b", "\r\nX: y", "..%2f", "ü"):
        path = f"{FAQ}/documents/{quote(id, safe='')}"
        assert server.ask("PUT", path, {"text": "x"})[0] == 201
        assert server.ask("GET", path)[1]["id"] == id
    assert set(open_either(root / "faq")) >= {"%2F", "a/b", "\r\nX: y", "..%2f", "ü"}


def test_the_last_requests_are_answered_before_the_end(start, root):
    server = start(root)
    body = "\n".join(json.dumps({"id": f"n{i}", "text": f"kettle {i}"}) for i in range(3000))
    headers = {"Content-Type": "application/x-ndjson"}
    found = []

    def add():
        found.append(server.ask("POST", f"{FAQ}/documents", body.encode(), headers=headers))

    thread = threading.Thread(target=add)
    thread.start()
    time.sleep(0.15)
    assert server.end() == 0
    thread.join()
    if found:  # it was accepted before the end
        assert found[0][0] == 200
        assert len(open_either(root / "faq")) == 3004


@pytest.mark.parametrize("variant", ["saved", "saved_shards"])
def test_a_killed_server_leaves_whole_commits(start, root):
    known = 4
    headers = {"Content-Type": "application/x-ndjson"}
    unanswered, whole = None, 0

    def send(server, bulk):
        body = "\n".join(json.dumps({"id": id, "text": "kettle"}) for id in bulk)
        return server.ask("POST", f"{FAQ}/documents", body.encode(), headers=headers)

    for round in range(int(os.environ.get("SOFTCOSINE_KILLS", "4"))):
        server = start(root)
        acknowledged = []
        if unanswered is not None:  # it was committed, or not
            status, answer = send(server, unanswered)
            assert (status, answer["added"] in (0, 20)) == (200, True)
            known = len(open_either(root / "faq"))
            assert known == whole + 20
        sent = []

        def add(server=server, round=round, acknowledged=acknowledged, sent=sent):
            for bulk in range(1000):
                names = [f"{round}-{bulk}-{i}" for i in range(20)]
                sent.append(names)
                try:
                    status, _ = send(server, sent[-1])
                except (OSError, HTTPException, ValueError):  # a broken answer
                    return
                assert status == 200
                acknowledged.extend(names)

        thread = threading.Thread(target=add)
        thread.start()
        time.sleep(0.3 + 0.17 * (round % 7))
        server.end(signal.SIGKILL)
        thread.join()
        ids = list(open_either(root / "faq"))
        assert len(ids) == len(set(ids))
        assert set(acknowledged) <= set(ids)
        # At most the bulk in flight beside the acknowledged ones, and that one whole.
        assert len(ids) - known - len(acknowledged) in (0, 20)
        unanswered = sent[-1]
        whole = known + len(set(acknowledged) - set(unanswered))


def test_workers_get_the_settings_of_their_server(root, tmp_path, monkeypatch):
    name = b"/\xff" if sys.platform == "linux" else b"/x"  # elsewhere names are UTF-8
    folder = root.rename(os.fsdecode(bytes(tmp_path) + name))
    KeyRing(tmp_path / "keys.json").add("me", ["search"])
    settings = ServeSettings(
        folder, Limits(k=7), keys=tmp_path / "keys.json", origins=("http://a",), hosts=("b",),
        shards=ShardOptions(timeout=2.0),
    )  # fmt: skip
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")  # set by the server
    monkeypatch.setattr("softcosine.serve.process.Multiprocess", started := Mock())
    serve(settings, Bind(port=0, workers=2), print)
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR")
    make_app = pickle.loads(pickle.dumps(started.call_args[0][0].app))
    assert make_app().state.server.settings == settings


def test_workers_share_an_index(start, root):
    server = start(root, "--workers", "2")
    assert server.ask("PUT", f"{FAQ}/documents/x", {"text": "kettle"})[0] == 201
    end = time.monotonic() + 10
    seen = 0
    while seen < 20:  # every worker sees the commit
        status, _ = server.ask("GET", f"{FAQ}/documents/x")
        seen = seen + 1 if status == 200 else 0
        assert time.monotonic() < end
    assert server.end() == 0


def test_workers_know_the_sessions_of_a_read_only_server(start, root, tmp_path):
    key = KeyRing(tmp_path / "keys.json").add("me", ["search", "write"])
    server = start(root, "--workers", "2", "--read-only", "--keys", tmp_path / "keys.json")
    assert server.ask("POST", "/session", {"key": key})[0] == 200
    cookie = {"Cookie": server.headers["set-cookie"].partition(";")[0]}
    for _ in range(20):  # on new connections, so that both workers are met
        assert server.ask("GET", FAQ, headers=cookie)[0] == 200
    token = {"X-CSRF-Token": server.ask("GET", "/session", headers=cookie)[1]["token"]}
    assert server.ask("DELETE", "/session", headers=cookie | token)[0] == 204
    for _ in range(20):
        assert server.ask("GET", FAQ, headers=cookie)[0] == 401
    assert server.end() == 0
    assert [path.name for path in root.iterdir()] == ["faq"]  # nothing was written there


def test_a_slow_client_does_not_hold_the_server(start, root):
    server = start(root)
    with socket.create_connection((server.address.hostname, server.address.port)) as slow:
        slow.sendall(
            f"POST {FAQ}/documents HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
            "Content-Length: 1000\r\n\r\n{".encode()
        )
        assert server.ask("PUT", f"{FAQ}/documents/x", {"text": "kettle"})[0] == 201


def test_answers_are_sent_at_once():
    """Asyncio sets TCP_NODELAY on connections of sockets of this protocol alone."""
    with _listening(Bind(port=0)) as listening:
        assert listening.proto == socket.IPPROTO_TCP


@contextmanager
def certificate(folder):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    yield folder / "cert.pem", folder / "key.pem"


def test_tls(start, root, tmp_path):
    with certificate(tmp_path) as (public, private):
        server = start(root, "--certificate", public, "--private-key", private)
        assert server.address.scheme == "https"
        assert server.ask("GET", "/health") == (200, {"status": "ok"})
        assert server.end() == 0


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "softcosine", *map(str, arguments)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_keys_by_the_command_line(start, root, tmp_path):
    file = tmp_path / "keys.json"
    made = run("keys", "add", file, "me", "--scope", "search", "--scope", "write")
    secret = made.stdout.strip()
    assert secret.startswith("sc_")
    listed = json.loads(run("keys", "list", file, "--json").stdout)
    assert (listed["name"], listed["scopes"]) == ("me", ["search", "write"])
    server = start(root, "--keys", file, "--host", "127.0.0.1")
    assert server.ask("GET", FAQ)[0] == 401
    assert server.ask("GET", FAQ, headers={"Authorization": f"Bearer {secret}"})[0] == 200
    assert run("keys", "remove", file, "me").returncode == 0
    assert server.ask("GET", FAQ, headers={"Authorization": f"Bearer {secret}"})[0] == 401
    assert run("keys", "remove", file, "me").returncode == 2


def test_what_cannot_start_says_why(root, tmp_path):
    for arguments, told in (
        ((tmp_path / "gone",), "no folder"),
        ((root, "--host", "0.0.0.0"), "--insecure"),
        ((root, "--private-key", "x"), "--certificate"),
        ((root, "--keys", tmp_path / "none.json"), "has no key"),
    ):
        done = run("serve", *arguments)
        assert done.returncode in (1, 2)
        assert told in done.stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("serve", root, "--port", taken.getsockname()[1])
        assert done.returncode == 1
        assert "--port" in done.stderr


@pytest.fixture
def connect(monkeypatch):
    """Addresses of a server that takes eight connections, and their headers in .5 seconds."""
    monkeypatch.setattr(processes, "_CONNECTIONS", 8)
    monkeypatch.setattr(processes, "_HEADERS", 0.5)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": LENGTH})
        await send({"type": "http.response.body", "body": b"ok"})

    config = uvicorn.Config(app, http=processes._Connection, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield lambda: socket.create_connection(listening.getsockname(), timeout=10)
        server.should_exit = True
        thread.join()


def closed(connection):
    """Whether the server ends a connection, without an answer."""
    try:
        return connection.recv(100) == b""
    except ConnectionError:
        return True


def answered(connection):
    """Whether the server answers."""
    content = b""
    while not content.endswith(b"ok") and (more := connection.recv(1000)):
        content += more
    return content.endswith(b"ok")


def test_headers_that_do_not_come_end_the_connection(connect):
    with connect() as silent, connect() as slow:
        began = time.monotonic()
        slow.sendall(b"GET / HTTP/1.1\r\n")
        time.sleep(0.3)
        slow.sendall(b"X: ")  # which gives it no more time
        assert closed(slow)
        assert closed(silent)
        assert time.monotonic() - began < 5
    with connect() as usual:
        for _ in range(2):  # the second request comes after more than the time for headers
            usual.sendall(b"GET / HTTP/1.1\r\n")
            time.sleep(0.3)
            usual.sendall(b"Host: a\r\n\r\n")
            assert answered(usual)
            time.sleep(0.6)


def test_the_longest_waiting_connection_makes_room(connect, monkeypatch):
    monkeypatch.setattr(processes, "_HEADERS", 60.0)
    with ExitStack() as opened:
        waiting = [opened.enter_context(connect()) for _ in range(12)]
        for one in waiting:
            one.sendall(b"GET / HTTP/1.1\r\nX: ")
        with connect() as other:
            other.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert answered(other)
        assert all(closed(one) for one in waiting[:8])
        waiting[-1].sendall(b"y\r\nHost: a\r\n\r\n")
        assert answered(waiting[-1])


def test_a_body_that_is_answered_already_does_not_hold_the_connection(connect):
    def dribble(connection):
        for _ in range(100):
            time.sleep(0.05)
            connection.sendall(b"x")

    with connect() as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
        assert answered(slow)
        with pytest.raises(ConnectionError):
            dribble(slow)
