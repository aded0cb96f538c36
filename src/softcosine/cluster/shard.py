"""One opened shard, and what it answers; arguments and results are small and can be pickled."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._threads import in_threads
from softcosine.errors import IndexFormatError
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.requests import FilterRequest, SearchOptions
from softcosine.index.search.execution import Search
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.first_stage import Staged
from softcosine.index.search.matches import Matches, filtered
from softcosine.index.search.query_encoding import QueryEncoding, document_encoding
from softcosine.index.segment.documents import Document
from softcosine.index.segment.metadata_columns import Path as MetadataPath
from softcosine.index.spaces.space import Top
from softcosine.index.spaces.sum import words_of

# The terms of a document and their counts, field by field.
Rows = list[tuple[NDArray[np.int32], NDArray[np.float64]]]

NOT_FITTING = (
    "Its answers would not fit those of the other shards: restore the folder from a copy, or build "
    "the shards anew."
)


@dataclass(frozen=True, slots=True)
class ShardSource:
    """Where a shard is, and the commit that belongs to the sharded index."""

    path: str
    epoch: str
    commit: str


@dataclass(frozen=True, slots=True)
class ShardCounts:
    """Counts and properties of a shard, for searches over all shards.

    Attributes
    ----------
    n_docs, n_deleted, n_segments, n_postings, n_encoded : int
        See `Snapshot`.
    keeps_positions, keeps_texts : bool
    """

    n_docs: int
    n_deleted: int
    n_segments: int
    n_postings: int
    n_encoded: int
    keeps_positions: bool
    keeps_texts: bool


class Shard:
    """An opened shard. Documents have their numbers in the order of insertion into all shards.

    Queries are ready, and `meaning` of a request is the weight of their cosines, if `ask` is not
    ``"words"``.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @classmethod
    def open(cls, source: ShardSource) -> Self:
        """Return the shard of a folder.

        Raises
        ------
        CommitNotFoundError
            If the shard has another commit by now.
        IndexFormatError
            If it has another epoch than the sharded index.
        FileNotFoundError, CorruptIndexError
        """
        snapshot, directory = FolderDirectory.open(source.path, checksum=source.commit)
        if directory.epoch != source.epoch:
            raise IndexFormatError(
                f"{source.path} has the epoch {directory.epoch}, and the sharded index "
                f"{source.epoch}. {NOT_FITTING}"
            )
        return cls(snapshot)

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        """Insertion numbers of all documents, deleted ones included, ascending."""
        n_docs = sum(segment.n_docs for segment in self._snapshot.segments)
        return self._snapshot.documents.insertion_numbers(np.arange(n_docs))

    def _global(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._numbers[documents]

    def _local(self, numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the local numbers of the documents that this shard holds, in the given order."""
        asked = np.asarray(numbers, np.int64)
        return np.searchsorted(self._numbers, asked[self._here(asked)])

    def _here(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask of the documents that this shard holds."""
        places = np.searchsorted(self._numbers, numbers)
        inside = places < len(self._numbers)
        inside[inside] = self._numbers[places[inside]] == numbers[inside]
        return inside

    def _search(self, request: SearchOptions) -> Search:
        encoding = QueryEncoding(self._snapshot)
        if request.ask != "words":
            encoding = document_encoding(self._snapshot, request)
        return Search.of(self._snapshot, request, encoding)

    def counts(self) -> ShardCounts:
        """Return the counts of this shard."""
        snapshot = self._snapshot
        return ShardCounts(
            snapshot.n_docs, snapshot.n_deleted, snapshot.n_segments, snapshot.n_postings,
            snapshot.n_encoded, snapshot.keeps_positions,
            snapshot.documents.keeps_texts,
        )  # fmt: skip

    def found(self, queries: Sequence[ReadyQuery], request: SearchOptions) -> list[Matches]:
        """Return what matches each query."""
        own = [
            one if one.near is None else replace(one, near=np.sort(self._local(one.near)))
            for one in queries
        ]
        search = self._search(request)
        return [one.renumbered(self._global) for one in search.found(own, threads=None)]

    def candidates(self, queries: Sequence[ReadyQuery], request: SearchOptions) -> list[Top]:
        """Return the candidates of each query by its first stage."""
        found = in_threads(self._search(request).candidates, list(queries), None)
        return [top.renumbered(self._global) for top in found]

    def rescored(
        self, queries: Sequence[ReadyQuery], candidates: Sequence[Top], request: SearchOptions
    ) -> list[Staged]:
        """Return the candidates of each query that are in this shard, with their exact scores."""
        search = self._search(request)

        def scored(pair: tuple[ReadyQuery, Top]) -> Staged:
            query, top = pair
            own = top.at(np.flatnonzero(self._here(top.documents)))
            return search.rescored(query, own.renumbered(self._local)).renumbered(self._global)

        return in_threads(scored, list(zip(queries, candidates, strict=True)), None)

    def nearest(self, query: ReadyQuery, request: SearchOptions, n: int) -> Top:
        """Return the nearest documents by meaning, with their cosines."""
        return self._search(request).nearest(query, n).renumbered(self._global)

    def n_docs_of(self, terms: Sequence[int]) -> list[int]:
        """Return the number of documents that contain each term."""
        return self._snapshot.n_docs_of(terms)

    def impacts(self, ranking: str | None) -> list[NDArray[np.float64]]:
        """Return the greatest impacts of all terms, field by field."""
        fields = words_of(self._snapshot, ranking).summands
        return [words.greatest_impacts for _, words in fields]

    def filtered(self, request: FilterRequest) -> Matches:
        """Return the first documents that pass a filter."""
        return filtered(self._snapshot, request).renumbered(self._global)

    def metadata_keys(self, path: MetadataPath) -> set[Hashable]:
        """Return the distinct values of a metadata key."""
        return self._snapshot.metadata_keys(path)

    def records(self, numbers: Sequence[int]) -> dict[int, Document]:
        """Return the given documents that this shard holds, by number."""
        own = self._live(numbers)
        records = self._snapshot.documents.records(own.tolist())
        return dict(zip(self._global(own).tolist(), records, strict=True))

    def ids_of(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the ids of the given documents that this shard holds, by number."""
        own = self._local(numbers)
        ids = self._snapshot.documents.ids_of(own.tolist())
        return dict(zip(self._global(own).tolist(), ids, strict=True))

    def rows(self, numbers: Sequence[int]) -> dict[int, Rows]:
        """Return the terms and counts of the given documents that this shard holds, by number."""
        own = self._live(numbers)
        rows = map(self._snapshot.rows, own.tolist())
        return dict(zip(self._global(own).tolist(), rows, strict=True))

    def _live(self, numbers: Sequence[int]) -> NDArray[np.int64]:
        """Return the local numbers of the given documents that are live in this shard."""
        own = self._local(numbers)
        places = map(self._snapshot.documents.place, own.tolist())
        live = [self._snapshot.segments[segment].mask[local] for segment, local in places]
        kept: NDArray[np.int64] = own[np.array(live, bool)]
        return kept

    def numbers_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the documents with the given ids; unknown ids are left out."""
        found = self._snapshot.documents.numbers_of(ids)
        return {id: int(self._numbers[number]) for id, number in found.items()}

    def documents(self, first: int, n: int) -> list[tuple[int, Document]]:
        """Return up to n documents in the order of insertion, from a number on."""
        every = self._snapshot.documents.numbers
        begin = int(np.searchsorted(self._numbers[every], first))
        own = every[begin : begin + n]
        records = self._snapshot.documents.records(own.tolist())
        return list(zip(self._global(own).tolist(), records, strict=True))

    def document(self, id: str, request: SearchOptions) -> tuple[ReadyQuery, int]:
        """Return a document as a query, and its number."""
        query, number = self._search(request).document(id)
        return query, int(self._numbers[number])

    def explained(self, query: ReadyQuery, id: str, request: SearchOptions) -> Explanation:
        """Return the explanation of a document's score."""
        return self._search(request).explained(query, id)

    def scores_of(
        self, ids: Sequence[str], query: ReadyQuery, request: SearchOptions
    ) -> dict[str, float]:
        """Return the scores of documents, by id."""
        scores = self._search(request).scores_of(query, ids)
        return dict(zip(ids, scores.tolist(), strict=True))

    def call(self, method: str, arguments: Sequence[Any]) -> Any:
        """Call a method by name."""
        return getattr(self, method)(*arguments)
