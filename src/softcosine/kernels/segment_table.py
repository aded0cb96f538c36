"""The arrays of many segments in one table, so that one kernel call walks all of them.

A row of the table is a segment: sizes, and addresses of arrays. The caller keeps the arrays alive
(`softcosine.index.spaces.segment_table`).
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from numba import config, types
from numba.extending import intrinsic

from softcosine.kernels.jit import inlined

# Numbers, then addresses; kernels address a column by its index.
COLUMNS = (
    *("KIND", "FIRST", "N_DOCS", "N_WORDS", "N_PRESENT", "N_GROUPS", "N_POSTINGS", "N_LEVELS"),
    *("N_SPILLED", "N_COLUMNS", "LONGEST_LIST"),
    *("PRESENT_BITS", "PRESENT_BEFORE", "TERM_GROUPS", "GROUP_STARTS", "GROUP_LEVELS", "DOCUMENTS"),
    *("POSTING_WEIGHTS", "TABLE32", "SATURATION32", "COLUMN_SLOTS", "COLUMN_VALUES"),
    *("POINTERS", "ENTRIES", "SPILLED", "SPILLED_LEVELS", "REALS", "TABLE", "SATURATION"),
    "FACTORS",
)
# The number of each column, by name.
AT: Any = namedtuple("AT", COLUMNS)(*range(len(COLUMNS)))

if config.DISABLE_JIT:
    import ctypes

    import numpy as np

    @inlined
    def array_at(address, size, dtype):
        """Return the flat array at an address."""
        if size == 0:
            return np.empty(0, dtype)
        memory = (ctypes.c_char * (int(size) * np.dtype(dtype).itemsize)).from_address(int(address))
        return np.frombuffer(memory, dtype)

else:
    from llvmlite import ir
    from numba import carray

    @intrinsic
    def _pointer(context, address):
        def generate(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

        return types.voidptr(types.int64), generate

    @inlined
    def array_at(address, size, dtype):
        """Return the flat array at an address."""
        return carray(_pointer(address), size, dtype)
