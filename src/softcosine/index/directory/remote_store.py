"""An index in object storage, opened for reading by way of a local cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.index.directory.commit import Commit, parsed_commit
from softcosine.index.directory.commit_cache import CommitCache
from softcosine.index.directory.store import Store
from softcosine.storage import MANIFEST
from softcosine.storage.remote import RemoteFolder, url_of

_T = TypeVar("_T")


def open_store(path: str | Path) -> Store:
    """Return the index in a folder or at a URL; errors as in `Store.open`."""
    url = url_of(path)
    return Store.open(path) if url is None else RemoteStore(url)


class RemoteStore(Store):
    """An index folder at a URL.

    Attributes
    ----------
    path : Path
        The cache of the user; the files of a commit are in a folder of their own there.
    address : str
        The URL.
    """

    __slots__ = ("_cache", "_remote")

    keeps_paths = False

    def __init__(self, url: str) -> None:
        self._remote = RemoteFolder(url)
        self._cache = CommitCache.of_user()
        super().__init__(self._cache.folder)

    def __repr__(self) -> str:
        return f"RemoteStore({self.address!r})"

    @property
    def address(self) -> str:
        """The URL."""
        return self._remote.url

    def read(self, previous: Commit | None = None, checksum: str | None = None) -> Commit:
        """Open the last commit, after fetching the parts that are not in the cache.

        Parameters
        ----------
        previous : Commit, optional
            Not used: each commit has its own files.
        checksum : str, optional
            Open this commit only.

        Raises
        ------
        CommitNotFoundError
            If the URL has another commit than that of the checksum.
        FileNotFoundError, IndexFormatError, PermissionError, ServerError
        CorruptIndexError
            If a part is missing or altered; the message names its URL.
        OSError
            If the disk or the cache is full.
        """
        dropped = False
        while True:
            manifest = self.manifest(checksum)
            try:
                folder, lease = self._cache.opened(self._remote, manifest)
            except FileNotFoundError as error:
                if self.manifest(checksum)["checksum"] != manifest["checksum"]:
                    continue  # another commit has deleted parts meanwhile
                raise CorruptIndexError(
                    f"{error.filename} is missing; delete the index there, and copy it anew."
                ) from error
            try:
                return replace(Store(folder).read(), lease=lease)
            except CorruptIndexError:  # another program has changed the copy
                lease.release()
                if dropped or not self._cache.drop(manifest):
                    raise
                dropped = True

    def opened(
        self,
        build: Callable[[Commit], _T],
        previous: Commit | None = None,
        checksum: str | None = None,
    ) -> _T:
        """Return `build` applied to the last commit; parameters and errors as in `read`."""
        return build(self.read(checksum=checksum))

    def writing(self, *_: Any, **__: Any) -> NoReturn:
        """Raise InvalidInputError: nothing is written to object storage."""
        raise InvalidInputError(
            f"{self.address} is opened for reading; change the index in a folder of this machine, "
            f"and copy it there: softcosine admin backup FOLDER {self.address} --overwrite."
        )

    def _manifest(self, name: str = MANIFEST) -> dict[str, Any]:
        try:
            content = self._remote.read(name)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"there is no index at {self.address}: it has no {name}."
            ) from None
        return parsed_commit(content, self.address)
