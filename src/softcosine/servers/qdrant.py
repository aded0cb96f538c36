"""Qdrant: documents as sparse vectors of impacts, and dense vectors of coordinates."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, MissingDependencyError, ServerError
from softcosine.index.query.filters import Where
from softcosine.servers.address import ServerAddress
from softcosine.servers.documents import ServerDocument
from softcosine.servers.filter_tokens import numbers_of, tokens_of
from softcosine.servers.marker import Marker
from softcosine.servers.retries import with_retries
from softcosine.servers.server import Candidates, Failure
from softcosine.servers.storable_text import (
    escaped_id,
    key_of,
    original_id,
    storable_json,
    storable_text,
)

if find_spec("qdrant_client") is None:
    raise MissingDependencyError("qdrant-client", "qdrant", "Qdrant")

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from softcosine.servers.qdrant_filters import filter_of

__all__ = ["Qdrant"]

_T = TypeVar("_T")

_WORDS, _MEANING = "impacts", "coordinates"  # names of the vectors
_MARKER = str(UUID(int=0))  # id of the point that holds the marker
_PORT = 6333
_PAGE = 1000  # points of a scroll
_BUSY = (429, 502, 503, 504)


class Qdrant:
    """A collection of Qdrant, one point per document and one for the marker.

    ``qdrant://host:6333`` uses TLS away from loopback; ``qdrant+http`` and ``qdrant+https`` decide
    it. ``qdrant:///folder`` is the engine of the server in this process (qdrant-edge-py). The key
    of the API is read from QDRANT_API_KEY.

    There are no transactions: a sync that breaks off leaves an incomplete marker, and the next one
    sends the rest.
    """

    name = "qdrant"
    stores_vectors = True
    max_terms = None
    max_candidates = None

    def __init__(self, address: ServerAddress, *, collection: str, timeout: float) -> None:
        self.address = str(address)
        self._collection = collection
        parts = address.parts
        self._parameters: models.SearchParams | None = None
        if not address.host and parts.path and not address.transport:
            self._client = self._made(lambda: _in_process(parts.path))
            return
        # Approximate searches of several shards return too few points from a limit of 128 on.
        self._parameters = models.SearchParams(exact=True)
        tls = address.transport or ("http" if address.loopback else "https")
        if tls not in ("http", "https"):
            raise InvalidInputError(
                f"the address of Qdrant has the scheme {parts.scheme!r}; write qdrant, qdrant+http "
                "or qdrant+https."
            )
        self._client = self._made(
            lambda: QdrantClient(
                host=address.host,
                port=parts.port or _PORT,
                https=tls == "https",
                prefix=parts.path.strip("/") or None,
                api_key=os.environ.get("QDRANT_API_KEY"),
                timeout=math.ceil(timeout),
                check_compatibility=False,
            )
        )
        self._run(lambda: self._client.collection_exists(collection))

    def _made(self, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except (OSError, RuntimeError, ValueError) as error:
            raise self._error(f"no connection: {error}") from error

    def relative_error(self, n_terms: int) -> float | None:
        """Return the error of weights, impacts and sums in float32."""
        return (n_terms + 8) * 2.0**-23

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do nothing: there are no transactions."""
        yield

    def marker(self) -> tuple[Marker, int] | None:
        """Return the marker and its revision; None without a collection."""
        if not self._run(lambda: self._client.collection_exists(self._collection)):
            return None
        found = self._run(lambda: self._client.retrieve(self._collection, [_MARKER]))
        try:
            payload = found[0].payload or {}
            return Marker.from_json(payload["marker"]), int(payload["revision"])
        except (IndexError, KeyError, TypeError, InvalidInputError) as error:
            raise self._error(
                f"the collection {self._collection!r} has no marker of this version of softcosine "
                f"({error}); choose another collection."
            ) from error

    def create(self, marker: Marker) -> int:
        """Create the collection."""
        vectors = {}
        if marker.dimensions:
            vectors[_MEANING] = models.VectorParams(
                size=marker.dimensions, distance=models.Distance.COSINE
            )

        def make() -> None:
            self._client.create_collection(
                self._collection, vectors_config=vectors,
                sparse_vectors_config={_WORDS: models.SparseVectorParams()},
            )  # fmt: skip

        try:
            self._run(make)
        except ValueError as error:  # of the local mode
            raise self._error(str(error)) from error
        return self._written(marker)

    def write_marker(self, marker: Marker, *, expected: int) -> int:
        """Replace the marker, if it has the expected revision."""
        found = self.marker()
        if found is None or found[1] != expected:
            raise self._other_sync()
        revision = self._written(marker)
        found = self.marker()  # of two syncs at once, the later one goes on
        if found is None or found[1] != revision:
            raise self._other_sync()
        return revision

    def _written(self, marker: Marker) -> int:
        """Write the marker with a revision that no other sync has."""
        revision = secrets.randbits(62)
        payload = {"marker": marker.to_json(), "revision": revision}
        point = models.PointStruct(id=_MARKER, payload=payload, vector={})
        self._run(lambda: self._client.upsert(self._collection, [point], wait=True))
        return revision

    def _other_sync(self) -> ServerError:
        return self._error("another sync of this collection has run meanwhile; sync again.")

    def drop(self) -> None:
        """Delete the collection."""
        if self.marker() is not None:
            self._run(lambda: self._client.delete_collection(self._collection))

    def put(self, documents: Sequence[ServerDocument]) -> list[Failure]:
        """Add or replace documents."""
        points = [_point(document) for document in documents]
        self._run(lambda: self._client.upsert(self._collection, points, wait=True))
        return []

    def delete(self, ids: Sequence[str]) -> list[Failure]:
        """Delete documents."""
        points = [_number(id) for id in ids]
        self._run(lambda: self._client.delete(self._collection, points, wait=True))
        return []

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """Yield ids and digests."""
        after: Any = None
        while True:
            points, after = self._run(
                lambda after=after: self._client.scroll(  # type: ignore[misc]
                    self._collection, limit=_PAGE, offset=after, with_payload=["id", "digest"]
                )
            )
            for point in points:
                if point.payload and "digest" in point.payload:
                    payload = point.payload
                    yield original_id(payload["id"]), bytes.fromhex(payload["digest"])
            if after is None:
                return

    def filter(self, where: Where) -> Any | None:
        """Return a filter of Qdrant."""
        return filter_of(where)

    def search(
        self,
        terms: NDArray[np.int64],
        weights: NDArray[np.float64],
        n: int,
        *,
        filter: Any | None = None,
        timeout: float | None = None,
    ) -> Candidates:
        """Return the best documents by the sparse dot product."""
        query = models.SparseVector(indices=terms.tolist(), values=weights.tolist())
        return self._found(query, _WORDS, n, filter, timeout, least=0.0)

    def nearest(
        self,
        unit: NDArray[np.float64],
        n: int,
        *,
        filter: Any | None = None,
        timeout: float | None = None,
    ) -> Candidates | None:
        """Return the nearest documents by coordinates."""
        return self._found(unit.tolist(), _MEANING, n, filter, timeout, least=-np.inf)

    def _found(
        self,
        query: Any,
        using: str,
        n: int,
        filter: Any | None,
        timeout: float | None,
        *,
        least: float,
    ) -> Candidates:
        response = self._run(
            lambda: self._client.query_points(
                self._collection,
                query=query,
                using=using,
                limit=n,
                query_filter=filter,
                search_params=self._parameters,
                with_payload=["id"],
                timeout=None if timeout is None else math.ceil(timeout),
            )
        )
        points = [point for point in response.points if point.score > least]
        ids = [original_id((point.payload or {})["id"]) for point in points]
        return Candidates(ids, np.array([point.score for point in points], np.float64))

    def _run(self, work: Callable[[], _T]) -> _T:
        """Send a request, again while the server is busy."""
        try:
            return with_retries(work, _is_busy)
        except UnexpectedResponse as error:
            reason = error.content.decode(errors="replace")[:300] if error.content else ""
            problem = f"{error.status_code} {error.reason_phrase} {reason}".strip()
            if error.status_code in (401, 403):
                problem += "; set QDRANT_API_KEY to a key that may do this"
            raise self._error(f"{problem}.") from error
        except (ResponseHandlingException, OSError) as error:
            raise self._error(f"no answer: {error}") from error

    def _error(self, problem: str) -> ServerError:
        return ServerError(self.name, self.address, problem)


def _in_process(folder: str) -> Any:
    """Return the engine of the server, with a folder of its own."""
    from softcosine.servers.qdrant_in_process import InProcessClient

    return InProcessClient(folder)


def _is_busy(error: Exception) -> bool:
    return isinstance(error, UnexpectedResponse) and error.status_code in _BUSY


def _number(id: str) -> str:
    """Return the id of a document's point: Qdrant takes UUIDs."""
    return str(UUID(key_of(id)))


def _point(document: ServerDocument) -> models.PointStruct:
    vector: dict[str, Any] = {
        _WORDS: models.SparseVector(
            indices=document.terms.tolist(), values=document.impacts.tolist()
        )
    }
    if document.coordinates is not None:
        vector[_MEANING] = document.coordinates.astype(np.float64).tolist()
    metadata = document.metadata
    payload = {
        "id": escaped_id(document.id),
        "digest": document.digest.hex(),
        "text": storable_text(document.text),
        "metadata": storable_json(document.metadata_json),
        "tokens": tokens_of(metadata),
        "numbers": numbers_of(metadata),
    }
    return models.PointStruct(id=_number(document.id), vector=vector, payload=payload)
