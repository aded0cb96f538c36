"""Requests: the one place where an option, its limits, its default and its description stand.

Every door makes one of these: Python by `Request.of`, HTTP by decoding JSON, the command line and
MCP from options that they derive from the fields. So all of them accept the same values and give
the same errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, Self, TypedDict, get_args

import msgspec
from msgspec import Meta, Struct, ValidationError

from softcosine._validation import check_whole, must_be
from softcosine.errors import InvalidInputError

MAX_FACETS, MAX_SORT_KEYS = 100, 32
_UNBOUNDED = 1e300  # a bound refuses NaN and infinity


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request; immutable. Make it by `of`, because a constructor does not check."""

    @classmethod
    def of(cls, **options: Any) -> Self:
        """Return the request, checked as one from the network is.

        Raises
        ------
        InvalidInputError
        """
        try:
            return msgspec.convert(options, cls)
        except (ValidationError, AttributeError) as error:  # msgspec takes an array for a mapping
            if isinstance(error.__cause__, InvalidInputError):  # of a check of several options
                raise error.__cause__ from None
            options |= {name: _plain(options[name]) for name in _typed(cls) & options.keys()}
        try:
            return msgspec.convert(options, cls)
        except ValidationError as error:
            raise refusal(str(error), cls, options) from None

    @property
    def options(self) -> SearchOptions:
        """The parameters of the search that this request needs."""
        shared = set(self.__struct_fields__) & set(SearchOptions.__struct_fields__)
        return SearchOptions(**{name: getattr(self, name) for name in shared})


@cache
def _typed(kind: type[Request]) -> set[str]:
    """Return the options that are not objects, which stay as they are."""
    return {own.name for own in msgspec.structs.fields(kind) if Any not in get_args(own.type)[:1]}


def _plain(value: Any) -> Any:
    """Convert NumPy values and other collections to built-in types."""
    if isinstance(value, str | bytes | bool | int | float | Struct) or value is None:
        return value
    if isinstance(value, Mapping):
        return {_plain(key): _plain(own) for key, own in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    return list(map(_plain, value)) if isinstance(value, Iterable) else value


def refusal(message: str, kind: type[Request], options: Mapping[str, Any]) -> InvalidInputError:
    """Return the error for a message of msgspec, with the value and what is needed instead."""
    described: Any = msgspec.inspect.type_info(kind)
    kinds = {field.encode_name: field.type for field in described.fields}
    if unknown := re.fullmatch(r"Object contains unknown field `([^`]*)`", message):
        return InvalidInputError(
            f"there is no option {unknown[1]!r}; there are {', '.join(kinds)}."
        )
    if missing := re.fullmatch(r"Object missing required field `([^`]*)`", message):
        return InvalidInputError(
            f"{_label(missing[1])} is missing; pass {_needed(kinds[missing[1]])}."
        )
    reason, _, path = message.partition(" - at ")
    name = re.search(r"\$\.(\w+)", path)
    if name is None or name[1] not in options:  # of a relation between options
        return InvalidInputError(reason)
    needed = _needed(kinds[name[1]])
    if f"`$.{name[1]}`" != path:  # of an element
        needed = f"{needed} ({reason}, at {path.strip('`$.')})"
    return must_be(_label(name[1]), options[name[1]], needed)


def _label(name: str) -> str:
    return "the query" if name == "q" else name


def _needed(kind: Any) -> str:
    """Return a type in words."""
    match kind:
        case msgspec.inspect.Metadata():
            return _needed(kind.type)
        case msgspec.inspect.UnionType():
            others = [one for one in kind.types if not isinstance(one, msgspec.inspect.NoneType)]
            last = ", or None" if len(others) < len(kind.types) else ""
            return " or ".join(map(_needed, others)) + last
        case msgspec.inspect.LiteralType():
            return f"one of {', '.join(map(str, kind.values))}"
        case msgspec.inspect.BoolType():
            return "True or False"
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType():
            whole = isinstance(kind, msgspec.inspect.IntType)
            noun = "a whole number" if whole else "a number"
            least = None if kind.ge == -_UNBOUNDED else kind.ge
            most = None if kind.le == _UNBOUNDED else kind.le
            if least is not None and most is not None:
                return f"{noun} from {least:,} to {most:,}"
            finite = noun if whole else "a finite number"
            return finite if least is None else f"{noun} of {least:,} or more"
        case msgspec.inspect.StrType():
            limit = "" if kind.max_length is None else f" of at most {kind.max_length:,} characters"
            return f"a string{limit}"
        case msgspec.inspect.ListType():
            begin = f"{kind.min_length} to" if kind.min_length else "at most"
            limit = "" if kind.max_length is None else f"{begin} {kind.max_length:,} "
            return f"a list of {limit}{_needed(kind.item_type).removeprefix('a ')}s"
        case msgspec.inspect.DictType():
            return "a mapping"
    return str(getattr(getattr(kind, "cls", kind), "__name__", kind))


Ask = Literal["words", "static", "encoder"]
By = Literal["words", "meaning", "both"]
_Text = str | list[str]
Query = Annotated[
    str | list[str] | dict[str, _Text],
    Meta(description="A text, a list of tokens, or one of these for each field."),
]
_K = Annotated[int, Meta(ge=0, description="Maximum number of hits.")]
_Offset = Annotated[int, Meta(ge=0, description="Number of best hits to skip.")]
_Number = Annotated[float, Meta(ge=-_UNBOUNDED, le=_UNBOUNDED)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Weight = Annotated[float, Meta(ge=0, le=1e6)]  # sums of scores stay far from float64's limits
_MinScore = Annotated[_Number | None, Meta(description="Minimum score of a hit.")]
_Where = Annotated[
    dict[str, Any] | None,
    Meta(description='Conditions on metadata, such as {"lang": "en", "year": {">=": 2020}}.'),
]
_Sort = Annotated[
    str | Annotated[list[str], Meta(max_length=MAX_SORT_KEYS)] | None,
    Meta(description="Keys of metadata to order by in place of the score; -key descends."),
]
_Facets = Annotated[
    list[str],
    Meta(
        max_length=MAX_FACETS,
        description="Keys of metadata whose values are counted over all matches.",
    ),
]
_Syntax = Annotated[
    bool | None,
    Meta(description='Whether + - "..." and ^ in a query are operators; null for quotes alone.'),
]
_KeepStopWords = Annotated[bool, Meta(description="Count stop words such as how and the, too.")]
TITLES = {  # of the rankings
    "soft_cosine": "soft cosine",
    "inner_product": "inner product",
    "expanded_cosine": "expanded cosine",
    "soft_bm25": "soft BM25",
    "soft_tf_bm25": "BM25 of soft frequencies",
}
_Ranking = Annotated[str | None, Meta(description="The ranking; by default that of the index.")]
_SimilarRanking = Annotated[str, Meta(description="The ranking; not by default that of the index.")]
_Meaning = Annotated[
    _Weight | None,
    Meta(description="Weight of meaning beside words; by default that of the index."),
]


class FirstStage(Struct, frozen=True, forbid_unknown_fields=True):
    """How a search in two stages finds its candidates; see ``first_stage`` of `SoftIndex.search`.

    Attributes
    ----------
    terms : int or None
        Number of terms of the expanded query that are kept beside the query's own; more if the
        query has fewer own terms: ``max(own + terms, 2 * terms)`` in all. None for all terms.
    candidates : int or None
        Number of documents whose scores are computed, at least as many as hits. None for 100, with
        meaning 1,000.
    """

    terms: Annotated[int, Meta(ge=0)] | None = 32
    candidates: Annotated[int, Meta(ge=1)] | None = None

    def __post_init__(self) -> None:
        check_whole("terms", self.terms, least=0, optional=True)
        check_whole("candidates", self.candidates, optional=True)

    @classmethod
    def of(cls, given: FirstStage | int | None) -> FirstStage | None:
        """Return the first stage; a number is its number of terms."""
        return cls(given) if isinstance(given, int) else given

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the first stage that a text such as ``32``, ``32:200`` or ``all:1000`` describes.

        Raises
        ------
        InvalidInputError
        """
        terms, colon, candidates = text.partition(":")
        try:
            return cls(None if terms == "all" else int(terms), int(candidates) if colon else None)
        except ValueError as error:
            raise InvalidInputError(
                f"the first stage is {text!r}; it must be a number of terms or all, and perhaps a "
                "number of candidates, such as 32, 32:200 or all:1000."
            ) from error

    def __str__(self) -> str:
        terms = "all" if self.terms is None else str(self.terms)
        return terms if self.candidates is None else f"{terms}:{self.candidates}"


class ScoringOptions(Request, frozen=True, kw_only=True):
    """How a query scores documents."""

    ranking: _Ranking = None
    ask: Annotated[
        Ask | None,
        Meta(description="Where the meaning of the query comes from; words ranks without it."),
    ] = None
    meaning: _Meaning = None
    syntax: _Syntax = None
    correct: Annotated[
        bool, Meta(description="Whether misspelt words are replaced by indexed words near them.")
    ] = True
    keep_stop_words: _KeepStopWords = False
    max_terms: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Maximum number of terms of a long query; the heaviest are used."),
    ] = 512


class SearchOptions(ScoringOptions, frozen=True, kw_only=True):
    """The options of `SoftIndex.search`."""

    k: _K = 10
    offset: _Offset = 0
    min_score: Annotated[
        _MinScore,
        Meta(description="Minimum score; by default 0, for sort and facets a share of the best."),
    ] = None
    where: _Where = None
    sort: _Sort = None
    facets: _Facets = []
    expand: Annotated[
        bool, Meta(description="Whether documents without a word of the query may match.")
    ] = True
    fill: Annotated[bool, Meta(description="Documents of score 0 follow the others, up to k.")] = (
        False
    )
    mmr: Annotated[
        _Share | None,
        Meta(description="Order by relevance and difference: the weight of relevance."),
    ] = None
    first_stage: Annotated[
        Annotated[int, Meta(ge=0)] | FirstStage | None,
        Meta(description="Find candidates by this number of similar terms: faster, may miss hits."),
    ] = None

    def __post_init__(self) -> None:
        _check_keys(self.sort, self.facets)
        if self.sort and self.mmr is not None:
            raise InvalidInputError("sort and mmr are orders of the answers; choose one of them.")
        if self.first_stage is not None and (self.all_matching or self.fill):
            raise InvalidInputError(
                "sort, facets and fill need the score of every matching document, and first_stage "
                "computes those of some; leave it out."
            )

    @property
    def stage(self) -> FirstStage | None:
        """The first stage; None for a search without one."""
        return FirstStage.of(self.first_stage) if self.expand else None

    @property
    def n_wanted(self) -> int:
        """Number of hits on this page and those before it."""
        return self.k + self.offset

    @property
    def all_matching(self) -> bool:
        """Whether all matching documents are needed, not only the best."""
        return bool(self.facets or self.sort)


class SearchRequest(SearchOptions, frozen=True, kw_only=True):
    """Find the documents most similar to a query."""

    q: Query


class SimilarityOptions(Request, frozen=True, kw_only=True):
    """How two documents are compared."""

    id: Annotated[str, Meta(description="Id of the document.")]
    ranking: _SimilarRanking = "soft_cosine"
    meaning: _Meaning = None


class SimilarRequest(SimilarityOptions, frozen=True, kw_only=True):
    """Find the documents most similar to a document of the index."""

    k: _K = 10
    min_score: _MinScore = None
    where: _Where = None


class ExplainRequest(ScoringOptions, frozen=True, kw_only=True):
    """Explain the score of a document by pairs of words that sum to it."""

    q: Query
    id: Annotated[str, Meta(description="Id of the document.")]


class ScoresRequest(ScoringOptions, frozen=True, kw_only=True):
    """Score given documents, such as the hits of another engine."""

    q: Query
    ids: Annotated[list[str], Meta(description="Ids of the documents.")]


class ExplainSimilarRequest(SimilarityOptions, frozen=True, kw_only=True):
    """Explain the similarity of two documents by pairs of words that sum to it."""

    other: Annotated[str, Meta(description="Id of the other document.")]


class ListOptions(Request, frozen=True, kw_only=True):
    """What a list of documents begins with, its order, and what is counted beside it."""

    offset: _Offset = 0
    sort: _Sort = None
    facets: _Facets = []

    def __post_init__(self) -> None:
        _check_keys(self.sort, self.facets)


class FilterRequest(ListOptions, frozen=True, kw_only=True):
    """List documents that pass a filter, without a query."""

    where: _Where = None
    k: Annotated[_K | None, Meta(description="Maximum number of documents; None for all.")] = 10


class NeighborsRequest(Request, frozen=True, kw_only=True):
    """Find the words most similar to a word."""

    word: Annotated[str, Meta(description="A word, indexed or not.")]
    k: Annotated[int, Meta(ge=1, description="Maximum number of words.")] = 10


class PairsRequest(Request, frozen=True, kw_only=True):
    """Find all similar pairs of documents, or the nearest documents of each."""

    min_similarity: Annotated[_Number, Meta(description="Above 0, unless k is given.")] = 0.0
    k: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Number of most similar documents for each document."),
    ] = None
    by: Annotated[By, Meta(description="What is compared.")] = "words"
    ranking: _SimilarRanking = "soft_cosine"


class DedupeRequest(Request, frozen=True, kw_only=True):
    """Find groups of near duplicates."""

    min_similarity: Annotated[_Number, Meta(description="Minimum similarity, above 0.")] = 0.9
    method: Annotated[
        Literal["components", "leaders"],
        Meta(description="Chains of similar pairs, or all members similar to the first."),
    ] = "components"
    by: Annotated[By, Meta(description="What is compared.")] = "words"


class ExpandRequest(Request, frozen=True, kw_only=True):
    """Write a query as boosted words for a server that ranks by BM25."""

    q: Annotated[_Text, Meta(description="A text, or a list of tokens.")]
    to: Annotated[
        Literal["elasticsearch", "opensearch", "solr", "lucene"],
        Meta(description="The server; solr and lucene get Lucene's query syntax."),
    ]
    field: Annotated[
        str | dict[str, str] | None,
        Meta(description="Text field of the server; by default the fields of this index."),
    ] = None
    max_terms: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Maximum number of words a field.")
    ] = 64
    words: Annotated[
        Literal["terms", "forms", "analyzed"],
        Meta(description="The terms of this index, their forms, or forms to be analyzed."),
    ] = "terms"
    k1_factor: Annotated[
        bool | None, Meta(description="Whether the server's BM25 has the factor k1 + 1.")
    ] = None
    syntax: _Syntax = None
    keep_stop_words: _KeepStopWords = False


class SimilarityKeywords(TypedDict, total=False):
    """The options of `SoftIndex.explain_similar`."""

    ranking: str | None
    meaning: float | None


class SimilarKeywords(SimilarityKeywords, total=False):
    """The options of `SoftIndex.similar`."""

    k: int
    min_score: float | None
    where: Mapping[str, Any] | None


class ListKeywords(TypedDict, total=False):
    """The options of `SoftIndex.filter`, except `k`."""

    offset: int
    sort: str | Sequence[str] | None
    facets: Sequence[str]


class ScoringKeywords(SimilarityKeywords, total=False):
    """The options of `SoftIndex.explain`."""

    syntax: bool | None
    max_terms: int | None
    correct: bool
    keep_stop_words: bool
    ask: Ask | None


class SearchKeywords(ScoringKeywords, SimilarKeywords, ListKeywords, total=False):
    """The options of `SoftIndex.search`, for callers that pass them on."""

    expand: bool
    fill: bool
    mmr: float | None
    first_stage: FirstStage | int | None


def _check_keys(sort: str | list[str] | None, facets: list[str]) -> None:
    """Require keys of metadata."""
    for key in [sort] if isinstance(sort, str) else sort or []:
        key_path(key.removeprefix("-"))
    for key in facets:
        key_path(key)


def key_path(key: str) -> tuple[str, ...]:
    """Split a metadata key at its dots, except escaped ones.

    Raises
    ------
    InvalidInputError
        If the key ends with a backslash.
    """
    path, characters = [""], iter(key)
    for character in characters:
        if character == ".":
            path.append("")
            continue
        if character == "\\" and (character := next(characters, "")) == "":
            raise InvalidInputError(
                f"the key {key!r:.80} ends in a lone backslash, which takes the meaning from a "
                "dot behind it; write two for a backslash itself."
            )
        path[-1] += character
    return tuple(path)
