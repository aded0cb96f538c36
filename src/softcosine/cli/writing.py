"""``softcosine add``, ``delete``, ``merge``, ``refresh``, ``shard``, ``join``: indexes changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.conditions import Conditions
from softcosine.cli.options import (
    Encoding,
    Format,
    IdField,
    Index,
    Inputs,
    Memory,
    Pattern,
    Refresh,
    Summary,
    TextFields,
    Wait,
)
from softcosine.cli.output import counted, printable
from softcosine.errors import IndexLockedError, InvalidInputError
from softcosine.index.writer.lock import WRITER_TIMEOUT

if TYPE_CHECKING:
    from softcosine.files import Fields
    from softcosine.index.soft_index import SoftIndex
    from softcosine.index.writer.index_writer import IndexWriter

__all__ = ["add", "delete", "join", "merge", "refresh", "shard", "writing"]


def add(
    index: Index,
    inputs: Inputs,
    id_field: IdField = None,
    text_fields: TextFields = None,
    format: Format = None,
    encoding: Encoding = "utf-8",
    pattern: Pattern = None,
    memory: Memory = "1G",
    refresh: Refresh = None,
    wait: Wait = WRITER_TIMEOUT,
    as_json: Summary = False,
) -> None:
    """Add documents to an index; those with an id that is there take that one's place.

      softcosine add faq.index new.jsonl
      softcosine add items.index more.csv --id sku --text title --text body --wait 60
      tail -n +2 log.txt | softcosine add log.index -

    Files are read as 'index' reads them. All documents are added, or none: searches see them once
    the last one is written, and go on meanwhile. Without ids, running numbers go on where those of
    the index end. New words get their similar words from the sources that the index keeps.

    JSON: index, new, replaced, documents, terms, new_terms, segments, generation, bytes, seconds,
    note.
    """
    from softcosine.cli.options import bytes_in
    from softcosine.cli.progress import Reporter
    from softcosine.cli.reading import each_document

    started, n_bytes = time.perf_counter(), bytes_in(memory)
    with Reporter() as report, writing(index, wait=wait, memory=n_bytes) as (opened, writer):
        before = _Size.of(opened)
        n_read = 0
        for document in each_document(
            inputs,
            fields=_fields(opened, id_field, text_fields),
            format=format,
            encoding=encoding,
            pattern=pattern,
            first_number=lambda: _next_number(opened),
            progress=lambda done: report("reading documents", done, None),
        ):
            writer.add(document.id, document.text, document.metadata)
            n_read += 1
        report("committing", 0, None)
        writer.commit(refresh)
        after = _Size.of(opened)
    new = after.documents - before.documents
    facts = _facts(opened, index, started) | {
        "new": new,
        "replaced": n_read - new,
        "terms": after.terms,
        "new_terms": after.terms - before.terms,
        "note": "",
    }
    if facts["new_terms"] and opened.source is None and not opened.snapshot.settings.plain:
        facts["note"] = "The index keeps no source, so that new terms are similar to no other."
    replaced = f", and replaced {facts['replaced']:,}" if facts["replaced"] else ""
    _tell(
        facts,
        f"Added {counted(new, 'new document')}{replaced}, with "
        f"{counted(facts['new_terms'], 'new term')}",
        as_json,
    )


def delete(
    index: Index,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of documents.")] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="A file with one id a line; - for stdin."),
    ] = None,
    where: Conditions = None,
    missing_ok: Annotated[
        bool, typer.Option("--missing-ok", help="It is no error if there is none of an id.")
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

    All are deleted, or none, as where there is no document of an id. Their room on disk is freed
    by a later merge.

    JSON: index, deleted, missing, documents, segments, generation, bytes, seconds.
    """
    from softcosine.cli.conditions import read_where
    from softcosine.cli.progress import Reporter

    started, passing = time.perf_counter(), read_where(where)
    if not ids and source is None and passing is None:
        raise InvalidInputError(
            "there is nothing to delete; name ids, a file with one id a line by --from FILE, or a "
            "filter by --where."
        )
    wanted = dict.fromkeys([*(ids or ()), *(_ids_in(source, encoding) if source else ())])
    with Reporter() as report, writing(index, wait=wait) as (opened, writer):
        n_deleted = 0
        for done, id in enumerate(wanted):
            n_deleted += writer.delete(id, missing_ok=missing_ok)
            report("deleting", done, len(wanted))
        n_missing = len(wanted) - n_deleted
        if passing is not None:
            n_deleted += writer.delete(where=passing)
        report("committing", 0, None)
        writer.commit(refresh)
    facts = _facts(opened, index, started) | {"deleted": n_deleted, "missing": n_missing}
    missing = f"; {facts['missing']:,} of the ids were not there" if facts["missing"] else ""
    _tell(facts, f"Deleted {counted(n_deleted, 'document')}{missing}", as_json)


def merge(
    index: Index,
    refresh: Refresh = None,
    memory: Memory = "1G",
    wait: Wait = WRITER_TIMEOUT,
    as_json: Summary = False,
) -> None:
    """Join the segments of an index into full ones, and free the room of deleted documents.

      softcosine merge faq.index --refresh

    Commits join segments on their own, so this is for an index that is to be searched for long as
    it is: fewer segments are searched faster. It needs room for a second copy meanwhile. Files that
    have changed since they were written are found, and nothing is merged then.

    JSON: index, segments_before, bytes_before, segments, bytes, documents, generation, seconds.
    """
    from softcosine.cli.maintenance import bytes_of
    from softcosine.cli.options import bytes_in
    from softcosine.cli.output import size
    from softcosine.cli.progress import Reporter

    started, n_bytes = time.perf_counter(), bytes_in(memory)
    with Reporter() as report, writing(index, wait=wait, memory=n_bytes) as (opened, writer):
        before = {"segments_before": _n_segments(opened), "bytes_before": bytes_of(index)}
        report("merging", 0, None)
        writer.merge()
        writer.commit(refresh)
    facts = _facts(opened, index, started) | before
    told = counted(before["segments_before"], "segment")
    _tell(
        facts,
        f"Merged {told} of {size(before['bytes_before'])} into {facts['segments']:,} of "
        f"{size(facts['bytes'])}",
        as_json,
    )


def refresh(
    index: Index,
    freeze: Annotated[
        bool | None,
        typer.Option(
            "--freeze/--thaw", help="Never count anew from then on, or do so again [as it was]."
        ),
    ] = None,
    wait: Wait = WRITER_TIMEOUT,
    as_json: Summary = False,
) -> None:
    """Count anew in how many documents words stand, for their weights.

      softcosine refresh faq.index
      softcosine refresh faq.index --freeze

    Weights stay as they were counted until a tenth of the documents has changed, so that small
    changes leave the scores of all others alone; this brings them up to date. Postings stay as
    they are, and the lengths of all documents are computed anew.

    A frozen index keeps its weights and its words whatever is added, so that its scores stay those
    of its shards (see 'shard'). New words are not indexed.

    JSON: index, counted_before, documents, segments, generation, bytes, seconds.
    """
    from softcosine.cli.progress import Reporter

    started = time.perf_counter()
    with Reporter() as report, writing(index, wait=wait) as (opened, writer):
        before, generation = opened.snapshot.statistics[0].n_docs, writer.generation
        report("counting", 0, None)
        if freeze is False:
            writer.thaw()
        writer.commit(refresh=True)
        if freeze:
            writer.freeze()
    facts = _facts(opened, index, started) | {"counted_before": before}
    told = f"Counted anew, for the first time since there were {counted(before, 'document')}"
    if facts["generation"] == generation:
        told = "Nothing was to be counted anew"
    elif freeze is not None:
        told = f"Counted anew and {'frozen' if freeze else 'thawed'}"
    _tell(facts, told, as_json)


def shard(
    index: Index,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="SHARD", help="The folder to write.")
    ],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an index of that name.")
    ] = False,
    as_json: Summary = False,
) -> None:
    """Make an index without documents that has the words and weights of another, frozen.

      softcosine refresh all.index --freeze
      softcosine shard all.index -o one.index
      softcosine add one.index one.jsonl
      softcosine join all.index one.index two.index

    'add' fills it, on any machine, and its documents get the scores that they would have in the
    other index, as long as that stays frozen. Words that the other index lacks are not indexed.

    JSON: index, documents, segments, generation, bytes, seconds.
    """
    from softcosine.index.soft_index import SoftIndex

    started = time.perf_counter()
    made = SoftIndex.open(index).shard(output, overwrite=overwrite)
    _tell(_facts(made, output, started), f"Made a shard of {printable(str(index))}", as_json)


def join(
    index: Index,
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD...", help="Other indexes.")],
    wait: Wait = WRITER_TIMEOUT,
    as_json: Summary = False,
) -> None:
    """Add all documents of shards to an index, by their files; nothing is analysed again.

      softcosine join all.index one.index two.index

    The shards are indexes of one epoch, as 'shard' makes them ('info' shows it); others are
    refused. Files are shared by hard links where the file system can. A document takes the place
    of that with the same id, here or in a shard named before. All are added, or none; the shards
    stay as they are, and may be deleted.

    JSON: index, joined, documents, segments, generation, bytes, seconds.
    """
    from softcosine.cli.progress import Reporter

    started = time.perf_counter()
    with Reporter() as report, writing(index, wait=wait) as (opened, writer):
        report("joining", 0, None)
        n_docs = writer.add_segments(shards)
        writer.commit()
    facts = _facts(opened, index, started) | {"joined": n_docs}
    _tell(facts, f"Joined {counted(n_docs, 'document')}", as_json)


@contextmanager
def writing(
    path: Path, *, wait: float, memory: int = 1 << 30
) -> Iterator[tuple[SoftIndex, IndexWriter]]:
    """Open an index for writing; what was not committed is undone at the end.

    Parameters
    ----------
    path : Path
    wait : float
        Seconds to wait for another writer.
    memory : int
        Bytes that documents in work may take, about.

    Yields
    ------
    SoftIndex, IndexWriter
        The index sees each commit, and what others committed before.

    Raises
    ------
    IndexLockedError
        If another writer has the index open still.
    """
    from softcosine.index.soft_index import SoftIndex

    opened = SoftIndex.open(path)
    try:
        writer = opened.writer(timeout=wait, memory=memory)
    except IndexLockedError as error:
        advice = "wait longer by --wait SECONDS"
        raise IndexLockedError(f"{str(error).rpartition(';')[0]}; {advice}.") from error
    try:
        opened.refresh()
        yield opened, writer
    finally:
        writer.close()


@dataclass(frozen=True, slots=True)
class _Size:
    documents: int
    terms: int

    @classmethod
    def of(cls, opened: SoftIndex) -> _Size:
        return cls(len(opened), len(opened.vocabulary))


def _fields(opened: SoftIndex, id_field: str | None, text_fields: list[str] | None) -> Fields:
    """Return where the texts of an index's fields stand."""
    from softcosine.cli.reading import fields_named

    names = tuple(field.name for field in opened.fields)
    if len(names) == 1:
        return fields_named(id_field, text_fields or (names if names != ("text",) else None))
    if text_fields:
        raise InvalidInputError(
            f"this index has the fields {', '.join(names)}, each a space of its own, which are "
            "read by these names; leave --text out."
        )
    return fields_named(id_field, names, separate=True)


def _next_number(opened: SoftIndex) -> int:
    """Return the number after the highest id that is one."""
    from softcosine.index.segment.stored_fields import StoredDocuments

    highest = 0
    for segment in opened.snapshot.segments:
        documents = segment.documents
        for id in documents.all_ids() if isinstance(documents, StoredDocuments) else ():
            # No running number has more digits; Python refuses to read very long ones.
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


def _n_segments(opened: SoftIndex) -> int:
    return sum(segment.n_docs > 0 for segment in opened.snapshot.segments)


def _facts(opened: SoftIndex, path: Path, started: float) -> dict[str, Any]:
    from softcosine.cli.maintenance import bytes_of

    return {
        "index": str(path),
        "documents": len(opened),
        "segments": _n_segments(opened),
        "generation": opened.snapshot.generation,
        "bytes": bytes_of(path),
        "seconds": time.perf_counter() - started,
    }


def _tell(facts: dict[str, Any], done: str, as_json: bool) -> None:
    from softcosine.cli.output import console, duration, print_json

    if as_json:
        print_json(facts)
        return
    console().print(
        f"{done}, in {duration(facts['seconds'])}: {printable(facts['index'])} has "
        f"{counted(facts['documents'], 'document')}."
    )
    if facts.get("note"):
        console().print(facts["note"], style="dim")
