"""`IndexCalls`: searches and changes of an index on a server, as `SoftIndex` has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, Unpack

import numpy as np
from msgspec.structs import asdict, replace
from numpy.typing import NDArray

from softcosine._validation import check_list
from softcosine.client.bodies import (
    Text,
    document_body,
    mapping_of,
    pair_body,
    query_of,
)
from softcosine.client.calls import Steps, call
from softcosine.client.exchange import Changed, Exchange, json_bytes, result_of, segment, time_limit
from softcosine.client.failures import error_of
from softcosine.client.server_calls import ended_task
from softcosine.client.writer_calls import WriterCalls
from softcosine.errors import InvalidInputError, UnknownDocumentError, UnknownTermError
from softcosine.index.near_duplicates.similar import SimilarGroup, SimilarPair, SimilarPairs
from softcosine.index.query.query_vectors import Query
from softcosine.index.requests import FilterRequest, FirstStage, ScoringKeywords, SearchKeywords
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.results import Hits, Listing
from softcosine.index.search.server_query import ServerQuery
from softcosine.index.search.top_docs import Top
from softcosine.index.segment.documents import Document
from softcosine.index.writer.document import checked_id, from_columns
from softcosine.operations import OPERATIONS
from softcosine.text.weighting import Weighting

_T = TypeVar("_T")
_SEARCHES = 32  # searches of one request, as many as a server allows by default
_PAGE = 1000  # documents of one request, likewise


class IndexCalls:
    """Calls of an index on a server; parameters and errors are those of `SoftIndex`.

    Attributes
    ----------
    name : str
        Of the index, or of an alias.
    """

    def __init__(self, name: str, client: Any) -> None:
        self.name = name
        self._client = client
        self._exchange: Exchange = client._exchange
        self._path = f"indexes/{segment(name)}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self._exchange.address!r})"

    @call
    def search(self, query: Query, **options: Unpack[SearchKeywords]) -> Steps[Hits]:
        """Return the k best documents; see `SoftIndex.search`.

        The server ends the search at the deadline of `softcosine.using_deadline`.
        """
        return (yield from self._asked(Hits, "search", query, **options))

    @call
    def search_batch(
        self, queries: Iterable[Query], **options: Unpack[SearchKeywords]
    ) -> Steps[list[Hits]]:
        """Search many queries, several in one request; the options are those of `search`."""
        check_list("queries", queries, "queries, or call search with a single one")
        return (yield from self._searched(queries, options))

    @call
    def ranked(
        self, queries: Iterable[Query], **options: Unpack[SearchKeywords]
    ) -> Steps[list[Top]]:
        """Return the numbers and scores of the hits of many queries; see `SoftIndex.ranked`."""
        check_list("queries", queries, "queries")
        found = yield from self._searched(queries, options, fields=["number"], highlight=False)
        return [
            Top(
                np.array([hit.number for hit in hits], np.int64),
                np.array([hit.score for hit in hits]),
                hits.plan,
            )
            for hits in found
        ]

    @call
    def similar(self, /, id: str, **options: Any) -> Steps[Hits]:
        """Return the k documents most similar to a document; see `SoftIndex.similar`."""
        return (yield from self._asked(Hits, "similar", id, **options))

    @call
    def explain(
        self, query: Query, id: str, **options: Unpack[ScoringKeywords]
    ) -> Steps[Explanation]:
        """Return the pairs of words that sum to a score; see `SoftIndex.explain`."""
        return (yield from self._asked(Explanation, "explain", query, id, **options))

    @call
    def scores(
        self, query: Query, ids: Iterable[str], **options: Unpack[ScoringKeywords]
    ) -> Steps[NDArray[np.float64]]:
        """Return the scores of documents, in the given order; see `SoftIndex.scores`."""
        check_list("ids", ids, "ids of documents")
        body = _body("scores", query, list(ids), **options)
        given, found = body["ids"], list[float]()
        for begin in range(0, max(1, len(given)), _PAGE):
            some = {**body, "ids": given[begin : begin + _PAGE]}
            answer = yield from self._exchange.search(f"{self._path}/scores", some)
            found += result_of(list[float], answer["scores"])
        return np.array(found, np.float64)

    @call
    def explain_similar(self, /, id: str, other: str, **options: Any) -> Steps[Explanation]:
        """Return why documents are similar; see `SoftIndex.explain_similar`."""
        return (yield from self._asked(Explanation, "explain_similar", id, other, **options))

    @call
    def pairs(self, /, **options: Any) -> Steps[SimilarPairs]:
        """Return similar pairs of documents, after the end of a task; see `SoftIndex.pairs`.

        The server limits their number.
        """
        body = _body("pairs", **options)
        answer = (yield from self._task("pairs", {**body, **time_limit()}, True))["result"]
        pairs = result_of(list[SimilarPair], answer["pairs"])
        what = "min_similarity={min_similarity:g}, k={k}, by={by!r}, ranking={ranking!r}"
        return SimilarPairs(lambda: (pair for pair in pairs), what.format(**body))

    @call
    def dedupe(self, /, **options: Any) -> Steps[list[SimilarGroup]]:
        """Return groups of near duplicates; see `SoftIndex.dedupe`, and `pairs` for limits."""
        body = {**_body("dedupe", **options), **time_limit()}
        answer = (yield from self._task("dedupe", body, True))["result"]
        return list(result_of(list[SimilarGroup], answer["groups"]))

    @call
    def expand(self, /, query: str | Sequence[str], **options: Any) -> Steps[ServerQuery]:
        """Return soft BM25 of a query for a server that ranks by BM25; see `SoftIndex.expand`."""
        return (yield from self._asked(ServerQuery, "expand", query, **options))

    @call
    def suggest(self, prefix: str, *, k: int = 10) -> Steps[list[tuple[str, int]]]:
        """Return the k most frequent indexed words with a prefix, and their numbers of documents.

        Raises
        ------
        InvalidInputError
            If the prefix is empty.
        """
        body = {"prefix": prefix, "k": k}
        answer = yield from self._exchange.ask("POST", f"{self._path}/suggest", body)
        return [(one["word"], one["n_docs"]) for one in answer["words"]]

    @call
    def term(self, word: str, *, k: int = 10) -> Steps[dict[str, Any]]:
        """Return the words similar to a word, and where the similarities come from.

        Returns
        -------
        dict
            ``neighbors`` with ``word``, ``similarity`` and ``origin``, ``forbidden``, ``indexed``.

        Raises
        ------
        UnknownTermError, InvalidInputError
        """
        return (yield from self._term(word, k))

    @call
    def neighbors(self, word: str, *, k: int = 10) -> Steps[list[tuple[str, float]]]:
        """Return the k indexed words most similar to a word; see `SoftIndex.neighbors`."""
        try:
            answer = yield from self._term(word, k)
        except UnknownTermError:
            return []
        return [(one["word"], one["similarity"]) for one in answer["neighbors"]]

    @call
    def get(self, ids: Iterable[str], *, missing_ok: bool = False) -> Steps[list[Document]]:
        """Return documents by their ids, with one request for each; see `SoftIndex.get`."""
        check_list("ids", ids)
        documents = []
        for id in list(ids):
            try:
                record = yield from self._exchange.ask("GET", self._document(id))
            except UnknownDocumentError:
                if not missing_ok:
                    raise
            else:
                documents.append(result_of(Document, record))
        return documents

    @call
    def filter(self, /, where: Mapping[str, Any] | None = None, **options: Any) -> Steps[Listing]:
        """Return documents that pass a filter, without a query; see `SoftIndex.filter`.

        With ``k=None`` they come page by page; a commit in between can move documents.
        """
        request = FilterRequest.of(where=where, **options)
        page = replace(request, k=_PAGE if request.k is None else request.k)
        listing = yield from self._page(page)
        if request.k is not None:
            return listing
        documents, facets = list(listing.documents), listing.facets
        total = listing.n_matching
        while len(listing) == _PAGE:
            offset = request.offset + len(documents)
            listing = yield from self._page(replace(page, offset=offset, facets=[]))
            documents += listing.documents
        return Listing(tuple(documents), total, request.offset, facets)

    @call
    def count(self, where: Mapping[str, Any] | None = None) -> Steps[int]:
        """Return the number of documents that pass a filter; all without a filter."""
        return (yield from self._page(FilterRequest.of(where=where, k=0))).n_matching

    @call
    def info(self) -> Steps[dict[str, Any]]:
        """Return the state and the settings of the index, such as ``documents`` and ``commit``."""
        return (yield from self._exchange.ask("GET", self._path))

    @call
    def add(
        self,
        id: str,
        text: Text,
        metadata: Mapping[str, Any] | None = None,
        *,
        if_match: str | None = None,
    ) -> Steps[Changed]:
        """Add a document, or replace the one with the same id, and commit.

        Parameters
        ----------
        id, text, metadata
            See `IndexWriter.add`.
        if_match : str, optional
            A commit; if it is not the last one, nothing is changed.

        Raises
        ------
        ProblemError
            With the kind ``changed-meanwhile``, if there is another commit.
        InvalidInputError, IndexLockedError, PermissionError
        """
        body = document_body(id, text, metadata)
        del body["id"]
        answer = yield from self._exchange.ask(
            "PUT", self._document(id), body, changes=True, if_match=if_match
        )
        return result_of(Changed, answer)

    @call
    def add_many(
        self,
        ids: Iterable[str],
        texts: Iterable[Text],
        metadata: Iterable[Mapping[str, Any] | None] | None = None,
        *,
        if_match: str | None = None,
    ) -> Steps[Changed]:
        """Add or replace documents in one commit, or none of them; see `add`.

        The request is held in memory; for millions of documents, call it several times.
        """
        body = b"\n".join(
            json_bytes(document_body(*one)) for one in from_columns(texts, ids, metadata)
        )
        answer = yield from self._exchange.ask(
            "POST", f"{self._path}/documents", body, changes=True, if_match=if_match
        )
        return result_of(Changed, answer)

    @call
    def delete(
        self,
        id: str | Sequence[str] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        missing_ok: bool = False,
        if_match: str | None = None,
    ) -> Steps[int]:
        """Delete a document, several, or all that pass a filter, and commit.

        Parameters
        ----------
        id : str or list of str, optional
        where, missing_ok
            See `IndexWriter.delete`.
        if_match : str, optional
            See `add`.

        Returns
        -------
        int
            Number of documents deleted.

        Raises
        ------
        UnknownDocumentError
            If no document has an id and `missing_ok` is false; nothing is deleted.
        InvalidInputError
        """
        if (id is None) == (where is None):
            raise InvalidInputError("give the id of a document to delete, or a filter by where=.")
        body: dict[str, Any] = {"missing_ok": missing_ok}
        if where is not None:
            body["where"] = mapping_of(where)
        else:
            body["ids"] = [id] if isinstance(id, str) else query_of(id)
        answer = yield from self._exchange.ask(
            "POST", f"{self._path}/documents/delete", body, changes=True, if_match=if_match
        )
        return int(answer["deleted"])

    @call
    def update_metadata(
        self,
        id: str,
        metadata: Mapping[str, Any],
        *,
        replace: bool = False,
        if_match: str | None = None,
    ) -> Steps[Changed]:
        """Change the metadata of a document, and commit; see `IndexWriter.update_metadata`."""
        changes = WriterCalls(self._client, self._path, if_match)
        changes.update_metadata(id, metadata, replace=replace)
        return (yield from changes.sent())

    @call
    def set_weighting(
        self, weighting: Weighting, *, ranking: str | None = None, if_match: str | None = None
    ) -> Steps[Changed]:
        """Commit other term weights, or another default ranking; see `SoftIndex.set_weighting`."""
        changes = WriterCalls(self._client, self._path, if_match)
        changes.set_weighting(weighting, ranking=ranking)
        return (yield from changes.sent())

    @call
    def similarities(self) -> Steps[dict[str, Any]]:
        """Return the decisions about words: ``decisions``, and ``lines`` as in a file of them."""
        return (yield from self._exchange.ask("GET", f"{self._path}/similarities"))

    @call
    def decide(
        self,
        *,
        pin: Mapping[tuple[str, str], float] | None = None,
        forbid: Iterable[tuple[str, str]] = (),
        weigh: Mapping[tuple[str, str], float] | None = None,
        remove: Iterable[tuple[str, str]] = (),
        if_match: str | None = None,
    ) -> Steps[dict[str, Any]]:
        """Change the decisions about pairs of words, build S anew, and commit.

        Parameters
        ----------
        pin : mapping of (word, other) to float, optional
            Their similarity.
        forbid : iterable of (word, other)
            Pairs that are not similar.
        weigh : mapping of (word, other) to float, optional
            A factor of their similarity.
        remove : iterable of (word, other)
            Pairs whose decisions are taken back.
        if_match : str, optional
            See `add`.

        Returns
        -------
        dict
            As `similarities`.
        """
        body = {
            "pin": [
                {**pair_body(pair), "similarity": value} for pair, value in (pin or {}).items()
            ],
            "forbid": [pair_body(pair) for pair in forbid],
            "weigh": [
                {**pair_body(pair), "weight": value} for pair, value in (weigh or {}).items()
            ],
            "remove": [pair_body(pair) for pair in remove],
        }
        task = yield from self._exchange.ask(
            "PATCH", f"{self._path}/similarities", body, changes=True, if_match=if_match,
            in_background=True,
        )  # fmt: skip
        return dict((yield from ended_task(self._exchange, task["id"]))["result"])

    @call
    def merge(self, *, wait: bool = True) -> Steps[dict[str, Any]]:
        """Merge all segments, and free the space of deleted documents.

        Parameters
        ----------
        wait : bool
            Whether to return after the end of the task; if False, see `Client.wait`.

        Returns
        -------
        dict
            The task: ``id``, ``state``, ``result`` and others.
        """
        return (yield from self._task("merge", None, wait))

    @call
    def backup(
        self, to: str, *, overwrite: bool = False, wait: bool = True
    ) -> Steps[dict[str, Any]]:
        """Copy the last commit to an index of another name on the server; see `merge`.

        Raises
        ------
        AlreadyExistsError
        """
        return (yield from self._task("backup", {"to": to, "overwrite": overwrite}, wait))

    @call
    def encode(
        self,
        encoder: str | None = None,
        *,
        meaning: float | Mapping[str, float] | None = None,
        wait: bool = True,
    ) -> Steps[dict[str, Any]]:
        """Give coordinates of meaning to documents without them; see `merge`.

        Parameters
        ----------
        encoder : {"static", "minilm"}, optional
        meaning : float, or mapping of rankings to float, optional
            See `SoftIndex.create`.
        wait : bool
            See `merge`.
        """
        weight = dict(meaning) if isinstance(meaning, Mapping) else meaning
        return (yield from self._task("encode", {"encoder": encoder, "meaning": weight}, wait))

    def _asked(self, kind: type[_T], name: str, /, *first: Any, **options: Any) -> Steps[_T]:
        """Return the result of an operation."""
        path = f"{self._path}/{name.replace('_', '-')}"
        answer = yield from self._exchange.search(path, _body(name, *first, **options))
        return result_of(kind, answer)

    def _searched(
        self, queries: Iterable[Query], options: Mapping[str, Any], **parts: Any
    ) -> Steps[list[Hits]]:
        """Return the answers to many searches, several in one request."""
        searches = [{**_body("search", query, **options), **parts} for query in queries]
        found: list[Hits] = []
        for begin in range(0, len(searches), _SEARCHES):
            some = searches[begin : begin + _SEARCHES]
            named = [{"index": self.name, **one, **time_limit()} for one in some]
            answer = yield from self._exchange.ask("POST", "search", {"searches": named})
            for one, record in zip(some, answer["results"], strict=True):
                if record.get("status") == 429:  # alone, it is repeated until the server takes it
                    record = yield from self._exchange.search(f"{self._path}/search", one)
                if "hits" not in record:
                    raise error_of(record, self._exchange.address)
                found.append(result_of(Hits, record))
        return found

    def _document(self, id: str) -> str:
        if not checked_id(id):
            raise InvalidInputError(
                "the empty id has no address on a server; read such a document by a search, and "
                "add it by add_many."
            )
        return f"{self._path}/documents/{segment(id)}"

    def _term(self, word: str, k: int) -> Steps[dict[str, Any]]:
        path = f"{self._path}/terms/{segment(word)}"
        return (yield from self._exchange.ask("GET", path, params=(("k", str(k)),)))

    def _page(self, page: FilterRequest) -> Steps[Listing]:
        params = [("k", str(page.k)), ("offset", str(page.offset))]
        if page.where is not None:
            params.append(("where", json_bytes(page.where).decode()))
        keys = [page.sort] if isinstance(page.sort, str) else page.sort or ()
        params += [("sort", key) for key in keys] + [("facet", key) for key in page.facets]
        path = f"{self._path}/documents"
        answer = yield from self._exchange.ask("GET", path, params=tuple(params))
        return result_of(Listing, answer)

    def _task(self, kind: str, body: Mapping[str, Any] | None, wait: bool) -> Steps[dict[str, Any]]:
        path = f"{self._path}/{kind}"
        record = yield from self._exchange.ask("POST", path, body, changes=True)
        return (yield from ended_task(self._exchange, record["id"])) if wait else record


def _body(name: str, /, *first: Any, **options: Any) -> dict[str, Any]:
    """Return the body of a request for an operation, checked as in process."""
    operation = OPERATIONS[name]
    body = asdict(operation.request.of(**dict(zip(operation.first, first, strict=True)), **options))
    if isinstance(stage := body.get("first_stage"), FirstStage):
        body["first_stage"] = asdict(stage)
    return body
