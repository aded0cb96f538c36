"""Exact similarities of pairs, and the best of each document."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel

__all__ = ["push_pairs", "score_pairs"]

_HUGE = 1e30  # no bar is higher: float32 holds it

_VALUES = (
    "int64, int64[::1], uint32[::1], int64[::1], uint16[::1], float64[::1], float64[::1], float64,"
    " float64[::1]"
)


@helper
def _first_spilled(p, spilled):  # type: ignore[no-untyped-def]
    """Return the place of the first spilled entry whose number is p or more."""
    low, high = 0, spilled.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if spilled[middle] < p:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def _score(  # type: ignore[no-untyped-def]
    kind, d, pointers, entries, spilled, spilled_levels, table, saturation, k1,
    reals, factors, expansion, query_factor,
):  # fmt: skip
    """As in `softcosine.kernels.documents`, to the bit."""
    begin, end = pointers[d], pointers[d + 1]
    # Spelled out: a function of arrays, called for each entry, would cost ten times the rest.
    s = _first_spilled(begin, spilled) if spilled.shape[0] > 0 else 0
    total = 0.0
    for p in range(begin, end):
        entry = entries[p]
        if kind == 2:
            total += expansion[entry] * reals[p]
            continue
        level = np.int64(entry >> np.uint32(24))
        if level == 255:
            level = np.int64(spilled_levels[s])
            s += 1
        value = table[level]
        if kind == 1:
            value = value * (k1 + 1.0) / (value + saturation[d])
        total += expansion[entry & np.uint32(0xFFFFFF)] * value
    return total * factors[d] * query_factor


@kernel(
    f"void({_VALUES}, float64[::1], int64[::1], int64, int64, int64[::1], int32[::1],"
    " float64[::1], float64[::1], int64[::1], uint32[::1], float64[::1], float64[::1])"
)
def score_pairs(  # type: ignore[no-untyped-def]
    kind, pointers, entries, spilled, spilled_levels, table, saturation, k1, reals,
    factors, local, begin, end, kept_starts, kept_terms, kept_weights,
    query_factors, pair_starts, pair_documents, expansion, scores,
):  # fmt: skip
    """Write exact scores, those of `softcosine.kernels.documents.rank_candidates` to the bit.

    The pairs, from `softcosine.kernels.all_pairs.gather_pairs`, whose document is one of
    begin..end, those of one segment; `local` (n,) holds their numbers there. The kept expansions
    are those of `expand_documents`.
    `expansion` (n_terms,) float64 is zero on entry and exit.
    """
    for q in range(query_factors.shape[0]):
        filled = False
        for c in range(pair_starts[q], pair_starts[q + 1]):
            document = pair_documents[c]
            if document < begin or document >= end:
                continue
            if not filled:
                filled = True
                for t in range(kept_starts[q], kept_starts[q + 1]):
                    expansion[kept_terms[t]] += kept_weights[t]
            d = local[document]
            scores[c] = _score(
                kind, d, pointers, entries, spilled, spilled_levels, table, saturation, k1,
                reals, factors, expansion, query_factors[q],
            )  # fmt: skip
        if filled:
            for t in range(kept_starts[q], kept_starts[q + 1]):
                expansion[kept_terms[t]] = 0.0


@helper
def _offer(scores, others, held, score, other):  # type: ignore[no-untyped-def]
    """Offer a neighbour to a heap with the worst at its root; how many it holds is returned."""
    size = scores.shape[0]
    if held < size:
        child = held
        while child > 0:
            parent = (child - 1) >> 1
            s = scores[parent]
            if s < score or (s == score and others[parent] > other):
                break
            scores[child] = s
            others[child] = others[parent]
            child = parent
        scores[child] = score
        others[child] = other
        return held + 1
    if score < scores[0] or (score == scores[0] and other > others[0]):
        return held
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            scores[right] < scores[child]
            or (scores[right] == scores[child] and others[right] > others[child])
        ):
            child = right
        s = scores[child]
        if s > score or (s == score and others[child] < other):
            break
        scores[parent] = s
        others[parent] = others[child]
        parent = child
    scores[parent] = score
    others[parent] = other
    return held


@kernel(
    "void(int64, int64[::1], uint32[::1], float64[::1], float64, float64[:, ::1], uint32[:, ::1],"
    " int64[::1], float32[::1], float64)"
)
def push_pairs(  # type: ignore[no-untyped-def]
    first, pair_starts, pair_documents, scores, minimum, best, others, held, bars, slack
):
    """Offer pairs to the heaps of both their documents, and raise their bars.

    The pairs of `score_pairs`, whose columns are the documents `first`, ...; those below `minimum`
    or not above 0 do not count. `best` (n, k) and `others` (n, k) hold the k best of each
    document, as far as `held` (n,) says. One caller at a time.
    """
    k = best.shape[1]
    for q in range(pair_starts.shape[0] - 1):
        i = first + q
        for c in range(pair_starts[q], pair_starts[q + 1]):
            score = scores[c]
            if score < minimum or score <= 0.0:
                continue
            j = np.int64(pair_documents[c])
            held[i] = _offer(best[i], others[i], held[i], score, j)
            held[j] = _offer(best[j], others[j], held[j], score, i)
            if held[j] == k:
                bars[j] = max(bars[j], np.float32(min(best[j, 0] * slack, _HUGE)))
        if i < held.shape[0] and held[i] == k:
            bars[i] = max(bars[i], np.float32(min(best[i, 0] * slack, _HUGE)))
