"""A server of HTTP that gives prepared replies, for faults that real ones seldom have."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serving(*replies):
    """A server that gives one reply after the other: (status, body), or bytes as they are.

    Yields its port and the requests that came: (method, path, authorization, body).
    """
    left, seen = list(replies), []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            size = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(size).decode()
            seen.append((self.command, self.path, self.headers.get("Authorization"), body))
            reply = left.pop(0)
            if isinstance(reply, bytes):
                self.wfile.write(reply)
                self.close_connection = True
                return
            status, value = reply
            content = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815  # names of the base class

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port, seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
