"""Exact search for all strings within a few edits, without comparing all pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine._threads import for_each_chunk
from softcosine.kernels.common_parts import fill_buckets, propose, write_keys
from softcosine.kernels.edit_distance import measure_found, measure_pairs
from softcosine.similarity.match_chunks import MatchChunk

# Strings up to this length are found through deletions, longer ones through their substrings.
_MAX_DELETED = {1: 16, 2: 14, 3: 12}
_CHUNK = 4096
_ROOM = 1 << 20  # pairs per chunk, in addition to one for each string


@dataclass(frozen=True, slots=True)
class CodePoints:
    """Strings as concatenated code points.

    Attributes
    ----------
    codes : ndarray of shape (n_code_points,), int32
    starts : ndarray of shape (n_strings + 1,), int64
        String ``s`` is ``codes[starts[s]:starts[s + 1]]``.
    """

    codes: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of strings."""
        return len(self.starts) - 1

    @property
    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """All arrays, in the order of the kernels' arguments."""
        return self.codes, self.starts

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of code points of each string."""
        return np.diff(self.starts)

    @classmethod
    def of(cls, strings: Sequence[str]) -> CodePoints:
        """Code points of strings; lone surrogates count as one each."""
        starts = running_sum(map(len, strings))
        encoded = "".join(strings).encode("utf-32-le", "surrogatepass")
        return cls(np.frombuffer(encoded, "<u4").astype(np.int32), starts)


@dataclass(frozen=True, slots=True)
class Scores:
    """Table of similarities by distance and length, for some strings.

    Attributes
    ----------
    values : ndarray of shape (n_lengths, k + 1, k + 1), float32
        Indexed by the number of the string's length, by how much longer the other string is (0 if
        it is not longer), and by distance; 0 where the pair does not count.
    lengths : ndarray of shape (n_strings,), int64
        Index into `values` of the length of each string.
    """

    values: NDArray[np.float32]
    lengths: NDArray[np.int64]

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """All arrays, in the order of the kernels' arguments."""
        return self.lengths, self.values

    @classmethod
    def of(cls, strings: CodePoints, k: int, value: Callable[[int, int], float]) -> Scores:
        """Tabulate ``value(distance, length of the longer string)``."""
        distinct, lengths = np.unique(strings.lengths, return_inverse=True)
        table = [
            [
                [value(distance, length + longer) for distance in range(k + 1)]
                for longer in range(k + 1)
            ]
            for length in distinct.tolist()
        ]
        values = np.array(table, np.float32).reshape(-1, k + 1, k + 1)
        return cls(values, lengths.astype(np.int64, copy=False))


class NearbyStrings:
    """Strings indexed for searches within a few edits.

    Memory: 12 bytes for each way to delete characters from a string of at most 12 to 16 characters.
    English words have on average about 8, 30 or 80 ways for 1, 2 or 3 edits.

    Parameters
    ----------
    strings : sequence of str
    ranks : ndarray of shape (n_strings,), integers
        Order in which strings are compared; the search is faster if similar strings are adjacent.
    least : ndarray of shape (k + 1,), int64
        For each distance from 0 to k, the least length of the longer string for a similarity above
        0; never decreasing, k from 1 to 3.
    max_deleted : int, optional
        Length up to which strings are found through deletions.
    """

    __slots__ = (
        "_bucket_starts",
        "_codes",
        "_entries",
        "_n_deletions",
        "_n_of_length",
        "_positions",
    )

    def __init__(
        self,
        strings: Sequence[str],
        ranks: NDArray[np.integer[Any]],
        least: NDArray[np.int64],
        *,
        max_deleted: int | None = None,
    ) -> None:
        k = len(least) - 1
        lengths = np.fromiter(map(len, strings), np.int64, len(strings))
        # Strings of one length are adjacent, so that successive comparisons take the same branches.
        self._positions = np.lexsort((ranks, lengths)).astype(np.int32)
        self._codes = codes = CodePoints.of([strings[i] for i in self._positions.tolist()])
        self._n_of_length = np.bincount(lengths).astype(np.int64)
        longest = _MAX_DELETED[k] if max_deleted is None else max(max_deleted, k)
        self._n_deletions = _n_deletions(least, longest)
        # The ways to delete characters from a string of each length.
        n_keys = [
            sum(comb(n, deleted) for deleted in range(self._n_deletions[n] + 1))
            for n in range(longest + 1)
        ]
        n_keys.append(k + 1)
        key_starts = running_sum(np.array(n_keys)[np.minimum(codes.lengths, longest + 1)])
        keys = np.empty(key_starts[-1], np.int32)

        def work(first: int, last: int) -> None:
            write_keys(*codes.arrays, self._n_deletions, k, first, last, key_starts, keys)

        for_each_chunk(work, len(strings), chunk=_CHUNK)
        used = int(np.count_nonzero(keys >= 0))
        n_buckets = 1 << min(30, max(4, used.bit_length() - 1))
        self._bucket_starts = np.empty(n_buckets + 1, np.int64)
        self._entries = np.empty(used, np.int64)
        fill_buckets(key_starts, keys, n_buckets - 1, self._bucket_starts, self._entries)

    def __len__(self) -> int:
        """Return the number of strings."""
        return len(self._codes)

    def find(
        self, asked: CodePoints, scores: Scores, first: int, last: int, *, max_found: int
    ) -> Iterator[MatchChunk]:
        """Yield the matches of the query strings from `first` to `last`.

        Equal strings are omitted, and so may be strings that are less similar than `max_found`
        others. If the matches exceed the buffer, they come in several chunks.
        """
        room = len(self) + (_ROOM if last - first > 1 else 0)
        columns, similarities = np.empty(room, np.int32), np.empty(room, np.float32)
        kinds = np.empty(room, np.uint8)
        seen = np.zeros(len(self), np.int32)
        ends = np.zeros(last, np.int64)
        k = scores.values.shape[1] - 1
        buckets = self._n_deletions, k, self._n_of_length, self._bucket_starts, self._entries
        compared = (*asked.arrays, *scores.arrays, *self._codes.arrays, max_found)
        while first < last:
            stop = propose(*asked.arrays, *buckets, first, last, seen, columns, ends)
            n_pairs = measure_found(*compared, first, stop, columns, ends, kinds, similarities)
            positions = self._positions[columns[:n_pairs]]
            yield MatchChunk(
                first, ends[first:stop].copy(), positions, similarities[:n_pairs].copy()
            )
            first = stop


class WordList:
    """Strings for the look-up of single words by comparison with all strings.

    It takes about 50 bytes per string and 0.1 seconds for 400,000 strings, where `NearbyStrings`
    takes 1,000 bytes and some seconds. In return, a look-up takes milliseconds.
    """

    __slots__ = ("_codes", "_lengths", "_letters", "strings")

    def __init__(self, strings: Sequence[str]) -> None:
        self.strings = strings
        self._codes = CodePoints.of(strings)
        self._lengths = self._codes.lengths.astype(np.int32)
        self._letters = _letters(self._codes)

    def find(self, word: str, k: int) -> list[tuple[int, int]]:
        """Return the strings within a distance of a word.

        Parameters
        ----------
        word : str
        k : int
            The greatest distance, from 1 to 3.

        Returns
        -------
        list of (int, int)
            Number of the string and distance; 0 for the word itself.
        """
        asked = CodePoints.of([word])
        found = np.flatnonzero(np.abs(self._lengths - len(word)) <= k)
        # One edit changes at most two of the letter bits.
        n_other = _n_bits(self._letters[found] ^ _letters(asked)[0])
        equal = [i for i in found[n_other == 0].tolist() if self.strings[i] == word]
        found = found[n_other <= 2 * k].astype(np.int32)
        # A distinct value for each distance, so that the distance can be read back.
        scores = Scores.of(asked, k, lambda distance, _: k + 1 - distance)
        ends, kinds = np.array([found.shape[0]]), np.empty(found.shape[0], np.uint8)
        values = np.empty(found.shape[0], np.float32)
        compared = (*asked.arrays, *scores.arrays, *self._codes.arrays, len(found))
        n = measure_found(*compared, 0, 1, found, ends, kinds, values)
        distances = (k + 1 - values[:n]).astype(int).tolist()
        return [*((i, 0) for i in equal), *zip(found[:n].tolist(), distances, strict=True)]


def _letters(strings: CodePoints) -> NDArray[np.uint64]:
    """Bit set of the characters of each string; several characters share a bit."""
    bits = np.uint64(1) << (strings.codes & 63).astype(np.uint64)
    letters = np.zeros(len(strings), np.uint64)
    some = strings.lengths > 0
    if some.any():
        letters[some] = np.bitwise_or.reduceat(bits, strings.starts[:-1][some])
    return letters


def _n_bits(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Count the set bits of each number (Warren 2012, figure 5-2)."""
    ones, twos, fours = (
        np.uint64(mask) for mask in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F)
    )
    numbers = numbers - ((numbers >> np.uint64(1)) & ones)
    numbers = (numbers & twos) + ((numbers >> np.uint64(2)) & twos)
    numbers = (numbers + (numbers >> np.uint64(4))) & fours
    return (numbers * np.uint64(0x0101010101010101)) >> np.uint64(56)


def _n_deletions(least: NDArray[np.int64], longest: int) -> NDArray[np.int64]:
    """By length, the greatest number of characters to delete from a string; see `write_keys`.

    For a string that is `more` characters longer, it is the greatest distance that counts for the
    pair, less `more`.
    """
    k = len(least) - 1
    lengths = np.arange(longest + k + 1)
    most = np.full(len(lengths), -1)
    for more in range(k + 1):
        limits = np.searchsorted(least, lengths + more, side="right") - 1
        most = np.maximum(most, np.where(limits > 0, limits - more, -1))
    return most.astype(np.int64)


def similarities_of_pairs(
    left: CodePoints, right: CodePoints, scores: Scores
) -> NDArray[np.float32]:
    """Similarities of pairs of strings, shape (n_pairs,); `scores` belong to the left strings."""
    similarities = np.empty(len(left), np.float32)

    def work(first: int, last: int) -> None:
        measure_pairs(*left.arrays, *scores.arrays, *right.arrays, first, last, similarities)

    for_each_chunk(work, len(left), chunk=65_536)
    return similarities
