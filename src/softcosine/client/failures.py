"""Problems of a server (RFC 9457) as the exceptions that the library raises in process."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
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

_PREFIX = "urn:softcosine:"


def _missing_dependency(detail: str) -> Exception:
    error = MissingDependencyError.__new__(MissingDependencyError)
    ImportError.__init__(error, detail)  # the package and the extra are in the message already
    return error


# By the kinds of `softcosine.serve.problems`; the others become a ProblemError.
_ERRORS: dict[str, Callable[[str], Exception]] = {
    "already-exists": AlreadyExistsError,
    "busy": IndexLockedError,
    "corrupt-index": CorruptIndexError,
    "deadline": DeadlineExceededError,
    "disk-full": lambda detail: OSError(errno.ENOSPC, detail),
    "indefinite-matrix": IndefiniteMatrixError,
    "invalid-input": InvalidInputError,
    "invalid-request": InvalidInputError,
    "malformed-request": InvalidInputError,
    "missing-dependency": _missing_dependency,
    "over-limit": InvalidInputError,
    "read-only": PermissionError,
    "unknown-document": UnknownDocumentError,
    "unknown-index": FileNotFoundError,
    "unknown-term": UnknownTermError,
}
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
    kind = str(problem.get("type", "")).removeprefix(_PREFIX)
    detail = _KEYS.get(kind) or str(problem.get("detail", "the server gives no reason."))
    make = _ERRORS.get(kind)
    if make is None:
        error: Exception = ProblemError(address, detail, kind=kind)
    else:
        error = make(detail)
    error.add_note(f"softcosine at {address}, request {problem.get('instance', 'of several')}")
    return error
