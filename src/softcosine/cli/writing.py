"""Commands that change an index: add, delete, merge, refresh, encode."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from softcosine.cli.derived import FromRequest
from softcosine.cli.failures import saying_how_to_go_on
from softcosine.cli.maintenance import bytes_of
from softcosine.cli.opening import (
    any_index,
    facts_of,
    how_to_complete,
    is_served,
    name_of,
    open_index,
    refuse,
)
from softcosine.cli.options import (
    AnyIndex,
    Encoder,
    EncoderCache,
    Encoding,
    Inputs,
    KnownEncoder,
    Meaning,
    MeaningSpace,
    Memory,
    Records,
    Refresh,
    Summary,
    Wait,
    bytes_in,
)
from softcosine.cli.output import console, counted, duration, print_json, printable, size
from softcosine.cli.progress import Reporter
from softcosine.cli.reading import ADVICE, Types, fields_named, types_named
from softcosine.errors import IndexLockedError, InvalidInputError, SoftCosineWarning
from softcosine.index.requests import FilterRequest
from softcosine.index.writer.lock import WRITER_TIMEOUT

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.client import RemoteIndex
    from softcosine.cluster.opening import EitherIndex
    from softcosine.files import Fields


_MEMORY = "1G"
_LEAST_RATED = 100  # documents; loading the encoder takes as long as reading fewer


def add(
    index: AnyIndex,
    inputs: Inputs,
    reading: Records,
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

    If the index has an encoder, it reads the new documents; where it is not installed, 'admin
    encode' does so later.

    The documents for an index of a server need ids; they are sent in one request. Those for a
    sharded index need ids, too, and their new terms are not indexed.

    JSON: index, new, replaced, documents, terms, new_terms, segments, generation, bytes, seconds,
    types (of columns), note; bytes and note not of a server.
    """
    started, columns, n_read = time.perf_counter(), Types(types_named(reading.types)), 0
    with (
        Reporter() as report,
        saying_how_to_go_on(encoder_cache),
        warnings.catch_warnings(),
        changing(index, wait, memory, report, encoder, encoder_cache) as (opened, writer),
    ):
        # Each batch warns; the note below is about all of them.
        warnings.filterwarnings("ignore", ".* (stay|get) .*coordinates", SoftCosineWarning)
        before, columns.index = _state(opened), opened
        documents = reading.documents(
            inputs, _fields(before["fields"], reading.id_field, reading.text_fields), report,
            types=columns, first_number=lambda: _next_number(opened),
        )  # fmt: skip
        for document in documents:
            writer.add(document.id, document.text, document.metadata)
            n_read += 1
        report("committing", 0, None)
        changed = writer.commit(refresh)
        after = _state(opened)
        facts = written(opened, index, started)
    new = after["documents"] - before["documents"]
    facts |= {
        "new": getattr(changed, "added", new),
        "replaced": getattr(changed, "replaced", n_read - new),
        "terms": after["terms"],
        "new_terms": after["terms"] - before["terms"],
        "types": columns.found,
    }
    if not is_served(index):
        facts["note"] = _note(cast("EitherIndex", opened), index, encoder, facts["new_terms"])
    replaced = f", and replaced {facts['replaced']:,}" if facts["replaced"] else ""
    added, terms = counted(facts["new"], "new document"), counted(facts["new_terms"], "new term")
    show_change(facts, f"Added {added}{replaced}, with {terms}", as_json)
    if str(columns) and not as_json:
        console().print(printable(str(columns)), style="dim")


def delete(
    index: AnyIndex,
    filters: Annotated[dict[str, Any], FromRequest(FilterRequest, only=("where",))],
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of documents.")] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="A file with one id a line; - for stdin."),
    ] = None,
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
    started, passing = time.perf_counter(), filters.get("where")
    if not ids and source is None and passing is None:
        raise InvalidInputError(
            "there is nothing to delete; give ids, --from FILE with one id per line, or a filter "
            "by --where."
        )
    wanted = dict.fromkeys([*(ids or ()), *(_ids_in(source, encoding) if source else ())])
    with Reporter() as report, changing(index, wait) as (opened, writer):
        n_deleted = 0
        for done, id in enumerate(wanted):
            n_deleted += writer.delete(id, missing_ok=missing_ok) or 0
            report("deleting", done, len(wanted))
        n_missing = len(wanted) - n_deleted
        if passing is not None:
            n_deleted += writer.delete(where=passing) or 0
        report("committing", 0, None)
        changed = writer.commit(refresh)
        facts = written(opened, index, started)
    facts |= {
        "deleted": getattr(changed, "deleted", n_deleted),
        "missing": getattr(changed, "missing", n_missing),
    }
    missing = f"; {facts['missing']:,} ids not found" if facts["missing"] else ""
    show_change(facts, f"Deleted {counted(facts['deleted'], 'document')}{missing}", as_json)


def merge(
    index: AnyIndex,
    refresh: Refresh = None,
    memory: Memory = _MEMORY,
    wait: Wait = WRITER_TIMEOUT,
    as_json: Summary = False,
) -> None:
    """Merge the segments of an index into large ones, and free the space of deleted documents.

      softcosine admin merge faq.index --refresh

    Commits merge segments by a merge policy; use this command before a long time without changes,
    because fewer segments are searched faster. It needs disk space for a second copy. It checks the
    files, and merges nothing if one is damaged.

    JSON: index, segments_before, bytes_before, segments, bytes, documents, generation, seconds.
    """
    started, served = time.perf_counter(), is_served(index)
    with Reporter() as report, changing(index, wait, memory, refresh=refresh) as (opened, writer):
        before = {"segments_before": _state(opened)["segments"]}
        report("merging", 0, None)
        if served:
            opened.merge()
        else:
            before["bytes_before"] = bytes_of(index)
            writer.merge()
            writer.commit(refresh)
        facts = written(opened, index, started) | before
    told = f"Merged {counted(before['segments_before'], 'segment')}"
    if served:
        show_change(facts, f"{told} into {facts['segments']:,}", as_json)
        return
    told += f" of {size(before['bytes_before'])} into {facts['segments']:,} of"
    show_change(facts, f"{told} {size(facts['bytes'])}", as_json)


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

      softcosine admin refresh faq.index
      softcosine admin refresh faq.index --freeze

    By default the term weights stay the same until a tenth of the documents has changed, so that
    small changes do not affect other scores. This command updates them now: it keeps the postings
    and computes the lengths of all documents again.

    A frozen index keeps its terms and weights when documents are added, so that its scores stay
    the same. New terms are not indexed.

    JSON: index, counted_before, documents, segments, generation, bytes, seconds.
    """
    started = time.perf_counter()
    with (
        Reporter() as report,
        changing(index, wait, freeze=bool(freeze), thaw=freeze is False) as (opened, writer),
    ):
        before, served = _state(opened), is_served(index)
        report("counting", 0, None)
        if freeze is False:
            writer.thaw()
        writer.commit(refresh=True)
        if freeze:
            writer.freeze()
        facts = written(opened, index, started)
    told = "Updated the term weights"
    if served or facts["generation"] == before["generation"]:
        told = f"The term weights {'are' if served else 'were'} up to date"
    elif freeze is not None:
        told += f" and {'froze' if freeze else 'thawed'} the index"
    else:
        told += f", last computed for {counted(before['counted'], 'document')}"
    if not served:
        facts["counted_before"] = before["counted"]
    show_change(facts, told, as_json)


def encode(
    index: AnyIndex,
    encoder: Encoder = None,
    encoder_cache: EncoderCache = None,
    meaning: Meaning = None,
    meaning_space: MeaningSpace = None,
    wait: Wait = WRITER_TIMEOUT,
    as_json: Summary = False,
) -> None:
    """Encode the documents of an index that no encoder has read yet.

      softcosine admin encode faq.index --encoder minilm
      softcosine admin encode faq.index
      softcosine admin encode faq.index --encoder-cache faq.cache
      softcosine admin encode faq.index --meaning 30

    The first call gives an index coordinates of meaning, as 'index --encoder' does. Later calls
    encode documents that were added without the encoder. The command reads the stored texts, so it
    cannot be used after 'index --no-texts'. All documents are encoded in one commit, or none.
    --encoder-cache keeps encoded texts, so that an interrupted run continues where it was.
    --meaning stores another default weight of meaning in the index.

    JSON: index, encoder, new (documents encoded by this call), encoded (of all), documents,
    per_second, weights (of meaning in each ranking), segments, generation, bytes, seconds.
    """
    started = time.perf_counter()
    if is_served(index):
        refuse(encoder_cache=encoder_cache, meaning_space=meaning_space)
    with (
        Reporter() as report,
        saying_how_to_go_on(encoder_cache),
        changing(index, wait, progress=report) as (opened, writer),
    ):
        if is_served(index):
            report("encoding", 0, None)
            n_new = opened.encode(encoder, meaning=meaning)["result"]["encoded"]
        else:
            n_new = _encode(opened, writer, index, encoder, encoder_cache, meaning, meaning_space)
        per_second, facts = n_new / (time.perf_counter() - started), facts_of(opened)
        assert facts is not None
        name, told = facts["encoder"], written(opened, index, started)
        n_left = told["documents"] - facts["encoded"]
    told |= {
        "encoder": name, "new": n_new, "encoded": facts["encoded"], "per_second": per_second,
        "weights": facts["weights"],
        "note": f"{counted(n_left, 'document')} without text: nothing to encode." if n_left else "",
    }  # fmt: skip
    done = f"Encoded {counted(n_new, 'document')} by {name}"
    if n_new >= _LEAST_RATED:
        done += f", {per_second:,.0f} a second"
    if not n_new:
        done = f"Nothing to encode: every text has coordinates by {name}"
    if meaning is not None and not is_served(index):
        done += f"; the weight of meaning in {opened.ranking} is {meaning:g}"
    show_change(told, done, as_json)


def _encode(
    opened: Any,
    writer: Any,
    index: Path,
    encoder: str | None,
    encoder_cache: Path | None,
    meaning: float | None,
    meaning_space: Path | None,
) -> int:
    first = opened.snapshot.meaning is None
    if first and encoder is None:
        raise InvalidInputError(
            f"{index} has no encoder yet; choose one, such as --encoder minilm."
        )
    if not opened.snapshot.settings.texts:
        raise InvalidInputError(
            f"{index} does not store the texts that an encoder would read (--no-texts); build "
            "it again by 'index --encoder'."
        )
    n_new = writer.encode(
        encoder, cache=encoder_cache, meaning=meaning, meaning_space=meaning_space
    )
    if n_new or first or meaning is not None:
        writer.commit()
    return int(n_new)


@contextmanager
def changing(
    path: Path,
    wait: float,
    memory: str = _MEMORY,
    progress: Report | None = None,
    encoder: str | None = None,
    encoder_cache: Path | None = None,
    **of_folders: object,
) -> Iterator[tuple[Any, Any]]:
    """Open an index, a sharded one or one of a server, and its writer; see `any_index`.

    Changes that are not committed are rolled back. The index follows each commit, and starts from
    the last commit of other writers.

    Raises
    ------
    IndexLockedError
        If another writer still has the index open after `wait` seconds.
    """
    from softcosine.cluster.opening import is_sharded
    from softcosine.cluster.sharded_index import ShardedIndex

    if is_served(path):
        refuse(
            memory=memory != _MEMORY, encoder=encoder, encoder_cache=encoder_cache, **of_folders,
            wait=wait != WRITER_TIMEOUT,
        )  # fmt: skip
        with any_index(path) as served:
            yield served, cast("RemoteIndex", served).writer()
        return
    with ExitStack() as stack:
        opened: EitherIndex
        if is_sharded(path):
            opened = stack.enter_context(
                ShardedIndex.open(path, encoder=encoder, encoder_cache=encoder_cache)
            )
        else:
            opened = open_index(path, encoder, encoder_cache)
        try:
            writer = opened.writer(timeout=wait, memory=bytes_in(memory), progress=progress)
        except IndexLockedError as error:
            advice = "wait longer by --wait SECONDS"
            raise IndexLockedError(f"{str(error).rpartition(';')[0]}; {advice}.") from error
        stack.callback(writer.close)
        opened.refresh()
        yield opened, writer


def _state(opened: Any) -> dict[str, Any]:
    """Return the sizes of an index and the names of its fields."""
    from softcosine.index.search.searchable import Searchable

    if not isinstance(opened, Searchable):
        facts = opened.info()
        return {**facts, "fields": [own["name"] for own in facts["fields"]]}
    snapshot = opened.snapshot
    return {
        "documents": len(opened), "terms": len(opened.vocabulary), "segments": snapshot.n_segments,
        "generation": snapshot.generation, "fields": [own.name for own in opened.fields],
        "counted": snapshot.statistics[0].n_docs,
    }  # fmt: skip


def _note(opened: EitherIndex, index: Path, encoder: str | None, n_new_terms: int) -> str:
    note = how_to_complete(opened, index, encoder)
    if n_new_terms and opened.source is None and not opened.snapshot.settings.plain:
        no_source = "The index has no stored source, so new terms have no similar terms."
        note = " ".join(filter(None, (no_source, note)))
    return note


def _fields(names: list[str], id_field: str | None, text_fields: list[str] | None) -> Fields:
    """Return the record fields that hold the texts of the index's fields."""
    if len(names) == 1:
        return fields_named(id_field, text_fields or (names if names != ["text"] else None))
    if text_fields:
        raise InvalidInputError(
            f"this index has the fields {', '.join(names)} and reads them by name; leave --text "
            "out."
        )
    return fields_named(id_field, names, separate=True)


def _next_number(opened: EitherIndex | RemoteIndex) -> int:
    """Return the highest numeric id plus one."""
    from softcosine.index.segment.stored_fields import StoredDocuments
    from softcosine.index.soft_index import SoftIndex

    if not isinstance(opened, SoftIndex):
        place = "a sharded index" if hasattr(opened, "snapshot") else "a server"
        raise InvalidInputError(
            f"the documents have no ids, and those of {place} need some; choose their field by "
            "--id."
        )

    highest = 0
    for segment in opened.snapshot.segments:
        documents = segment.documents
        for id in documents.all_ids() if isinstance(documents, StoredDocuments) else ():
            # Running numbers have fewer digits, and int() raises on very long ones.
            if id.isascii() and id.isdecimal() and len(id) < 20:
                highest = max(highest, int(id))
    return highest + 1


def _ids_in(source: str, encoding: str) -> Iterator[str]:
    from softcosine.files import opened

    with opened(source, encoding, advice=ADVICE) as text:
        for _, line in text.lines():
            if id := line.rstrip("\n"):
                yield id


def written(opened: Any, path: Path, started: float) -> dict[str, Any]:
    """Return what the summary of every change of an index contains."""
    state = _state(opened)
    facts = {key: state[key] for key in ("documents", "segments", "generation")}
    own = {} if is_served(path) else {"bytes": bytes_of(path)}
    return {"index": name_of(path), **facts, **own, "seconds": time.perf_counter() - started}


def show_change(facts: dict[str, Any], done: str, as_json: bool) -> None:
    """Print the summary of a change: what was done, and the note."""
    if as_json:
        print_json(facts)
        return
    console().print(
        f"{done}, in {duration(facts['seconds'])}: {printable(facts['index'])} has "
        f"{counted(facts['documents'], 'document')}."
    )
    if facts.get("note"):
        console().print(facts["note"], style="dim")
