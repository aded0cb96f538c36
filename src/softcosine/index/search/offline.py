"""Searches of many queries whose hits go into one file, block by block."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from softcosine._textio import ADVICE
from softcosine._validation import check_list
from softcosine.errors import (
    AlreadyExistsError,
    DeadlineExceededError,
    InvalidInputError,
    MissingDependencyError,
)
from softcosine.files import Fields, RecordReader, read_records
from softcosine.files.trec_run import check_trec_ids, trec_run
from softcosine.index.query.query_vectors import Query
from softcosine.index.search.execution import Search
from softcosine.storage import checked_path, naming_a_full_disk, sync, written_beside

_BLOCK = 1024  # queries


# The id of a query, and the ids and scores of its hits, best first.
_Ranked = tuple[str, list[str], list[float]]
# Writes the hits of some queries, given the rank of each first hit.
_Write = Callable[[Sequence[_Ranked], int], object]


def write_hits(
    search: Search,
    queries: Iterable[tuple[str, Query]],
    to: str | Path,
    *,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Callable[[int, int | None], object] | None = None,
    total: int | None = None,
) -> int:
    """Write the hits of queries, with their ids, to a file; return the number of queries.

    See `SoftIndex.search_batch` for the other parameters and errors.
    """
    target = checked_path(to)
    opened = FORMATS.get(target.suffix.lower())
    if opened is None:
        raise InvalidInputError(
            f"{target}: unknown format; choose a name that ends in {', '.join(FORMATS)}."
        )
    if opened is _parquet and find_spec("pyarrow") is None:
        raise MissingDependencyError("pyarrow", "parquet", "Writing parquet files")
    if search.request.facets:
        raise InvalidInputError("facets are not written to a file; leave them out.")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; create it first.")
    if target.is_dir():
        raise AlreadyExistsError(f"{target} is a folder; choose another name.")
    if target.exists() and not overwrite:
        raise AlreadyExistsError(
            f"{target} exists already; choose another name, or pass overwrite=True."
        )
    n_done, left = 0, iter(queries)
    with naming_a_full_disk(target), written_beside(target) as new:
        with opened(new) as write:
            while block := list(islice(left, _BLOCK)):
                write(_ranked(search, block, threads), search.request.offset + 1)
                n_done += len(block)
                if progress is not None:
                    progress(n_done, total)
        sync(new)
    return n_done


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


def _ranked(
    search: Search, block: Sequence[tuple[str, Query]], threads: int | None
) -> list[_Ranked]:
    for id, _ in block:
        if not isinstance(id, str):
            raise InvalidInputError(f"the id {id!r} of a query is no string.")
    pages = list(search.pages([query for _, query in block], threads))
    if missing := sorted({name for page in pages for name in page.missing}):
        raise DeadlineExceededError(
            f"{', '.join(missing)} did not answer in time, and no hits may be missing in a file; "
            "start again, or allow more time."
        )
    numbers = np.concatenate([np.empty(0, np.int64), *(page.top.documents for page in pages)])
    distinct = np.unique(numbers).tolist()
    known = dict(zip(distinct, search.snapshot.documents.ids_of(distinct), strict=True))
    return [
        (id, [known[number] for number in top.documents.tolist()], top.scores.tolist())
        for (id, _), top in zip(block, [page.top for page in pages], strict=True)
    ]


def _columns(hits: Sequence[_Ranked], first: int) -> dict[str, list[Any]]:
    """Return the columns of a table of hits."""
    return {
        "query": [query for query, ids, _ in hits for _ in ids],
        "rank": [rank for _, ids, _ in hits for rank in range(first, first + len(ids))],
        "document": [id for _, ids, _ in hits for id in ids],
        "score": [score for _, _, scores in hits for score in scores],
    }


def _json_lines(hits: Sequence[_Ranked], first: int) -> str:
    columns = _columns(hits, first)
    rows = zip(*columns.values(), strict=True)
    return "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)


def _run(hits: Sequence[_Ranked], first: int) -> str:
    check_trec_ids("query", [query for query, _, _ in hits])
    check_trec_ids("document", [id for _, ids, _ in hits for id in ids])
    return trec_run({query: ids for query, ids, _ in hits}, "softcosine", first=first)


@contextmanager
def _text(path: Path, lines: Callable[[Sequence[_Ranked], int], str]) -> Iterator[_Write]:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        yield lambda hits, first: stream.write(lines(hits, first))


@contextmanager
def _parquet(path: Path) -> Iterator[_Write]:
    from pyarrow import float64, int32, schema, string, table
    from pyarrow.parquet import ParquetWriter

    kinds = schema(
        [("query", string()), ("rank", int32()), ("document", string()), ("score", float64())]
    )
    with ParquetWriter(path, kinds) as writer:
        yield lambda hits, first: writer.write_table(table(_columns(hits, first), schema=kinds))


FORMATS: dict[str, Callable[[Path], AbstractContextManager[_Write]]] = {
    ".jsonl": partial(_text, lines=_json_lines),
    ".parquet": _parquet,
    ".run": partial(_text, lines=_run),
}
