"""What requests and answers hold; the OpenAPI document is made of these classes.

Unknown fields of requests are refused by name, and values of a wrong type are not converted.
Validation of an object, a list or a mapping ends with its first unknown name or wrong element.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from softcosine.index.query.filters import MAX_CONDITIONS, MAX_KEYS
from softcosine.index.query.query_vectors import MAX_RESPELLED
from softcosine.index.requests import MAX_FACETS, MAX_SORT_KEYS

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
Part = Literal["number", "text", "title", "metadata", "highlights"]
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


class Mark(BaseModel):
    """A matching word of a passage."""

    start: int
    end: int
    kind: Literal["exact", "near"]


class Highlights(BaseModel):
    """The passage of a text that matches best."""

    text: str
    marks: list[Mark]


class ExplanationPart(BaseModel):
    """The contribution of one pair of words to a score."""

    query_word: str
    document_word: str
    similarity: float
    contribution: float
    exact: bool
    field: str
    spelled: bool
    space: Literal["words", "meaning"]


class ExplanationAnswer(BaseModel):
    """A score, and the parts that sum to it, largest first."""

    query: str
    id: str
    score: float
    ranking: str
    parts: list[ExplanationPart]
    commit: str


class ScoresAnswer(BaseModel):
    """The scores of documents, in the order of their ids."""

    scores: list[float]
    commit: str


class SimilarPair(BaseModel):
    """Two documents and their similarity."""

    id: str
    other: str
    score: float


class PairsAnswer(BaseModel):
    """Similar pairs, in the order of ``SoftIndex.pairs``."""

    pairs: list[SimilarPair]
    commit: str


class SimilarGroup(BaseModel):
    """The earliest document of a group, and its near duplicates."""

    id: str
    others: list[SimilarPair]


class GroupsAnswer(BaseModel):
    """Groups of near duplicates."""

    groups: list[SimilarGroup]
    commit: str


class HitAnswer(BaseModel):
    """A document that was found; parts that were not asked for are missing."""

    id: str
    score: float
    number: int | None = Field(default=None, description="Number of documents inserted before it.")
    text: str | None = None
    title: str | None = None
    metadata: Metadata | None = None
    highlights: Highlights | None = None
    explanation: list[ExplanationPart] | None = None


class Facet(BaseModel):
    """A value, and the number of documents that have it."""

    value: str | int | float | bool | None
    documents: int


class Candidate(BaseModel):
    """An indexed word of similar spelling."""

    word: str
    distance: int
    documents: int
    similarity: float


class Suggestion(BaseModel):
    """An unknown word, and the indexed words of nearest spelling."""

    word: str
    candidates: list[Candidate]


class PlanAnswer(BaseModel):
    """How a search was executed, and why."""

    method: str
    reason: str
    ask: Ask
    proven: bool
    n_terms: int | None
    n_candidates: int | None


class SearchAnswer(BaseModel):
    """Hits, best first."""

    hits: list[HitAnswer]
    total: int | None = Field(
        default=None, description="Number of all hits, where it is known: on the last page."
    )
    offset: int
    query: str
    ranking: str
    facets: dict[str, list[Facet]] | None = None
    suggestions: list[Suggestion]
    outside_words: list[str] = Field(description="In no document; they match by their neighbours.")
    unknown_words: list[str]
    left_out_words: list[str] = Field(description="Of a long query, those that were not used.")
    required: list[str] = Field(description='Words and "phrases" that every hit contains.')
    excluded: list[str] = Field(description='Words and "phrases" that no hit contains.')
    plan: PlanAnswer
    mmr: float | None = None
    missing_shards: list[str] | None = Field(
        default=None, description="Shards that did not answer: their documents are missing."
    )
    took_ms: float
    commit: str


class ProblemAnswer(BaseModel):
    """An error (RFC 9457); the type does not change between releases."""

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = Field(default=None, description="The id of the request, as in the log.")
    errors: list[dict[str, str]] | None = None


class MultiSearchAnswer(BaseModel):
    """For each search its answer or its problem."""

    results: list[SearchAnswer | ProblemAnswer]
    took_ms: float


class BoostedWord(BaseModel):
    """A word in a field of another server, and its boost."""

    field: str
    text: str
    boost: float


class Condition(BaseModel):
    """What documents must, or must not, contain: each word in one of its forms, or a phrase."""

    words: list[list[str]]
    phrase: str | None
    excluded: bool


class ExpandAnswer(BaseModel):
    """A query for another server: as text, as JSON if the server takes JSON, and its words."""

    to: str
    query: str
    body: dict[str, Any] | None
    words: list[BoostedWord]
    conditions: list[Condition]
    fields: list[str]
    analyzed: bool = Field(description="Whether the server analyzes the words.")
    n_terms: int
    n_left_out: int
    n_negative: int
    commit: str


class Completion(BaseModel):
    """An indexed word, and the number of documents with its term."""

    word: str
    documents: int


class SuggestAnswer(BaseModel):
    """Words that begin with the prefix, the most frequent first."""

    words: list[Completion]
    commit: str


class Neighbor(BaseModel):
    """A similar word, its similarity, and where that comes from."""

    word: str
    similarity: float
    origin: dict[str, Any] | None = None


class Forbidden(BaseModel):
    """A word that a person forbids as a neighbour."""

    word: str
    origin: dict[str, Any]


class TermAnswer(BaseModel):
    """The words similar to a word."""

    word: str
    indexed: bool
    neighbors: list[Neighbor]
    forbidden: list[Forbidden]
    commit: str


class DocumentAnswer(BaseModel):
    """A document; the text of several fields has one line per field."""

    id: str
    text: str
    metadata: Metadata
    commit: str


class StoredDocument(BaseModel):
    """A document of a list."""

    id: str
    text: str
    metadata: Metadata


class DocumentsAnswer(BaseModel):
    """Documents in order of insertion, or as sorted."""

    documents: list[StoredDocument]
    total: int
    offset: int
    facets: dict[str, list[Facet]] | None = None
    commit: str


class Changed(BaseModel):
    """What a commit has changed."""

    added: int
    replaced: int
    commit: str


class Deleted(BaseModel):
    """What a commit has deleted."""

    deleted: int
    commit: str


class BulkAnswer(Changed):
    """What a commit of several changes has changed."""

    deleted: int
    missing: int = Field(description="Ids to delete that no document had (missing_ok).")
    updated: int = Field(description="Documents with other metadata.")


class FieldAnswer(BaseModel):
    """A field and its weight."""

    name: str
    weight: float


class IndexAnswer(BaseModel):
    """State and settings of an index."""

    name: str
    aliases: list[str]
    documents: int
    terms: int
    segments: int
    generation: int
    commit: str
    epoch: str
    frozen: bool
    ranking: str
    weighting: TermWeights
    language: str | None
    fields: list[FieldAnswer]
    note: str = Field(description="Where the similarities of words come from.")
    similarity: dict[str, Any] = Field(description="How S was made.")
    meaning: dict[str, Any] | None = Field(description="The encoder of the documents, if any.")


class IndexesAnswer(BaseModel):
    """The indexes of the server, and the names of those that cannot be opened."""

    indexes: list[IndexAnswer]
    broken: list[str]


class Aliases(BaseModel):
    """For each alias its index."""

    aliases: dict[str, str]


class SimilaritiesAnswer(BaseModel):
    """Your decisions about words, as lines of a file of decisions and one by one."""

    decisions: list[dict[str, Any]]
    lines: list[str]
    note: str
    commit: str


class TaskAnswer(BaseModel):
    """A long change or comparison in the background."""

    id: str
    kind: str
    index: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    step: str | None = None
    done: int | None = None
    total: int | None = None
    result: PairsAnswer | GroupsAnswer | dict[str, Any] | None = None
    problem: ProblemAnswer | None = None
