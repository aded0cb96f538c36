"""From queries to hits: what is asked, found and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.demands import Demands, demands_of, holding_all
from softcosine.index.explanation import Explanation, explain
from softcosine.index.fields import FieldsSearcher
from softcosine.index.filters import Where
from softcosine.index.masks import Mask, all_of
from softcosine.index.query import (
    ParsedQuery,
    heaviest,
    parse_query,
    parse_weighted,
    query_vector,
)
from softcosine.index.results import Hit, Hits
from softcosine.index.snapshot import Snapshot
from softcosine.index.snippet import Snippet, snippet
from softcosine.index.syntax import parse_syntax
from softcosine.index.values import QueryVector, Top, check_k, check_min_score

__all__ = ["Asked", "answered", "explained", "explained_likeness", "like"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a search is asked for beside its query; see `SoftIndex.search`."""

    k: int = 10
    offset: int = 0
    min_score: float = 0.0
    where: Mapping[str, Any] | None = None
    exact_first: bool = False
    ranking: str | None = None
    expand: bool = True
    syntax: bool = True
    max_terms: int | None = 512

    def __post_init__(self) -> None:
        check_k(self.k)
        check_min_score(self.min_score)
        if not _whole(self.offset, 0):
            raise InvalidInputError(
                f"offset is {self.offset!r}; it must be a whole number of 0 or more."
            )
        if self.max_terms is not None and not _whole(self.max_terms, 1):
            raise InvalidInputError(
                f"max_terms is {self.max_terms!r}; it must be a whole number of 1 or more, or None."
            )


@dataclass(frozen=True, slots=True)
class _Query:
    """A query, made ready."""

    shown: str
    parsed: ParsedQuery
    vectors: tuple[QueryVector, ...]
    demands: Demands | None = None


def answered(
    snapshot: Snapshot,
    queries: Sequence[str | Sequence[str]],
    asked: Asked,
    *,
    threads: int | None,
) -> list[Hits]:
    """Answer queries from one state of an index."""
    searcher = snapshot.searcher(asked.ranking)
    where = None if asked.where is None else Where.parse(asked.where)
    ready = [_ready(snapshot, searcher, query, asked) for query in queries]
    filtered = _filtered(snapshot, where)
    plain = [one for one in ready if one.demands is None and not asked.exact_first]
    together = iter(_searched(searcher, plain, asked, filtered, asked.k + asked.offset, threads))
    hits = []
    for query in ready:
        if query.demands is None and not asked.exact_first:
            top = next(together)
        else:
            top = _alone(snapshot, searcher, query, asked, filtered)
        hits.append(_hits(snapshot, searcher, query, _page(top, asked), asked))
    return hits


def like(snapshot: Snapshot, id: str, asked: Asked) -> Hits:
    """Find the documents most like one of the index, itself left out."""
    searcher = snapshot.searcher(asked.ranking)
    query, number = _document(snapshot, searcher, id), snapshot.documents.number(id)
    where = None if asked.where is None else Where.parse(asked.where)
    filtered = _filtered(snapshot, where)
    (top,) = _searched(searcher, [query], asked, filtered, asked.k + 1, 1)
    others = top.documents != number
    top = replace(
        top, documents=top.documents[others][: asked.k], scores=top.scores[others][: asked.k]
    )
    return _hits(snapshot, searcher, query, top, asked)


def explained(
    snapshot: Snapshot, query: str | Sequence[str], id: str, asked: Asked
) -> Explanation:
    """Say why a document scores what it scores."""
    searcher = snapshot.searcher(asked.ranking)
    return _explained(snapshot, searcher, _ready(snapshot, searcher, query, asked), id)


def explained_likeness(snapshot: Snapshot, id: str, other: str, asked: Asked) -> Explanation:
    """Say why the document `other` is similar to the document `id`."""
    searcher = snapshot.searcher(asked.ranking)
    return _explained(snapshot, searcher, _document(snapshot, searcher, id), other)


def vectors_of(
    snapshot: Snapshot, searcher: FieldsSearcher, parsed: ParsedQuery
) -> tuple[QueryVector, ...]:
    """Weigh a parsed query for every field."""
    return tuple(
        query_vector(parsed, one.ranking, snapshot.S, snapshot.source) for one in searcher.searchers
    )


def parsed_document(snapshot: Snapshot, number: int) -> ParsedQuery:
    """Take a document as a query."""
    terms, frequencies = snapshot.row(number)
    known = words_of(snapshot, number)
    names = [snapshot.S.vocabulary.terms[j] for j in terms]
    return ParsedQuery(
        terms=terms,
        frequencies=frequencies,
        words=tuple(known.get(name, name) for name in names),
    )


def words_of(snapshot: Snapshot, number: int) -> dict[str, str]:
    """For each stem of a document, the first word of its text that shows it."""
    analyzer = snapshot.analyzer
    if analyzer.stemmer is None:
        return {}
    words = analyzer.words(snapshot.documents.text(number))
    known: dict[str, str] = {}
    for stem, word in zip(analyzer.stem(words), words, strict=True):
        known.setdefault(stem, word)
    return known


def shown(query: str | Sequence[str]) -> str:
    """Return a query as it is shown."""
    return query if isinstance(query, str) else " ".join(query)


def _ready(
    snapshot: Snapshot, searcher: FieldsSearcher, query: str | Sequence[str], asked: Asked
) -> _Query:
    demands = None
    if isinstance(query, str) and asked.syntax:
        syntax = parse_syntax(query)
        if not syntax.plain:
            demands = demands_of(syntax, snapshot)
        pieces = [
            (clause.text, clause.weight) for clause in syntax.clauses if clause.kind != "must_not"
        ]
        parsed = parse_weighted(pieces, snapshot.analyzer, snapshot.S, snapshot.source)
    else:
        parsed = parse_query(query, snapshot.analyzer, snapshot.S, snapshot.source)
    vectors = vectors_of(snapshot, searcher, parsed)
    if asked.max_terms is not None and len(parsed.terms) > asked.max_terms:
        weights: NDArray[np.float64] = np.sum(
            [
                weight * vector.weights
                for weight, vector in zip(searcher.weights, vectors, strict=True)
            ],
            axis=0,
        )
        parsed = heaviest(parsed, weights, asked.max_terms)
        vectors = vectors_of(snapshot, searcher, parsed)
    return _Query(shown(query), parsed, vectors, demands)


def _document(snapshot: Snapshot, searcher: FieldsSearcher, id: str) -> _Query:
    parsed = parsed_document(snapshot, snapshot.documents.number(id))
    return _Query(f"like {id}", parsed, vectors_of(snapshot, searcher, parsed))


def _explained(
    snapshot: Snapshot, searcher: FieldsSearcher, query: _Query, id: str
) -> Explanation:
    number = snapshot.documents.number(id)
    score, parts = explain(
        searcher, snapshot.fields, query.vectors, query.parsed, number, words_of(snapshot, number)
    )
    return Explanation(query.shown, id, score, parts, searcher.ranking.name)


def _filtered(snapshot: Snapshot, where: Where | None) -> list[Mask | None]:
    """Return which documents of each segment pass a filter; None for all."""
    if where is None:
        return [None for _ in snapshot.segments]
    return [segment.columns.mask(where) for segment in snapshot.segments]


def _searched(
    searcher: FieldsSearcher,
    queries: Sequence[_Query],
    asked: Asked,
    allowed: Sequence[Mask | None],
    k: int,
    threads: int | None,
) -> list[Top]:
    return searcher.search_batch(
        [query.vectors for query in queries], k=k, min_score=asked.min_score,
        expand_postings=asked.expand, allowed=allowed, threads=threads,
    )  # fmt: skip


def _alone(
    snapshot: Snapshot,
    searcher: FieldsSearcher,
    query: _Query,
    asked: Asked,
    filtered: Sequence[Mask | None],
) -> Top:
    """Answer a query whose demands, or exact answers first, make masks of its own."""
    k = asked.k + asked.offset
    allowed = list(filtered)
    if query.demands is not None:
        allowed = [
            all_of([mask, query.demands.mask(segment, snapshot.analyzer)])
            for mask, segment in zip(filtered, snapshot.segments, strict=True)
        ]
    if not asked.exact_first or not len(query.parsed.terms):
        return _searched(searcher, [query], asked, allowed, k, 1)[0]
    terms = query.parsed.terms.tolist()
    exact = [holding_all(segment, terms) for segment in snapshot.segments]
    inside = [all_of([mask, own]) for mask, own in zip(allowed, exact, strict=True)]
    (first,) = _searched(searcher, [query], asked, inside, k, 1)
    if len(first.documents) >= k:
        return first
    outside = [all_of([mask], [own]) for mask, own in zip(allowed, exact, strict=True)]
    (rest,) = _searched(searcher, [query], asked, outside, k - len(first.documents), 1)
    return Top(
        np.concatenate([first.documents, rest.documents]),
        np.concatenate([first.scores, rest.scores]),
        rest.plan,
    )


def _page(top: Top, asked: Asked) -> Top:
    if asked.offset == 0:
        return top
    return replace(top, documents=top.documents[asked.offset :], scores=top.scores[asked.offset :])


def _hits(
    snapshot: Snapshot, searcher: FieldsSearcher, query: _Query, top: Top, asked: Asked
) -> Hits:
    weights: dict[str, tuple[float, Literal["exact", "near"]]] = {}
    documents, vocabulary = snapshot.documents, snapshot.S.vocabulary

    def passage(text: str) -> Snippet:
        if not weights:
            expanded = searcher.searchers[0].expanded(query.vectors[0])
            own = set(query.parsed.terms.tolist())
            for j, weight in zip(expanded.terms.tolist(), expanded.weights, strict=True):
                kind: Literal["exact", "near"] = "exact" if j in own else "near"
                weights[vocabulary.terms[j]] = (float(weight), kind)
        return snippet(text, snapshot.analyzer, weights)

    hits = tuple(
        Hit(
            id=documents.id(number),
            score=float(score),
            text=documents.text(number),
            metadata=documents.metadata(number),
            number=number,
            _snippet=passage,
        )
        for number, score in zip(top.documents.tolist(), top.scores, strict=True)
    )
    return Hits(
        query=query.shown,
        ranking=searcher.ranking.name,
        hits=hits,
        outside=tuple(word.word for word in query.parsed.outside),
        unknown=query.parsed.unknown,
        left_out=query.parsed.left_out,
        offset=asked.offset,
        plan=top.plan,
    )


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least
