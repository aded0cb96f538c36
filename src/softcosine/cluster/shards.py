"""All shards of an index: calls to them, their documents, and the snapshot that searches use."""

from __future__ import annotations

import heapq
from collections import ChainMap
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._deadline import check_deadline, has_deadline, seconds_left
from softcosine.cluster.ownership import owners_of
from softcosine.cluster.shard import Rows, ShardCounts
from softcosine.cluster.workers import Workers
from softcosine.errors import (
    CommitNotFoundError,
    DeadlineExceededError,
    InvalidInputError,
    UnknownDocumentError,
)
from softcosine.index.directory.snapshot import IndexedSegment, SegmentedDocuments, Snapshot
from softcosine.index.segment.documents import Document, MemoryDocuments
from softcosine.index.segment.metadata_columns import Path
from softcosine.index.segment.segment import Segment

_AT_ONCE = 4096  # documents read from each shard when all are listed


# Numbers of the shards that did not answer the running search; they are not called again by it.
_missing: ContextVar[set[int] | None] = ContextVar("softcosine_missing_shards", default=None)


class Shards:
    """The opened shards of an index.

    Parameters
    ----------
    workers : Workers
    names : sequence of str
        Of the shards, for messages.
    timeout : float or None
        Seconds to wait for the answers to one call.

    Raises
    ------
    DeadlineExceededError
        By all methods, if a shard does not answer in time and there is no answer without it.
    InvalidInputError
        By all methods, after `close`.
    """

    def __init__(self, workers: Workers, names: Sequence[str], timeout: float | None) -> None:
        self._workers = workers
        self._names = tuple(names)
        self._timeout = timeout
        self.closed = False

    def __len__(self) -> int:
        return len(self._names)

    def close(self) -> None:
        """End the processes and threads of the shards."""
        self.closed = True
        self._workers.close()

    def check_open(self) -> None:
        """Raise InvalidInputError if the shards are closed."""
        if self.closed:
            raise InvalidInputError("this index is closed; open it again.")

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Inside the block, shards that do not answer in time become `missing`.

        A block inside another belongs to it.
        """
        if _missing.get() is not None:
            yield
            return
        token = _missing.set(set())
        try:
            yield
        finally:
            _missing.reset(token)

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the shards that did not answer in time in the current `searching` block."""
        return self._named(_missing.get() or set())

    def _named(self, numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(self._names[number] for number in sorted(numbers))

    def every(self, method: str, *arguments: Any) -> list[Any]:
        """Return the answers of all shards to a call, without those that are `missing`."""
        return list(self._scatter(method, dict.fromkeys(range(len(self)), arguments)).values())

    def gathered(self, method: str, *arguments: Any) -> dict[Any, Any]:
        """Return the union of the mappings that all shards answer with."""
        return dict(ChainMap(*self.every(method, *arguments)))

    def by_id(self, method: str, ids: Sequence[str], *arguments: Any) -> dict[str, Any]:
        """Return what the owners of ids answer to a call whose first argument is their ids."""
        own: dict[int, list[str]] = {}
        for id, owner in zip(ids, owners_of(ids, len(self)).tolist(), strict=True):
            own.setdefault(owner, []).append(id)
        calls = {owner: (of_owner, *arguments) for owner, of_owner in own.items()}
        return dict(ChainMap(*self._scatter(method, calls).values()))

    def owner(self, id: str, method: str, *arguments: Any) -> Any:
        """Return the answer of the shard that owns an id; UnknownDocumentError if it is none."""
        return self.one(self.number_of(id), method, *arguments)

    def number_of(self, id: str) -> int:
        """Return the number of the shard that owns an id."""
        if not isinstance(id, str):
            raise UnknownDocumentError(f"there is no document with the id {id!r}.")
        return int(owners_of([id], len(self))[0])

    def one(self, number: int, method: str, *arguments: Any) -> Any:
        """Return the answer of one shard; DeadlineExceededError if it does not answer in time."""
        token = _missing.set(None)
        try:
            return self._scatter(method, {number: arguments})[number]
        finally:
            _missing.reset(token)

    def _scatter(self, method: str, calls: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
        self.check_open()
        missing = _missing.get()
        asked = {number: own for number, own in calls.items() if number not in (missing or ())}
        limits = [self._timeout, seconds_left() if has_deadline() else None]
        limit = min((one for one in limits if one is not None), default=None)
        try:
            answers = self._workers.scatter(method, asked, limit)
        except Exception as error:
            self.check_open()  # it may be closed meanwhile
            if isinstance(error, CommitNotFoundError):
                error.add_note("A shard was started again meanwhile; call refresh() of the index.")
            raise
        check_deadline()
        late = asked.keys() - answers.keys()
        if missing is not None:
            missing |= late
        elif late:
            raise DeadlineExceededError(
                f"{', '.join(self._named(late))} did not answer within {limit:.3g} seconds."
            )
        return answers


class ShardedDocuments(SegmentedDocuments):
    """The documents of all shards, by their numbers in the order of insertion."""

    def __init__(
        self,
        shards: Shards,
        counts: Sequence[ShardCounts],
        segments: tuple[IndexedSegment, ...],
    ) -> None:
        super().__init__(segments)  # of the epoch
        self._shards = shards
        self._counts = counts

    def __len__(self) -> int:
        return sum(one.n_docs for one in self._counts)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Numbers of the documents, ascending, shape (n_docs,)."""
        return np.array([number for number, _ in self._all()], np.int64)

    @property
    def keeps_texts(self) -> bool:
        """Whether texts are stored."""
        return all(one.keeps_texts for one in self._counts)

    def id(self, number: int) -> str:
        """Return the id of a document."""
        return self.records([number])[0].id

    def ids_of(self, numbers: Sequence[int]) -> list[str]:
        """Return the ids of some documents, in the order given."""
        found = self._shards.gathered("ids_of", list(numbers)) if numbers else {}
        return [found[number] for number in numbers]

    def text(self, number: int) -> str:
        """Return the text of a document; empty if texts are not stored."""
        return self.records([number])[0].text

    def metadata(self, number: int) -> dict[str, Any]:
        """Return the metadata of a document; empty if it has none."""
        return self.records([number])[0].metadata

    def records(self, numbers: Sequence[int]) -> list[Document]:
        """Return some documents, in the order given."""
        found = self.present(numbers)
        for number in numbers:
            if number not in found:
                raise UnknownDocumentError(f"there is no document number {number} in the index.")
        return [found[number] for number in numbers]

    def present(self, numbers: Sequence[int]) -> dict[int, Document]:
        """Return the documents that the answering shards hold, by number."""
        return self._shards.gathered("records", list(numbers)) if numbers else {}

    def all_ids(self) -> Iterator[str]:
        """Yield the id of every document, in order of number."""
        return (document.id for _, document in self._all())

    def _all(self) -> Iterator[tuple[int, Document]]:
        return heapq.merge(*map(self._of_shard, range(len(self._shards))), key=lambda one: one[0])

    def _of_shard(self, shard: int) -> Iterator[tuple[int, Document]]:
        first = 0
        while True:
            read = self._shards.one(shard, "documents", first, _AT_ONCE)
            yield from read
            if len(read) < _AT_ONCE:
                return
            first = read[-1][0] + 1

    def numbers_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the documents with the given ids; unknown ids are left out."""
        return self._shards.by_id("numbers_of", ids)

    def number(self, id: str) -> int:
        """Return the number of a document; UnknownDocumentError if no document has the id."""
        found: dict[str, int] = self._shards.owner(id, "numbers_of", [id])
        if id not in found:
            raise UnknownDocumentError(f"there is no document with the id {id!r}.")
        return found[id]


def _total(name: str, what: str) -> Any:
    """Return a property: the sum of the counts of this name."""
    return property(lambda self: sum(getattr(one, name) for one in self.counts), doc=what)


@dataclass(frozen=True)
class ShardedSnapshot(Snapshot):
    """Snapshot of all shards: the settings of their epoch, and the counts of each shard."""

    shards: Shards = field(kw_only=True, repr=False, compare=False)
    counts: tuple[ShardCounts, ...] = field(kw_only=True, compare=False)

    @classmethod
    def over(cls, epoch: Snapshot, shards: Shards) -> Self:
        """Return the snapshot of opened shards."""
        own = {one.name: getattr(epoch, one.name) for one in fields(Snapshot)}
        return cls(**own, shards=shards, counts=tuple(shards.every("counts")))

    n_docs = _total("n_docs", "Number of live documents.")
    n_encoded = _total(
        "n_encoded", "Number of live documents whose coordinates are those of the space's encoder."
    )
    n_segments = _total("n_segments", "Number of segments with documents.")
    n_deleted = _total("n_deleted", "Number of deleted documents that take space until a merge.")
    n_postings = _total("n_postings", "Number of postings, of all fields.")

    @property
    def keeps_positions(self) -> bool:
        """Whether the positions of all tokens are stored."""
        return all(one.keeps_positions for one in self.counts)

    @cached_property
    def documents(self) -> ShardedDocuments:
        """Stored documents of all shards."""
        return ShardedDocuments(self.shards, self.counts, self.segments)

    def n_docs_of(self, terms: Sequence[int]) -> list[int]:
        """Return the number of live documents, of shards that answer, that contain each term."""
        with self.shards.searching():
            counts = [[0] * len(terms), *self.shards.every("n_docs_of", list(terms))]
        return [sum(own) for own in zip(*counts, strict=True)]

    def metadata_keys(self, path: Path) -> set[Hashable]:
        """Return the distinct values of a metadata key."""
        return set[Hashable]().union(*self.shards.every("metadata_keys", path))

    def rows(self, document: int) -> Rows:
        """Return the ascending terms of a document and their counts, field by field."""
        rows: Rows | None = self.shards.gathered("rows", [document]).get(document)
        if rows is None:
            raise UnknownDocumentError(f"there is no document number {document} in the index.")
        return rows

    def greatest_impacts(self, ranking: str | None) -> list[NDArray[np.float64]]:
        """Return `Words.greatest_impacts` of each field, over all shards; cached."""
        name = ranking or self.ranking
        found = self._impacts.get(name)
        if found is None:
            parts = self.shards.every("impacts", name)
            if not parts:
                return [np.zeros(len(self.S)) for _ in self.fields]
            found = [np.max(own, axis=0) for own in zip(*parts, strict=True)]
            if len(parts) == len(self.shards):
                self._impacts[name] = found
        return found

    @cached_property
    def _impacts(self) -> dict[str, list[NDArray[np.float64]]]:
        return {}

    def of_rows(self, rows: Sequence[Rows | None]) -> Snapshot:
        """Return a snapshot of the epoch with documents of these terms and counts alone."""
        none = np.empty(0, np.int32), np.empty(0)
        segments = []
        for number in range(len(self.fields)):
            own = [none if row is None else row[number] for row in rows]
            pointers = np.cumsum([0, *(len(terms) for terms, _ in own)])
            terms = np.concatenate([none[0], *(terms for terms, _ in own)])
            counts = np.concatenate([none[1], *(counts for _, counts in own)])
            shape = len(rows), len(self.S)
            X = csr_array((counts, terms, pointers), shape=shape)
            segments.append(Segment.from_counts(X, self.S.vocabulary))
        documents = MemoryDocuments([""] * len(rows))
        epoch = Snapshot(**{one.name: getattr(self, one.name) for one in fields(Snapshot)})
        return epoch.changed(segments=(IndexedSegment(tuple(segments), documents),))
