"""What the next commit of an index will hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from softcosine.errors import CorruptIndexError, IndefiniteMatrixError
from softcosine.index.documents import MemoryDocuments
from softcosine.index.filters import Where
from softcosine.index.growing import Space, grown
from softcosine.index.incoming import NewDocument
from softcosine.index.inverting import invert
from softcosine.index.language import analyze_in_language, antonyms_of
from softcosine.index.lessons import Lesson
from softcosine.index.merging import (
    Kept,
    MergedDocuments,
    MergePolicy,
    full_groups,
    merge_fields,
    merge_positions,
)
from softcosine.index.pieces import Piece, hashes_of, joined_norms
from softcosine.index.rankings import soft_norms
from softcosine.index.segment import MAX_DOCS
from softcosine.index.statistics import FieldStatistics
from softcosine.index.store_writer import StoreWriter
from softcosine.index.stored import (
    IndexSettings,
    read_segment,
    read_snapshot,
    read_updates,
    write_deleted,
    write_norms,
    write_segment,
    write_space,
    write_statistics,
    write_updates,
)
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sources.in_terms import phrases_in
from softcosine.sources.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from softcosine.text.weighting import Weighting

__all__ = ["Draft"]

# Statistics of fewer documents are counted anew at every commit.
_ALWAYS_REFRESHED = 10_000
_REFRESHED_SHARE = 10  # else when more than one in so many has come or gone
_MERGED_POSTING = 48  # bytes that joining takes a posting, about
_ALWAYS_MERGED = 1 << 20  # so many postings, however little memory there is
_UPDATE = 256  # bytes that new metadata of a document take beside their text, about
_UPDATES_SHARE = 4  # of the memory


class Draft:
    """An index as of its last commit, and what has been done to it since.

    Every change is whole or raises before anything is changed; nothing is visible to readers
    before `commit`.

    Parameters
    ----------
    writer : StoreWriter
    source : TermSimilaritySource or None
        In place of the one that was kept.
    memory : int
        Bytes that learning and merging may take, about.

    Attributes
    ----------
    settings : IndexSettings
        Its segments and parts are those of the last commit.
    vocabulary : Vocabulary
        Of all documents that were written.
    changed : bool
        Whether a commit would change anything but metadata.
    """

    def __init__(
        self, writer: StoreWriter, *, source: TermSimilaritySource | None, memory: int
    ) -> None:
        self._writer = writer
        self._memory = memory
        base = writer.base
        self.settings = IndexSettings.from_dict(base.settings)
        snapshot = read_snapshot(base, source=source)
        self._pieces = [
            Piece.of(segment, stated)
            # A snapshot without documents has an empty segment all the same.
            for segment, stated in zip(snapshot.segments, self.settings.segments, strict=False)
        ]
        untaught = self.settings.space is None and not self.settings.plain
        self._space = Space(snapshot.S, snapshot.source, self.settings.space, untaught=untaught)
        self._statistics = snapshot.statistics
        self._statistics_part = self.settings.statistics
        self.vocabulary = snapshot.S.vocabulary
        self._lesson = Lesson(base.path)
        self.changed = False
        self._stale = False  # whether every norm has to be computed anew
        self._updated = False  # whether metadata were
        self._unwritten = 0  # bytes that new metadata take, about
        self._note = ""  # on the language, until it is committed

    @property
    def n_committed_terms(self) -> int:
        """How many terms the last commit had, or the S that was set since."""
        return len(self._space.S)

    @property
    def n_live(self) -> int:
        """How many documents there are, without deleted ones."""
        return sum(piece.n_live for piece in self._pieces)

    def append(self, documents: Sequence[NewDocument], *, last: bool) -> None:
        """Write documents as a segment, and delete those with their ids that were there before.

        Parameters
        ----------
        documents : sequence of NewDocument
            At most `MAX_DOCS`, of different ids; all of texts, or all of token lists.
        last : bool
            Whether a commit follows.
        """
        if not documents:
            return
        assert len(documents) <= MAX_DOCS
        n_fields = len(self.settings.fields)
        texts = [document.texts[number] for number in range(n_fields) for document in documents]
        analyzer, language, note = self.settings.analyzer, self.settings.language, self._note
        if analyzer is None or (language is None and self._space.untaught):
            phrases = phrases_in(self._space.source)
            first = analyze_in_language(texts, "auto", analyzer, phrases=phrases)
            analyzed, analyzer = first.texts, first.analyzer
            language, note = first.language, first.note
        else:
            analyzed = analyze(texts, analyzer)
        inverted = invert(
            texts, analyzed, analyzer, self.vocabulary,
            n_fields=n_fields, positions=self.settings.positions,
        )  # fmt: skip
        ids = [document.id for document in documents]
        kept = MemoryDocuments(
            [document.shown for document in documents] if self.settings.texts else [""] * len(ids),
            ids=ids,
            metadata=[json.loads(own.metadata) if own.metadata else None for own in documents],
            keep_texts=self.settings.texts,
        )
        part = write_segment(self._writer, inverted.fields, kept, inverted.positions)
        segment = read_segment(self._writer.part(part), part=part)
        if self._space.untaught:
            self._lesson.add(texts, analyzed, last=last)
        self.delete(ids)
        self._pieces = [*self._pieces, Piece.of(segment, hashes=hashes_of(ids))]
        self.vocabulary = inverted.vocabulary
        if len(analyzed.vocabulary):  # texts without words tell no language
            self.settings = replace(self.settings, analyzer=analyzer, language=language)
            self._note = note
        self.changed = True

    def delete(self, ids: Sequence[str]) -> int:
        """Delete documents that were written; how many of them there were."""
        hashes = hashes_of(ids)
        return self._without([piece.ids.find(ids, hashes).values() for piece in self._pieces])

    def delete_where(self, where: Where) -> int:
        """Delete the documents that were written and pass a filter; how many."""
        return self._without(
            [np.flatnonzero(piece.passing(where)).tolist() for piece in self._pieces]
        )

    def _without(self, gone: Sequence[Iterable[int]]) -> int:
        """Delete documents of each segment; how many were not deleted yet."""
        pieces = [piece.without(own) for piece, own in zip(self._pieces, gone, strict=True)]
        changed = [
            (old, new) for old, new in zip(self._pieces, pieces, strict=True) if old is not new
        ]
        if changed:
            self._pieces, self.changed = pieces, True
        return sum(old.n_live - new.n_live for old, new in changed)

    def place(self, id: str) -> tuple[int, int] | None:
        """Return the segment of a document that was written, and its number there; None if none."""
        hashes = hashes_of([id])
        for number, piece in enumerate(self._pieces):
            local = piece.ids.find([id], hashes).get(id)
            if local is not None and (piece.live is None or piece.live[local]):
                return number, local
        return None

    def metadata(self, place: tuple[int, int]) -> dict[str, Any]:
        """Return the metadata of a document."""
        return self._pieces[place[0]].documents.metadata(place[1])

    def update_metadata(self, place: tuple[int, int], metadata: str | None) -> None:
        """Give a document other metadata, as JSON; nothing else of it changes."""
        size = len(metadata or "") + _UPDATE
        if self._unwritten + size > self._memory // _UPDATES_SHARE:
            older = {piece.updated for piece in self._pieces}
            self._pieces = [self._with_updates(piece) for piece in self._pieces]
            self._unwritten = 0
            newer = {piece.updated for piece in self._pieces}
            self._writer.drop(name for name in older - newer if name is not None)
        self._pieces[place[0]].documents.updates.put(place[1], metadata)
        self._updated = True
        self._unwritten += size

    def set_similarity(
        self, S: TermSimilarityMatrix, source: TermSimilaritySource | None, note: str
    ) -> None:
        """Take another S, over the first terms of the vocabulary."""
        self._space = Space(S, source, None)
        self.settings = replace(self.settings, note=note, plain=False)
        self.changed = self._stale = True

    def set_weighting(self, weighting: Weighting, ranking: str) -> None:
        """Take other term weights, and another ranking."""
        self._stale = self._stale or weighting != self.settings.weighting
        self.settings = replace(self.settings, weighting=weighting, ranking=ranking)
        self.changed = True

    def merge_all(self) -> None:
        """Join all segments into as few as there can be, without deleted documents."""
        groups = full_groups([piece.mask() for piece in self._pieces])
        if all(piece.whole for piece in self._pieces) and len(groups) == len(self._pieces):
            return
        self._pieces = [
            self._pieces[group[0].number] if self._stays(group) else self._merged(group)
            for group in groups
        ]
        self.changed = True

    def _stays(self, group: Sequence[Kept]) -> bool:
        """Whether a group is one segment as it is: whole, and not cut in two."""
        piece = self._pieces[group[0].number]
        return len(group) == 1 and piece.whole and group[0].documents.size == piece.n_docs

    def tidy(self, policy: MergePolicy) -> None:
        """Join the segments that a policy says, and commit that; to be called after a commit."""
        self._join(policy, 0)
        self.commit(refresh=False)

    def condense(self, policy: MergePolicy) -> None:
        """Join segments that nobody has seen yet: each held open takes some memory."""
        seen = self._writer.base.parts
        first = sum(piece.part in seen for piece in self._pieces)  # these come first
        if len(self._pieces) - first >= policy.factor:
            self._join(policy, first)

    def _join(self, policy: MergePolicy, first: int) -> None:
        """Join the segments from number `first` on that a policy says."""
        pieces = self._pieces
        groups = policy.groups(
            [piece.n_docs for piece in pieces[first:]], [piece.n_live for piece in pieces[first:]]
        )
        numbers = [range(group.start + first, group.stop + first) for group in groups]
        for group in reversed(list(self._affordable(numbers))):
            kept = [Kept(number, np.flatnonzero(pieces[number].mask())) for number in group]
            merged = self._merged(kept)
            pieces = [*pieces[: group.start], merged, *pieces[group.stop :]]
            self.changed = True
        gone = {piece.part for piece in self._pieces} - {piece.part for piece in pieces}
        self._pieces = pieces
        self._writer.drop(gone)

    def _affordable(self, groups: Iterable[range]) -> Iterator[range]:
        """Cut groups so that no merge takes much more than the memory that there is."""
        most = max(self._memory // _MERGED_POSTING, _ALWAYS_MERGED)
        for group in groups:
            start, total = group.start, 0
            for number in group:
                size = sum(field.n_postings for field in self._pieces[number].fields)
                if number > start and total + size > most:
                    if number - start > 1:
                        yield range(start, number)
                    start, total = number, 0
                total += size
            if group.stop - start > 1 or len(group) == 1:
                yield range(start, group.stop)

    def commit(self, refresh: bool | None) -> int:
        """Make all of it visible at once; the number of the generation.

        Parameters
        ----------
        refresh : bool or None
            Whether to count the statistics anew; None if many documents have come or gone.
        """
        if not self.changed and not self._updated and not refresh:
            return self._writer.base.number
        pieces = [piece for piece in self._pieces if piece.n_live]
        refreshing = self._refreshing(refresh)
        fresh = self._counted(pieces)
        space = self._grown(fresh, definite=refreshing)
        statistics = fresh if refreshing else self._padded(len(self.vocabulary))
        same = _are_equal(statistics, self._padded(len(self.vocabulary)))
        if not self.changed and not self._updated and same:
            return self._writer.base.number
        stale = self._stale or not same or space.rescaled
        pieces = self._with_norms(pieces, space.S, statistics, stale=stale)
        pieces = [self._written(piece) for piece in pieces]
        part = space.part
        if part is None and not space.untaught:
            part = write_space(self._writer, space.S, space.source)
        counted = self._statistics_part
        if counted is None or not same:
            counted = write_statistics(self._writer, statistics)
        settings = replace(
            self.settings,
            segments=tuple(piece.settings() for piece in pieces),
            space=part,
            statistics=counted,
            note=" ".join(filter(None, (space.note or self.settings.note, self._note))),
        )
        generation = self._writer.commit(settings.to_dict(), settings.parts)
        self._pieces, self.settings = pieces, settings
        self._statistics, self._statistics_part = statistics, counted
        self._space = replace(space, part=part, note="", rescaled=False)
        self.vocabulary = space.S.vocabulary
        self.changed = self._stale = self._updated = False
        self._unwritten = 0
        self._note = ""
        if part is not None:
            self._lesson.close()
        return generation.number

    def close(self) -> None:
        """Let go of all segments, and of the texts that were to be learned from: it is done with.

        A mapped file takes room on the disk until its last map goes, deleted or not.
        """
        self._pieces = []
        self._lesson.close()

    def _refreshing(self, refresh: bool | None) -> bool:
        if refresh is None and not self.changed:
            return False  # new metadata alone leave every score as it is
        if refresh is not None:
            return refresh or self._statistics_part is None
        last, now = self._statistics[0].n_docs, self.n_live
        return (
            self._statistics_part is None
            or now < _ALWAYS_REFRESHED
            or abs(now - last) * _REFRESHED_SHARE > last
        )

    def _counted(self, pieces: Sequence[Piece]) -> tuple[FieldStatistics, ...]:
        """Count the live documents of every field."""
        live = [piece.live for piece in pieces]
        return tuple(
            FieldStatistics.of(
                [piece.fields[number] for piece in pieces], len(self.vocabulary), live=live
            )
            for number in range(len(self.settings.fields))
        )

    def _padded(self, n_terms: int) -> tuple[FieldStatistics, ...]:
        """Return the statistics of the last refresh: no document had the terms that came later."""
        return tuple(
            replace(
                one,
                document_frequencies=np.pad(
                    one.document_frequencies, (0, n_terms - one.document_frequencies.shape[0])
                ),
            )
            for one in self._statistics
        )

    def _grown(self, counted: Sequence[FieldStatistics], *, definite: bool) -> Space:
        """Return S with the terms that have come since."""
        analyzer = self.settings.analyzer or Analyzer()
        if len(self.vocabulary) == len(self._space.S):
            return self._space
        n_docs = counted[0].n_docs
        together = np.sum([one.document_frequencies for one in counted], axis=0)
        vocabulary = self.vocabulary.extended(
            (), document_frequencies=np.minimum(together, n_docs), n_docs=n_docs
        )
        if self._space.untaught:
            learned = self._lesson.learned(
                analyzer, vocabulary, language=self.settings.language, memory=self._memory
            )
            return self._space.taught(learned, vocabulary)
        return grown(
            self._space, vocabulary, analyzer, antonyms=antonyms_of(self.settings.language),
            plain=self.settings.plain, definite=definite,
        )  # fmt: skip

    def _with_norms(
        self,
        pieces: Sequence[Piece],
        S: TermSimilarityMatrix,
        statistics: Sequence[FieldStatistics],
        *,
        stale: bool,
    ) -> list[Piece]:
        """Compute the soft norms that are missing, or all; none where S is too indefinite."""
        weighting = self.settings.weighting
        first, done = 0, []
        for piece in pieces:
            norms = piece.norms
            if stale or norms is None:
                try:
                    norms = tuple(
                        soft_norms(own, S, weighting, of_field, live=piece.live, first=first)
                        for own, of_field in zip(piece.fields, statistics, strict=True)
                    )
                except IndefiniteMatrixError:
                    if self.settings.ranking == "soft_cosine":
                        raise
                    return [replace(one, norms=None, normed=None) for one in pieces]
                piece = replace(piece, norms=norms, normed=None)
            done.append(piece)
            first += piece.n_docs
        return done

    def _written(self, piece: Piece) -> Piece:
        """Write what of a piece is not on disk yet."""
        if piece.live is not None and piece.deleted is None:
            piece = replace(piece, deleted=write_deleted(self._writer, piece.live))
        if piece.norms is not None and piece.normed is None:
            piece = replace(piece, normed=write_norms(self._writer, piece.norms))
        return self._with_updates(piece)

    def _with_updates(self, piece: Piece) -> Piece:
        """Write what metadata of a piece have become, if that is not on disk yet."""
        updates = piece.documents.updates
        if not updates.recent:
            return piece
        name = write_updates(self._writer, updates, piece.n_docs)
        return piece.with_updates(name, read_updates(self._writer.part(name)))

    def _merged(self, kept: Sequence[Kept]) -> Piece:
        """Join documents into a new segment, after checking all that is in the old ones."""
        pieces = [self._pieces[one.number] for one in kept]
        chosen = [one.documents for one in kept]
        for name in self._names(pieces):
            self._writer.part(name).verify()
        for piece in pieces:
            piece.segment.check(len(self.vocabulary))
        n_fields = len(self.settings.fields)
        positions = None
        if self.settings.positions:
            every = [piece.positions or () for piece in pieces]
            if () in every:
                raise CorruptIndexError(
                    f"{pieces[every.index(())].part} lacks the positions of words that the index "
                    "keeps; rebuild the index."
                )
            positions = tuple(
                merge_positions([own[number] for own in every], chosen)
                for number in range(n_fields)
            )
        part = write_segment(
            self._writer,
            tuple(
                merge_fields([piece.fields[number] for piece in pieces], chosen)
                for number in range(n_fields)
            ),
            MergedDocuments([piece.documents for piece in pieces], chosen),
            positions,
        )
        merged = Piece.of(read_segment(self._writer.part(part), part=part))
        return replace(merged, norms=joined_norms(pieces, chosen))

    @staticmethod
    def _names(pieces: Iterable[Piece]) -> list[str]:
        return [name for piece in pieces for name in piece.settings().parts]


def _are_equal(left: Sequence[FieldStatistics], right: Sequence[FieldStatistics]) -> bool:
    return all(
        a.n_docs == b.n_docs
        and a.average_length == b.average_length
        and np.array_equal(a.document_frequencies, b.document_frequencies)
        for a, b in zip(left, right, strict=True)
    )
