"""The tools of the MCP server; their docstrings are the descriptions that models read.

Options and results are those of `softcosine.operations`: their schemas are made of the same types.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct, defstruct, field
from msgspec.structs import fields

from softcosine.errors import InvalidInputError
from softcosine.index.requests import NeighborsRequest, Request, SearchRequest
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.results import Hit, Hits
from softcosine.index.soft_index import SoftIndex
from softcosine.index.wire import wire
from softcosine.operations import shape

_MOST_HITS = 100
_MOST_CHARACTERS = 100_000  # of a returned text, and of a query
_MOST_NEW = 1000
_READ = 20_000  # characters of a document, by default
_SAMPLE = 100  # documents whose metadata keys are listed
_EXAMPLE = 80  # characters of an example value

_HIT = ("id", "score", "title", "text", "metadata")
_HITS = (
    *("ranking", "outside", "unknown", "required", "excluded", "corrected", "note"),
    *("suggestions", "facets"),
)
_SEARCH = ("offset", "where", "sort", "facets", "min_score", "syntax")
_PART = {"start": int, "n_characters": int, "truncated": bool}
_EXPLAINED = ("id", "score", "ranking", "passage", "sums", "words")
_INFO = ("documents", "terms", "fields", "language", "ranking", "meaning", "note", "commit")
_COMMIT = {"documents": int, "commit": str}


class NewDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document to add; it replaces the document with the same id."""

    id: str
    text: Annotated[
        str | dict[str, str],
        Meta(description="The text; in an index of several fields, texts by field names."),
    ]
    metadata: Annotated[
        dict[str, Any] | None, Meta(description="Values for filters, such as lang or year.")
    ] = None


class _Options(Request, frozen=True, kw_only=True):
    """Options of tools that operations do not have, or have with other limits."""

    index: Annotated[
        str | None, Meta(description="Name of the index; may be left out if there is only one.")
    ] = None
    query: Annotated[str, Meta(max_length=_MOST_CHARACTERS, description="Words in plain language.")]
    syntax: Annotated[
        bool,
        Meta(
            description="Whether the query has operators: +word must occur, -word must not, "
            '"some words" is a phrase, word^2 doubles a weight.'
        ),
    ] = False
    id: Annotated[str, Meta(description="Id of a document.")]
    k: Annotated[int, Meta(ge=0, le=_MOST_HITS, description="Maximum number of results.")] = 10
    max_characters: Annotated[
        Annotated[int, Meta(ge=1, le=_MOST_CHARACTERS)] | None,
        Meta(description="Where to truncate a text, in characters."),
    ] = None
    start: Annotated[int, Meta(ge=0, description="First character to return.")] = 0
    documents: Annotated[
        list[NewDocument],
        Meta(min_length=1, max_length=_MOST_NEW, description="All of them are one commit."),
    ]
    ids: Annotated[
        Annotated[list[str], Meta(min_length=1, max_length=_MOST_NEW)] | None,
        Meta(description="Ids of documents, in place of a filter."),
    ] = None


_KNOWN = {
    one.name: one for kind in (NeighborsRequest, SearchRequest, _Options) for one in fields(kind)
}


def _takes(*names: str) -> Any:
    """Return the type of arguments of these names, and of the index."""
    with_default: Any = field
    taken = [
        (one.name, one.type, with_default(default=one.default, default_factory=one.default_factory))
        for one in map(_KNOWN.__getitem__, (*names, "index"))
    ]
    return defstruct("Arguments", taken, bases=(Request,), frozen=True, kw_only=True)


_Answer = Callable[["Tools", Any, Any], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its title, the types of its arguments and of its result, and what it does.

    Attributes
    ----------
    writes : bool
        Whether it is for writable servers.
    opens : bool
        Whether it gets one opened index, the name of which is in its result.
    """

    title: str
    takes: type[Request]
    returns: Any
    answer: _Answer
    writes: bool
    opens: bool


TOOLS: dict[str, Tool] = {}


def _tool(
    title: str, takes: Any, returns: Any, *, writes: bool = False, opens: bool = True
) -> Callable[[_Answer], _Answer]:
    """Declare a function as the tool of its name."""

    def declared(function: _Answer) -> _Answer:
        TOOLS[function.__name__] = Tool(title, takes, returns, function, writes, opens)
        return function

    return declared


@dataclass(frozen=True, slots=True)
class Tools:
    """Indexes that tools answer from; each call uses the last commit of its index.

    Attributes
    ----------
    indexes : mapping of names to SoftIndex
        Read at every call, so it may change.
    writable : bool
    max_characters : int
        Where texts of hits are truncated by default.
    searching : mapping
        Options of `SoftIndex.search` and `SoftIndex.explain` for the tools of these names.
    """

    indexes: Mapping[str, SoftIndex]
    writable: bool
    max_characters: int
    searching: Mapping[str, Any]

    def call(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a tool."""
        call: Any = tool.takes.of(**arguments)
        if not tool.opens:
            return tool.answer(self, None, call)
        name, index = self.opened(call.index)
        return {"index": name, **tool.answer(self, index, call)}

    def opened(self, name: str | None) -> tuple[str, SoftIndex]:
        """Return an index by its name, or the only one, at its last commit."""
        names = list(self.indexes)
        if name is None and len(names) == 1:
            name = names[0]
        if name is None or name not in self.indexes:
            seen = "index is missing" if name is None else f"there is no index {name!r}"
            raise InvalidInputError(f"{seen}; name one of: {', '.join(names) or '(none)'}.")
        index = self.indexes[name]
        index.refresh()
        return name, index

    def hits(self, hits: Hits, call: Any) -> list[dict[str, Any]]:
        """Return the k best hits, with truncated texts."""
        most, records = call.max_characters or self.max_characters, []
        for hit in hits[: call.k]:
            truncated = len(hit.text) > most
            record = {
                **{name: getattr(hit, name) for name in _HIT},
                "title": _cut(hit.title, most),
                "text": hit.text[:most],
                "metadata": {key: _cut(value, most) for key, value in hit.metadata.items()},
                "truncated": truncated,
                "passage": hit.snippet.text if truncated else None,
            }
            records.append(record)
        return records


_FOUND: Any = shape("Found", Hit, *_HIT, truncated=bool, passage=str | None)


@_tool(
    "Search documents",
    _takes("query", "k", *_SEARCH, "max_characters"),
    shape("SearchResult", Hits, *_HITS, hits=list[_FOUND], more=bool),
)
def search(tools: Tools, index: SoftIndex, call: Any) -> dict[str, Any]:
    """Find the documents that match a query best.

    Documents match by equal and by similar words: a search for "bicycle repair" also finds "a
    puncture in the bike's tyre". Ask in plain language; synonyms are not needed. If `more` is
    true, a larger offset returns further hits; `truncated` texts go on in get_document.
    """
    options = {name: getattr(call, name) for name in _SEARCH}
    hits = index.search(call.query, k=call.k + 1, **options, **tools.searching)
    record = {own: wire(getattr(hits, own)) for own in _HITS}
    more = len(hits) > call.k
    return {**record, "hits": tools.hits(hits, call), "more": more}


@_tool(
    "Similar documents",
    _takes("id", "k", "where", "max_characters"),
    shape("Similar", Hits, "ranking", "note", hits=list[_FOUND]),
)
def similar(tools: Tools, index: SoftIndex, call: Any) -> dict[str, Any]:
    """Find the documents most similar to a document of the index, without itself."""
    hits = index.similar(call.id, k=call.k, where=call.where)
    return {"ranking": hits.ranking, "note": hits.note, "hits": tools.hits(hits, call)}


@_tool(
    "Explain a score",
    _takes("query", "id", "syntax"),
    shape("Explained", Explanation, *_EXPLAINED),
)
def explain(tools: Tools, index: SoftIndex, call: Any) -> dict[str, Any]:
    """Explain why a document matches a query: what each word of it adds to the score.

    `sums` are what same words, similar words and meaning add.
    """
    found = wire(index.explain(call.query, call.id, syntax=call.syntax, **tools.searching))
    return {name: found[name] for name in _EXPLAINED}


@_tool(
    "Related words",
    _takes("word", "k"),
    shape("RelatedWords", word=str, indexed=bool, neighbors=list[dict[str, Any]]),
)
def related_words(tools: Tools, index: SoftIndex, call: Any) -> dict[str, Any]:
    """List the words of the documents that a search takes as similar to a word.

    The word need not be in a document; `origin` is the source of a similarity.
    """
    return {**index.term(call.word, k=call.k)}


@_tool(
    "Read a document",
    _takes("id", "start", "max_characters"),
    shape("DocumentText", Hit, "id", "text", "metadata", **_PART),
)
def get_document(tools: Tools, index: SoftIndex, call: Any) -> dict[str, Any]:
    """Return the text and metadata of a document by its id; a long text in parts.

    If it is `truncated`, a larger start returns the next part.
    """
    (document,) = index.get([call.id])
    end = call.start + (call.max_characters or _READ)
    return {
        **wire(document),
        "text": document.text[call.start : end],
        "start": call.start,
        "n_characters": len(document.text),
        "truncated": end < len(document.text),
    }


@_tool(
    "Describe the indexes",
    _takes(),
    shape("IndexList", indexes=list[dict[str, Any]], writable=bool),
    opens=False,
)
def index_info(tools: Tools, index: None, call: Any) -> dict[str, Any]:
    """Describe the indexes: size, language, and the metadata keys that filters can use."""
    names = list(tools.indexes) if call.index is None else [call.index]
    indexes = [_info(*tools.opened(name)) for name in names]
    return {"indexes": indexes, "writable": tools.writable}


@_tool(
    "Add or replace documents",
    _takes("documents"),
    shape("Added", added=int, replaced=int, **_COMMIT),
    writes=True,
)
def add_documents(tools: Tools, index: SoftIndex, call: Any) -> dict[str, Any]:
    """Add documents, or replace those with the same ids; all of them or, on an error, none."""
    ids = {document.id for document in call.documents}
    if len(ids) < len(call.documents):
        raise InvalidInputError("two documents have the same id; give each an id of its own.")
    with index.writer() as writer:
        index.refresh()  # nobody else writes from here on
        n_replaced = sum(id in index for id in ids)
        for document in call.documents:
            writer.add(document.id, document.text, document.metadata)
    return {"added": len(ids), "replaced": n_replaced, **_commit(index)}


@_tool(
    "Delete documents",
    _takes("ids", "where"),
    shape("Deleted", deleted=int, **_COMMIT),
    writes=True,
)
def delete_documents(tools: Tools, index: SoftIndex, call: Any) -> dict[str, Any]:
    """Delete documents by ids, or all that pass a filter; all of them or, on an error, none."""
    if (call.ids is None) == (call.where is None):
        raise InvalidInputError("give the ids of documents to delete, or a filter, not both.")
    with index.writer() as writer:
        if call.ids is None:
            n_deleted = writer.delete(where=call.where)
        else:
            n_deleted = sum(map(writer.delete, dict.fromkeys(call.ids)))
    return {"deleted": n_deleted, **_commit(index)}


def _commit(index: SoftIndex) -> dict[str, Any]:
    return {"documents": len(index), "commit": index.commit}


def _cut(value: Any, most: int) -> Any:
    """Return a metadata value; a long one as text, cut, and with an ellipsis at the end."""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(shown) <= most else f"{shown[:most]}…"


def _info(name: str, index: SoftIndex) -> dict[str, Any]:
    examples: dict[str, Any] = {}
    for document in index.filter(k=_SAMPLE):
        for key, value in document.metadata.items():
            examples.setdefault(key, _cut(value, _EXAMPLE))
    info = index.info()
    return {"name": name, **{own: info[own] for own in _INFO}, "metadata": examples}
