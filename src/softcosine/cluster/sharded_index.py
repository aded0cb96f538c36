"""Several shards that are searched as one index."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from softcosine._progress import Report
from softcosine._threads import in_threads
from softcosine._validation import check_choice, check_number, check_whole
from softcosine.cluster.manifest import ShardsManifest
from softcosine.cluster.shard import NOT_FITTING, Shard, ShardSource
from softcosine.cluster.sharded_search import ShardedSearch
from softcosine.cluster.shards import ShardedSnapshot, Shards
from softcosine.cluster.workers import ThreadWorkers, Workers
from softcosine.errors import (
    CommitNotFoundError,
    CorruptIndexError,
    IndexFormatError,
    InvalidInputError,
)
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.requests import FilterRequest, SearchOptions
from softcosine.index.search.matches import Matches, listing
from softcosine.index.search.query_encoding import document_encoding, query_encoding
from softcosine.index.search.results import Listing
from softcosine.index.search.searchable import Searchable
from softcosine.index.search.sorting import parse_sort
from softcosine.index.soft_index import SoftIndex
from softcosine.storage.remote import url_of

if TYPE_CHECKING:
    from softcosine.cluster.sharded_writer import ShardedWriter
    from softcosine.encoders.encoder import GivenEncoder
    from softcosine.index.directory.backup import Backup
    from softcosine.similarity.source import TermSimilaritySource

Engine = Literal["ray"]


class ShardedIndex(Searchable):
    """Several shards that are searched as one index, with the same scores and the same order.

    Open the folder that ``softcosine shards build`` made with `open`. Searches, filters, similar
    documents and explanations are those of `SoftIndex`; `Hit.number` is the number of the document
    in the order of insertion into all shards.

    Below some ten million documents, one index on one machine is faster.
    """

    _snapshot: ShardedSnapshot

    def __init__(
        self, epoch: SoftIndex, workers: Workers, manifest: ShardsManifest, path: str | Path,
        timeout: float | None, options: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        names = [one.folder for one in manifest.shards]
        super().__init__(ShardedSnapshot.over(epoch.snapshot, Shards(workers, names, timeout)))
        self._encoder = epoch.encoder
        self._manifest = manifest
        self._path = path
        self._options = dict(options or {})  # of `open`
        self._refreshing = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        engine: Engine | None = None,
        replicas: int = 1,
        timeout: float | None = None,
        source: TermSimilaritySource | None = None,
        encoder: GivenEncoder | None = None,
        encoder_cache: str | Path | None = None,
    ) -> Self:
        """Return the sharded index of a folder, or at a URL.

        Parameters
        ----------
        path : path of the folder, or URL
            A URL such as ``s3://bucket/big.shards`` is opened for reading; see `SoftIndex.open`.
        engine : {"ray"}, optional
            Where shards are searched. By default on threads of this process. ``"ray"``: in actors
            of Ray Core, on all machines of its cluster, which must see the folder at the same path
            or reach the URL (``pip install 'softcosine[ray]'``). Without a running cluster, Ray
            starts on this machine, with its usage reports off.
        replicas : int
            Number of actors for each shard. If one dies, another answers while it starts again.
        timeout : float, optional
            Seconds to wait for the shards in each step of a search: mostly two, finding documents
            and reading those of the page. A shard that is late is left out of the other steps, and
            named in `Hits.missing_shards`; other calls raise DeadlineExceededError. By default no
            limit: a shard that died is started again from its files.
        source, encoder, encoder_cache
            As for `SoftIndex.open`, for queries.

        Raises
        ------
        FileNotFoundError, CorruptIndexError
        IndexFormatError
            If `path` is no sharded index, or a shard has another epoch or commit than its manifest.
        MissingDependencyError
            If Ray is not installed, or in an unsupported version.
        """
        check_choice("engine", engine, ("ray",), optional=True)
        check_whole("replicas", replicas)
        check_number("timeout", timeout, least=0, optional=True)
        folder = url_of(path) or Path(path).absolute()
        if replicas > 1 and engine is None:
            raise InvalidInputError('replicas are processes; they need engine="ray".')
        options = {
            "engine": engine, "replicas": replicas, "timeout": timeout, "source": source,
            "encoder": encoder, "encoder_cache": encoder_cache,
        }  # fmt: skip
        while True:
            manifest = ShardsManifest.read(folder)
            try:
                return cls._at(folder, manifest, options)
            except OSError as error:
                if ShardsManifest.read(folder).checksum != manifest.checksum:
                    continue  # a commit has deleted files meanwhile
                if isinstance(error, CommitNotFoundError):
                    raise IndexFormatError(f"{error} {NOT_FITTING}") from error
                raise

    @classmethod
    def _at(cls, folder: str | Path, manifest: ShardsManifest, options: Mapping[str, Any]) -> Self:
        """Open the commit of a manifest."""
        own = {name: options[name] for name in ("source", "encoder", "encoder_cache")}
        epoch = SoftIndex.open(f"{folder}/{manifest.epoch_folder}", **own)
        if epoch.epoch != manifest.epoch:
            raise CorruptIndexError(
                f"{folder}/{manifest.epoch_folder} has another epoch ({epoch.epoch}). {NOT_FITTING}"
            )
        sources = [
            ShardSource(f"{folder}/{one.folder}", manifest.epoch, one.checksum)
            for one in manifest.shards
        ]
        if epoch.encoder is not None:
            SoftIndex.open(sources[0].path).snapshot.checked(epoch.encoder)
        if options["engine"] is None:
            workers: Workers = ThreadWorkers(in_threads(Shard.open, sources, None))
        else:
            from softcosine.cluster.ray_workers import RayWorkers

            workers = RayWorkers(sources, replicas=options["replicas"])
        return cls(epoch, workers, manifest, folder, options["timeout"], options)

    def refresh(self) -> bool:
        """Open the last commit; return whether it is new.

        Running searches continue on those before.
        """
        self._shards.check_open()
        with self._refreshing:
            if ShardsManifest.read(self._path).checksum == self.commit:
                return False
            own = {"encoder": None, "encoder_cache": None}  # it is loaded already
            newer = type(self).open(self._path, **{**self._options, **own})
            self._snapshot, self._manifest = newer._snapshot, newer._manifest
            return True

    def at_commit(self) -> Self:
        """Return the index as it is now, which a refresh of this one does not change.

        If an actor dies after a later commit, it cannot be started again: calls then raise
        CommitNotFoundError, also of an index that is not refreshed.
        """
        with self._refreshing:
            other = object.__new__(type(self))
            other.__dict__.update(self.__dict__, _refreshing=threading.Lock())
            return other

    @property
    def _shards(self) -> Shards:
        return self._snapshot.shards

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self).open, self._path, **self._options), ()

    def close(self) -> None:
        """End the threads or processes of the shards; searches then raise InvalidInputError."""
        self._shards.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ShardedIndex({len(self)} documents in {self.n_shards} shards)"

    @property
    def path(self) -> str | Path:
        """The folder of the sharded index, or its URL."""
        return self._path

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return self._manifest.n_shards

    @property
    def epoch(self) -> str:
        """Checksum of everything that scores depend on, except the documents."""
        return self._manifest.epoch

    @property
    def frozen(self) -> bool:
        """Whether changes keep the epoch; always true."""
        return True

    @property
    def commit(self) -> str:
        """Checksum of the manifest of the shards."""
        return self._manifest.checksum

    def _filter(self, request: FilterRequest) -> Listing:
        snapshot = self._snapshot
        parts = snapshot.shards.every("filtered", request)
        return listing(snapshot, Matches.joined(parts, parse_sort(request.sort)), request)

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        """Return the number of documents that pass a filter; all documents without a filter."""
        return len(self) if where is None else self.filter(where, k=0).n_matching

    def _compared(self, what: str) -> Snapshot:
        """Return the documents of all shards as one snapshot, shard by shard."""
        folder = self._folder(f"{what} are found in")
        shards = [
            FolderDirectory.open(folder / one.folder, checksum=one.checksum)[0]
            for one in ShardsManifest.read(folder).shards
        ]
        first, segments = shards[0], tuple(own for one in shards for own in one.segments)
        return Snapshot(
            first.settings, tuple(own for own in segments if own.n_docs), first.S, first.source,
            first.statistics, generation=0, meaning=first.meaning,
            stored_pieces=first.stored_pieces,
        )  # fmt: skip

    def writer(self, **options: Any) -> ShardedWriter:
        """Return a writer; this index sees each of its commits.

        Parameters
        ----------
        **options
            ``timeout``, ``memory``, ``merge`` and ``progress`` of
            `softcosine.cluster.sharded_writer.ShardedWriter`.

        Raises
        ------
        IndexLockedError
            If another writer is still open after the time-out.
        """
        from softcosine.cluster.sharded_writer import ShardedWriter

        given = {"encoder": self._encoder, "on_commit": self._committed, **options}
        return ShardedWriter(self._folder("shards are changed in"), **given)

    def _committed(self) -> None:
        if not self._shards.closed:
            self.refresh()

    def backup(
        self,
        path: str | Path,
        *,
        links: bool = False,
        verify: bool = True,
        overwrite: bool = False,
        progress: Report | None = None,
    ) -> Backup:
        """Copy the last commit of all shards to a folder or a URL, where it appears at once.

        A writer may commit at the same time. A copy from a URL to a folder can be changed.

        Parameters
        ----------
        path : path of the copy, or URL
            The parent of a folder must exist; a URL is such as ``s3://bucket/big.shards``.
        links : bool
            Whether files of a folder are shared by hard links; see `SoftIndex.backup`.
        verify : bool
            Whether to check the checksum of every copied file.
        overwrite : bool
            Whether to replace a sharded index there, such as an earlier copy. To a URL, only new
            parts are copied.
        progress : callable, optional
            Called with (task, files copied, all files).

        Raises
        ------
        InvalidInputError, AlreadyExistsError, IndexLockedError, CorruptIndexError
        FileNotFoundError, ServerError, OSError
        """
        from softcosine.cluster.sharded_backup import back_up_shards

        return back_up_shards(
            self._path, path, links=links, verify=verify, overwrite=overwrite, progress=progress
        )

    def _folder(self, what: str) -> Path:
        """Return the folder; InvalidInputError if it is a URL, since `what` is one."""
        if isinstance(self._path, Path):
            return self._path
        raise InvalidInputError(
            f"{self._path} is opened for reading, and {what} a folder of this machine. To copy "
            "changes there: softcosine admin backup FOLDER URL --overwrite."
        )

    def _search(self, request: SearchOptions) -> ShardedSearch:
        encoding = query_encoding(self._snapshot, request, self._encoder)
        return ShardedSearch.of(self._snapshot, request, encoding)

    def _search_like(self, request: SearchOptions) -> ShardedSearch:
        encoding = document_encoding(self._snapshot, request)
        return ShardedSearch.of(self._snapshot, request, encoding)
