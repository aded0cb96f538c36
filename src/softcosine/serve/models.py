"""What requests and answers hold; the OpenAPI document is made of these classes.

Unknown fields of requests are refused by name, and values of a wrong type are not converted.
Validation of an object, a list or a mapping ends with its first unknown name or wrong element.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict, TypeVar, is_typeddict

from msgspec import Meta
from msgspec.json import schema_components
from pydantic import BaseModel, ConfigDict, Field, model_validator

from softcosine.index.near_duplicates.similar import SimilarGroup, SimilarPair
from softcosine.index.query.filters import MAX_CONDITIONS, MAX_KEYS
from softcosine.index.query.query_vectors import MAX_RESPELLED
from softcosine.index.requests import MAX_FACETS, MAX_SORT_KEYS
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.explanation import Part as ExplanationPart
from softcosine.index.search.results import Hit, Hits, Listing
from softcosine.index.search.server_query import ServerQuery
from softcosine.index.segment.documents import Document
from softcosine.index.wire import form
from softcosine.serve.completion import Completion

__all__ = [
    "AliasBody",
    "Aliases",
    "BackupBody",
    "BulkAnswer",
    "Change",
    "Changed",
    "CreateBody",
    "DedupeBody",
    "DeleteBody",
    "Deleted",
    "DocumentAnswer",
    "DocumentBody",
    "DocumentsAnswer",
    "DocumentsBody",
    "EncodeBody",
    "ExpandAnswer",
    "ExpandBody",
    "ExplainBody",
    "ExplainSimilarBody",
    "ExplanationAnswer",
    "GroupsAnswer",
    "HitAnswer",
    "IndexAnswer",
    "IndexesAnswer",
    "MultiSearchAnswer",
    "MultiSearchBody",
    "NamedSearch",
    "NewDocument",
    "PairsAnswer",
    "PairsBody",
    "ProblemAnswer",
    "ScoresAnswer",
    "ScoresBody",
    "SearchAnswer",
    "SearchBody",
    "SimilarBody",
    "SimilaritiesAnswer",
    "SimilaritiesBody",
    "SuggestAnswer",
    "SuggestBody",
    "TaskAnswer",
    "TermAnswer",
    "answer_schemas",
    "returns",
]


class Body(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _until_first_unknown(cls, given: Any) -> Any:
        """Leave out all unknown names but the first, each of which would make an error."""
        if not isinstance(given, dict):
            return given
        known = cls.model_fields
        first = next((name for name in given if name not in known), None)
        return {name: value for name, value in given.items() if name in known or name == first}


_T = TypeVar("_T")
# Counted before their elements are validated, which ends with the first wrong one.
Few = Annotated[_T, Field(max_length=100, fail_fast=True)]
Words = Annotated[list[str], Field(max_length=1000, fail_fast=True)]
Ids = Annotated[list[str], Field(max_length=100_000, fail_fast=True)]
Lines = Annotated[list[_T], Field(max_length=10_000, fail_fast=True)]

Query = str | Words | Few[dict[str, str | Words]]
Filter = Annotated[
    dict[str, Any],
    Field(description=f"At most {MAX_CONDITIONS:,} conditions, on at most {MAX_KEYS} keys."),
]
Sort = Annotated[list[str], Field(max_length=MAX_SORT_KEYS, fail_fast=True)]
Facets = Annotated[list[str], Field(max_length=MAX_FACETS, fail_fast=True)]
Ask = Literal["words", "static", "encoder"]
By = Literal["words", "meaning", "both"]
Part = Literal["number", "text", "title", "metadata", "snippet"]
K = Annotated[int, Field(ge=0, description="Maximum number of hits.")]
Metadata = dict[str, Any]
Timeout = Annotated[
    int | None,
    Field(ge=1, description="Milliseconds after which the request ends without a result."),
]


class FirstStageBody(Body):
    """Search in two stages; see ``FirstStage``."""

    terms: int | None = 32
    candidates: int | None = None


class SearchBody(Body):
    """A search; the parameters are those of ``SoftIndex.search``."""

    q: Query = Field(description="A string, a list of tokens, or a mapping of fields to these.")
    k: K = 10
    offset: int = Field(default=0, ge=0)
    where: Filter | None = None
    sort: str | Sort | None = None
    facets: Facets = []
    ranking: str | None = None
    ask: Ask | None = None
    meaning: float | None = None
    mmr: float | None = None
    exact_first: bool = False
    fill: bool = False
    first_stage: int | FirstStageBody | None = None
    min_score: float = 0.0
    fuzzy: bool = Field(
        default=False, description=f"Whether unknown words, at most {MAX_RESPELLED}, are respelled."
    )
    syntax: bool | None = None
    expand: bool = True
    keep_stop_words: bool = False
    max_terms: int | None = 512
    plain: bool = Field(
        default=False,
        description="Whether equal words alone match: ordinary BM25 or cosine, to compare with.",
    )
    fields: Few[list[Part]] | None = Field(
        default=None,
        description="Which parts of a hit to return beside id and score; all by default.",
    )
    explain: bool = Field(default=False, description="Whether each hit has the parts of its score.")
    highlight: bool = Field(default=True, description="Whether each hit has its best passage.")
    timeout_ms: Timeout = None


class NamedSearch(SearchBody):
    """A search of a multi-search."""

    index: str


class MultiSearchBody(Body):
    """Several searches; each gets its answer or its problem."""

    searches: Few[list[NamedSearch]]


class SimilarBody(Body):
    """Documents similar to a document or to a text; exactly one of `id` and `text`."""

    id: str | None = None
    text: str | None = None
    k: K = 10
    where: Filter | None = None
    min_score: float = 0.0
    ranking: str = "soft_cosine"
    meaning: float | None = None
    fields: Few[list[Part]] | None = None
    highlight: bool = True
    timeout_ms: Timeout = None


class ScoringBody(Body):
    """How documents are scored; the parameters are those of ``SoftIndex.explain``."""

    q: Query
    ranking: str | None = None
    syntax: bool | None = None
    max_terms: int | None = 512
    fuzzy: bool = False
    keep_stop_words: bool = False
    ask: Ask | None = None
    meaning: float | None = None
    timeout_ms: Timeout = None


class ExplainBody(ScoringBody):
    """The score of one document, as parts that sum to it."""

    id: str


class ScoresBody(ScoringBody):
    """The scores of documents, such as the hits of another engine."""

    ids: Ids


class ExplainSimilarBody(Body):
    """The similarity of two documents, as parts that sum to it."""

    id: str
    other: str
    ranking: str = "soft_cosine"
    meaning: float | None = None
    timeout_ms: Timeout = None


class PairsBody(Body):
    """All similar pairs of documents, or the nearest documents of each; see ``SoftIndex.pairs``."""

    min_similarity: float = 0.0
    k: int | None = None
    by: By = "words"
    ranking: str = "soft_cosine"
    timeout_ms: Timeout = None


class DedupeBody(Body):
    """Groups of near duplicates; see ``SoftIndex.dedupe``."""

    min_similarity: float = 0.9
    method: Literal["components", "leaders"] = "components"
    by: By = "words"
    timeout_ms: Timeout = None


class ExpandBody(Body):
    """A query in the language of another server; see ``SoftIndex.expand``."""

    q: str | Words
    to: Literal["elasticsearch", "opensearch", "solr", "lucene"] = "lucene"
    field: str | Few[dict[str, str]] | None = None
    max_terms: int | None = 64
    words: Literal["terms", "forms", "analyzed"] = "terms"
    k1_factor: bool | None = None
    syntax: bool | None = None
    keep_stop_words: bool = False
    timeout_ms: Timeout = None


class SuggestBody(Body):
    """Indexed words that begin with a prefix."""

    prefix: str = Field(min_length=1, max_length=100)
    k: K = 10


Text = str | Annotated[list[str], Field(max_length=1_000_000, fail_fast=True)] | Few[dict[str, str]]


class DocumentBody(Body):
    """The contents of a document."""

    text: Text = Field(description="A string, a list of tokens, or a mapping of fields to strings.")
    metadata: Metadata | None = None


class NewDocument(DocumentBody):
    """A document to add, or to put in place of the document of the same id."""

    id: str


class DocumentsBody(Body):
    """Documents to add in one commit, or none of them."""

    documents: Annotated[list[NewDocument], Field(max_length=100_000, fail_fast=True)]


class DeleteBody(Body):
    """Documents to delete in one commit: by ids, by a filter, or by both."""

    ids: Ids | None = None
    where: Filter | None = None
    missing_ok: bool = Field(
        default=False, description="Whether ids without a document are allowed."
    )


class Addition(NewDocument):
    """A change: add a document, or replace the one of the same id."""

    op: Literal["add"]


class Deletion(Body):
    """A change: delete a document, or all that pass a filter."""

    op: Literal["delete"]
    id: str | None = None
    where: Filter | None = None
    missing_ok: bool = False


class MetadataUpdate(Body):
    """A change: other metadata of a document, whose text is not analyzed again."""

    op: Literal["update_metadata"]
    id: str
    metadata: Metadata
    replace: bool = Field(default=False, description="Whether other keys are removed.")


class TermWeights(Body):
    """The settings of a ``Weighting``."""

    tf: str
    idf: str
    k1: float
    b: float


class Reweighting(Body):
    """A change: other term weights, and another default ranking."""

    op: Literal["set_weighting"]
    weighting: TermWeights
    ranking: str | None = None


Change = Annotated[Addition | Deletion | MetadataUpdate | Reweighting, Field(discriminator="op")]


class CreateBody(Body):
    """A new index; the parameters are those of ``SoftIndex.create``."""

    similarity: dict[str, Any] | None = Field(
        default=None, description="A recipe, as SimilarityRecipe.to_dict returns it; no files."
    )
    plain: bool = False
    language: str = "auto"
    ranking: str | None = None
    fields: Few[dict[str, float]] | Few[list[str]] | None = None
    max_neighbors: int | None = None
    min_df: int | float = 1
    max_df: int | float = 1.0
    positions: bool | None = None
    keep_texts: bool = True
    encoder: Literal["auto", "static", "minilm"] | None = "auto"
    meaning: float | Few[dict[str, float]] | None = None
    note: str = ""


class AliasBody(Body):
    """The index that an alias stands for."""

    index: str


class BackupBody(Body):
    """A copy of the last commit, under another name in the same folder."""

    to: str
    overwrite: bool = False


class EncodeBody(Body):
    """Coordinates of meaning for all documents that have none."""

    encoder: Literal["static", "minilm"] | None = None
    meaning: float | Few[dict[str, float]] | None = None


class Pin(Body):
    """The similarity of two words."""

    word: str
    other: str
    similarity: float = Field(ge=0, le=1)


class Pair(Body):
    """Two words."""

    word: str
    other: str


class Weight(Body):
    """A factor of the similarity of two words, or of all similarities of one word."""

    word: str
    other: str | None = None
    weight: float = Field(ge=0, le=1)


class SimilaritiesBody(Body):
    """Changes of your decisions about words; a later decision on a pair replaces an earlier one."""

    pin: Lines[Pin] = []
    forbid: Lines[Pair] = []
    weigh: Lines[Weight] = []
    remove: Lines[Pair] = Field(default=[], description="Pairs whose decisions are taken back.")


def _typed(name: str, kind: Any, /, **fields: Any) -> Any:
    """Return the type of a result with further fields."""
    own = {} if kind is None else form(kind).__annotations__
    return TypedDict(name, {**own, **fields})  # type: ignore[operator]


def _answer(name: str, kind: Any = None, /, **fields: Any) -> Any:
    """Return the type of a result with further fields, and its commit."""
    return _typed(name, kind, **fields, commit=str)


_Object = dict[str, Any]


class ProblemAnswer(TypedDict):
    """An error (RFC 9457); the type does not change between releases."""

    type: str
    title: str
    status: int
    detail: str
    instance: NotRequired[str]
    errors: NotRequired[list[dict[str, str]]]  # fmt: skip


HitAnswer = _typed("HitAnswer", Hit, explanation=NotRequired[form(list[ExplanationPart])])
SearchAnswer = _answer(
    "SearchAnswer", Hits, total=NotRequired[int], took_ms=float,
    hits=list[HitAnswer],  # type: ignore[valid-type]
)  # fmt: skip


class MultiSearchAnswer(TypedDict):
    """For each search its answer or its problem."""

    results: Annotated[
        list[_Object], Meta(description="For each search its SearchAnswer or its ProblemAnswer.")
    ]
    took_ms: float


ExplanationAnswer = _answer("ExplanationAnswer", Explanation)
ScoresAnswer = _answer("ScoresAnswer", scores=list[float])
PairsAnswer = _answer("PairsAnswer", pairs=form(list[SimilarPair]))
GroupsAnswer = _answer("GroupsAnswer", groups=form(list[SimilarGroup]))
ExpandAnswer = _answer("ExpandAnswer", ServerQuery, query=str, body=_Object | None)
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
    "IndexAnswer", name=str, aliases=list[str], documents=int, terms=int, segments=int,
    generation=int, epoch=str, frozen=bool, ranking=str, weighting=_Object, language=str | None,
    fields=list[_Object], note=str, similarity=_Object, meaning=_Object | None,
)  # fmt: skip
SimilaritiesAnswer = _answer(
    "SimilaritiesAnswer", decisions=list[_Object], lines=list[str], note=str
)
IndexesAnswer = _typed(
    "IndexesAnswer", None, broken=list[str],
    indexes=list[IndexAnswer],  # type: ignore[valid-type]
)  # fmt: skip


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
    problem: NotRequired[ProblemAnswer]  # fmt: skip


_ANSWERS = [one for name, one in globals().items() if name[0].isupper() and is_typeddict(one)]
_REFERENCE = "#/components/schemas/{name}"


def returns(kind: Any, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return the description of an answer, for OpenAPI."""
    reference = {"$ref": _REFERENCE.format(name=kind.__name__)}
    return {status: {"content": {"application/json": {"schema": reference}}}}


def answer_schemas() -> dict[str, Any]:
    """Return the JSON schema of every answer."""
    return schema_components(_ANSWERS, ref_template=_REFERENCE)[1]
