"""A searchable index of texts: create, open, save, search, write."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from softcosine.errors import CommitNotFoundError, InvalidInputError, VocabularyMismatchError
from softcosine.index.defaults import checked_fields
from softcosine.index.directory.lock import WRITER_TIMEOUT
from softcosine.index.directory.memory import MemoryDirectory
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.options import IndexKeywords, IndexOptions, checked_recipe
from softcosine.index.rankings import check_ranking
from softcosine.index.search.searchable import Searchable
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.weighting import Weighting, checked_weighting

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.encoders.encoder import GivenEncoder
    from softcosine.index.directory.backup import Backup
    from softcosine.index.directory.directory import Directory
    from softcosine.index.encoding import IndexEncoder
    from softcosine.index.search.vectors import Route, Vectors
    from softcosine.index.writer.index_writer import IndexWriter
    from softcosine.index.writer.merging import MergePolicy
    from softcosine.matrix.recipe import SimilarityRecipe


class SoftIndex(Searchable):
    """An exact, explainable full-text index that also finds documents by similar words.

    An index is in memory or in a folder. `from_texts` indexes documents in memory, `create` makes
    an empty index, `open` opens a saved one, and `save` copies an index to a folder. `writer` adds,
    replaces and deletes documents; `refresh` loads commits of other processes. `with_similarity`
    and `with_weighting` return an index that shares the postings. Threads can search one index
    concurrently. An index in a folder is pickled as its path and commit, so another process opens
    the same commit (`CommitNotFoundError` if there is a later one); its encoder is not pickled.

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
        self._encoder = self._directory.encoder
        self._refreshing = threading.Lock()

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str] | Iterable[Sequence[str]] | Iterable[Mapping[str, str]],
        *,
        ids: Iterable[str] | None = None,
        metadata: Iterable[Mapping[str, Any] | None] | None = None,
        progress: Report | None = None,
        default: Callable[[Any], Any] | None = None,
        **options: Unpack[IndexKeywords],
    ) -> Self:
        """Return a new index of texts, in memory.

        Same as `create` followed by one commit of its writer.

        Parameters
        ----------
        texts : iterable of str, or of token lists
            Read once. Token lists are indexed as they are. With `fields`, each text is a mapping
            of field names to strings; missing fields are empty.
        ids : iterable of str, optional
            Distinct; ``"0"``, ``"1"``, ... by default.
        metadata : iterable of mappings or None, optional
            JSON values, dates, datetimes, decimals, UUIDs and NumPy scalars
            (`softcosine.index.segment.metadata_values`). Each hit returns its metadata.
        progress : callable, optional
            Called with (task, done, total); total may be None.
        default : callable, optional
            Converts metadata values of other types, like ``default`` of `json.dumps`.
        **options
            Those of `create`: ``similarity``, ``source``, ``S``, ``plain``, ``max_neighbors``,
            ``analyzer``, ``language``, ``weighting``, ``ranking``, ``fields``, ``min_df``,
            ``max_df``, ``positions``, ``keep_texts``, ``encoder``, ``encoder_cache``,
            ``meaning_space``, ``meaning`` and ``note``.

        Raises
        ------
        InvalidInputError
            If a text is not a text (the message names its position), or options conflict.
        DuplicateIdError
            If an id occurs twice.
        """
        from softcosine.index.writer.document import from_columns

        index = cls.create(**options)
        with index.writer(memory=None, merge=None, default=default, progress=progress) as writer:
            for document in from_columns(texts, ids, metadata, distinct=True):
                writer.add(*document)
        index.words()  # compute norms now; raises if S is not valid
        return index

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        text: str | int | Sequence[str | int],
        id: str | int | None = None,
        metadata: Sequence[str | int] | None = None,
        progress: Report | None = None,
        default: Callable[[Any], Any] | None = None,
        **options: Unpack[IndexKeywords],
    ) -> Self:
        """Return a new index of the rows of a data frame, in memory.

        Parameters
        ----------
        frame : DataFrame of pandas or polars
        text : str, int, or sequence of them
            The text column. Several columns become fields. Integers name the columns of a frame
            without a header; fields and metadata keys are strings.
        id : str or int, optional
            The id column, strings or integers; by default rows are numbered.
        metadata : sequence of str or int, optional
            Columns stored as metadata, for filters; by default all others. Missing values are
            left out.
        progress, default
            See `from_texts`.
        **options
            Those of `create`, such as ``source=``, or ``fields={"title": 0.5, "body": 1}`` for the
            weights of several text columns.

        Raises
        ------
        InvalidInputError
            If a column does not exist, or a text or id is missing; also as in `from_texts`.

        Examples
        --------
        >>> import pandas as pd, softcosine as sc
        >>> frame = pd.DataFrame({"key": [7, 8], "body": ["green tea", "a tyre"], "n": [1, 2]})
        >>> index = sc.SoftIndex.from_frame(frame, text="body", id="key", plain=True)
        >>> index.search("tea", where={"n": {"<": 2}}).ids
        ['7']
        """
        from softcosine.index.frames import read_frame

        documents = read_frame(frame, text=text, id=id, metadata=metadata)
        options.setdefault("fields", documents.fields)
        return cls.from_texts(
            documents.texts, ids=documents.ids, metadata=documents.metadata, progress=progress,
            default=default, **options,
        )  # fmt: skip

    @property
    def path(self) -> Path | None:
        """The folder of the index or of its local copy; None for an index in memory."""
        return self._directory.path

    @property
    def commit(self) -> str:
        """Checksum of the commit that this index searches; empty in memory."""
        return self._directory.checksum

    @property
    def epoch(self) -> str:
        """Checksum of what scores depend on, except the documents; empty in memory.

        It covers S with its vocabulary and source, the statistics, the term weights, the fields
        and the analyzer. Only indexes of equal epoch have comparable scores and segments that can
        be joined. A commit that recomputes the statistics or extends S changes the epoch.
        """
        return self._directory.epoch

    def __repr__(self) -> str:
        return f"SoftIndex({len(self)} documents, {len(self.vocabulary)} terms)"

    def with_similarity(
        self, S: TermSimilarityMatrix, *, source: TermSimilaritySource | None = None
    ) -> Self:
        """Return an index that shares the postings and uses another S.

        Parameters
        ----------
        S : TermSimilarityMatrix
            A matrix over the same vocabulary.
        source : TermSimilaritySource, optional
            Supplies neighbors of query words outside the vocabulary; used without balancing. Wrap
            it in `Guarded` to separate antonyms here too. Unlike in `from_texts`, phrases of its
            lists do not become terms.

        Raises
        ------
        VocabularyMismatchError
            If the vocabularies differ.
        """
        if checked_similarity(S).vocabulary != self.vocabulary:
            raise VocabularyMismatchError(
                f"S has {len(S)} terms, but the index has {len(self.vocabulary)}; build S with "
                "index.vocabulary."
            )
        return self._like(self._snapshot.changed(S=S, source=source, note=""))

    def with_weighting(self, weighting: Weighting, *, ranking: str | None = None) -> Self:
        """Return an index that shares the postings and uses other term weights or ranking."""
        weighting = checked_weighting(weighting)
        ranking = self.ranking if ranking is None else check_ranking(ranking)
        return self._like(self._snapshot.changed(weighting=weighting, ranking=ranking))

    def with_fields(self, weights: Mapping[str, float]) -> Self:
        """Return an index that shares the postings and uses other weights of its fields."""
        names = [field.name for field in self.fields]
        if set(weights) != set(names):
            raise InvalidInputError(
                f"the weights are of {', '.join(weights)}, and the index has the fields "
                f"{', '.join(names)}; give each of these a weight."
            )
        fields = checked_fields({name: weights[name] for name in names})
        return self._like(self._snapshot.changed(fields=fields))

    def with_note(self, note: str) -> Self:
        """Return the same index with another `note`."""
        own = note.removesuffix(self._snapshot.read_by).rstrip()  # which `note` says beside it
        return self._like(self._snapshot.changed(note=own))

    def _like(self, snapshot: Snapshot) -> Self:
        """Return an index in memory with the encoder of this one."""
        return type(self)(snapshot, MemoryDirectory(snapshot, self._encoder))

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the index to a folder, atomically.

        Raises
        ------
        AlreadyExistsError
            If `path` exists, and `overwrite` is false or `path` is not an index.
        """
        from softcosine.index.directory.folder import save

        save(self._snapshot, path, overwrite=overwrite)

    @classmethod
    def create(
        cls,
        path: str | Path | None = None,
        *,
        overwrite: bool = False,
        **options: Unpack[IndexKeywords],
    ) -> Self:
        """Return a new index without documents; its `writer` adds them.

        Parameters
        ----------
        path : path of a folder, optional
            The parent must exist. In memory by default.
        overwrite : bool
            Whether to replace an index at `path`.

        Other Parameters
        ----------------
        similarity : SimilarityRecipe, or its dictionary (`to_dict`), optional
            How S is built. The default uses the bundled English vectors for English texts, and
            otherwise the spelling of words; `note` names the choice. A recipe that learns from
            texts (such as the default) learns from the documents of the first commit. For later
            terms, S gets rows from the source; without one they are similar only to themselves.
        source : TermSimilaritySource, optional
            A source of term similarity, instead of `similarity`. S is balanced
            (`TermSimilarityMatrix.from_source`), except for pairs of your own lists. Phrases in
            your lists become terms; see `list_use`.
        S : TermSimilarityMatrix, optional
            A ready matrix, instead of `similarity`. Other words are similar only to themselves.
        plain : bool
            If True, S = I: only equal words count. False by default.
        max_neighbors : int, optional
            Maximum number of neighbors of a term in S, if `similarity` is not given. By default
            100, or 10 if the similarities come only from the texts.
        analyzer : Analyzer, optional
            By default the analyzer of the language, without removing stop words. Phrases of your
            own lists are added to it.
        language : str
            ``"auto"``, the default, detects the language and reports it in `note`; ``"none"``
            disables language rules; otherwise one of the `languages` of `Analyzer.for_language`,
            such as ``"german"``, or several: ``"english+german"``. Selects the stemmer and
            segmenter, unless you pass an `analyzer`. English also selects the bundled vectors and
            antonyms.
        weighting : Weighting, optional
            ``Weighting(tf="log", idf="smooth", k1=1.6, b=0.75)`` by default; soft BM25 uses only
            k1 and b.
        ranking : {"soft_tf_bm25", "soft_bm25", "soft_cosine", "inner_product", "expanded_cosine"}
            The default ranking of searches; see `softcosine.index.rankings`. The first by default.
        fields : mapping of str to float, or iterable of str, optional
            Field names and their weights, such as ``{"title": 0.5, "body": 1}``; one field by
            default. The score of a document is the weighted sum of its field scores. Each field is
            a space with its own statistics; all fields share one S. The stored text is that of all
            fields, one a line.
        min_df, max_df : int or float
            See `softcosine.analyze`; 1 and 1.0 by default. Removes terms by their document
            frequency in the first commit; terms of later commits are never removed.
        positions : bool, optional
            Whether to store token positions, so that phrase queries do not read the texts. The
            default is True for several fields, because the stored text does not mark where a
            field ends.
        keep_texts : bool
            If False, texts are not stored: hits have no text, and phrase queries need `positions`.
            True by default.
        encoder : str, object with ``encode``, or None
            Reads every document once, so that searches also rank by meaning; see ``ask`` of
            `search`. ``"minilm"`` is all-MiniLM-L6-v2, for English; see
            `softcosine.encoders.loading.load_encoder`. The default, ``"auto"``, is that if it is
            installed and the first commit has at most 5,000 documents of 500,000 word pieces,
            stored, which takes up to about a minute; else ``"static"``, which needs no encoder:
            documents are sums over the bundled table of English word pieces, which gains less.
            Both only if the first texts are English, and unless `meaning` is given, in rankings by
            BM25 and without `plain` and `S`; `note` names the choice. None or ``"none"``: words
            alone. A tuple of two encoders is one for documents and one of the same space for
            queries, such as a smaller one.
        encoder_cache : path, optional
            File of encoded texts, so that no text is encoded twice.
        meaning_space : MeaningSpace, path or int, optional
            Projection and query table of the encoder, as `fit_meaning` and ``softcosine admin
            teach`` make them; those of ``"minilm"`` are bundled, and ``"static"`` are those of
            the package softcosine-multilingual. With the encoder ``"static"``, the query table to
            use. A number N keeps the first N components of the encoder's vectors, for encoders
            trained for that (Matryoshka).
        meaning : float, or mapping of rankings to float, optional
            Weight of the cosine in a score; by default 50 for BM25, 1 for soft_cosine, and with
            ``"static"`` 10 and 0.5.
        note : str
            A description of the source of the similarities, for people.

        Raises
        ------
        InvalidInputError, AlreadyExistsError, FileNotFoundError, OSError
        MissingDependencyError
            If the encoder is not installed.
        """
        from softcosine.index.writer.creation import create

        return cls(*create(path, IndexOptions.of(**options), overwrite=overwrite))

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        source: TermSimilaritySource | None = None,
        similarity: SimilarityRecipe | None = None,
        encoder: GivenEncoder | None = None,
        encoder_cache: str | Path | None = None,
        verify: bool = False,
    ) -> Self:
        """Return the index saved in a folder; its arrays are memory-mapped.

        Searches use the last commit; call `refresh` to see later commits.

        Parameters
        ----------
        path : path of the folder, or URL
            A URL such as ``s3://bucket/faq.index`` is read by fsspec (``softcosine[s3]``): the
            files of the commit are fetched into a local cache, and later commits cost their new
            parts. Such an index cannot be written.
        source : TermSimilaritySource, optional
            Asked about query words outside the vocabulary, in place of the saved one.
        similarity : SimilarityRecipe, optional
            How the first commit makes S, in place of the saved recipe. Needed where that has files,
            models or objects as sources: no index makes whoever opens it read the files it names.
        encoder, encoder_cache
            For queries and new documents, in place of the installed encoder of the index's name;
            see `create`. ``(None, QUERIES)`` names an encoder of queries alone. Of three stored
            texts it must give the stored coordinates, or an encoder of queries similar ones.
        verify : bool
            If True, read every file and check its checksum and the range of its numbers. If False,
            large arrays are checked before their first use; a damaged file is not detected if its
            size is right and its numbers are valid.

        Raises
        ------
        FileNotFoundError, IndexFormatError, CorruptIndexError
        ServerError, PermissionError, MissingDependencyError
            Of a URL.
        """
        from softcosine.index.directory.folder import FolderDirectory

        if similarity is not None:
            similarity = checked_recipe(similarity)
        snapshot, directory = FolderDirectory.open(path, source, recipe=similarity, verify=verify)
        if encoder is not None or encoder_cache is not None:
            from softcosine.index.encoding import chosen_encoder

            reader = chosen_encoder(snapshot.meaning, encoder, encoder_cache)
            directory = replace(directory, encoder=snapshot.checked(reader))
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
        """Copy the last commit to another folder, atomically.

        A writer may commit and merge at the same time. The copy is an independent index with
        identical files.

        Parameters
        ----------
        path : path of the copy
            The parent must exist.
        links : bool
            If True, share the files by hard links if the file system supports them. This takes no
            time, and no disk space until the index changes. Commits never modify files in place,
            so they do not affect the copy; but a disk fault or another program that damages a file
            damages both.
        verify : bool
            Whether to check the checksum of every copied file.
        overwrite : bool
            Whether to replace an index at `path`, such as an earlier copy. Open readers keep the
            old one.

        Returns
        -------
        Backup
            The commit, the number of documents, and the size.

        Raises
        ------
        InvalidInputError
            If the index is in memory, or one folder lies inside the other.
        CorruptIndexError
            If a file of the index is damaged; the message names it.
        IndexLockedError
            If a writer has the index at `path` open.
        AlreadyExistsError, FileNotFoundError, OSError

        Examples
        --------
        >>> import tempfile, softcosine as sc
        >>> folder = tempfile.mkdtemp()
        >>> index = sc.SoftIndex.create(f"{folder}/faq.index", plain=True)
        >>> index.backup(f"{folder}/faq.backup").commit == index.commit
        True
        """
        from softcosine.index.directory.folder import FolderDirectory

        if not isinstance(self._directory, FolderDirectory):
            raise InvalidInputError("this index is in memory alone; `save` writes it to a folder.")
        from softcosine.index.directory.backup import back_up

        return back_up(self._directory.store, path, links=links, verify=verify, overwrite=overwrite)

    def document_vectors(
        self, route: Route, *, ranking: str = "soft_cosine", n_dimensions: int = 256
    ) -> Vectors:
        """Return a vector of each document, for a vector store.

        Row i is the document ``list(index)[i]``: live documents in order of insertion. The dot
        product with a row of `query_vectors` is the score of the document by words alone, as
        ``index.search(query, ranking=ranking, ask="words")`` gives it, up to float32; for ``unit``
        the cosine has the same order, and for ``lsa`` the score is approximate.

        After a commit take the vectors of all documents again: they depend on S, on statistics and,
        for ``unit`` and ``lsa``, on each other. Queries must have those of the same commit.

        Parameters
        ----------
        route : {"impacts", "unit", "basis", "lsa", "meaning"}
            * ``impacts``: sparse vectors over the terms, for stores of sparse vectors (theory T9).
            * ``unit``: sparse vectors of length 1, for stores with cosine only (T10).
            * ``basis``: dense coordinates, as many as terms; S must be positive definite (T7).
            * ``lsa``: `n_dimensions` dense coordinates by latent semantic analysis (T11).
            * ``meaning``: dense coordinates of the encoder or the query table, of length 1; 0 for
              documents without any (T19). The dot product is the cosine of meaning.
        ranking : {"soft_cosine", "soft_bm25", "inner_product", "expanded_cosine"}
            Whatever the ranking of the index is. Not for ``meaning``.
        n_dimensions : int
            For ``lsa``; fewer if the documents have a lower rank.

        Returns
        -------
        csr_array or ndarray of shape (n_docs, any), float32
            Sparse for ``impacts`` and ``unit``.

        Raises
        ------
        InvalidInputError
            If the ranking is no sum over terms, the index has several fields or no coordinates, or
            the factor of S does not fit into memory.
        IndefiniteMatrixError
            If the route is ``basis`` and S is not positive definite.
        """
        from softcosine.index.search.vectors import document_vectors

        return document_vectors(self._snapshot, route, ranking=ranking, n_dimensions=n_dimensions)

    def query_vectors(
        self,
        queries: Sequence[str | Sequence[str]],
        route: Route,
        *,
        ranking: str = "soft_cosine",
        n_dimensions: int = 256,
    ) -> Vectors:
        """Return a vector of each query, for a store that has `document_vectors`.

        Parameters
        ----------
        queries : list of str, or of lists of tokens
            Without operators; stop words do not count beside other words, as in `search`.
        route, ranking, n_dimensions
            Those of the documents.

        Returns
        -------
        csr_array or ndarray of shape (n_queries, any), float32

        Raises
        ------
        InvalidInputError, IndefiniteMatrixError
            As `document_vectors`.
        MissingDependencyError
            If the route is ``meaning`` and the encoder of the documents is not installed.

        Examples
        --------
        >>> import softcosine as sc
        >>> index = sc.SoftIndex.from_texts(["a flat tyre", "green tea"], ids=["bike", "tea"])
        >>> scores = index.document_vectors("impacts") @ index.query_vectors(["tyre"], "impacts").T
        >>> {id: round(score, 2) for id, score in zip(index, scores.toarray().ravel().tolist())}
        {'bike': 0.58, 'tea': 0.0}
        """
        from softcosine.index.search.vectors import query_vectors

        return query_vectors(
            self._snapshot, queries, route, encoder=self._encoder, ranking=ranking,
            n_dimensions=n_dimensions,
        )  # fmt: skip

    def refresh(self) -> bool:
        """Load the last commit; return whether it is new.

        Running searches continue on the previous commit.
        """
        with self._refreshing:  # else a slower thread could restore an older commit
            newer = self._directory.refreshed(self._snapshot)
            if newer is None:
                return False
            self._snapshot, self._directory = newer
            return True

    def at_commit(self) -> Self:
        """Return the index as it is now; a refresh or a commit of this one does not change it.

        Nothing is copied. Use it for several calls that must see the same documents, while other
        threads write or refresh.
        """
        with self._refreshing:
            other = type(self)(self._snapshot, self._directory)
            other._encoder = self._encoder
            return other

    def writer(
        self,
        *,
        timeout: float | None = WRITER_TIMEOUT,
        memory: int | None = 1 << 30,
        merge: MergePolicy | Literal["default"] | None = "default",
        default: Callable[[Any], Any] | None = None,
        progress: Report | None = None,
        threads: int | None = None,
    ) -> IndexWriter:
        """Return a writer for the index; this index sees each of its commits.

        Parameters
        ----------
        timeout : float or None
            Seconds to wait for another writer to close; None waits forever.
        memory : int or None
            Approximate limit in bytes for buffered documents; None for no limit.
        merge : MergePolicy or None
            Which segments to merge after a commit; None merges none.
        default : callable, optional
            Converts metadata values of types outside `softcosine.index.segment.metadata_values`,
            like ``default`` of `json.dumps`.
        progress : callable, optional
            Called with (task, done, total); total may be None.
        threads : int, optional
            With more than one, documents are analysed while those before them are written. The
            index is the same to the byte. By default all usable CPUs (`softcosine.using_threads`).

        Raises
        ------
        IndexLockedError
            If another writer is still open after `timeout` seconds.
        PermissionError
            If the folder is read-only.

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
            encoder=self._encoder,
            progress=progress,
            on_commit=self._committed,
            threads=threads,
        )

    def _committed(self, encoder: IndexEncoder | None) -> None:
        """Load a commit of a writer of this index, and keep the encoder that it was given."""
        self.refresh()
        self._encoder = encoder

    def set_similarity(
        self,
        S: TermSimilarityMatrix,
        *,
        source: TermSimilaritySource | None = None,
        note: str = "",
        timeout: float | None = WRITER_TIMEOUT,
    ) -> None:
        """Commit another S: norms are recomputed, postings are not rewritten.

        Parameters
        ----------
        S, source
            See `with_similarity`.
        note : str
            A description of the source of the similarities, for people.
        timeout : float or None
            Seconds to wait for another writer to close; None waits forever.

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
        """Commit other term weights, or another default ranking; see `set_similarity`."""
        with self.writer(timeout=timeout) as writer:
            writer.set_weighting(weighting, ranking=ranking)

    def __getstate__(self) -> dict[str, Any]:
        if not isinstance(self._directory, MemoryDirectory):
            return {"_reopening": self._directory.reopening}
        # As bytes: see `SoftNeighbors`.
        return {"_snapshot": pickle.dumps(self._snapshot)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from softcosine.index.directory.folder import FolderDirectory

        opened: tuple[Any, ...]
        if "_reopening" in state:
            try:
                opened = FolderDirectory.open(**state["_reopening"])
            except CommitNotFoundError as error:
                raise CommitNotFoundError(
                    f"{error} refresh() an index before it is pickled, and commit when all "
                    "processes have opened it."
                ) from error
        else:
            opened = (pickle.loads(state["_snapshot"]),)
        self.__init__(*opened)  # type: ignore[misc]
