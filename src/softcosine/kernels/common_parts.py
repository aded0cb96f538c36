"""Candidate strings within a few edits, found by common hashes.

Strings are concatenated code points: string ``s`` is ``codes[starts[s]:starts[s + 1]]``.

Two strings within k insertions, deletions and substitutions have a common subsequence that each
reaches by at most k deletions (Mor & Fraenkel 1982). So a string is stored under the hashes of all
results of such deletions, and found by the hashes of the other string. Their number grows like
length^k, so strings longer than `max_deleted` are stored under the hashes of k + 1 equal slices
instead: one of them occurs unchanged, and almost in place, in every string within k edits (Li,
Deng, Wang & Feng 2011). No string within k edits is missed; candidates must still be measured.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.character_ngrams import PRIME, times_plus
from softcosine.kernels.jit import helper, kernel

_BASE = 1_190_494_759
_PIECE = 668_265_263


@helper
def _write_deletions(string, n_deletions, rests, powers, keys):
    """Write a hash of each result of at most that many deletions; returns their number.

    Of equal neighbours only the first is deleted, because deleting either has the same result.
    `rests`, `powers` are scratch, longer than the string.
    """
    n = string.shape[0]
    rests[n] = 0
    powers[0] = 1
    for i in range(n):
        powers[i + 1] = times_plus(powers[i], _BASE, 0)
    for i in range(n - 1, -1, -1):
        rests[i] = times_plus(string[i] + 1, powers[n - 1 - i], rests[i + 1])
    keys[0] = rests[0]
    n_keys = 1
    if n_deletions < 1:
        return n_keys
    one = 0  # hash of the characters before the first deletion, and so on
    for i in range(n):
        if i == 0 or string[i] != string[i - 1]:
            keys[n_keys] = times_plus(one, powers[n - 1 - i], rests[i + 1])
            n_keys += 1
            two = one
            for j in range(i + 1, n if n_deletions >= 2 else 0):
                if j == i + 1 or string[j] != string[j - 1]:
                    keys[n_keys] = times_plus(two, powers[n - 1 - j], rests[j + 1])
                    n_keys += 1
                    three = two
                    for k in range(j + 1, n if n_deletions >= 3 else 0):
                        if k == j + 1 or string[k] != string[k - 1]:
                            keys[n_keys] = times_plus(three, powers[n - 1 - k], rests[k + 1])
                            n_keys += 1
                        three = times_plus(three, _BASE, string[k] + 1)
                two = times_plus(two, _BASE, string[j] + 1)
        one = times_plus(one, _BASE, string[i] + 1)
    return n_keys


@helper
def _piece_key(string, length, piece):
    """Hash of a slice of a string of that length."""
    key: int = times_plus(length & PRIME, _PIECE, piece + 1)
    for i in range(string.shape[0]):
        key = times_plus(key, _BASE, string[i] + 1)
    return key


@helper
def _write_pieces(string, size, k, keys, n_keys):
    """Add the hashes by which a string finds longer ones of that size; returns the new total.

    Of the k + 1 slices, at least one is unchanged by k edits. Take the first with as many edits
    before it as slices: they move it by at most that many places, and the rest of the edits moves
    it back relative to the end.
    """
    length = string.shape[0]
    across = length - size
    for piece in range(k + 1):
        begin = piece * size // (k + 1)
        end = (piece + 1) * size // (k + 1)
        for move in range(max(-piece, across - k + piece), piece + 1):
            if move > across + k - piece or abs(move) + abs(move - across) > k:
                continue
            if begin + move >= 0 and end + move <= length:
                keys[n_keys] = _piece_key(string[begin + move : end + move], size, piece)
                n_keys += 1
    return n_keys


@kernel("void(int32[::1], int64[::1], int64[::1], int64, int64, int64, int64[::1], int32[::1])")
def write_keys(codes, starts, n_deletions, k, first, last, key_starts, keys):
    """Write the hashes under which the strings `first` to `last` are stored.

    codes, starts read; n_deletions (k + max_deleted + 1,) read: by length, the maximum number of
    deletions that lead to a common subsequence with a similar string, -1 if no string is similar;
    strings longer than max_deleted have k + 1 slices instead; key_starts (n_strings + 1,) read:
    starts of the strings' keys; keys (key_starts[-1],) out: -1 fills unused places. Strings are
    independent. O(keys), and O(length) for a long string.
    """
    max_deleted = n_deletions.shape[0] - 1 - k
    rests = np.empty(max_deleted + 1, np.int64)
    powers = np.empty(max_deleted + 1, np.int64)
    for string in range(first, last):
        own = codes[starts[string] : starts[string + 1]]
        length = own.shape[0]
        place = keys[key_starts[string] : key_starts[string + 1]]
        n_keys = 0
        if length > max_deleted:
            for piece in range(k + 1):
                begin = piece * length // (k + 1)
                end = (piece + 1) * length // (k + 1)
                place[piece] = _piece_key(own[begin:end], length, piece)
            n_keys = k + 1
        elif n_deletions[length] >= 0:
            n_keys = _write_deletions(own, n_deletions[length], rests, powers, place)
        place[n_keys:] = -1


@kernel("void(int64[::1], int32[::1], int64, int64[::1], int64[::1])")
def fill_buckets(key_starts, keys, mask, bucket_starts, entries):
    """Sort strings into buckets by the low bits of their hashes.

    key_starts, keys read: from write_keys; mask read: number of buckets, a power of two, minus one;
    bucket_starts (n_buckets + 1,) out; entries (n_keys,) out: hash << 32 | string, bucket after
    bucket, strings ascending within each. O(keys + buckets).
    """
    bucket_starts[:] = 0
    for i in range(keys.shape[0]):
        if keys[i] >= 0:
            bucket_starts[keys[i] & mask] += 1
    end = 0
    for bucket in range(bucket_starts.shape[0]):
        end += bucket_starts[bucket]
        bucket_starts[bucket] = end
    # Filled from the back: each start moves from the end of its bucket to its beginning.
    for string in range(key_starts.shape[0] - 2, -1, -1):
        for i in range(key_starts[string], key_starts[string + 1]):
            if keys[i] >= 0:
                bucket = keys[i] & mask
                bucket_starts[bucket] -= 1
                entries[bucket_starts[bucket]] = (np.int64(keys[i]) << 32) | string


@kernel(
    "int64(int32[::1], int64[::1], int64[::1], int64, int64[::1], int64[::1], int64[::1], int64,"
    " int64, int32[::1], int32[::1], int64[::1])"
)
def propose(
    codes, starts, n_deletions, k, n_of_length, bucket_starts, entries, first, last, seen, proposed,
    ends,
):  # fmt: skip
    """Write the candidates of the query strings `first` to `last`, without duplicates.

    Returns the first query string without enough space, or `last`.

    codes, starts read: the query strings; n_deletions, k read: as for write_keys; n_of_length
    (longest + 1,) read: number of searched strings of each length; bucket_starts, entries read:
    from fill_buckets; seen (n_strings,) scratch, without values from first + 1 to last; proposed
    (at least n_strings,) out; ends (n_asked,) out: end of each query string's candidates. Query
    strings are independent.
    """
    max_deleted = n_deletions.shape[0] - 1 - k
    mask = bucket_starts.shape[0] - 2
    longest = n_of_length.shape[0] - 1
    n = max_deleted + k
    rests = np.empty(n + 1, np.int64)
    powers = np.empty(n + 1, np.int64)
    room = n * (1 + n * (1 + n)) if k > 2 else n * (1 + n)
    keys = np.empty(1 + room + (2 * k + 1) * (k + 1) * (2 * k + 1), np.int32)
    end = 0
    for row in range(first, last):
        if proposed.shape[0] - end < seen.shape[0]:
            return row
        own = codes[starts[row] : starts[row + 1]]
        length = own.shape[0]
        n_keys = 0
        if length <= max_deleted + k and n_deletions[length] >= 0:
            n_keys = _write_deletions(own, n_deletions[length], rests, powers, keys)
        for size in range(max(max_deleted + 1, length - k), min(longest, length + k) + 1):
            if n_of_length[size] > 0:
                n_keys = _write_pieces(own, size, k, keys, n_keys)
        mark = row + 1
        for i in range(n_keys):
            key = keys[i]
            for place in range(bucket_starts[key & mask], bucket_starts[(key & mask) + 1]):
                entry = entries[place]
                string = entry & 0xFFFFFFFF
                if entry >> 32 == key and seen[string] != mark:
                    seen[string] = mark
                    proposed[end] = string
                    end += 1
        ends[row] = end
    return last
