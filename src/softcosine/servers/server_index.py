"""An index served by a server, with the same queries and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from softcosine._progress import Report, silent
from softcosine._validation import check_flag, check_list, check_number, check_type
from softcosine.errors import ServerError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.filters import Where
from softcosine.index.search.candidate_queries import execute_among
from softcosine.index.search.execution import SearchRequest
from softcosine.index.search.first_stage import FirstStage
from softcosine.index.search.query_encoding import Ask
from softcosine.index.search.results import Hits
from softcosine.index.soft_index import SoftIndex
from softcosine.servers.marker import Marker
from softcosine.servers.registry import server_of
from softcosine.servers.server import Server
from softcosine.servers.sync import Sync, export, matching, stale, sync
from softcosine.servers.two_stages import TwoStageSearch

__all__ = ["ServerIndex"]


class ServerIndex:
    """An index whose candidates a server finds, such as PostgreSQL, Elasticsearch or Qdrant.

    The server holds the impacts of the documents, without S and idf. A search sends the heaviest
    terms of the expanded query, and the index scores the candidates that come back, so that the
    results have the index's own scores and order. `Hits.plan` says whether it is proven that they
    are all.

    Examples
    --------
    >>> import softcosine as sc
    >>> index = sc.SoftIndex.open("faq.index")  # doctest: +SKIP
    >>> with sc.ServerIndex.connect(index, "postgresql:///faq") as served:  # doctest: +SKIP
    ...     served.export()
    ...     served.search("bicycle repair", where={"lang": "en"})
    """

    def __init__(self, index: SoftIndex, server: Server) -> None:
        check_type("the index", index, SoftIndex, "pass a SoftIndex")
        self._index = index
        self._server = server
        self._checked: tuple[Snapshot, Marker] | None = None  # they belong together

    @classmethod
    def connect(
        cls, index: SoftIndex, url: str, *, collection: str = "softcosine", timeout: float = 10.0
    ) -> Self:
        """Connect to a server.

        Parameters
        ----------
        index : SoftIndex
        url : str
            Such as ``postgresql://user@host/database`` or ``qdrant+https://host:6333``; see
            docs/servers.md. Keep passwords in the environment or in the client's own files.
        collection : str
            Name of the collection, or of the tables.
        timeout : float
            In seconds, to connect.

        Raises
        ------
        InvalidInputError
            If the URL or the name of the collection is not valid.
        MissingDependencyError
            If the client's package is not installed; gives the pip command.
        ServerError
            If the server cannot be reached.
        """
        check_type("the index", index, SoftIndex, "pass a SoftIndex")
        return cls(index, server_of(url, collection=collection, timeout=timeout))

    @property
    def server(self) -> Server:
        """The connected server."""
        return self._server

    @property
    def ranking(self) -> str:
        """The ranking that the collection was exported for; ServerError if there is none."""
        return matching(self._server, self._index.snapshot)[0].ranking

    def __repr__(self) -> str:
        return f"ServerIndex({self._server.name} at {self._server.address})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def export(
        self,
        *,
        ranking: str | None = None,
        overwrite: bool = False,
        progress: Report | None = None,
    ) -> Sync:
        """Create the collection and send all documents.

        Parameters
        ----------
        ranking : str, optional
            By default that of the index.
        overwrite : bool
            Whether a collection that softcosine made is deleted first.
        progress : callable, optional
            Called with (name of the stage, work done, total or None).

        Raises
        ------
        AlreadyExistsError
            If there is a collection of this name, and `overwrite` is false.
        ServerError
            If the server fails, refuses documents, or has something else of this name.
        """
        return export(
            self._server, self._index.snapshot, ranking=ranking, overwrite=overwrite,
            progress=progress or silent,
        )  # fmt: skip

    def sync(self, *, progress: Report | None = None) -> Sync:
        """Send the documents that have changed since the last sync, and delete those that are gone.

        A new S, pins and new term weights send no document: they are on the query's side. Reads
        every document of the index, and the checksums of all documents on the server.

        Raises
        ------
        ServerError
            If there is no collection, it is of another index, another sync comes between, or the
            server fails or refuses documents. Run it again, and it sends the rest.
        """
        return sync(self._server, self._index.snapshot, progress=progress or silent)

    def search(
        self,
        query: str | Sequence[str],
        *,
        k: int = 10,
        offset: int = 0,
        min_score: float = 0.0,
        where: Mapping[str, Any] | None = None,
        syntax: bool = True,
        max_terms: int | None = 512,
        fuzzy: bool = False,
        keep_stop_words: bool = False,
        ask: Ask | None = None,
        meaning: float | None = None,
        first_stage: FirstStage | int | None = 32,
        exact: bool = False,
        timeout: float | None = None,
    ) -> Hits:
        """Return the k best documents among the server's candidates, with the index's scores.

        `Hits.plan` has the numbers of terms and candidates, and whether the results are proven to
        be those of a search of the index. Parameters that are not listed are those of
        `SoftIndex.search`.

        Parameters
        ----------
        query : str, or a list of tokens
            Required and excluded words and phrases are checked by the index, among the candidates.
        where : mapping, optional
            Applied by the server if it can, else by the index among ten times as many candidates.
        first_stage : FirstStage, int or None
            The terms that are sent, as in `SoftIndex.search`; None for all. Candidates are by
            default the best 100 by words; 300 if the ranking is not a sum over terms, such as
            ``soft_tf_bm25``, or the query has a meaning, and then also the nearest 300 by
            coordinates, which the index finds if the server stores none.
        exact : bool
            If True, all terms are sent, in batches if the server takes fewer, and the number of
            candidates grows until the results are proven, or every matching document is scored.
        timeout : float, optional
            In seconds, for each request to the server.

        Raises
        ------
        InvalidInputError, IndefiniteMatrixError
        ServerError
            If the server fails or takes too long, or holds another state of the index; sync it.
        """
        return self.search_batch(
            [query], k=k, offset=offset, min_score=min_score, where=where, syntax=syntax,
            max_terms=max_terms, fuzzy=fuzzy, keep_stop_words=keep_stop_words, ask=ask,
            meaning=meaning, first_stage=first_stage, exact=exact, timeout=timeout,
        )[0]  # fmt: skip

    def search_batch(
        self,
        queries: Iterable[str | Sequence[str]],
        *,
        where: Mapping[str, Any] | None = None,
        first_stage: FirstStage | int | None = 32,
        exact: bool = False,
        timeout: float | None = None,
        **options: Any,
    ) -> list[Hits]:
        """Search many queries, one after the other; parameters and errors are those of `search`."""
        check_list("queries", queries, "queries")
        check_flag("exact", exact)
        check_number("timeout", timeout, least=0.001, optional=True)
        snapshot = self._index.snapshot
        marker, revision = self._current(snapshot)
        request = SearchRequest(where=where, ranking=marker.ranking, **options)
        parsed = None if where is None else Where.parse(where)
        two_stages = TwoStageSearch(
            self._server, marker, snapshot, FirstStage.of(first_stage) or FirstStage(None),
            parsed, request.n_ranked, request.min_score, exact=exact, timeout=timeout,
        )  # fmt: skip
        hits = execute_among(two_stages.find, snapshot, list(queries), request, self._index.encoder)
        now = self._server.marker()
        if now is None or now[1] != revision:
            raise ServerError(
                self._server.name, self._server.address,
                "the collection was written to during the search; search again.",
            )  # fmt: skip
        return hits

    def _current(self, snapshot: Snapshot) -> tuple[Marker, int]:
        """Return the marker and its revision, if the server holds the snapshot's documents."""
        found = self._server.marker()
        last = self._checked
        if found is None or last is None or last[0] is not snapshot or last[1] != found[0]:
            found = matching(self._server, snapshot)
            if not found[0].holds(snapshot):
                raise stale(self._server, found[0])
            self._checked = snapshot, found[0]
        return found
