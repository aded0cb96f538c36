"""All strings within a few edits of others, exactly, without comparing every two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from softcosine.kernels.edit_distance import fill_buckets, find_within, measure_pairs, write_keys
from softcosine.sources.threads import for_each_chunk

__all__ = ["CodePoints", "Nearby", "NearbyStrings", "distances_of_pairs"]

# Up to this length strings are found by what deletions leave of them, longer ones by their pieces.
_MAX_DELETED = {1: 16, 2: 14, 3: 12}
_CHUNK = 4096
_ROOM = 1 << 20  # pairs found before they are handed on; at least as many as there are strings


@dataclass(frozen=True, slots=True)
class CodePoints:
    """Strings as code points, one after another.

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
    def lengths(self) -> NDArray[np.int64]:
        """Number of code points of each string."""
        return np.diff(self.starts)

    @classmethod
    def of(cls, strings: Sequence[str]) -> CodePoints:
        """Code points of strings; lone surrogates count as one each."""
        starts = np.zeros(len(strings) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)), out=starts[1:])
        encoded = "".join(strings).encode("utf-32-le", "surrogatepass")
        return cls(np.frombuffer(encoded, "<u4").astype(np.int32), starts)


@dataclass(frozen=True, slots=True)
class Nearby:
    """Some asked strings in a row, and all that is near them.

    Attributes
    ----------
    first : int
        Number of the first asked string.
    ends : ndarray of shape (n_rows,), int64
        Where the pairs of each of them end.
    columns : ndarray of shape (n_pairs,), int32
        Numbers of the strings near them, in no order.
    distances : ndarray of shape (n_pairs,), uint8
        From 1.
    """

    first: int
    ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    distances: NDArray[np.uint8]


class NearbyStrings:
    """Strings prepared for being found by others that are few edits away.

    Memory: 12 bytes for each way to delete characters from a string of at most 12 to 16, on
    average some 10, 40 or 130 ways for 1, 2 or 3 edits and English words.

    Parameters
    ----------
    strings : CodePoints
    least : ndarray of shape (k + 1,), int64
        Length that the longer of two strings needs for each distance from 0 to k, at most 3, to
        count, never decreasing.
    """

    __slots__ = ("_bucket_starts", "_entries", "_least", "_n_deletions", "_n_of_length", "strings")

    def __init__(
        self, strings: CodePoints, least: NDArray[np.int64], *, max_deleted: int | None = None
    ) -> None:
        self.strings = strings
        self._least = least
        k = len(least) - 1
        longest = _MAX_DELETED[k] if max_deleted is None else max(max_deleted, k)
        self._n_deletions = _n_deletions(least, longest)
        lengths = strings.lengths
        self._n_of_length = np.bincount(lengths).astype(np.int64)
        key_starts = np.zeros(len(strings) + 1, np.int64)
        n_keys = [sum(comb(n, d) for d in range(self._n_deletions[n] + 1)) for n in range(longest + 1)]
        n_keys.append(k + 1)
        np.cumsum(np.array(n_keys)[np.minimum(lengths, longest + 1)], out=key_starts[1:])
        keys = np.empty(key_starts[-1], np.int32)

        def work(first: int, last: int) -> None:
            write_keys(
                strings.codes, strings.starts, self._n_deletions, k, first, last, key_starts, keys
            )

        for_each_chunk(work, len(strings), chunk=_CHUNK)
        used = int(np.count_nonzero(keys >= 0))
        n_buckets = 1 << min(30, max(4, used.bit_length() - 1))
        self._bucket_starts = np.empty(n_buckets + 1, np.int64)
        self._entries = np.empty(used, np.int64)
        fill_buckets(key_starts, keys, n_buckets - 1, self._bucket_starts, self._entries)

    def find(self, asked: CodePoints, first: int, last: int) -> list[Nearby]:
        """Find what is near the asked strings from `first` to `last`; equal ones are left out.

        The list has more than one entry where there is more than was made room for.
        """
        room = max(len(self.strings), _ROOM if last - first > 1 else 0)
        columns, distances = np.empty(room, np.int32), np.empty(room, np.uint8)
        ends = np.zeros(last, np.int64)
        seen = np.zeros(len(self.strings), np.int32)
        parts = []
        while first < last:
            stop = find_within(
                asked.codes, asked.starts, self.strings.codes, self.strings.starts, self._least,
                self._n_deletions, self._n_of_length, self._bucket_starts, self._entries,
                first, last, seen, columns, distances, ends,
            )  # fmt: skip
            n_pairs = ends[stop - 1]
            parts.append(
                Nearby(
                    first, ends[first:stop].copy(), columns[:n_pairs].copy(), distances[:n_pairs].copy()
                )
            )
            first = stop
        return parts


def _n_deletions(least: NDArray[np.int64], longest: int) -> NDArray[np.int64]:
    """By length, how many characters a string can have to lose; see `write_keys`.

    With a string that has `more` characters more, it is as many fewer than the greatest distance
    that counts for the two.
    """
    k = len(least) - 1
    lengths = np.arange(longest + k + 1)
    most = np.full(len(lengths), -1)
    for more in range(k + 1):
        limits = np.searchsorted(least, lengths + more, side="right") - 1
        most = np.maximum(most, np.where(limits > 0, limits - more, -1))
    return most.astype(np.int64)


def distances_of_pairs(
    left: CodePoints, right: CodePoints, least: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Distances of pairs of strings, shape (n_pairs,), 255 where they do not count."""
    distances = np.empty(len(left), np.uint8)

    def work(first: int, last: int) -> None:
        measure_pairs(
            left.codes, left.starts, right.codes, right.starts, least, first, last, distances
        )

    for_each_chunk(work, len(left), chunk=65_536)
    return distances
