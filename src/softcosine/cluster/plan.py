"""`ShardPlan`: builds a sharded index from files, in tasks that can be repeated.

joblib runs the tasks; each writes a file or folder, whole or not at all.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Unpack

from softcosine._progress import Report, silent
from softcosine._threads import usable_cpus, using_threads
from softcosine._validation import check_list, check_whole, is_whole, must_be
from softcosine.cluster.build_plan import BuildPlan
from softcosine.cluster.manifest import BUILT_EPOCH, ShardsManifest, epoch_folder
from softcosine.cluster.shard_building import (
    build_shard,
    facts_of,
    loaded_encoders,
)
from softcosine.cluster.splitting import Chunk, inputs_at, split
from softcosine.cluster.tally import (
    Tally,
    analysis_cache,
    check_ids,
    counted_terms,
    sample,
    tally,
)
from softcosine.errors import AlreadyExistsError, InvalidInputError, needing
from softcosine.files import (
    TABLES,
    Fields,
    RecordReader,
    chosen_types,
    column_types,
    place,
)
from softcosine.index.defaults import ENCODER
from softcosine.index.directory.commit import current_manifest
from softcosine.index.directory.lock import LOCK_FILE, WriteLock
from softcosine.index.options import IndexKeywords, IndexOptions
from softcosine.index.writer.creation import create, decide, found
from softcosine.index.writer.document import NewDocument, deciding, new_document
from softcosine.index.writer.pending_commit import CountedDocuments
from softcosine.space.chance import N_SAMPLED
from softcosine.space.meaning import STATIC
from softcosine.storage import MANIFEST, check_folder, checked_path, checksum
from softcosine.version import __version__

_logger = logging.getLogger(__name__)
_ATTEMPTS = 3  # before a build stops because workers are killed
_WORK = "work"
_MEMORY, _LEAST_MEMORY = 1 << 30, 1 << 16


class ShardPlan:
    r"""How a collection becomes a sharded index: inputs, settings, and documents per shard.

    The shards answer as one index of all documents with the same settings: its vocabulary,
    S and statistics are made once, for all shards. Documents of the inputs are numbered in order.
    An id decides by its hash which shard holds the document.

    Parameters
    ----------
    paths : sequence of paths
        Files of records (JSON lines, parquet, JSON, CSV, TSV; text formats also as ``.gz``), or
        URLs of them that fsspec reads. Every record needs an id.
    docs_per_shard : int
        Their number gives that of the shards; each gets about as many.
    id_field : str, optional
        By default ``id`` or ``_id``, else ``docid``.
    text_fields : sequence of str, optional
        By default ``text``, preceded by ``title``, or the fields of the index if it has several.
    format : str, optional
        By default from the names of the files.
    types : mapping of str to str, optional
        Types of columns of CSV and TSV: ``"integer"``, ``"decimal"``, ``"boolean"``, ``"date"`` or
        ``"text"``; those of other columns are inferred from all cells (`types_`, after a build).
    encoding : str
        Of text formats.
    **settings
        Of the index; see `SoftIndex.create`.

    Raises
    ------
    InvalidInputError

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = [{"id": str(i), "text": text} for i, text in enumerate(["green tea", "flat tyre"])]
    >>> _ = (folder / "all.jsonl").write_text("\n".join(map(json.dumps, rows)))
    >>> plan = ShardPlan([folder / "all.jsonl"], docs_per_shard=1, plain=True)
    >>> plan.build(folder / "all.shards").name
    'all.shards'
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        docs_per_shard: int = 1_000_000,
        id_field: str | None = None,
        text_fields: Sequence[str] | None = None,
        format: str | None = None,
        types: Mapping[str, str] | None = None,
        encoding: str = "utf-8",
        **settings: Unpack[IndexKeywords],
    ) -> None:
        check_list("paths", paths, "paths of files")
        check_whole("docs_per_shard", docs_per_shard)
        if not paths:
            raise InvalidInputError("paths is empty; name the files of the documents.")
        self._inputs = inputs_at(paths)
        self._docs_per_shard = docs_per_shard
        self._format, self._encoding, self._types = format, encoding, dict(types or {})
        if settings.setdefault("encoder", STATIC) == ENCODER:  # shards have many documents
            settings["encoder"] = STATIC
        self._options = IndexOptions.of(**settings)
        self._snapshot, self._directory = create(None, self._options)
        own = self._snapshot.settings
        if len(self._snapshot.S) and own.leaves_terms_out:
            raise InvalidInputError(
                "min_df and max_df leave out terms that S has; restrict S, or leave them out."
            )
        names = tuple(field.name for field in own.fields)
        if len(names) > 1 and text_fields is not None:
            raise InvalidInputError(
                "text_fields is for an index of one field; leave it out, since fields names them."
            )
        separate = len(names) > 1
        texts = names if separate else tuple(text_fields or ()) or None
        advice = " Name it by id_field= (--id).", " Name it by text_fields= (--text)."
        self._fields = Fields(id_field, texts, separate, *advice)

    def build(
        self,
        path: str | Path,
        *,
        jobs: int | None = None,
        memory: int = _MEMORY,
        progress: Report | None = None,
    ) -> Path:
        """Build the shards in a folder; return it.

        A build that was interrupted continues where it stopped if it is started again with the
        same inputs and settings. The tasks run through joblib, so that
        ``joblib.parallel_config(backend=...)`` chooses where; workers on other machines need the
        same paths.

        Parameters
        ----------
        path : path of a folder
            The parent must exist.
        jobs : int, optional
            Number of workers, as ``n_jobs`` of joblib: by default what `parallel_config` says, else
            1; -1 for all CPUs.
        memory : int
            Approximate limit in bytes of the documents that a worker buffers, and for learning.
        progress : callable, optional
            Called with (step, tasks done, all tasks or None).

        Raises
        ------
        AlreadyExistsError
            If the folder holds something else, or a complete build.
        InvalidInputError
            If it holds an unfinished build of other inputs or settings, a record is invalid, or an
            input has changed (in size or time) since the plan was made.
        DuplicateIdError
            If two records have the same id; the message has both places.
        IndexLockedError
            If another process builds in this folder.
        MalformedFileError, MissingDependencyError, OSError
        """
        check_whole("memory", memory, least=_LEAST_MEMORY)
        if jobs is not None and (not is_whole(jobs) or jobs == 0):
            raise must_be(
                "jobs", jobs, "a whole number other than 0 (-1 stands for all CPUs), or None"
            )
        folder, report = checked_path(path).absolute(), progress or silent
        _check_target(folder)
        folder.mkdir(exist_ok=True)
        lock = WriteLock(folder)
        try:
            if (folder / MANIFEST).exists():  # a build was killed at its very end
                shutil.rmtree(folder / _WORK, ignore_errors=True)
            _check_target(folder)  # again: another build may have ended meanwhile
            self._build(folder, jobs, memory, report)
        finally:
            lock.release()
            analysis_cache.cache_clear()
            loaded_encoders.clear()
        return folder

    def _build(self, folder: Path, jobs: int | None, memory: int, report: Report) -> None:
        work = folder / _WORK
        work.mkdir(exist_ok=True)
        plan = self._planned(work, report)
        chunks = range(len(plan.chunks))
        calls = [(work, number) for number in chunks]
        _run_tasks("counting words", tally, calls, jobs=jobs, report=report)
        tallies = [Tally.open(work, plan, number) for number in chunks]
        n_docs = sum(one.n_docs for one in tallies)
        self._check_seen(tallies)
        check_ids(tallies)
        for built in folder.glob(epoch_folder("*")):  # the build ended before its manifest
            built.rename(folder / BUILT_EPOCH)
        if not (folder / BUILT_EPOCH).exists():
            report("merging counts", 0, None)
            vocabulary, statistics = counted_terms(plan, tallies)
            first = sample(tallies, N_SAMPLED) if self._directory.encoder is not None else ()
            documents = CountedDocuments(
                plan.settings, plan.note, vocabulary, statistics, _Texts(work, plan), first
            )
            records = {"id": self._fields.id, "text": self._fields.text}
            path = folder / BUILT_EPOCH
            found(path, self._options, records, documents, memory=memory, report=report)
        given = self._options.encoder, self._options.encoder_cache
        encoder = None if self._directory.encoder is None else given
        n_shards = -(-n_docs // self._docs_per_shard)
        shards = [(folder, work, number, n_shards, memory, encoder) for number in range(n_shards)]
        _run_tasks("building shards", build_shard, shards, jobs=jobs, report=report)
        facts = [facts_of(folder, number) for number in range(n_shards)]
        epoch = str(current_manifest(folder / BUILT_EPOCH)["epoch"])
        (folder / BUILT_EPOCH).rename(folder / epoch_folder(epoch))
        ShardsManifest(epoch, n_docs, tuple(facts)).write(folder)
        shutil.rmtree(work, ignore_errors=True)

    def _planned(self, work: Path, report: Report) -> BuildPlan:
        """Return the plan in the work folder; make it if it is missing."""
        fingerprint = self._fingerprint()
        with suppress(FileNotFoundError):
            plan = BuildPlan.read(work)
            if plan.fingerprint != fingerprint:
                raise InvalidInputError(
                    f"{work.parent} is an unfinished build of other files or settings; delete it."
                )
            self.types_ = plan.types
            return plan
        report("reading the first documents", 0, None)
        chunks = split(self._inputs, self._format, self._encoding)
        texts, id_name = self._first_texts(chunks)
        tables = (chunk.records() for chunk in chunks if chunk.format in TABLES)
        self.types_ = chosen_types(column_types(tables, self._fields), self._types)
        settings, note = decide(self._directory, texts, memory=_MEMORY)
        inputs, fields, types = tuple(self._inputs), self._fields, self.types_
        plan = BuildPlan(fingerprint, inputs, tuple(chunks), id_name, fields, types, settings, note)
        plan.write(work)
        return plan

    def _fingerprint(self) -> str:
        """Return a checksum of the inputs and all settings."""
        return checksum(
            {
                "softcosine": __version__,
                "inputs": [asdict(one) for one in self._inputs],
                "docs_per_shard": self._docs_per_shard,
                "reading": [self._format, self._encoding, asdict(self._fields), self._types],
                "settings": self._snapshot.settings.to_dict(),
                "epoch": self._directory.epoch,  # covers S and the space of meaning
            }
        )

    def _first_texts(self, chunks: Sequence[Chunk]) -> tuple[list[str], str]:
        """Return the texts that decide the language, and the name of the id field."""
        reader = RecordReader(self._fields)
        names = [field.name for field in self._snapshot.settings.fields]

        def documents() -> Iterator[NewDocument]:
            for record in (record for chunk in chunks for record in chunk.records()):
                if (id := reader.id(record)) is None:
                    raise InvalidInputError(
                        f"{place(record)}: there is no id; name its field by id_field= (--id)."
                    )
                yield new_document(id, reader.text(record), reader.metadata(record), fields=names)

        known = self._snapshot.settings.language is not None
        first = list(islice(documents(), 1)) if known else deciding(documents())
        if not first:
            raise InvalidInputError(
                f"{', '.join(one.path for one in self._inputs)}: no documents found."
            )
        return [text for one in first for text in one.texts if not known], str(reader.id_name)

    def _check_seen(self, tallies: Sequence[Tally]) -> None:
        """Raise InvalidInputError if no record has words, or a text field that was named."""
        if not any(one.n_terms for one in tallies):
            raise InvalidInputError("the documents have no words, so nothing can be indexed.")
        unseen = set.intersection(*(one.unseen for one in tallies))
        if unseen:
            raise InvalidInputError(
                f"no document has a field {' or '.join(map(repr, sorted(unseen)))}; name others."
            )


def _check_target(folder: Path) -> None:
    """Raise AlreadyExistsError unless a build can begin or continue in the folder."""
    if not folder.parent.is_dir():
        raise FileNotFoundError(f"the folder {folder.parent} does not exist; create it first.")
    if not folder.exists() and not folder.is_symlink():
        return
    if (folder / MANIFEST).exists() and not (folder / _WORK).exists():
        raise AlreadyExistsError(f"{folder} exists already; choose another name, or delete it.")
    if folder.is_file():
        raise AlreadyExistsError(f"{folder} exists and is a file; choose another name.")
    check_folder(folder)
    if not (folder / _WORK).exists() and any(one.name != LOCK_FILE for one in folder.iterdir()):
        raise AlreadyExistsError(f"{folder} exists and is no build of shards; choose another name.")


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of all documents in order; each iteration begins anew."""

    work: Path
    plan: BuildPlan

    def __iter__(self) -> Iterator[str]:
        for number in range(len(self.plan.chunks)):
            tally = Tally.open(self.work, self.plan, number)
            for _, document in tally.documents(slice(0, tally.n_docs)):
                yield document.shown


def _run_tasks(
    what: str,
    task: Callable[..., None],
    calls: Sequence[tuple[Any, ...]],
    *,
    jobs: int | None,
    report: Report,
) -> None:
    """Run a task for every tuple of arguments, in any order.

    Tasks that a killed worker did not finish are run again.

    Parameters
    ----------
    what : str
        Name of the step.
    task : callable
        Can be pickled; does nothing if its result exists.
    calls : sequence of tuples
    jobs : int or None
        See `joblib.Parallel`.
    report : callable
        Called with (what, done, total).

    Raises
    ------
    MissingDependencyError
        If joblib is not installed.
    BrokenExecutor
        If workers are killed again and again.
    """
    with needing("joblib", "shards", "Work in jobs"):
        from joblib import Parallel, delayed, effective_n_jobs

    threads = max(1, usable_cpus() // effective_n_jobs(jobs))
    report(what, 0, len(calls))
    left = set(range(len(calls)))
    for attempt in range(1, _ATTEMPTS + 1):
        work = (
            delayed(_in_threads)(threads, task, number, calls[number]) for number in sorted(left)
        )
        try:
            parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
        except ValueError:  # this backend returns all results together
            parallel = Parallel(n_jobs=jobs)
        try:
            for number in parallel(work):
                left.remove(number)
                report(what, len(calls) - len(left), len(calls))
            return
        except BrokenExecutor:
            if attempt == _ATTEMPTS:
                raise
            _logger.warning("A worker was killed; its tasks are run again.")


def _in_threads(threads: int, task: Callable[..., None], number: int, call: tuple[Any, ...]) -> int:
    with using_threads(threads):
        task(*call)
    return number
