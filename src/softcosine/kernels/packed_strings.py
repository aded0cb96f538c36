"""Look-up of strings among packed ones, by bisection of their bytes."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import kernel
from softcosine.kernels.segment_table import array_at


@kernel("int64(int64[::1], uint8[::1], int64[::1], int64[::1], int64[::1])")
def find_strings(table, wanted, starts, places, numbers):
    """Write for each wanted string how many are smaller, and its number or -1.

    `table` has the addresses and sizes of the bytes of all strings (uint8), their offsets (int64)
    and their numbers in ascending order (int32). String i of the wanted ones is
    ``wanted[starts[i]:starts[i + 1]]``. Returns 0; -1 if a number or an offset leaves its array.
    O(n_wanted log n).
    """
    blob, offsets = array_at(table[0], table[1], np.uint8), array_at(table[2], table[3], np.int64)
    order = array_at(table[4], table[5], np.int32)
    for i in range(places.shape[0]):
        begin, size = starts[i], starts[i + 1] - starts[i]
        first, last, equal = np.int64(0), order.shape[0], np.int64(-1)
        while first < last:
            middle = (first + last) // 2
            number = np.int64(order[middle])
            if number < 0 or number + 1 >= offsets.shape[0]:
                return -1
            start, stop = offsets[number], offsets[number + 1]
            if start < 0 or start > stop or stop > blob.shape[0]:
                return -1
            n, at = min(size, stop - start), np.int64(0)
            while at < n and blob[start + at] == wanted[begin + at]:
                at += 1
            if at < n:
                smaller = blob[start + at] < wanted[begin + at]
            else:
                smaller = stop - start < size
                if stop - start == size:
                    equal = number
            if smaller:
                first = middle + 1
            else:
                last = middle
        places[i], numbers[i] = first, equal
    return 0
