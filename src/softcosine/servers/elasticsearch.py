"""Elasticsearch and OpenSearch: documents as weighted features, searched by boosted clauses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.query.filters import Where
from softcosine.servers.address import ServerAddress
from softcosine.servers.documents import ServerDocument
from softcosine.servers.elasticsearch_filters import filter_of
from softcosine.servers.features import LEAST, MOST_TERMS, feature_error, lowering
from softcosine.servers.filter_tokens import numbers_of, tokens_of
from softcosine.servers.http import Http, reason_of, why_partial
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

__all__ = ["Elasticsearch", "OpenSearch"]

_MARKER = "softcosine"  # id of the document that holds the marker; others are of 32 digits
_PAGE = 1000  # documents of a scroll
_KEPT = "5m"  # how long a server keeps the place in a scroll
_SHARD_WAIT = "20s"  # for a shard that has no primary; less than a request may take
_TERM_BITS = 40  # of a revision, for the sequence number
_UNREAD = {"type": "keyword", "index": False, "doc_values": False}
_LONGEST = 8000  # characters of an id in a column, where Lucene takes 32,766 bytes
# Several times as fast as from _source, which a server parses whole for each document.
_BY_COLUMN = {"docvalue_fields": ["id"], "_source": False, "stored_fields": "_none_"}


class Elasticsearch:
    """An index of Elasticsearch from 8.15 on, one document per document and one for the marker.

    ``elasticsearch://host:9200`` uses TLS away from loopback; ``elasticsearch+http`` and
    ``elasticsearch+https`` decide it. For user and password see `softcosine.servers.http.Http`.

    Impacts are features of a ``sparse_vector`` field, which Lucene rounds down to nine bits; they
    are searched by plain ``term`` clauses, because ``sparse_vector`` queries are pruned by default.
    There are no transactions: a sync that breaks off leaves an incomplete marker, and the next one
    sends the rest.
    """

    name = "elasticsearch"
    stores_vectors = True
    max_terms = MOST_TERMS
    max_candidates = 10_000  # index.max_result_window by default

    _impacts = "sparse_vector"

    def __init__(self, address: ServerAddress, *, collection: str, timeout: float) -> None:
        if address.parts.path.strip("/"):
            raise InvalidInputError(
                f"the address {address} has a path; leave it out, the collection names the index."
            )
        self._http = Http(address, timeout=max(timeout, 30.0))
        self.address = self._http.address
        self._path = f"/{collection}"
        self._http.request("GET", f"{self._path}/_doc/{_MARKER}", accept=(404,), timeout=timeout)

    def _clause(self, term: int, weight: float) -> dict[str, Any]:
        """Return the clause whose score is a weight times the impact of a term."""
        return {"term": {"impacts": {"value": str(term), "boost": weight}}}

    def relative_error(self, n_terms: int) -> float | None:
        """Return the error of impacts of nine bits, rounded down, and of sums in float32."""
        return feature_error(n_terms)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do nothing: there are no transactions."""
        yield

    def marker(self) -> tuple[Marker, int] | None:
        """Return the marker and its revision; None without an index."""
        reply = self._http.request("GET", f"{self._path}/_doc/{_MARKER}", accept=(404,))
        if reply.status == 404 and "error" in reply.json:  # else the index has no marker
            return None
        try:
            source = reply.json["_source"]
            return Marker.from_json(source["marker"]), _revision(reply.json)
        except (KeyError, InvalidInputError) as error:
            raise self._http.error(
                f"the index {self._path[1:]!r} has no marker of this version of softcosine "
                f"({error}); choose another collection"
            ) from error

    def create(self, marker: Marker) -> int:
        """Create the index."""
        properties = {
            "impacts": {"type": self._impacts},
            "id": {"type": "keyword", "index": False, "ignore_above": _LONGEST},
            "digest": {"type": "keyword"},
            "text": {"type": "text", "index": False},
            "metadata": _UNREAD,
            "marker": {"type": "object", "enabled": False},
            "tokens": {"type": "keyword", "doc_values": False},
            "numbers": {
                "type": "nested",
                "properties": {"key": {"type": "keyword"}, "value": {"type": "double"}},
            },
        }
        if marker.dimensions:
            properties["coordinates"] = {
                "type": "dense_vector", "dims": marker.dimensions, "index": True,
                "similarity": "cosine", "index_options": {"type": "flat"},  # exact
            }  # fmt: skip
        body = {"mappings": {"dynamic": False, "properties": properties}}
        # Not sent again: a second request would find the index of the first one.
        self._http.request("PUT", self._path, body, retry=False)
        return self._written(marker, "op_type=create")

    def write_marker(self, marker: Marker, *, expected: int) -> int:
        """Replace the marker if it has the expected revision; make all changes visible."""
        term, number = divmod(expected, 2**_TERM_BITS)
        return self._written(marker, f"if_seq_no={number}&if_primary_term={term}")

    def _written(self, marker: Marker, condition: str) -> int:
        path = f"{self._path}/_doc/{_MARKER}?timeout={_SHARD_WAIT}&{condition}"
        body = {"marker": marker.to_json()}
        reply = self._http.request("PUT", path, body, accept=(409,), retry=False)
        if reply.status == 409:
            raise self._http.error("another sync of this collection has run meanwhile; sync again")
        self._http.request("POST", f"{self._path}/_refresh")
        return _revision(reply.json)

    def drop(self) -> None:
        """Delete the index."""
        if self.marker() is not None:
            self._http.request("DELETE", self._path, accept=(404,))

    def put(self, documents: Sequence[ServerDocument]) -> list[Failure]:
        """Add or replace documents."""
        return self._bulk(
            {one.id: [{"index": {"_id": key_of(one.id)}}, self._source(one)] for one in documents}
        )

    def delete(self, ids: Sequence[str]) -> list[Failure]:
        """Delete documents."""
        return self._bulk({id: [{"delete": {"_id": key_of(id)}}] for id in ids})

    def _source(self, document: ServerDocument) -> dict[str, Any]:
        metadata = document.metadata
        impacts = np.maximum(document.impacts, LEAST).astype(np.float64).tolist()
        source = {
            "impacts": dict(zip(map(str, document.terms.tolist()), impacts, strict=True)),
            "id": escaped_id(document.id),
            "digest": document.digest.hex(),
            "text": storable_text(document.text),
            "metadata": storable_json(document.metadata_json),
            "tokens": tokens_of(metadata),
            "numbers": [
                {"key": key, "value": value} for key, value in numbers_of(metadata).items()
            ],
        }
        if document.coordinates is not None and document.coordinates.any():
            source["coordinates"] = document.coordinates.tolist()
        return source

    def _bulk(self, actions: dict[str, list[Any]]) -> list[Failure]:
        """Send actions, those that a busy server refused again; return the refused ones."""
        left, failures = dict(actions), list[Failure]()

        def once() -> None:
            lines = [line for own in left.values() for line in own]
            path = f"{self._path}/_bulk?timeout={_SHARD_WAIT}"
            items = self._http.request("POST", path, lines).json["items"]
            busy = []
            for id, item in zip(list(left), items, strict=True):
                ((kind, result),) = item.items()
                if result["status"] == 429:
                    busy.append(Failure(id, reason_of(result)))
                    continue
                if result["status"] >= 500:  # a shard, not the document; others would wait as long
                    raise self._http.error(
                        f"a shard takes no documents ({reason_of(result)}); sync again when the "
                        "cluster is well"
                    )
                del left[id]
                if result["status"] >= 400 and kind != "delete":
                    failures.append(Failure(id, reason_of(result)))
            if busy:
                raise _BusyError(busy)

        if not left:
            return []
        try:
            with_retries(once, lambda error: isinstance(error, _BusyError))
        except _BusyError as error:
            failures += error.args[0]
        return failures

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """Yield ids and digests."""
        self._http.request("POST", f"{self._path}/_refresh")
        body = {"query": {"exists": {"field": "digest"}}, "_source": ["id", "digest"]}
        for hit in self._http.scrolled(self._path, {**body, "size": _PAGE}, kept=_KEPT):
            source = hit["_source"]
            yield original_id(source["id"]), bytes.fromhex(source["digest"])

    def filter(self, where: Where) -> Any | None:
        """Return a filter of the query language."""
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
        """Return the best documents by the sum of the clauses."""
        clauses = map(self._clause, terms.tolist(), weights.tolist())
        query: dict[str, Any] = {"should": list(clauses), "minimum_should_match": 1}
        if filter is not None:
            query["filter"] = [filter]
        with lowering(self, len(terms)):
            return self._found({"query": {"bool": query}}, n, timeout)

    def nearest(
        self,
        unit: NDArray[np.float64],
        n: int,
        *,
        filter: Any | None = None,
        timeout: float | None = None,
    ) -> Candidates | None:
        """Return the nearest documents by coordinates, of which a flat index misses none."""
        knn: dict[str, Any] = {
            "field": "coordinates", "query_vector": unit.tolist(), "k": n, "num_candidates": n,
        }  # fmt: skip
        if filter is not None:
            knn["filter"] = [filter]
        found = self._found({"knn": knn}, n, timeout)
        return replace(found, scores=2.0 * found.scores - 1.0)  # from (1 + cosine) / 2

    def _found(self, search: dict[str, Any], n: int, timeout: float | None) -> Candidates:
        body = {**search, "size": n, "track_total_hits": False}
        if timeout is not None:
            body["timeout"] = f"{max(1, int(1000 * timeout))}ms"
        path = f"{self._path}/_search"
        reply = self._http.request("POST", path, body | _BY_COLUMN, timeout=timeout).json
        hits = reply["hits"]["hits"]
        ids = [hit["fields"]["id"][0] for hit in hits if "fields" in hit]
        if len(ids) < len(hits):  # some id is too long for the column
            body["_source"] = ["id"]
            reply = self._http.request("POST", path, body, timeout=timeout).json
            hits = reply["hits"]["hits"]
            ids = [hit["_source"]["id"] for hit in hits]
        return Candidates(
            list(map(original_id, ids)),
            np.array([hit["_score"] for hit in hits], np.float64),
            complete=not why_partial(reply),
        )


class OpenSearch(Elasticsearch):
    """An index of OpenSearch, like one of Elasticsearch.

    It has no ``sparse_vector`` field; ``rank_features`` is stored and searched in the same way.
    """

    name = "opensearch"
    stores_vectors = False  # its vectors are those of a plugin
    _impacts = "rank_features"

    def _clause(self, term: int, weight: float) -> dict[str, Any]:
        return {"rank_feature": {"field": f"impacts.{term}", "linear": {}, "boost": weight}}


class _BusyError(Exception):
    """Documents that a server refuses for now."""


def _revision(document: dict[str, Any]) -> int:
    term, number = int(document["_primary_term"]), int(document["_seq_no"])
    return (term << _TERM_BITS) + number
