"""The tools of the MCP server; their docstrings are the descriptions that models read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from softcosine.errors import (
    IndexLockedError,
    InvalidInputError,
    SoftCosineError,
)
from softcosine.index.rankings import TITLES
from softcosine.index.search.explanation import Part
from softcosine.index.search.results import Hit, Hits
from softcosine.index.soft_index import SoftIndex
from softcosine.mcp.results import (
    Added,
    Deleted,
    DocumentText,
    ExplainedScore,
    FoundDocument,
    FoundDocuments,
    IndexInfo,
    IndexList,
    NewDocument,
    RelatedWord,
    RelatedWords,
    SearchResult,
    ValueCount,
    WordPair,
)
from softcosine.similarity.provenance import origins

_MOST_HITS = 100
_MOST_CHARACTERS = 100_000  # of a returned text, and of a query
_MOST_NEW = 1000
_SAMPLE = 100  # documents whose metadata keys are listed
_EXAMPLE = 80  # characters of an example value

_IndexName = Annotated[
    str | None, Field(description="Name of the index; may be left out if there is only one.")
]
_Query = Annotated[
    str,
    Field(
        max_length=_MOST_CHARACTERS,
        description="Words in plain language.",
    ),
]
_Syntax = Annotated[
    bool,
    Field(
        description="Whether the query has operators: +word must occur, -word must not, "
        '"some words" is a phrase, word^2 doubles a weight.'
    ),
]
_Count = Annotated[int, Field(ge=0, le=_MOST_HITS, description="Maximum number of results.")]
_Offset = Annotated[int, Field(ge=0, description="Number of best documents to skip.")]
_Where = Annotated[
    dict[str, Any] | None,
    Field(
        description='Filter on metadata: {"lang": "en", "year": {">=": 2020}, '
        '"tag": {"in": ["a", "b"]}}; index_info lists the keys.'
    ),
]
_Sort = Annotated[
    list[str] | None,
    Field(description='Metadata keys to sort by instead of the score, such as "-year".'),
]
_FacetKeys = Annotated[
    list[str] | None,
    Field(description="Metadata keys whose values are counted over all matching documents."),
]
_Characters = Annotated[
    int | None,
    Field(ge=1, le=_MOST_CHARACTERS, description="Where to truncate a text, in characters."),
]

_Tool = TypeVar("_Tool", bound=Callable[..., Any])


def _with_message(tool: _Tool) -> _Tool:
    """Return a tool whose errors reach the client with their messages.

    The server hides the message of any exception but a ToolError.
    """

    @wraps(tool)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return tool(*arguments, **named)
        except IndexLockedError as error:
            raise ToolError(f"{error}".rpartition(";")[0] + "; try again later.") from error
        except (SoftCosineError, OSError) as error:
            raise ToolError(str(error)) from error

    return call  # type: ignore[return-value]


class Tools:
    """The tools over some indexes; each call uses the last commit of its index.

    Parameters
    ----------
    indexes : mapping of names to SoftIndex
        Read at every call, so it may change.
    writable : bool
    max_characters : int
        Where texts of hits are truncated by default.
    searching : mapping
        Options of `SoftIndex.search` and `SoftIndex.explain` for the tools of these names.
    """

    def __init__(
        self,
        indexes: Mapping[str, SoftIndex],
        *,
        writable: bool,
        max_characters: int,
        searching: Mapping[str, Any],
    ) -> None:
        self._indexes = indexes
        self._writable = writable
        self._max_characters = max_characters
        self._searching = searching

    @_with_message
    def search(
        self,
        query: _Query,
        index: _IndexName = None,
        k: _Count = 10,
        offset: _Offset = 0,
        where: _Where = None,
        sort: _Sort = None,
        facets: _FacetKeys = None,
        syntax: _Syntax = False,
        max_characters: _Characters = None,
    ) -> SearchResult:
        """Find the documents that match a query best.

        Documents match by equal and by similar words: a search for "bicycle repair" also finds "a
        puncture in the bike's tyre". Ask in plain language; synonyms are not needed.
        """
        name, opened = self._opened(index)
        found = opened.search(
            query, k=k + 1, offset=offset, where=where, sort=sort, facets=facets or (),
            syntax=syntax, **self._searching,
        )  # fmt: skip
        return SearchResult(
            index=name,
            ranking=found.title,
            hits=self._hits(found, k, max_characters),
            more=len(found) > k,
            in_no_document=list(found.outside),
            unknown=list(found.unknown),
            required=list(found.required),
            excluded=list(found.excluded),
            did_you_mean={
                one.word: [other.word for other in one.candidates] for one in found.suggestions
            },
            facets={
                key: [ValueCount(value=one.value, documents=one.n_docs) for one in counts]
                for key, counts in found.facets.items()
            },
        )

    @_with_message
    def similar(
        self,
        id: Annotated[str, Field(description="Id of a document.")],
        index: _IndexName = None,
        k: _Count = 10,
        where: _Where = None,
        max_characters: _Characters = None,
    ) -> FoundDocuments:
        """Find the documents most similar to a document of the index, without itself."""
        name, opened = self._opened(index)
        found = opened.similar(id, k=k, where=where)
        hits = self._hits(found, k, max_characters)
        return FoundDocuments(index=name, ranking=found.title, hits=hits)

    @_with_message
    def explain(
        self,
        query: _Query,
        id: Annotated[str, Field(description="Id of a document.")],
        index: _IndexName = None,
        k: _Count = 20,
        syntax: _Syntax = False,
    ) -> ExplainedScore:
        """Explain why a document matches a query: pairs of words whose contributions add up."""
        name, opened = self._opened(index)
        found = opened.explain(query, id, syntax=syntax, **self._searching)
        return ExplainedScore(
            index=name,
            id=found.id,
            score=found.score,
            ranking=found.title,
            pairs=[_pair(part) for part in found.parts[:k]],
            others=sum(part.contribution for part in found.parts[k:]),
        )

    @_with_message
    def related_words(
        self,
        word: Annotated[str, Field(description="A single word; no document needs to have it.")],
        index: _IndexName = None,
        k: _Count = 10,
    ) -> RelatedWords:
        """List the words of the documents that a search takes as similar to a word."""
        name, opened = self._opened(index)
        found = opened.neighbors(word, k=k)
        parsed = opened.parse_word(word)
        others = [other for other, _ in found]
        told: list[str | None] = [None] * len(others)
        if opened.source is not None and others:
            # Sources know words, so the representative of the term is looked up.
            own = parsed.outside[0].word if parsed.outside else None
            own = opened.S.representative(int(parsed.terms[0])) if own is None else own
            told = [str(one) for one in origins(opened.source, [own] * len(others), others)]
        return RelatedWords(
            index=name,
            word=word,
            in_documents=len(parsed.terms) > 0,
            related=[
                RelatedWord(word=other, similarity=similarity, origin=origin)
                for (other, similarity), origin in zip(found, told, strict=True)
            ],
        )

    @_with_message
    def get_document(
        self,
        id: str,
        index: _IndexName = None,
        start: Annotated[int, Field(ge=0, description="First character to return.")] = 0,
        max_characters: _Characters = 20_000,
    ) -> DocumentText:
        """Return the text and metadata of a document by its id; a long text in parts."""
        name, opened = self._opened(index)
        (document,) = opened.get([id])
        text, end = document.text, start + (max_characters or self._max_characters)
        return DocumentText(
            index=name,
            id=document.id,
            text=text[start:end],
            start=start,
            n_characters=len(text),
            truncated=end < len(text),
            metadata=document.metadata,
        )

    @_with_message
    def index_info(self, index: _IndexName = None) -> IndexList:
        """Describe the indexes: size, language, and the metadata keys that filters can use."""
        names = list(self._indexes) if index is None else [index]
        infos = [_info(*self._opened(name)) for name in names]
        return IndexList(indexes=infos, writable=self._writable)

    @_with_message
    def add_documents(
        self,
        documents: Annotated[list[NewDocument], Field(min_length=1, max_length=_MOST_NEW)],
        index: _IndexName = None,
    ) -> Added:
        """Add documents, or replace those with the same ids; all of them or, on an error, none."""
        name, opened = self._opened(index)
        ids = {document.id for document in documents}
        if len(ids) < len(documents):
            raise InvalidInputError("two documents have the same id; give each an id of its own.")
        with opened.writer() as writer:
            opened.refresh()  # nobody else writes from here on
            n_replaced = sum(id in opened for id in ids)
            for document in documents:
                writer.add(document.id, document.text, document.metadata)
        return Added(
            index=name,
            added=len(documents),
            replaced=n_replaced,
            documents=len(opened),
            commit=opened.commit,
        )

    @_with_message
    def delete_documents(
        self,
        ids: Annotated[list[str] | None, Field(min_length=1, max_length=_MOST_NEW)] = None,
        where: _Where = None,
        index: _IndexName = None,
    ) -> Deleted:
        """Delete documents by ids, or all that pass a filter; all of them or, on an error, none."""
        name, opened = self._opened(index)
        if (ids is None) == (where is None):
            raise InvalidInputError("give the ids of documents to delete, or a filter, not both.")
        with opened.writer() as writer:
            if ids is None:
                n_deleted = writer.delete(where=where)
            else:
                n_deleted = sum(writer.delete(id) for id in dict.fromkeys(ids))
        return Deleted(index=name, deleted=n_deleted, documents=len(opened), commit=opened.commit)

    def _opened(self, name: str | None) -> tuple[str, SoftIndex]:
        """Return an index by its name, or the only one, at its last commit."""
        names = list(self._indexes)
        if name is None and len(names) == 1:
            name = names[0]
        if name is None or name not in self._indexes:
            seen = "index is missing" if name is None else f"there is no index {name!r}"
            raise InvalidInputError(f"{seen}; name one of: {', '.join(names) or '(none)'}.")
        opened = self._indexes[name]
        opened.refresh()
        return name, opened

    def _hits(self, found: Hits, k: int, max_characters: int | None) -> list[FoundDocument]:
        most = max_characters or self._max_characters
        return [
            _found(rank, hit, most) for rank, hit in enumerate(found.hits[:k], found.offset + 1)
        ]


def _found(rank: int, hit: Hit, most: int) -> FoundDocument:
    truncated = len(hit.text) > most
    return FoundDocument(
        rank=rank,
        id=hit.id,
        score=hit.score,
        title=_cut(hit.title, most),
        text=hit.text[:most],
        truncated=truncated,
        passage=hit.snippet.text if truncated else None,
        metadata={key: _cut(value, most) for key, value in hit.metadata.items()},
    )


def _cut(value: Any, most: int) -> Any:
    """Return a metadata value; a long one as text, cut, and with an ellipsis at the end."""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(shown) <= most else f"{shown[:most]}…"


def _pair(part: Part) -> WordPair:
    kind: Any = "equal" if part.exact else "similar spelling" if part.spelled else "similar"
    return WordPair(
        query_word=part.query_word,
        document_word=part.document_word,
        kind="meaning" if part.space == "meaning" else kind,
        similarity=part.similarity,
        contribution=part.contribution,
        field=part.field or None,
    )


def _info(name: str, opened: SoftIndex) -> IndexInfo:
    examples: dict[str, Any] = {}
    for document in opened.filter(k=_SAMPLE):
        for key, value in document.metadata.items():
            examples.setdefault(key, _cut(value, _EXAMPLE))
    fields = [field.name for field in opened.fields]
    return IndexInfo(
        name=name,
        documents=len(opened),
        terms=len(opened.vocabulary),
        fields=fields if len(fields) > 1 else [],
        metadata=examples,
        language=opened.language,
        ranking=TITLES[opened.ranking],
        meaning=opened.snapshot.meaning is not None,
        similarities=opened.note,
        commit=opened.commit,
    )
