"""A stand-in for a server of Qdrant: requests of its client over HTTP, answered by its engine."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from qdrant_client import models

from softcosine.servers.qdrant_in_process import InProcessClient


def answer(client: InProcessClient, method: str, path: str, body: dict) -> object:
    """Return the result of a request."""
    _, name, *rest = path.strip("/").split("/")
    match method, rest:
        case "GET", ["exists"]:
            return {"exists": client.collection_exists(name)}
        case "PUT", []:
            request = models.CreateCollection.model_validate(body)
            client.create_collection(
                name,
                vectors_config=dict(request.vectors or {}),
                sparse_vectors_config=dict(request.sparse_vectors or {}),
            )
        case "DELETE", []:
            client.delete_collection(name)
        case "POST", ["points"]:
            ids = models.PointRequest.model_validate(body).ids
            return [shown(point) for point in client.retrieve(name, ids)]
        case "PUT", ["points"]:
            client.upsert(name, models.PointsList.model_validate(body).points, wait=True)
            return {"operation_id": 1, "status": "completed"}
        case "POST", ["points", "delete"]:
            ids = models.PointIdsList.model_validate(body).points
            client.delete(name, ids, wait=True)
            return {"operation_id": 1, "status": "completed"}
        case "POST", ["points", "scroll"]:
            request = models.ScrollRequest.model_validate(body)
            points, after = client.scroll(
                name, limit=request.limit, offset=request.offset, with_payload=request.with_payload
            )
            after = None if after is None else str(after)
            return {"points": list(map(shown, points)), "next_page_offset": after}
        case "POST", ["points", "query"]:
            request = models.QueryRequest.model_validate(body)
            found = client.query_points(
                name, query=request.query.nearest, using=request.using, limit=request.limit,
                query_filter=request.filter, search_params=request.params,
                with_payload=request.with_payload, timeout=None,
            )  # fmt: skip
            return {"points": [shown(point) for point in found.points]}
        case _:
            raise ValueError(f"{method} {path} is not known")
    return True


def shown(point: object) -> dict:
    """Return a point as JSON."""
    scores = {"score": point.score, "version": 0} if hasattr(point, "score") else {}
    return {"id": str(point.id), "payload": point.payload, **scores}


@dataclass
class StandIn:
    """A running stand-in; it closes connections without a reply while it is `down`."""

    port: int = 0
    down: bool = False


@contextmanager
def running(folder: Path):
    """Yield a running stand-in."""
    state = StandIn()
    client, lock = InProcessClient(folder), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_request(self):
            if state.down:
                self.close_connection = True
                return
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size) or b"{}")
            try:
                with lock:
                    result = answer(client, self.command, self.path.partition("?")[0], body)
                status, reply = 200, {"result": result, "status": "ok", "time": 0.0}
            except Exception as error:
                status, reply = 400, {"status": {"error": repr(error)}, "time": 0.0}
            text = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = do_POST = do_DELETE = handle_request  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.port = server.server_port
    yield state
    server.shutdown()
    server.server_close()
    client.close()
