"""Folders of finished blocks of a long result, so that the same call can resume.

``question.json`` says what the blocks are of. Each block is a file that is renamed into place, so a
killed process leaves a whole block or none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from softcosine.errors import IndexLockedError, InvalidInputError
from softcosine.index.writer.lock import LOCK_FILE, WriteLock
from softcosine.storage import checked_path, sync, written_beside
from softcosine.version import __version__

__all__ = ["BlockFolder"]

_QUESTION = "question.json"


class BlockFolder:
    """A folder of blocks: created or opened, checked, and locked until `close`.

    Parameters
    ----------
    path : path of a folder
        New, empty, or from an earlier run of the same question.
    question : mapping
        Everything that the blocks depend on, as JSON values, except the version of softcosine.
    what : str
        What the blocks hold, in the plural, for messages.

    Raises
    ------
    InvalidInputError
        If the folder is that of another question, or holds other files.
    IndexLockedError
        If another process uses it.
    """

    def __init__(self, path: str | Path, question: Mapping[str, Any], what: str) -> None:
        self.path = checked_path(path)
        self._what = what
        # Another version may compute otherwise.
        question = json.loads(json.dumps({**question, "version": __version__}, default=repr))
        while True:
            self.path.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # another process has finished, and deleted it
                self._check(question)  # before the lock is written
                self._lock = self._locked()
                break
        try:
            if not self._check(question):
                with written_beside(self.path / _QUESTION) as new:
                    new.write_text(json.dumps(question), "utf-8")
                    sync(new)
        except BaseException:
            self.close()
            raise

    def _locked(self) -> WriteLock:
        try:
            return WriteLock(self.path)
        except IndexLockedError as error:
            raise IndexLockedError(
                f"another process keeps its {self._what} in {self.path}; wait for it, or choose "
                "another place."
            ) from error

    def _check(self, question: Mapping[str, Any]) -> bool:
        """Return whether the folder is of this question; False if it is empty."""
        known = None
        with suppress(FileNotFoundError, ValueError):
            known = json.loads((self.path / _QUESTION).read_text("utf-8"))
        if known == question:
            return True
        if known is not None:
            raise self.other("of another index, by other parameters, or of another version")
        names = {file.name for file in self.path.iterdir()} - {LOCK_FILE}
        if any(not name.startswith(".") for name in names):
            raise InvalidInputError(
                f"{self.path} is no checkpoint of {self._what}; choose another place."
            )
        return False

    def other(self, how: str) -> InvalidInputError:
        """Return the error for a folder of another question."""
        return InvalidInputError(
            f"{self.path} holds {self._what} {how}; choose another place, or delete it to begin "
            "anew."
        )

    def remove(self) -> None:
        """Delete the folder; do nothing if it is closed.

        Names sort in the order of deletion: blocks before the files that say what they are of, so
        that a process killed here leaves a folder to resume from, and the lock last, since another
        process may use the folder from then on.
        """
        if self._lock.held:
            with suppress(OSError):
                for file in sorted(self.path.iterdir()):
                    file.unlink()
                self.path.rmdir()
            self.close()

    def close(self) -> None:
        """Release the folder."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
