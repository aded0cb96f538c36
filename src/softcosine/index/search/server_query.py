"""Soft BM25 of a query as a query of boosted words for a server that ranks by BM25.

A server's score of a document is the sum over the words of boost · idf · saturation, and soft BM25
(theory T12, T15) is the sum over the terms of the expanded query W Sᵀ W x of weight · (k1 + 1) ·
saturation. So the boost of a term is c · weight / idf, where c is k1 + 1, or 1 if the server's BM25
has the factor k1 + 1 already. Only positive weights can be sent.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any, Literal

import numpy as np

from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.parser import Clause, parse_syntax
from softcosine.index.query.phrases import phrase_words
from softcosine.index.query.query_vectors import (
    ParsedQuery,
    heaviest,
    parse_clauses,
    query_vector,
)
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.requests import ExpandRequest
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.spaces.expansion import heaviest_terms
from softcosine.index.spaces.sum import words_of
from softcosine.index.spaces.words import Words
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary

SentWords = Literal["terms", "forms", "analyzed"]

_MOST_OWN = 512  # terms of a long query, as in searches
# In Lucene's query syntax; < and > cannot be escaped, but no analyzer leaves them in a word.
_SPECIAL = re.compile(r'([+\-!(){}\[\]^"~*?:\\/&|\s]|^(?:AND|OR|NOT)$)')


@dataclass(frozen=True, slots=True)
class _Word:
    """A word in a field of the server, and its boost; a word with spaces is a phrase."""

    field: str
    text: str
    boost: float


@dataclass(frozen=True, slots=True)
class _Condition:
    """What documents must, or must not, contain: every one of `words`, or a phrase.

    Each word is a list of alternatives, such as the forms of a stem.
    """

    words: tuple[tuple[str, ...], ...]
    phrase: str | None
    excluded: bool


@dataclass(frozen=True, slots=True)
class ServerQuery:
    """A query as a server takes it; ``str`` returns the text to paste.

    Attributes
    ----------
    to : str
        One of `SERVERS`.
    words : tuple of words
        Each has a `field`, a `text` and a `boost`; the heaviest first.
    n_terms : int
        Number of terms of the expanded query, over all fields.
    n_left_out : int
        Number of those that `max_terms` left out.
    n_negative : int
        Number of those with a negative weight, which a server cannot take.
    conditions : tuple of conditions
        What documents must, or must not, contain.
    fields : tuple of str
        Fields of the server.
    analyzed : bool
        Whether the server analyzes the words.
    """

    to: str
    words: tuple[_Word, ...]
    n_terms: int
    n_left_out: int
    n_negative: int
    conditions: tuple[_Condition, ...] = field(repr=False)
    fields: tuple[str, ...] = field(repr=False)
    analyzed: bool = field(repr=False)

    @property
    def json(self) -> bool:
        """Whether the server takes JSON."""
        return SERVERS[self.to]

    def __str__(self) -> str:
        if self.json:
            return json.dumps(self.body, ensure_ascii=False)
        return self._lucene()

    @property
    def body(self) -> dict[str, Any]:
        """The query of Elasticsearch and OpenSearch: ``client.search(**query.body)``.

        Raises
        ------
        InvalidInputError
            If the query is one of Lucene's query syntax.
        """
        if not self.json:
            raise InvalidInputError(
                f"the query is text in Lucene's query syntax, for {self.to}; pass str(query), or "
                "expand it to elasticsearch or opensearch."
            )
        if not self.words:  # to a server, a query without clauses means all documents
            return {"query": {"match_none": {}}}
        parts: dict[str, Any] = {
            "should": [self._clause(word.field, word.text, word.boost) for word in self.words],
            "minimum_should_match": 1,
        }
        for one in self.conditions:
            kind = "must_not" if one.excluded else "filter"
            clauses = self._required(one)
            if one.excluded and len(clauses) > 1:
                clauses = [{"bool": {"filter": clauses}}]
            parts.setdefault(kind, []).extend(clauses)
        return {"query": {"bool": parts}}

    def _clause(self, name: str, text: str, boost: float | None = None) -> dict[str, Any]:
        weight = {} if boost is None else {"boost": boost}
        if " " in text:
            return _phrase_clause(name, text, weight)
        if self.analyzed:
            return {"match": {name: {"query": text, **weight}}}
        return {"term": {name: {"value": text, **weight}}}

    def _required(self, one: _Condition) -> list[dict[str, Any]]:
        """Return the clauses of a condition, all of which must hold."""
        if one.phrase is not None:
            return [_any_of([_phrase_clause(name, one.phrase, {}) for name in self.fields])]
        return [
            _any_of([self._clause(name, text) for name in self.fields for text in forms])
            for forms in one.words
        ]

    def _lucene(self) -> str:
        """Return the query in Lucene's query syntax."""
        if not self.words:
            return "-*:*"
        should = " ".join(
            f"{_escaped(word.field)}:{_in_syntax(word.text)}^{Decimal(repr(word.boost)):f}"
            for word in self.words
        )
        parts = [f"+({should})" if self.conditions else should]
        for one in self.conditions:
            names = [_escaped(name) for name in self.fields]
            if one.phrase is not None:
                every = [" ".join(f"{name}:{_quoted(one.phrase)}" for name in names)]
            else:
                every = [
                    " ".join(f"{name}:{_in_syntax(text)}" for name in names for text in forms)
                    for forms in one.words
                ]
            # A boost of 0, so that conditions add nothing to scores.
            required = " ".join(f"+({clause})^0" for clause in every)
            excluded = f"-({required if len(every) > 1 else every[0]})"
            parts.append(excluded if one.excluded else required)
        return " ".join(parts)


def _phrase_clause(name: str, text: str, weight: dict[str, float]) -> dict[str, Any]:
    return {"match_phrase": {name: {"query": text, **weight}}}


def _any_of(clauses: list[dict[str, Any]]) -> dict[str, Any]:
    if len(clauses) == 1:
        return clauses[0]
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def _in_syntax(text: str) -> str:
    return _quoted(text) if " " in text else _escaped(text)


def _quoted(text: str) -> str:
    return '"{}"'.format(re.sub(r'(["\\])', r"\\\1", text))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


# Servers, and whether they take JSON. Those have the factor k1 + 1 in BM25 (not OpenSearch 3).
SERVERS = {"elasticsearch": True, "opensearch": True, "solr": False, "lucene": False}


def server_query(
    snapshot: Snapshot,
    request: ExpandRequest,
    tokens: Mapping[str, Sequence[str]] | None = None,
) -> ServerQuery:
    """Return a query for a server; see `SoftIndex.expand`.

    `tokens` are those that the server has in place of some terms.
    """
    names, clauses = _names(snapshot, request.field), parse_syntax(request.q, request.syntax)
    spaces = words_of(snapshot, "soft_bm25").summands
    parsed = parse_clauses(clauses, snapshot, keep_stop_words=request.keep_stop_words)
    weights = spaces[0][1].ranking.term_weights[parsed.terms] * parsed.frequencies
    parsed = heaviest(parsed, weights, _MOST_OWN)
    has_factor = SERVERS[request.to] if request.k1_factor is None else request.k1_factor
    forms = _Forms(snapshot, request.words, tokens or {})
    found, numbers = list[_Word](), np.zeros(3, int)
    for field_number, ((weight, one), name) in enumerate(zip(spaces, names, strict=True)):
        scale = weight * (1.0 if has_factor else one.ranking.k1 + 1.0)
        weighted, own = _weighted(snapshot, parsed, one, request.max_terms)
        numbers += own
        idf = partial(_idf, snapshot.S.vocabulary, snapshot.statistics[field_number])
        for term, x in weighted:
            for text, share in forms.of(term):
                if (divisor := idf(term, share=share)) > 0.0:
                    found.append(_Word(name, text, scale * x / divisor))
        # The server may have newer documents: words of no document here have the weight idf.
        found += [
            _Word(name, forms.of_word(word), scale * frequency)
            for word, frequency in (
                *zip(parsed.unknown, parsed.unknown_frequencies, strict=True),
                *((outside.word, outside.frequency) for outside in parsed.outside),
            )
        ]
    found.sort(key=lambda word: -word.boost)
    n_terms, n_left_out, n_negative = numbers.tolist()
    return ServerQuery(
        request.to, tuple(replace(one, boost=float(f"{one.boost:.7g}")) for one in found),
        n_terms, n_left_out, n_negative,
        tuple(_conditions(clauses, snapshot.analyzer, forms)), names, request.words == "analyzed",
    )  # fmt: skip


def _weighted(
    snapshot: Snapshot, parsed: ParsedQuery, words: Words, max_terms: int | None
) -> tuple[list[tuple[int, float]], list[int]]:
    """Return the terms that a field gets with their weights x', and `ServerQuery`'s counts."""
    vector = query_vector(parsed, words.ranking, snapshot.S, snapshot.source)
    vectors = (vector,) * len(snapshot.fields)
    expanded = words.prepare(ReadyQuery(vectors)).expanded
    kept = heaviest_terms(
        expanded.terms, expanded.weights, words.greatest_impacts, parsed.terms,
        n=None if max_terms is None else (max_terms + 1) // 2,
    )  # fmt: skip
    positive = expanded.weights > 0.0
    sent = kept & positive
    terms, weights = expanded.terms[sent].tolist(), expanded.weights[sent].tolist()
    n_negative = int(np.count_nonzero(expanded.weights < 0.0))
    counts = [len(kept), int(np.count_nonzero(~kept & positive)), n_negative]
    return list(zip(terms, weights, strict=True)), counts


def _names(snapshot: Snapshot, field: str | Mapping[str, str] | None) -> tuple[str, ...]:
    """Return the server's names of the fields of an index."""
    own = [one.name for one in snapshot.fields]
    if field is None:
        return tuple(own)
    if isinstance(field, str):
        if len(own) > 1:
            raise InvalidInputError(
                f"field is {field!r}, but this index has the fields {', '.join(own)}; pass a "
                "mapping of each to its name on the server, or leave it out if they are the same."
            )
        return (field,)
    if unknown := sorted(set(field) - set(own)):
        raise InvalidInputError(
            f"field names {', '.join(map(repr, unknown))}, but this index has the fields "
            f"{', '.join(own)}."
        )
    return tuple(field.get(name, name) for name in own)


def _idf(
    vocabulary: Vocabulary, statistics: FieldStatistics, term: int, *, share: float = 1.0
) -> float:
    """Return the idf that a server has for a word that has a share of a term's documents.

    That of a phrase is the sum over its words, as Lucene has it.
    """
    name = vocabulary.term(term)
    if " " in name:
        numbers = vocabulary.indices(name.split(" ")).tolist()
        return sum(_idf(vocabulary, statistics, number) for number in numbers if number >= 0)
    frequency = share * float(statistics.document_frequencies[term])
    if share < 1.0:
        frequency = max(frequency, 1.0)
    return math.log1p((statistics.n_docs - frequency + 0.5) / (frequency + 0.5))


class _Forms:
    """What stands for a term on the server: the term or tokens, its forms, or its first form."""

    def __init__(
        self, snapshot: Snapshot, words: SentWords, tokens: Mapping[str, Sequence[str]]
    ) -> None:
        self._vocabulary, self._analyzer = snapshot.S.vocabulary, snapshot.analyzer
        self._words, self._tokens = words, tokens

    def of(self, term: int) -> list[tuple[str, float]]:
        """Return the words for a term, each with its share of the term's documents.

        The index keeps the order of forms by frequency and no numbers, so the shares are assumed to
        fall like 1 / rank.
        """
        name = self._vocabulary.term(term)
        if self._words == "terms":
            return [(token, 1.0) for token in self._tokens.get(name, (name,))]
        forms = self._vocabulary.forms_of(term) or (name,)
        if self._words == "analyzed":
            return [(forms[0], 1.0)]
        total = sum(1.0 / rank for rank in range(1, len(forms) + 1))
        return [(form, 1.0 / (rank * total)) for rank, form in enumerate(forms, 1)]

    def of_word(self, word: str) -> str:
        """Return what stands for a word that is no term."""
        if self._words != "terms":
            return word
        stem = " ".join(self._analyzer.stem(word.split(" ")))
        return self._tokens.get(stem, (stem,))[0]

    def of_stem(self, stem: str) -> tuple[str, ...]:
        """Return the words for a stem that documents must contain, any of them."""
        number = self._vocabulary.get(stem)
        if number < 0:
            return tuple(self._tokens.get(stem, (stem,)))
        return tuple(word for word, _ in self.of(number))


def _conditions(
    clauses: Sequence[Clause], analyzer: Analyzer, forms: _Forms
) -> Iterator[_Condition]:
    """Yield what `softcosine.index.query.constraints` requires and excludes."""
    for clause in clauses:
        if clause.kind == "should" and not clause.phrase:
            continue
        stems = [stem for stem in phrase_words(clause.text, analyzer) if stem is not None]
        if not stems:
            continue
        phrase = str(clause.text) if clause.phrase and len(stems) > 1 else None
        words = tuple(forms.of_stem(stem) for stem in dict.fromkeys(stems))
        yield _Condition(words, phrase, clause.kind == "must_not")
