"""Searches of many queries whose hits go into a file, in blocks.

Queries are written to a folder beside the file first, block by block. Each block is then a task,
which this process or others run, and leaves its rows in the folder; at the end they are joined into
the file. So a search that was stopped continues, and the file has the same bytes however it was
made.
"""

from __future__ import annotations

import json
import pickle
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from msgspec import structs

from softcosine._progress import Progress
from softcosine._tasks import finished_tasks
from softcosine._textio import ADVICE
from softcosine._validation import check_list, check_whole
from softcosine.errors import (
    AlreadyExistsError,
    CommitNotFoundError,
    DeadlineExceededError,
    InvalidInputError,
    MissingDependencyError,
)
from softcosine.files import Fields, RecordReader, read_records
from softcosine.files.trec_run import check_trec_ids, trec_run
from softcosine.index.blocks import BlockFolder
from softcosine.index.query.query_vectors import Query
from softcosine.index.requests import SearchOptions
from softcosine.index.search.execution import Search
from softcosine.storage import checked_path, naming_a_full_disk, sync, written_beside

if TYPE_CHECKING:
    from softcosine.index.encoding import IndexEncoder

__all__ = ["FORMATS", "read_queries", "with_ids", "write_hits"]

_BLOCK = 1024  # queries


class _Index(Protocol):
    """What is needed of an index; see `Searchable`."""

    @property
    def commit(self) -> str: ...

    @property
    def encoder(self) -> IndexEncoder | None: ...

    @property
    def _given_source(self) -> bool: ...

    def _search(self, request: SearchOptions) -> Search: ...


@dataclass(frozen=True, slots=True)
class _Found:
    """The hits of a query: ids and scores, best first."""

    query: str
    ids: list[str]
    scores: list[float]


@dataclass(frozen=True, slots=True)
class _Format:
    """How blocks are written, given the rank of each first hit, and joined."""

    write: Callable[[Path, Sequence[_Found], int], None]
    join: Callable[[Path, Sequence[Path]], None]


def write_hits(
    index: _Index,
    queries: Iterable[tuple[str, Query]],
    to: str | Path,
    request: SearchOptions,
    *,
    threads: int | None = None,
    jobs: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write the hits of queries, with their ids, to a file; return the number of queries.

    See `SoftIndex.search_batch` for the other parameters and errors.
    """
    target = checked_path(to)
    format = _format_of(target)
    check_whole("jobs", jobs, optional=True)
    if request.facets:
        raise InvalidInputError("facets are not written to a file; leave them out.")
    if jobs is not None and not index.commit:
        raise InvalidInputError(
            "jobs open the index from its folder, and this one is in memory; save it first."
        )
    _check_target(target, overwrite=overwrite)
    commit, search = index.commit, index._search(request)
    request = _decided(search)
    # Nothing recognises an index in memory, or a source that was passed to `open`.
    resumable = bool(commit) and not index._given_source
    question = {
        "commit": commit if resumable else uuid.uuid4().hex,
        "request": structs.asdict(request),
        "format": target.suffix,
    }
    path = target.with_name(f"{target.name}.blocks")
    with ExitStack() as ending:
        ending.enter_context(naming_a_full_disk(path))
        folder = ending.enter_context(BlockFolder(path, question, "hits"))
        ending.callback(_sweep, folder, resumable=resumable)
        ending.callback(_opened.cache_clear)  # jobs may be threads of this process
        _check_target(target, overwrite=overwrite)  # again: another search may have ended meanwhile
        sizes = _store(queries, folder)
        if format is FORMATS[".run"]:
            for number in range(len(sizes)):
                check_trec_ids("query", _read(_queries_file(path, number))[0])
        source = search if jobs is None else _pickled(index, commit, request)
        files = [path / f"hits-{number:07}{target.suffix}" for number in range(len(sizes))]
        calls = [
            (source, _queries_file(path, number), file, threads)
            for number, file in enumerate(files)
        ]
        n_done = 0
        for number in _run(calls, jobs):
            n_done += sizes[number]
            if progress is not None:
                progress(n_done, sum(sizes))
        with naming_a_full_disk(target), written_beside(target) as new:
            format.join(new, files)
            sync(new)
        folder.remove()
    return sum(sizes)


def _check_target(target: Path, *, overwrite: bool) -> None:
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; create it first.")
    if target.is_dir():
        raise AlreadyExistsError(f"{target} is a folder; choose another name.")
    if target.exists() and not overwrite:
        raise AlreadyExistsError(
            f"{target} exists already; choose another name, or pass overwrite=True."
        )


def _sweep(folder: BlockFolder, *, resumable: bool) -> None:
    """Delete the folder if no search can resume from it."""
    if not (resumable and any(folder.path.glob("hits-*"))):
        folder.remove()


def read_queries(
    path: str | Path,
    *,
    fields: Fields | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    advice: str = ADVICE,
) -> Iterator[tuple[str, str]]:
    """Yield ids and texts of the queries of a file; running numbers where it has no ids.

    Parameters
    ----------
    path, format, encoding
        See `softcosine.files.read_records`.
    fields : Fields, optional
        Fields of the id and the text; by default those of documents.
    advice : str
        What to do if a text has another encoding.

    Raises
    ------
    MalformedFileError, InvalidInputError
    """
    reader = RecordReader(fields or Fields())
    records = read_records(str(path), format=format, encoding=encoding, advice=advice)
    for number, record in enumerate(records, 1):
        text = reader.text(record)
        assert isinstance(text, str)
        yield reader.id(record) or str(number), text


def with_ids(
    queries: Iterable[Query] | Path, ids: Iterable[str] | None
) -> Iterator[tuple[str, Query]]:
    """Return queries with their ids; see `SoftIndex.search_batch`."""
    if isinstance(queries, Path):
        if ids is not None:
            raise InvalidInputError("ids are for queries in memory; leave them out for a file.")
        return read_queries(queries)
    check_list("queries", queries, "queries, or call search with a single one")
    if ids is None:
        return ((str(number), query) for number, query in enumerate(queries, 1))
    check_list("ids", ids)
    return _paired(queries, ids)


def _paired(queries: Iterable[Query], ids: Iterable[str]) -> Iterator[tuple[str, Query]]:
    none = object()
    for id, query in zip_longest(ids, queries, fillvalue=none):
        if id is none or query is none:
            raise InvalidInputError("there are more queries than ids, or more ids than queries.")
        yield id, query  # type: ignore[misc]


def _format_of(target: Path) -> _Format:
    format = FORMATS.get(target.suffix.lower())
    if format is None:
        raise InvalidInputError(
            f"{target}: unknown format; choose a name that ends in {', '.join(FORMATS)}."
        )
    if format is FORMATS[".parquet"] and find_spec("pyarrow") is None:
        raise MissingDependencyError("pyarrow", "parquet", "Writing parquet files")
    return format


def _decided(search: Search) -> SearchOptions:
    """Return the request with `ask` and `meaning`, whose defaults depend on this machine.

    That is, on whether the encoder is installed.
    """
    if search.encoding is None:
        return structs.replace(search.request, ask="words", meaning=None)
    return structs.replace(search.request, ask=search.encoding.ask, meaning=search.encoding.weight)


def _store(queries: Iterable[tuple[str, Query]], folder: BlockFolder) -> list[int]:
    """Write queries in blocks, or compare them with those of an earlier run; return the sizes."""
    sizes, rest = list[int](), iter(queries)
    while block := list(islice(rest, _BLOCK)):
        file = _queries_file(folder.path, len(sizes))
        content = _block_of(block)
        if not file.exists():
            with written_beside(file) as new:
                new.write_bytes(content)
                sync(new)
        elif file.read_bytes() != content:
            raise folder.other("of other queries")
        sizes.append(len(block))
    if _queries_file(folder.path, len(sizes)).exists():
        raise folder.other("of other queries")
    return sizes


def _block_of(block: Sequence[tuple[str, Query]]) -> bytes:
    for id, _ in block:
        if not isinstance(id, str):
            raise InvalidInputError(f"the id {id!r} of a query is no string.")
    ids, queries = zip(*block, strict=True)
    try:
        return json.dumps([ids, queries]).encode()
    except TypeError as error:
        raise InvalidInputError(
            f"a query is no text, list of tokens, or mapping of fields to these: {error}."
        ) from error


def _queries_file(path: Path, number: int) -> Path:
    return path / f"queries-{number:07}.json"


def _read(file: Path) -> tuple[list[str], list[Query]]:
    ids, queries = json.loads(file.read_bytes())
    return ids, queries


def _run(calls: Sequence[tuple[Any, ...]], jobs: int | None) -> Iterator[int]:
    if jobs is not None:
        yield from finished_tasks(_write_block, calls, jobs=jobs)
        return
    for number, call in enumerate(calls):
        _write_block(*call)
        yield number


def _write_block(source: Search | bytes, queries: Path, target: Path, threads: int | None) -> None:
    """Write the hits of a block of queries, unless they are there already."""
    if target.exists():
        return
    search = _opened(source) if isinstance(source, bytes) else source
    found = _found(search, *_read(queries), threads)
    first = search.request.offset + 1
    with naming_a_full_disk(target), written_beside(target) as new:
        FORMATS[target.suffix.lower()].write(new, found, first)
        sync(new)


def _pickled(index: _Index, commit: str, request: SearchOptions) -> bytes:
    """Return an index, with an encoder that was passed to `open`, and its request."""
    encoder = index.encoder and replace(index.encoder, cache=None)  # of documents
    try:
        return pickle.dumps((index, encoder, commit, request))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InvalidInputError(
            "jobs need an encoder and a source that can be pickled; leave jobs out, or pass "
            f"others to open(): {error}."
        ) from error


@lru_cache(maxsize=1)
def _opened(pickled: bytes) -> Search:
    """Return the search of an index that was pickled; blocks of a process share it."""
    index, encoder, commit, request = pickle.loads(pickled)
    if index.commit != commit:
        raise CommitNotFoundError("the index has a later commit than this search; start it again.")
    index._encoder = encoder
    search: Search = index._search(request)
    return search


def _found(
    search: Search, ids: Sequence[str], queries: Sequence[Query], threads: int | None
) -> list[_Found]:
    pages = list(search.pages(queries, threads))
    if missing := sorted({name for page in pages for name in page.missing}):
        raise DeadlineExceededError(
            f"{', '.join(missing)} did not answer in time, and no hits may be missing in a file; "
            "start again, or allow more time: finished blocks are kept."
        )
    numbers = np.concatenate([np.empty(0, np.int64), *(page.top.documents for page in pages)])
    distinct = np.unique(numbers).tolist()
    known = dict(zip(distinct, search.snapshot.documents.ids_of(distinct), strict=True))
    return [
        _Found(id, [known[number] for number in page.top.documents.tolist()],
               page.top.scores.tolist())
        for id, page in zip(ids, pages, strict=True)
    ]  # fmt: skip


def _write_json_lines(path: Path, found: Sequence[_Found], first: int) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for one in found:
            for rank, (id, score) in enumerate(zip(one.ids, one.scores, strict=True), first):
                row = {"query": one.query, "rank": rank, "document": id, "score": score}
                stream.write(json.dumps(row) + "\n")


def _write_run(path: Path, found: Sequence[_Found], first: int) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for one in found:
            check_trec_ids("document", one.ids)
            stream.write(trec_run({one.query: one.ids}, "softcosine", first=first))


def _write_parquet(path: Path, found: Sequence[_Found], first: int) -> None:
    from pyarrow import table
    from pyarrow.parquet import write_table

    columns = {
        "query": [one.query for one in found for _ in one.ids],
        "rank": [rank for one in found for rank in range(first, first + len(one.ids))],
        "document": [id for one in found for id in one.ids],
        "score": [score for one in found for score in one.scores],
    }
    write_table(table(columns, schema=_schema()), path)


def _schema() -> Any:
    from pyarrow import float64, int32, schema, string

    return schema(
        [("query", string()), ("rank", int32()), ("document", string()), ("score", float64())]
    )


def _join_bytes(path: Path, files: Sequence[Path]) -> None:
    with path.open("wb") as stream:
        for file in files:
            with file.open("rb") as block:
                shutil.copyfileobj(block, stream, 1 << 20)


def _join_parquet(path: Path, files: Sequence[Path]) -> None:
    from pyarrow.parquet import ParquetWriter, read_table

    with ParquetWriter(path, _schema()) as writer:
        for file in files:
            writer.write_table(read_table(file))


FORMATS = {
    ".jsonl": _Format(_write_json_lines, _join_bytes),
    ".parquet": _Format(_write_parquet, _join_parquet),
    ".run": _Format(_write_run, _join_bytes),
}
