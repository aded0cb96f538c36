"""The vector of a query, including words outside the vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine.errors import InvalidInputError
from softcosine.files import joined_text
from softcosine.index.query.joints import TermNumbers, units_of
from softcosine.index.query.parser import Clause
from softcosine.index.rankings import PreparedRanking
from softcosine.index.segment.statistics import greatest_frequencies
from softcosine.matrix.outside import OutsideRow, OutsideRows, outside_similarities
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.checked_answers import known_by
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import shortened
from softcosine.text.words import JOINED

if TYPE_CHECKING:
    from softcosine.index.directory.snapshot import Snapshot

_LONG = 20_000  # characters or tokens of a query, and words of a piece of it, that are read at once
_SEVERAL_LETTERS = re.compile(r"[^\W\d_]{2,}")
# Weight of words with other joints, for 1 of those of the query: of which some are in no document,
# or all in some, which may also have the others.
_INSTEAD, _BESIDE = 0.8, 0.6


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The coordinates W x of a query, and the contribution of words outside the vocabulary.

    Attributes
    ----------
    terms : ndarray of shape (m,), int32, ascending
    weights : ndarray of shape (m,), float64
    extra_terms : ndarray of shape (e,), int32
        Indexed neighbors of outside words.
    extra_values : ndarray of shape (e,), float64
        Their contribution to Sᵀ W x.
    extra_norm : float
        Their contribution to x'WSWx, for rankings that divide by a soft norm.
    extra_pointers : ndarray of shape (n_outside + 1,), int64
        Offset of each outside word in `extra_terms`.
    extra_weights : ndarray of shape (n_outside,), float64
        The coordinates of the outside words.
    """

    terms: NDArray[np.int32]
    weights: NDArray[np.float64]
    extra_terms: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    extra_values: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    extra_norm: float = 0.0
    extra_pointers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    extra_weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, slots=True)
class OutsideWord(OutsideRow):
    """A query word outside the vocabulary, with its indexed neighbors in the source."""

    frequency: float = 1.0


class QueryWord(NamedTuple):  # made for each word of each query: a tuple costs least
    """A word of a query, or several words that form one entry of a list or one spelling.

    Attributes
    ----------
    start : int
        Its place among the words of its clause.
    term : str
        Its stems, joined by spaces.
    ways : tuple of (tuple of int, float)
        The ways to write it that are indexed, each as terms that stand together and its value: its
        own and those with other joints 1, your synonyms their similarities.
    synonyms : tuple of (str, float)
        Your synonyms as written: the indexed ones, or all if none is.
    name : bool
        Whether it is a stop word, but written in capitals.
    """

    start: int
    term: str
    ways: tuple[tuple[tuple[int, ...], float], ...]
    synonyms: tuple[tuple[str, float], ...]
    name: bool


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query as indexed terms, words outside the vocabulary, and unknown words.

    Attributes
    ----------
    terms : ndarray of shape (m,), int32, ascending
    frequencies : ndarray of shape (m,), float64
    words : tuple of str
        The query word of each term.
    outside : tuple of OutsideWord, ordered by word
    unknown : tuple of str
        Words that are in neither the documents nor the source; they do not affect the score.
    unknown_frequencies : tuple of float
        Frequency of each unknown word in the query.
    left_out : tuple of str
        Ignored words of a long query.
    said : tuple of QueryWord
        The words that count.
    defined : str
        The query with your synonyms in place of words; empty if there are none.
    likeness : float
        The greatest similarity of these synonyms.
    """

    terms: NDArray[np.int32]
    frequencies: NDArray[np.float64]
    words: tuple[str, ...]
    outside: tuple[OutsideWord, ...] = field(default=())
    unknown: tuple[str, ...] = field(default=())
    unknown_frequencies: tuple[float, ...] = field(default=())
    left_out: tuple[str, ...] = field(default=())
    said: tuple[QueryWord, ...] = field(default=())
    defined: str = ""
    likeness: float = 0.0

    def pairs(
        self, S: TermSimilarityMatrix, weights: NDArray[np.float64], outside: NDArray[np.float64]
    ) -> Iterator[tuple[str, float, int, float, bool]]:
        """Yield each word with each similar term: word, weight, term, similarity, and if equal.

        `weights` are those of the terms of the query, and `outside` of its words outside.
        """
        numbers = self.terms.tolist()
        rows: Iterator[tuple[str, int, NDArray[Any], NDArray[Any]]] = chain(
            ((word, i, *S.row(i)) for word, i in zip(self.words, numbers, strict=True)),
            ((one.word, -1, one.terms, one.similarities) for one in self.outside),
        )
        values = chain(weights.tolist(), outside.tolist())
        for (word, i, terms, similarities), weight in zip(rows, values, strict=True):
            for j, similarity in zip(terms.tolist(), similarities.tolist(), strict=True):
                yield word, weight, j, similarity, i == j


# A text, its tokens, or one of these for each of some fields of an index.
Query = str | Sequence[str] | Mapping[str, str | Sequence[str]]


def query_text(query: Query) -> str:
    """Return a query as one string: its words joined by spaces, distinct fields one per line."""
    if isinstance(query, str):  # first, because it costs least
        return query
    if isinstance(query, Mapping):
        return joined_text(list(dict.fromkeys(map(query_text, query.values()))))
    return " ".join(query)


def parse_clauses(
    clauses: Iterable[Clause], snapshot: Snapshot, *, keep_stop_words: bool = False
) -> ParsedQuery:
    """Return the parsed query of clauses, without those that exclude documents.

    The source of the index has the neighbors of words outside the vocabulary.

    Parameters
    ----------
    clauses : iterable of Clause
    snapshot : Snapshot
    keep_stop_words : bool
        If False, stop words of plain clauses count only where they are written in capitals, or
        where no document has the other words and these are as many, for stop words of at most half
        of the documents, or where there are no other words.
    """
    reading = _Reading(snapshot, frozenset() if keep_stop_words else snapshot.stop_words)
    for clause in clauses:
        if clause.kind != "must_not":
            reading.read(clause)
    return reading.parsed()


class _Reading:
    """What is known of a query while its clauses are read.

    Attributes
    ----------
    numbers : TermNumbers
    counts, passed_over : dict of str to float
        The frequencies of terms, and of those that are stop words.
    otherwise : dict of str to float
        Those of the terms of words with other joints.
    replaced : set of str
        Terms that such words, or listed phrases, can stand for.
    forms : dict of str to str
        For each term, its first words in the query.
    every : list of (QueryWord, bool)
        All words, and whether they are stop words.
    """

    def __init__(self, snapshot: Snapshot, stop_words: frozenset[str]) -> None:
        self.snapshot, self.analyzer, self.stop_words = snapshot, snapshot.analyzer, stop_words
        self.numbers = TermNumbers(snapshot.S.vocabulary)
        self.counts: dict[str, float] = {}
        self.passed_over: dict[str, float] = {}
        self.otherwise: dict[str, float] = {}
        self.replaced: set[str] = set()
        self.forms: dict[str, str] = {}
        self.every: list[tuple[QueryWord, bool]] = []

    def read(self, clause: Clause) -> None:
        """Add the words of a clause."""
        words: list[str] = []
        joints = []
        for typed, *others in self._units(_checked(clause.text)):
            start = len(words)
            words += filter(self.analyzer.keeps, typed)
            if others and len(words) > start:
                joints.append((start, len(words), typed, others))
        stems = self.analyzer.stem(words)
        lowered = [str(word).lower() for word in words]  # tokens have capitals
        passed, names = [word in self.stop_words for word in lowered], set[str]()
        if any(passed):
            names = _in_capitals(clause.text) & self.stop_words
            passed = [
                stop and word not in names for stop, word in zip(passed, lowered, strict=True)
            ]
        self._count(clause, words, stems, passed)
        ways: dict[int, list[list[str]]] = {}  # to write what begins at a place, its own first
        for start, end, typed, others in joints:
            check_deadline()
            new = [one for one in others if self.stop_words.isdisjoint({*one}.difference(typed))]
            if new and not (len(typed) == 1 and passed[start]):
                ways[start] = self._joined(clause.weight, stems[start:end], new)
        for word in self._query_words(stems, [word in names for word in lowered], ways):
            parts = word.term.split(" ")
            end = word.start + len(parts)
            if tuple(parts) in self.analyzer.stemmed_phrases:
                self.replaced.update(parts)
            self.every.append((word, self._passes(clause, parts, passed[word.start : end])))

    def _units(self, text: str | Sequence[str]) -> list[list[tuple[str, ...]]]:
        """Return the words of a text with their other joints; those of a long one as written."""
        check_deadline()
        if len(text) < _LONG:
            return units_of(text, self.analyzer, self.numbers, listed=self.snapshot.synonyms)
        parts = text.split() if isinstance(text, str) else text
        units: list[list[tuple[str, ...]]] = []
        for first in range(0, len(parts), _LONG):
            check_deadline()
            piece = parts[first : first + _LONG]
            kept = self.analyzer.kept(" ".join(piece) if isinstance(text, str) else piece)
            units += [[(word,)] for word in kept]
        return units

    def _passes(self, clause: Clause, stems: list[str], passed: list[bool]) -> bool:
        """Whether words are passed over, which a listed phrase of stop words ("The Who") is not."""
        listed = self.analyzer.stemmed_phrases
        return clause.plain and all(passed) and not (listed and tuple(stems) in listed)

    def _count(
        self, clause: Clause, words: list[str], stems: list[str], passed: list[bool]
    ) -> None:
        """Add the weight of a clause to its terms."""
        has_forms = self.analyzer.stems
        for start, end in self.analyzer.ranges(stems):
            if end - start > 1:
                check_deadline()
            term, part = " ".join(stems[start:end]), slice(start, end)
            into = self.counts
            if passed[start] and self._passes(clause, stems[part], passed[part]):
                into = self.passed_over
            into[term] = into.get(term, 0.0) + clause.weight
            if has_forms:
                self.forms.setdefault(term, " ".join(map(str, words[part])))

    def _joined(
        self, weight: float, own: list[str], variants: list[tuple[str, ...]]
    ) -> list[list[str]]:
        """Return the stems of words and of their variants, and add the weight of these."""
        ways = [self.analyzer.stem(one) for one in variants]
        # Documents with a joined word have its parts, too.
        both = len({JOINED in "".join(one) for one in variants}) == 2
        present = min([self.numbers[term] for term in own]) >= 0
        share = weight * (_BESIDE if present else _INSTEAD) / (1 + both)
        idf = self._idf(own)
        for one, terms in zip(variants, ways, strict=True):
            frequency = share * idf / self._idf(terms)
            self.replaced.update({*own}.difference(terms, self.snapshot.synonyms))
            for word, term in zip(one, terms, strict=True):
                if term not in own:
                    self.otherwise[term] = max(frequency, self.otherwise.get(term, 0.0))
                    self.forms.setdefault(term, word)
        return [own, *ways]

    def _idf(self, terms: Sequence[str]) -> float:
        """Return the sum of idf of terms, by the field where each is most frequent."""
        statistics = self.snapshot.statistics
        numbers = [self.numbers[term] for term in terms]
        counts = [
            [own.document_frequencies.item(n) if n >= 0 else 0 for n in numbers]
            for own in statistics
        ]
        df, n_docs = np.array(counts).max(axis=0), statistics[0].n_docs
        return float(np.log1p((n_docs - df + 0.5) / (df + 0.5)).sum())

    def _query_words(
        self, stems: list[str], names: list[bool], joints: Mapping[int, list[list[str]]]
    ) -> Iterator[QueryWord]:
        """Yield the words of a clause by their stems, together what your lists have as one word."""
        own, numbers, start = self.snapshot.synonyms, self.numbers, 0
        most = self.analyzer.longest if own else 1
        while start < len(stems):
            for end in range(min(start + most, len(stems)), start, -1):
                term = " ".join(stems[start:end])
                written = [[term]]
                if end == start + 1 and start in joints:
                    written = joints[start]
                    end = start + len(written[0])
                    term = " ".join(written[0])
                terms = dict.fromkeys([tuple([numbers[term] for term in one]) for one in written])
                ways = tuple([(one, 1.0) for one in terms if min(one) >= 0])
                synonyms: tuple[tuple[str, float], ...] = ()
                if own and (listed := own.get(term) or own.get(term.replace(" ", ""))):
                    beside = [(numbers[other], *found) for other, found in listed.items()]
                    indexed = [one for one in beside if one[0] >= 0]
                    ways += tuple(((number,), value) for number, value, _ in indexed)
                    synonyms = tuple((word, value) for _, value, word in indexed or beside)
                    if ways:
                        break
            yield QueryWord(start, term, ways, synonyms, any(names[start:end]))
            start = end

    def _said(self) -> list[QueryWord]:
        """Return the words that count, and have the terms of stop words that do count counted."""
        said = [word for word, stops in self.every if not stops]
        if not self.counts:  # "The Who"
            self.counts = self.passed_over
            return [word for word, _ in self.every]
        if 2 * len(said) < len(self.every) or any(word.ways for word in said):
            return said
        # "it support"
        statistics = self.snapshot.statistics
        df, most = greatest_frequencies(statistics), statistics[0].n_docs // 2
        rare = {one.term for one, _ in self.every if one.ways and df[one.ways[0][0][0]] <= most}
        self.counts |= {term: n for term, n in self.passed_over.items() if term in rare}
        return said + [word for word, stops in self.every if stops and word.term in rare]

    def parsed(self) -> ParsedQuery:
        """Return the query of the clauses that were read."""
        said = self._said()
        counts, forms = {**self.otherwise, **self.counts}, self.forms
        synonyms = {word.term: word.synonyms for word in said if word.synonyms}
        shown = [
            synonyms.get(one.term) or [(forms.get(part, part), 1.0) for part in one.term.split(" ")]
            for one, _ in (self.every if synonyms else ())
        ]
        # Lists, because queries are short and arrays cost more to create.
        numbered = sorted([(self.numbers[term], term) for term in counts])
        inside = [(number, term) for number, term in numbered if number >= 0]
        absent = [term for number, term in numbered if number < 0 and term not in self.replaced]
        outside, unknown = self._outside(absent, counts) if absent else ((), {})
        return ParsedQuery(
            terms=np.array([number for number, _ in inside], np.int32),
            frequencies=np.array([counts[term] for _, term in inside], np.float64),
            words=tuple([forms.get(term, term) for _, term in inside]),
            outside=outside,
            unknown=tuple(unknown),
            unknown_frequencies=tuple(unknown.values()),
            said=tuple(said),
            defined=" ".join([word for row in shown for word, _ in row]),
            likeness=max([value for one in synonyms.values() for _, value in one], default=0.0),
        )

    def _outside(
        self, absent: list[str], counts: Mapping[str, float]
    ) -> tuple[tuple[OutsideWord, ...], dict[str, float]]:
        """Split absent terms into those with neighbors in the source, and the others."""
        source, S = self.snapshot.source, self.snapshot.S
        # A source contains words, not stems: the word as typed comes first.
        words = [self.forms.get(term, term) for term in absent]
        known = np.zeros(len(words), bool) if source is None else known_by(source, words)
        asked: dict[str, float] = {}  # two stems may have the same word
        unknown: dict[str, float] = {}
        for word, term, there in zip(words, absent, known, strict=True):
            if not there and source is not None and term != word and known_by(source, [term])[0]:
                word, there = term, True
            into = asked if there else unknown
            into[word] = into.get(word, 0.0) + counts[term]
        if source is None:
            return (), unknown
        rows = self.snapshot.once(OutsideRows, lambda: OutsideRows(S, source)).of(list(asked))
        outside = [
            OutsideWord(row.word, row.terms, row.similarities, row.scale, frequency=asked[row.word])
            for row in rows
        ]
        return tuple(outside), unknown


def _checked(query: str | Sequence[str]) -> str | Sequence[str]:
    """Return the text of a clause if it is a text or a list of tokens, without blanks in them."""
    if isinstance(query, str):
        return query
    if not isinstance(query, list | tuple | np.ndarray):
        raise InvalidInputError(
            f"the query is of type {type(query).__name__}; pass a string or a list of tokens."
        )
    for token in query:
        if isinstance(token, str) and len(token.split()) > 1:
            raise InvalidInputError(
                f"the query is a list of tokens, and {shortened(token)} contains a blank; "
                "pass a text as one string, and several queries to search_batch."
            )
    return query


def _in_capitals(query: str | Sequence[str]) -> set[str]:
    """Return the words in capitals, but AND and OR; none if most of a query is in capitals."""
    text = query_text(query)
    if 2 * sum(map(str.isupper, text)) > len("".join(text.split())):
        return set()
    capitals = {word.lower() for word in _SEVERAL_LETTERS.findall(text) if word.isupper()}
    return capitals - {"and", "or"}


def parse_word(word: str, snapshot: Snapshot) -> ParsedQuery:
    """Return the parsed query of one word, or of several words that form one phrase term."""
    analyzer = snapshot.analyzer
    parsed = parse_clauses([Clause(word)], snapshot, keep_stop_words=True)
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
    """Return the query with only its `limit` terms of largest weight (ties: the first).

    Words outside the vocabulary are kept.

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


def query_vector(
    parsed: ParsedQuery,
    ranking: PreparedRanking,
    S: TermSimilarityMatrix,
    source: TermSimilaritySource | None,
) -> QueryVector:
    """Return the vector of a parsed query (theory, "Words that no document contains")."""
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
    norm = 0.0
    if ranking.normalization == "soft":  # of outside words in x'Sx, by the source's similarities
        inner, cross = outside_similarities(S, parsed.outside, parsed.terms, source)
        norm = float(absent @ inner @ absent + 2.0 * (absent @ cross @ weights))
    lengths = [len(word.terms) for word in parsed.outside]
    pointers = np.cumsum([0, *lengths], dtype=np.int64)
    return QueryVector(parsed.terms, weights, extra_terms, extra_values, norm, pointers, absent)
