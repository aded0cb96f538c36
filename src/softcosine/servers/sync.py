"""Sending an index to a server, and later only what has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from softcosine._progress import Report, silent
from softcosine.errors import AlreadyExistsError, ServerError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.search.rankings import check_ranking
from softcosine.servers.documents import ServerDocument, documents_of
from softcosine.servers.marker import Marker
from softcosine.servers.server import Failure, Server

__all__ = ["Sync", "export", "matching", "stale", "sync"]

_MOST_DOCUMENTS = 500  # of a batch
_MOST_BYTES = 4 * 2**20
_SHOWN = 3  # refused documents of a message


@dataclass(frozen=True, slots=True)
class Sync:
    """Result of an export or a sync; false if there was nothing to do.

    Attributes
    ----------
    n_sent, n_deleted : int
        Numbers of documents.
    """

    n_sent: int = 0
    n_deleted: int = 0

    def __bool__(self) -> bool:
        return self.n_sent > 0 or self.n_deleted > 0


def export(
    server: Server,
    snapshot: Snapshot,
    *,
    ranking: str | None = None,
    overwrite: bool = False,
    progress: Report = silent,
) -> Sync:
    """Create a collection of all documents.

    Raises
    ------
    InvalidInputError
        If the ranking is unknown.
    AlreadyExistsError
        If there is one, and `overwrite` is false.
    ServerError
        If the server fails, or refuses documents.
    """
    name = check_ranking(snapshot.ranking if ranking is None else ranking)
    marker = Marker.of(snapshot, name, vectors=server.stores_vectors)
    with server.transaction():
        if server.marker() is not None:
            if not overwrite:
                raise AlreadyExistsError(
                    f"{server.name} at {server.address} has the collection already; sync it, pass "
                    "overwrite=True to send all documents anew, or choose another collection."
                )
            server.drop()
        revision = server.create(replace(marker, complete=False))
        return _filled(server, snapshot, marker, revision, {}, progress)


def sync(server: Server, snapshot: Snapshot, *, progress: Report = silent) -> Sync:
    """Send the documents that have changed since the last sync, and delete those that are gone.

    Reads every document of the index, and the digests of all documents on the server.

    Raises
    ------
    ServerError
        If there is no collection, it is of another index, another sync comes between, or the server
        fails or refuses documents.
    """
    with server.transaction():
        marker, revision = matching(server, snapshot)
        newer = marker.following(snapshot)
        revision = server.write_marker(replace(newer, complete=False), expected=revision)
        return _filled(server, snapshot, newer, revision, dict(server.digests()), progress)


def matching(server: Server, snapshot: Snapshot) -> tuple[Marker, int]:
    """Return the marker and its revision, if the documents on the server are of the index.

    Raises
    ------
    ServerError
        If there is no collection, or it is of another index.
    """
    found = server.marker()
    if found is None:
        raise ServerError(
            server.name, server.address,
            "there is no such collection; export the index first: softcosine export INDEX URL.",
        )  # fmt: skip
    if why := found[0].difference(snapshot):
        raise ServerError(
            server.name, server.address,
            f"the collection cannot serve this index: {why}. Open the index that it was exported "
            "from, export with overwrite=True, or choose another collection.",
        )  # fmt: skip
    return found


def stale(server: Server, marker: Marker) -> ServerError:
    """Return the error for a collection that holds another state of the index."""
    if not marker.complete:
        problem = "a sync is in progress, or broke off; run it again"
    else:
        problem = (
            f"it holds commit {marker.commit.partition('-')[0]}, and the index is at another; run "
            "softcosine sync INDEX URL, or refresh the index"
        )
    return ServerError(server.name, server.address, f"{problem}.")


def _filled(
    server: Server,
    snapshot: Snapshot,
    marker: Marker,
    revision: int,
    known: dict[str, bytes],
    progress: Report,
) -> Sync:
    """Send all documents of other digests than the known ones, and complete the marker."""
    failures: list[Failure] = []
    n_sent, kept = 0, set[str]()

    def changed() -> Iterator[ServerDocument]:
        for done, document in enumerate(documents_of(snapshot, marker)):
            if done % _MOST_DOCUMENTS == 0:
                progress("sending documents", done, snapshot.n_docs)
            kept.add(document.id)
            if known.get(document.id) != document.digest:
                yield document

    for batch in _batches(changed()):
        _check_alone(server, revision)
        failures += server.put(batch)
        n_sent += len(batch)
    gone = [id for id in known if id not in kept]
    for begin in range(0, len(gone), _MOST_DOCUMENTS):
        _check_alone(server, revision)
        failures += server.delete(gone[begin : begin + _MOST_DOCUMENTS])
    if failures:
        raise _refused(server, failures)
    server.write_marker(marker, expected=revision)
    return Sync(n_sent, len(gone))


def _batches(documents: Iterator[ServerDocument]) -> Iterator[Sequence[ServerDocument]]:
    batch: list[ServerDocument] = []
    size = 0
    for document in documents:
        if batch and (len(batch) == _MOST_DOCUMENTS or size + document.size > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(document)
        size += document.size
    if batch:
        yield batch


def _check_alone(server: Server, revision: int) -> None:
    """Raise ServerError if another sync has begun since."""
    found = server.marker()
    if found is None or found[1] != revision:
        raise ServerError(
            server.name, server.address,
            "another sync of this collection has begun; wait for its end, and sync again.",
        )  # fmt: skip


def _refused(server: Server, failures: Sequence[Failure]) -> ServerError:
    shown = "; ".join(f"{one.id!r}: {one.reason}" for one in failures[:_SHOWN])
    more = f", and {len(failures) - _SHOWN:,} more" if len(failures) > _SHOWN else ""
    return ServerError(
        server.name, server.address,
        f"{len(failures):,} documents were refused ({shown}{more}); change them in the index, or "
        "run softcosine sync again if the server was too busy.",
    )  # fmt: skip
