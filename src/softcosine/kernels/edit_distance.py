"""Strings that are few edits apart: found by common pieces, then measured exactly.

Strings are code points, one after another: string ``s`` is ``codes[starts[s]:starts[s + 1]]``.

Two strings within k insertions, deletions and substitutions have a common subsequence that either
reaches by deleting at most k characters (Mor & Fraenkel 1982), so a string that keeps a hash of
everything that such deletions leave of it is found by the hashes of the other. What deletions
leave grows like length^k, so strings longer than `max_deleted` keep the hashes of k + 1 equal
pieces instead: one of them stands unchanged, and nearly in place, in every string within k edits
(Li, Deng, Wang & Feng 2011). A hash only proposes; `_distance` decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softcosine.kernels.jit import helper, kernel

__all__ = ["fill_buckets", "find_within", "measure_pairs", "write_keys"]

_PRIME = 2**31 - 1  # hashes are polynomials modulo this, so that products stay below 2**62
_BASE = 1_190_494_759
_PIECE = 668_265_263
_UNSET = -(2**40)
_BITS = 60  # characters of a string that is compared bit by bit
_SLOTS = 255


@helper
def _times_plus(a: int, b: int, c: int) -> int:
    """Return a b + c modulo the prime, for non-negative numbers below 2**31."""
    x = a * b + c
    x = (x & _PRIME) + (x >> 31)
    return x - _PRIME if x >= _PRIME else x


@helper
def _limit(scores: NDArray[np.float32]) -> int:
    """Greatest distance whose similarity counts, given those of the distances from 0 on."""
    limit = scores.shape[0] - 1
    while limit > 0 and scores[limit] == 0.0:
        limit -= 1
    return limit


@helper
def _distance(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    limit: int,
    reach: NDArray[np.int64],
) -> int:
    """Levenshtein distance, or limit + 1 if it is greater (Ukkonen 1985; Landau & Vishkin 1989).

    `reach` is scratch of 2 limit + 3 places or more: how far every diagonal is reached with so
    many edits. O(length + limit²) for most pairs, O(length limit) at most.
    """
    n = left.shape[0]
    m = right.shape[0]
    across = m - n
    if across > limit or -across > limit:
        return limit + 1
    i = 0
    while i < n and i < m and left[i] == right[i]:
        i += 1
    if across == 0 and i == n:
        return 0
    middle = limit + 1
    for place in range(2 * limit + 3):
        reach[place] = _UNSET
    reach[middle] = i
    for edits in range(1, limit + 1):
        # Diagonals from which the rest of the edits cannot lead to the end are left as they are.
        spare = limit - edits
        first = max(-edits, across - spare)
        last = min(edits, across + spare)
        before = reach[middle + first - 1]
        for diagonal in range(first, last + 1):
            own = reach[middle + diagonal]
            i = max(own + 1, max(before, reach[middle + diagonal + 1] + 1))
            before = own
            i = min(i, min(n, m - diagonal))
            if i < 0 or i + diagonal < 0:
                continue
            while i < n and i + diagonal < m and left[i] == right[i + diagonal]:
                i += 1
            reach[middle + diagonal] = i
            if diagonal == across and i == n:
                return edits
    return limit + 1


@helper
def _set_letters(
    string: NDArray[np.int32], letters: NDArray[np.int32], masks: NDArray[np.int64]
) -> bool:
    """Note in which places of a string each of its characters stands, as bits.

    False if the string is too long or two of its characters share a place in the tables.
    """
    masks[:] = 0
    n = string.shape[0]
    if n == 0 or n > _BITS:
        return False
    for i in range(n):
        slot = string[i] & _SLOTS
        if masks[slot] != 0 and letters[slot] != string[i]:
            return False
        letters[slot] = string[i]
        masks[slot] |= np.int64(1) << i
    return True


@helper
def _bit_distance(
    letters: NDArray[np.int32], masks: NDArray[np.int64], n: int, right: NDArray[np.int32]
) -> int:
    """Levenshtein distance from a string of n characters set by `_set_letters` (Myers 1999).

    All cells of a column at once, without a branch (Hyyrö 2003). O(length).
    """
    whole = (np.int64(1) << n) - 1
    rises = whole  # cells that are one more than the cell above
    falls = np.int64(0)
    distance = n
    for i in range(right.shape[0]):
        slot = right[i] & _SLOTS
        equal = masks[slot] if letters[slot] == right[i] else np.int64(0)
        level = ((((equal & rises) + rises) ^ rises) | equal | falls) & whole
        up = falls | (whole ^ (level | rises))
        down = level & rises
        distance += (up >> (n - 1)) - (down >> (n - 1))
        up = ((up << 1) | 1) & whole
        down = (down << 1) & whole
        rises = down | (whole ^ (level | up))
        falls = up & level
    return distance


@helper
def _write_deletions(
    string: NDArray[np.int32],
    n_deletions: int,
    rests: NDArray[np.int64],
    powers: NDArray[np.int64],
    keys: NDArray[np.int32],
) -> int:
    """Write a hash of everything that at most so many deletions leave; returns how many.

    Of equal neighbours the first is deleted, since deleting either leaves the same. `rests`,
    `powers` are scratch, longer than the string.
    """
    n = string.shape[0]
    rests[n] = 0
    powers[0] = 1
    for i in range(n):
        powers[i + 1] = _times_plus(powers[i], _BASE, 0)
    for i in range(n - 1, -1, -1):
        rests[i] = _times_plus(string[i] + 1, powers[n - 1 - i], rests[i + 1])
    keys[0] = rests[0]
    n_keys = 1
    if n_deletions < 1:
        return n_keys
    one = 0  # hash of what is kept before the first deletion, and so on
    for i in range(n):
        if i == 0 or string[i] != string[i - 1]:
            keys[n_keys] = _times_plus(one, powers[n - 1 - i], rests[i + 1])
            n_keys += 1
            two = one
            for j in range(i + 1, n if n_deletions >= 2 else 0):
                if j == i + 1 or string[j] != string[j - 1]:
                    keys[n_keys] = _times_plus(two, powers[n - 1 - j], rests[j + 1])
                    n_keys += 1
                    three = two
                    for k in range(j + 1, n if n_deletions >= 3 else 0):
                        if k == j + 1 or string[k] != string[k - 1]:
                            keys[n_keys] = _times_plus(three, powers[n - 1 - k], rests[k + 1])
                            n_keys += 1
                        three = _times_plus(three, _BASE, string[k] + 1)
                two = _times_plus(two, _BASE, string[j] + 1)
        one = _times_plus(one, _BASE, string[i] + 1)
    return n_keys


@helper
def _piece_key(string: NDArray[np.int32], length: int, piece: int) -> int:
    """Hash of a piece of a string of that length."""
    key = _times_plus(length & _PRIME, _PIECE, piece + 1)
    for i in range(string.shape[0]):
        key = _times_plus(key, _BASE, string[i] + 1)
    return key


@helper
def _write_pieces(
    string: NDArray[np.int32], size: int, k: int, keys: NDArray[np.int32], n_keys: int
) -> int:
    """Add the hashes under which a string finds longer ones of that size; returns how many in all.

    Of the k + 1 pieces that at most k edits leave unchanged, take the first that has as many edits
    before it as pieces: those move it at most so far, and the rest moves it back from the end.
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
def write_keys(
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
    n_deletions: NDArray[np.int64],
    k: int,
    first: int,
    last: int,
    key_starts: NDArray[np.int64],
    keys: NDArray[np.int32],
) -> None:
    """Write the hashes by which the strings `first` to `last` are found.

    codes, starts read; n_deletions (k + max_deleted + 1,) read: by length, how many characters a
    string can have to lose to become what it shares with a similar one, -1 if none is similar;
    strings longer than max_deleted keep k + 1 pieces instead; key_starts (n_strings + 1,) read:
    where the keys of each string begin; keys (key_starts[-1],) out: -1 where a string has fewer.
    Strings are independent. O(keys), and O(length) for a long string.
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
def fill_buckets(
    key_starts: NDArray[np.int64],
    keys: NDArray[np.int32],
    mask: int,
    bucket_starts: NDArray[np.int64],
    entries: NDArray[np.int64],
) -> None:
    """Sort strings into buckets by the low bits of their hashes.

    key_starts, keys read: as written by write_keys; mask read: one less than the number of
    buckets, a power of two; bucket_starts (n_buckets + 1,) out; entries (n_keys,) out: hash << 32
    | string, bucket after bucket, rising strings within one. O(keys + buckets).
    """
    bucket_starts[:] = 0
    for i in range(keys.shape[0]):
        if keys[i] >= 0:
            bucket_starts[keys[i] & mask] += 1
    end = 0
    for bucket in range(bucket_starts.shape[0]):
        end += bucket_starts[bucket]
        bucket_starts[bucket] = end
    # Filled from the back, each start comes down from the end of its bucket to its beginning.
    for string in range(key_starts.shape[0] - 2, -1, -1):
        for i in range(key_starts[string], key_starts[string + 1]):
            if keys[i] >= 0:
                bucket = keys[i] & mask
                bucket_starts[bucket] -= 1
                entries[bucket_starts[bucket]] = (np.int64(keys[i]) << 32) | string


@helper
def _keep_best(
    kinds: NDArray[np.uint8],
    n_of_kind: NDArray[np.int64],
    scores: NDArray[np.float32],
    max_kept: int,
    found: NDArray[np.int32],
    similarities: NDArray[np.float32],
) -> int:
    """Keep of the strings found those that may be among the best; returns how many.

    Each is of one of few kinds, and all of a kind are equally similar: whole kinds are dropped
    that come after the best `max_kept`.
    """
    n_found = 0
    cut = np.float32(0.0)
    for kind in range(scores.shape[0]):
        n_found += n_of_kind[kind]
    if n_found > max_kept:
        for kind in range(scores.shape[0]):
            better = 0
            for other in range(scores.shape[0]):
                if scores[other] >= scores[kind]:
                    better += n_of_kind[other]
            if better >= max_kept:
                cut = max(cut, scores[kind])
    end = 0
    for i in range(n_found):
        found[end] = found[i]
        similarities[end] = scores[kinds[i]]
        end += 1 if scores[kinds[i]] >= cut else 0
    return end


@kernel(
    "int64(int32[::1], int64[::1], int64[::1], float32[:, :, ::1], int32[::1], int64[::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1], int64, int64, int64, int32[::1],"
    " uint8[::1], int32[::1], float32[::1], int64[::1])"
)
def find_within(
    asked_codes: NDArray[np.int32],
    asked_starts: NDArray[np.int64],
    asked_lengths: NDArray[np.int64],
    scores: NDArray[np.float32],
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
    n_deletions: NDArray[np.int64],
    n_of_length: NDArray[np.int64],
    bucket_starts: NDArray[np.int64],
    entries: NDArray[np.int64],
    max_found: int,
    first: int,
    last: int,
    seen: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    found: NDArray[np.int32],
    similarities: NDArray[np.float32],
    ends: NDArray[np.int64],
) -> int:
    """Find the strings that are near enough to the asked ones from `first` to `last`.

    Equal strings are left out, and some that are less similar than `max_found` others. Returns the
    first asked string that had no room left, or `last`.

    asked_codes, asked_starts, codes, starts read; scores (n_lengths, k + 1, k + 1) read: similarity
    by number of the asked string's length, by how much longer the other one is (0 if it is not),
    and by distance; 0 where it does not count; asked_lengths (n_asked,) read: number of the length
    of each; n_deletions read: as for write_keys; n_of_length (longest + 1,) read: how many strings
    have each length; bucket_starts, entries read: as filled by fill_buckets; seen (n_strings,)
    scratch, no value of it from first + 1 to last; kinds (n_strings + 1,) scratch; found,
    similarities (more than n_strings,) out; ends (n_asked,) out: where the strings found for each
    asked one end. Asked strings are independent.
    """
    k = scores.shape[1] - 1
    max_deleted = n_deletions.shape[0] - 1 - k
    mask = bucket_starts.shape[0] - 2
    longest = n_of_length.shape[0] - 1
    reach = np.empty(2 * k + 3, np.int64)
    n = max_deleted + k
    rests = np.empty(n + 1, np.int64)
    powers = np.empty(n + 1, np.int64)
    room = n * (1 + n * (1 + n)) if k > 2 else n * (1 + n)
    keys = np.empty(1 + room + (2 * k + 1) * (k + 1) * (2 * k + 1), np.int32)
    letters = np.zeros(_SLOTS + 1, np.int32)
    masks = np.zeros(_SLOTS + 1, np.int64)
    n_of_kind = np.empty((k + 1) * (k + 1), np.int64)
    limits = np.empty(k + 1, np.int64)
    end = 0
    for row in range(first, last):
        if found.shape[0] - end <= seen.shape[0]:
            return row
        own = asked_codes[asked_starts[row] : asked_starts[row + 1]]
        length = own.shape[0]
        n_keys = 0
        if length <= max_deleted + k and n_deletions[length] >= 0:
            n_keys = _write_deletions(own, n_deletions[length], rests, powers, keys)
        for size in range(max(max_deleted + 1, length - k), min(longest, length + k) + 1):
            if n_of_length[size] > 0:
                n_keys = _write_pieces(own, size, k, keys, n_keys)
        row_scores = scores[asked_lengths[row]]
        for longer in range(k + 1):
            limits[longer] = _limit(row_scores[longer])
        quick = _set_letters(own, letters, masks)
        mark = row + 1
        n_proposed = 0
        for i in range(n_keys):
            key = keys[i]
            for place in range(bucket_starts[key & mask], bucket_starts[(key & mask) + 1]):
                entry = entries[place]
                string = entry & 0xFFFFFFFF
                if entry >> 32 == key and seen[string] != mark:
                    seen[string] = mark
                    found[end + n_proposed] = string
                    n_proposed += 1
        n_of_kind[:] = 0
        n_found = 0
        for i in range(end, end + n_proposed):
            string = found[i]
            other = codes[starts[string] : starts[string + 1]]
            longer = min(max(other.shape[0] - length, 0), k)
            limit = limits[longer]
            if quick:
                distance = _bit_distance(letters, masks, length, other)
            else:
                distance = _distance(own, other, limit, reach)
            # Whether it counts is hard to foresee, so that a branch would cost more.
            counts = 1 if 0 < distance <= limit else 0
            kind = longer * (k + 1) + min(distance, k)
            found[end + n_found] = string
            kinds[n_found] = kind
            n_of_kind[kind] += counts
            n_found += counts
        end += _keep_best(
            kinds, n_of_kind, row_scores.reshape(-1), max_found, found[end:], similarities[end:]
        )
        ends[row] = end
    return last


@kernel(
    "void(int32[::1], int64[::1], int64[::1], float32[:, :, ::1], int32[::1], int64[::1], int64,"
    " int64, float32[::1])"
)
def measure_pairs(
    left: NDArray[np.int32],
    left_starts: NDArray[np.int64],
    left_lengths: NDArray[np.int64],
    scores: NDArray[np.float32],
    right: NDArray[np.int32],
    right_starts: NDArray[np.int64],
    first: int,
    last: int,
    similarities: NDArray[np.float32],
) -> None:
    """Similarities of the pairs `first` to `last` of strings.

    left, left_starts, right, right_starts read; scores, left_lengths read: as scores and
    asked_lengths for find_within; similarities (n_pairs,) out: 1 for equal strings. O(length) a
    pair.
    """
    k = scores.shape[1] - 1
    reach = np.empty(2 * k + 3, np.int64)
    for pair in range(first, last):
        a = left[left_starts[pair] : left_starts[pair + 1]]
        b = right[right_starts[pair] : right_starts[pair + 1]]
        of_distance = scores[left_lengths[pair], min(max(b.shape[0] - a.shape[0], 0), k)]
        limit = _limit(of_distance)
        distance = _distance(a, b, limit, reach)
        similarities[pair] = of_distance[distance] if distance <= limit else np.float32(0.0)
