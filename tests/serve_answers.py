"""What the tests of the server share."""

from __future__ import annotations

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
