"""Problems of a server (RFC 9457) as the exceptions that the library raises in process."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

from softcosine.errors import (
    AlreadyExistsError,
    CorruptIndexError,
    DeadlineExceededError,
    IndefiniteMatrixError,
    IndexLockedError,
    InvalidInputError,
    MissingDependencyError,
    ProblemError,
    UnknownDocumentError,
    UnknownTermError,
)

PREFIX = "urn:softcosine:"
# The kinds of `softcosine.serve.problems` that are exceptions of the library; it makes them by this
# table, too. The others become a ProblemError.
ERRORS: dict[str, type[Exception]] = {
    "deadline": DeadlineExceededError,
    "unknown-document": UnknownDocumentError,
    "unknown-term": UnknownTermError,
    "indefinite-matrix": IndefiniteMatrixError,
    "invalid-input": InvalidInputError,
    "busy": IndexLockedError,
    "missing-dependency": MissingDependencyError,
    "already-exists": AlreadyExistsError,
    "corrupt-index": CorruptIndexError,
    "read-only": PermissionError,
}
_OF_REQUESTS = ("invalid-request", "malformed-request", "over-limit")
_KEYS = {
    "missing-key": "the server needs a key; pass key=, or set SOFTCOSINE_KEY.",
    "wrong-key": "the server does not know the key of key= or SOFTCOSINE_KEY; it may be removed.",
}


def error_of(problem: Mapping[str, Any], address: str) -> Exception:
    """Return the exception of a problem, with the message of the library.

    Parameters
    ----------
    problem : mapping
        The JSON of the server.
    address : str
        Of the server; in a note, as is the id of the request, which the log of the server has.
    """
    kind = str(problem.get("type", "")).removeprefix(PREFIX)
    detail = _KEYS.get(kind) or str(problem.get("detail", "the server gives no reason."))
    error: Exception
    if kind == "disk-full":
        error = OSError(errno.ENOSPC, detail)
    elif kind == "unknown-index":
        error = FileNotFoundError(detail)
    elif kind == "missing-dependency":
        error = MissingDependencyError.__new__(MissingDependencyError)
        ImportError.__init__(error, detail)  # the message has the package and the extra already
    elif kind in ERRORS or kind in _OF_REQUESTS:
        error = ERRORS.get(kind, InvalidInputError)(detail)
    else:
        error = ProblemError(address, detail, kind=kind)
    error.add_note(f"softcosine at {address}, request {problem.get('instance', 'of several')}")
    return error
