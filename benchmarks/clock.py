"""How many cycles a second the processor makes, so that times can be told in cycles.

A processor's nominal rate is not what it runs at. The yardstick is a chain of operations that each
wait for the one before and take one cycle on every present x86-64 processor.
"""

from __future__ import annotations

import time

import numpy as np

from softcosine.kernels.jit import kernel

__all__ = ["cycles_per_second"]

_STEPS = 4_000_000
_CYCLES_A_STEP = 6  # three shifts and three exclusive ors, each on the result of the last


@kernel("uint64(uint64, int64)")
def _chain(x, n):  # type: ignore[no-untyped-def]
    """Run n steps of a xorshift generator, of which a compiler can leave out nothing."""
    for _ in range(n):
        x ^= x << 13
        x ^= x >> 7
        x ^= x << 17
    return x


def cycles_per_second(*, steps: int = _STEPS, runs: int = 7) -> float:
    """Return the cycles of the fastest of some runs, by the clock: that which nothing disturbed."""
    _chain(np.uint64(1), 1)
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        _chain(np.uint64(1), steps)
        best = min(best, time.perf_counter() - start)
    return steps * _CYCLES_A_STEP / best
