"""Command ``softcosine sync``, ``export`` to a server, and ``search --server``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.options import Index, Summary
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.index.search.results import Hits
    from softcosine.index.soft_index import SoftIndex
    from softcosine.servers.server_index import ServerIndex
    from softcosine.servers.sync import Sync

__all__ = ["COLLECTION", "Collection", "asking_server", "export_to_server", "sync"]

COLLECTION = "softcosine"

Collection = Annotated[
    str,
    typer.Option("--collection", metavar="NAME", help="Name of the collection on the server."),
]


def sync(
    index: Index,
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the server.")],
    collection: Collection = COLLECTION,
    as_json: Summary = False,
) -> None:
    """Send the changes of an index to a server that 'export' filled.

      softcosine sync faq.index postgresql://user@host/database

    Sends the documents that are new or changed since the last sync, and deletes those that are
    gone. A new matrix, pinned words and new term weights send no document. A sync that breaks off
    is completed by the next one.

    JSON: index, server, collection, documents, ranking, sent, deleted, seconds.
    """
    _written(index, url, collection, as_json, lambda served, report: served.sync(progress=report))


def export_to_server(
    index: Path, url: str, collection: str, ranking: str | None, overwrite: bool, as_json: bool
) -> None:
    """Fill a collection of a server, and print the summary."""

    def work(served: ServerIndex, report: Any) -> Sync:
        return served.export(ranking=ranking, overwrite=overwrite, progress=report)

    _written(index, url, collection, as_json, work)


@contextmanager
def asking_server(
    opened: SoftIndex, url: str, collection: str, ranking: str | None, **limits: Any
) -> Iterator[tuple[Callable[..., Hits], str]]:
    """Yield the search function of a server, and its ranking; then close the connection."""
    from softcosine.servers.server_index import ServerIndex

    with ServerIndex.connect(opened, url, collection=collection) as served:
        if ranking not in (None, served.ranking):
            raise InvalidInputError(
                f"the collection was exported for {served.ranking}; leave --ranking out, or export "
                f"another one with --ranking {ranking} --collection NAME."
            )
        yield partial(served.search, **limits), served.ranking


def _written(
    index: Path,
    url: str,
    collection: str,
    as_json: bool,
    work: Callable[[ServerIndex, Any], Sync],
) -> None:
    from softcosine.cli.calling import program
    from softcosine.cli.output import console, counted, duration, print_json, printable
    from softcosine.cli.progress import Reporter
    from softcosine.index.soft_index import SoftIndex
    from softcosine.servers.server_index import ServerIndex

    started, opened = time.perf_counter(), SoftIndex.open(index)
    with Reporter() as report, ServerIndex.connect(opened, url, collection=collection) as served:
        done = work(served, report)
        ranking, shown = served.ranking, served.server.address
    seconds = time.perf_counter() - started
    facts: dict[str, Any] = {
        "index": str(index),
        "server": shown,
        "collection": collection,
        "documents": len(opened),
        "ranking": ranking,
        "sent": done.n_sent,
        "deleted": done.n_deleted,
        "seconds": seconds,
    }
    if as_json:
        print_json(facts)
        return
    out = console()
    out.print(
        printable(
            f"{shown}: {counted(done.n_sent, 'document')} sent and {done.n_deleted:,} deleted, "
            f"{len(opened):,} in all, in {duration(seconds)}."
        )
    )
    call = f'{program()} search {index} "..." --server {shown}'
    call += "" if collection == COLLECTION else f" --collection {collection}"
    out.print(printable(f"Search it: {call}"), style="dim")
