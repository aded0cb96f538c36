"""What the tests of the server share."""

from __future__ import annotations

import time
from typing import Any

FAQ = "/v1/indexes/faq"


def problem(answer: Any, status: int) -> str:
    """Check that an answer is a problem, and return its kind."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == status
    assert told["detail"]
    assert told["instance"] == answer.headers["x-request-id"]
    return str(told["type"]).removeprefix("urn:softcosine:")


def ended(client: Any, task: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a task after its end."""
    end = time.monotonic() + 30
    while True:
        record: dict[str, Any] = client.get(f"/v1/tasks/{task['id']}").json()
        if record["state"] not in ("waiting", "running"):
            return record
        assert time.monotonic() < end
        time.sleep(0.02)


def bridge(server: Any) -> Any:
    """Return the transport of a blocking client to a server in this process."""
    import httpx

    def handle(request: Any) -> Any:
        reply = server.request(
            request.method, str(request.url), headers=dict(request.headers), content=request.read()
        )
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    return httpx.MockTransport(handle)
