"""Lucene in this process: documents as features, stored and searched as by Elasticsearch."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, get_ident
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, ServerError
from softcosine.index.query.filters import Where
from softcosine.servers.address import ServerAddress
from softcosine.servers.documents import ServerDocument
from softcosine.servers.features import LEAST, MOST_TERMS, feature_error, lowering
from softcosine.servers.filter_tokens import numbers_of, tokens_of
from softcosine.servers.lucene_classes import checked, java_map, java_path, java_set, lucene_classes
from softcosine.servers.lucene_filters import filter_of
from softcosine.servers.marker import Marker
from softcosine.servers.server import Candidates, Failure
from softcosine.servers.storable_text import (
    escaped_id,
    key_of,
    original_id,
    storable_json,
    storable_text,
)

__all__ = ["Lucene"]

_MARKER = "softcosine"  # in the user data of a commit; empty after `drop`
_MOST = 2**31 - 1


@dataclass(slots=True)
class _Transaction:
    """Writes that are not committed, and the marker among them."""

    writer: Any
    thread: int
    marker: tuple[Marker, int] | None


class Lucene:
    """A folder of Lucene, in this process: ``lucene:///folder``.

    Impacts are features (``FeatureField``), of which Lucene keeps nine bits, as Elasticsearch and
    OpenSearch do. A transaction is a commit of Lucene, which has the marker; one transaction at a
    time may be open, in all processes.
    """

    name = "lucene"
    stores_vectors = False  # its graph of vectors is approximate
    max_terms = MOST_TERMS
    max_candidates = None

    def __init__(self, address: ServerAddress, *, collection: str, timeout: float) -> None:
        folder = unquote(address.parts.path)
        if address.host or address.transport or not folder.strip("/"):
            raise InvalidInputError(f"the address {address} is no folder; write lucene:///folder.")
        self.address = str(address)
        self._lucene = lucene_classes(self.address)
        path = java_path(Path(folder).absolute() / collection)
        with checked(self.address):
            self._directory = self._lucene.store.FSDirectory.open(path)
        self._searchers: Any = None
        self._opening = Lock()
        self._transaction: _Transaction | None = None

    def relative_error(self, n_terms: int) -> float | None:
        """Return the error of impacts of nine bits, rounded down, and of sums in float32."""
        return feature_error(n_terms)

    def close(self) -> None:
        """Close the files."""
        with checked(self.address):
            if self._searchers is not None:
                self._searchers.close()
            self._directory.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the writes of the block together, or none of them."""
        before = self.marker()
        index = self._lucene.index
        with checked(self.address, locked="another sync of this collection is running"):
            writer = index.IndexWriter(self._directory, index.IndexWriterConfig())
        self._transaction = _Transaction(writer, get_ident(), before)
        try:
            yield
            with checked(self.address):
                writer.commit()
        finally:
            self._transaction = None
            writer.rollback()  # of what is not committed; closes it

    @contextmanager
    def _writing(self) -> Iterator[_Transaction]:
        """Return the open transaction, or one of its own."""
        with checked(self.address), ExitStack() as own:
            if self._transaction is None:
                own.enter_context(self.transaction())
            assert self._transaction is not None
            yield self._transaction

    @contextmanager
    def _reading(self) -> Iterator[Any | None]:
        """Return a reader of the last commit; None without an index."""
        with checked(self.address):
            with self._opening:
                if self._searchers is None:
                    if not self._lucene.index.DirectoryReader.indexExists(self._directory):
                        yield None
                        return
                    self._searchers = self._lucene.search.SearcherManager(self._directory, None)
            self._searchers.maybeRefreshBlocking()
            searcher = self._searchers.acquire()
            try:
                yield searcher.getIndexReader()
            finally:
                self._searchers.release(searcher)

    def marker(self) -> tuple[Marker, int] | None:
        """Return the marker of the last commit, or of the transaction that this thread has open."""
        own = self._transaction
        if own is not None and own.thread == get_ident():
            return own.marker
        with self._reading() as reader:
            if reader is None:
                return None
            noted = reader.getIndexCommit().getUserData().get(_MARKER)
        if noted is not None and not str(noted):
            return None
        try:
            value = json.loads(str(noted))
            return Marker.from_json(value["marker"]), value["revision"]
        except (KeyError, TypeError, ValueError) as error:
            raise self._error(
                "the index of Lucene has no marker of this version of softcosine; choose another "
                "collection"
            ) from error

    def create(self, marker: Marker) -> int:
        """Create the index of Lucene."""
        with self._writing() as own:
            if own.marker is not None:
                raise self._error("there is such a collection already")
            return self._note(own, marker)

    def write_marker(self, marker: Marker, *, expected: int) -> int:
        """Replace the marker, if it has the expected revision."""
        with self._writing() as own:
            if own.marker is None or own.marker[1] != expected:
                raise self._error("another sync of this collection has run meanwhile; sync again")
            return self._note(own, marker)

    def drop(self) -> None:
        """Delete all documents and the marker; an empty index of Lucene stays."""
        with self._writing() as own:
            if own.marker is not None:
                own.writer.deleteAll()
                self._note(own, None)

    def _note(self, own: _Transaction, marker: Marker | None) -> int:
        """Write a marker with a revision that no other one has; none after `drop`."""
        revision = secrets.randbits(62)
        text = ""
        if marker is not None:
            text = json.dumps({"marker": marker.to_json(), "revision": revision})
        own.writer.setLiveCommitData(java_map({_MARKER: text}).entrySet())
        own.marker = None if marker is None else (marker, revision)
        return revision

    def put(self, documents: Sequence[ServerDocument]) -> list[Failure]:
        """Add or replace documents."""
        with self._writing() as own:
            for one in documents:
                own.writer.updateDocument(self._key(one.id), self._document(one))
        return []

    def delete(self, ids: Sequence[str]) -> list[Failure]:
        """Delete documents."""
        with self._writing() as own:
            for id in ids:
                own.writer.deleteDocuments([self._key(id)])
        return []

    def _key(self, id: str) -> Any:
        return self._lucene.index.Term("key", key_of(id))

    def _document(self, document: ServerDocument) -> Any:
        fields = self._lucene.document
        made, feature = fields.Document(), fields.FeatureField
        impacts = np.maximum(document.impacts, LEAST).tolist()
        for term, impact in zip(document.terms.tolist(), impacts, strict=True):
            made.add(feature("impacts", str(term), impact))
        stored, no = fields.StoredField, fields.Field.Store.NO
        metadata = document.metadata
        made.add(fields.StringField("key", key_of(document.id), no))
        made.add(stored("id", escaped_id(document.id)))
        made.add(stored("digest", document.digest.hex()))
        made.add(stored("text", storable_text(document.text)))
        made.add(stored("metadata", storable_json(document.metadata_json)))
        for token in tokens_of(metadata):
            made.add(fields.StringField("tokens", token, no))
        for key, value in numbers_of(metadata).items():
            made.add(fields.DoublePoint(f"number {key}", [value]))
        return made

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """Yield ids and digests."""
        with self._reading() as reader:
            if reader is None:
                return
            stored, live = reader.storedFields(), self._lucene.index.MultiBits.getLiveDocs(reader)
            names = java_set(["id", "digest"])
            for number in range(reader.maxDoc()):
                if live is None or live.get(number):
                    one = stored.document(number, names)
                    yield original_id(str(one.get("id"))), bytes.fromhex(str(one.get("digest")))

    def filter(self, where: Where) -> Any | None:
        """Return a query that filters."""
        with checked(self.address):
            return filter_of(where, self._lucene)

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
        search = self._lucene.search
        clause = self._lucene.document.FeatureField.newLinearQuery
        occur = search.BooleanClause.Occur
        query = search.BooleanQuery.Builder().setMinimumNumberShouldMatch(1)
        heights = np.maximum(weights, LEAST).tolist()
        with lowering(self, len(terms)), self._reading() as reader:
            for term, weight in zip(terms.tolist(), heights, strict=True):
                query.add(clause("impacts", str(term), weight), occur.SHOULD)
            if filter is not None:
                query.add(filter, occur.FILTER)
            searcher = search.IndexSearcher(reader)
            if timeout is not None:
                limit = self._lucene.index.QueryTimeoutImpl(max(1, int(1000 * timeout)))
                searcher.setTimeout(limit)
            found = searcher.search(query.build(), min(n, _MOST)).scoreDocs
            stored, names = searcher.storedFields(), java_set(["id"])
            ids = [original_id(str(stored.document(one.doc, names).get("id"))) for one in found]
            scores = np.array([one.score for one in found], np.float64)
            return Candidates(ids, scores, not searcher.timedOut())

    def nearest(
        self,
        unit: NDArray[np.float64],
        n: int,
        *,
        filter: Any | None = None,
        timeout: float | None = None,
    ) -> Candidates | None:
        """Return None: no vectors are stored."""
        return None

    def _error(self, problem: str) -> ServerError:
        return ServerError(self.name, self.address, f"{problem}.")
