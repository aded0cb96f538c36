"""`DecidedSimilarity`: a source with your decisions applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import slices
from softcosine.errors import InvalidInputError
from softcosine.similarity.checked_answers import neighbors_by, similarities_by
from softcosine.similarity.composite import Settled, SourceOfOne, neighbors_in_rounds
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.in_terms import PersonsList, TermKeys, in_terms
from softcosine.similarity.neighbors import Neighbors
from softcosine.similarity.overrides.decision_list import Decision, Decisions, Sign
from softcosine.similarity.pairs import PairSimilarity
from softcosine.similarity.registry import source_from_state
from softcosine.similarity.source import (
    SourceState,
    TermSimilaritySource,
    check_limit,
    check_pairs,
    equal_strings,
    state_of,
)
from softcosine.text.packing import pack_strings, unpack_strings


@dataclass(frozen=True, slots=True)
class DecisionTable:
    """Decisions as arrays, indexed by the number of the word.

    Arrays by word have one more element, for words without decisions: their number is -1.

    Attributes
    ----------
    numbers : mapping of str to int
        Number of each casefolded word.
    weights : ndarray of shape (n_words + 1,), float64
        Factor of all similarities of a word; 0 if it has pinned neighbours only.
    has_pins : ndarray of shape (n_words + 1,), bool
        Whether a word is pinned to another with a similarity above 0.
    n_pairs : ndarray of shape (n_words + 1,), int64
        Number of decided pairs of a word.
    keys : ndarray of shape (n_keys,), int64
        Decided pairs as word * n_words + other, in both directions, ascending.
    pair_pins : ndarray of shape (n_keys,), float32
        Pinned similarity of each pair; -1 if it is not pinned.
    pair_weights : ndarray of shape (n_keys,), float64
    """

    numbers: Mapping[str, int]
    weights: NDArray[np.float64]
    has_pins: NDArray[np.bool_]
    n_pairs: NDArray[np.int64]
    keys: NDArray[np.int64]
    pair_pins: NDArray[np.float32]
    pair_weights: NDArray[np.float64]

    @classmethod
    def of(cls, decisions: Decisions) -> DecisionTable:
        """Build the table of some decisions."""
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
        """Number of words with decisions."""
        return len(self.numbers)

    def find(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of each term, shape (n_terms,); -1 without decisions."""
        get = self.numbers.get
        return np.fromiter((get(term.casefold(), -1) for term in terms), np.int64, len(terms))

    def decide(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the pinned similarity of each pair of words (-1: not pinned), and its factor.

        The factor of a pair is its own weight times those of both words.
        """
        pins = np.full(len(rows), -1.0, np.float32)
        weights: NDArray[np.float64] = self.weights[rows] * self.weights[columns]
        asked = np.flatnonzero((self.n_pairs[rows] > 0) & (self.n_pairs[columns] > 0))
        keys = rows[asked] * self.n_words + columns[asked]
        places = np.searchsorted(self.keys, keys)
        there = places < len(self.keys)
        there[there] = self.keys[places[there]] == keys[there]
        pairs, places = asked[there], places[there]
        pins[pairs] = self.pair_pins[places]
        weights[pairs] *= self.pair_weights[places]
        return pins, weights


@dataclass(frozen=True, slots=True)
class DecidedStrings:
    """A searched sequence, grouped by the words with decisions.

    Attributes
    ----------
    strings : sequence of str
    words : ndarray of shape (n_strings,), int64
        Number of each string, -1 without decisions.
    free : sequence of str
        Strings that may be neighbours without a pin.
    positions : ndarray of shape (n_free,), int64
        Positions of `free`.
    by_word : ndarray of shape (n_strings,), int64
        Positions of all strings, ordered by their numbers.
    starts : ndarray of shape (n_words + 1,), int64
        The strings of word w are ``by_word[starts[w]:starts[w + 1]]``.
    """

    strings: Sequence[str]
    words: NDArray[np.int64]
    free: Sequence[str]
    positions: NDArray[np.int64]
    by_word: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(
        cls, table: DecisionTable, strings: Sequence[str], words: NDArray[np.int64]
    ) -> DecidedStrings:
        """Prepare strings whose numbers are `words`."""
        positions = np.flatnonzero(table.weights[words] > 0.0)
        free = strings
        if len(positions) < len(strings):
            free = tuple(strings[i] for i in positions.tolist())
        by_word = np.argsort(words, kind="stable")
        starts = np.searchsorted(words[by_word], np.arange(table.n_words + 1))
        return cls(strings, words, free, positions, by_word, starts)

    def pinned_to(
        self, words: NDArray[np.int64], table: DecisionTable
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Strings that are pinned to words: number of the query word, position, similarity."""
        n = table.n_words
        known = np.flatnonzero(words >= 0)
        of, pairs = slices(np.searchsorted(table.keys, n * np.arange(n + 1)), words[known])
        asked = known[of]
        of_pin = table.pair_pins[pairs] > 0.0
        asked, pairs = asked[of_pin], pairs[of_pin]
        which, places = slices(self.starts, table.keys[pairs] % max(n, 1))
        return asked[which], self.by_word[places], table.pair_pins[pairs][which]


_SIGNS: tuple[Sign, ...] = ("=", "!", "*", "only")


def decided(source: TermSimilaritySource, decisions: Decisions) -> DecidedSimilarity:
    """Return the source with decisions applied."""
    return DecidedSimilarity(source, decisions)


def without(source: TermSimilaritySource, pairs: Iterable[tuple[str, str]]) -> DecidedSimilarity:
    """Return the source with some pairs forbidden."""
    return DecidedSimilarity(source, Decisions.of(forbidden=pairs))


def pinned(
    source: TermSimilaritySource, pairs: Mapping[tuple[str, str], float]
) -> DecidedSimilarity:
    """Return the source with some pairs pinned to given similarities."""
    return DecidedSimilarity(source, Decisions.of(pinned=pairs))


class DecidedSimilarity(SourceOfOne):
    """The similarities of a source, with your decisions applied.

    A pinned pair has the given similarity, whether or not the source knows its words; a pair pinned
    to 0 is forbidden. Otherwise an isolated word, or a word with ``only``, is similar to itself
    only. Every other similarity is multiplied by the weights of the pair and of both words. Letter
    case is ignored.

    Neighbours are exact if those of the source are: a forbidden neighbour is replaced by the next
    one, and a pinned neighbour is included even if the source does not list it.

    Examples
    --------
    >>> from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
    >>> vectors = EmbeddingSimilarity(["hot", "cold", "warm"], [[4, 3], [4, 3], [4, 3]])
    >>> decisions = Decisions.of(pinned={("hot", "torrid"): 0.75}, forbidden=[("hot", "cold")])
    >>> source = decided(vectors, decisions)
    >>> source.similarities(["hot", "hot", "hot"], ["torrid", "cold", "warm"]).tolist()
    [0.75, 0.0, 1.0]
    """

    __slots__ = ("_keys", "_searched", "_table", "decisions")

    def __init__(self, source: TermSimilaritySource, decisions: Decisions) -> None:
        super().__init__(source)
        if not isinstance(decisions, Decisions):
            raise InvalidInputError(
                f"the decisions are {decisions!r}; needed is Decisions.of(...) or what "
                "read_decisions(path) gives."
            )
        self.decisions = decisions
        self._table = DecisionTable.of(decisions)
        self._keys: TermKeys | None = None
        self._searched = LastTuple[DecidedStrings]()

    def in_terms(self, keys: TermKeys) -> DecidedSimilarity:
        """Return the source with its decisions, and all lists inside, extended to terms.

        A decision about a word then holds for every form of its term.
        """
        source = in_terms(self.source, keys)
        if self._keys is not None and not keys.replaces(self._keys):
            if source is self.source:
                return self
            keys = self._keys
        return self._carried(source, keys)

    def over(self, *sources: TermSimilaritySource) -> DecidedSimilarity:
        """Return the same decisions applied to another source."""
        (source,) = sources
        if self._keys is None:
            return DecidedSimilarity(source, self.decisions)
        return self._carried(source, self._keys)

    def _carried(self, source: TermSimilaritySource, keys: TermKeys) -> DecidedSimilarity:
        made = DecidedSimilarity(source, self.decisions.in_terms(keys))
        made._keys, made.decisions = keys, self.decisions
        return made

    def known_as_written(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether the source, or a decision not in terms, knows exactly this form."""
        known = super().known_as_written(terms)
        return known if self._keys is not None else known | self._pinned_words(terms)

    def have_pins(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves some pair of each word unchanged."""
        return super().have_pins(terms) | self._pinned_words(terms)

    def are_pinned(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves the pairs unchanged: pinned here, or in a list inside."""
        pins, weights = self._table.decide(self._find(left), self._find(right))
        below = super().are_pinned(left, right) & (weights > 0.0)
        return np.where(pins >= 0.0, pins > 0.0, below)

    def lists(self) -> Iterator[PersonsList]:
        """Yield the pinned pairs as a list, then the lists of the source."""
        pins = self.decisions.pins()
        if pins:
            yield PairSimilarity(pins)
        yield from super().lists()

    def forbidden(self, word: str) -> set[str]:
        """Return the casefolded words that are forbidden as neighbours of a word."""
        names, forbidden = self._names(word), set()
        for line in self.decisions:
            if line.other is not None and line.verdict == ("pinned", 0.0):
                for left, right in ((line.word, line.other), (line.other, line.word)):
                    if not names.isdisjoint(self._names(left)):
                        forbidden.add(right.casefold())
        return forbidden

    def _names(self, word: str) -> set[str]:
        return {word.casefold(), *(() if self._keys is None else self._keys.names(word))}

    def _pinned_words(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        return self._table.has_pins[self._find(terms)]

    def _find(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """Return the table number of each word, or that of its term; -1 without decisions."""
        numbers = self._table.find(terms)
        if self._keys is None or not self._table.n_words:
            return numbers
        missing = np.flatnonzero(numbers < 0)
        if len(missing):
            numbers[missing] = self._table.find(self._keys.of([terms[i] for i in missing.tolist()]))
        return numbers

    def __repr__(self) -> str:
        return f"decided({self.source!r}, {len(self.decisions)} decisions)"

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether the source knows each term or a decision pins it, shape (n_terms,)."""
        return super().knows(terms) | self._pinned_words(terms)

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, with decisions applied."""
        check_pairs(left, right)
        pins, weights = self._table.decide(self._find(left), self._find(right))
        weighed = _weighed(similarities_by(self.source, left, right), weights)
        answer = np.where(pins >= 0.0, pins, weighed)
        answer[equal_strings(left, right)] = 1.0
        return answer

    def verdicts(self, left: Sequence[str], right: Sequence[str]) -> list[tuple[str, float]]:
        """Return the effect of the decisions on each pair.

        Returns
        -------
        list of (str, float)
            "pinned" and the similarity; "forbidden"; "isolated" (also for words with ``only``); or
            "weighed" and the factor, 1 without a decision.
        """
        check_pairs(left, right)
        decided = self._table.decide(self._find(left), self._find(right))
        answer = []
        for pin, weight in zip(*(values.tolist() for values in decided), strict=True):
            if pin >= 0.0:
                answer.append(("pinned" if pin else "forbidden", pin))
            else:
                answer.append(("weighed" if weight else "isolated", weight))
        return answer

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, with decisions applied."""
        check_limit(max_neighbors)
        if max_neighbors == 0 or len(among) == 0:
            return Neighbors.none(len(terms))
        words = self._find(terms)
        searched = self._searched.get(
            among, lambda: DecidedStrings.of(self._table, among, self._find(among))
        )
        free = self._table.weights[words] > 0.0
        # A term can lose at most as many neighbours as it has decided pairs.
        plain = (self._table.n_pairs[words] == 0) & (self._table.weights[words] == 1.0)
        n_more = 1 + int(self._table.n_pairs[words].max(initial=0))
        groups = [
            (np.flatnonzero(~free), 0),
            (np.flatnonzero(free & plain), max_neighbors),
            (np.flatnonzero(free & ~plain), max_neighbors + n_more),
        ]
        return neighbors_in_rounds(
            lambda some, asked, limit: self._best(
                some, words[asked], searched, max_neighbors, limit
            ),
            terms,
            groups,
        )

    def _best(
        self,
        terms: Sequence[str],
        words: NDArray[np.int64],
        searched: DecidedStrings,
        max_neighbors: int,
        limit: int,
    ) -> Settled:
        """Best neighbours among the source's neighbours and the pinned ones.

        The second result is true for terms whose neighbours are final, that is, where no neighbour
        beyond the source's `limit` can come before the last one: weights are at most 1, so an
        unlisted similarity is at most the last listed one times the term's own weight.
        """
        table = self._table
        found = Neighbors.none(len(terms))
        if limit and len(searched.free):
            found = neighbors_by(self.source, terms, searched.free, max_neighbors=limit)
        rows, places = found.rows(), searched.positions[found.indices]
        decided, weights = table.decide(words[rows], searched.words[places])
        weighed = _weighed(found.similarities, weights)
        weighed[decided >= 0.0] = 0.0
        pairs = (rows, places, weighed), searched.pinned_to(words, table)
        best = self._order.best(
            searched.strings, *pairs, n_terms=len(terms), max_neighbors=max_neighbors
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

    def state(self) -> SourceState:
        """State from which an equal source can be built."""
        lines = self.decisions.lines
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
        return SourceState("decided", {}, arrays, (state_of(self.source),))

    @classmethod
    def from_state(cls, state: SourceState) -> DecidedSimilarity:
        """Build the source from its state."""
        arrays = state.arrays
        strings: list[str | None] = [*unpack_strings(arrays["strings"], arrays["offsets"]), None]
        columns = (arrays[name].tolist() for name in ("words", "signs", "others", "values"))
        lines = tuple(
            Decision(str(strings[word]), _SIGNS[sign], strings[other], value)
            for word, sign, other, value in zip(*columns, strict=True)
        )
        return cls(source_from_state(state.parts[0]), Decisions(lines))


def _weighed(raw: NDArray[np.float32], weights: NDArray[np.float64]) -> NDArray[np.float32]:
    return (raw.astype(np.float64) * weights).astype(np.float32)
