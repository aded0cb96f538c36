"""Commands that change an index: add, delete, merge, refresh."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.conditions import Conditions
from softcosine.cli.options import (
    AnyIndex,
    EncoderCache,
    Encoding,
    Format,
    IdField,
    Inputs,
    KnownEncoder,
    Memory,
    Pattern,
    Refresh,
    Summary,
    TextFields,
    TypesOfColumns,
    Wait,
)
from softcosine.cli.output import console, counted, printable
from softcosine.cli.remote import is_served, served_index, written_there
from softcosine.errors import IndexLockedError, InvalidInputError, SoftCosineWarning
from softcosine.index.writer.lock import WRITER_TIMEOUT

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.cluster.opening import EitherIndex
    from softcosine.cluster.sharded_writer import ShardedWriter
    from softcosine.files import Fields
    from softcosine.index.search.searchable import Searchable
    from softcosine.index.writer.index_writer import IndexWriter

__all__ = [
    "add",
    "changing",
    "delete",
    "merge",
    "refresh",
    "show_change",
    "written",
]

_MEMORY = "1G"


def add(
    index: AnyIndex,
    inputs: Inputs,
    id_field: IdField = None,
    text_fields: TextFields = None,
    format: Format = None,
    types: TypesOfColumns = None,
    encoding: Encoding = "utf-8",
    pattern: Pattern = None,
    memory: Memory = _MEMORY,
    encoder: KnownEncoder = None,
    encoder_cache: EncoderCache = None,
    refresh: Refresh = None,
    wait: Wait = WRITER_TIMEOUT,
    as_json: Summary = False,
) -> None:
    """Add documents to an index, or replace documents of the same id.

      softcosine add faq.index new.jsonl
      softcosine add items.index more.csv --id sku --text title --text body --wait 60
      tail -n +2 log.txt | softcosine add log.index -

    'index' describes the file formats. All documents are added in one commit, or none; searches
    continue meanwhile. Documents without ids continue the running numbers of the index. New terms
    get their similar terms from the sources stored in the index. A column of CSV or TSV that the
    index has keeps the type of its values there: a cell that has another one is an error.

    If the index has an encoder, it reads the new documents; where it is not installed, 'encode'
    does so later.

    The documents for an index of a server need ids; they are sent in one request. Those for a
    sharded index need ids, too, and their new terms are not indexed.

    JSON: index, new, replaced, documents, terms, new_terms, segments, generation, bytes, seconds,
    types (of columns), note; bytes and note not of a server.
    """
    from softcosine.cli.failures import saying_how_to_go_on
    from softcosine.cli.meaning import how_to_complete
    from softcosine.cli.options import bytes_in
    from softcosine.cli.progress import Reporter
    from softcosine.cli.reading import Types, each_document, types_named

    started, n_bytes = time.perf_counter(), bytes_in(memory)
    columns = Types(types_named(types))

    def read(names: list[str], first_number: Callable[[], int], report: Report) -> Any:
        return each_document(
            inputs, fields=_fields(names, id_field, text_fields), format=format, encoding=encoding,
            pattern=pattern, types=columns, first_number=first_number,
            progress=lambda done: report("reading documents", done, None),
        )  # fmt: skip

    if is_served(index):
        own = {"memory": memory != _MEMORY, "encoder": encoder, "encoder_cache": encoder_cache}
        with (
            Reporter() as report,
            served_index(index, **own, wait=wait != WRITER_TIMEOUT) as served,
        ):
            known, changes, columns.index = served.info(), served.writer(), served
            names = [field["name"] for field in known["fields"]]
            for document in read(names, _no_number, report):
                changes.add(document.id, document.text, document.metadata)
            report("sending", 0, None)
            changed = changes.commit(refresh)
            n_terms = served.info()["terms"]
            facts = written_there(served, index, started) | {
                "new": changed.added,
                "replaced": changed.replaced,
                "terms": n_terms,
                "new_terms": n_terms - known["terms"],
                "types": columns.found,
            }
        _show_added(facts, str(columns), as_json)
        return
    with (
        Reporter() as report,
        saying_how_to_go_on(encoder_cache),
        warnings.catch_warnings(),
        changing(
            index, wait=wait, memory=n_bytes, progress=report, encoder=encoder,
            encoder_cache=encoder_cache,
        ) as (opened, writer),
    ):  # fmt: skip
        # Each batch warns; the note below is about all of them.
        warnings.filterwarnings("ignore", ".* (stay|get) .*coordinates", SoftCosineWarning)
        before, columns.index = _Size.of(opened), opened
        n_read = 0
        names = [field.name for field in opened.fields]
        for document in read(names, lambda: _next_number(opened), report):
            writer.add(document.id, document.text, document.metadata)
            n_read += 1
        report("committing", 0, None)
        writer.commit(refresh)
        after = _Size.of(opened)
    new = after.documents - before.documents
    facts = written(opened, index, started) | {
        "new": new,
        "replaced": n_read - new,
        "terms": after.terms,
        "new_terms": after.terms - before.terms,
        "types": columns.found,
        "note": how_to_complete(opened, index, encoder),
    }
    if facts["new_terms"] and opened.source is None and not opened.snapshot.settings.plain:
        no_source = "The index has no stored source, so new terms have no similar terms."
        facts["note"] = " ".join(filter(None, (no_source, facts["note"])))
    _show_added(facts, str(columns), as_json)


def delete(
    index: AnyIndex,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of documents.")] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="A file with one id a line; - for stdin."),
    ] = None,
    where: Conditions = None,
    missing_ok: Annotated[
        bool, typer.Option("--missing-ok", help="Ignore ids without a document.")
    ] = False,
    encoding: Encoding = "utf-8",
    refresh: Refresh = None,
    wait: Wait = WRITER_TIMEOUT,
    as_json: Summary = False,
) -> None:
    """Delete documents from an index.

      softcosine delete faq.index faq-17 faq-18
      softcosine delete faq.index --from gone.txt --missing-ok
      softcosine delete faq.index --where lang=de --where 'year<2020'
      softcosine dedupe faq.index --min 0.95 --keep first | softcosine delete faq.index --from -

    All documents are deleted in one commit, or none, such as when an id has no document. A later
    merge frees their disk space.

    JSON: index, deleted, missing, documents, segments, generation, bytes, seconds.
    """
    from softcosine.cli.conditions import read_where
    from softcosine.cli.progress import Reporter

    started, passing = time.perf_counter(), read_where(where)
    if not ids and source is None and passing is None:
        raise InvalidInputError(
            "there is nothing to delete; give ids, --from FILE with one id per line, or a filter "
            "by --where."
        )
    wanted = dict.fromkeys([*(ids or ()), *(_ids_in(source, encoding) if source else ())])
    if is_served(index):
        with served_index(index, wait=wait != WRITER_TIMEOUT) as served:
            changes = served.writer()
            for id in wanted:
                changes.delete(id, missing_ok=missing_ok)
            if passing is not None:
                changes.delete(where=passing)
            changed = changes.commit(refresh)
            facts = written_there(served, index, started) | {
                "deleted": changed.deleted, "missing": changed.missing
            }  # fmt: skip
        _show_deleted(facts, as_json)
        return
    with Reporter() as report, changing(index, wait=wait) as (opened, writer):
        n_deleted = 0
        for done, id in enumerate(wanted):
            n_deleted += writer.delete(id, missing_ok=missing_ok)
            report("deleting", done, len(wanted))
        n_missing = len(wanted) - n_deleted
        if passing is not None:
            n_deleted += writer.delete(where=passing)
        report("committing", 0, None)
        writer.commit(refresh)
    facts = written(opened, index, started) | {"deleted": n_deleted, "missing": n_missing}
    _show_deleted(facts, as_json)


def merge(
    index: AnyIndex,
    refresh: Refresh = None,
    memory: Memory = _MEMORY,
    wait: Wait = WRITER_TIMEOUT,
    as_json: Summary = False,
) -> None:
    """Merge the segments of an index into large ones, and free the space of deleted documents.

      softcosine merge faq.index --refresh

    Commits merge segments by a merge policy; use this command before a long time without changes,
    because fewer segments are searched faster. It needs disk space for a second copy. It checks the
    files, and merges nothing if one is damaged.

    JSON: index, segments_before, bytes_before, segments, bytes, documents, generation, seconds.
    """
    from softcosine.cli.maintenance import bytes_of
    from softcosine.cli.options import bytes_in
    from softcosine.cli.output import size
    from softcosine.cli.progress import Reporter

    started, n_bytes = time.perf_counter(), bytes_in(memory)
    if is_served(index):
        own = {"refresh": refresh, "memory": memory != _MEMORY, "wait": wait != WRITER_TIMEOUT}
        with served_index(index, **own) as served:
            n_before = served.info()["segments"]
            served.merge()
            facts = written_there(served, index, started) | {"segments_before": n_before}
        told = f"Merged {counted(n_before, 'segment')} into {facts['segments']:,}"
        show_change(facts, told, as_json)
        return
    with Reporter() as report, changing(index, wait=wait, memory=n_bytes) as (opened, writer):
        before = {"segments_before": opened.snapshot.n_segments, "bytes_before": bytes_of(index)}
        report("merging", 0, None)
        writer.merge()
        writer.commit(refresh)
    facts = written(opened, index, started) | before
    told = counted(before["segments_before"], "segment")
    show_change(
        facts,
        f"Merged {told} of {size(before['bytes_before'])} into {facts['segments']:,} of "
        f"{size(facts['bytes'])}",
        as_json,
    )


def refresh(
    index: AnyIndex,
    freeze: Annotated[
        bool | None,
        typer.Option(
            "--freeze/--thaw", help="Fix the terms and weights from now on, or release them."
        ),
    ] = None,
    wait: Wait = WRITER_TIMEOUT,
    as_json: Summary = False,
) -> None:
    """Update the document frequencies, and so the term weights, of an index.

      softcosine refresh faq.index
      softcosine refresh faq.index --freeze

    By default the term weights stay the same until a tenth of the documents has changed, so that
    small changes do not affect other scores. This command updates them now: it keeps the postings
    and computes the lengths of all documents again.

    A frozen index keeps its terms and weights when documents are added, so that its scores stay
    the same. New terms are not indexed.

    JSON: index, counted_before, documents, segments, generation, bytes, seconds.
    """
    from softcosine.cli.progress import Reporter

    started = time.perf_counter()
    if is_served(index):
        own = {"freeze": bool(freeze), "thaw": freeze is False, "wait": wait != WRITER_TIMEOUT}
        with served_index(index, **own) as served:
            served.writer().commit(refresh=True)
            facts = written_there(served, index, started)
        show_change(facts, "The term weights are up to date", as_json)
        return
    with Reporter() as report, changing(index, wait=wait) as (opened, writer):
        before, commit = opened.snapshot.statistics[0].n_docs, opened.commit
        report("counting", 0, None)
        if freeze is False:
            writer.thaw()
        writer.commit(refresh=True)
        if freeze:
            writer.freeze()
    facts = written(opened, index, started) | {"counted_before": before}
    told = f"Updated the term weights, last computed for {counted(before, 'document')}"
    if opened.commit == commit:
        told = "The term weights were up to date"
    elif freeze is not None:
        told = f"Updated the term weights and {'froze' if freeze else 'thawed'} the index"
    show_change(facts, told, as_json)


@contextmanager
def changing(
    path: Path,
    *,
    wait: float,
    memory: int = 1 << 30,
    progress: Report | None = None,
    encoder: str | None = None,
    encoder_cache: Path | None = None,
) -> Iterator[tuple[EitherIndex, IndexWriter | ShardedWriter]]:
    """Open an index or a sharded index, and its writer; changes not committed are rolled back.

    Parameters
    ----------
    path : Path
    wait : float
        Seconds to wait for another writer.
    memory : int
        Approximate bytes of buffered documents.
    progress : callable, optional
        Called with (task, done, total) by the writer; total may be None.
    encoder : str, optional
        Folder or name of the index's encoder, if it is not installed under its name.
    encoder_cache : Path, optional
        File of encoded texts.

    Yields
    ------
    SoftIndex or ShardedIndex, and its writer
        The index follows each commit, and starts from the last commit of other writers.

    Raises
    ------
    IndexLockedError
        If another writer still has the index open.
    """
    from softcosine.cli.meaning import open_index
    from softcosine.cluster.opening import is_sharded
    from softcosine.cluster.sharded_index import ShardedIndex

    with ExitStack() as stack:
        opened: EitherIndex
        if is_sharded(path):
            opened = stack.enter_context(
                ShardedIndex.open(path, encoder=encoder, encoder_cache=encoder_cache)
            )
        else:
            opened = open_index(path, encoder, encoder_cache)
        writer = _writer_of(opened, wait, memory=memory, progress=progress)
        stack.callback(writer.close)
        opened.refresh()
        yield opened, writer


def _writer_of(opened: EitherIndex, wait: float, **options: Any) -> Any:
    """Return a writer; the error if another one has the index open names the option to wait."""
    try:
        return opened.writer(timeout=wait, **options)
    except IndexLockedError as error:
        advice = "wait longer by --wait SECONDS"
        raise IndexLockedError(f"{str(error).rpartition(';')[0]}; {advice}.") from error


@dataclass(frozen=True, slots=True)
class _Size:
    documents: int
    terms: int

    @classmethod
    def of(cls, opened: Searchable) -> _Size:
        return cls(len(opened), len(opened.vocabulary))


def _fields(names: list[str], id_field: str | None, text_fields: list[str] | None) -> Fields:
    """Return the record fields that hold the texts of the index's fields."""
    from softcosine.cli.reading import fields_named

    if len(names) == 1:
        return fields_named(id_field, text_fields or (names if names != ["text"] else None))
    if text_fields:
        raise InvalidInputError(
            f"this index has the fields {', '.join(names)} and reads them by name; leave --text "
            "out."
        )
    return fields_named(id_field, names, separate=True)


def _show_added(facts: dict[str, Any], columns: str, as_json: bool) -> None:
    replaced = f", and replaced {facts['replaced']:,}" if facts["replaced"] else ""
    new, terms = counted(facts["new"], "new document"), counted(facts["new_terms"], "new term")
    show_change(facts, f"Added {new}{replaced}, with {terms}", as_json)
    if columns and not as_json:
        console().print(printable(columns), style="dim")


def _show_deleted(facts: dict[str, Any], as_json: bool) -> None:
    missing = f"; {facts['missing']:,} ids not found" if facts["missing"] else ""
    show_change(facts, f"Deleted {counted(facts['deleted'], 'document')}{missing}", as_json)


def _no_number(place: str = "a server") -> int:
    raise InvalidInputError(
        f"the documents have no ids, and those of {place} need some; choose their field by --id."
    )


def _next_number(opened: EitherIndex) -> int:
    """Return the highest numeric id plus one."""
    from softcosine.index.segment.stored_fields import StoredDocuments
    from softcosine.index.soft_index import SoftIndex

    if not isinstance(opened, SoftIndex):
        _no_number("a sharded index")

    highest = 0
    for segment in opened.snapshot.segments:
        documents = segment.documents
        for id in documents.all_ids() if isinstance(documents, StoredDocuments) else ():
            # Running numbers have fewer digits, and int() raises on very long ones.
            if id.isascii() and id.isdecimal() and len(id) < 20:
                highest = max(highest, int(id))
    return highest + 1


def _ids_in(source: str, encoding: str) -> Iterator[str]:
    from softcosine.cli.reading import ADVICE
    from softcosine.files import opened

    with opened(source, encoding, advice=ADVICE) as text:
        for _, line in text.lines():
            if id := line.rstrip("\n"):
                yield id


def written(opened: Searchable, path: Path, started: float) -> dict[str, Any]:
    """Return what the summary of every change of an index contains."""
    from softcosine.cli.maintenance import bytes_of

    return {
        "index": str(path),
        "documents": len(opened),
        "segments": opened.snapshot.n_segments,
        "generation": opened.snapshot.generation,
        "bytes": bytes_of(path),
        "seconds": time.perf_counter() - started,
    }


def show_change(facts: dict[str, Any], done: str, as_json: bool) -> None:
    """Print the summary of a change: what was done, and the note."""
    from softcosine.cli.output import duration, print_json

    if as_json:
        print_json(facts)
        return
    console().print(
        f"{done}, in {duration(facts['seconds'])}: {printable(facts['index'])} has "
        f"{counted(facts['documents'], 'document')}."
    )
    if facts.get("note"):
        console().print(facts["note"], style="dim")
