"""The greatest impact of each term of a segment."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import kernel

__all__ = ["greatest_impacts"]

_ROUNDED = 1.0 + 2.0**-23  # real weights of postings are rounded to float32


@kernel(
    "void(int64, uint32[::1], uint32[::1], uint16[::1], float64[::1], uint16[::1], float32[::1],"
    " float64[::1], float64, float64[::1], float64[::1])"
)
def greatest_impacts(  # type: ignore[no-untyped-def]
    kind, term_groups, group_starts, group_levels, table, documents, posting_weights, saturation,
    k1, factors, impacts,
):  # fmt: skip
    """Write the greatest value times factor of the postings of each term.

    Arguments are arrays of `softcosine.index.segment.segment.Segment` and of `PreparedRanking`;
    `factors` (n_docs,) are 0 for documents that do not count; `impacts` (n_present,) out. Of real
    weights, the result is an upper bound, because postings hold them in float32. O(postings).
    """
    for t in range(impacts.shape[0]):
        greatest = 0.0
        first, last = np.int64(term_groups[t]), np.int64(term_groups[t + 1])
        if kind == 2:
            for p in range(first, last):
                value = np.float64(posting_weights[p]) * _ROUNDED
                greatest = max(greatest, value * factors[documents[p]])
        else:
            for g in range(first, last):
                value = table[group_levels[g]]
                for p in range(group_starts[g], group_starts[g + 1]):
                    d = documents[p]
                    impact = value * factors[d]
                    if kind == 1:
                        impact = value * (k1 + 1.0) / (value + saturation[d]) * factors[d]
                    greatest = max(greatest, impact)
        impacts[t] = greatest
