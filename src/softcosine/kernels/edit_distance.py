"""Levenshtein distances of pairs and from one string to many, and similarities from them.

Strings are concatenated code points: string ``s`` is ``codes[starts[s]:starts[s + 1]]``.
Similarities are looked up by number of the first string's length, by how much longer the other one
is (at least 0), and by distance from 0 to k; 0 if the distance does not count.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel

_UNSET = -(2**40)
_BITS = 60  # maximum length of a string for the bit-parallel comparison
_SLOTS = 255


@helper
def _limit(scores):
    """Largest distance whose similarity counts, given the similarities by distance."""
    limit: int = scores.shape[0] - 1
    while limit > 0 and scores[limit] == 0.0:
        limit -= 1
    return limit


@helper
def _distance(left, right, limit, reach):
    """Levenshtein distance, or limit + 1 if it is greater (Ukkonen 1985; Landau & Vishkin 1989).

    `reach` is scratch of at least 2 limit + 3 places: the furthest position on each diagonal with
    that many edits. O(length + limit²) for most pairs, O(length limit) at most.
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
        # Diagonals from which the remaining edits cannot reach the end are skipped.
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
def _set_letters(string, letters, masks):
    """Store the positions of each character of a string as bits.

    False if the string is too long or two characters collide in the tables.
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
def _bit_distance(letters, masks, n, right):
    """Levenshtein distance from a string of n characters set by `_set_letters` (Myers 1999).

    Processes all cells of a column at once, without a branch (Hyyrö 2003). O(length).
    """
    whole = (np.int64(1) << n) - 1
    rises = whole  # cells that are one larger than the cell above
    falls = np.int64(0)
    distance = np.int64(n)
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
    return int(distance)


@helper
def _keep_best(kinds, n_of_kind, scores, max_kept, found, similarities):
    """Keep the found strings that may be among the best; returns their number.

    Strings of one kind are equally similar, and there are few kinds: whole kinds after the best
    `max_kept` are dropped.
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
    " int64, int64, int64, int32[::1], int64[::1], uint8[::1], float32[::1])"
)
def measure_found(
    asked_codes, asked_starts, asked_lengths, scores, codes, starts, max_found, first, last, found,
    ends, kinds, similarities,
):  # fmt: skip
    """Keep the similar ones among the strings found for the query strings `first` to `last`.

    Equal strings are dropped, and some that are less similar than `max_found` others. Returns the
    total number kept.

    asked_codes, asked_starts, codes, starts read; asked_lengths (n_asked,) read: number of each
    query string's length; scores (n_lengths, k + 1, k + 1) read; found (n_found,) in and out:
    numbers of strings; ends (n_asked,) in and out: end of each query string's results; kinds
    (n_found,) scratch; similarities (n_found,) out. O(length) each.
    """
    k = scores.shape[1] - 1
    reach = np.empty(2 * k + 3, np.int64)
    letters = np.zeros(_SLOTS + 1, np.int32)
    masks = np.zeros(_SLOTS + 1, np.int64)
    n_of_kind = np.empty((k + 1) * (k + 1), np.int64)
    limits = np.empty(k + 1, np.int64)
    end = 0
    begin = 0
    for row in range(first, last):
        own = asked_codes[asked_starts[row] : asked_starts[row + 1]]
        length = own.shape[0]
        row_scores = scores[asked_lengths[row]]
        for longer in range(k + 1):
            limits[longer] = _limit(row_scores[longer])
        quick = _set_letters(own, letters, masks)
        n_of_kind[:] = 0
        n_found = 0
        for i in range(begin, ends[row]):
            string = found[i]
            other = codes[starts[string] : starts[string + 1]]
            longer = min(max(other.shape[0] - length, 0), k)
            limit = limits[longer]
            if quick:
                distance = _bit_distance(letters, masks, length, other)
            else:
                distance = _distance(own, other, limit, reach)
            # Whether it counts is hard to predict, so a branch would be slower.
            counts = 1 if 0 < distance <= limit else 0
            kind = longer * (k + 1) + min(distance, k)
            found[end + n_found] = string
            kinds[end + n_found] = kind
            n_of_kind[kind] += counts
            n_found += counts
        begin = ends[row]
        end += _keep_best(
            kinds[end:],
            n_of_kind,
            row_scores.reshape(-1),
            max_found,
            found[end:],
            similarities[end:],
        )
        ends[row] = end
    return end


@kernel(
    "void(int32[::1], int64[::1], int64[::1], float32[:, :, ::1], int32[::1], int64[::1], int64,"
    " int64, float32[::1])"
)
def measure_pairs(
    left, left_starts, left_lengths, scores, right, right_starts, first, last, similarities
):
    """Similarities of the pairs `first` to `last` of strings.

    left, left_starts, right, right_starts read; scores, left_lengths read: as scores and
    asked_lengths in measure_found; similarities (n_pairs,) out: the score of distance 0 for equal
    strings. O(length) per pair.
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
