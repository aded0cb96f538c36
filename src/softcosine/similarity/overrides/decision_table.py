"""Decisions about words as arrays, and a searched sequence grouped by these words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import slices
from softcosine.similarity.overrides.decision_list import Decisions

__all__ = ["DecisionTable", "Searched"]


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

    def _pairs(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which pairs have decisions, and their positions in `keys`."""
        asked = np.flatnonzero((self.n_pairs[rows] > 0) & (self.n_pairs[columns] > 0))
        keys = rows[asked] * self.n_words + columns[asked]
        places = np.searchsorted(self.keys, keys)
        there = places < len(self.keys)
        there[there] = self.keys[places[there]] == keys[there]
        return asked[there], places[there]

    def pins(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the pinned similarity of each pair of words, -1 if it is not pinned."""
        answer = np.full(len(rows), -1.0, np.float32)
        pairs, places = self._pairs(rows, columns)
        answer[pairs] = self.pair_pins[places]
        return answer

    def pair_weight(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the factor of each pair: its own weight times those of both words."""
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
class Searched:
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
    def of(cls, table: DecisionTable, strings: Sequence[str], words: NDArray[np.int64]) -> Searched:
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
