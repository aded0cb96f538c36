"""What the MCP tools take and return; field descriptions become those of the JSON schemas."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

_Rank = Annotated[int, Field(description="1 for the best document.")]
_Title = Annotated[str | None, Field(description="The title, if the document has one.")]
_Text = Annotated[str, Field(description="The text, or its start; see truncated.")]
_Truncated = Annotated[
    bool, Field(description="Whether the text goes on; get_document returns the rest.")
]
_Passage = Annotated[
    str | None, Field(description="The passage that matches best, if the text is truncated.")
]
_ScoreName = Annotated[str, Field(description="What the scores are.")]
_Commit = Annotated[str, Field(description="Checksum of the state of the index.")]


class _Result(BaseModel):
    """A result that can be written as JSON in UTF-8, whatever the documents hold."""

    @model_validator(mode="before")
    @classmethod
    def _of_json(cls, values: Any) -> Any:
        return _writable(values)


def _writable(value: Any) -> Any:
    """Return a value with lone surrogates replaced by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_writable(one) for one in value]
    if isinstance(value, dict):
        return {_writable(key): _writable(one) for key, one in value.items()}
    return value


class FoundDocument(_Result):
    """A document of a search result."""

    rank: _Rank
    id: str
    score: float
    title: _Title
    text: _Text
    truncated: _Truncated
    passage: _Passage
    metadata: dict[str, Any]


class FoundDocuments(_Result):
    """Documents by decreasing score."""

    index: str
    ranking: _ScoreName
    hits: list[FoundDocument]


class ValueCount(_Result):
    """A value of a metadata key and the number of matching documents that have it."""

    value: str | int | float | bool | None
    documents: int


class SearchResult(_Result):
    """Documents that match a query, by decreasing score or as sorted."""

    index: str
    ranking: _ScoreName
    hits: list[FoundDocument]
    more: Annotated[bool, Field(description="Whether there are further hits; use offset.")]
    in_no_document: Annotated[
        list[str], Field(description="Query words in no document; similar words stand for them.")
    ]
    unknown: Annotated[list[str], Field(description="Query words that match nothing.")]
    required: Annotated[list[str], Field(description="What every hit contains, by an operator.")]
    excluded: Annotated[list[str], Field(description="What no hit contains, by an operator.")]
    did_you_mean: Annotated[
        dict[str, list[str]], Field(description="Words of the index spelled like unknown ones.")
    ]
    facets: Annotated[
        dict[str, list[ValueCount]], Field(description="Values of the requested metadata keys.")
    ]


class WordPair(_Result):
    """The contribution of a pair of words to a score."""

    query_word: str
    document_word: str
    kind: Annotated[
        Literal["equal", "similar", "similar spelling", "meaning"],
        Field(description="How the words are related."),
    ]
    similarity: float
    contribution: Annotated[float, Field(description="Summand of the score.")]
    field: Annotated[str | None, Field(description="Field of the document, if there are several.")]


class ExplainedScore(_Result):
    """A score as the sum of contributions of pairs of words, largest first."""

    index: str
    id: str
    score: float
    ranking: _ScoreName
    pairs: list[WordPair]
    others: Annotated[float, Field(description="Contribution of all further pairs.")]


class RelatedWord(_Result):
    """A word of the index and its similarity with the given one."""

    word: str
    similarity: Annotated[float, Field(description="From 0 to 1.")]
    origin: Annotated[
        str | None, Field(description="The source of the similarity, if the index stores it.")
    ]


class RelatedWords(_Result):
    """The words of the index that are most similar to a word."""

    index: str
    word: str
    in_documents: Annotated[bool, Field(description="Whether a document has the word.")]
    related: list[RelatedWord]


class DocumentText(_Result):
    """A document, or a part of a long one."""

    index: str
    id: str
    text: _Text
    start: Annotated[int, Field(description="Position of the returned text, in characters.")]
    n_characters: Annotated[int, Field(description="Length of the whole text.")]
    truncated: Annotated[
        bool, Field(description="Whether the text goes on; ask again with a larger start.")
    ]
    metadata: dict[str, Any]


class IndexInfo(_Result):
    """The contents and settings of an index."""

    name: str
    documents: int
    terms: int
    fields: Annotated[list[str], Field(description="Text fields, if there are several.")]
    metadata: Annotated[
        dict[str, Any],
        Field(description="Metadata keys with an example value each, from some documents."),
    ]
    language: str | None
    ranking: _ScoreName
    meaning: Annotated[
        bool, Field(description="Whether whole texts are also compared by their meaning.")
    ]
    similarities: Annotated[str, Field(description="Where the similarities of words come from.")]
    commit: _Commit


class IndexList(_Result):
    """The indexes of the server."""

    indexes: list[IndexInfo]
    writable: Annotated[bool, Field(description="Whether documents can be added and deleted.")]


class NewDocument(BaseModel):
    """A document to add; it replaces the document with the same id."""

    model_config = ConfigDict(extra="forbid")

    id: str
    text: Annotated[
        str | dict[str, str],
        Field(description="The text; in an index of several fields, texts by field names."),
    ]
    metadata: Annotated[
        dict[str, Any] | None, Field(description="Values for filters, such as lang or year.")
    ] = None


class Added(_Result):
    """A commit that added documents."""

    index: str
    added: int
    replaced: Annotated[int, Field(description="How many of these replaced a document.")]
    documents: Annotated[int, Field(description="Documents of the index now.")]
    commit: _Commit


class Deleted(_Result):
    """A commit that deleted documents."""

    index: str
    deleted: int
    documents: Annotated[int, Field(description="Documents of the index now.")]
    commit: _Commit
