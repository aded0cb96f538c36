"""The pending state of an index: the last commit and the changes for the next one."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Report, silent
from softcosine.encoders.loading import MINILM
from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.index.defaults import AUTOMATIC_WEIGHTS, MEANING_WEIGHTS
from softcosine.index.directory.directory import DirectoryWriter
from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.directory.snapshot import IndexedSegment, Snapshot
from softcosine.index.encoding import automatic_encoder, how_to_add
from softcosine.index.language import analyze_in_language
from softcosine.index.query.filters import Where
from softcosine.index.segment.coordinates import Coordinates
from softcosine.index.segment.documents import MemoryDocuments
from softcosine.index.segment.inverting import (
    document_frequencies,
    invert,
    numbered,
    renumbered,
)
from softcosine.index.segment.metadata_updates import MetadataUpdates
from softcosine.index.segment.positions import Positions
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.writer.document import (
    IdTable,
    NewDocument,
    deciding,
    hashes_of,
    lasting_hashes,
)
from softcosine.index.writer.document_vectors import DocumentEncoder
from softcosine.index.writer.growing import Space, grown
from softcosine.index.writer.merging import (
    MergedDocuments,
    MergePolicy,
    full_groups,
    joined_norms,
    merge_fields,
)
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.default import antonyms_of
from softcosine.similarity.in_terms import phrases_in
from softcosine.similarity.source import TermSimilaritySource
from softcosine.space.chance import N_SAMPLED, mean_cosine
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalysisCache, AnalyzedTexts, analyze
from softcosine.text.counted_terms import within_df_limits
from softcosine.text.forms import counted_forms
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting

if TYPE_CHECKING:
    from softcosine.matrix.recipe import SimilarityRecipe
    from softcosine.space.meaning import MeaningSpace

_logger = logging.getLogger(__name__)

_ENCODED_AT_ONCE = 8192  # texts in memory
# Statistics of smaller indexes are refreshed at every commit.
_ALWAYS_REFRESHED = 10_000
_REFRESHED_SHARE = 10  # larger ones if more than a tenth of the documents changed
_MERGED_POSTING = 48  # bytes per posting in a merge, approximately
_ALWAYS_MERGED = 1 << 20  # postings that may be merged regardless of the memory
_CHUNK_SHARE = 2048  # a distinct chunk of text takes about 256 bytes: an eighth of the memory
_UPDATE = 256  # bytes per updated document beside its metadata, approximately
_UPDATES_SHARE = 4  # divisor of the memory for updated metadata


@dataclass(frozen=True, slots=True)
class AnalyzedDocuments:
    """A batch of documents, ready to be inverted.

    Attributes
    ----------
    documents : sequence of NewDocument
    coordinates : Coordinates or None
    analyzed : AnalyzedTexts
    settings : IndexSettings
        Those of the index, with the language and analyzer of the texts.
    meaning : MeaningSpace or None
        Of the coordinates.
    note : str
        On the language.
    """

    documents: Sequence[NewDocument]
    coordinates: Coordinates | None
    analyzed: AnalyzedTexts
    settings: IndexSettings
    meaning: MeaningSpace | None
    note: str


@dataclass(frozen=True, slots=True)
class CountedDocuments:
    """Documents that are counted, and not in the index.

    Attributes
    ----------
    settings : IndexSettings
    note : str
        As of `PendingCommit.decided`.
    vocabulary : Vocabulary
        Terms within the limits of the index, in code point order, with forms, and with document
        frequencies in any field.
    fields : sequence of FieldStatistics
        Over these terms.
    texts : iterable of str
        Of each document; each iteration begins anew. Read if S is learned from texts.
    sample : sequence of str
        Texts whose ids have the least `lasting_hashes`. Read if an encoder reads documents.
    """

    settings: IndexSettings
    note: str
    vocabulary: Vocabulary
    fields: Sequence[FieldStatistics]
    texts: Iterable[str]
    sample: Sequence[str]


class PendingCommit:
    """An index as of its last commit, plus uncommitted changes.

    Every change is atomic: it raises before it changes anything. Readers see changes only after
    `commit`.

    Parameters
    ----------
    writer : DirectoryWriter
    memory : int
        Approximate limit in bytes for learning and merging.
    encoder : DocumentEncoder, optional
        Reads new documents, if they have coordinates.
    report : callable, optional
        Called with (task, done, total); total may be None.

    Attributes
    ----------
    settings : IndexSettings
        Segments and parts are those of the last commit.
    vocabulary : Vocabulary
        Terms of all written documents.
    changed : bool
        Whether a commit would change more than metadata.
    """

    def __init__(
        self,
        writer: DirectoryWriter,
        *,
        memory: int,
        encoder: DocumentEncoder | None = None,
        report: Report = silent,
    ) -> None:
        self._writer = writer
        self._encoder = encoder or DocumentEncoder()
        self._memory = memory
        self._cache = AnalysisCache(memory // _CHUNK_SHARE)
        self._report = report
        self._ids: dict[str, IdTable] = {}  # of each segment, by its part
        self._training_texts: Iterable[str] | None = None  # if they are in no segment
        self._n_read = 0
        self._begin(writer.snapshot())

    def _begin(self, snapshot: Snapshot) -> None:
        """Continue from a commit, without changes."""
        self.settings = snapshot.settings
        # A snapshot without documents has one empty segment; it is not stored.
        self._segments = [segment for segment in snapshot.segments if segment.n_docs]
        parts = {segment.part for segment in self._segments}
        self._ids = {part: table for part, table in self._ids.items() if part in parts}
        untaught = self.settings.space is None and not self.settings.plain
        self._space = Space(snapshot.S, snapshot.source, self.settings.space, untaught=untaught)
        self.vocabulary = snapshot.S.vocabulary
        self._statistics = snapshot.statistics
        self._meaning = snapshot.meaning
        self._piece_frequencies = snapshot.stored_pieces
        self._epoch = self._writer.epoch_of(self.settings)
        self._words = Counter[str]()  # occurrences of forms in the batches since the last commit
        self._n_batches = 0  # analysed since the last commit
        self._replaces_words = True  # whether counts of words can be without deleted documents
        self.changed = False
        self._changes_epoch = False  # whether a frozen index was given another S, or weights
        self._stale = False  # whether every norm has to be computed anew
        self._updated = False  # whether metadata were
        self._unwritten = 0  # bytes that new metadata take, about
        self._note = ""  # on the language, until it is committed

    @property
    def n_committed_terms(self) -> int:
        """Number of terms of the last commit, or of the S that was set since."""
        return len(self._space.S)

    @property
    def meaning(self) -> MeaningSpace | None:
        """The space of the documents' coordinates."""
        return self._meaning

    @property
    def n_live(self) -> int:
        """Number of live documents."""
        return sum(entry.n_live for entry in self._segments)

    @property
    def last_number(self) -> int:
        """Greatest insertion number of a written document in a shard; -1 without any."""
        numbers = [entry.documents.insertion_numbers for entry in self._segments]
        return max((int(own[-1]) for own in numbers if own is not None), default=-1)

    @property
    def _fresh(self) -> list[IndexedSegment]:
        """The segments written since the last commit."""
        return [one for one in self._segments if not self._writer.is_committed(one.part)]

    @property
    def has_words(self) -> bool:
        """Whether any document has a word; before, neither language nor terms are decided."""
        return any(own.n_postings for entry in self._segments for own in entry.fields)

    def analyze(self, documents: Sequence[NewDocument]) -> AnalyzedDocuments:
        """Return documents, analysed and encoded. Once there are words, `append` may run meanwhile.

        Parameters
        ----------
        documents : sequence of NewDocument
            With distinct ids; all texts, or all token lists.
        """
        texts = [text for document in documents for text in document.texts]
        analyzed, settings, note = self._analyzed(documents, texts)
        self._n_batches += 1
        meaning = self._space_of_meaning(settings)
        shown = [document.shown for document in documents]
        coordinates = self._encoder.coordinates(meaning, shown, settings.language)
        batch = AnalyzedDocuments(documents, coordinates, analyzed, settings, meaning, note)
        self._n_read += len(documents)
        self._report("inverting", 0, None)
        return batch

    def decided(self, texts: Sequence[str]) -> tuple[IndexSettings, str]:
        """Return the settings as the first documents decide them, and a note on the language."""
        found = analyze_in_language(
            texts, self.settings.language or "auto", self.settings.analyzer,
            phrases=self._first_phrases(), n_fields=len(self.settings.fields),
        )  # fmt: skip
        return self._in_language(found.language, found.analyzer), found.note

    def found(self, documents: CountedDocuments) -> int:
        """Commit the epoch that the first commit of some documents would make, without them.

        The index is frozen; return the number of the commit.
        """
        numbers, vocabulary = numbered(documents.vocabulary, self.vocabulary)
        fields = tuple(one.renumbered(numbers, len(vocabulary)) for one in documents.fields)
        frequencies = np.zeros(len(vocabulary), np.int64)
        assert documents.vocabulary.document_frequencies is not None
        frequencies[numbers] = documents.vocabulary.document_frequencies
        self.vocabulary = vocabulary.extended(
            (), document_frequencies=frequencies, n_docs=fields[0].n_docs
        )
        decided, self._note = documents.settings, documents.note
        self.settings = replace(
            self.settings, analyzer=decided.analyzer, language=decided.language,
            meaning_weights=decided.meaning_weights,
        )  # fmt: skip
        self._meaning = self._space_of_meaning(self.settings)
        self._training_texts = documents.texts
        sample = self._encoder.coordinates(self._meaning, documents.sample, decided.language)
        self.changed = True
        self._commit(True, fields, sample, min_df=1, max_df=1.0)
        self.freeze(True)
        return self.commit(None)

    def append(self, batch: AnalyzedDocuments) -> None:
        """Write documents as segments, and delete written documents with the same ids.

        Parameters
        ----------
        batch : AnalyzedDocuments
        """
        documents, analyzed = batch.documents, batch.analyzed
        texts = [text for document in documents for text in document.texts]
        assert batch.settings.analyzer is not None
        segments, vocabulary = invert(
            texts, analyzed, batch.settings.analyzer, self.vocabulary,
            n_fields=len(self.settings.fields), positions=self.settings.positions,
            frozen=self.settings.frozen,
        )  # fmt: skip
        ids = [document.id for document in documents]
        added, first = [], 0
        for fields, positions in segments:
            stop = first + fields[0].n_docs
            own = documents[first:stop]
            kept = MemoryDocuments(
                [one.shown for one in own] if self.settings.texts else [""] * len(own),
                ids=ids[first:stop],
                metadata=[one.metadata for one in own],
                keep_texts=self.settings.texts,
                insertion_numbers=np.array([one.number for one in own], np.int64)
                if self.settings.numbered
                else None,
            )
            written = self._writer.write_segment(fields, kept, positions)
            self._ids[written.part] = IdTable(written.documents, hashes_of(ids[first:stop]))
            coordinates = batch.coordinates and batch.coordinates.rows(first, stop)
            added.append(self._with_coordinates(written, coordinates))
            first = stop
        if not self.settings.frozen:
            self._words.update(analyzed.words)
            self._replaces_words &= self.settings.texts and not documents[0].tokenized
        self.delete(ids)
        self._segments = [*self._segments, *added]
        self.vocabulary = vocabulary
        if len(analyzed.vocabulary):  # the language of texts without words is unknown
            self.settings, self._note, self._meaning = batch.settings, batch.note, batch.meaning
        self.changed = True

    def encode(self, meaning: MeaningSpace, weights: Mapping[str, float]) -> int:
        """Encode all documents that no encoder has read, in a space of meaning; return how many.

        Coordinates in another space are replaced, and later documents are encoded in this one.
        """
        entries, n_read = list(self._segments), 0
        settings = replace(self.settings, meaning_weights=dict(weights), undecided=False)
        if self._meaning != meaning:
            entries = [entry.with_coordinates(None, None) for entry in entries]
            settings = replace(settings, meaning=None, mean_cosine=None)
        n_unread, n_done = sum(int(np.count_nonzero(entry.unread)) for entry in entries), 0

        def report(task: str, done: int, _: int | None) -> None:
            self._encoder.report(task, n_done + done, n_unread)

        for number, entry in enumerate(entries):
            unread = np.flatnonzero(entry.unread)
            own, n_own = entry.coordinates, 0
            if own is None:
                own = Coordinates.none(entry.n_docs, meaning.dimensions)
            for some in np.split(unread, range(_ENCODED_AT_ONCE, len(unread), _ENCODED_AT_ONCE)):
                texts = [entry.documents.text(local) for local in some.tolist()]
                coordinates = self._encoder.coordinates(meaning, texts, settings.language, report)
                n_done += len(texts)
                if coordinates is not None and coordinates.known.any():
                    own = own.replaced(some, coordinates)
                    n_own += int(np.count_nonzero(coordinates.known))
            if n_own == 0:  # blank texts have none
                continue
            entries[number] = self._with_coordinates(entry, own)
            n_read += n_own
        self._changes_epoch |= self._meaning != meaning or self.settings != settings
        self.changed |= n_read > 0 or self._changes_epoch
        self._segments, self.settings, self._meaning = entries, settings, meaning
        return n_read

    def _choose_encoder(self) -> None:
        """Decide `encoder="auto"`: a light encoder if it is installed and the documents few."""
        given, language, reader = self.settings.meaning_weights, self.settings.language, None
        if not self.settings.undecided:
            return
        if self.settings.texts:
            texts = (text for _, text, _ in MergedDocuments(self._segments).all_documents())
            reader = automatic_encoder(texts, self.n_live, language)
        if reader is not None:
            self.encode(reader.space(), {**MEANING_WEIGHTS, **given})
            return
        by_table = self._meaning is not None
        weights = {**AUTOMATIC_WEIGHTS, **given} if by_table else {}
        self.settings = replace(self.settings, meaning_weights=weights, undecided=False)
        if self.settings.texts:
            self._note = f"{self._note} {how_to_add(language)}".strip()

    def _space_of_meaning(self, settings: IndexSettings) -> MeaningSpace | None:
        """Return the space of meaning; where it is weighted but not given, the bundled table's."""
        if self._meaning is not None or not (settings.meaning_weights or settings.undecided):
            return self._meaning
        from softcosine.space.meaning_file import bundled_static

        return bundled_static() if settings.language == "english" else None

    def _with_coordinates(
        self, entry: IndexedSegment, coordinates: Coordinates | None
    ) -> IndexedSegment:
        """Return an entry with coordinates, written unless all are zero."""
        if coordinates is None or not coordinates.vectors.any():
            return entry
        return entry.with_coordinates(
            *self._writer.write_and_open("coordinates", coordinates, entry.n_docs)
        )

    def _analyzed(
        self, documents: Sequence[NewDocument], texts: Sequence[Any]
    ) -> tuple[AnalyzedTexts, IndexSettings, str]:
        """Analyse texts; the first with words decide the language, and so the analyzer."""
        settings, n_fields = self.settings, len(self.settings.fields)
        options: dict[str, Any] = {
            "n_fields": n_fields,
            "cache": self._cache,
            "progress": lambda done: self._report(
                "reading texts", self._n_read + done // n_fields, None
            ),
        }
        first = not self.has_words and not settings.frozen
        known = settings.frozen or settings.language is not None
        if settings.analyzer is not None and known and not first:
            # Forms of a second batch are counted at the commit, together with those of the first.
            options["with_forms"] = self._n_batches == 0
            return analyze(texts, settings.analyzer, **options), settings, self._note
        found = analyze_in_language(
            texts, settings.language or "auto", settings.analyzer,
            phrases=self._first_phrases() if first else (),
            n_deciding=len(deciding(documents)) * n_fields, **options,
        )  # fmt: skip
        return found.texts, self._in_language(found.language, found.analyzer), found.note

    def _first_phrases(self) -> tuple[str, ...]:
        """Return the phrases that must become terms of the first words."""
        of_recipe = self._recipe.phrases() if self._space.untaught else ()
        return *phrases_in(self._space.source), *of_recipe

    def _in_language(self, language: str, analyzer: Analyzer) -> IndexSettings:
        """Return the settings for texts of a language."""
        undecided = self.settings.undecided
        if undecided or language == "english" or self._meaning is not None:
            return replace(self.settings, analyzer=analyzer, language=language)
        return replace(
            self.settings, analyzer=analyzer, language=language, meaning_weights={}, undecided=False
        )

    def delete(self, ids: Sequence[str]) -> int:
        """Delete written documents by id; return how many existed."""
        hashes = hashes_of(ids)
        return self._without([self._find(entry, ids, hashes).values() for entry in self._segments])

    def delete_where(self, where: Where) -> int:
        """Delete the written documents that pass a filter; return their number."""
        return self._without(
            [np.flatnonzero(entry.passing(where)).tolist() for entry in self._segments]
        )

    def _without(self, gone: Sequence[Iterable[int]]) -> int:
        """Delete documents of each segment; return how many were live."""
        entries: list[IndexedSegment] = []
        texts: list[str] = []
        # Words of documents that no commit has do not count any longer.
        counted = self._n_batches and self._replaces_words
        for entry, numbers in zip(self._segments, gone, strict=True):
            left = entry.without(numbers)
            entries.append(left)
            if counted and left is not entry and not self._writer.is_committed(entry.part):
                removed = np.flatnonzero(entry.mask & ~left.mask).tolist()
                texts += map(entry.documents.text, removed)
        if texts and self.settings.analyzer is not None:
            self._words.subtract(analyze(texts, self.settings.analyzer).words)
        n_live, self._segments = self.n_live, entries
        n_deleted = n_live - self.n_live
        self.changed |= n_deleted > 0
        return n_deleted

    def _find(
        self, segment: IndexedSegment, ids: Sequence[str], hashes: NDArray[np.int64]
    ) -> dict[str, int]:
        """Return the numbers in a segment of those ids that exist, given their hashes."""
        if segment.part not in self._ids:
            self._ids[segment.part] = IdTable(segment.documents)
        return self._ids[segment.part].find(ids, hashes)

    def place(self, id: str) -> tuple[int, int] | None:
        """Return the segment of a document and its number in it; None if not written."""
        hashes = hashes_of([id])
        for number, entry in enumerate(self._segments):
            local = self._find(entry, [id], hashes).get(id)
            if local is not None and (entry.live is None or entry.live[local]):
                return number, local
        return None

    def metadata(self, place: tuple[int, int]) -> dict[str, Any]:
        """Return the metadata of a document."""
        return self._segments[place[0]].documents.metadata(place[1])

    def update_metadata(self, place: tuple[int, int], metadata: str | None) -> None:
        """Replace the metadata (JSON) of a document."""
        size = len(metadata or "") + _UPDATE
        if self._unwritten + size > self._memory // _UPDATES_SHARE:
            older = {entry.names.updates for entry in self._segments}
            self._segments = [self._with_updates(entry) for entry in self._segments]
            self._unwritten = 0
            newer = {entry.names.updates for entry in self._segments}
            self._writer.drop(name for name in older - newer if name is not None)
        self._segments[place[0]] = self._segments[place[0]].updatable()
        self._segments[place[0]].documents.updates.put(place[1], metadata)
        self._updated = True
        self._unwritten += size

    def set_similarity(
        self, S: TermSimilarityMatrix, source: TermSimilaritySource | None, note: str
    ) -> None:
        """Use another S, over the first terms of the vocabulary."""
        self._space = Space(S, source, None)
        self.settings = replace(self.settings, note=note, plain=False)
        self.changed = self._stale = self._changes_epoch = True

    def set_weighting(self, weighting: Weighting, ranking: str) -> None:
        """Use other term weights, and another ranking."""
        self._stale = self._stale or weighting != self.settings.weighting
        self.settings = replace(self.settings, weighting=weighting, ranking=ranking)
        self.changed = self._changes_epoch = True

    def freeze(self, frozen: bool) -> None:
        """Keep the epoch from the next commit on, or not."""
        if frozen and not self.settings.has_epoch:
            raise InvalidInputError(
                "this index never had a document with words, so there is nothing to freeze; commit "
                "some documents first."
            )
        self.changed = self.changed or frozen != self.settings.frozen
        self.settings = replace(self.settings, frozen=frozen)

    def merge_all(self) -> None:
        """Merge all segments into as few as possible, without deleted documents."""
        groups = full_groups([entry.mask for entry in self._segments])
        if all(entry.whole for entry in self._segments) and len(groups) == len(self._segments):
            return
        self._replaces_words = False
        merged = []
        for group in groups:
            entries = [
                replace(self._segments[number], live=None if mask.all() else mask)
                for number, mask in group
            ]
            stays = len(entries) == 1 and entries[0].whole
            merged.append(entries[0] if stays else self._merged(entries))
        self._segments, self.changed = merged, True

    def tidy(self, policy: MergePolicy) -> None:
        """Merge the segments selected by a policy, and commit; call it after a commit."""
        self._join(policy, 0)
        self.commit(refresh=False)

    def condense(self, policy: MergePolicy) -> None:
        """Merge uncommitted segments, because each open segment takes memory."""
        # Committed segments come first.
        first = sum(self._writer.is_committed(entry.part) for entry in self._segments)
        if len(self._segments) - first >= policy.factor:
            self._join(policy, first)

    def _join(self, policy: MergePolicy, first: int) -> None:
        """Merge the segments selected by a policy, from number `first` on."""
        entries = self._segments
        groups = policy.groups(
            [entry.n_docs for entry in entries[first:]], [entry.n_live for entry in entries[first:]]
        )
        numbers = [range(group.start + first, group.stop + first) for group in groups]
        for group in reversed(list(self._affordable(numbers))):
            merged = self._merged(entries[group.start : group.stop])
            entries = [*entries[: group.start], merged, *entries[group.stop :]]
            self.changed = True
        gone = {entry.part for entry in self._segments} - {entry.part for entry in entries}
        self._segments = entries
        self._writer.drop(gone)

    def _affordable(self, groups: Iterable[range]) -> Iterator[range]:
        """Split groups so that each merge fits the memory limit approximately."""
        most = max(self._memory // _MERGED_POSTING, _ALWAYS_MERGED)
        for group in groups:
            start, total = group.start, 0
            for number in group:
                size = sum(field.n_postings for field in self._segments[number].fields)
                if number > start and total + size > most:
                    if number - start > 1:
                        yield range(start, number)
                    start, total = number, 0
                total += size
            if group.stop - start > 1 or len(group) == 1:
                yield range(start, group.stop)

    def commit(self, refresh: bool | None) -> int:
        """Make all changes visible atomically; return the number of the commit.

        Parameters
        ----------
        refresh : bool or None
            Whether to recompute the statistics; None if many documents were added or deleted.
        """
        if not self.changed and not self._updated and not refresh:
            return self._writer.number
        if not self.has_words:
            return self._commit(refresh)
        self._choose_encoder()
        whole = self._segments, self.vocabulary
        try:
            self._number_terms()
            return self._commit(refresh, min_df=1, max_df=1.0)
        except BaseException:
            # A later commit may have more documents, in which terms that are rare now are not.
            if self._segments is not whole[0]:
                # Their other parts belong to the segments before, too.
                kept = {entry.part for entry in whole[0]}
                self._writer.drop({entry.part for entry in self._segments} - kept)
            self._segments, self.vocabulary = whole
            raise

    def _commit(
        self,
        refresh: bool | None,
        counted: tuple[FieldStatistics, ...] | None = None,
        sample: Coordinates | None = None,
        **limits: Any,
    ) -> int:
        """Make all of it visible at once, under the document frequencies of later commits.

        Parameters
        ----------
        refresh : bool or None
        counted : tuple, optional
            Statistics of each field, of documents that are not here; the vocabulary has their
            document frequencies in any field.
        sample : Coordinates, optional
            Of a sample of these documents.
        **limits
            Of later commits.
        """
        entries = [entry for entry in self._segments if entry.n_live]
        refreshing = counted is not None or self._refreshing(refresh)
        last = tuple(one.padded(len(self.vocabulary)) for one in self._statistics)
        if counted is None:
            counted = last if self.settings.frozen else self._counted(entries)
        space = self._grown(entries, counted, definite=refreshing)
        statistics = counted if refreshing else last
        same = statistics == last
        if not self.changed and not self._updated and same:
            return self._writer.number
        if self._stale or not same or space.rescaled:
            entries = [replace(entry, norms=None).named(norms=None) for entry in entries]
        written = self.settings
        new_meaning = self._meaning is not None and written.meaning is None
        counts_pieces = written.statistics is None or not same or new_meaning
        older = written.mean_cosine is None and not (written.statistics is None or new_meaning)
        if counts_pieces and self._meaning is not None and not (self._meaning.static or older):
            sampled = self._sampled(entries) if sample is None else sample.vectors
            # A table's space leaves out what the vectors of its encoder share.
            usual = self._meaning.encoder == MINILM or self._meaning.table is None
            mean = mean_cosine(sampled, self._meaning.encoder if usual else "")
            written = replace(written, mean_cosine=mean)
        snapshot = Snapshot(
            written, tuple(entries), space.S, space.source, statistics,
            generation=self._writer.number + 1, meaning=self._meaning,
            stored_pieces=None if counts_pieces else self._piece_frequencies,
        )  # fmt: skip
        pieces = None
        if self._writer.stores_norms:  # otherwise searches compute them on demand
            self._report("computing lengths", 0, None)
            if self.settings.ranking == "soft_cosine":
                _ = snapshot.normed  # raises if S is too indefinite
            snapshot, pieces = snapshot.with_norms(), snapshot.piece_frequencies
        write = self._writer.write_part
        if space.part is None and not space.untaught:
            part = write("space", space.S, space.source)
            written = replace(written, space=part, recipe=None, awaited=())
        if new_meaning:
            written = replace(written, meaning=write("meaning", self._meaning))
        if counts_pieces:
            written = replace(written, statistics=write("statistics", statistics, pieces))
        notes = space.note or self.settings.note, self._note
        written = replace(written, note=" ".join(filter(None, notes)), **limits)
        epoch = self._writer.epoch_of(written)
        assert epoch == self._epoch or self._changes_epoch or not written.frozen
        entries = [entry for entry in snapshot.segments if entry.n_docs]
        if epoch != self._epoch:  # unchanged norms also belong to the new epoch
            entries = [entry.named(norms=None) for entry in entries]
        entries = [self._with_updates(entry).written(write, epoch) for entry in entries]
        written = replace(written, segments=tuple(entry.names for entry in entries))
        committed = replace(
            snapshot, settings=written, segments=tuple(entries), stored_pieces=pieces
        )
        number = self._writer.commit_snapshot(committed)
        self._begin(committed)
        return number

    def _sampled(self, entries: Sequence[IndexedSegment]) -> NDArray[np.int8]:
        """Return the coordinates of the documents whose ids have the least hashes.

        So the sample depends neither on their order nor on batches and shards.
        """
        found: list[tuple[int, NDArray[np.int8]]] = []
        for entry in entries:
            if (own := entry.coordinates) is not None:
                known = own.known & entry.mask
                hashes = lasting_hashes(compress(entry.documents.all_ids(), known))
                least = np.argsort(hashes)[:N_SAMPLED]
                vectors = own.vectors[np.flatnonzero(known)[least]]
                found += zip(hashes[least].tolist(), vectors, strict=True)
        found.sort(key=itemgetter(0))
        sample = np.array([vector for _, vector in found[:N_SAMPLED]], np.int8)
        return sample.reshape(len(sample), -1 if len(sample) else 0)

    def close(self) -> None:
        """Release all segments; the object is unusable afterwards.

        A mapped file takes disk space until its last map is closed, even if it is deleted.
        """
        self._segments, self._ids = [], {}

    def _refreshing(self, refresh: bool | None) -> bool:
        if self.settings.frozen or (refresh is None and not self.changed):
            return False  # updated metadata do not change scores
        if refresh is not None:
            return refresh or self.settings.statistics is None
        last, now = self._statistics[0].n_docs, self.n_live
        return (
            self.settings.statistics is None
            or now < _ALWAYS_REFRESHED
            or abs(now - last) * _REFRESHED_SHARE > last
        )

    def _counted(self, entries: Sequence[IndexedSegment]) -> tuple[FieldStatistics, ...]:
        """Count the live documents of every field, for statistics."""
        live = [entry.live for entry in entries]
        return tuple(
            FieldStatistics.of(
                [entry.fields[number] for entry in entries], len(self.vocabulary), live=live
            )
            for number in range(len(self.settings.fields))
        )

    def named(self) -> Vocabulary:
        """Return the vocabulary of all written documents, with all forms of the new terms."""
        return self._longer(self.vocabulary.terms[len(self._space.S) :])

    def _longer(self, new: Sequence[str]) -> Vocabulary:
        """Return the vocabulary of S and the new terms, with their forms."""
        forms = None
        if self.vocabulary.has_forms:
            assert self.settings.analyzer is not None
            forms = counted_forms(new, self._words.items(), self.settings.analyzer)
        return self._space.S.vocabulary.extended(new, forms=forms)

    def _number_terms(self) -> None:
        """Give the terms of this commit the numbers that one batch would give them.

        They are in code point order. Terms outside the limits of the index, or of deleted documents
        alone, are removed.
        """
        fresh = self._fresh
        parts = {one.part for one in fresh}
        limited = self.settings.leaves_terms_out
        if not limited and self._n_batches < 2 and all(one.live is None for one in fresh):
            return  # a batch is numbered so
        n_given, terms = len(self._space.S), self.vocabulary.terms
        kept = within_df_limits(
            _document_frequencies(fresh, len(terms)), self.n_live,
            min_df=self.settings.min_df, max_df=self.settings.max_df,
        )  # fmt: skip
        kept[:n_given] |= not limited
        new = sorted((n_given + np.flatnonzero(kept[n_given:])).tolist(), key=terms.__getitem__)
        numbers = np.full(len(terms), -1, np.int32)
        numbers[:n_given] = np.where(kept[:n_given], np.arange(n_given), -1)
        numbers[new] = np.arange(n_given, n_given + len(new))
        vocabulary = self._longer([terms[i] for i in new])
        moved = np.flatnonzero(numbers != np.arange(len(terms)))
        first = int(moved[0]) if len(moved) else len(terms)
        self._segments = [
            self._renumbered(entry, numbers, vocabulary)
            if entry.part in parts and max(own.n_terms for own in entry.fields) > first
            else entry
            for entry in self._segments
        ]
        self.vocabulary = vocabulary

    def _renumbered(
        self, entry: IndexedSegment, numbers: NDArray[np.int32], vocabulary: Vocabulary
    ) -> IndexedSegment:
        """Write a segment again with other term numbers."""
        written = self._writer.write_segment(
            [renumbered(own, numbers, vocabulary) for own in entry.fields],
            entry.documents,
            entry.positions and [own.renumbered(numbers) for own in entry.positions],
        )
        if entry.part in self._ids:
            self._ids[written.part] = self._ids[entry.part]
        written = written.with_coordinates(entry.names.coordinates, entry.coordinates)
        return replace(written, live=entry.live)

    def _grown(
        self,
        entries: Sequence[IndexedSegment],
        counted: Sequence[FieldStatistics],
        *,
        definite: bool,
    ) -> Space:
        """Return S with rows for the new terms."""
        vocabulary, analyzer = self.vocabulary, self.settings.analyzer or Analyzer()
        if len(vocabulary) == len(self._space.S):
            return self._space
        if entries:  # otherwise the vocabulary has them: see `found`
            frequencies = counted[0].document_frequencies
            if len(counted) > 1:
                frequencies = _document_frequencies(entries, len(vocabulary))
            vocabulary = vocabulary.extended(
                (), document_frequencies=frequencies, n_docs=counted[0].n_docs
            )
        if self._space.untaught:
            return self._trained(vocabulary, analyzer)
        self._report("finding similar terms", 0, None)
        return grown(
            self._space, vocabulary, analyzer, antonyms=antonyms_of(self.settings.language),
            plain=self.settings.plain, definite=definite,
            progress=lambda done, total: self._report("finding similar terms", done, total),
        )  # fmt: skip

    def _trained(self, vocabulary: Vocabulary, analyzer: Analyzer) -> Space:
        """Return S learned from the documents of the first commit."""
        analyzed = None
        if self._recipe.needs_texts():
            texts: Iterable[str] | None = self._training_texts
            if texts is None and not self.settings.texts:
                raise InvalidInputError(
                    "this index does not keep the texts that its similarities are learned from; "
                    "make it with keep_texts=True, or name another source."
                )
            if texts is None:
                stored = MergedDocuments(self._segments)
                texts = (text for _, text, _ in stored.all_documents())
            analyzed = analyze(texts, analyzer).over(vocabulary)
        made = self._recipe.build(
            vocabulary, analyzed, analyzer=analyzer, language=self.settings.language,
            report=self._report,
        )  # fmt: skip
        _logger.info(made.note)
        return Space(made.S, made.source, None, note=made.note)

    @property
    def _recipe(self) -> SimilarityRecipe:
        """The recipe of S at the first commit."""
        from softcosine.matrix.recipe import SimilarityRecipe  # not needed by later commits

        if self.settings.recipe is None and self.settings.awaited:
            raise InvalidInputError(
                f"{self._writer.path or 'this index'} waits for its first words, to make "
                f"similarities from {', '.join(self.settings.awaited)}; who opens an index has "
                "to name files, models and objects again. Open it with "
                "similarity=SimilarityRecipe(sources=...), or make it anew (softcosine index FILES "
                "-o INDEX --source ...)."
            )
        return self.settings.recipe or SimilarityRecipe()

    def _with_updates(self, entry: IndexedSegment) -> IndexedSegment:
        """Write the unwritten updated metadata of a segment entry."""
        updates = entry.documents.updates
        if not updates.recent:
            return entry
        settled = MetadataUpdates.from_arrays(updates.to_arrays(), entry.n_docs)
        return entry.with_updates(*self._writer.write_and_open("updates", settled, entry.n_docs))

    def _merged(self, entries: Sequence[IndexedSegment]) -> IndexedSegment:
        """Merge the live documents of segments into a new one, after checking the old ones."""
        self._writer.verify(name for entry in entries for name in entry.names.parts)
        for entry in entries:
            entry.check(len(self.vocabulary))
        live, positions = [entry.mask for entry in entries], None
        if self.settings.positions:
            every = [entry.positions for entry in entries if entry.positions is not None]
            if len(every) < len(entries):
                raise CorruptIndexError(
                    f"{entries[0].part} or a segment after it lacks the positions of words that "
                    "the index keeps; rebuild the index."
                )
            positions = [Positions.merge(own, live) for own in zip(*every, strict=True)]
        by_field = zip(*(entry.fields for entry in entries), strict=True)
        fields = [merge_fields(own, live, self.vocabulary) for own in by_field]
        written = self._writer.write_segment(fields, MergedDocuments(entries), positions)
        merged = replace(written, norms=joined_norms(entries))
        coordinates = [entry.coordinates for entry in entries]
        if self._meaning is None or not any(coordinates):
            return merged
        chosen = [np.flatnonzero(mask) for mask in live]
        return self._with_coordinates(
            merged, Coordinates.merged(coordinates, chosen, self._meaning.dimensions)
        )


def _document_frequencies(entries: Sequence[IndexedSegment], n_terms: int) -> NDArray[np.int64]:
    """Return the number of live documents that contain each term in any field."""
    return document_frequencies([(entry.fields, entry.live) for entry in entries], n_terms)
