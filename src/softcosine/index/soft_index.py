"""Indexes of texts: made, saved, opened, written."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from softcosine.errors import InvalidInputError, VocabularyMismatchError
from softcosine.index.defaults import RANKING
from softcosine.index.directory.memory import MemoryDirectory
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.search.rankings import check_ranking
from softcosine.index.search.searchable import Searchable
from softcosine.index.writer.lock import WRITER_TIMEOUT
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.weighting import Weighting, checked_weighting

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.index.directory.backup import Backup
    from softcosine.index.directory.directory import Directory
    from softcosine.index.directory.salvage import Salvaged
    from softcosine.index.writer.index_writer import IndexWriter
    from softcosine.index.writer.merging import MergePolicy
    from softcosine.matrix.recipe import SimilarityRecipe

__all__ = ["SoftIndex"]


class SoftIndex(Searchable):
    """Documents that are searched by meaning, exactly, and every score explained.

    It is in a folder or in memory. `from_texts` makes one in memory of its documents, `create` one
    without documents; its `writer` changes it. `save` copies it to a folder, `open` opens one, and
    `refresh` sees what others committed there. `with_similarity` and `with_weighting` give a new
    one over the same postings. It may be searched from many threads at once.

    Examples
    --------
    >>> import softcosine as sc
    >>> index = sc.SoftIndex.from_texts(
    ...     ["a puncture in the bike's tyre", "the tea is getting cold"], ids=["bike", "tea"]
    ... )
    >>> [hit.id for hit in index.search("bicycle repair")]
    ['bike']
    """

    def __init__(self, snapshot: Snapshot, directory: Directory | None = None) -> None:
        super().__init__(snapshot)
        self._directory = MemoryDirectory(snapshot) if directory is None else directory
        self._refreshing = threading.Lock()

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str] | Iterable[Sequence[str]] | Iterable[Mapping[str, str]],
        *,
        fields: Mapping[str, float] | Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
        metadata: Iterable[Mapping[str, Any] | None] | None = None,
        similarity: SimilarityRecipe | None = None,
        source: TermSimilaritySource | None = None,
        S: TermSimilarityMatrix | None = None,
        plain: bool = False,
        analyzer: Analyzer | None = None,
        language: str = "auto",
        weighting: Weighting | None = None,
        ranking: str = RANKING,
        max_neighbors: int | None = None,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        positions: bool | None = None,
        keep_texts: bool = True,
        progress: Report | None = None,
        default: Callable[[Any], Any] | None = None,
    ) -> Self:
        """Index texts in memory: `create`, and one commit of its writer.

        Parameters
        ----------
        texts : iterable of str, or of token lists
            Read once. Token lists are neither cut nor normalised. With `fields`, mappings of their
            names to strings; those left out are empty.
        fields : mapping of str to float, or iterable of str, optional
            Names of the documents' fields, and what each counts, such as
            ``{"title": 2, "body": 1}``: a score is the weighted sum of the fields', each a space of
            its own with its own statistics, and one S. The kept text is the fields', one a line.
        ids : iterable of str, optional
            Distinct; ``"0"``, ``"1"``, ... by default.
        metadata : iterable of mappings or None, optional
            Anything that JSON can hold, and dates, datetimes, UUIDs and NumPy scalars
            (`softcosine.index.segment.metadata_values`); given back with every hit.
        similarity : SimilarityRecipe, optional
            How S is made. By default from the bundled English vectors, if the text is English, and
            else from what the texts themselves teach; `note` says which.
        source : TermSimilaritySource, optional
            In its place one source; S is balanced (`TermSimilarityMatrix.from_source`), but for the
            pairs of your own lists, whose phrases become terms; see `list_use`.
        S : TermSimilarityMatrix, optional
            A ready matrix instead. Words that it lacks are similar to themselves alone.
        plain : bool
            True for S = I: ordinary cosine.
        analyzer : Analyzer, optional
            By default that for the language, with its stop words in. The phrases of your own lists
            are added to it.
        language : str
            ``"auto"`` to recognise it, which `note` tells; ``"none"``; or one of the `languages`
            that `Analyzer.for_language` knows, such as ``"german"``. It chooses stemmer and
            segmenter, where no `analyzer` does; the bundled vectors and antonyms are used where it
            is English.
        weighting : Weighting, optional
            ``Weighting(tf="log", idf="smooth", k1=1.6, b=0.75)`` by default; soft BM25 takes k1
            and b of it.
        ranking : {"soft_bm25", "soft_cosine", "inner_product", "expanded_cosine"}
            The default of searches; see `softcosine.index.search.rankings`.
        max_neighbors : int, optional
            Most neighbours of a term in S. 100 by default, 10 where similarities come from the
            texts alone.
        min_df, max_df : int or float
            See `softcosine.analyze`.
        positions, keep_texts
            See `create`.
        progress : callable, optional
            Called with (what is being done, how far, out of how many or None).
        default : callable, optional
            What other values in metadata are written as, in the manner of `json.dumps`.

        Raises
        ------
        InvalidInputError
            If a text is no text (its position is named), or arguments contradict each other.
        DuplicateIdError
            If an id is given twice.
        """
        from softcosine.index.writer.document import from_columns

        index = cls.create(
            similarity=similarity, source=source, S=S, plain=plain, analyzer=analyzer,
            language=language, weighting=weighting, ranking=ranking, fields=fields,
            max_neighbors=max_neighbors, min_df=min_df, max_df=max_df, positions=positions,
            keep_texts=keep_texts,
        )  # fmt: skip
        with index.writer(memory=None, merge=None, default=default, progress=progress) as writer:
            for document in from_columns(texts, ids, metadata, distinct=True):
                writer.add(*document)
        index.searcher(ranking)  # norms are computed, and faults of S found, now
        return index

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        text: str | Sequence[str],
        id: str | None = None,
        metadata: Sequence[str] | None = None,
        **options: Any,
    ) -> Self:
        """Index the rows of a data frame.

        Parameters
        ----------
        frame : DataFrame of pandas or polars
        text : str or sequence of str
            The column of texts; several are fields, each a space of its own.
        id : str, optional
            The column of ids, strings or whole numbers; rows are numbered by default.
        metadata : sequence of str, optional
            Columns that are kept with the documents, for filters; all others by default. Values
            that are missing are left out.
        **options
            Others of `from_texts`, such as ``source=`` and, for weights of several columns,
            ``fields={"title": 2, "body": 1}``.

        Raises
        ------
        InvalidInputError
            If a column is not there, or a text or id is missing; else as `from_texts`.

        Examples
        --------
        >>> import pandas as pd, softcosine as sc
        >>> frame = pd.DataFrame({"key": [7, 8], "body": ["green tea", "a tyre"], "n": [1, 2]})
        >>> index = sc.SoftIndex.from_frame(frame, text="body", id="key", plain=True)
        >>> index.search("tea", where={"n": {"<": 2}}).ids
        ['7']
        """
        from softcosine.index.search.frames import read_frame

        documents = read_frame(frame, text=text, id=id, metadata=metadata)
        if not isinstance(text, str):
            options.setdefault("fields", list(text))
        return cls.from_texts(
            documents.texts, ids=documents.ids, metadata=documents.metadata, **options
        )

    @property
    def path(self) -> Path | None:
        """The folder of the index; None in memory."""
        return self._directory.path

    @property
    def commit(self) -> str:
        """Checksum of the commit that searches are answered from; empty in memory."""
        return self._directory.checksum

    @property
    def epoch(self) -> str:
        """Checksum of what scores depend on beside the documents that are ranked.

        That is S with its vocabulary and source, the statistics, the term weights, the fields and
        the analyzer. Scores of two indexes can be compared, and their segments joined, only if
        their epochs are equal; a commit that counts the statistics anew, or grows S, makes a new
        one.
        """
        return self._directory.epoch

    @property
    def frozen(self) -> bool:
        """Whether the epoch stays as it is: see `IndexWriter.freeze`."""
        return self._snapshot.frozen

    def __repr__(self) -> str:
        return f"SoftIndex({len(self)} documents, {len(self.vocabulary)} terms)"

    def with_similarity(
        self, S: TermSimilarityMatrix, *, source: TermSimilaritySource | None = None
    ) -> Self:
        """Return an index over the same postings with another S.

        Parameters
        ----------
        S : TermSimilarityMatrix
            Over the same vocabulary.
        source : TermSimilaritySource, optional
            Asked about query words outside the vocabulary, as it is: `Guarded` keeps antonyms
            apart there too. The phrases of its lists do not become terms, as in `from_texts`.

        Raises
        ------
        VocabularyMismatchError
            If the vocabularies differ.
        """
        return type(self)(self._with_similarity(S, source))

    def with_weighting(self, weighting: Weighting, *, ranking: str | None = None) -> Self:
        """Return an index over the same postings with other term weights, or another ranking."""
        return type(self)(self._with_weighting(weighting, ranking))

    def with_note(self, note: str) -> Self:
        """Return the same index with another word on where its similarities come from."""
        return type(self)(self._snapshot.changed(note=note))

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the index to a folder, whole or not at all.

        Raises
        ------
        AlreadyExistsError
            If something is there, and `overwrite` is false or it is no index.
        """
        from softcosine.index.directory.folder import save

        save(self._snapshot, path, overwrite=overwrite)

    @classmethod
    def create(
        cls,
        path: str | Path | None = None,
        *,
        similarity: SimilarityRecipe | None = None,
        source: TermSimilaritySource | None = None,
        S: TermSimilarityMatrix | None = None,
        plain: bool = False,
        analyzer: Analyzer | None = None,
        language: str = "auto",
        weighting: Weighting | None = None,
        ranking: str = RANKING,
        fields: Mapping[str, float] | Iterable[str] | None = None,
        max_neighbors: int | None = None,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        positions: bool | None = None,
        keep_texts: bool = True,
        note: str = "",
        overwrite: bool = False,
    ) -> Self:
        """Make an index without documents yet; its `writer` adds them.

        Parameters
        ----------
        path : path of a folder, optional
            Its parent must exist. In memory by default.
        similarity, source, S, plain, analyzer, language, weighting, ranking, max_neighbors
            See `from_texts`. A recipe that learns from texts, as the default does, learns from
            those of the first commit. Terms that come later ask the source; those that S lacks are
            similar to themselves alone.
        fields : mapping of names to weights, or names, optional
            Texts that are spaces of their own, such as ``{"title": 2, "body": 1}``; a score is the
            weighted sum of the fields' scores. One field by default.
        min_df, max_df : int or float
            See `softcosine.analyze`: terms of the first commit that are in fewer, or in more, of
            its documents are left out. Terms that come later are not.
        positions : bool, optional
            Whether the places of words are kept: phrases are then found without the texts. By
            default for several fields, since the kept text does not tell where a field ends.
        keep_texts : bool
            False keeps no texts: answers have none, and phrases need `positions`.
        note : str
            Where the similarities come from, for people.
        overwrite : bool
            Whether an index at `path` may be replaced.

        Raises
        ------
        InvalidInputError, AlreadyExistsError, FileNotFoundError, OSError
        """
        from softcosine.index.writer.creation import create

        return cls(
            *create(
                path, similarity=similarity, source=source, S=S, plain=plain, analyzer=analyzer,
                language=language, weighting=weighting, ranking=ranking, fields=fields,
                max_neighbors=max_neighbors, min_df=min_df, max_df=max_df, positions=positions,
                keep_texts=keep_texts, note=note, overwrite=overwrite,
            )
        )  # fmt: skip

    def shard(self, path: str | Path | None = None, *, overwrite: bool = False) -> Self:
        """Make an index without documents yet under the epoch of this one, frozen.

        It has this index's S, term weights, analyzer, fields and statistics, so it gives documents
        the scores that this one would, as long as this one's epoch stays; `IndexWriter.freeze`
        sees to that. Words that this index does not have are not indexed. Large files are shared
        by hard links where the system can.

        Parameters
        ----------
        path : path of a folder, optional
            Its parent must exist. In memory by default.
        overwrite : bool
            Whether an index at `path` may be replaced.

        Raises
        ------
        InvalidInputError
            If this index never had a document, or `path` is its own.
        AlreadyExistsError, FileNotFoundError, OSError

        Examples
        --------
        >>> import softcosine as sc
        >>> whole = sc.SoftIndex.from_texts(["green tea", "a flat tyre", "black tea"], plain=True)
        >>> shard = whole.shard()
        >>> with shard.writer() as writer:
        ...     writer.add("2", "black tea")
        >>> shard.epoch == whole.epoch
        True
        >>> [shard.search("tea")[0].score] == [
        ...     hit.score for hit in whole.search("tea") if hit.id == "2"
        ... ]
        True
        """
        from softcosine.index.writer.creation import shard

        return type(self)(*shard(self._directory, self._snapshot, path, overwrite=overwrite))

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        source: TermSimilaritySource | None = None,
        similarity: SimilarityRecipe | None = None,
        verify: bool = False,
    ) -> Self:
        """Open a saved index; its arrays are mapped, not read.

        It answers from the last commit; later ones of other processes are seen by `refresh`.

        Parameters
        ----------
        path : path of the folder
        source : TermSimilaritySource, optional
            Asked about query words outside the vocabulary, in place of the saved one.
        similarity : SimilarityRecipe, optional
            How the first commit makes S, in place of the saved recipe. Needed where that has files,
            models or objects as sources: no index makes whoever opens it read the files it names.
        verify : bool
            Whether to read every file, compare its checksum, and check that its numbers are
            possible ones. Otherwise large arrays are checked before their first use, and a change
            of a file that leaves its size alone and its numbers possible is not noticed.

        Raises
        ------
        FileNotFoundError, IndexFormatError, CorruptIndexError
        """
        from softcosine.index.directory.folder import FolderDirectory

        if similarity is not None:
            from softcosine.index.writer.creation import checked_recipe

            similarity = checked_recipe(similarity)
        snapshot, directory = FolderDirectory.open(path, source, recipe=similarity, verify=verify)
        if similarity is not None and snapshot.settings.space is not None:
            raise InvalidInputError(
                f"similarity is for an index that waits for its first words, and {path} has its "
                "similarities; exchange them by set_similarity."
            )
        return cls(snapshot, directory)

    def backup(
        self,
        path: str | Path,
        *,
        links: bool = False,
        verify: bool = True,
        overwrite: bool = False,
    ) -> Backup:
        """Copy the last commit of the index to another folder, whole or not at all.

        A writer may commit and merge meanwhile. The copy is an index like any other, with the same
        files to the byte. Engines beside the index are copied if they were made of that commit.

        Parameters
        ----------
        path : path of the copy
            Its parent must exist.
        links : bool
            Share the files by hard links where the file system can. Such a copy is made at once and
            takes no room until the index changes. No change of the index reaches it, since files of
            an index are never changed in place; but what damages a file in place (a disk fault,
            another program) damages both. So files are copied by default.
        verify : bool
            Whether to compare the checksum of every copied file.
        overwrite : bool
            Whether an index at `path` may be replaced, such as an earlier copy. Readers that have
            it open keep what they have.

        Returns
        -------
        Backup
            The number of the commit, its size, and which engines were copied.

        Raises
        ------
        InvalidInputError
            If the index is in memory alone, or one of the folders lies inside the other.
        CorruptIndexError
            If a file of the index is damaged; names it.
        IndexLockedError
            If a writer has the index open that is to be replaced.
        AlreadyExistsError, FileNotFoundError, OSError

        Examples
        --------
        >>> import tempfile, softcosine as sc
        >>> folder = tempfile.mkdtemp()
        >>> index = sc.SoftIndex.create(f"{folder}/faq.index", plain=True)
        >>> index.backup(f"{folder}/faq.backup").generation
        1
        """
        from softcosine.index.directory.folder import FolderDirectory

        if not isinstance(self._directory, FolderDirectory):
            raise InvalidInputError("this index is in memory alone; `save` writes it to a folder.")
        from softcosine.index.directory.backup import back_up

        return back_up(self._directory.store, path, links=links, verify=verify, overwrite=overwrite)

    @staticmethod
    def salvage(path: str | Path, to: str | Path, *, overwrite: bool = False) -> Salvaged:
        """Save what can be read of a damaged index as a new one.

        Every file is read. A segment with a file that is missing or was altered is left out whole;
        the documents of the others keep their scores. A damaged source of similarities is left out.

        Parameters
        ----------
        path : path of the damaged index
            It stays as it is.
        to : path of the new one
        overwrite : bool
            Whether an index at `to` may be replaced.

        Returns
        -------
        Salvaged
            How many documents are left and lost, and what is damaged.

        Raises
        ------
        CorruptIndexError
            If the manifest or the vocabulary is damaged, or no document is left.
        FileNotFoundError, IndexFormatError, AlreadyExistsError
        """
        from softcosine.index.directory.salvage import salvage

        return salvage(path, to, overwrite=overwrite)

    def refresh(self) -> bool:
        """See what was committed since the index was opened; whether there was anything.

        Searches that are under way go on with what they began with.
        """
        with self._refreshing:  # or of two threads the later could bring the older commit back
            newer = self._directory.refreshed(self._snapshot)
            if newer is None:
                return False
            self._snapshot, self._directory = newer
            return True

    def writer(
        self,
        *,
        timeout: float | None = WRITER_TIMEOUT,
        memory: int | None = 1 << 30,
        merge: MergePolicy | Literal["default"] | None = "default",
        default: Callable[[Any], Any] | None = None,
        progress: Report | None = None,
    ) -> IndexWriter:
        """Open the index for writing; this index sees each of the writer's commits.

        Parameters
        ----------
        timeout : float or None
            Seconds to wait while one and the same writer has it open; None waits for ever.
        memory : int or None
            Bytes that documents in work may take, about; None for as much as there is.
        merge : MergePolicy or None
            Which segments a commit joins; None joins none.
        default : callable, optional
            What values in metadata are written as that are neither JSON's nor of
            `softcosine.index.segment.metadata_values`, in the manner of `json.dumps`.
        progress : callable, optional
            Called with (what is being done, how far, out of how many or None).

        Raises
        ------
        IndexLockedError
            If another writer still has it open after `timeout` seconds.
        PermissionError
            If nothing may be written there.

        Examples
        --------
        >>> import tempfile, softcosine as sc
        >>> index = sc.SoftIndex.create(f"{tempfile.mkdtemp()}/faq.index", plain=True)
        >>> with index.writer() as writer:
        ...     writer.add("tea", "a pot of green tea", {"lang": "en"})
        >>> index.search("+tea", where={"lang": "en"}).ids
        ['tea']
        """
        from softcosine.index.writer.index_writer import IndexWriter
        from softcosine.index.writer.merging import MergePolicy

        return IndexWriter(
            self._directory,
            timeout=timeout,
            memory=memory,
            merge=MergePolicy() if merge == "default" else merge,
            default=default,
            progress=progress,
            on_commit=self.refresh,
        )

    def set_similarity(
        self,
        S: TermSimilarityMatrix,
        *,
        source: TermSimilaritySource | None = None,
        note: str = "",
        timeout: float | None = WRITER_TIMEOUT,
    ) -> None:
        """Take another S; no posting is rewritten, norms are computed anew.

        Parameters
        ----------
        S, source
            See `with_similarity`.
        note : str
            Where the similarities come from, for people.
        timeout : float or None
            Seconds to wait while one and the same writer has it open.

        Raises
        ------
        VocabularyMismatchError, IndexLockedError, PermissionError
        """
        with self.writer(timeout=timeout) as writer:
            writer.set_similarity(S, source=source, note=note)

    def set_weighting(
        self,
        weighting: Weighting,
        *,
        ranking: str | None = None,
        timeout: float | None = WRITER_TIMEOUT,
    ) -> None:
        """Take other term weights, or another ranking; as `set_similarity`."""
        with self.writer(timeout=timeout) as writer:
            writer.set_weighting(weighting, ranking=ranking)

    def _with_similarity(
        self, S: TermSimilarityMatrix, source: TermSimilaritySource | None
    ) -> Snapshot:
        if checked_similarity(S).vocabulary != self.vocabulary:
            raise VocabularyMismatchError(
                f"S speaks of {len(S)} terms, not the {len(self.vocabulary)} of this index; build "
                "it with index.vocabulary."
            )
        return self._snapshot.changed(S=S, source=source, note="")

    def _with_weighting(self, weighting: Weighting, ranking: str | None) -> Snapshot:
        return self._snapshot.changed(
            weighting=checked_weighting(weighting),
            ranking=self.ranking if ranking is None else check_ranking(ranking),
        )

    def __getstate__(self) -> dict[str, Any]:
        # Who is sent an index does not follow its folder. As bytes: see `SoftNeighbors`.
        return {"_snapshot": pickle.dumps(self._snapshot)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(pickle.loads(state["_snapshot"]))  # type: ignore[misc]
