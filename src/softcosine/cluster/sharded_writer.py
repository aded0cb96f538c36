"""Changes of a sharded index: a commit of all shards at once.

Each shard writes its parts and its next manifest, and announces it. When all have, the manifest of
the sharded index is renamed, which names the announced commits: this renaming is the commit. Then
each shard renames its own manifest. A crash at any moment leaves the old commit or the new one of
all shards: readers look for the commit that the sharded index names, renamed or not, and the
next writer renames what a crashed one announced.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from softcosine._progress import Report, silent
from softcosine._validation import check_flag
from softcosine.cluster.manifest import ShardFacts, ShardsManifest
from softcosine.cluster.ownership import owners_of
from softcosine.errors import InvalidInputError
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.directory.lock import WRITER_TIMEOUT, WriteLock
from softcosine.index.segment.documents import checked_id
from softcosine.index.writer.document import Committing
from softcosine.index.writer.index_writer import IndexWriter, check_options
from softcosine.index.writer.merging import MergePolicy
from softcosine.storage import checked_path

if TYPE_CHECKING:
    from softcosine.index.encoding import IndexEncoder

_MEMORY = 1 << 30
_LEAST_MEMORY = 1 << 24  # bytes for each shard


class ShardedWriter(Committing):
    """Adds and deletes documents of a sharded index; the changes of a commit are visible together.

    As a context manager it commits on exit, unless an exception is raised. New documents are scored
    by the statistics that the shards were built with, and words that the built documents do not
    have are not found.

    Parameters
    ----------
    path : path of a sharded index
    timeout : float or None
        Seconds to wait for another writer to close; None waits forever.
    memory : int or None
        Approximate limit in bytes for the buffered documents of all shards, at least 65,536; None
        for no limit.
    merge : MergePolicy or None
        Which segments of a shard to merge after a commit; None merges none.
    encoder : IndexEncoder, optional
        Reads new documents; by default the installed one of the shards, if there is one.
    progress : callable, optional
        Called with (task, done, total) by each shard; total may be None.
    on_commit : callable, optional
        Called after each commit.

    Raises
    ------
    IndexLockedError
        If another writer is still open after `timeout`.
    FileNotFoundError, IndexFormatError, CorruptIndexError, PermissionError
    """

    def __init__(
        self,
        path: str | Path,
        *,
        timeout: float | None = WRITER_TIMEOUT,
        memory: int | None = _MEMORY,
        merge: MergePolicy | None = MergePolicy(),  # noqa: B008  # it is frozen
        encoder: IndexEncoder | None = None,
        progress: Report | None = None,
        on_commit: Callable[[], object] | None = None,
    ) -> None:
        check_options(memory, merge, progress=progress)
        self.path = checked_path(path).absolute()
        ShardsManifest.read(self.path)  # first, so that no lock file is made in other folders
        self._lock = WriteLock(self.path, timeout=timeout)
        try:
            self._manifest = ShardsManifest.read(self.path)
        except BaseException:
            self._lock.release()
            raise
        self._next = self._manifest.next_number
        self._options: dict[str, Any] = {
            "timeout": timeout, "merge": merge, "encoder": encoder, "progress": self._report,
            "memory": memory and max(memory // self._manifest.n_shards, _LEAST_MEMORY),
        }  # fmt: skip
        self._progress = progress or silent
        self._on_commit = on_commit
        self._writers: dict[int, IndexWriter] = {}
        self._awaiting: threading.Barrier | None = None  # where shards wait until all are ready
        self._announced: dict[int, ShardFacts] = {}
        self._failed: BaseException | None = None
        self._decided = False  # whether the commit stands
        self._publishing = threading.Lock()
        self._process = os.getpid()

    @property
    def n_docs(self) -> int:
        """Number of documents with all changes so far; writes the buffered ones."""
        self._check_open()
        return sum(
            self._writers[number].n_docs if number in self._writers else facts.n_docs
            for number, facts in enumerate(self._manifest.shards)
        )

    def add(
        self,
        id: str,
        text: str | Sequence[str] | Mapping[str, str],
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a document, or replace the document with the same id; see `IndexWriter.add`."""
        self._writer_of(id).add(id, text, metadata, number=self._next)
        self._next += 1

    def delete(
        self,
        id: str | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        missing_ok: bool = False,
    ) -> int:
        """Delete a document, or all that pass a filter; see `IndexWriter.delete`."""
        self._check_open()
        if id is not None and where is None:
            return self._writer_of(id).delete(id, missing_ok=missing_ok)
        return sum(
            self._writer(number).delete(id, where=where, missing_ok=missing_ok)
            for number in range(self._manifest.n_shards)
        )

    def update_metadata(
        self, id: str, metadata: Mapping[str, Any], *, replace: bool = False
    ) -> None:
        """Change the metadata of a document; see `IndexWriter.update_metadata`."""
        self._writer_of(id).update_metadata(id, metadata, replace=replace)

    def merge(self) -> None:
        """Merge the segments of every shard into as few as possible; visible after a commit."""
        self._check_open()
        for number in range(self._manifest.n_shards):
            self._writer(number).merge()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise InvalidInputError(
            "shards keep similarities, weights, statistics and encoder; build them anew instead."
        )

    set_similarity = set_weighting = encode = freeze = thaw = _refuse

    def commit(self, refresh: bool | None = None) -> None:
        """Make all changes of all shards visible at once.

        Parameters
        ----------
        refresh : bool, optional
            As in `IndexWriter.commit`; the statistics of shards stay, so not True.

        Raises
        ------
        OSError
            If a shard cannot be written. Readers see the last commit, or the new one of all shards
            if only the end of it failed; you can call `commit` again.
        """
        self._check_open()
        check_flag("refresh", refresh, optional=True)
        if refresh:
            self._refuse()
        before = self._manifest.checksum
        self._announced, self._failed, self._decided = {}, None, False
        awaiting = threading.Barrier(max(1, len(self._writers)), self._decide)
        self._awaiting = awaiting
        errors = list[BaseException]()
        # An interrupted `Thread.join` takes the thread for ended.
        ended = {number: threading.Event() for number in self._writers}

        def commit(number: int) -> None:
            try:
                if not awaiting.broken:
                    self._writers[number].commit()
                if number not in self._announced:  # it has nothing to commit
                    with suppress(threading.BrokenBarrierError):
                        awaiting.wait()
            except BaseException as error:
                errors.append(error)
                if number not in self._announced:  # none commits, unless all have announced
                    self._failed = self._failed or error
                    awaiting.abort()
            finally:
                ended[number].set()

        threads = [threading.Thread(target=commit, args=(number,)) for number in ended]
        try:
            for thread in threads:
                thread.start()
            for event in ended.values():
                event.wait()
        except BaseException as error:  # Ctrl-C
            self._failed = error
            awaiting.abort()
            for thread, event in zip(threads, ended.values(), strict=True):
                if thread.ident is not None:  # one that starts later does nothing
                    event.wait()
        self._awaiting = None
        try:
            if self._manifest.checksum != before and self._on_commit is not None:
                self._on_commit()
        finally:
            if failed := self._failed or next(iter(errors), None):
                raise failed

    def rollback(self) -> None:
        """Undo all changes since the last commit."""
        self._check_open()
        for writer in self._writers.values():
            writer.rollback()
        self._next = self._manifest.next_number

    def close(self) -> None:
        """Undo all changes since the last commit, and release the write locks."""
        if not self._process:
            return
        self._process = 0
        try:
            for writer in self._writers.values():
                writer.close()
        finally:
            self._lock.release()

    def _writer_of(self, id: str) -> IndexWriter:
        self._check_open()
        (owner,) = owners_of([checked_id(id)], self._manifest.n_shards).tolist()
        return self._writer(owner)

    def _writer(self, number: int) -> IndexWriter:
        """Open the writer of a shard, on demand."""
        if number not in self._writers:
            facts = self._manifest.shards[number]
            _, directory = FolderDirectory.open(self.path / facts.folder, checksum=facts.checksum)

            def announce(checksum: str, n_docs: int) -> None:
                self._announce(number, replace(facts, checksum=checksum, n_docs=n_docs))

            self._writers[number] = IndexWriter(
                replace(directory, announce=announce), **self._options
            )
        return self._writers[number]

    def _announce(self, number: int, facts: ShardFacts) -> None:
        if self._awaiting is None or number in self._announced:  # merged: the same documents
            self._publish({number: facts})
            return
        self._announced[number] = facts
        with suppress(threading.BrokenBarrierError):
            self._awaiting.wait()
        if not self._decided:
            raise OSError(f"nothing was committed: {self._failed}") from self._failed

    def _decide(self) -> None:
        """Make the commit; called by the shard that is ready last."""
        if self._announced:
            try:
                self._publish(self._announced)
            except BaseException as error:
                self._failed = error
                raise
        self._decided = True

    def _report(self, task: str, done: int, total: int | None) -> None:
        """Report the progress of a shard; end its commit if another shard has failed."""
        if self._awaiting is not None and self._awaiting.broken:
            raise threading.BrokenBarrierError
        self._progress(task, done, total)

    def _publish(self, announced: Mapping[int, ShardFacts]) -> None:
        """Write the manifest that names the announced commits."""
        with self._publishing:
            shards = tuple(
                announced.get(number, facts) for number, facts in enumerate(self._manifest.shards)
            )
            manifest = replace(self._manifest, shards=shards, next_number=self._next)
            try:
                self._manifest = manifest.write(self.path)
            except OSError:
                visible = ShardsManifest.read(self.path)
                if replace(visible, checksum=manifest.checksum) != manifest:
                    raise
                self._manifest = visible  # only the last sync failed
