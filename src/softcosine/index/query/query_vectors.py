"""From the words of a query to its vector, words that no document has included."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.search.rankings import PreparedRanking
from softcosine.index.search.top_docs import QueryVector
from softcosine.matrix.outside import (
    OutsideRow,
    outside_rows,
    outside_similarities,
    spelled_row,
)
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.checked_answers import known_by
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer

if TYPE_CHECKING:
    from softcosine.index.query.suggestions import Spellings

__all__ = [
    "OutsideWord",
    "ParsedQuery",
    "heaviest",
    "parse_clauses",
    "parse_query",
    "parse_word",
    "query_text",
    "query_vector",
    "respelled",
]


@dataclass(frozen=True, slots=True)
class OutsideWord(OutsideRow):
    """A query word that no document has, with its indexed neighbours.

    They come from the source, or from the spelling of a word that the source does not know.
    """

    frequency: float = 1.0


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query as indexed terms, outside words, and words that nobody knows.

    Attributes
    ----------
    terms : ndarray of shape (m,), int32, ascending
    frequencies : ndarray of shape (m,), float64
    words : tuple of str
        The word of the query that each term comes from.
    outside : tuple of OutsideWord, by their words
    unknown : tuple of str
        Words that neither the documents nor the source have; they have no part in the score.
    unknown_frequencies : tuple of float
        How often each of them was asked for.
    left_out : tuple of str
        Words of a long query that were cut off.
    """

    terms: NDArray[np.int32]
    frequencies: NDArray[np.float64]
    words: tuple[str, ...]
    outside: tuple[OutsideWord, ...] = field(default=())
    unknown: tuple[str, ...] = field(default=())
    unknown_frequencies: tuple[float, ...] = field(default=())
    left_out: tuple[str, ...] = field(default=())


def query_text(query: str | Sequence[str]) -> str:
    """Return a query as one string: its words joined by spaces."""
    return query if isinstance(query, str) else " ".join(query)


def parse_query(
    query: str | Sequence[str],
    analyzer: Analyzer,
    S: TermSimilarityMatrix,
    source: TermSimilaritySource | None,
    *,
    stop_words: Collection[str] = (),
) -> ParsedQuery:
    """Find a query's terms; ask the source about those that the index does not have.

    Parameters
    ----------
    query : str or sequence of str
        A text, or its tokens.
    analyzer : Analyzer
    S : TermSimilarityMatrix
        Of the index, with the words that stand for its terms.
    source : TermSimilaritySource or None
        None leaves words outside the vocabulary unknown.
    stop_words : collection of str, optional
        Words that do not count where the query has others.
    """
    return parse_clauses([(query, 1.0, True)], analyzer, S, source, stop_words=stop_words)


def parse_clauses(
    clauses: Iterable[tuple[str | Sequence[str], float, bool]],
    analyzer: Analyzer,
    S: TermSimilarityMatrix,
    source: TermSimilaritySource | None,
    *,
    stop_words: Collection[str] = (),
) -> ParsedQuery:
    """Parse a query of several clauses.

    Parameters
    ----------
    clauses : iterable of (str or sequence of str, float, bool)
        A text or tokens, how often each of its words counts, and whether `stop_words` are left out.
    analyzer, S, source, stop_words
        See `parse_query`.
    """
    counts: dict[str, float] = {}
    passed_over: dict[str, float] = {}
    forms: dict[str, str] = {}  # for each term, the first words of the query that come to it
    for query, weight, plain in clauses:
        if not isinstance(query, str | list | tuple | np.ndarray):
            raise InvalidInputError(
                f"the query is of type {type(query).__name__}; pass a string or a list of tokens."
            )
        words = analyzer.kept(query)
        stems = analyzer.stem(words)
        passed = [str(word).lower() in stop_words for word in words]  # tokens have capitals
        for start, end in analyzer.ranges(stems):
            term = " ".join(stems[start:end])
            # A phrase that somebody listed is a term of its own, whatever its words ("The Who").
            listed = end - start > 1 and tuple(stems[start:end]) in analyzer.stemmed_phrases
            stops = plain and not listed and all(passed[start:end])
            into = passed_over if stops else counts
            into[term] = into.get(term, 0.0) + weight
            if analyzer.stemmer is not None:
                forms.setdefault(term, " ".join(map(str, words[start:end])))
    counts = counts or passed_over  # "The Who"
    # Lists, since queries are short: arrays would take longer to make than to fill.
    numbered = sorted(zip(S.vocabulary.indices(list(counts)).tolist(), counts, strict=True))
    inside = [(number, term) for number, term in numbered if number >= 0]
    absent = [term for number, term in numbered if number < 0]
    outside, unknown = _ask(absent, counts, forms, S, source)
    return ParsedQuery(
        terms=np.array([number for number, _ in inside], np.int32),
        frequencies=np.array([counts[term] for _, term in inside], np.float64),
        words=tuple([forms.get(term, term) for _, term in inside]),
        outside=outside,
        unknown=tuple(unknown),
        unknown_frequencies=tuple(unknown.values()),
    )


def parse_word(
    word: str, analyzer: Analyzer, S: TermSimilarityMatrix, source: TermSimilaritySource | None
) -> ParsedQuery:
    """Parse a word, or several that are one term together, of which the others are left out."""
    parsed = parse_query(word, analyzer, S, source)
    kept = analyzer.kept(word)
    stems = analyzer.stem(kept)
    if len(stems) == 1 or (0, len(stems)) not in analyzer.ranges(stems):
        return parsed
    whole = " ".join(kept)
    inside = [i for i, shown in enumerate(parsed.words) if shown == whole]
    return ParsedQuery(
        terms=parsed.terms[inside],
        frequencies=parsed.frequencies[inside],
        words=tuple(parsed.words[i] for i in inside),
        outside=tuple(one for one in parsed.outside if one.word == whole),
        unknown=tuple(one for one in parsed.unknown if one == whole),
    )


def heaviest(parsed: ParsedQuery, weights: NDArray[np.float64], limit: int) -> ParsedQuery:
    """Keep the `limit` terms of largest weight, of equal ones the first; words outside all stay.

    Parameters
    ----------
    parsed : ParsedQuery
    weights : ndarray of shape (m,), float64
    limit : int
    """
    if len(parsed.terms) <= limit:
        return parsed
    kept = np.sort(np.argsort(-weights, kind="stable")[:limit])
    dropped = np.setdiff1d(np.arange(len(parsed.terms)), kept)
    return replace(
        parsed,
        terms=parsed.terms[kept],
        frequencies=parsed.frequencies[kept],
        words=tuple(parsed.words[i] for i in kept),
        left_out=tuple(parsed.words[i] for i in dropped),
    )


def respelled(parsed: ParsedQuery, S: TermSimilarityMatrix, spellings: Spellings) -> ParsedQuery:
    """Search unknown words by the indexed words that they may be misspellings of."""
    outside, unknown = list(parsed.outside), {}
    for word, frequency in zip(parsed.unknown, parsed.unknown_frequencies, strict=True):
        terms, similarities = spellings.row(word)
        if not len(terms):
            unknown[word] = frequency
            continue
        row = spelled_row(S, word, terms, similarities)
        outside.append(
            OutsideWord(word, row.terms, row.similarities, row.scale, True, frequency=frequency)
        )
    return replace(
        parsed,
        outside=tuple(outside),
        unknown=tuple(unknown),
        unknown_frequencies=tuple(unknown.values()),
    )


def query_vector(
    parsed: ParsedQuery,
    ranking: PreparedRanking,
    S: TermSimilarityMatrix,
    source: TermSimilaritySource | None,
) -> QueryVector:
    """Weigh a parsed query for one ranking (theory, "Words that no document contains")."""
    total = float(parsed.frequencies.sum()) + sum(word.frequency for word in parsed.outside)
    ratio = total / ranking.average_length if ranking.average_length > 0 else 1.0

    def local(frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        if ranking.query_weighting.tf == "raw":
            return frequencies
        return ranking.query_weighting.frequencies(frequencies, np.full_like(frequencies, ratio))

    weights = local(parsed.frequencies) * ranking.term_weights[parsed.terms]
    if not parsed.outside:
        return QueryVector(parsed.terms, weights)
    absent = local(np.array([word.frequency for word in parsed.outside], np.float64))
    absent = absent * ranking.absent_weight
    extra_terms = np.concatenate([word.terms for word in parsed.outside])
    extra_values = np.concatenate(
        [word.similarities * x for word, x in zip(parsed.outside, absent, strict=True)]
    )
    # x'Sx over the outside words and between them and the others, by the source's similarities.
    inner, cross = outside_similarities(S, parsed.outside, parsed.terms, source)
    norm = float(absent @ inner @ absent + 2.0 * (absent @ cross @ weights))
    return QueryVector(parsed.terms, weights, extra_terms, extra_values, norm)


def _ask(
    absent: list[str],
    counts: dict[str, float],
    forms: dict[str, str],
    S: TermSimilarityMatrix,
    source: TermSimilaritySource | None,
) -> tuple[tuple[OutsideWord, ...], dict[str, float]]:
    """Split absent terms into those that the source knows, with neighbours, and the others."""
    if not absent:
        return (), {}
    # A source knows words, not stems: the word as it was typed comes first.
    words = [forms.get(term, term) for term in absent]
    known = np.zeros(len(words), bool)
    if source is not None:
        known = known_by(source, words)
        for i, term in enumerate(absent):
            if not known[i] and term != words[i] and known_by(source, [term])[0]:
                words[i], known[i] = term, True
    asked: dict[str, float] = {}  # two stems may come to one word
    unknown: dict[str, float] = {}
    for word, term, there in zip(words, absent, known, strict=True):
        own = asked if there else unknown
        own[word] = own.get(word, 0.0) + counts[term]
    if source is None:
        return (), unknown
    outside = tuple(
        OutsideWord(row.word, row.terms, row.similarities, row.scale, frequency=asked[row.word])
        for row in outside_rows(S, list(asked), source)
    )
    return outside, unknown
