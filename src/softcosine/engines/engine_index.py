"""An index served by a vector engine, with the same queries and results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from softcosine._progress import Report, silent
from softcosine._validation import check_whole
from softcosine.engines.capabilities import Capabilities
from softcosine.engines.engine import Block
from softcosine.engines.recall import recall_of, sampled_queries
from softcosine.engines.route_choice import N_DIMENSIONS
from softcosine.engines.state import EngineRequest, State
from softcosine.engines.stored_state import opened, place, saved
from softcosine.engines.subject import Owner, subject_of
from softcosine.engines.updates import Update, followed
from softcosine.index.search.results import Hits
from softcosine.index.search.top_docs import check_k, check_offset
from softcosine.index.soft_neighbors import Matches

__all__ = ["EngineIndex"]

_RERANKED = 100  # candidates, at least


class EngineIndex:
    """An index in a vector engine: Faiss, Annoy, hnswlib or USearch.

    Create one by `build` or `open`. It serves the state of the index it was built from, until
    `update`. Vectors cannot express every ranking: meaning, and BM25 of soft frequencies, which is
    no sum over terms. Engines then find candidates by words, by soft BM25 or the linear ranking of
    the index, and the index scores them exactly, so that results have its own scores and order.
    Documents that the engine misses stay missing; `recall` measures how many.

    Several threads may search at once, but not during an update.

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
        """Load the documents of an index into an engine.

        Parameters
        ----------
        index : SoftIndex or SoftNeighbors
            With one field.
        engine : str
            A key of `softcosine.engines.registry.ENGINES`.
        route : {"auto", "basis", "lsa"}
            How documents become vectors; see `softcosine.engines.routes`. ``auto`` takes the
            lossless ``basis`` if it fits into `max_memory`, else ``lsa``.
        n_dimensions : int
            Dimensions of ``lsa``. More dimensions lose less.
        max_memory : int, optional
            Limit in bytes for the coordinates in the basis and for the factor of S; 1 GiB for
            ``auto``.
        ranking : str, optional
            A ranking by words alone; by default that of the index, with meaning if it has one.
        threads : int, optional
            All CPUs by default. Graphs that several threads build differ from run to run.
        progress : callable, optional
            Called with (name of the stage, work done, total or None).
        **settings
            Settings of the engine, such as ``factory="IVF256,Flat"``; see its class.

        Raises
        ------
        InvalidInputError
            If the engine, the route or a setting is unknown, they do not go together, or the index
            has several fields.
        MissingDependencyError
            If the engine's package is not installed; gives the pip command.
        IndefiniteMatrixError
            If the route is ``basis`` and S is not positive definite.
        """
        asked = EngineRequest(engine, settings, route, n_dimensions, max_memory)
        asked.engine()  # errors in its settings are raised before any work
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

        Every file is read and its checksum verified, because engines do not check theirs.

        Parameters
        ----------
        path : path of a folder
        index : SoftIndex or SoftNeighbors
            The index it was built from.
        update : bool
            Whether to apply the changes of the index since; see `update`.

        Raises
        ------
        FileNotFoundError
            If `path` does not exist.
        IndexFormatError
            If it is not an engine, or is stale: built from another state of the index.
        CorruptIndexError
            If a file is missing or altered.
        InvalidInputError
            If `update` is true and the engine cannot be updated.
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
        """Open the engine that `save` without a path wrote into the folder of an index.

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
        """The state that is served; an update replaces it."""
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
        """Capabilities of the engine."""
        return self._state.engine.capabilities

    @property
    def route(self) -> str:
        """How documents became vectors; the requested route if there are no vectors."""
        space = self._state.space
        return self._state.asked.route if space is None else space.route.name

    @property
    def note(self) -> str:
        """Why ``auto`` did not choose the basis; empty otherwise."""
        return self._state.why

    @property
    def n_dimensions(self) -> int:
        """Dimensions of the route's vectors; 0 if there are none."""
        return 0 if self._state.space is None else self._state.space.route.n_dimensions

    @property
    def ranking(self) -> str:
        """Name of the ranking of exact scores: that of the index, or as given."""
        return self._state.subject.ranking

    @property
    def vector_ranking(self) -> str:
        """Name of the ranking of the engine's own scores, the dot products of vectors."""
        return self._state.subject.vector_ranking

    @property
    def linear(self) -> bool:
        """Whether vectors express the ranking, up to rounding and the loss of the route.

        If not, `search` and `hits` let the index score the candidates by default.
        """
        return self._state.subject.linear

    @property
    def stale(self) -> bool:
        """Whether the index object has moved to another state; `update` follows it."""
        return not self._state.subject.current

    @property
    def updated(self) -> Update:
        """Result of the last update."""
        return self._updated

    @property
    def package(self) -> str:
        """Name and version of the package behind the engine."""
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
        """Return the k best documents of each query that the engine finds.

        Parameters
        ----------
        queries : list of texts or token lists, or array of shape (n_queries, n_terms)
            For a `SoftIndex` texts, without filters and required terms (``+word``, ``"a phrase"``);
            for `SoftNeighbors` a matrix.
        k : int
        rerank : int, optional
            Number of candidates that the index scores exactly, at least k; 0 for the engine's own
            scores by `vector_ranking`, in float32, with the loss of few dimensions or quantisation.
            By default 0 if the engine is `linear`, else 100, or ten times k if that is more.
        width : int, optional
            Search width in the engine's own unit; see its class.
        threads : int, optional
            All CPUs by default.

        Returns
        -------
        Matches
            `ids` are numbers of documents, or rows of the fitted matrix. Missing results are -1
            with a score of -inf. For a `SoftIndex`, documents with a score of 0 or less are never
            results.

        Raises
        ------
        InvalidInputError, IndefiniteMatrixError, NotFittedError
        """
        n_exact = self._n_exact(rerank, check_k(k))
        asked = self._state.subject.queries(queries, k=k, exactly=n_exact > 0)
        tops = self._state.find(asked, k, rerank=n_exact, width=width, threads=threads)
        width_of_answer = min(k, len(self))
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
        """Search texts and return hits with ids, texts and passages, as `SoftIndex.search_batch`.

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
            Also if a query has required terms, and for `SoftNeighbors`, which have no texts.
        IndefiniteMatrixError
        """
        n_wanted = check_k(k) + check_offset(offset)
        n_exact = self._n_exact(rerank, n_wanted)
        asked = self._state.subject.texts(
            queries, exactly=n_exact > 0, k=k, offset=offset, min_score=min_score, syntax=syntax,
            max_terms=max_terms,
        )  # fmt: skip
        tops = self._state.find(
            asked, n_wanted, min_score=min_score, rerank=n_exact, width=width, threads=threads
        )
        return [query.hits(top) for query, top in zip(asked, tops, strict=True)]

    def query_vectors(self, queries: Any) -> Block:
        """Return query vectors for the engine's own file or any other vector store.

        Parameters
        ----------
        queries : list of texts or token lists, or array of shape (n_queries, n_terms)
            As in `search`.

        Returns
        -------
        ndarray of shape (n_queries, n_dimensions), float32
            In C order. Their dot products with `document_vectors` are the scores, rounded to
            float32. For an engine that ranks by cosine there is one extra dimension, and cosines
            have the order of the scores. Zeros for a query without matching terms. No columns
            if no document has a vector.

        Raises
        ------
        InvalidInputError
            Also if a vector overflows float32, possible only for rankings without norms.
        IndefiniteMatrixError, NotFittedError
        """
        asked = self._state.subject.queries(queries, k=1, exactly=False)
        return self._state.query_rows([query.vectors[0] for query in asked])

    def document_vectors(self) -> Block:
        """Return the documents' vectors as passed to the engine, before any quantisation.

        They are those of the current `state`, computed anew from the index.

        Returns
        -------
        ndarray of shape (n_vectors, n_dimensions), float32
            Row n is the engine's vector n, of the document ``document_ids()[n]``; zeros if it was
            deleted. Documents of norm 0 have no vector. Shape, dtype and type are otherwise those
            of `query_vectors`.
        """
        return self._state.document_rows()

    def document_ids(self) -> list[str | int | None]:
        """Return the document id of each vector, for SoftNeighbors its row; None if deleted.

        `save` writes the same list beside the engine's own file, as ``ids.jsonl``.
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
        """Return the mean share of the k best documents of the index that the engine finds.

        Documents with equal scores are interchangeable. Without `queries`, recall is measured on
        sampled queries: the eight words of largest weight in each of `n_sampled` documents.

        Parameters
        ----------
        queries, k, rerank, width, threads
            See `search`.
        n_sampled : int
        """
        state, n_exact = self._state, self._n_exact(rerank, check_k(k))
        asked = (
            sampled_queries(state.subject, check_k(n_sampled), k)
            if queries is None
            else state.subject.queries(queries, k=k, exactly=True)
        )
        return recall_of(state, asked, k, rerank=n_exact, width=width, threads=threads)

    def update(self, *, threads: int | None = None, progress: Report | None = None) -> Update:
        """Follow the index: its last commit on disk, or the current state of its object.

        Unchanged vectors stay, others are deleted, new ones added. If more than half are new, for
        example because weights changed, the engine is rebuilt.

        Returns
        -------
        Update
            False if there was nothing to do.

        Raises
        ------
        InvalidInputError
            If the engine cannot add or delete, or the basis has changed: build it anew. The old
            state stays valid.
        """
        subject, done = self._state.subject.newest(), Update()
        if subject is not self._state.subject:
            self._state, done = followed(
                self._state, subject, threads=threads, progress=progress or silent
            )
        self._updated = done
        return done

    def save(self, path: str | Path | None = None, *, overwrite: bool = False) -> Path:
        """Write the engine to a folder atomically and return its path.

        Parameters
        ----------
        path : path of a folder, optional
            By default ``engines/NAME`` in the folder of the index, where `open` and
            ``softcosine search --engine NAME`` find it.
        overwrite : bool
            Whether an existing engine may be replaced.

        Raises
        ------
        AlreadyExistsError, FileNotFoundError, OSError
        InvalidInputError
            If no path is given and the index is in memory only.
        """
        return saved(self._state, path, overwrite=overwrite)

    def _n_exact(self, rerank: int | None, k: int) -> int:
        """Return the number of candidates that the index scores."""
        check_whole("rerank", rerank, least=0, most=2**31 - 1, optional=True)
        if rerank is None:
            return 0 if self.linear else max(_RERANKED, 10 * k)
        return int(rerank)
