"""Log lines as JSON: one per request, without the texts of queries unless asked for."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

from starlette.types import Scope

_requests = logging.getLogger("softcosine.serve.requests")


class JsonLines(logging.Formatter):
    """Formats a log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
        }
        facts = getattr(record, "facts", None)
        line |= facts if isinstance(facts, dict) else {"message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


def record_request(scope: Scope, status: int, seconds: float, *, queries: bool) -> None:
    """Log a request.

    Parameters
    ----------
    scope : Scope
    status : int
    seconds : float
    queries : bool
        Whether to log the text of a query.
    """
    state = scope.get("state", {})
    facts: dict[str, Any] = {
        "request": state.get("id"),
        "method": scope["method"],
        "route": getattr(scope.get("route"), "path", None),
        "index": scope.get("path_params", {}).get("i"),
        "status": status,
        "ms": round(1000 * seconds, 3),
    }
    for name in ("key", "problem", *(("query",) if queries else ())):
        if name in state:
            facts[name] = state[name]
    level = logging.ERROR if status >= 500 and status not in (503, 504) else logging.INFO
    _requests.log(level, "request", extra={"facts": facts})
