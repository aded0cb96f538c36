"""Execution of searches: from queries and a request to hits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from softcosine._threads import in_threads
from softcosine._validation import (
    check_choice,
    check_flag,
    check_number,
    check_whole,
    is_number,
)
from softcosine.errors import InvalidInputError
from softcosine.index.directory.manifest import MOST_MEANING
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.encoding import IndexEncoder
from softcosine.index.query.constraints import Constraints, constraints_of, holding_every
from softcosine.index.query.parser import parse_syntax
from softcosine.index.query.query_vectors import (
    ParsedQuery,
    heaviest,
    parse_clauses,
    parse_query,
    query_text,
    query_vector,
    respelled,
)
from softcosine.index.search.asking import Ask, Asking, asking_of
from softcosine.index.search.diversity import (
    CANDIDATES_A_HIT,
    LEAST_CANDIDATES,
    by_marginal_relevance,
)
from softcosine.index.search.explanation import Explanation, by_size, explain, meaning_parts
from softcosine.index.search.facets import Facets, checked_facets, counted_facets
from softcosine.index.search.fields import FieldsSearcher
from softcosine.index.search.highlights import Snippet, snippet
from softcosine.index.search.lookup import passing
from softcosine.index.search.masks import Mask, all_of
from softcosine.index.search.meaning import QueryMeaning
from softcosine.index.search.plan import MEANING
from softcosine.index.search.results import Hit, Hits
from softcosine.index.search.sorting import parse_sort, sorted_places
from softcosine.index.search.top_docs import (
    QueryVector,
    Top,
    check_k,
    check_min_score,
    check_offset,
)
from softcosine.index.segment.documents import title_of

if TYPE_CHECKING:
    from softcosine.index.query.suggestions import Suggestion

__all__ = [
    "SearchRequest",
    "execute",
    "execute_with",
    "explain_similarity",
    "explained",
    "like",
    "vectors_of",
]

_NEAREST = 1000  # documents without a word of the query that are sorted by metadata
_FILLED_AT_ONCE = 4096  # documents scored at once for `fill`

# For each term: its weight in snippets, and whether it is a query term or a similar one.
_Weights = dict[str, tuple[float, Literal["exact", "near"]]]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The parameters of a search except the query; see `SoftIndex.search`."""

    k: int = 10
    offset: int = 0
    min_score: float = 0.0
    where: Mapping[str, Any] | None = None
    exact_first: bool = False
    ranking: str | None = None
    expand: bool = True
    syntax: bool = True
    max_terms: int | None = 512
    fill: bool = False
    mmr: float | None = None
    fuzzy: bool = False
    keep_stop_words: bool = False
    sort: str | Sequence[str] | None = None
    facets: Sequence[str] = ()
    ask: Ask | None = None
    meaning: float | None = None

    def __post_init__(self) -> None:
        check_k(self.k, least=0)
        check_min_score(self.min_score)
        check_offset(self.offset)
        checked_facets(self.facets)
        if bool(parse_sort(self.sort)) + bool(self.exact_first) + (self.mmr is not None) > 1:
            raise InvalidInputError(
                "sort, exact_first and mmr are orders of the answers; choose one of them."
            )
        check_choice("ask", self.ask, ("words", "static", "encoder"), optional=True)
        check_number("meaning", self.meaning, least=0, most=MOST_MEANING, optional=True)
        check_whole("max_terms", self.max_terms, optional=True)
        for name in ("exact_first", "expand", "syntax", "fill", "fuzzy", "keep_stop_words"):
            check_flag(name, getattr(self, name))
        if self.mmr is not None and not (is_number(self.mmr) and 0.0 <= self.mmr <= 1.0):
            raise InvalidInputError(
                f"mmr is {self.mmr!r}; it must be a number from 0 (as different as can be) to "
                "1 (by score alone), or None."
            )

    @property
    def n_wanted(self) -> int:
        """Number of hits on this page and those before it."""
        return self.k + self.offset

    @property
    def n_candidates(self) -> int:
        """Number of best documents that the order by marginal relevance selects from."""
        return max(LEAST_CANDIDATES, CANDIDATES_A_HIT * self.k)

    @property
    def n_ranked(self) -> int:
        """Number of best documents to find; at least one, because the plan comes with it."""
        return max(1, self.n_wanted, self.n_candidates if self.mmr is not None else 0)

    @property
    def all_matching(self) -> bool:
        """Whether all matching documents are needed, not only the best."""
        return bool(self.facets) or bool(parse_sort(self.sort))


@dataclass(frozen=True, slots=True)
class _Query:
    """A parsed query, its vector for every field, and its meaning if that counts.

    `texts` are those that an encoder reads, with their weights.
    """

    shown: str
    parsed: tuple[ParsedQuery, ...]
    vectors: tuple[QueryVector, ...]
    constraints: Constraints | None = None
    meaning: QueryMeaning | None = None
    texts: tuple[tuple[str, float], ...] = ()


def execute(
    snapshot: Snapshot,
    queries: Sequence[str | Sequence[str]],
    request: SearchRequest,
    *,
    threads: int | None,
    encoder: IndexEncoder | None = None,
) -> list[Hits]:
    """Return the hits of queries over a snapshot."""
    searcher = snapshot.searcher(request.ranking)
    filtered = passing(snapshot, request.where)
    asking = asking_of(snapshot, request.ask, request.meaning, request.ranking, encoder)
    ready = in_threads(  # only an encoder takes long
        lambda query: _ready(snapshot, searcher, query, request, asking), queries,
        threads if asking is not None and asking.ask == "encoder" else 1,
    )  # fmt: skip
    apart = request.exact_first or request.all_matching
    single = [query.constraints is not None or apart for query in ready]
    plain = list(compress(ready, map(not_, single)))
    tops = _searched(searcher, plain, request, filtered, request.n_ranked, threads, asking)

    def shown(query: _Query, top: Top | None = None) -> tuple[Top, Facets]:
        # Cut each result to its page at once: all matches of many queries take too much memory.
        if top is None:
            found, counted = _alone(snapshot, searcher, query, request, filtered, asking)
        else:
            found, counted = top, top.documents
        facets = counted_facets(snapshot, request.facets, counted)
        return _page(
            _arranged(snapshot, searcher, query, found, request, filtered), request
        ), facets

    together = in_threads(
        lambda pair: shown(*pair), list(zip(plain, tops, strict=True)),
        threads if request.mmr is not None or request.fill else 1,
    )  # fmt: skip
    alone = in_threads(shown, list(compress(ready, single)), threads)
    answers = {False: iter(together), True: iter(alone)}
    return [
        _hits(snapshot, searcher, query, *next(answers[kind]), request)
        for query, kind in zip(ready, single, strict=True)
    ]


def execute_with(
    find: Callable[[list[tuple[QueryVector, ...]]], list[Top]],
    snapshot: Snapshot,
    queries: Sequence[str | Sequence[str]],
    request: SearchRequest,
) -> list[Hits]:
    """Return the hits of queries, ranked by an external engine.

    `find` receives one tuple of vectors per query, one vector per field.

    Raises
    ------
    InvalidInputError
        If a query has constraints or the request has a filter, which the engine cannot apply.
    """
    searcher = snapshot.searcher(request.ranking)
    ready = _plain(snapshot, searcher, queries, request)
    tops = find([query.vectors for query in ready])
    return [
        _hits(snapshot, searcher, query, _page(top, request), {}, request)
        for query, top in zip(ready, tops, strict=True)
    ]


def vectors_of(
    snapshot: Snapshot, queries: Sequence[str | Sequence[str]], ranking: str | None = None
) -> list[tuple[QueryVector, ...]]:
    """Return the vectors of queries without constraints: one tuple per query, one per field."""
    request = SearchRequest(ranking=ranking)
    searcher = snapshot.searcher(ranking)
    return [query.vectors for query in _plain(snapshot, searcher, queries, request)]


def like(snapshot: Snapshot, id: str, request: SearchRequest) -> Hits:
    """Return the documents most similar to a document of the index, without itself."""
    searcher, asking = snapshot.searcher(request.ranking), _likeness(snapshot, request)
    query, number = _document(snapshot, searcher, id, asking), snapshot.documents.number(id)
    filtered = passing(snapshot, request.where)
    (top,) = _searched(searcher, [query], request, filtered, request.k + 1, 1, asking)
    others = top.documents != number
    top = replace(top, documents=top.documents[others], scores=top.scores[others])
    return _hits(snapshot, searcher, query, _page(top, request), {}, request)


def explained(
    snapshot: Snapshot,
    query: str | Sequence[str],
    id: str,
    request: SearchRequest,
    encoder: IndexEncoder | None = None,
) -> Explanation:
    """Return the explanation of a document's score."""
    searcher = snapshot.searcher(request.ranking)
    asking = asking_of(snapshot, request.ask, request.meaning, request.ranking, encoder)
    ready = _ready(snapshot, searcher, query, request, asking)
    return _explained(snapshot, searcher, ready, id, asking)


def explain_similarity(
    snapshot: Snapshot, id: str, other: str, request: SearchRequest
) -> Explanation:
    """Return the explanation of the similarity of `other` with the document `id`."""
    searcher, asking = snapshot.searcher(request.ranking), _likeness(snapshot, request)
    query = _document(snapshot, searcher, id, asking)
    return _explained(snapshot, searcher, query, other, asking)


def _likeness(snapshot: Snapshot, request: SearchRequest) -> Asking | None:
    """Return how documents are compared with a document: no query has to be encoded."""
    weight = request.meaning
    if weight is None:
        weight = snapshot.settings.meaning_weights.get(request.ranking or snapshot.ranking, 0.0)
    if snapshot.meaning is None or not weight:
        return None
    return Asking(snapshot, snapshot.meaning_searcher(request.ranking), "encoder", weight)


def _plain(
    snapshot: Snapshot,
    searcher: FieldsSearcher,
    queries: Sequence[str | Sequence[str]],
    request: SearchRequest,
) -> list[_Query]:
    """Return queries without constraints, parsed and weighted."""
    ready = [_ready(snapshot, searcher, query, request) for query in queries]
    if (
        request.where is not None
        or request.exact_first
        or any(query.constraints for query in ready)
    ):
        raise InvalidInputError(
            "filters, exact_first, +words, -words and phrases are for the index's own search; "
            "leave them out, or search the index itself."
        )
    return ready


def _ready(
    snapshot: Snapshot,
    searcher: FieldsSearcher,
    query: str | Sequence[str],
    request: SearchRequest,
    asking: Asking | None = None,
) -> _Query:
    """Return a query, parsed, weighted and limited to `max_terms`, with its meaning."""
    constraints = None
    texts: tuple[tuple[str, float], ...] = ()
    stop_words = frozenset[str]() if request.keep_stop_words else snapshot.stop_words
    if isinstance(query, str) and request.syntax:
        syntax = parse_syntax(query)
        if not syntax.plain:
            constraints = constraints_of(syntax, snapshot)
        clauses = [
            (clause.text, clause.weight, clause.plain)
            for clause in syntax.clauses
            if clause.kind != "must_not"
        ]
        texts = tuple((text, weight) for text, weight, _ in clauses)
        parsed = parse_clauses(
            clauses, snapshot.analyzer, snapshot.S, snapshot.source, stop_words=stop_words
        )
    else:
        parsed = parse_query(
            query, snapshot.analyzer, snapshot.S, snapshot.source, stop_words=stop_words
        )
    if request.fuzzy and parsed.unknown:
        parsed = respelled(parsed, snapshot.S, snapshot.spellings)
    shown = query_text(query)
    ready = _weighed(snapshot, searcher, shown, (parsed,) * len(snapshot.fields), constraints)
    if request.max_terms is not None and len(parsed.terms) > request.max_terms:
        weights = np.zeros(len(parsed.terms))
        for weight, vector in zip(searcher.weights, ready.vectors, strict=True):
            weights += weight * vector.weights
        parsed = heaviest(parsed, weights, request.max_terms)
        ready = _weighed(snapshot, searcher, shown, (parsed,) * len(snapshot.fields), constraints)
    if asking is None:
        return ready
    texts = texts or ((shown, 1.0),)
    return replace(ready, meaning=asking.meaning(texts), texts=texts)


def _document(
    snapshot: Snapshot, searcher: FieldsSearcher, id: str, asking: Asking | None = None
) -> _Query:
    """Return a document as a query; each of its fields is compared with the same field."""
    number = snapshot.documents.number(id)
    known, vocabulary = _words_of(snapshot, number), snapshot.S.vocabulary
    parsed = []
    for terms, frequencies in snapshot.rows(number):
        names = map(vocabulary.term, terms.tolist())
        parsed.append(
            ParsedQuery(terms, frequencies, tuple(known.get(name, name) for name in names))
        )
    query = _weighed(snapshot, searcher, f"like {id}", tuple(parsed), None)
    unit = None if asking is None else asking.searcher.unit(number)
    if asking is None or unit is None:
        return query
    return replace(query, meaning=QueryMeaning(unit, asking.weight))


def _weighed(
    snapshot: Snapshot,
    searcher: FieldsSearcher,
    shown: str,
    parsed: tuple[ParsedQuery, ...],
    constraints: Constraints | None,
) -> _Query:
    """Return a parsed query with its vector for every field."""
    return _Query(shown, parsed, _vectors(snapshot, searcher, parsed), constraints)


def _vectors(
    snapshot: Snapshot, searcher: FieldsSearcher, parsed: Sequence[ParsedQuery]
) -> tuple[QueryVector, ...]:
    return tuple(
        query_vector(of_field, one.ranking, snapshot.S, snapshot.source)
        for of_field, one in zip(parsed, searcher.searchers, strict=True)
    )


def _words_of(snapshot: Snapshot, number: int) -> dict[str, str]:
    """Return, for each term of a document, its first words in the text."""
    analyzer = snapshot.analyzer
    if analyzer.stemmer is None:
        return {}
    words = analyzer.kept(snapshot.documents.text(number))
    stems = analyzer.stem(words)
    known: dict[str, str] = {}
    for start, end in analyzer.ranges(stems):
        known.setdefault(" ".join(stems[start:end]), " ".join(words[start:end]))
    return known


def _explained(
    snapshot: Snapshot, searcher: FieldsSearcher, query: _Query, id: str, asking: Asking | None
) -> Explanation:
    number = snapshot.documents.number(id)
    score, parts = explain(
        searcher, snapshot.fields, query.vectors, query.parsed, number, _words_of(snapshot, number)
    )
    if asking is not None and query.meaning is not None:
        chosen = np.array([number], np.int64)
        score = float(asking.searcher.scores(query.vectors, query.meaning, chosen)[0])
        static = asking.static(query.texts)
        parts = by_size([*parts, *meaning_parts(asking.searcher, query.meaning, static, number)])
    return Explanation(query.shown, id, score, parts, searcher.ranking.name)


def _searched(
    searcher: FieldsSearcher,
    queries: Sequence[_Query],
    request: SearchRequest,
    allowed: Sequence[Mask | None],
    k: int,
    threads: int | None,
    asking: Asking | None,
) -> list[Top]:
    """Search by words, and by meaning the queries that have one."""
    options: dict[str, Any] = {
        "k": k, "min_score": request.min_score, "expand_postings": request.expand,
        "allowed": allowed, "threads": threads,
    }  # fmt: skip
    by_words = [query.vectors for query in queries if query.meaning is None]
    by_both = [(query.vectors, query.meaning) for query in queries if query.meaning is not None]
    tops = {False: iter(searcher.search_batch(by_words, **options) if by_words else ())}
    if asking is not None and by_both:
        found = asking.searcher.search_batch(by_both, **options)
        tops[True] = iter([replace(top, plan=asking.plan(top.plan)) for top in found])
    return [next(tops[query.meaning is not None]) for query in queries]


def _alone(
    snapshot: Snapshot,
    searcher: FieldsSearcher,
    query: _Query,
    request: SearchRequest,
    filtered: Sequence[Mask | None],
    asking: Asking | None,
) -> tuple[Top, NDArray[np.int64]]:
    """Return the results of a query that has constraints, or needs all or exact matches first.

    Also returns the documents that facets count: those that match by words.
    """
    allowed = _allowed(snapshot, query, filtered)
    every = max(1, snapshot.n_docs)
    if asking is None or query.meaning is None or not request.all_matching:
        k = every if request.all_matching else request.n_ranked
        top = _in_order(snapshot, searcher, query, request, allowed, k, asking)
        return top, top.documents
    by_words = replace(query, meaning=None)
    (matching,) = _searched(
        searcher, [by_words], replace(request, min_score=0.0), allowed, every, 1, None
    )
    if not parse_sort(request.sort):
        k = request.n_ranked
        top = _in_order(snapshot, searcher, query, request, allowed, k, asking)
        return top, matching.documents
    near = asking.searcher.nearest(query.meaning, n=_NEAREST, allowed=allowed)
    documents = np.union1d(matching.documents, near)
    scores = asking.searcher.scores(query.vectors, query.meaning, documents)
    kept = (scores > 0) & (scores >= request.min_score)
    top = Top(documents[kept], scores[kept], asking.plan(MEANING))
    return top, matching.documents


def _in_order(
    snapshot: Snapshot,
    searcher: FieldsSearcher,
    query: _Query,
    request: SearchRequest,
    allowed: Sequence[Mask | None],
    k: int,
    asking: Asking | None,
) -> Top:
    """Return the k best allowed documents of a query, exact matches first if requested."""
    if not request.exact_first:
        return _searched(searcher, [query], request, allowed, k, 1, asking)[0]
    exact = holding_every(snapshot, query.parsed[0].terms.tolist())
    inside = [all_of([mask, own]) for mask, own in zip(allowed, exact, strict=True)]
    (first,) = _searched(searcher, [query], request, inside, k, 1, asking)
    if len(first.documents) >= k:
        return first
    outside = [all_of([mask], [own]) for mask, own in zip(allowed, exact, strict=True)]
    (rest,) = _searched(searcher, [query], request, outside, k - len(first.documents), 1, asking)
    return Top(
        np.concatenate([first.documents, rest.documents]),
        np.concatenate([first.scores, rest.scores]),
        rest.plan,
    )


def _allowed(
    snapshot: Snapshot, query: _Query, filtered: Sequence[Mask | None]
) -> list[Mask | None]:
    """Return the documents of each segment that a query may return; None for all."""
    if query.constraints is None:
        return list(filtered)
    return [
        query.constraints.mask(segment, snapshot.analyzer, mask)
        for mask, segment in zip(filtered, snapshot.segments, strict=True)
    ]


def _arranged(
    snapshot: Snapshot,
    searcher: FieldsSearcher,
    query: _Query,
    top: Top,
    request: SearchRequest,
    filtered: Sequence[Mask | None],
) -> Top:
    """Return the results in the order of metadata or marginal relevance, filled if requested."""
    if keys := parse_sort(request.sort):
        places = sorted_places(snapshot, keys, top.documents, top.scores)
        top = replace(top, documents=top.documents[places], scores=top.scores[places])
    if request.mmr is not None:
        likeness = snapshot.searcher("soft_cosine")
        n = request.n_candidates
        order = by_marginal_relevance(
            top.scores[:n],
            lambda place: _soft_cosines(snapshot, likeness, top.documents[:n], place),
            balance=request.mmr, n=request.n_wanted,
        )  # fmt: skip
        places = np.concatenate([order, np.arange(len(order), len(top.documents))])
        top = replace(top, documents=top.documents[places], scores=top.scores[places])
    if request.fill and request.min_score <= 0.0:
        top = _filled(snapshot, searcher, query, top, request, filtered)
    return top


def _soft_cosines(
    snapshot: Snapshot, searcher: FieldsSearcher, documents: NDArray[np.int64], place: int
) -> NDArray[np.float64]:
    """Return the soft cosines of one document with all; with several fields, the mean."""
    parsed = [
        ParsedQuery(terms, frequencies, ())
        for terms, frequencies in snapshot.rows(int(documents[place]))
    ]
    vectors = _vectors(snapshot, searcher, parsed)
    return searcher.scores(vectors, documents) / sum(searcher.weights)


def _filled(
    snapshot: Snapshot,
    searcher: FieldsSearcher,
    query: _Query,
    top: Top,
    request: SearchRequest,
    filtered: Sequence[Mask | None],
) -> Top:
    """Return the results followed by documents of score 0, in order of insertion, up to k."""
    missing = request.n_wanted - len(top.documents)
    found = [top.documents]
    if missing > 0:
        masks = zip(
            snapshot.documents.firsts, snapshot.segments, _allowed(snapshot, query, filtered),
            strict=True,
        )  # fmt: skip
        for first, segment, mask in masks:
            every = np.ones(segment.n_docs, bool) if mask is None else mask.copy()
            if segment.live is not None:
                every &= segment.live
            numbers = np.setdiff1d(np.flatnonzero(every) + first, top.documents)
            for begin in range(0, len(numbers), _FILLED_AT_ONCE):
                some = numbers[begin : begin + _FILLED_AT_ONCE]
                # Skip negative scores, and documents without a required common term.
                zeros = some[searcher.scores(query.vectors, some) == 0.0][:missing]
                found.append(zeros)
                missing -= len(zeros)
                if missing == 0:
                    break
            if missing == 0:
                break
    documents = np.concatenate(found)
    scores = np.zeros(len(documents))
    scores[: len(top.scores)] = top.scores
    return replace(top, documents=documents, scores=scores)


def _page(top: Top, request: SearchRequest) -> Top:
    page = slice(request.offset, request.n_wanted)
    return replace(top, documents=top.documents[page], scores=top.scores[page])


def _hits(
    snapshot: Snapshot,
    searcher: FieldsSearcher,
    query: _Query,
    top: Top,
    facets: Facets,
    request: SearchRequest,
) -> Hits:
    documents = snapshot.documents
    weights: list[_Weights] = []

    def passage(text: str) -> Snippet:
        if not weights:
            weights.append(_word_weights(snapshot, searcher, query))
        return snippet(text, snapshot.analyzer, weights[0])

    numbers = top.documents.tolist()
    names = tuple(field.name for field in snapshot.fields)
    hits = [
        Hit(
            id=record.id,
            score=score,
            text=record.text,
            metadata=record.metadata,
            number=number,
            title=title_of(record, names),
            _snippet=passage,
        )
        for number, score, record in zip(
            numbers, top.scores.tolist(), documents.records(numbers), strict=True
        )
    ]
    parsed = query.parsed[0]
    misspelled = [*parsed.unknown, *(word.word for word in parsed.outside if word.spelled)]
    return Hits(
        query=query.shown,
        ranking=searcher.ranking.name,
        hits=tuple(hits),
        outside=tuple(word.word for word in parsed.outside),
        unknown=parsed.unknown,
        left_out=parsed.left_out,
        offset=request.offset,
        plan=top.plan,
        facets=facets,
        mmr=request.mmr,
        _suggest=partial(_suggestions, snapshot, misspelled),
    )


def _suggestions(snapshot: Snapshot, words: Sequence[str]) -> tuple[Suggestion, ...]:
    """Return the suggestions for words; words without any are left out."""
    found = [snapshot.spellings.suggestion(word) for word in words] if words else []
    return tuple(suggestion for suggestion in found if suggestion.candidates)


def _word_weights(snapshot: Snapshot, searcher: FieldsSearcher, query: _Query) -> _Weights:
    """Return the weight of each term of the expanded query in snippets, over all fields."""
    weights: dict[int, float] = {}
    for weight, one, vector in zip(
        searcher.weights, searcher.searchers, query.vectors, strict=True
    ):
        expanded = one.expanded(vector)
        for j, value in zip(expanded.terms.tolist(), expanded.weights.tolist(), strict=True):
            weights[j] = weights.get(j, 0.0) + weight * value
    own = {j for parsed in query.parsed for j in parsed.terms.tolist()}
    term = snapshot.S.vocabulary.term
    return {term(j): (value, "exact" if j in own else "near") for j, value in weights.items()}
