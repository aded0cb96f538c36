"""Every error and warning that softcosine raises on purpose.

::

    SoftCosineError
     ├─ InvalidInputError (ValueError)          what was given cannot be used
     │   ├─ VocabularyMismatchError             X, S or an index speak of different terms
     │   ├─ DuplicateIdError                    one id for two documents
     │   └─ MalformedFileError                  a file breaks its format; names path and line
     ├─ UnknownTermError (KeyError)             a term that the vocabulary does not have
     ├─ UnknownDocumentError (KeyError)         an id that the index does not have
     ├─ NotFittedError (ValueError, AttributeError)
     ├─ IndefiniteMatrixError (ArithmeticError) x'Sx < 0 where a norm is needed
     ├─ MissingDependencyError (ImportError)    an extra is not installed; says the pip command
     ├─ IndexFormatError (OSError)              a folder is not an index this version can read
     │   └─ CorruptIndexError                   a file of it is missing, cut short or altered
     ├─ IndexLockedError (TimeoutError)         another writer has the index open
     └─ AlreadyExistsError (FileExistsError)    a target is there and overwriting was not asked for

    SoftCosineWarning (UserWarning)             the answer is right but slower, or needs thought
     └─ IndefiniteMatrixWarning                 S is not positive semidefinite

A message gives what was seen, what was needed and what to do.
"""

from __future__ import annotations

from pathlib import Path

__all__ = [
    "AlreadyExistsError",
    "CorruptIndexError",
    "DuplicateIdError",
    "IndefiniteMatrixError",
    "IndefiniteMatrixWarning",
    "IndexFormatError",
    "IndexLockedError",
    "InvalidInputError",
    "MalformedFileError",
    "MissingDependencyError",
    "NotFittedError",
    "SoftCosineError",
    "SoftCosineWarning",
    "UnknownDocumentError",
    "UnknownTermError",
    "VocabularyMismatchError",
]


class SoftCosineError(Exception):
    """Base of every deliberate error."""


class InvalidInputError(SoftCosineError, ValueError):
    """What was given cannot be used; the message says what was needed."""


class VocabularyMismatchError(InvalidInputError):
    """Two objects that must share a vocabulary do not."""


class DuplicateIdError(InvalidInputError):
    """Two documents were given the same id."""


class MalformedFileError(InvalidInputError):
    """A file breaks its format.

    Attributes
    ----------
    path : Path
        The file.
    line : int or None
        The line at fault, counted from 1, where the format has lines.
    """

    def __init__(self, path: str | Path, problem: str, *, line: int | None = None) -> None:
        self.path = Path(path)
        self.line = line
        place = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {problem}")


class _KeyedError(SoftCosineError, KeyError):
    """A KeyError whose message is shown as it is, not as its repr."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownTermError(_KeyedError):
    """A term that the vocabulary does not have."""


class UnknownDocumentError(_KeyedError):
    """A document id that the index does not have."""


class NotFittedError(SoftCosineError, ValueError, AttributeError):
    """An estimator was used before ``fit``."""


class IndefiniteMatrixError(SoftCosineError, ArithmeticError):
    """A soft norm was needed where x'Sx is negative: S is not positive semidefinite."""


class MissingDependencyError(SoftCosineError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package}, which is not installed; "
            f"run: pip install 'softcosine[{extra}]'"
        )


class IndexFormatError(SoftCosineError, OSError):
    """A folder is not an index that this version can read."""


class CorruptIndexError(IndexFormatError):
    """A file of a saved index or matrix is missing, cut short or altered."""


class IndexLockedError(SoftCosineError, TimeoutError):
    """Another writer has the index open; wait with ``timeout=``, or try again later."""


class AlreadyExistsError(SoftCosineError, FileExistsError):
    """A target exists and overwriting it was not asked for."""


class SoftCosineWarning(UserWarning):
    """The answer is right, but slower than it could be, or needs a thought."""


class IndefiniteMatrixWarning(SoftCosineWarning):
    """S is not positive semidefinite, so soft cosines above 1 can occur."""
