"""The immutable state of an index as of one commit: segments, S, W and settings."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import IndefiniteMatrixError, UnknownDocumentError
from softcosine.index.defaults import TABLE, Field
from softcosine.index.directory.manifest import IndexSettings, SegmentSettings
from softcosine.index.rankings import soft_norms
from softcosine.index.segment.coordinates import Coordinates
from softcosine.index.segment.documents import (
    Document,
    Documents,
    MemoryDocuments,
    unknown_document,
)
from softcosine.index.segment.metadata_columns import MISSING, Condition, MetadataColumns, Path
from softcosine.index.segment.metadata_updates import MetadataUpdates
from softcosine.index.segment.positions import Positions
from softcosine.index.segment.segment import Segment
from softcosine.index.segment.statistics import FieldStatistics, greatest_frequencies
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.in_terms import TermKeys, in_terms, own_synonyms
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer

if TYPE_CHECKING:
    from softcosine.index.encoding import IndexEncoder
    from softcosine.index.requests import Ask
    from softcosine.space.meaning import MeaningSpace, PieceFrequencies

_T = TypeVar("_T")
_UNNAMED = SegmentSettings("", 0)
CHECKED_TEXTS = 3  # that an encoder reads anew


@dataclass(frozen=True, slots=True)
class IndexedSegment:
    """A segment: inverted fields, stored documents and deletes.

    Attributes
    ----------
    fields : tuple of Segment
        In the order of the index's fields.
    documents : Documents
    live : ndarray of shape (n_docs,), bool, or None
        Mask of live documents; None if none is deleted.
    positions : tuple of Positions, or None
        Token positions of each field, if stored.
    norms : tuple of ndarray of shape (n_docs,), float64, or None
        Soft norms of the documents in each field under S and W of the index, if computed.
    names : SegmentSettings
        Names of its parts. Deletes, norms and updates that are not written yet have none.
    coordinates : Coordinates or None
        None if no encoder has read a document.
    """

    fields: tuple[Segment, ...]
    documents: Documents
    live: NDArray[np.bool_] | None = None
    positions: tuple[Positions, ...] | None = None
    norms: tuple[NDArray[np.float64], ...] | None = None
    names: SegmentSettings = _UNNAMED
    coordinates: Coordinates | None = None
    _columns: MetadataColumns | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._columns is None:
            object.__setattr__(self, "_columns", MetadataColumns(self.documents))

    def __reduce__(self) -> tuple[Any, ...]:
        # The columns are rebuilt from the documents.
        values = (getattr(self, one.name) for one in fields(self) if one.name != "_columns")
        return IndexedSegment, tuple(values)

    @property
    def part(self) -> str:
        """Part name; empty in memory."""
        return self.names.part

    def named(self, **names: Any) -> Self:
        """Return the segment with some parts renamed."""
        return replace(self, names=replace(self.names, **names))

    def without(self, numbers: Iterable[int]) -> Self:
        """Return the segment with more documents deleted; unchanged if all of them already were."""
        gone = [number for number in numbers if self.live is None or self.live[number]]
        if not gone:
            return self
        live = self.mask.copy()
        live[gone] = False
        return replace(self, live=live).named(deleted=None)

    def with_updates(self, name: str | None, updates: MetadataUpdates) -> Self:
        """Return the segment with other metadata updates, written (`name`) or not."""
        documents = self.documents.with_updates(updates)
        return replace(self, documents=documents, _columns=None).named(updates=name)

    def updatable(self) -> Self:
        """Return a segment whose updates can be changed without effect on readers of this one."""
        updates = self.documents.updates
        return self if updates.recent else self.with_updates(self.names.updates, updates.copy())

    def with_coordinates(self, name: str | None, coordinates: Coordinates | None) -> Self:
        """Return the segment with other coordinates, written to the part `name`."""
        return replace(self, coordinates=coordinates).named(coordinates=name)

    def written(self, write: Callable[..., str], epoch: str) -> Self:
        """Return the segment with the names of all parts; `write` writes those without a name."""
        entry = self
        # No comprehension: in a traceback, its closure would keep the files open.
        for kind, *values in (
            ("deleted", self.live),
            ("norms", self.norms, epoch),
            ("coordinates", self.coordinates, self.n_docs),
        ):
            if values[0] is not None and getattr(self.names, kind) is None:
                entry = entry.named(**{kind: write(kind, *values)})
        return entry

    @property
    def unread(self) -> NDArray[np.bool_]:
        """Mask of live documents without coordinates, shape (n_docs,)."""
        return self.mask if self.coordinates is None else self.mask & ~self.coordinates.known

    @property
    def whole(self) -> bool:
        """Whether the segment has neither deletes nor updated metadata."""
        return self.n_live == self.n_docs and not self.documents.updates

    def passing(self, where: Condition) -> NDArray[np.bool_]:
        """Documents that pass a filter, deleted ones included, shape (n_docs,)."""
        # Cached columns can have older metadata.
        recent = self.documents.updates.recent
        return (MetadataColumns(self.documents) if recent else self.columns).mask(where)

    @property
    def columns(self) -> MetadataColumns:
        """The metadata columns for filters; shared with segments derived by `replace`."""
        assert self._columns is not None
        return self._columns

    @property
    def n_docs(self) -> int:
        """Number of documents, deleted ones included."""
        return self.fields[0].n_docs

    def check(self, n_terms: int) -> None:
        """Read all numbers; CorruptIndexError if one is invalid for `n_terms` terms."""
        for number, segment in enumerate(self.fields):
            segment.check()
            if self.positions is not None:
                self.positions[number].check(n_terms)
        if self.coordinates is not None:
            self.coordinates.check()

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Mask of live documents, shape (n_docs,)."""
        return np.ones(self.n_docs, np.bool_) if self.live is None else self.live

    @property
    def n_live(self) -> int:
        """Number of live documents."""
        return self.n_docs if self.live is None else int(np.count_nonzero(self.live))

    def n_docs_of(self, term: int) -> int:
        """Return the number of live documents that contain a term in any field."""
        holding = np.zeros(self.n_docs, np.bool_)
        for own in self.fields:
            holding[own.postings(term)] = True
        return int(np.count_nonzero(holding if self.live is None else holding & self.live))

    def of_live(self, values: Iterable[_T]) -> Iterator[_T]:
        """Yield the values of live documents, given one value per document."""
        return iter(values) if self.live is None else compress(values, self.live)


@dataclass(frozen=True)
class Snapshot:
    """The immutable state of an index as of one commit.

    Attributes
    ----------
    settings : IndexSettings
        All of them, also where there is no document.
    segments : tuple of IndexedSegment
        At least one, which may be empty. Documents are numbered across segments, deleted ones
        included.
    S : TermSimilarityMatrix
    source : TermSimilaritySource or None
        With a person's lists and decisions in the analyzer's terms.
    statistics : tuple of FieldStatistics
        Of each field, as of the last refresh.
    generation : int
        Number of commits so far.
    meaning : MeaningSpace or None
        The space of the documents' coordinates.
    stored_pieces : PieceFrequencies or None
        Document frequencies of word pieces, for static queries.
    """

    settings: IndexSettings
    segments: tuple[IndexedSegment, ...]
    S: TermSimilarityMatrix
    source: TermSimilaritySource | None
    statistics: tuple[FieldStatistics, ...]
    generation: int = 0
    meaning: MeaningSpace | None = None
    stored_pieces: PieceFrequencies | None = None
    _made: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)

    @cached_property
    def analyzer(self) -> Analyzer:
        """Of the texts; that without rules where no text has decided it yet."""
        return self.settings.analyzer or Analyzer()

    @property
    def ranking(self) -> str:
        """The default of searches."""
        return self.settings.ranking

    @property
    def fields(self) -> tuple[Field, ...]:
        """Names and weights of the fields."""
        return self.settings.fields

    def __post_init__(self) -> None:
        if not self.segments:
            empty = (Segment.empty(len(self.S)),) * len(self.settings.fields)
            object.__setattr__(self, "segments", (IndexedSegment(empty, MemoryDocuments([])),))
        if self.source is not None:
            source = in_terms(self.source, TermKeys(self.analyzer))
            object.__setattr__(self, "source", source)

    @cached_property
    def n_docs(self) -> int:
        """Number of live documents."""
        return sum(segment.n_live for segment in self.segments)

    @cached_property
    def documents(self) -> SegmentedDocuments:
        """Stored documents of all segments."""
        return SegmentedDocuments(self.segments)

    def n_docs_of(self, terms: Sequence[int]) -> list[int]:
        """Return the number of live documents that contain each term in any field."""
        return [sum(segment.n_docs_of(term) for segment in self.segments) for term in terms]

    def metadata_keys(self, path: Path) -> set[Hashable]:
        """Return the distinct values of a metadata key in all documents, as hashable keys."""
        found = set[Hashable]()
        for segment in self.segments:
            column = segment.columns.columns([path])[path]
            found.update(column.keys(np.unique(column.codes(np.flatnonzero(segment.mask)))))
        return found - {MISSING}

    @property
    def n_segments(self) -> int:
        """Number of segments with documents."""
        return sum(segment.n_docs > 0 for segment in self.segments)

    @property
    def n_deleted(self) -> int:
        """Number of deleted documents that take space until a merge."""
        return sum(segment.n_docs - segment.n_live for segment in self.segments)

    @property
    def n_postings(self) -> int:
        """Number of postings, of all fields."""
        return sum(own.n_postings for segment in self.segments for own in segment.fields)

    @property
    def keeps_positions(self) -> bool:
        """Whether the positions of all tokens are stored."""
        return all(one.positions is not None for one in self.segments if one.n_docs)

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """The stop words of the languages of the texts; empty if unknown."""
        from softcosine.text.stop_words import stop_words_of

        return stop_words_of(self.settings.language or "")

    @cached_property
    def synonyms(self) -> Mapping[str, Mapping[str, tuple[float, str]]]:
        """The pairs of your own lists, term by term; see `own_synonyms`."""
        return {} if self.source is None else own_synonyms(self.source, TermKeys(self.analyzer))

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return the cached result of a function for a key, such as a searcher."""
        if key not in self._made:
            with self._lock:  # so that concurrent first searches compute the norms once
                if key not in self._made:
                    self._made[key] = make()
        made: _T = self._made[key]
        return made

    def checked(self, reader: IndexEncoder) -> IndexEncoder:
        """Return an encoder if it gives the coordinates of a few stored texts.

        InvalidInputError if not. An index that stores no texts is not checked.
        """
        texts: list[str] = []
        stored = []
        for segment in self.segments:
            if (own := segment.coordinates) is not None:
                first = np.flatnonzero(own.known & segment.mask)[: CHECKED_TEXTS - len(texts)]
                texts += map(segment.documents.text, first.tolist())
                stored += list(own.vectors[first])
        if self.meaning is not None and any(texts):
            reader.check_coordinates(self.meaning, texts, np.array(stored))
        return reader

    @cached_property
    def piece_frequencies(self) -> PieceFrequencies | None:
        """Document frequencies of the word pieces of static queries; None without a query table."""
        if self.stored_pieces is not None or self.meaning is None or self.meaning.table is None:
            return self.stored_pieces
        return self.meaning.piece_frequencies(
            self.S.vocabulary,
            greatest_frequencies(self.statistics),
            self.statistics[0].n_docs,
        )

    @cached_property
    def n_encoded(self) -> int:
        """Number of live documents with coordinates."""
        return sum(
            int(np.count_nonzero(one.coordinates.known & one.mask))
            for one in self.segments
            if one.coordinates is not None
        )

    def ranked_by(self, ask: Ask | None = None) -> str:
        """Return what ranks queries, in plain words; by default as the index does."""
        words = "words" if self.settings.plain else "words and similar words"
        default = self.settings.meaning_weights.get(self.ranking, 0.0)
        if self.meaning is None or ask == "words" or (ask is None and not default):
            return words
        by = "a bundled table" if self.meaning.static else self.meaning.encoder
        if ask == "static" and not self.meaning.static:
            by += ", of the query by a table"
        return f"{words.replace(' and', ',')} and meaning (by {by})"

    @property
    def read_by(self) -> str:
        """What gives the documents their meaning, in a sentence; empty for nothing."""
        english = self.settings.language == "english"
        if self.meaning is not None and not self.meaning.static:
            faster = '; encoder="static" is faster' if english else ""  # the table is English
            return f"Documents are encoded by {self.meaning.encoder}{faster}."
        return TABLE if self.meaning is not None and english else ""

    @property
    def meaning_record(self) -> dict[str, Any] | None:
        """The encoder of the documents, its vectors and weights, as JSON types; None without."""
        if (meaning := self.meaning) is None:
            return None
        return {
            "encoder": meaning.encoder,
            "dimensions": meaning.dimensions,
            "query_table": meaning.table is not None,
            "encoded": self.n_encoded,
            "mean_cosine": self.settings.mean_cosine,
            "weights": dict(self.settings.meaning_weights),
        }

    def changed(self, **changes: Any) -> Snapshot:
        """Return a snapshot in memory with other settings, segments, S, source or statistics.

        Its norms are not known yet.
        """
        own = {name: changes.pop(name) for name in _CHANGED & changes.keys()}
        if "S" in own:
            changes = {"space": "space", "plain": False, "recipe": None, "awaited": (), **changes}
        if "statistics" in own:
            changes["statistics"] = "statistics"
            own["stored_pieces"] = None
        return replace(
            self,
            settings=replace(self.settings, segments=(), frozen=False, **changes),
            generation=0,
            _made={},
            _lock=threading.RLock(),
            **{"segments": tuple(replace(one, norms=None) for one in self.segments), **own},
        )

    def check(self) -> None:
        """Read all numbers and terms; CorruptIndexError if one is invalid."""
        self.S.check()
        for segment in self.segments:
            segment.check(len(self.S))

    @cached_property
    def normed(self) -> tuple[IndexedSegment, ...]:
        """The segments with the soft norms of their documents; IndefiniteMatrixError if S is."""
        segments, weighting = list(self.segments), self.settings.weighting
        for number, (one, first) in enumerate(zip(segments, self.documents.firsts, strict=True)):
            if one.norms is None:
                norms = tuple(
                    soft_norms(own, self.S, weighting, statistics, live=one.live, first=first)
                    for own, statistics in zip(one.fields, self.statistics, strict=True)
                )
                segments[number] = replace(one, norms=norms)
        return tuple(segments)

    def with_norms(self, *, compute: bool = True) -> Snapshot:
        """Return the snapshot with the soft norms of its documents, if S is definite enough.

        Parameters
        ----------
        compute : bool
            Whether they are computed if no search has done so yet.
        """
        if not compute and "normed" not in self.__dict__:
            return self
        try:
            return replace(self, segments=self.normed, _made={}, _lock=threading.RLock())
        except IndefiniteMatrixError:
            return self

    def rows(self, document: int) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """Return the ascending terms of a document and their counts, field by field."""
        number, local = self.documents.place(document)
        rows = [segment.row(local) for segment in self.segments[number].fields]
        return [(terms.astype(np.int32), values.astype(np.float64)) for terms, values in rows]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name in _STORED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _made={}, _lock=threading.RLock())


_STORED = (
    "settings", "segments", "S", "source", "statistics", "generation", "meaning", "stored_pieces",
)  # fmt: skip
_CHANGED = frozenset({"segments", "S", "source", "statistics"})


class SegmentedDocuments:
    """The live documents of several segments under one numbering.

    Deleted and replaced documents keep their numbers but are hidden, so numbers have gaps.
    """

    def __init__(self, segments: tuple[IndexedSegment, ...]) -> None:
        self._segments = segments
        sizes = [segment.n_docs for segment in segments]
        ends = list(accumulate(sizes))
        self.firsts = [end - size for end, size in zip(ends, sizes, strict=True)]

    def __len__(self) -> int:
        return sum(segment.n_live for segment in self._segments)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Numbers of the documents, ascending, shape (n_docs,)."""
        return np.concatenate(
            [
                first + (np.arange(one.n_docs) if one.live is None else np.flatnonzero(one.live))
                for first, one in zip(self.firsts, self._segments, strict=True)
            ]
        ).astype(np.int64)

    def insertion_numbers(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of documents in the order of insertion into all shards.

        In an index that is no numbered shard they are those given.
        """
        found = numbers.copy()
        segments = np.searchsorted(self.firsts, numbers, "right") - 1
        for segment in np.unique(segments).tolist():
            own = self._segments[segment].documents.insertion_numbers
            if own is not None:
                places = segments == segment
                found[places] = own[numbers[places] - self.firsts[segment]]
        return found

    @property
    def keeps_texts(self) -> bool:
        """Whether texts are stored."""
        return all(segment.documents.keeps_texts for segment in self._segments)

    def place(self, number: int) -> tuple[int, int]:
        """Return the segment of a document, and its number in the segment."""
        segment = bisect_right(self.firsts, number) - 1
        return segment, int(number) - self.firsts[segment]

    def owner(self, number: int) -> tuple[Documents, int]:
        """Return the stored documents of a document's segment, and its number in the segment.

        Raises
        ------
        UnknownDocumentError
            If the document was deleted or replaced, or never existed.
        """
        place = self._live_place(number)
        return self._segments[place[0]].documents, place[1]

    def _live_place(self, number: int) -> tuple[int, int]:
        segment, local = self.place(number)
        owner = self._segments[segment]
        if number >= 0 and local < owner.n_docs and (owner.live is None or owner.live[local]):
            return segment, local
        raise UnknownDocumentError(f"there is no document number {number} in the index.")

    def id(self, number: int) -> str:
        """Return the id of a document."""
        documents, local = self.owner(number)
        return documents.id(local)

    def ids_of(self, numbers: Sequence[int]) -> list[str]:
        """Return the ids of some documents, in the order given."""
        return [self.id(number) for number in numbers]

    def text(self, number: int) -> str:
        """Return the text of a document; empty if texts are not stored."""
        documents, local = self.owner(number)
        return documents.text(local)

    def metadata(self, number: int) -> dict[str, Any]:
        """Return the metadata of a document; empty if it has none."""
        documents, local = self.owner(number)
        return documents.metadata(local)

    def records(self, numbers: Sequence[int]) -> list[Document]:
        """Return some documents, in the order given."""
        places = [self._live_place(number) for number in numbers]
        if len(self._segments) == 1:
            return self._segments[0].documents.records(numbers)
        found: dict[tuple[int, int], Document] = {}
        for number in {number for number, _ in places}:
            own = [place for place in places if place[0] == number]
            records = self._segments[number].documents.records([local for _, local in own])
            found.update(zip(own, records, strict=True))
        return [found[place] for place in places]

    def all_ids(self) -> Iterator[str]:
        """Yield the id of every document, in order of number."""
        for segment in self._segments:
            yield from segment.of_live(segment.documents.all_ids())

    def numbers_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the documents with the given ids; unknown ids are left out."""
        found = {}
        for first, segment in zip(self.firsts, self._segments, strict=True):
            for id, local in segment.documents.numbers(ids).items():
                if segment.live is None or segment.live[local]:
                    found[id] = first + local
        return found

    def number(self, id: str) -> int:
        """Return the number of a document; UnknownDocumentError if no document has the id."""
        number = self.numbers_of([id]).get(id) if isinstance(id, str) else None
        if number is None:
            raise unknown_document(id)
        return number
