"""The best of each row against Python's sort; hard orders for quicksort included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.kernels.ordering import best_of_rows


def ordered(rows, keys, limit):
    """The best of rows of (column, value) pairs, as lists of (value, key)."""
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    columns = np.array([c for row in rows for c, _ in row], np.int32)
    values = np.array([v for row in rows for _, v in row], np.float32)
    best_starts = np.cumsum([0, *(min(len(row), limit) for row in rows)]).astype(np.int64)
    best, chosen = np.zeros(best_starts[-1], np.float32), np.zeros(best_starts[-1], np.int64)
    counts = np.zeros(len(rows), np.int64)
    best_of_rows(starts, columns, values, keys, best_starts, 0, len(rows), best, chosen, counts)
    ends = zip(best_starts.tolist(), counts.tolist(), strict=False)
    return [
        list(zip(best[a : a + n].tolist(), chosen[a : a + n].tolist(), strict=True))
        for a, n in ends
    ]


def by_sorting(rows, keys, limit):
    answer = []
    for row in rows:
        greatest: dict[int, float] = {}
        for column, value in row:
            greatest[column] = max(greatest.get(column, 0.0), value)
        found = [(v, int(keys[c])) for c, v in greatest.items() if v > 0]
        answer.append(sorted(found, key=lambda pair: (-pair[0], pair[1]))[:limit])
    return answer


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 99), st.sampled_from([0.0, 0.25, 0.5, 0.75])), max_size=99
        ),
        max_size=4,
    ),
    st.integers(0, 60),
)
def test_rows_are_ordered_as_by_sorting(rows, limit):
    keys = np.random.default_rng(0).permutation(100).astype(np.int64)
    assert ordered(rows, keys, limit) == by_sorting(rows, keys, limit)


@pytest.mark.parametrize("limit", [1, 7, 500])
@pytest.mark.parametrize("kind", ["rising", "falling", "pipe", "equal", "saw"])
def test_orders_that_are_hard_for_quicksort(kind, limit):
    n = 500
    values = {
        "rising": np.arange(1, n + 1),
        "falling": np.arange(n, 0, -1),
        "pipe": np.minimum(np.arange(1, n + 1), np.arange(n, 0, -1)),
        "equal": np.ones(n),
        "saw": 1 + np.arange(n) % 7,
    }[kind] / n
    row = list(zip(range(n), np.float32(values).tolist(), strict=True))
    keys = np.arange(n, dtype=np.int64)
    assert ordered([row, row[::-1]], keys, limit) == by_sorting([row, row[::-1]], keys, limit)
