"""`Catalog`: the indexes of a folder by name, and their aliases."""

from __future__ import annotations

import json
import logging
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from softcosine._file_lock import FileLock
from softcosine._validation import NAME, checked_name
from softcosine.errors import IndexFormatError
from softcosine.index.directory.lock import WriteLock
from softcosine.index.soft_index import SoftIndex
from softcosine.serve.problems import Problem
from softcosine.serve.served_index import ServedIndex, expecting
from softcosine.serve.settings import ServeSettings
from softcosine.storage import write_text
from softcosine.storage.remote import url_of

_MANIFEST, _ALIASES, _STATE = "manifest.json", "aliases.json", ".serve"
_log = logging.getLogger(__name__)


class Catalog:
    """The indexes of a server; an index is opened at its first request.

    An index is a folder within the folder of the server, and its name that of the folder. If the
    folder of the server is itself an index, it is the only one.

    Parameters
    ----------
    settings : ServeSettings
        Its path may be the URL of one index.

    Attributes
    ----------
    elsewhere : bool
        Whether the index is at a URL, and so opened for reading.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    NotADirectoryError
        If it is a file.
    """

    def __init__(self, settings: ServeSettings) -> None:
        self.elsewhere = url_of(settings.path) is not None
        path = settings.path if self.elsewhere else settings.path.absolute()
        if not self.elsewhere and not path.exists():
            raise FileNotFoundError(f"there is no folder {settings.path}.")
        if not self.elsewhere and not path.is_dir():
            raise NotADirectoryError(f"{settings.path} is a file; serve an index or a folder.")
        self._settings = settings
        self._only = path.name if self.elsewhere or (path / _MANIFEST).exists() else None
        self.root = path.parent if self._only is not None else path
        self._open: dict[str, ServedIndex] = {}
        self._opening, self._reading = threading.Lock(), threading.Lock()
        self._aliases_file = self.root / _STATE / _ALIASES
        self._aliases: dict[str, str] = {}
        self._aliases_read: tuple[int, int] | None = None
        if self._only is not None and not NAME.fullmatch(self._only):
            raise IndexFormatError(
                f"the name of the index {path} cannot be part of an address; rename the folder to "
                "letters, digits, '.', '_' and '-'."
            )
        self.read_aliases()

    @cached_property
    def state(self) -> Path:
        """Folder of what the processes of a server share; nothing is stored beside a lone index."""
        if self._settings.state is None and self.single:
            return Path(tempfile.mkdtemp(prefix="softcosine-"))
        return self._settings.state or self.root / _STATE

    @property
    def single(self) -> bool:
        """Whether there is one index only, and none can be created."""
        return self._only is not None

    @property
    def names(self) -> list[str]:
        """Names of all indexes, in order."""
        if self._only is not None:
            return [self._only]
        return sorted(
            path.name
            for path in self.root.iterdir()
            if NAME.fullmatch(path.name) and (path / _MANIFEST).is_file()
        )

    @property
    def opened(self) -> list[ServedIndex]:
        """The indexes that are open."""
        return list(self._open.values())

    @property
    def aliases(self) -> dict[str, str]:
        """For each alias its index."""
        return dict(self._aliases)

    def opened_as(self, name: str) -> ServedIndex | None:
        """Return an index by its name or alias if it is open; reads no file."""
        return self._open.get(self._aliases.get(name, name))

    def get(self, name: str) -> ServedIndex:
        """Return an index by its name or alias, and open it if needed.

        Raises
        ------
        Problem
            ``unknown-index``.
        """
        name = self._aliases.get(name, name)
        if (served := self._open.get(name)) is not None:
            return served
        with self._opening:
            if (served := self._open.get(name)) is not None:
                return served
            if not self._exists(name):
                raise self._unknown(name)
            with expecting(name, self.root / name):
                served = self._open[name] = ServedIndex(
                    name, self.root / name, self._settings.limits, self._settings.shards
                )
            return served

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._exists(self._aliases.get(name, name))

    def _exists(self, name: str) -> bool:
        if self._only is not None:
            return name == self._only
        return bool(NAME.fullmatch(name)) and (self.root / name / _MANIFEST).is_file()

    def _unknown(self, name: str) -> Problem:
        names = [*self.names, *self._aliases]
        listed = f"there are {', '.join(names[:20])}" if names else "there is none yet"
        return Problem("unknown-index", f"there is no index {name!r:.100}; {listed}.")

    def refresh(self) -> None:
        """Refresh all open indexes, and close those that were deleted."""
        self.read_aliases()
        for served in self.opened:
            fault = ""
            try:
                served.refresh()
            except FileNotFoundError:
                if not self._exists(served.name):
                    self._open.pop(served.name, None)
            except Exception as error:  # a damaged index must not end the refreshes of others
                if (fault := str(error)) != served.fault:
                    _log.exception("the index %s cannot be refreshed", served.name)
            served.fault = fault

    def create(self, name: str, options: dict[str, Any]) -> ServedIndex:
        """Create an index.

        Raises
        ------
        Problem, InvalidInputError, AlreadyExistsError
        """
        checked_name(name)
        with self._naming():
            if name in self._aliases or self._exists(name):
                raise Problem("already-exists", f"there is an index or alias {name} already.")
            SoftIndex.create(self.root / name, **options)
        return self.get(name)

    def delete(self, name: str) -> None:
        """Delete an index; searches that run on it finish.

        Raises
        ------
        Problem, IndexLockedError
        """
        path, gone = self.root / name, self.root / f".gone-{secrets.token_hex(8)}"
        with self._naming(), expecting(name, path):
            if name in self._aliases or not self._exists(name):
                raise self._unknown(name)
            if users := [alias for alias, index in self._aliases.items() if index == name]:
                raise Problem("already-exists", f"the alias {users[0]} stands for {name}.")
            lock = WriteLock(path, timeout=self._settings.limits.writer_seconds)
            try:
                with self._opening:  # nobody opens it meanwhile
                    path.rename(gone)  # at once, so that a crash leaves no half of an index
                    self._open.pop(name, None)
            finally:
                lock.release()
        shutil.rmtree(gone, ignore_errors=True)

    def set_alias(self, alias: str, index: str | None) -> None:
        """Point an alias to an index, or delete the alias.

        Raises
        ------
        Problem
        """
        with self._naming():
            changed = dict(self._aliases)
            if index is None:
                if changed.pop(alias, None) is None:
                    raise Problem("unknown-index", f"there is no alias {alias!r:.100}.")
            else:
                if self._exists(checked_name(alias)):
                    raise Problem("already-exists", f"there is an index {alias}.")
                if index in self._aliases or not self._exists(index):
                    raise self._unknown(index)
                self.get(index)
                changed[alias] = index
            write_text(self._aliases_file, json.dumps(changed, indent=2) + "\n")
            self.read_aliases()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Hold the names of indexes and aliases as they are, for all processes of the folder.

        Problem (``read-only``) if there is one index alone.
        """
        if self.single:
            raise Problem(
                "read-only", f"this server has the index {self._only} only; start it on a folder."
            )
        self._aliases_file.parent.mkdir(parents=True, exist_ok=True)
        file = self._aliases_file.with_suffix(".lock")
        with FileLock(file, timeout=self._settings.limits.writer_seconds):
            self.read_aliases()
            yield

    def read_aliases(self) -> None:
        """Read the aliases again if another process has changed them."""
        file = self._aliases_file
        with self._reading:
            try:
                facts = None if self.single else file.stat()
                key = facts and (facts.st_mtime_ns, facts.st_ino)
                if key != self._aliases_read:
                    stored = json.loads(file.read_text(encoding="utf-8"))
                    self._aliases = {str(alias): str(index) for alias, index in stored.items()}
            except FileNotFoundError:
                self._aliases, key = {}, None
            except (ValueError, AttributeError, RecursionError):
                _log.exception("%s holds no aliases", file)
            self._aliases_read = key
