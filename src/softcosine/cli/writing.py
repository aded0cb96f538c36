"""Commands that change an index: add, delete, merge, refresh, encode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from softcosine.cli.derived import FromRequest, argument, option
from softcosine.cli.failures import saying_how_to_go_on
from softcosine.cli.maintenance import bytes_of
from softcosine.cli.opening import (
    any_index,
    facts_of,
    is_served,
    name_of,
    open_searchable,
    refuse,
)
from softcosine.cli.options import (
    AnyIndex,
    EncoderCache,
    Encoding,
    Index,
    Inputs,
    KnownEncoder,
    Memory,
    Records,
    Refresh,
    Summary,
    Wait,
    bytes_in,
)
from softcosine.cli.output import counted, duration, print_result, size
from softcosine.cli.progress import Reporter
from softcosine.cli.reading import Types, fields_named, lines_in, types_named
from softcosine.errors import IndexLockedError, InvalidInputError
from softcosine.index.directory.lock import WRITER_TIMEOUT
from softcosine.index.options import IndexOptions
from softcosine.index.requests import FilterRequest

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.client import RemoteIndex
    from softcosine.cluster.opening import EitherIndex
    from softcosine.files import Fields


_MEMORY = "1G"
_NO_SOURCE = "The index has no stored source, so new terms have no similar terms."
_ENCODING = FromRequest(
    IndexOptions, only=("encoder", "encoder_cache", "meaning", "meaning_space"),
    defaults={"encoder": None},
)  # fmt: skip
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
      softcosine add items.index more.csv --wait 60
      tail -n +2 log.txt | softcosine add log.index -

    'index' describes the file formats; id and text are those that 'index' chose by --id and --text,
    unless you name others. All documents are added in one commit, or none; searches
    continue meanwhile. Documents without ids continue the running numbers of the index. New terms
    get their similar terms from the sources stored in the index. A column of CSV or TSV that the
    index has keeps the type of its values there: a cell that has another one is an error.

    If the index has an encoder, it reads the new documents; it must be installed.

    The documents for an index of a server need ids; they are sent in one request. Those for a
    sharded index need ids, too, and their new terms are not indexed.

    JSON: index, new, replaced, documents, terms, new_terms, segments, generation, bytes (not of a
    server), seconds, types (of columns), note.
    """
    columns, n_read = Types(types_named(reading.types)), 0
    with (
        Reporter() as report,
        saying_how_to_go_on(encoder_cache),
        changing(index, wait, memory, report, encoder, encoder_cache) as (opened, writer),
    ):
        before, columns.index = opened.info(), opened
        fields, first = _fields(before, reading), partial(_next_number, opened)
        documents = reading.documents(inputs, fields, report, types=columns, first_number=first)
        for document in documents:
            writer.add(document.id, document.text, document.metadata)
            n_read += 1
        report("committing", 0, None)
        changed = writer.commit(refresh)
        facts, n_terms = written(opened, index, report), opened.info()["terms"]
        unknown = not is_served(index) and opened.source is None and n_terms > before["terms"]
        plain = unknown and opened.snapshot.settings.plain
    new = getattr(changed, "added", facts["documents"] - before["documents"])
    replaced = getattr(changed, "replaced", n_read - new)
    facts |= {
        "new": new, "replaced": replaced, "terms": n_terms, "new_terms": n_terms - before["terms"],
        "types": columns.found, "note": _NO_SOURCE if unknown and not plain else "",
    }  # fmt: skip
    done = (
        f"Added {counted(new, 'new document')}{f', and replaced {replaced:,}' if replaced else ''}"
    )
    show_change(
        facts, f"{done}, with {counted(facts['new_terms'], 'new term')}", as_json, str(columns)
    )


def delete(
    index: AnyIndex,
    filters: Annotated[dict[str, Any], FromRequest(FilterRequest, only=("where",))],
    ids: Annotated[list[str] | None, argument("ID", "Ids of documents.")] = None,
    source: str | None = option("--from FILE", "A file with one id a line; - for stdin.", None),
    missing_ok: bool = option("--missing-ok", "Ignore ids without a document.", False),
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
    passing = filters.get("where")
    if not ids and source is None and passing is None:
        raise InvalidInputError("nothing to delete; give ids, --from FILE, or a filter by --where.")
    wanted = dict.fromkeys([*(ids or ()), *(lines_in(source, encoding) if source else ())])
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
        facts = written(opened, index, report)
    n_deleted = getattr(changed, "deleted", n_deleted)
    n_missing = getattr(changed, "missing", n_missing)
    missing = f"; {n_missing:,} ids not found" if n_missing else ""
    facts |= {"deleted": n_deleted, "missing": n_missing}
    show_change(facts, f"Deleted {counted(n_deleted, 'document')}{missing}", as_json)


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
    with Reporter() as report, changing(index, wait, memory, refresh=refresh) as (opened, writer):
        before = written(opened, index, report)
        report("merging", 0, None)
        if is_served(index):
            opened.merge()
        else:
            writer.merge()
            writer.commit(refresh)
        facts = written(opened, index, report)
    sizes = [f" of {size(one['bytes'])}" if "bytes" in one else "" for one in (before, facts)]
    facts |= {f"{name}_before": before[name] for name in ("segments", "bytes") if name in before}
    told = f"Merged {counted(before['segments'], 'segment')}{sizes[0]} into {facts['segments']:,}"
    show_change(facts, f"{told}{sizes[1]}", as_json)


def refresh(
    index: AnyIndex,
    freeze: bool | None = option("--freeze/--thaw", "Fix terms and weights, or undo it.", None),
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
    with (
        Reporter() as report,
        changing(index, wait, freeze=bool(freeze), thaw=freeze is False) as (opened, writer),
    ):
        before = opened.info()
        report("counting", 0, None)
        if freeze is False:
            writer.thaw()
        writer.commit(refresh=True)
        if freeze:
            writer.freeze()
        facts = written(opened, index, report) | {"counted_before": before["counted"]}
    told = "Updated the term weights"
    if facts["generation"] == before["generation"]:
        told = "The term weights were up to date"
    elif freeze is not None:
        told += f" and {'froze' if freeze else 'thawed'} the index"
    else:
        told += f", last computed for {counted(before['counted'], 'document')}"
    show_change(facts, told, as_json)


def encode(
    index: Index,
    options: Annotated[dict[str, Any], _ENCODING],
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
    with (
        Reporter() as report,
        saying_how_to_go_on(cache := options.pop("encoder_cache", None)),
        changing(index, wait, progress=report) as (opened, writer),
    ):
        n_new = writer.encode(options.pop("encoder", None), cache=cache, **options)
        writer.commit()
        per_second, facts = n_new / report.seconds, written(opened, index, report)
        made, ranking = facts_of(opened), opened.info()["ranking"]
        assert made is not None
    n_left = facts["documents"] - made["encoded"]
    facts |= {
        "encoder": made["encoder"], "new": n_new, "encoded": made["encoded"],
        "per_second": per_second, "weights": made["weights"],
        "note": f"{counted(n_left, 'document')} without text: nothing to encode." if n_left else "",
    }  # fmt: skip
    done = f"Encoded {counted(n_new, 'document')} by {made['encoder']}"
    if n_new >= _LEAST_RATED:
        done += f", {per_second:,.0f} a second"
    if not n_new:
        done = f"Nothing to encode: every text has coordinates by {made['encoder']}"
    if "meaning" in options:
        done += f"; the weight of meaning in {ranking} is {options['meaning']:g}"
    show_change(facts, done, as_json)


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
    if is_served(path):
        encoders = {"encoder": encoder, "encoder_cache": encoder_cache}
        refuse(memory=memory != _MEMORY, **encoders, **of_folders, wait=wait != WRITER_TIMEOUT)
        with any_index(path) as served:
            yield served, cast("RemoteIndex", served).writer()
        return
    with ExitStack() as stack:
        opened: Any = open_searchable(path, encoder, encoder_cache=encoder_cache)
        if hasattr(opened, "close"):
            stack.callback(opened.close)
        try:
            writer = opened.writer(timeout=wait, memory=bytes_in(memory), progress=progress)
        except IndexLockedError as error:
            advice = "wait longer by --wait SECONDS"
            raise IndexLockedError(f"{str(error).rpartition(';')[0]}; {advice}.") from error
        stack.callback(writer.close)
        opened.refresh()
        yield opened, writer


def _fields(index: dict[str, Any], reading: Records) -> Fields:
    """Return the record fields of id and texts: those given, else those that made the index."""
    names = [own["name"] for own in index["fields"]]
    made = index.get("records") or {}  # servers of earlier versions do not say
    id = reading.id_field or made.get("id")
    if len(names) == 1:
        texts = reading.text_fields or made.get("text")
        return fields_named(id, texts or (names if names != ["text"] else None))
    if reading.text_fields:
        raise InvalidInputError(f"this index has the fields {', '.join(names)}; leave --text out.")
    return fields_named(id, names, separate=True)


def _next_number(opened: EitherIndex | RemoteIndex) -> int:
    """Return the highest numeric id plus one."""
    from softcosine.index.soft_index import SoftIndex

    if not isinstance(opened, SoftIndex):
        place = "a sharded index" if hasattr(opened, "snapshot") else "a server"
        raise InvalidInputError(
            f"documents have no ids, and those of {place} need some; choose their field by --id."
        )

    # Running numbers have fewer digits, and int() raises on very long ones.
    numbers = (
        int(id)
        for segment in opened.snapshot.segments
        for id in segment.documents.all_ids()
        if id.isascii() and id.isdecimal() and len(id) < 20
    )
    return max(numbers, default=0) + 1


def written(opened: Any, path: Path, report: Reporter) -> dict[str, Any]:
    """Return what the summary of every change of an index contains."""
    state = opened.info()
    facts = {key: state[key] for key in ("documents", "segments", "generation")}
    own = {} if is_served(path) else {"bytes": bytes_of(path)}
    return {"index": name_of(path), **facts, **own, "seconds": report.seconds}


def show_change(facts: dict[str, Any], done: str, as_json: bool, *notes: str) -> None:
    """Print the summary of a change: what was done, and notes."""
    n_docs = counted(facts["documents"], "document")
    told = f"{done}, in {duration(facts['seconds'])}: {facts['index']} has {n_docs}."
    print_result(facts, as_json, told, facts.get("note", ""), *notes)
