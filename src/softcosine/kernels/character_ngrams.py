"""Character n-grams of strings, and the cosine of their counts.

Strings are concatenated code points, as in `softcosine.kernels.edit_distance`. An n-gram is
identified by a 62-bit hash. Counts are integers, so sums are exact in any order, and a
pair has the same bits on every path of computation (up to strings of 100,000 characters).
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel

PRIME = 2**31 - 1
_BASES = (1_190_494_759, 668_265_263)
_BEGIN = 0x110000  # boundary marks of a string; not code points
_END = 0x110001


@helper
def times_plus(a, b, c):
    """Return a b + c modulo the prime, for non-negative numbers below 2**31."""
    x = int(np.int64(a) * np.int64(b) + np.int64(c))
    x = (x & PRIME) + (x >> 31)
    return x - PRIME if x >= PRIME else x


@helper
def _sort(values):
    """Sort in place, ascending (Shell's method with gaps of about 2.25**i)."""
    gap = 1
    while gap < values.shape[0]:
        gap = gap * 9 // 4 + 1
    while gap > 1:
        gap = max((gap - 1) * 4 // 9, 1)
        for i in range(gap, values.shape[0]):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value


@kernel(
    "void(int32[::1], int64[::1], int64, int64, int64, int64, int64[::1],"
    " int64[::1], int32[::1], int64[::1], float64[::1])"
)
def write_ngrams(codes, starts, min_n, max_n, first, last, places, ngrams, values, ends, squares):
    """Write the distinct n-grams of the strings `first` to `last`, with marks at both ends.

    codes, starts read; places (n_strings + 1,) read: starts of the strings' n-grams, with space
    for all; ngrams, values (places[-1],) out: hashes, ascending within a string, and their counts;
    ends (n_strings,) out: end of each string's n-grams; squares (n_strings,) out: sum of the
    squares of its values. Strings are independent. About O(g log g) for g n-grams.
    """
    for string in range(first, last):
        begin = starts[string] - 1
        end = starts[string + 1]
        place = places[string]
        n_ngrams = 0
        for i in range(begin, end + 1):
            one = 0
            two = 0
            for j in range(i, min(i + max_n, end + 1)):
                code = _BEGIN if j == begin else _END if j == end else codes[j]
                one = times_plus(one, _BASES[0], code + 1)
                two = times_plus(two, _BASES[1], code + 1)
                if j - i + 1 >= min_n:
                    ngrams[place + n_ngrams] = (np.int64(one) << 31) | two
                    n_ngrams += 1
        own = ngrams[place : place + n_ngrams]
        _sort(own)
        n_distinct = 0
        square = 0.0
        i = 0
        while i < n_ngrams:
            j = i
            while j < n_ngrams and own[j] == own[i]:
                j += 1
            value = np.int64(j - i)
            own[n_distinct] = own[i]
            values[place + n_distinct] = value
            square += np.float64(value) * np.float64(value)
            n_distinct += 1
            i = j
        ends[string] = place + n_distinct
        squares[string] = square


@kernel(
    "void(int64[::1], int64[::1], int64[::1], int32[::1], int64, int64[::1], int64[::1],"
    " int32[::1], int32[::1])"
)
def invert(
    places, ends, ngrams, values, mask, bucket_starts, bucket_ngrams, bucket_strings, bucket_values
):
    """Sort n-grams into buckets by the low bits of their hashes: an inverted index.

    places, ends, ngrams, values read: from write_ngrams; mask read: number of buckets, a power of
    two, minus one; bucket_starts (n_buckets + 1,), bucket_ngrams, bucket_strings, bucket_values
    (n_ngrams,) out: bucket after bucket, strings ascending within each.
    """
    bucket_starts[:] = 0
    for string in range(ends.shape[0]):
        for i in range(places[string], ends[string]):
            bucket_starts[ngrams[i] & mask] += 1
    end = 0
    for bucket in range(bucket_starts.shape[0]):
        end += bucket_starts[bucket]
        bucket_starts[bucket] = end
    # Filled from the back: each start moves from the end of its bucket to its beginning.
    for string in range(ends.shape[0] - 1, -1, -1):
        for i in range(places[string], ends[string]):
            bucket = ngrams[i] & mask
            bucket_starts[bucket] -= 1
            bucket_ngrams[bucket_starts[bucket]] = ngrams[i]
            bucket_strings[bucket_starts[bucket]] = string
            bucket_values[bucket_starts[bucket]] = values[i]


@helper
def _dot(left, left_values, right, right_values):
    """Sum of the products of the values of common n-grams; exact."""
    total = 0.0
    i = 0
    j = 0
    while i < left.shape[0] and j < right.shape[0]:
        if left[i] == right[j]:
            total += np.float64(left_values[i]) * np.float64(right_values[j])
            i += 1
            j += 1
        elif left[i] < right[j]:
            i += 1
        else:
            j += 1
    return total


@helper
def _similarity(dot, left, right, threshold, exponent):
    """Similarity of two different strings with these sums of squares."""
    if dot <= 0.0:
        return np.float32(0.0)
    cosine = dot / np.sqrt(left * right)
    if np.float32(cosine) < threshold:
        return np.float32(0.0)
    return np.float32(min(cosine, 1.0) ** exponent)


@kernel(
    "void(int64[::1], int64[::1], int64[::1], int32[::1], float64[::1], int64[::1], int64[::1],"
    " float32, float64, int64, int64, float32[::1])"
)
def measure_cosines(
    places, ends, ngrams, values, squares, left, right, threshold, exponent, first, last,
    similarities,
):  # fmt: skip
    """Similarities of the pairs `first` to `last` of different strings.

    places, ends, ngrams, values, squares read: from write_ngrams; left, right (n_pairs,) read:
    numbers of strings; similarities (n_pairs,) out. O(n-grams) per pair.
    """
    for pair in range(first, last):
        i = left[pair]
        j = right[pair]
        a = slice(places[i], ends[i])
        b = slice(places[j], ends[j])
        dot = _dot(ngrams[a], values[a], ngrams[b], values[b])
        similarities[pair] = _similarity(dot, squares[i], squares[j], threshold, exponent)


@kernel(
    "int64(int64[::1], int64[::1], int64[::1], int32[::1], float64[::1],"
    " int64[::1], int64[::1], int64[::1], int32[::1], float64[::1],"
    " int64[::1], int64[::1], int32[::1], int32[::1], float32, float64, int64, int64,"
    " float64[::1], int32[::1], float32[::1], int64[::1])"
)
def find_alike(
    asked_places, asked_ends, asked_ngrams, asked_values, asked_squares, places, ends, ngrams,
    values, squares, bucket_starts, bucket_ngrams, bucket_strings, bucket_values, threshold,
    exponent, first, last, sums, found, similarities, ends_of_found,
):  # fmt: skip
    """Find the strings similar or equal to the query strings `first` to `last`.

    The most frequent n-grams of a query string are skipped as long as they alone cannot raise the
    cosine to the threshold; their contribution is computed for strings found by the rarer ones.
    Returns the first query string without enough space, or `last`.

    asked_*, places, ends, ngrams, values, squares read: from write_ngrams; bucket_* read: from
    invert; sums (n_strings,) scratch: 0 on entry and exit; found, similarities (at least
    n_strings,) out; ends_of_found (n_asked,) out: end of each query string's results. Query strings
    are independent.
    """
    mask = bucket_starts.shape[0] - 2
    longest = 1
    for row in range(first, last):
        longest = max(longest, asked_ends[row] - asked_places[row])
    order = np.empty(longest, np.int64)
    end = 0
    for row in range(first, last):
        if found.shape[0] - end < sums.shape[0]:
            return row
        place = asked_places[row]
        own = asked_ngrams[place : asked_ends[row]]
        own_values = asked_values[place : asked_ends[row]]
        own_square = asked_squares[row]
        for i in range(own.shape[0]):
            bucket = own[i] & mask
            order[i] = ((bucket_starts[bucket + 1] - bucket_starts[bucket]) << 32) | i
        _sort(order[: own.shape[0]])
        # The cosine with a string that shares only skipped n-grams is at most the square root of
        # their share of the square (Cauchy); a millionth for rounding.
        left_out = 0.0
        n_followed = own.shape[0]
        budget = np.float64(threshold) * np.float64(threshold) * own_square * (1.0 - 1e-6)
        while n_followed > 0:
            value = np.float64(own_values[order[n_followed - 1] & 0xFFFFFFFF])
            if left_out + value * value >= budget:
                break
            left_out += value * value
            n_followed -= 1
        n_met = 0
        for step in range(n_followed):
            i = order[step] & 0xFFFFFFFF
            ngram = own[i]
            value = np.float64(own_values[i])
            for entry in range(bucket_starts[ngram & mask], bucket_starts[(ngram & mask) + 1]):
                if bucket_ngrams[entry] == ngram:
                    string = bucket_strings[entry]
                    if sums[string] == 0.0:
                        found[end + n_met] = string
                        n_met += 1
                    sums[string] += value * np.float64(bucket_values[entry])
        n_found = 0
        for i in range(end, end + n_met):
            string = found[i]
            dot = sums[string]
            sums[string] = 0.0
            if n_followed < own.shape[0]:
                most = dot + np.sqrt(left_out * squares[string])
                least = np.float64(threshold) * np.sqrt(own_square * squares[string])
                if most < least * (1.0 - 1e-6):
                    continue
                part = slice(places[string], ends[string])
                dot = _dot(own, own_values, ngrams[part], values[part])
            similarity = _similarity(dot, own_square, squares[string], threshold, exponent)
            if similarity > 0.0:
                found[end + n_found] = string
                similarities[end + n_found] = similarity
                n_found += 1
        end += n_found
        ends_of_found[row] = end
    return last
