"""An index served by another engine: the same questions, the same kind of answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from softcosine._progress import Report, silent
from softcosine.engines.capabilities import Capabilities
from softcosine.engines.engine import Block
from softcosine.engines.recall import recall_of, sampled_queries
from softcosine.engines.route_choice import N_DIMENSIONS
from softcosine.engines.state import EngineRequest, State
from softcosine.engines.stored_state import opened, place, saved
from softcosine.engines.subject import Owner, subject_of
from softcosine.engines.updates import Update, followed
from softcosine.index.search import execution
from softcosine.index.search.results import Hits
from softcosine.index.search.top_docs import QueryVector, Top, check_k
from softcosine.index.soft_neighbors import Matches

__all__ = ["EngineIndex"]


class EngineIndex:
    """An index in another engine: Faiss, Annoy, hnswlib or USearch.

    Make one by `build` or `open`. It answers from the state of the index that it was made of, until
    `update`. What the engine finds can be scored once more by the index, exactly: ``rerank=100``
    scores a hundred candidates, and the answers then have the index's own scores and order. What
    the engine misses is missed all the same; `recall` tells how much that is.

    It may be searched from many threads at once, but not while it is updated.

    Examples
    --------
    >>> import softcosine as sc
    >>> index = sc.SoftIndex.from_texts(
    ...     ["a puncture in the bike's tyre", "the tea is getting cold"], ids=["bike", "tea"]
    ... )
    >>> fast = sc.EngineIndex.build(index, "faiss", factory="Flat")  # doctest: +SKIP
    >>> [hit.id for hit in fast.hits(["bicycle repair"])[0]]  # doctest: +SKIP
    ['bike']
    """

    def __init__(self, state: State, update: Update | None = None) -> None:
        self._state = state
        self._updated = update or Update()

    @classmethod
    def build(
        cls,
        index: Owner,
        engine: str = "faiss",
        *,
        route: str = "auto",
        n_dimensions: int = N_DIMENSIONS,
        max_memory: int | None = None,
        ranking: str | None = None,
        threads: int | None = None,
        progress: Report | None = None,
        **settings: Any,
    ) -> Self:
        """Bring the documents of an index into an engine.

        Parameters
        ----------
        index : SoftIndex or SoftNeighbors
            Of one field.
        engine : str
            See `softcosine.engines.registry.ENGINES`.
        route : {"auto", "basis", "lsa", "sparse"}
            How documents become vectors; see `softcosine.engines.routes`. ``auto`` takes the
            basis, by which nothing is lost, where it fits into `max_memory`, else ``lsa``.
        n_dimensions : int
            Of ``lsa``. The more, the less is lost.
        max_memory : int, optional
            Bytes that coordinates in the basis, and the factor of S, may take; 1 GiB for ``auto``.
        ranking : str, optional
            Another one than the index's.
        threads : int, optional
            All processors by default. Graphs that several threads build differ from run to run.
        progress : callable, optional
            Called with (what is being done, how far, out of how many or None).
        **settings
            Of the engine, such as ``factory="IVF256,Flat"``; see its class.

        Raises
        ------
        InvalidInputError
            If there is no such engine, route or setting, or they do not go together, or the index
            has several fields.
        MissingDependencyError
            If the engine's package is not installed; says the pip command.
        IndefiniteMatrixError
            If the route is ``basis`` and S is not positive definite.
        """
        asked = EngineRequest(engine, settings, route, n_dimensions, max_memory)
        asked.engine()  # what is wrong with it is told before there is work
        subject = subject_of(index, ranking)
        return cls(State.made(asked, subject, threads=threads, progress=progress or silent))

    @classmethod
    def open(
        cls,
        path: str | Path,
        index: Owner,
        *,
        update: bool = False,
        threads: int | None = None,
        progress: Report | None = None,
    ) -> Self:
        """Open an engine that `save` wrote.

        Every file is read and its checksum compared, since engines read theirs without a check.

        Parameters
        ----------
        path : path of a folder
        index : SoftIndex or SoftNeighbors
            That it was made of.
        update : bool
            Whether to follow the index where it has changed since; see `update`.

        Raises
        ------
        FileNotFoundError
            If there is nothing at `path`.
        IndexFormatError
            If it is no engine, or stale: made of another state of the index.
        CorruptIndexError
            If a file is missing or has changed.
        InvalidInputError
            If it is to be updated, and the engine cannot.
        MissingDependencyError
        """
        state = opened(path, index, stale=update)
        if not update:
            return cls(state)
        return cls(*followed(state, state.subject, threads=threads, progress=progress or silent))

    @classmethod
    def open_in(
        cls,
        index: Owner,
        engine: str = "faiss",
        *,
        update: bool = False,
        threads: int | None = None,
        progress: Report | None = None,
    ) -> Self:
        """Open the engine that `save`, without a path, put into the folder of an index.

        Parameters and errors are otherwise those of `open`.
        """
        path = place(index, engine)
        if not path.exists():
            raise FileNotFoundError(
                f"there is no engine {engine} in {path.parent.parent}; build it: softcosine export "
                f"INDEX {engine}, or EngineIndex.build(index, {engine!r}).save()."
            )
        return cls.open(path, index, update=update, threads=threads, progress=progress)

    def __len__(self) -> int:
        return len(self._state.subject.ranked)

    def __repr__(self) -> str:
        return (
            f"EngineIndex({self.engine}, {self.route}, {len(self)} documents, "
            f"{self.n_dimensions} dimensions)"
        )

    @property
    def state(self) -> State:
        """What answers come from; another takes its place at an update."""
        return self._state

    @property
    def engine(self) -> str:
        """Name of the engine."""
        return self._state.asked.name

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the engine."""
        return dict(self._state.engine.settings)

    @property
    def capabilities(self) -> Capabilities:
        """What the engine can do."""
        return self._state.engine.capabilities

    @property
    def route(self) -> str:
        """How documents became vectors; that asked for, where there are none."""
        space = self._state.space
        return self._state.asked.route if space is None else space.route.name

    @property
    def note(self) -> str:
        """Why the route is not the basis, if it was left to choose; else empty."""
        return self._state.why

    @property
    def n_dimensions(self) -> int:
        """Of the route's vectors; 0 where there are none."""
        return 0 if self._state.space is None else self._state.space.route.n_dimensions

    @property
    def ranking(self) -> str:
        """What ranks."""
        return self._state.subject.ranking

    @property
    def stale(self) -> bool:
        """Whether the index object has gone on to another state; `update` follows."""
        return not self._state.subject.current

    @property
    def updated(self) -> Update:
        """What the last update did."""
        return self._updated

    @property
    def package(self) -> str:
        """Name and version of the package that does the work."""
        return self._state.engine.package

    def search(
        self,
        queries: Any,
        k: int = 10,
        *,
        rerank: int | None = None,
        width: int | None = None,
        threads: int | None = None,
    ) -> Matches:
        """Return the k best documents of each query, as far as the engine finds them.

        Parameters
        ----------
        queries : list of texts or token lists, or array of shape (n_queries, n_terms)
            Texts for a `SoftIndex`, without filters and demands (``+word``, ``"some words"``); a
            matrix for `SoftNeighbors`.
        k : int
        rerank : int, optional
            How many candidates of the engine are scored exactly, k at least. Without it scores
            are the engine's own: rounded to float32, of few dimensions or of quantised vectors.
        width : int, optional
            How broadly the engine looks, in its own measure; see its class.
        threads : int, optional
            All processors by default.

        Returns
        -------
        Matches
            `ids` are numbers of documents, or of rows of the fitted matrix. Where fewer than k are
            found, -1 with a score of -inf stands in their place; those of a score of 0 or less are
            never found in a `SoftIndex`.

        Raises
        ------
        InvalidInputError, IndefiniteMatrixError, NotFittedError
        """
        vectors = self._state.subject.vectors(queries)
        width_of_answer = min(check_k(k), len(self))
        tops = self._state.find(vectors, check_k(k), rerank=rerank, width=width, threads=threads)
        ids = np.full((len(tops), width_of_answer), -1, np.int64)
        scores = np.full((len(tops), width_of_answer), -np.inf)
        for row, top in enumerate(tops):
            ids[row, : len(top.documents)] = top.documents
            scores[row, : len(top.scores)] = top.scores
        return Matches(ids, scores, tuple(top.plan for top in tops))

    def hits(
        self,
        queries: Sequence[str | Sequence[str]],
        *,
        k: int = 10,
        offset: int = 0,
        min_score: float = 0.0,
        rerank: int | None = None,
        width: int | None = None,
        syntax: bool = True,
        max_terms: int | None = 512,
        threads: int | None = None,
    ) -> list[Hits]:
        """Search texts, with ids, texts and passages in the answers, as `SoftIndex.search_batch`.

        Parameters
        ----------
        queries : list of texts or token lists
        k, offset, min_score, syntax, max_terms
            See `SoftIndex.search`.
        rerank, width, threads
            See `search`.

        Raises
        ------
        InvalidInputError
            Also if a query demands anything, and for `SoftNeighbors`, which have no texts.
        IndefiniteMatrixError
        """
        state = self._state
        asked = execution.SearchRequest(
            k=check_k(k), offset=offset, min_score=min_score, ranking=state.subject.ranking,
            syntax=syntax, max_terms=max_terms,
        )  # fmt: skip

        def find(vectors: list[QueryVector]) -> list[Top]:
            return state.find(
                vectors, k + offset, min_score=min_score, rerank=rerank, width=width,
                threads=threads,
            )  # fmt: skip

        return state.subject.hits(find, queries, asked)

    def query_vectors(self, queries: Any) -> Block:
        """Return the vectors to ask the engine's own file, or any other vector store, with.

        Parameters
        ----------
        queries : list of texts or token lists, or array of shape (n_queries, n_terms)
            As in `search`.

        Returns
        -------
        ndarray of shape (n_queries, n_dimensions), float32
            In C order. Their dot products with `document_vectors` are the scores, rounded to
            float32; for an engine that ranks by cosine there is one dimension more, and cosines
            have the order of the scores. Zeros for a query that reaches nothing. For an engine of
            sparse vectors a csr_array. No columns where no document has a vector.

        Raises
        ------
        InvalidInputError
            Also if float32 cannot hold a vector, which only rankings without norms lead to.
        IndefiniteMatrixError, NotFittedError
        """
        return self._state.query_rows(self._state.subject.vectors(queries))

    def document_vectors(self) -> Block:
        """Return the documents' vectors as the engine was given them, before it quantises any.

        They are those of the state that it stands for, made anew from the index.

        Returns
        -------
        ndarray of shape (n_vectors, n_dimensions), float32
            Row n is the vector that the engine calls n, of the document ``document_ids()[n]``;
            zeros where that was deleted. Documents of norm 0 have none. Shape, dtype and type are
            otherwise those of `query_vectors`.
        """
        return self._state.document_rows()

    def document_ids(self) -> list[str | int | None]:
        """Return the id of each vector's document, for SoftNeighbors its row; None if deleted.

        The same list lies beside the engine's own file, as ``ids.jsonl``.
        """
        return self._state.document_ids()

    def recall(
        self,
        queries: Any = None,
        k: int = 10,
        *,
        rerank: int | None = None,
        width: int | None = None,
        n_sampled: int = 100,
        threads: int | None = None,
    ) -> float:
        """Return the share of the exact k best that is found, the mean over queries.

        Of documents with equal scores any counts. Without queries, it is measured on some drawn
        from the index: the eight weightiest terms of `n_sampled` documents each.

        Parameters
        ----------
        queries, k, rerank, width, threads
            See `search`.
        n_sampled : int
        """
        state = self._state
        vectors = (
            sampled_queries(state.subject, check_k(n_sampled))
            if queries is None
            else state.subject.vectors(queries)
        )
        return recall_of(state, vectors, check_k(k), rerank=rerank, width=width, threads=threads)

    def update(self, *, threads: int | None = None, progress: Report | None = None) -> Update:
        """Follow the index: its last commit on disk, or what else its object answers from now.

        Vectors that are still there stay, others are deleted, new ones added. Where more than half
        are new, as where weights were counted anew, all are put in anew.

        Returns
        -------
        Update
            False where nothing was to be done.

        Raises
        ------
        InvalidInputError
            If the engine cannot add or delete, or the basis is another one: build it anew. The
            state is then the old one.
        """
        subject, done = self._state.subject.newest(), Update()
        if subject is not self._state.subject:
            self._state, done = followed(
                self._state, subject, threads=threads, progress=progress or silent
            )
        self._updated = done
        return done

    def save(self, path: str | Path | None = None, *, overwrite: bool = False) -> Path:
        """Write the engine to a folder, whole or not at all, and return its path.

        Parameters
        ----------
        path : path of a folder, optional
            ``engines/NAME`` in the folder of the index by default, where `open` and
            ``softcosine search --engine NAME`` find it.
        overwrite : bool
            Whether an engine that is there may be replaced.

        Raises
        ------
        AlreadyExistsError, FileNotFoundError, OSError
        InvalidInputError
            If no path is given and the index is in memory alone.
        """
        return saved(self._state, path, overwrite=overwrite)
