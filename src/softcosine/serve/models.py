"""What requests and answers hold; the OpenAPI document is made of these types.

Unknown fields of requests are refused by name, and values of a wrong type are not converted.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from softcosine.index.options import IndexRequest
from softcosine.index.requests import SearchRequest
from softcosine.index.search.results import Hit, Hits, Listing
from softcosine.index.segment.documents import Document
from softcosine.index.spaces.part import Part
from softcosine.index.wire import form
from softcosine.operations import OPERATIONS, shape
from softcosine.serve.served_index import Completion

_Words = Annotated[list[str], Meta(max_length=1000)]
_Ids = Annotated[list[str], Meta(max_length=100_000, description="Ids of the documents.")]
_Few = Meta(max_length=100)
_Share = Annotated[float, Meta(ge=0, le=1)]
_Object = dict[str, Any]
Query = Annotated[
    str | _Words | Annotated[dict[str, str | _Words], _Few],
    Meta(description="A text, a list of tokens, or one of these for each field."),
]
_K = Annotated[int, Meta(ge=0)]
_Parts = Annotated[
    Annotated[list[Literal["number", "text", "title", "metadata", "snippet"]], _Few] | None,
    Meta(description="Which parts of a hit to return beside id and score; all by default."),
]
_Highlight = Annotated[bool, Meta(description="Whether each hit has its best passage.")]
_Timeout = Annotated[
    Annotated[int, Meta(ge=1)] | None,
    Meta(description="Milliseconds after which the request ends without a result."),
]


class Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request."""


class SearchBody(SearchRequest, frozen=True, kw_only=True):
    """A search; the parameters are those of ``SoftIndex.search``."""

    q: Query
    plain: Annotated[
        bool, Meta(description="Whether equal words alone match: ordinary BM25 or cosine.")
    ] = False
    fields: _Parts = None
    explain: Annotated[bool, Meta(description="Whether each hit has the parts of its score.")] = (
        False
    )
    highlight: _Highlight = True
    timeout_ms: _Timeout = None


class NamedSearch(SearchBody, frozen=True, kw_only=True):
    """A search of a multi-search."""

    index: Annotated[str, Meta(description="Name of the index, or an alias.")]


class MultiSearchBody(Body, frozen=True, kw_only=True):
    """Several searches; each gets its answer or its problem."""

    searches: Annotated[list[NamedSearch], _Few]


def _body(name: str, *more: tuple[Any, ...]) -> Any:
    """Return the body of an operation: its request, with limits of the server and a deadline."""
    request = OPERATIONS[name].request
    return defstruct(
        f"{request.__name__.removesuffix('Request')}Body",
        [*more, ("timeout_ms", _Timeout, None)],
        bases=(request,), namespace={"__doc__": request.__doc__}, frozen=True, kw_only=True,
    )  # fmt: skip


_Terms = Annotated[str | _Words, Meta(description="A text, or a list of tokens.")]
BODIES = {
    "similar": _body("similar", ("fields", _Parts, None), ("highlight", _Highlight, True)),
    "explain": _body("explain", ("q", Query)),
    "explain_similar": _body("explain_similar"),
    "scores": _body("scores", ("q", Query), ("ids", _Ids)),
    "filter": _body("filter"),
    "pairs": _body("pairs"),
    "dedupe": _body("dedupe"),
    "expand": _body("expand", ("q", _Terms)),
}


class SuggestBody(Body, frozen=True, kw_only=True):
    """Indexed words that begin with a prefix."""

    prefix: Annotated[str, Meta(min_length=1, max_length=100)]
    k: _K = 10


class TermQuery(Body, frozen=True, kw_only=True):
    """How many similar words."""

    k: Annotated[int, Meta(ge=1)] = 10


class ListQuery(Body, frozen=True, kw_only=True):
    """A page of documents."""

    offset: _K = 0
    k: _K = 10


class DocumentBody(Body, frozen=True, kw_only=True):
    """The contents of a document: text, list of tokens, or mapping of fields to strings."""

    text: str | Annotated[list[str], Meta(max_length=1_000_000)] | Annotated[dict[str, str], _Few]
    metadata: _Object | None = None


class NewDocument(DocumentBody, frozen=True, kw_only=True):
    """A document to add, or to put in place of the document of the same id."""

    id: str


class DocumentsBody(Body, frozen=True, kw_only=True):
    """Documents to add in one commit, or none of them."""

    documents: Annotated[list[NewDocument], Meta(max_length=100_000)]


class Addition(NewDocument, frozen=True, kw_only=True, tag_field="op", tag="add"):
    """A change: add a document, or replace the one of the same id."""


class Deletion(Body, frozen=True, kw_only=True, tag_field="op", tag="delete"):
    """A change: delete a document, or all that pass a filter."""

    id: str | None = None
    where: _Object | None = None
    missing_ok: bool = False


class MetadataUpdate(Body, frozen=True, kw_only=True, tag_field="op", tag="update_metadata"):
    """A change: other metadata of a document, whose text is not analyzed again."""

    id: str
    metadata: _Object
    replace: Annotated[bool, Meta(description="Whether other keys are removed.")] = False


Change = Addition | Deletion | MetadataUpdate


class ChangesQuery(Body, frozen=True, kw_only=True):
    """How changes are committed."""

    refresh: Annotated[
        bool | None,
        Meta(description="Whether the statistics of the terms are computed anew; else the rule."),
    ] = None


class CreateBody(IndexRequest, frozen=True, kw_only=True):
    """A new index; the parameters are those of ``SoftIndex.create``."""

    similarity: Annotated[
        _Object | None,
        Meta(description="A recipe, as SimilarityRecipe.to_dict returns it; no files."),
    ] = None
    fields: Annotated[
        Annotated[dict[str, float], _Few] | Annotated[list[str], _Few] | None,
        Meta(description="Text fields with scores of their own, by weight."),
    ] = None
    encoder: Annotated[
        Literal["auto", "static", "minilm", "none"] | UnsetType | None,
        Meta(description="As in SoftIndex.create; without it, the default of the server."),
    ] = UNSET


class AliasBody(Body, frozen=True, kw_only=True):
    """The index that an alias stands for."""

    index: str


class Pair(Body, frozen=True, kw_only=True):
    """Two words."""

    word: str
    other: str


class Pin(Pair, frozen=True, kw_only=True):
    """The similarity of two words."""

    similarity: _Share


class Weight(Body, frozen=True, kw_only=True):
    """A factor of the similarity of two words, or of all similarities of one word."""

    word: str
    other: str | None = None
    weight: _Share


_Lines = Meta(max_length=10_000)


class SimilaritiesBody(Body, frozen=True, kw_only=True):
    """Changes of your decisions about words; a later decision on a pair replaces an earlier one."""

    pin: Annotated[list[Pin], _Lines] = []
    forbid: Annotated[list[Pair], _Lines] = []
    weigh: Annotated[list[Weight], _Lines] = []
    remove: Annotated[
        list[Pair], _Lines, Meta(description="Pairs whose decisions are taken back.")
    ] = []


class SignInBody(Body, frozen=True, kw_only=True):
    """A key of the server."""

    key: Annotated[str, Meta(max_length=200)]


def _answer(name: str, kind: Any = None, /, **fields: Any) -> Any:
    """Return the type of a result with further fields, and its commit."""
    return shape(name, kind, **fields, commit=str)


class ProblemAnswer(TypedDict):
    """An error (RFC 9457); the type does not change between releases."""

    type: str
    title: str
    status: int
    detail: str
    instance: NotRequired[str]
    errors: NotRequired[list[dict[str, str]]]


HitAnswer = shape("HitAnswer", Hit, explanation=NotRequired[form(list[Part])])
_FOUND = list[HitAnswer]  # type: ignore[valid-type]
SearchAnswer = _answer("SearchAnswer", Hits, total=NotRequired[int], took_ms=float, hits=_FOUND)


class MultiSearchAnswer(TypedDict):
    """For each search its answer or its problem."""

    results: Annotated[
        list[_Object], Meta(description="For each search its SearchAnswer or its ProblemAnswer.")
    ]
    took_ms: float


SuggestAnswer = _answer("SuggestAnswer", words=form(list[Completion]))
TermAnswer = _answer(
    "TermAnswer", word=str, indexed=bool, neighbors=list[_Object], forbidden=list[_Object]
)
DocumentAnswer = _answer("DocumentAnswer", Document)
DocumentsAnswer = _answer("DocumentsAnswer", Listing)
Deleted = _answer("Deleted", deleted=int)
Changed = _answer("Changed", added=int, replaced=int)
BulkAnswer = _answer("BulkAnswer", added=int, replaced=int, deleted=int, missing=int, updated=int)
IndexAnswer = _answer(
    "IndexAnswer", name=str, aliases=list[str], documents=int, deleted=int, segments=int,
    counted=int, terms=int, postings=int, generation=int, epoch=str, frozen=bool,
    fields=list[_Object], positions=bool, texts=bool, ranking=str, weighting=_Object,
    analyzer=_Object, language=str | None, note=str, meaning=_Object | None, ranked_by=str,
    similarity=_Object, records=_Object,
)  # fmt: skip
SimilaritiesAnswer = _answer(
    "SimilaritiesAnswer", decisions=list[_Object], lines=list[str], note=str
)
IndexesAnswer = shape("IndexesAnswer", None, indexes=list[IndexAnswer], broken=list[str])  # type: ignore[valid-type]


class Aliases(TypedDict):
    """For each alias its index."""

    aliases: dict[str, str]


class TaskAnswer(TypedDict):
    """A long change or comparison in the background."""

    id: str
    kind: str
    index: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    step: NotRequired[str]
    done: NotRequired[int]
    total: NotRequired[int | None]
    result: NotRequired[
        Annotated[_Object, Meta(description="Of comparisons a PairsAnswer or GroupsAnswer.")]
    ]
    problem: NotRequired[ProblemAnswer]


Status = shape("Status", None, status=str)
Version = shape("Version", None, name=str, version=str)
