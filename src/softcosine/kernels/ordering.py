"""The best entries of each row, best first, and the place of a value among ascending ones."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel

_SHORT = 16  # entries sorted by insertion
_DEPTH = 64  # of the stack: the longer half is deferred, so 2**63 entries would fit


@helper
def lower_bound(ascending, value):
    """Return how many values are smaller, as ``np.searchsorted``, whose code loads scipy.linalg."""
    first, last = 0, ascending.shape[0]
    while first < last:
        middle = (first + last) // 2
        first, last = (middle + 1, last) if ascending[middle] < value else (first, middle)
    return first


@helper
def _before(value, key, other, other_key):
    """Whether an entry comes before another: by value, then by key."""
    return bool(value > other or (value == other and key < other_key))


@helper
def _insert_all(values, keys, first, last):
    """Sort the entries from `first` to `last` by insertion."""
    for i in range(first + 1, last + 1):
        value, key = values[i], keys[i]
        j = i - 1
        while j >= first and _before(value, key, values[j], keys[j]):
            values[j + 1], keys[j + 1] = values[j], keys[j]
            j -= 1
        values[j + 1], keys[j + 1] = value, key


@helper
def _order_first(values, keys, size, k, stack):
    """Sort the first k of all entries into place (Hoare's quicksort without the rest)."""
    top = 0
    first, last = 0, size - 1
    while True:
        while last - first >= _SHORT:
            middle = (first + last) // 2
            value, key = values[middle], keys[middle]
            i, j = first - 1, last + 1
            while True:
                i += 1
                while _before(values[i], keys[i], value, key):
                    i += 1
                j -= 1
                while _before(value, key, values[j], keys[j]):
                    j -= 1
                if i >= j:
                    break
                values[i], values[j] = values[j], values[i]
                keys[i], keys[j] = keys[j], keys[i]
            if j + 1 >= k:
                last = j
            elif j - first < last - j:
                stack[top], stack[top + 1] = j + 1, last
                top += 2
                last = j
            else:
                stack[top], stack[top + 1] = first, j
                top += 2
                first = j + 1
        _insert_all(values, keys, first, last)
        if top == 0:
            return
        top -= 2
        first, last = stack[top], stack[top + 1]


@kernel(
    "void(int64[::1], int32[::1], float32[::1], int64[::1], int64[::1], int64, int64,"
    " float32[::1], int64[::1], int64[::1])"
)
def best_of_rows(
    starts, columns, similarities, column_keys, best_starts, first, last, best, keys, counts
):
    """Sort the entries of the rows `first` to `last`, and keep the best of each.

    starts (n_rows + 1,), columns, similarities (n_entries,) read: entries of a row in any order;
    the largest similarity of a repeated column counts, and only positive ones; column_keys
    (n_columns,) read: distinct, ties go to the smaller; best_starts (n_rows + 1,) read: space for
    the results; best, keys (best_starts[-1],) out: best first; counts (n_rows,) out. Rows are
    independent. On average O(c + k log k) per row of c entries.
    """
    longest = 0
    for row in range(first, last):
        longest = max(longest, starts[row + 1] - starts[row])
    greatest = np.zeros(column_keys.shape[0], np.float32)
    row_values = np.empty(longest, np.float32)
    row_keys = np.empty(longest, np.int64)
    stack = np.empty(2 * _DEPTH, np.int64)
    for row in range(first, last):
        for i in range(starts[row], starts[row + 1]):
            greatest[columns[i]] = max(greatest[columns[i]], similarities[i])
        size = 0
        for i in range(starts[row], starts[row + 1]):
            value = greatest[columns[i]]
            if value > 0.0:
                row_values[size] = value
                row_keys[size] = column_keys[columns[i]]
                size += 1
                greatest[columns[i]] = 0.0
        k = min(size, best_starts[row + 1] - best_starts[row])
        _order_first(row_values, row_keys, size, k, stack)
        for i in range(k):
            best[best_starts[row] + i] = row_values[i]
            keys[best_starts[row] + i] = row_keys[i]
        counts[row] = k
