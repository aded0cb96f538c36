"""`IndexCalls`: searches and changes of an index on a server, as `SoftIndex` has them.

`WriterCalls`: changes that are collected and sent as one bulk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, Unpack

import numpy as np
from msgspec.structs import asdict, replace
from numpy.typing import NDArray

from softcosine._validation import check_flag, check_list, checked_name
from softcosine.client.exchange import (
    Changed,
    Exchange,
    call,
    error_of,
    json_bytes,
    segment,
    time_limit,
)
from softcosine.errors import (
    PROBLEM_PREFIX,
    InvalidInputError,
    ProblemError,
    UnknownDocumentError,
    UnknownTermError,
)
from softcosine.index.near_duplicates.similar import SimilarGroup, SimilarPairs
from softcosine.index.query.query_vectors import Query
from softcosine.index.requests import (
    FilterRequest,
    FirstStage,
    NeighborsRequest,
    Request,
    ScoringKeywords,
    SearchKeywords,
)
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.results import Hits, Listing
from softcosine.index.search.server_query import ServerQuery
from softcosine.index.segment.documents import Document, checked_id
from softcosine.index.spaces.space import Top
from softcosine.index.writer.document import Writing
from softcosine.operations import OPERATIONS

_T = TypeVar("_T")
_SEARCHES = 32  # searches of one request, as many as a server allows by default
_PAGE = 1000  # documents of one request, likewise
_LARGE = "large-answer"  # the problem of an answer of too many bytes
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0  # seconds between two looks at a task
Text = str | Sequence[str] | Mapping[str, str]
Record = dict[str, Any]


class WriterCalls(Writing):
    """Changes of an index, held in memory until `commit` sends all of them in one request.

    The server makes all of them in one commit, or none. Parameters are those of `IndexWriter`; the
    server checks their values at the commit.

    Parameters
    ----------
    client : Client or AsyncClient
    path : str
        Of the index, below ``/v1/``.
    if_match : str or None
        The commit that must be the last one.
    """

    def __init__(self, client: Any, path: str, if_match: str | None) -> None:
        self._client = client
        self._exchange: Exchange = client._exchange
        self._path = path
        self._if_match = if_match
        self._lines: list[bytes] = []
        self._process = os.getpid()

    def add(self, id: str, text: Text, metadata: Mapping[str, Any] | None = None) -> None:
        """Add a document, or replace the document with the same id."""
        own = _mapping(metadata)
        self._collect("add", id=checked_id(id), text=_json_of(text), metadata=own)

    def delete(
        self,
        id: str | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        missing_ok: bool = False,
    ) -> None:
        """Delete a document, or all that pass a filter; `commit` returns how many."""
        if (id is None) == (where is None):
            raise InvalidInputError("give the id of a document to delete, or a filter by where=.")
        own = None if id is None else checked_id(id)
        self._collect("delete", id=own, where=_mapping(where), missing_ok=missing_ok)

    def update_metadata(
        self, id: str, metadata: Mapping[str, Any], *, replace: bool = False
    ) -> None:
        """Change the metadata of a document without analysing its text again."""
        own = _mapping(metadata)
        self._collect("update_metadata", id=checked_id(id), metadata=own, replace=replace)

    @call
    async def commit(self, refresh: bool | None = None) -> Changed:
        """Make all changes in one commit, or none of them.

        If the server refuses them they stay here, for another `commit`, or a `rollback`.

        Parameters
        ----------
        refresh : bool, optional
            Whether to recompute the statistics; see `IndexWriter.commit`.

        Returns
        -------
        Changed
            Counts of what was changed, and the commit.

        Raises
        ------
        ProblemError
            With the kind ``changed-meanwhile``, if `if_match` was given, and there is another
            commit.
        InvalidInputError, UnknownDocumentError, IndexLockedError, PermissionError
        """
        self._check_open()
        check_flag("refresh", refresh, optional=True)
        params = None if refresh is None else {"refresh": str(refresh).lower()}
        # What is added twice is replaced by itself; what is deleted twice is missing.
        twice = not any(b"delete" in line[:16] for line in self._lines)
        path, body, commit = f"{self._path}/changes", b"\n".join(self._lines), self._if_match
        changed = await self._exchange.ask(
            Changed, "POST", path, body, params=params, if_match=commit, repeatable=twice
        )
        self._lines.clear()
        if self._if_match is not None:
            self._if_match = changed.commit
        return changed

    def rollback(self) -> None:
        """Drop the changes since the last commit."""
        self._lines.clear()

    def close(self) -> None:
        """Drop the changes since the last commit, and take no more."""
        self._lines.clear()
        self._process = 0

    def _collect(self, op: str, **change: Any) -> None:
        self._check_open()
        self._lines.append(json_bytes({"op": op, **change}))


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
        self._path = f"indexes/{checked_name(name)}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self._exchange.address!r})"

    @call
    async def search(self, query: Query, **options: Unpack[SearchKeywords]) -> Hits:
        """Return the k best documents; see `SoftIndex.search`.

        The server ends the search at the deadline of `softcosine.using_deadline`.
        """
        return await self._asked(Hits, "search", query, **options)

    @call
    async def search_batch(
        self, queries: Iterable[Query], **options: Unpack[SearchKeywords]
    ) -> list[Hits]:
        """Search many queries, several in one request; the options are those of `search`."""
        check_list("queries", queries, "queries, or call search with a single one")
        return await self._searched(queries, options)

    @call
    async def ranked(
        self, queries: Iterable[Query], **options: Unpack[SearchKeywords]
    ) -> list[Top]:
        """Return the numbers and scores of the hits of many queries; see `SoftIndex.ranked`."""
        check_list("queries", queries, "queries")
        found = await self._searched(queries, options, fields=["number"], highlight=False)
        return [
            Top(
                np.array([hit.number for hit in hits], np.int64),
                np.array([hit.score for hit in hits]),
                hits.plan,
            )
            for hits in found
        ]

    @call
    async def similar(self, /, id: str, **options: Any) -> Hits:
        """Return the k documents most similar to a document; see `SoftIndex.similar`."""
        return await self._asked(Hits, "similar", id, **options)

    @call
    async def explain(
        self, query: Query, id: str, **options: Unpack[ScoringKeywords]
    ) -> Explanation:
        """Return the pairs of words that sum to a score; see `SoftIndex.explain`."""
        return await self._asked(Explanation, "explain", query, id, **options)

    @call
    async def scores(
        self, query: Query, ids: Iterable[str], **options: Unpack[ScoringKeywords]
    ) -> NDArray[np.float64]:
        """Return the scores of documents, in the given order; see `SoftIndex.scores`."""
        check_list("ids", ids, "ids of documents")
        given, scores = list(ids), list[float]()
        for begin in range(0, max(1, len(given)), _PAGE):
            scores += await self._asked(
                list[float], "scores", query, given[begin : begin + _PAGE], **options
            )
        return np.array(scores, np.float64)

    @call
    async def explain_similar(self, /, id: str, other: str, **options: Any) -> Explanation:
        """Return why documents are similar; see `SoftIndex.explain_similar`."""
        return await self._asked(Explanation, "explain_similar", id, other, **options)

    @call
    async def pairs(self, /, **options: Any) -> SimilarPairs:
        """Return similar pairs of documents, after the end of a task; see `SoftIndex.pairs`.

        The server limits their number.
        """
        pairs, body = await self._compared("pairs", options)
        what = "min_similarity={min_similarity:g}, k={k}, by={by!r}, ranking={ranking!r}"
        return SimilarPairs(lambda: (pair for pair in pairs), what.format(**body))

    @call
    async def dedupe(self, /, **options: Any) -> list[SimilarGroup]:
        """Return groups of near duplicates; see `SoftIndex.dedupe`, and `pairs` for limits."""
        groups, _ = await self._compared("dedupe", options)
        return list(groups)

    @call
    async def expand(self, /, query: str | Sequence[str], **options: Any) -> ServerQuery:
        """Return soft BM25 of a query for a server that ranks by BM25; see `SoftIndex.expand`."""
        return await self._asked(ServerQuery, "expand", query, **options)

    @call
    async def suggest(self, prefix: str, *, k: int = 10) -> list[tuple[str, int]]:
        """Return the k most frequent indexed words with a prefix, and their numbers of documents.

        Raises
        ------
        InvalidInputError
            If the prefix is empty.
        """
        body = {"prefix": prefix, "k": k}
        path = f"{self._path}/suggest"
        words = await self._exchange.ask(list[Record], "POST", path, body, key="words")
        return [(one["word"], one["n_docs"]) for one in words]

    @call
    async def term(self, word: str, *, k: int = 10) -> dict[str, Any]:
        """Return the words similar to a word, and where the similarities come from.

        Returns
        -------
        dict
            ``neighbors`` with ``word``, ``similarity`` and ``origin``, ``forbidden``, ``indexed``.

        Raises
        ------
        UnknownTermError, InvalidInputError
        """
        path = f"{self._path}/terms/{segment(word)}"
        return await self._exchange.ask(Record, "GET", path, params={"k": str(k)})

    @call
    async def neighbors(self, word: str, *, k: int = 10) -> list[tuple[str, float]]:
        """Return the k indexed words most similar to a word; see `SoftIndex.neighbors`."""
        request = NeighborsRequest.of(word=word, k=k)
        path, params = f"{self._path}/terms/{segment(word)}", {"k": str(request.k)}
        try:
            near = await self._exchange.ask(
                list[Record], "GET", path, key="neighbors", params=params
            )
        except UnknownTermError:
            return []
        return [(one["word"], one["similarity"]) for one in near]

    @call
    async def get(self, ids: Iterable[str], *, missing_ok: bool = False) -> list[Document]:
        """Return documents by their ids, with one request for each; see `SoftIndex.get`."""
        check_list("ids", ids)
        documents = []
        for id in list(ids):
            try:
                documents.append(await self._exchange.ask(Document, "GET", self._document(id)))
            except UnknownDocumentError:
                if not missing_ok:
                    raise
        return documents

    @call
    async def filter(self, /, where: Mapping[str, Any] | None = None, **options: Any) -> Listing:
        """Return documents that pass a filter, without a query; see `SoftIndex.filter`.

        With ``k=None`` they come page by page; a commit in between can move documents.
        """
        request = FilterRequest.of(where=where, **options)
        k, page = _PAGE if request.k is None else request.k, request
        pages, documents = list[Listing](), list[Document]()
        while not pages or (request.k is None and len(pages[-1]) == k):
            try:
                pages.append(await self._sent(Listing, "filter", replace(page, k=k)))
            except ProblemError as error:  # of long documents a page holds fewer
                if request.k is not None or error.kind != _LARGE or k == 1:
                    raise
                k = max(1, k // 4)
                continue
            documents += pages[-1].documents
            page = replace(page, offset=request.offset + len(documents), facets=[])
        return Listing(tuple(documents), pages[0].n_matching, request.offset, pages[0].facets)

    @call
    async def count(self, where: Mapping[str, Any] | None = None) -> int:
        """Return the number of documents that pass a filter; all without a filter."""
        return (await self._asked(Listing, "filter", where=where, k=0)).n_matching

    @call
    async def info(self) -> dict[str, Any]:
        """Return the state and the settings of the index, such as ``documents`` and ``commit``."""
        return await self._exchange.ask(Record, "GET", self._path)

    @call
    async def similarities(self) -> dict[str, Any]:
        """Return the decisions about words: ``decisions``, and ``lines`` as in a file of them."""
        return await self._exchange.ask(Record, "GET", f"{self._path}/similarities")

    @call
    async def decide(
        self,
        *,
        pin: Mapping[tuple[str, str], float] | None = None,
        forbid: Iterable[tuple[str, str]] = (),
        weigh: Mapping[tuple[str, str], float] | None = None,
        remove: Iterable[tuple[str, str]] = (),
        if_match: str | None = None,
    ) -> dict[str, Any]:
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
            A commit; if it is not the last one, nothing is changed.

        Returns
        -------
        dict
            As `similarities`.

        Raises
        ------
        ProblemError
            With the kind ``changed-meanwhile``, if there is another commit.
        InvalidInputError, IndexLockedError, PermissionError
        """
        body = {
            "pin": [{**_pair(pair), "similarity": value} for pair, value in (pin or {}).items()],
            "forbid": list(map(_pair, forbid)),
            "weigh": [{**_pair(pair), "weight": value} for pair, value in (weigh or {}).items()],
            "remove": list(map(_pair, remove)),
        }
        return await self._task("PATCH", "similarities", body, if_match)

    @call
    async def merge(self) -> None:
        """Merge all segments, and free the space of deleted documents; return after its end."""
        await self._task("POST", "merge")

    async def _asked(self, kind: type[_T], name: str, /, *first: Any, **options: Any) -> _T:
        """Return the result of an operation."""
        return await self._sent(kind, name, _request(name, *first, **options))

    async def _sent(self, kind: type[_T], name: str, request: Request) -> _T:
        operation = OPERATIONS[name]
        path = f"{self._path}/{operation.path}"
        return await self._exchange.ask(
            kind, "POST", path, _body(request), key=operation.key, timed=True
        )

    async def _compared(self, name: str, options: Mapping[str, Any]) -> tuple[Any, Record]:
        """Return the result and the options of a comparison, after the end of its task."""
        operation, body = OPERATIONS[name], _body(_request(name, **options))
        result = await self._task("POST", name, {**body, **time_limit()})
        return self._exchange.read(operation.result, result, operation.key), body

    async def _searched(
        self, queries: Iterable[Query], options: Mapping[str, Any], **parts: Any
    ) -> list[Hits]:
        """Return the answers to many searches, several in one request."""
        searches = [{**_body(_request("search", one, **options)), **parts} for one in queries]
        found: list[Hits] = []
        for begin in range(0, len(searches), _SEARCHES):
            some = searches[begin : begin + _SEARCHES]
            named = [{"index": self.name, **one, **time_limit()} for one in some]
            records = await self._exchange.ask(
                list[Record], "POST", "search", {"searches": named}, key="results"
            )
            for one, record in zip(some, records, strict=True):
                # Alone, it is repeated until the server takes it, and all bytes are for its answer.
                if record.get("status") == 429 or record.get("type") == PROBLEM_PREFIX + _LARGE:
                    path = f"{self._path}/search"
                    found.append(await self._exchange.ask(Hits, "POST", path, one, timed=True))
                elif "hits" in record:
                    found.append(self._exchange.read(Hits, record))
                else:
                    raise error_of(record, self._exchange.address)
        return found

    def _document(self, id: str) -> str:
        if not checked_id(id):
            raise InvalidInputError(
                "the empty id has no address; read such a document by a search."
            )
        return f"{self._path}/documents/{segment(id)}"

    async def _task(
        self, method: str, name: str, body: Record | None = None, if_match: str | None = None
    ) -> Record:
        """Return the result of a task after its end."""
        exchange, pause = self._exchange, _FIRST_PAUSE
        path = f"{self._path}/{name}"
        record = await exchange.ask(Record, method, path, body, if_match=if_match)
        while record["state"] in ("waiting", "running"):
            await exchange.client._pause(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            record = await exchange.ask(Record, "GET", f"tasks/{record['id']}")
        if problem := record.get("problem"):
            raise error_of(problem, exchange.address)
        if record["state"] != "done":
            step = f"{record['state']} (its last step: {record.get('step') or 'none'})"
            raise exchange.error(f"the task {record['kind']} of {record['index']} is {step}.")
        return dict(record["result"])


def _request(name: str, /, *first: Any, **options: Any) -> Request:
    """Return the request of an operation, checked as in process."""
    operation = OPERATIONS[name]
    return operation.request.of(**dict(zip(operation.first, first, strict=True)), **options)


def _body(request: Request) -> Record:
    body = asdict(request)
    if isinstance(stage := body.get("first_stage"), FirstStage):
        body["first_stage"] = asdict(stage)
    return body


def _json_of(query: Any) -> Any:
    """Return a text, or a query, as JSON types."""
    if isinstance(query, Mapping):
        return {name: _json_of(own) for name, own in query.items()}
    return list(query) if isinstance(query, Iterable) and not isinstance(query, str) else query


def _mapping(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a mapping as a dictionary; another value as it is, for the server to refuse."""
    return dict(value) if isinstance(value, Mapping) else value


def _pair(pair: tuple[str, str]) -> dict[str, str]:
    """Return a pair of words."""
    word, other = pair
    return {"word": word, "other": other}
