"""A source whose similarities a person has the last word on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.sources.asking import known_by, neighbors_by, similarities_by
from softcosine.sources.constraints.decision_files import read_decisions
from softcosine.sources.constraints.decision_list import Decision, Decisions, Sign
from softcosine.sources.last_tuple import LastTuple
from softcosine.sources.neighbors import Neighbors, StringOrder
from softcosine.sources.parts import check_source
from softcosine.sources.source import (
    SourceState,
    TermSimilaritySource,
    check_limit,
    check_pairs,
    equal_strings,
    source_from_state,
    state_of,
    usual_neighbors,
)
from softcosine.text.packing import pack_strings, unpack_strings

if TYPE_CHECKING:
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.vocabulary import Vocabulary

__all__ = [
    "DecidedSimilarity",
    "Decision",
    "Decisions",
    "decided",
    "pinned",
    "read_decisions",
    "without",
]

_SIGNS: tuple[Sign, ...] = ("=", "!", "*", "only")


def decided(source: TermSimilaritySource, decisions: Decisions) -> DecidedSimilarity:
    """Return the source with a person's decisions above it."""
    return DecidedSimilarity(source, decisions)


def without(source: TermSimilaritySource, pairs: Iterable[tuple[str, str]]) -> DecidedSimilarity:
    """Return the source without the similarity of some pairs."""
    return DecidedSimilarity(source, Decisions.of(forbidden=pairs))


def pinned(
    source: TermSimilaritySource, pairs: Mapping[tuple[str, str], float]
) -> DecidedSimilarity:
    """Return the source with the similarity of some pairs as given."""
    return DecidedSimilarity(source, Decisions.of(pinned=pairs))


class DecidedSimilarity:
    """Another source's similarities, but for what a person has decided.

    A pinned pair has the value given, whether or not the source knows its words; it is forbidden
    if that is 0. Otherwise an isolated word, or one that is left only its pinned neighbours, is
    similar to itself alone; every other similarity is multiplied by the weights of the pair and
    of both words. Words are compared ignoring letter case.

    Neighbours are exact, if the source's are: what is forbidden or weighed down uses up no place,
    and what is pinned comes in though the source did not list it.

    Parameters
    ----------
    source : TermSimilaritySource
    decisions : Decisions

    Examples
    --------
    >>> from softcosine.sources.vectors.embedding import EmbeddingSimilarity
    >>> vectors = EmbeddingSimilarity(["hot", "cold", "warm"], [[4, 3], [4, 3], [4, 3]])
    >>> decisions = Decisions.of(pinned={("hot", "torrid"): 0.75}, forbidden=[("hot", "cold")])
    >>> source = decided(vectors, decisions)
    >>> source.similarities(["hot", "hot", "hot"], ["torrid", "cold", "warm"]).tolist()
    [0.75, 0.0, 1.0]
    """

    __slots__ = ("_decisions", "_order", "_searched", "_source", "_table")

    def __init__(self, source: TermSimilaritySource, decisions: Decisions) -> None:
        check_source(source)
        if not isinstance(decisions, Decisions):
            raise InvalidInputError(
                f"the decisions are {decisions!r}; needed is Decisions.of(...) or what "
                "read_decisions(path) gives."
            )
        self._source = source
        self._decisions = decisions
        self._table = _Table.of(decisions)
        self._order = StringOrder()
        self._searched = LastTuple[_Searched]()

    @property
    def source(self) -> TermSimilaritySource:
        """The source that is decided about."""
        return self._source

    @property
    def decisions(self) -> Decisions:
        """What was decided."""
        return self._decisions

    def for_vocabulary(
        self, vocabulary: Vocabulary, *, analyzer: Analyzer | None = None
    ) -> DecidedSimilarity:
        """Return the source with its decisions carried over; see `Decisions.for_vocabulary`.

        Those of a source that was decided about before are, too.
        """
        source = self._source
        if isinstance(source, DecidedSimilarity):
            source = source.for_vocabulary(vocabulary, analyzer=analyzer)
        decisions = self._decisions.for_vocabulary(vocabulary, analyzer=analyzer)
        if source is self._source and decisions == self._decisions:
            return self
        return DecidedSimilarity(source, decisions)

    @property
    def usual_neighbors(self) -> int:
        """What the source advises; see `softcosine.sources.source.usual_neighbors`."""
        return usual_neighbors(self._source)

    def __repr__(self) -> str:
        return f"decided({self._source!r}, {len(self._decisions)} decisions)"

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether the source knows each term or it is pinned to another, shape (n_terms,)."""
        return known_by(self._source, terms) | self._table.has_pins[self._table.find(terms)]

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, as decided."""
        check_pairs(left, right)
        rows, columns = self._table.find(left), self._table.find(right)
        raw = similarities_by(self._source, left, right)
        pins = self._table.pins(rows, columns)
        answer = np.where(pins >= 0.0, pins, self._table.weigh(raw, rows, columns))
        answer[equal_strings(left, right)] = 1.0
        return answer

    def verdicts(self, left: Sequence[str], right: Sequence[str]) -> list[tuple[str, float]]:
        """Return what was decided about each pair.

        Returns
        -------
        list of (str, float)
            "pinned" and to what, "forbidden", "isolated" (also of words that are left their
            pinned neighbours only), or "weighed" and by what: 1 if nothing was decided.
        """
        check_pairs(left, right)
        rows, columns = self._table.find(left), self._table.find(right)
        pins = self._table.pins(rows, columns).tolist()
        weights = self._table.pair_weight(rows, columns).tolist()
        answer = []
        for pin, weight in zip(pins, weights, strict=True):
            if pin >= 0.0:
                answer.append(("pinned" if pin else "forbidden", pin))
            else:
                answer.append(("weighed" if weight else "isolated", weight))
        return answer

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, as decided."""
        check_limit(max_neighbors)
        if max_neighbors == 0 or len(among) == 0:
            return Neighbors.none(len(terms))
        words = self._table.find(terms)
        searched = self._searched.get(among, lambda: self._search(among))
        free = self._table.weights[words] > 0.0
        # A term that something was decided about may lose as many neighbours as were decided on.
        plain = (self._table.n_pairs[words] == 0) & (self._table.weights[words] == 1.0)
        n_more = 1 + int(self._table.n_pairs[words].max(initial=0))
        waiting = [
            (np.flatnonzero(~free), 0),
            (np.flatnonzero(free & plain), max_neighbors),
            (np.flatnonzero(free & ~plain), max_neighbors + n_more),
        ]
        rows: list[NDArray[Any]] = [np.empty(0, np.int64)]
        columns: list[NDArray[Any]] = [np.empty(0, np.int64)]
        values: list[NDArray[np.float32]] = [np.empty(0, np.float32)]
        while waiting:
            asked, limit = waiting.pop()
            if len(asked) == 0:
                continue
            names = terms if len(asked) == len(terms) else [terms[i] for i in asked.tolist()]
            best, settled = self._best(names, words[asked], searched, max_neighbors, limit)
            stay = settled[best.rows()]
            rows.append(asked[best.rows()[stay]])
            columns.append(best.indices[stay])
            values.append(best.similarities[stay])
            waiting.append((asked[~settled], 2 * limit))
        return Neighbors.from_pairs(
            np.concatenate(rows),
            np.concatenate(columns),
            np.concatenate(values),
            n_terms=len(terms),
            among=among,
            max_neighbors=max_neighbors,
            order=self._order,
        )

    def _best(
        self,
        terms: Sequence[str],
        words: NDArray[np.int64],
        searched: _Searched,
        max_neighbors: int,
        limit: int,
    ) -> tuple[Neighbors, NDArray[np.bool_]]:
        """Best neighbours among what the source lists and what is pinned.

        The second answer tells for which terms nothing beyond the source's `limit` neighbours can
        come before the last: as no weight exceeds 1, an unlisted pair is at most what the last
        listed one is times the term's own weight, and comes after it if that is 1.
        """
        table = self._table
        found = Neighbors.none(len(terms))
        if limit and len(searched.free):
            found = neighbors_by(self._source, terms, searched.free, max_neighbors=limit)
        rows, places = found.rows(), searched.positions[found.indices]
        weighed = table.weigh(found.similarities, words[rows], searched.words[places])
        weighed[table.pins(words[rows], searched.words[places]) >= 0.0] = 0.0
        pin_rows, pin_places, pins = searched.pinned_to(words, table)
        best = Neighbors.from_pairs(
            np.concatenate((rows, pin_rows)),
            np.concatenate((places, pin_places)),
            np.concatenate((weighed, pins)),
            n_terms=len(terms),
            among=searched.strings,
            max_neighbors=max_neighbors,
            order=self._order,
        )
        settled = np.ones(len(terms), np.bool_)
        if limit < len(searched.free):
            settled = np.diff(found.indptr) < max(limit, 1)
        full = np.flatnonzero(~settled & (np.diff(best.indptr) == max_neighbors))
        last, kept = found.indptr[full + 1] - 1, best.indptr[full + 1] - 1
        own = table.weights[words[full]]
        bound = (found.similarities[last].astype(np.float64) * own).astype(np.float32)
        settled[full] = best.similarities[kept] > bound
        level = (best.similarities[kept] == bound) & (own == 1.0)
        settled[full[level & (best.indices[kept] == places[last])]] = True
        strings = searched.strings
        for i in np.flatnonzero(level & ~settled[full]).tolist():
            a, b = int(best.indices[kept[i]]), int(places[last[i]])
            settled[full[i]] = (strings[a], a) < (strings[b], b)
        return best, settled

    def _search(self, among: Sequence[str]) -> _Searched:
        words = self._table.find(among)
        positions = np.flatnonzero(self._table.weights[words] > 0.0)
        free = among
        if len(positions) < len(among):
            free = tuple(among[i] for i in positions.tolist())
        by_word = np.argsort(words, kind="stable")
        starts = np.searchsorted(words[by_word], np.arange(self._table.n_words + 1))
        return _Searched(among, words, free, positions, by_word, starts)

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source."""
        lines = self._decisions.lines
        strings = sorted({word for line in lines for word in (line.word, line.other) if word})
        number = {string: i for i, string in enumerate(strings)}
        blob, offsets = pack_strings(strings)
        others = [-1 if line.other is None else number[line.other] for line in lines]
        arrays: dict[str, NDArray[Any]] = {
            "strings": blob,
            "offsets": offsets,
            "words": np.array([number[line.word] for line in lines], np.int32),
            "others": np.array(others, np.int32),
            "signs": np.array([_SIGNS.index(line.sign) for line in lines], np.uint8),
            "values": np.array([line.value for line in lines], np.float64),
        }
        return SourceState("decided", {}, arrays, (state_of(self._source),))

    @classmethod
    def from_state(cls, state: SourceState) -> DecidedSimilarity:
        """Source that `state` was taken from."""
        arrays = state.arrays
        strings: list[str | None] = [*unpack_strings(arrays["strings"], arrays["offsets"]), None]
        columns = (arrays[name].tolist() for name in ("words", "signs", "others", "values"))
        lines = tuple(
            Decision(str(strings[word]), _SIGNS[sign], strings[other], value)
            for word, sign, other, value in zip(*columns, strict=True)
        )
        return cls(source_from_state(state.parts[0]), Decisions(lines))


@dataclass(frozen=True, slots=True)
class _Table:
    """Decisions as arrays, by the numbers of the words that they are about.

    Arrays by word have one more place, for words that nothing was decided about: their number is
    -1.
    """

    numbers: Mapping[str, int]
    weights: NDArray[np.float64]  # of all pairs of a word; 0: it has pinned neighbours only
    has_pins: NDArray[np.bool_]  # above 0
    n_pairs: NDArray[np.int64]  # decided on, of each word
    keys: NDArray[np.int64]  # word * n_words + other, both ways, ascending
    pair_pins: NDArray[np.float32]  # -1: not pinned
    pair_weights: NDArray[np.float64]

    @classmethod
    def of(cls, decisions: Decisions) -> _Table:
        numbers: dict[str, int] = {}
        for line in decisions:
            for known in sorted(line.key):
                numbers.setdefault(known, len(numbers))
        n = len(numbers)
        weights, has_pins = np.ones(n + 1), np.zeros(n + 1, np.bool_)
        pairs: dict[int, tuple[float, float]] = {}
        for line in decisions:
            kind, value = line.verdict
            word = numbers[line.word.casefold()]
            if line.other is None:
                weights[word] = value if kind == "weighed" else 0.0
                continue
            other = numbers[line.other.casefold()]
            pin, weight = (value, 1.0) if kind == "pinned" else (-1.0, value)
            pairs[word * n + other] = pairs[other * n + word] = (pin, weight)
            if pin > 0.0:
                has_pins[[word, other]] = True
        keys = np.array(sorted(pairs), np.int64)
        values = np.array([pairs[key] for key in keys.tolist()], np.float64).reshape(-1, 2)
        n_pairs = np.bincount(keys // max(n, 1), minlength=n + 1)
        pins = values[:, 0].astype(np.float32)
        return cls(numbers, weights, has_pins, n_pairs, keys, pins, values[:, 1])

    @property
    def n_words(self) -> int:
        return len(self.numbers)

    def find(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of each term, shape (n_terms,); -1 where nothing was decided."""
        get = self.numbers.get
        return np.fromiter((get(term.casefold(), -1) for term in terms), np.int64, len(terms))

    def _pairs(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which pairs were decided on, and where they stand in `keys`."""
        asked = np.flatnonzero((self.n_pairs[rows] > 0) & (self.n_pairs[columns] > 0))
        keys = rows[asked] * self.n_words + columns[asked]
        places = np.searchsorted(self.keys, keys)
        there = places < len(self.keys)
        there[there] = self.keys[places[there]] == keys[there]
        return asked[there], places[there]

    def pins(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return what each pair of words is pinned to, -1 where it is not."""
        answer = np.full(len(rows), -1.0, np.float32)
        pairs, places = self._pairs(rows, columns)
        answer[pairs] = self.pair_pins[places]
        return answer

    def pair_weight(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return what each pair is weighed by: its own weight times those of both words."""
        weights: NDArray[np.float64] = self.weights[rows] * self.weights[columns]
        pairs, places = self._pairs(rows, columns)
        weights[pairs] *= self.pair_weights[places]
        return weights

    def weigh(
        self, raw: NDArray[np.float32], rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Multiply similarities by the weights of their pairs."""
        return (raw.astype(np.float64) * self.pair_weight(rows, columns)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Searched:
    """A searched sequence, by the words that were decided about."""

    strings: Sequence[str]
    words: NDArray[np.int64]  # number of each string, -1 where nothing was decided
    free: Sequence[str]  # those that may be neighbours unpinned
    positions: NDArray[np.int64]  # of these
    by_word: NDArray[np.int64]  # positions of all strings, by the numbers
    starts: NDArray[np.int64]  # word w has by_word[starts[w]:starts[w + 1]]

    def pinned_to(
        self, words: NDArray[np.int64], table: _Table
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Strings that are pinned to words: number of the asked word, position, similarity."""
        first = np.searchsorted(table.keys, words * table.n_words)
        counts = np.where(words >= 0, table.n_pairs[words], 0)
        asked, pairs = _each(first, counts)
        of_pin = table.pair_pins[pairs] > 0.0
        asked, pairs = asked[of_pin], pairs[of_pin]
        others = table.keys[pairs] % max(table.n_words, 1)
        which, places = _each(self.starts[others], self.starts[others + 1] - self.starts[others])
        return asked[which], self.by_word[places], table.pair_pins[pairs][which]


def _each(
    firsts: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the numbers of ranges, and all members of each in turn."""
    numbers = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return numbers, np.arange(len(numbers)) - np.repeat(before - firsts, counts)
