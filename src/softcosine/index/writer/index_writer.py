"""The writer of an index: adds, replaces and deletes documents while others search."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine._progress import Report, silent
from softcosine._threads import Background
from softcosine._validation import check_flag, check_type, check_whole
from softcosine.errors import (
    InvalidInputError,
    SoftCosineWarning,
    VocabularyMismatchError,
)
from softcosine.index.directory.directory import Directory
from softcosine.index.directory.lock import WRITER_TIMEOUT
from softcosine.index.encoding import (
    IndexEncoder,
    chosen_encoder,
    default_weights,
    meaning_weights,
    new_space,
)
from softcosine.index.query.filters import Where
from softcosine.index.rankings import check_ranking
from softcosine.index.segment.documents import checked_id, loaded, unknown_document
from softcosine.index.segment.metadata_values import Default, metadata_json
from softcosine.index.segment.segment import MAX_DOCS
from softcosine.index.writer.document import (
    DECIDING_SIZE,
    Committing,
    NewDocument,
    new_document,
)
from softcosine.index.writer.document_vectors import DocumentEncoder
from softcosine.index.writer.merging import MergePolicy
from softcosine.index.writer.pending_commit import AnalyzedDocuments, PendingCommit
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.similarity.source import TermSimilaritySource, checked_source
from softcosine.text.analyzer import shortened
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting, checked_weighting

if TYPE_CHECKING:
    from softcosine.encoders.encoder import GivenEncoder
    from softcosine.space.meaning import GivenSpace

_MEMORY = 1 << 30
_LEAST_MEMORY = 1 << 16
# Documents of the size `memory // _SHARE` take, with those in flight, most of the memory.
_SHARE = 16


def check_options(
    memory: int | None, merge: MergePolicy | None, **functions: Callable[..., Any] | None
) -> None:
    """Raise InvalidInputError unless these options of a writer are valid."""
    check_whole("memory", memory, least=_LEAST_MEMORY, optional=True)
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise InvalidInputError(f"{name} is {function!r}; pass a function, or None.")
    check_type("merge", merge, MergePolicy | None, "pass a MergePolicy, or None")


class IndexWriter(Committing):
    """Changes an index. A commit makes all changes since the last commit visible, atomically.

    Returned by `SoftIndex.writer`. As a context manager it commits on exit, and rolls back if an
    exception leaves the block. An index has one writer at a time, and one thread may use it at a
    time. Readers continue to search the commit that they opened.

    Documents are buffered, analysed in batches, and written as segments, so indexing takes bounded
    memory. New terms get numbers after the old ones. A commit adds rows for them to S, from the
    source; without a source they are similar only to themselves. If the index was created without
    a source or recipe, S is learned from the texts of the first commit. Term weights depend on
    statistics (document frequencies, number of documents, average length). A commit keeps the old
    statistics unless it refreshes them; a refresh recomputes the norms of all documents.

    Parameters
    ----------
    directory : Directory
    timeout : float or None
        Seconds to wait for another writer to close; None waits forever.
    memory : int or None
        Approximate limit in bytes for buffered documents, at least 65,536. With None, all
        documents of a commit are analysed in one batch.
    merge : MergePolicy or None
        Which segments a commit joins; None joins none.
    default : callable, optional
        Converts metadata values of types outside `softcosine.index.segment.metadata_values`, like
        ``default`` of `json.dumps`.
    on_commit : callable, optional
        Called after each commit with the encoder, if one was given here or to `encode`.
    encoder : IndexEncoder, optional
        Reads new documents; by default that of the directory, or the installed light one.
    progress : callable, optional
        Called with (task, done, total); total may be None.
    threads : int, optional
        With more than one, documents are read and analysed while those before them are inverted,
        written and merged by a second thread. The index is the same to the byte. By default all
        usable CPUs (`softcosine.using_threads`).

    Raises
    ------
    IndexLockedError
        If another writer is still open after `timeout`.
    PermissionError
        If the folder is read-only.
    FileNotFoundError, IndexFormatError, CorruptIndexError
    """

    def __init__(
        self,
        directory: Directory,
        *,
        timeout: float | None = WRITER_TIMEOUT,
        memory: int | None = _MEMORY,
        merge: MergePolicy | None = MergePolicy(),  # noqa: B008  # it is frozen
        default: Default | None = None,
        on_commit: Callable[[IndexEncoder | None], object] | None = None,
        encoder: IndexEncoder | None = None,
        progress: Report | None = None,
        threads: int | None = None,
    ) -> None:
        check_options(memory, merge, default=default, progress=progress)
        self._memory = sys.maxsize if memory is None else memory
        self._most = sys.maxsize if memory is None else MAX_DOCS  # buffered documents
        self._report = progress or silent
        self._reader = DocumentEncoder(encoder or directory.encoder, self._report)
        self._policy = merge
        self._default = default
        self._on_commit = on_commit
        self._buffer: dict[str, NewDocument] = {}
        self._size = 0
        self._tokenized = False  # whether the buffered documents are token lists
        # Documents that the background writes; buffered again if that fails.
        self._in_flight: dict[str, NewDocument] = {}
        self._failed = False  # whether the last attempt to write them failed
        self._background = Background(threads)
        self._process = os.getpid()
        self._writer = directory.writing(timeout)
        try:
            self._pending = self._new_pending()
            self._last_number = self._pending.last_number
            self._fields = [field.name for field in self._pending.settings.fields]
        except BaseException:
            self._writer.close()
            raise

    @property
    def generation(self) -> int:
        """Number of the last commit."""
        return self._writer.number

    @property
    def encoder(self) -> IndexEncoder | None:
        """The encoder of new documents in place of the installed one; None if none was given."""
        return self._reader.encoder

    @property
    def vocabulary(self) -> Vocabulary:
        """The terms of all written documents; buffered documents may have more."""
        self._settle()
        return self._pending.named()

    @property
    def n_docs(self) -> int:
        """Number of documents with all changes so far; writes the buffered ones."""
        self._check_open()
        self._flush(last=True)
        return self._pending.n_live

    def add(
        self,
        id: str,
        text: str | Sequence[str] | Mapping[str, str],
        metadata: Mapping[str, Any] | None = None,
        *,
        number: int | None = None,
    ) -> None:
        """Add a document, or replace the document with the same id.

        Parameters
        ----------
        id : str
        text : str, list of tokens, or mapping of field names to str
            A mapping if the index has several fields; missing fields are empty.
        metadata : mapping, optional
            JSON values, dates, datetimes, decimals, UUIDs and NumPy scalars
            (`softcosine.index.segment.metadata_values`). Each hit returns its metadata.
        number : int, optional
            Required in a shard of a sharded index, and only there: the place of the
            document in the order of insertion into all shards, greater than all before.

        Raises
        ------
        InvalidInputError
            If the id, the text or the metadata are invalid, or the encoder of the index is not
            installed. The index does not change.
        OSError
            If the buffer is full and cannot be written to disk.
        """
        self._check_open()
        if self._pending.meaning is not None:
            self._reader.encoder_of(self._pending.meaning)  # raises before anything is buffered
        document = new_document(id, text, metadata, fields=self._fields, default=self._default)
        if number is not None or self._pending.settings.numbered:
            if number is None:
                raise InvalidInputError(
                    "this index is a numbered shard: change the sharded index, which numbers "
                    "documents."
                )
            if not self._pending.settings.numbered:
                raise InvalidInputError("number is for numbered shards; leave it out.")
            check_whole("number", number, least=self._last_number + 1)
            self._last_number = number
            document = dataclasses.replace(document, number=number)
        size = document.size
        if document.tokenized != self._tokenized:  # cannot be analysed in one batch
            self._flush()
            self._settle()
            self._tokenized = document.tokenized
        elif len(self._buffer) >= self._most or self._size + size > self._room:
            self._flush()
        self._forget(id)
        self._buffer[id] = document
        self._size += size

    @property
    def _room(self) -> int:
        """Size of the buffered documents; the first ones decide the language together."""
        unknown = self._pending.settings.language is None
        return max(self._memory // _SHARE, DECIDING_SIZE if unknown else 0)

    def delete(
        self,
        id: str | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        missing_ok: bool = False,
    ) -> int:
        """Delete a document, or all that pass a filter.

        Parameters
        ----------
        id : str, optional
        where : mapping, optional
            A filter instead of an id; see `softcosine.index.query.filters`. An empty filter deletes
            everything.
        missing_ok : bool
            Whether an unknown id is allowed.

        Returns
        -------
        int
            Number of documents deleted.

        Raises
        ------
        UnknownDocumentError
            If no document has the id and `missing_ok` is false.
        InvalidInputError
            If neither or both of `id` and `where` are given, or `where` is not a filter.
        """
        self._settle()
        if (id is None) == (where is None):
            raise InvalidInputError("give the id of a document to delete, or a filter by where=.")
        if where is not None:
            filter = Where.parse(where)
            # Written documents that a buffered one replaces do not count.
            self._pending.delete(list(self._buffer))
            passing = [one for one in self._buffer.values() if filter.matches(loaded(one.metadata))]
            return self._pending.delete_where(filter) + sum(self._forget(one.id) for one in passing)
        checked = checked_id(id)
        buffered = self._forget(checked)
        n_deleted = max(self._pending.delete([checked]), int(buffered))
        if n_deleted or missing_ok:
            return n_deleted
        raise unknown_document(checked)

    def update_metadata(
        self, id: str, metadata: Mapping[str, Any], *, replace: bool = False
    ) -> None:
        """Change the metadata of a document without analysing its text again.

        The document keeps its place in the order of insertion; scores stay bit-identical.

        Parameters
        ----------
        id : str
        metadata : mapping
            New and changed keys; other keys stay.
        replace : bool
            If True, remove other keys.

        Raises
        ------
        UnknownDocumentError
            If no document has the id.
        InvalidInputError
            If the metadata are invalid. The index does not change.
        OSError
            If pending metadata fill the memory and cannot be written. The index does not change.
        """
        self._settle()
        checked = checked_id(id)
        check_type(
            f"the metadata of document {shortened(checked)}", metadata, Mapping, "pass a mapping"
        )
        given = loaded(metadata_json(shortened(checked), metadata, self._default))
        document, place = self._buffer.get(checked), self._pending.place(checked)
        if document is not None:
            before = loaded(document.metadata)
        elif place is not None:
            before = self._pending.metadata(place)
        else:
            raise unknown_document(checked)
        facts = given if replace else before | given
        changed = metadata_json(shortened(checked), facts, None)
        if changed == metadata_json(shortened(checked), before, None):
            return
        if document is not None:
            self._size += len(changed or "") - len(document.metadata or "")
            self._buffer[checked] = dataclasses.replace(document, metadata=changed)
            if self._size > self._room:
                self._flush()
        elif place is not None:
            self._pending.update_metadata(place, changed)

    def set_similarity(
        self,
        S: TermSimilarityMatrix,
        *,
        source: TermSimilaritySource | None = None,
        note: str = "",
    ) -> None:
        """Use another S from the next commit on; postings are not rewritten.

        Parameters
        ----------
        S : TermSimilarityMatrix
            Over the terms of the last commit, or over all of `vocabulary`.
        source : TermSimilaritySource, optional
            Supplies rows of S for later terms, and neighbors of query words outside the
            vocabulary. Without it, later terms are similar only to themselves.
        note : str
            A description of the source of the similarities, for people.

        Raises
        ------
        VocabularyMismatchError
            If the vocabularies differ.
        """
        self._check_thawed("take another S")
        checked_similarity(S)
        if source is not None:
            checked_source(source)
        if len(S) < self._pending.n_committed_terms or not self.vocabulary.starts_with(
            S.vocabulary
        ):
            raise VocabularyMismatchError(
                f"S speaks of {len(S)} terms, not the {len(self.vocabulary)} of this index; build "
                "it with writer.vocabulary, or take S.restricted(writer.vocabulary)."
            )
        self._pending.set_similarity(S, source, note)

    def set_weighting(self, weighting: Weighting, *, ranking: str | None = None) -> None:
        """Use other term weights, and another default ranking, from the next commit on.

        Raises
        ------
        InvalidInputError
        """
        self._settle()
        if checked_weighting(weighting) != self._pending.settings.weighting:
            self._check_thawed("take other term weights")
        self._pending.set_weighting(
            weighting,
            self._pending.settings.ranking if ranking is None else check_ranking(ranking),
        )

    def encode(
        self,
        encoder: GivenEncoder | None = None,
        *,
        cache: str | Path | None = None,
        meaning_space: GivenSpace | None = None,
        meaning: float | Mapping[str, float] | None = None,
    ) -> int:
        """Encode all documents that no encoder has read yet; visible after a commit.

        Coordinates by ``"static"`` are replaced if an encoder is given.

        Parameters
        ----------
        encoder, cache, meaning_space, meaning
            See ``encoder``, ``encoder_cache``, ``meaning_space`` and ``meaning`` of
            `SoftIndex.create`. Needed the first time; later only to change the weights, or for an
            encoder other than the installed one.

        Returns
        -------
        int
            Number of documents encoded.

        Raises
        ------
        InvalidInputError
            If the index has coordinates of another encoder, or stores no texts.
        MissingDependencyError
            If the encoder is not installed.
        """
        self._check_open()
        self._flush()
        self._settle()
        pending, known = self._pending, self._pending.meaning
        if not pending.settings.texts:
            raise InvalidInputError(
                "this index does not store the texts that an encoder would read; make it anew "
                "with encoder=."
            )
        static, weights = known is not None and known.static, pending.settings.meaning_weights
        space, reader = known, self._reader.encoder
        if reader is not None and reader.place is not None:
            cache, reader = cache or reader.place, None
        if encoder is not None and (known is None or static):
            space, reader = new_space(encoder, cache, meaning_space)
        elif not static or (cache, meaning_space) != (None, None):
            if encoder is None and reader is not None:
                reader = reader.cached(cache)
            else:
                reader = chosen_encoder(known, encoder, cache)
            if known is None or meaning_space is not None:
                space = reader.space(meaning_space)
        if known is None or (static and space != known):
            self._check_thawed("get a space of meaning")
            known, weights = space, {}
        elif space != known:
            raise InvalidInputError(
                "the documents of this index have coordinates in another space; make it anew."
            )
        assert known is not None
        if meaning is not None or not weights:
            weights = meaning_weights(meaning, pending.settings.ranking, default_weights(known))
            self._check_thawed("take another weight of meaning")
        before, self._reader.encoder = self._reader.encoder, reader
        try:
            return pending.encode(known, weights)
        except BaseException:
            self._reader.encoder = before
            raise

    def merge(self) -> None:
        """Merge all segments into as few as possible, and drop deleted documents.

        Visible after a commit. Takes the memory of a full segment, regardless of `memory`.

        Raises
        ------
        CorruptIndexError
            If a file to merge has changed since it was written.
        OSError
            If the disk has no room for the old and the new segments together.
        """
        self._check_open()
        self._flush()
        self._settle()
        self._pending.merge_all()

    def commit(self, refresh: bool | None = None) -> int:
        """Make all changes visible to readers that open or refresh the index from now on.

        Writes nothing if there are no changes. Afterwards segments are merged in a commit of
        their own; if that fails, for example on a full disk, a SoftCosineWarning is issued.

        Parameters
        ----------
        refresh : bool, optional
            Whether to recompute the statistics. The default is True if the index has fewer than
            10,000 documents, or if their number has changed by more than a tenth since.

        Returns
        -------
        int
            Number of the commit.

        Raises
        ------
        InvalidInputError
            If the index is frozen and `refresh` is true.
        OSError
            If the index cannot be written, for example on a full disk. Readers still see the last
            commit, and you can call `commit` again.
        IndefiniteMatrixError
            If soft cosines rank the documents, and one has x'Sx < 0 under a new S.
        """
        self._check_open()
        check_flag("refresh", refresh, optional=True)
        if refresh:
            self._check_thawed("count the statistics anew")
        self._flush(last=True)
        before = self.generation
        committed = self._pending.commit(refresh)
        if committed != before:
            try:
                if self._policy is not None:
                    self._tidy(self._policy)
            finally:
                if self._on_commit is not None:
                    self._on_commit(self._reader.encoder)
        return self.generation

    def freeze(self) -> int:
        """Commit, and keep the epoch from then on.

        Until `thaw`, S, term weights and statistics do not change. New words get no term number:
        no query matches them, and they do not count in the length of a document.

        Returns
        -------
        int
            Number of the commit.

        Raises
        ------
        InvalidInputError
            If the index never had a document.
        """
        self.commit()
        self._pending.freeze(True)
        return self.commit()

    def thaw(self) -> int:
        """Commit, and allow new statistics and new terms from then on.

        Documents added while frozen do not match later terms until you add them again.
        """
        self._settle()
        self._pending.freeze(False)
        return self.commit()

    def rollback(self) -> None:
        """Undo all changes since the last commit, and delete their files.

        An error that is still being handled can keep files open, which then take disk space until
        the handler ends.
        """
        self._check_open()
        self._background.wait()
        self._start_anew()
        self._empty()

    def close(self) -> None:
        """Undo all changes since the last commit, and release the write lock."""
        if self._process:
            self._process = 0
            try:
                self._background.close()
            finally:
                self._empty()
                self._pending.close()
                self._writer.close()

    def _tidy(self, policy: MergePolicy) -> None:
        """Merge segments after a commit; a failure does not affect the commit."""
        try:
            self._pending.tidy(policy)
        except (OSError, MemoryError) as error:
            self._start_anew()
            warnings.warn(
                f"the commit stands, but its segments could not be joined, and searches are slower "
                f"for it: {error}",
                SoftCosineWarning,
                stacklevel=3,
            )

    def _start_anew(self) -> None:
        """Return to the last commit."""
        fresh = self._new_pending()  # first, because it can fail
        self._pending.close()
        self._pending = fresh
        self._last_number = fresh.last_number
        self._writer.discard()

    def _new_pending(self) -> PendingCommit:
        return PendingCommit(
            self._writer, memory=self._memory, encoder=self._reader, report=self._report
        )  # fmt: skip

    def _flush(self, *, last: bool = False) -> None:
        """Analyse the buffered documents, and start to write them."""
        if self._buffer:
            if not self._pending.has_words:  # the first words decide how texts are analysed
                self._settle()
            batch = self._pending.analyze(list(self._buffer.values()))
            self._settle()
            self._background.start(lambda: self._write(batch, last=last))
            self._in_flight, self._buffer, self._size = self._buffer, {}, 0
        if last or self._failed or not self._background.concurrent:
            self._failed = False
            self._settle()

    def _write(self, batch: AnalyzedDocuments, *, last: bool) -> None:
        """Write analysed documents."""
        self._pending.append(batch)
        if self._policy is not None and not last:
            # Without disk space they stay separate, which is still correct.
            with contextlib.suppress(OSError, MemoryError):
                self._pending.condense(self._policy)

    def _settle(self) -> None:
        """Wait until all documents in flight are written; if that failed, buffer them again."""
        self._check_open()
        error = self._background.wait()
        documents, self._in_flight = self._in_flight, {}
        if error is None:
            return
        self._failed = True  # from now on wait at once, so that the buffer does not grow
        older = {id: one for id, one in documents.items() if id not in self._buffer}
        self._buffer = older | self._buffer
        self._size = sum(document.size for document in self._buffer.values())
        raise error

    def _forget(self, id: str) -> bool:
        """Remove a document from the buffer; return whether it was there."""
        document = self._buffer.pop(id, None)
        if document is None:
            return False
        self._size -= document.size
        return True

    def _empty(self) -> None:
        self._buffer, self._in_flight, self._size = {}, {}, 0

    def _check_thawed(self, what: str) -> None:
        self._settle()
        if self._pending.settings.frozen:
            raise InvalidInputError(
                f"this index is frozen, so it cannot {what}: its scores would no longer be those "
                "of the other indexes of its epoch. Thaw it first: writer.thaw(), or softcosine "
                "admin refresh --thaw."
            )
