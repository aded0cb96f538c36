"""All errors and warnings of softcosine.

::

    SoftCosineError
     ├─ InvalidInputError (ValueError)          an argument cannot be used
     │   ├─ VocabularyMismatchError             X, S or an index have different terms
     │   ├─ DuplicateIdError                    two documents have the same id
     │   └─ MalformedFileError                  a file breaks its format; names path and line
     ├─ UnknownTermError (KeyError)             a term is not in the vocabulary
     ├─ UnknownDocumentError (KeyError)         an id is not in the index
     ├─ NotFittedError (ValueError, AttributeError)
     ├─ IndefiniteMatrixError (ArithmeticError) x'Sx < 0 where a norm is needed
     ├─ MissingDependencyError (ImportError)    an extra is not installed; gives the pip command
     ├─ IndexFormatError (OSError)              a folder is not an index this version can read
     │   └─ CorruptIndexError                   a file is missing, truncated or altered
     ├─ CommitNotFoundError (FileNotFoundError) a folder has another commit by now
     ├─ IndexLockedError (TimeoutError)         another writer has the index open
     ├─ DeadlineExceededError (TimeoutError)    a search took longer than `using_deadline` allows
     ├─ ServerError (ConnectionError)           a server is down, refuses or holds another index
     │   └─ ProblemError                        a softcosine server refuses; `kind` says why
     └─ AlreadyExistsError (FileExistsError)    the target exists and overwriting is off

    SoftCosineWarning (UserWarning)             the answer is right, but slow or worth a check
     └─ IndefiniteMatrixWarning                 S is not positive semidefinite

A message gives what was seen, what was needed and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = [
    "AlreadyExistsError",
    "CommitNotFoundError",
    "CorruptIndexError",
    "DeadlineExceededError",
    "DuplicateIdError",
    "IndefiniteMatrixError",
    "IndefiniteMatrixWarning",
    "IndexFormatError",
    "IndexLockedError",
    "InvalidInputError",
    "MalformedFileError",
    "MissingDependencyError",
    "NotFittedError",
    "ProblemError",
    "ServerError",
    "SoftCosineError",
    "SoftCosineWarning",
    "UnknownDocumentError",
    "UnknownTermError",
    "VocabularyMismatchError",
]


class SoftCosineError(Exception):
    """Base of all errors that softcosine raises itself; they can be pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, constructors would get the message as their only argument.
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(
    kind: type[SoftCosineError], args: tuple[Any, ...], state: dict[str, Any]
) -> SoftCosineError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class InvalidInputError(SoftCosineError, ValueError):
    """An argument cannot be used; the message says what is needed."""


class VocabularyMismatchError(InvalidInputError):
    """Two objects that must share a vocabulary have different ones."""


class DuplicateIdError(InvalidInputError):
    """Two documents have the same id."""


class MalformedFileError(InvalidInputError):
    """A file breaks its format.

    Attributes
    ----------
    path : Path
        The file.
    line : int or None
        The faulty line, counted from 1, if the format has lines.
    """

    def __init__(self, path: str | Path, problem: str, *, line: int | None = None) -> None:
        self.path = Path(path)
        self.line = line
        place = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {problem}")


class _KeyedError(SoftCosineError, KeyError):
    """A KeyError that shows its message as it is, not as its repr."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownTermError(_KeyedError):
    """A term is not in the vocabulary."""


class UnknownDocumentError(_KeyedError):
    """A document id is not in the index."""


class NotFittedError(SoftCosineError, ValueError, AttributeError):
    """An estimator was used before ``fit``."""


class IndefiniteMatrixError(SoftCosineError, ArithmeticError):
    """A soft norm is needed, but x'Sx is negative: S is not positive semidefinite."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra; packages of encoders are not published yet."""
    if package := {"encoder": "minilm", "multilingual": "multilingual"}.get(extra):
        return f"pip install ./packages/softcosine-{package} '.[{extra}]' in a clone of softcosine"
    return f"pip install 'softcosine[{extra}]'"


class MissingDependencyError(SoftCosineError, ImportError):
    """An optional package is needed but not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package}, which is not installed; "
            f"run: {install_command(extra)}"
        )


@contextmanager
def needing(package: str, extra: str, purpose: str) -> Iterator[None]:
    """Raise MissingDependencyError if an import inside the block fails."""
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(package, extra, purpose) from error


class IndexFormatError(SoftCosineError, OSError):
    """A folder is not an index that this version can read."""


class CorruptIndexError(IndexFormatError):
    """A file of a saved index or matrix is missing, truncated or altered."""


class CommitNotFoundError(SoftCosineError, FileNotFoundError):
    """A folder no longer has the commit that a pickled index or a manifest of shards names."""


class IndexLockedError(SoftCosineError, TimeoutError):
    """Another writer has the index open; wait with ``timeout=``, or try again later."""


class DeadlineExceededError(SoftCosineError, TimeoutError):
    """A search took longer than its deadline; see `softcosine.using_deadline`."""


class ServerError(SoftCosineError, ConnectionError):
    """A server cannot be reached, refuses a request, or holds something else than the index.

    Attributes
    ----------
    server : str
        Such as ``opensearch``.
    address : str
        Without a password.
    """

    def __init__(self, server: str, address: str, problem: str) -> None:
        self.server = server
        self.address = address
        super().__init__(f"{server} at {address}: {problem}")


class ProblemError(ServerError):
    """A softcosine server refuses a request, for a reason that has no class of its own.

    Attributes
    ----------
    kind : str
        Such as ``changed-meanwhile``; see `softcosine.serve.problems`.
    """

    def __init__(self, address: str, problem: str, *, kind: str) -> None:
        self.kind = kind
        super().__init__("softcosine", address, problem)


class AlreadyExistsError(SoftCosineError, FileExistsError):
    """The target exists and overwriting is off."""


class SoftCosineWarning(UserWarning):
    """The answer is right, but slower than it could be or worth a check."""


class IndefiniteMatrixWarning(SoftCosineWarning):
    """S is not positive semidefinite, so soft cosines above 1 can occur."""


# The kinds of the problems (RFC 9457) by which a server names errors of the library to its clients.
PROBLEM_PREFIX = "urn:softcosine:"
PROBLEMS: dict[str, type[Exception]] = {
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
