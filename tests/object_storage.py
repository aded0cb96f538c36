"""moto's S3 server in a thread, behind a proxy that counts, delays, cuts and alters replies."""

from __future__ import annotations

import http.client
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

BUCKET = "bucket"


class Front(ThreadingHTTPServer):
    """An HTTP server before another one.

    Attributes
    ----------
    requests : list of (method, path, bytes of the reply)
    cut, n_cuts : int
        Bytes after which the connection of a reply ends, and how often. Manifests pass.
    delay : float
        Seconds before each reply.
    refused : bool
        Whether every request is answered by 403.
    """

    daemon_threads = True

    def __init__(self, target: int) -> None:
        super().__init__(("127.0.0.1", 0), _Forward)
        self.target = target
        self.port = self.server_address[1]
        self.reset()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def reset(self) -> None:
        self.requests: list[tuple[str, str, int]] = []
        self.cut = self.n_cuts = 0
        self.delay = 0.0
        self.refused = False

    @property
    def fetched(self) -> list[str]:
        """Paths below the bucket of all objects that were read, in order."""
        return [path.split("?")[0].partition(f"{BUCKET}/")[2] for _, path, _ in self.requests]

    def handle_error(self, *_: Any) -> None:
        """Say nothing of clients that have left."""


class _Forward(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Front

    def _forward(self) -> None:
        front = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if front.delay:
            time.sleep(front.delay)
        if front.refused:
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        there = http.client.HTTPConnection("127.0.0.1", front.target, timeout=60)
        there.request(self.command, self.path, body, dict(self.headers))
        reply = there.getresponse()
        content = reply.read()
        front.requests.append((self.command, self.path, len(content)))
        self.send_response(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in ("server", "date", "connection", "transfer-encoding"):
                self.send_header(name, value)
        if reply.getheader("Content-Length") is None:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        there.close()
        cut = self.command == "GET" and not self.path.endswith("manifest.json")
        if cut and front.n_cuts and len(content) > front.cut:
            front.n_cuts -= 1
            self.wfile.write(content[: front.cut])
            self.wfile.flush()
            self.close_connection = True
        elif self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _forward  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def s3_server(environ: pytest.MonkeyPatch) -> Iterator[Front]:
    """Start S3 with one bucket, and set the environment of its clients."""
    from moto.backends import get_backend
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    environ.setenv("AWS_ACCESS_KEY_ID", "key")
    environ.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    environ.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    front = Front(server.get_host_and_port()[1])
    environ.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{front.port}")
    try:
        from s3fs import S3FileSystem

        S3FileSystem.clear_instance_cache()
        S3FileSystem().mkdir(BUCKET)
        yield front
        S3FileSystem.clear_instance_cache()
    finally:
        front.shutdown()
        front.server_close()
        server.stop()
        get_backend("s3").reset()  # moto's buckets outlive its servers within a process
