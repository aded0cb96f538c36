"""Documents added to an index, replaced and deleted while it is searched."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from softcosine._progress import Report, silent
from softcosine._validation import check_flag, check_type
from softcosine.errors import (
    InvalidInputError,
    SoftCosineWarning,
    UnknownDocumentError,
    VocabularyMismatchError,
)
from softcosine.index.directory.directory import Directory
from softcosine.index.directory.store import Store
from softcosine.index.query.filters import Where
from softcosine.index.search.rankings import check_ranking
from softcosine.index.segment.documents import loaded
from softcosine.index.segment.metadata_values import Default, metadata_json
from softcosine.index.segment.segment import MAX_DOCS
from softcosine.index.writer.document import NewDocument, checked_id, from_columns, new_document
from softcosine.index.writer.growing import SimilarityBuilder
from softcosine.index.writer.lock import WRITER_TIMEOUT
from softcosine.index.writer.merging import MergePolicy
from softcosine.index.writer.pending_commit import PendingCommit
from softcosine.matrix.term_similarity_matrix import (
    TermSimilarityMatrix,
    checked_similarity,
    checked_source,
)
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import shortened
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting, checked_weighting

__all__ = ["IndexWriter"]

_MEMORY = 1 << 30
_LEAST_MEMORY = 1 << 16
# Texts of so many characters as this part of the memory take about half of it while analysed.
_SHARE = 64


class IndexWriter:
    """Changes an index; all changes since the last commit become visible at once, or none.

    Made by `SoftIndex.writer`. A context manager: leaving it commits, and leaving it by an
    exception rolls back. There is one at a time, and one thread may use it at a time; any number
    of readers go on with the generation that they have opened.

    Documents are buffered, analysed together, and written as segments, so that indexing takes
    bounded memory. New terms are numbered behind the old ones. At a commit S gets rows for them,
    from the index's source; without one they are similar to themselves alone. An index that was
    created with nothing given learns from the texts of its first commit. The statistics (document
    frequencies, number of documents, average length) that term weights rest on stay as they were
    until they are refreshed; then the norms of all documents are computed anew.

    Parameters
    ----------
    directory : Directory
    timeout : float or None
        Seconds to wait while one and the same writer has it open; None waits for ever.
    memory : int or None
        Bytes that the documents in work may take, about. At least 65,536. With None, all documents
        of a commit are analysed together.
    merge : MergePolicy or None
        Which segments a commit joins; None joins none.
    default : callable, optional
        What values in metadata are written as that are neither JSON's nor of
        `softcosine.index.segment.metadata_values`, in the manner of `json.dumps`.
    on_commit : callable, optional
        Called without arguments after each commit.
    builder : SimilarityBuilder, optional
        Makes S where the first commit is to make it, in place of the index's recipe.
    progress : callable, optional
        Called with (what is being done, how far, out of how many or None).

    Raises
    ------
    IndexLockedError
        If another writer still has the index open after `timeout`.
    PermissionError
        If nothing may be written there.
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
        on_commit: Callable[[], object] | None = None,
        builder: SimilarityBuilder | None = None,
        progress: Report | None = None,
    ) -> None:
        if memory is not None and (type(memory) is not int or memory < _LEAST_MEMORY):
            raise InvalidInputError(
                f"memory is {memory!r} bytes; pass a whole number of {_LEAST_MEMORY} or more, or "
                "None for as much as there is."
            )
        for name, function in (("default", default), ("progress", progress)):
            if function is not None and not callable(function):
                raise InvalidInputError(f"{name} is {function!r}; pass a function, or None.")
        check_type("merge", merge, MergePolicy | None, "pass a MergePolicy, or None")
        self._memory = sys.maxsize if memory is None else memory
        self._most = sys.maxsize if memory is None else MAX_DOCS  # documents in the buffer
        self._builder = builder
        self._report = progress or silent
        self._policy = merge
        self._default = default
        self._on_commit = on_commit
        self._buffer: dict[str, NewDocument] = {}
        self._size = 0
        self._open = True
        self._writer = directory.writing(timeout)
        try:
            self._draft = self._new_draft()
        except BaseException:
            self._writer.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None and self._open:
                self.commit()
        finally:
            self.close()

    @property
    def generation(self) -> int:
        """Number of the last commit."""
        return self._writer.number

    @property
    def vocabulary(self) -> Vocabulary:
        """The terms of all documents that were written; those in the buffer may have more."""
        return self._draft.vocabulary

    def add(
        self,
        id: str,
        text: str | Sequence[str] | Mapping[str, str],
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a document, in place of that with the same id, if there is one.

        Parameters
        ----------
        id : str
        text : str, list of tokens, or mapping of field names to str
            A mapping for an index of several fields; those left out are empty.
        metadata : mapping, optional
            Anything that JSON can hold, and dates, datetimes, UUIDs and NumPy scalars
            (`softcosine.index.segment.metadata_values`); given back with every hit.

        Raises
        ------
        InvalidInputError
            If something is no text, no id or no metadata. The index stays as it was.
        OSError
            If the buffer is full and cannot be written.
        """
        self._check_open()
        names = [field.name for field in self._draft.settings.fields]
        document = new_document(id, text, metadata, fields=names, default=self._default)
        size = document.size
        if self._is_full_for(document, size):
            self._flush()
        self._forget(id)
        self._buffer[id] = document
        self._size += size

    def add_many(
        self,
        ids: Iterable[str],
        texts: Iterable[str | Sequence[str] | Mapping[str, str]],
        metadata: Iterable[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """Add documents one after the other; each as `add` does, read once.

        Raises
        ------
        InvalidInputError
            As for `add`, or if there are not as many of each. The documents before are added.
        """
        self._check_open()
        for id, text, own in from_columns(texts, ids, metadata):
            self.add(id, text, own)

    def add_segments(self, paths: Iterable[str | Path]) -> int:
        """Add all documents of other indexes of this one's epoch; nothing is analysed again.

        Their segments are shared by hard links where the system can, and else copied; the checksum
        of every file is compared. Those indexes stay as they are, and may be deleted. A document
        takes the place of that with the same id, if there is one, here or in an earlier path.

        Parameters
        ----------
        paths : iterable of paths
            Of folders of indexes, such as `SoftIndex.shard` makes.

        Returns
        -------
        int
            How many documents were added.

        Raises
        ------
        InvalidInputError
            If one is of another epoch, which is named, or keeps no texts or places of words where
            this one does. Nothing of any is added.
        CorruptIndexError
            If a file has changed since it was written.
        FileNotFoundError, IndexFormatError, OSError
        """
        self._check_open()
        if isinstance(paths, str | Path):
            raise InvalidInputError(f"paths is {str(paths)!r}; pass a list of paths.")
        stores = [Store.open(path) for path in paths]
        self._flush()
        with _letting_go():
            return self._draft.add_segments(stores)

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
            Instead: see `softcosine.index.query.filters`. An empty one deletes everything.
        missing_ok : bool
            Whether it may be that there is none of that id.

        Returns
        -------
        int
            How many documents were deleted.

        Raises
        ------
        UnknownDocumentError
            If there is none of that id, unless `missing_ok`.
        InvalidInputError
            If there is neither an id nor a filter, or both, or it is no filter.
        """
        self._check_open()
        if (id is None) == (where is None):
            raise InvalidInputError("give the id of a document to delete, or a filter by where=.")
        if where is not None:
            return self._delete_where(Where.parse(where))
        checked = checked_id(id)
        buffered = self._forget(checked)
        n_deleted = max(self._draft.delete([checked]), int(buffered))
        if n_deleted or missing_ok:
            return n_deleted
        raise _unknown(checked)

    def update_metadata(
        self, id: str, metadata: Mapping[str, Any], *, replace: bool = False
    ) -> None:
        """Change the metadata of a document, and nothing else: no text is analysed again.

        It stays where it is in the order of insertion, and its scores stay as they are, to the bit.

        Parameters
        ----------
        id : str
        metadata : mapping
            Keys that are there get these values, new keys are added, all others stay.
        replace : bool
            Whether other keys go.

        Raises
        ------
        UnknownDocumentError
            If there is none of that id.
        InvalidInputError
            If it is no metadata. The index stays as it was.
        OSError
            If what earlier calls gave fills the memory and cannot be written. It stays as it was.
        """
        self._check_open()
        checked = checked_id(id)
        check_type(
            f"the metadata of document {shortened(checked)}", metadata, Mapping, "pass a mapping"
        )
        given = loaded(metadata_json(shortened(checked), metadata, self._default))
        document, place = self._buffer.get(checked), None
        if document is not None:
            before = loaded(document.metadata)
        elif (place := self._draft.place(checked)) is not None:
            before = self._draft.metadata(place)
        else:
            raise _unknown(checked)
        facts = given if replace else before | given
        changed = metadata_json(shortened(checked), facts, None)
        if changed == metadata_json(shortened(checked), before, None):
            return
        if document is not None:
            size = self._size + len(changed or "") - len(document.metadata or "")
            if size <= self._memory // _SHARE:
                self._size = size
                self._buffer[checked] = dataclasses.replace(document, metadata=changed)
                return
            self._flush()
            place = self._draft.place(checked)
        assert place is not None
        with _letting_go():
            self._draft.update_metadata(place, changed)

    def set_similarity(
        self,
        S: TermSimilarityMatrix,
        *,
        source: TermSimilaritySource | None = None,
        note: str = "",
    ) -> None:
        """Take another S from the next commit on; no posting is rewritten.

        Parameters
        ----------
        S : TermSimilarityMatrix
            Over the terms of the last commit, or over all of `vocabulary`.
        source : TermSimilaritySource, optional
            Asked for the rows of terms to come, and about query words outside the vocabulary.
            Without it terms to come are similar to themselves alone.
        note : str
            Where the similarities come from, for people.

        Raises
        ------
        VocabularyMismatchError
            If the vocabularies differ.
        """
        self._check_thawed("take another S")
        checked_similarity(S)
        if source is not None:
            checked_source(source)
        if len(S) < self._draft.n_committed_terms or not self.vocabulary.starts_with(S.vocabulary):
            raise VocabularyMismatchError(
                f"S speaks of {len(S)} terms, not the {len(self.vocabulary)} of this index; build "
                "it with writer.vocabulary, or take S.restricted(writer.vocabulary)."
            )
        self._draft.set_similarity(S, source, note)

    def set_weighting(self, weighting: Weighting, *, ranking: str | None = None) -> None:
        """Take other term weights, and another default ranking, from the next commit on.

        Raises
        ------
        InvalidInputError
        """
        self._check_open()
        if checked_weighting(weighting) != self._draft.settings.weighting:
            self._check_thawed("take other term weights")
        self._draft.set_weighting(
            weighting,
            self._draft.settings.ranking if ranking is None else check_ranking(ranking),
        )

    def merge(self) -> None:
        """Join all segments into as few as there can be, without deleted documents.

        Visible at a commit. Takes the memory of a full segment, whatever `memory` says.

        Raises
        ------
        CorruptIndexError
            If a file that would be merged has changed since it was written.
        OSError
            If there is no room for both, the old ones and the new.
        """
        self._check_open()
        self._flush()
        with _letting_go():
            self._draft.merge_all()

    def commit(self, refresh: bool | None = None) -> int:
        """Make all changes visible to whoever opens or refreshes the index from now on.

        Where there are none, nothing is written. Segments are joined afterwards, as a generation
        of its own; if that fails, as for want of room, a SoftCosineWarning says so.

        Parameters
        ----------
        refresh : bool, optional
            Whether to count the statistics anew. By default if there are fewer than 10,000
            documents, or the number of documents has changed by more than a tenth since.

        Returns
        -------
        int
            Number of the generation.

        Raises
        ------
        InvalidInputError
            If the index is frozen, and statistics were to be counted.
        OSError
            If it cannot be written, as where the disk is full. Readers still see the last commit,
            and the commit may be tried again.
        IndefiniteMatrixError
            If soft cosines rank the documents, and one has x'Sx < 0 under a new S.
        """
        self._check_open()
        check_flag("refresh", refresh, optional=True)
        if refresh:
            self._check_thawed("count the statistics anew")
        self._flush(last=True)
        before = self.generation
        with _letting_go():
            committed = self._draft.commit(refresh)
        if committed != before:
            try:
                if self._policy is not None:
                    self._tidy(self._policy)
            finally:
                if self._on_commit is not None:
                    self._on_commit()
        return self.generation

    def freeze(self) -> int:
        """Commit, and keep the epoch of the index as it is from then on.

        Until `thaw`, S, the term weights and the statistics stay as they are: no commit counts
        anew, and words that the vocabulary lacks get no numbers, so documents are not found by
        them, nor do they count in a document's length. Indexes of one epoch give a document the
        same scores, and their segments can be joined (`add_segments`).

        Returns
        -------
        int
            Number of the generation.

        Raises
        ------
        InvalidInputError
            If the index never had a document.
        """
        self.commit()
        self._draft.freeze(True)
        return self.commit()

    def thaw(self) -> int:
        """Let commits count the statistics anew, and new words get numbers; commits.

        What was added before is found by the words that were known then, until it is added again.
        """
        self._check_open()
        self._draft.freeze(False)
        return self.commit()

    def rollback(self) -> None:
        """Undo everything since the last commit; the room that it took on the disk is free again.

        Also while the error that made it necessary is being handled.
        """
        self._check_open()
        self._start_anew()
        self._empty()

    def close(self) -> None:
        """Undo everything since the last commit, and let another writer in."""
        if self._open:
            self._open = False
            self._empty()
            self._draft.close()
            self._writer.close()

    def _tidy(self, policy: MergePolicy) -> None:
        """Join segments after a commit, which stands if that fails."""
        try:
            with _letting_go():
                self._draft.tidy(policy)
        except (OSError, MemoryError) as error:
            self._start_anew()
            warnings.warn(
                f"the commit stands, but its segments could not be joined, and searches are slower "
                f"for it: {error}",
                SoftCosineWarning,
                stacklevel=3,
            )

    def _start_anew(self) -> None:
        """Go back to the last commit."""
        fresh = self._new_draft()  # what can fail comes first
        self._draft.close()
        self._draft = fresh
        self._writer.discard()

    def _new_draft(self) -> PendingCommit:
        return PendingCommit(
            self._writer, memory=self._memory, builder=self._builder, report=self._report
        )  # fmt: skip

    def _is_full_for(self, document: NewDocument, size: int) -> bool:
        """Whether the buffer has to be written before it takes another document."""
        if not self._buffer:
            return False
        return (
            len(self._buffer) >= self._most
            or self._size + size > self._memory // _SHARE
            # Texts and token lists are not analysed together.
            or next(iter(self._buffer.values())).tokenized != document.tokenized
        )

    def _flush(self, *, last: bool = False) -> None:
        """Write what is buffered."""
        with _letting_go():
            self._draft.append(list(self._buffer.values()), last=last)
        self._empty()
        if self._policy is not None and not last:
            # Without room they stay apart: nothing depends on it.
            with contextlib.suppress(OSError, MemoryError):
                self._draft.condense(self._policy)

    def _delete_where(self, where: Where) -> int:
        """Delete all documents that pass a filter; how many."""
        # What the buffered ones replace is as good as gone.
        self._draft.delete(list(self._buffer))
        passing = [
            document.id
            for document in self._buffer.values()
            if where.matches(loaded(document.metadata))
        ]
        n_deleted = self._draft.delete_where(where)
        return n_deleted + sum(map(self._forget, passing))

    def _forget(self, id: str) -> bool:
        """Drop a document from the buffer; whether it was there."""
        document = self._buffer.pop(id, None)
        if document is None:
            return False
        self._size -= document.size
        return True

    def _empty(self) -> None:
        self._buffer, self._size = {}, 0

    def _check_thawed(self, what: str) -> None:
        self._check_open()
        if self._draft.settings.frozen:
            raise InvalidInputError(
                f"this index is frozen, so it cannot {what}: its scores would no longer be those "
                "of the other indexes of its epoch. Thaw it first: writer.thaw(), or softcosine "
                "refresh --thaw."
            )

    def _check_open(self) -> None:
        if not self._open:
            raise InvalidInputError("this writer is closed; open another one.")


def _unknown(id: str) -> UnknownDocumentError:
    return UnknownDocumentError(f"there is no document with the id {shortened(id)} in the index.")


@contextlib.contextmanager
def _letting_go() -> Iterator[None]:
    """Clear the local variables of the frames that an error has left behind.

    The error's traceback would keep them while it is handled, with the maps of files
    that a rollback deletes: they would go on taking room on a full disk. To cut such files short
    would free it too, but whoever printed a variable of theirs later would end the process.
    """
    handled = sys.exception()  # an error that was there before is not ours
    try:
        yield
    except BaseException as raised:
        pending: list[BaseException | None] = [raised]
        seen = {id(None), id(handled)}
        while pending:
            error = pending.pop()
            if error is None or id(error) in seen:
                continue
            seen.add(id(error))
            traceback.clear_frames(error.__traceback__)
            pending += [error.__cause__, error.__context__]
        raise
