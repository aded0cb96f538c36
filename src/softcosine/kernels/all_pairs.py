"""All pairs of documents: a panel of expanded documents against all later ones.

A panel holds PANEL expanded documents, each a column of 8-bit weights: multiples of a unit, 1/255
of the column's largest weight, rounded up. Terms of equal value are adjacent in a document, so most
rows of the panel are summed as integers and multiplied once per run. Bounds and their proof:
`softcosine.index.near_duplicates.panels`.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.documents import term_of
from softcosine.kernels.heap import push
from softcosine.kernels.jit import inlined, kernel
from softcosine.kernels.ordering import lower_bound
from softcosine.kernels.prefetch import prefetch

PANEL = 64  # documents; a row of the panel is one cache line
_FETCH = 32  # number of postings that a row is prefetched ahead
_RUN = 256  # rows whose sum, at most 255 each, fits into 16 bits

_VALUES = (
    "int64, int64[::1], uint32[::1], int64[::1], uint16[::1], float64[::1], float64[::1], float64,"
    " float64[::1]"
)


@inlined
def _level(p, entry, spilled, spilled_levels):
    """Return the frequency level of entry number p."""
    level = np.int64(entry >> np.uint32(24))
    if level == 255:
        level = np.int64(spilled_levels[lower_bound(spilled, p)])
    return level


@inlined
def _value(kind, p, d, entry, spilled, spilled_levels, table, saturation, k1, reals):
    """Return the value as in `softcosine.kernels.documents`, bit for bit."""
    if kind == 2:
        return reals[p]
    tf = table[_level(p, entry, spilled, spilled_levels)]
    if kind == 1:
        return tf * (k1 + 1.0) / (tf + saturation[d])
    return tf


@kernel(
    f"int64({_VALUES}, int64[::1], int64[::1], uint32[::1], int64[::1], float32[::1],"
    " uint16[::1], int64[::1])"
)
def order_values(
    kind, pointers, entries, spilled, spilled_levels, table, saturation, k1, reals,
    documents, places, out_terms, out_starts, run_values, run_sizes, run_starts,
):  # fmt: skip
    """Write the terms of documents grouped by value; returns the number of runs.

    A run is up to 256 terms of one value. `documents` (n,) ascending; `places` (n_levels,) int64 is
    zero on entry and exit. Out: `out_terms` and, per run, `run_values` and `run_sizes`, each as
    long as the documents' postings; `out_starts` and `run_starts` (n,), where each document begins.
    """
    n_runs = 0
    at = 0
    present = np.empty(places.shape[0], np.int64)
    for c in range(documents.shape[0]):
        d = documents[c]
        out_starts[c] = at
        run_starts[c] = n_runs
        if kind == 2:
            for p in range(pointers[d], pointers[d + 1]):
                out_terms[at] = entries[p]
                run_values[n_runs] = reals[p]
                run_sizes[n_runs] = 1
                n_runs += 1
                at += 1
            continue
        n = 0
        for p in range(pointers[d], pointers[d + 1]):
            level = np.int64(_level(p, entries[p], spilled, spilled_levels))
            if places[level] == 0:
                present[n] = level
                n += 1
            places[level] += 1
        for a in range(n):
            level = present[a]
            left = places[level]
            places[level] = at
            at += left
            # All postings of a level have one value; the first level is the most frequent.
            value = table[level]
            if kind == 1:
                value = value * (k1 + 1.0) / (value + saturation[d])
            while left > 0:
                run_values[n_runs] = value
                run_sizes[n_runs] = min(left, _RUN)
                n_runs += 1
                left -= _RUN
        for p in range(pointers[d], pointers[d + 1]):
            level = np.int64(_level(p, entries[p], spilled, spilled_levels))
            out_terms[places[level]] = term_of(kind, entries[p])
            places[level] += 1
        for a in range(n):
            places[present[a]] = 0
    return n_runs


@kernel(
    f"void({_VALUES}, float64[::1], int64[::1], int64[::1], int32[::1], float32[::1],"
    " float64[::1], float64[::1], int64[::1], int32[::1], float64[::1], float64[:, ::1],"
    " uint8[:, ::1])"
)
def expand_documents(
    kind, pointers, entries, spilled, spilled_levels, table, saturation, k1, reals,
    scales, documents, s_pointers, s_indices, s_values,
    term_weights, expansion, kept_starts, kept_terms, kept_weights, facts, panel,
):  # fmt: skip
    """Write W S W x of up to PANEL documents.

    Equal to `softcosine.kernels.search.expand_queries`, bit for bit. The values of d are multiplied
    by ``scales[d]`` first. `expansion` (n_terms,) float64 is zero on entry and exit. Out:
    `kept_terms` and `kept_weights`, one expansion after the other, and `kept_starts` (PANEL + 1,),
    where each begins; their size must be the entries of the documents' rows of S, plus one. A term
    whose sum returns to 0 on the way occurs twice, the second time with weight 0. `facts`
    (PANEL, 4) gets each expansion's largest absolute weight, number of negative weights, x'WSWx,
    and number of non-finite weights. An expansion without negative or non-finite weights is written
    to its column of `panel` (n_terms, PANEL), which is zero on entry.
    """
    n = 0
    for c in range(documents.shape[0]):
        d = documents[c]
        first = n
        kept_starts[c] = n
        for p in range(pointers[d], pointers[d + 1]):
            i = term_of(kind, entries[p])
            value = _value(
                kind, p, d, entries[p], spilled, spilled_levels, table, saturation, k1, reals
            )
            x = value * scales[d] * term_weights[i]
            if x == 0.0:
                continue
            following = term_of(kind, entries[min(p + 1, pointers[d + 1] - 1)])
            for q in range(s_pointers[following], s_pointers[following + 1], 16):
                prefetch(s_indices, q)
                prefetch(s_values, q)
            for q in range(s_pointers[i], s_pointers[i + 1]):
                j = s_indices[q]
                old = expansion[j]
                # Branchless: whether a term was reached is unpredictable.
                kept_terms[n] = j
                n += int(old == 0.0)
                expansion[j] = old + s_values[q] * x
        norm = 0.0
        for p in range(pointers[d], pointers[d + 1]):
            i = term_of(kind, entries[p])
            value = _value(
                kind, p, d, entries[p], spilled, spilled_levels, table, saturation, k1, reals
            )
            norm += value * scales[d] * term_weights[i] * expansion[i]
        largest = 0.0
        negative = 0.0
        infinite = 0.0
        for t in range(first, n):
            j = kept_terms[t]
            value = expansion[j] * term_weights[j]
            kept_weights[t] = value
            expansion[j] = 0.0
            largest = max(largest, abs(value))
            negative += np.float64(value < 0.0)
            infinite += np.float64(not np.isfinite(value))
        facts[c, 0] = largest
        facts[c, 1] = negative
        facts[c, 2] = norm
        facts[c, 3] = infinite
        if largest > 0.0 and negative == 0.0 and infinite == 0.0:
            per_unit = 255.0 / largest
            for t in range(first, n):
                units = min(np.ceil(kept_weights[t] * per_unit), 255.0)
                if units > 0.0:
                    panel[kept_terms[t], c] = np.uint8(units)
    kept_starts[documents.shape[0]] = n


@kernel(
    "int64(int64[::1], uint32[::1], int64[::1], float32[::1], uint16[::1], float32[::1],"
    " uint8[:, ::1], int64, int64, int64, float32[::1], float32[::1], float32[::1],"
    " float32[:, ::1], float64, uint8[::1], uint32[::1], float32[::1], int64[::1])"
)
def scan_panel(
    starts, terms, run_starts, run_values, run_sizes, factors, panel, begin, end, first,
    units, own_bars, bars, heaps, slack, out_columns, out_documents, out_bounds, state,
):  # fmt: skip
    """Write the pairs whose similarity may reach a bound (bar); returns their number.

    The columns of `panel` are the documents `first`, `first` + 1, ...; each is compared with the
    documents begin..end that come after it. A pair is written if the upper bound of its similarity,
    in float32 with `units` (PANEL,) for the columns and `factors` (n,) for the documents, reaches
    the bar of its column, `own_bars` (PANEL,), or of its document, `bars` (n,), read only. A
    column's `heaps` (PANEL, k), zeros at first, holds the largest lower bounds so far; `own_bars`
    rise with them; a bar is `slack` times the value to reach. A column with a bar below 0 gets all
    documents; k = 0 keeps bars constant.

    Stops if `out_columns`, `out_documents` and `out_bounds` may lack space for the pairs of another
    document; ``state[0]`` gets the document to continue with.
    """
    total = np.empty(PANEL, np.float32)
    sums = np.empty(PANEL, np.uint16)
    k = heaps.shape[1]
    best = np.empty(k, np.float32)
    zero = np.float32(0.0)
    # Covers the rounding of an upper bound and of its difference from the lower one.
    margin = np.float32(4.0 * (1.0 - slack))
    room = out_columns.shape[0] - PANEL
    ahead = terms.shape[0] - _FETCH - 3
    n = 0
    for d in range(begin, end):
        if n > room:
            state[0] = d
            return n
        for q in range(PANEL):
            total[q] = 0.0
        p = starts[d]
        size_of_values = zero
        for r in range(run_starts[d], run_starts[d + 1]):
            v = run_values[r]
            size = np.int64(run_sizes[r])
            size_of_values += v * np.float32(size)
            if size == 1:
                if p < ahead:
                    prefetch(panel, np.int64(terms[p + _FETCH]) * PANEL)
                r0 = panel[terms[p]]
                for q in range(PANEL):
                    total[q] += v * np.float32(r0[q])
                p += 1
                continue
            for q in range(PANEL):
                sums[q] = 0
            fours = p + size // 4 * 4
            for f in range(p, fours, 4):
                if f < ahead:
                    for other in range(f + _FETCH, f + _FETCH + 4):
                        prefetch(panel, np.int64(terms[other]) * PANEL)
                r0, r1 = panel[terms[f]], panel[terms[f + 1]]
                r2, r3 = panel[terms[f + 2]], panel[terms[f + 3]]
                for q in range(PANEL):
                    sums[q] += (np.uint16(r0[q]) + np.uint16(r1[q])) + (
                        np.uint16(r2[q]) + np.uint16(r3[q])
                    )
            for f in range(fours, p + size):
                r0 = panel[terms[f]]
                for q in range(PANEL):
                    sums[q] += np.uint16(r0[q])
            for q in range(PANEL):
                total[q] += v * np.float32(sums[q])
            p += size
        factor = factors[d]
        bar = bars[d]
        above = np.int32(0)
        for q in range(PANEL):
            bound = total[q] * factor * units[q]
            total[q] = bound
            above += np.int32(bound >= min(own_bars[q], bar))
        if above == 0:
            continue
        columns = min(PANEL, d - first)
        width = size_of_values * factor
        if above > k > 0:
            # The k best of the panel alone raise the document's bar.
            best[:] = 0.0
            for q in range(columns):
                low = total[q] - width * units[q] - margin * total[q]
                if low > best[0] and own_bars[q] >= zero:
                    push(best, low)
            bar = max(bar, np.float32(best[0] * slack))
        for q in range(columns):
            bound = total[q]
            if bound >= own_bars[q] or bound >= bar:
                out_columns[n] = q
                out_documents[n] = d
                out_bounds[n] = bound
                n += 1
                if k > 0 and own_bars[q] >= zero:
                    low = bound - width * units[q] - margin * bound
                    if low > heaps[q, 0]:
                        push(heaps[q], low)
                        own_bars[q] = max(own_bars[q], np.float32(heaps[q, 0] * slack))
    state[0] = end
    return n


@kernel(
    "int64(uint8[::1], uint32[::1], float32[::1], int64, float32[::1], float32[::1],"
    " int64[::1], uint32[::1])"
)
def gather_pairs(columns, documents, bounds, n, own_bars, bars, out_starts, out_documents):
    """Order the first `n` pairs of a scan by column and drop those below both bars.

    Returns the number of remaining pairs. `columns` is overwritten. `out_starts` (PANEL + 1,) gets
    the start of each column in `out_documents` (at least n).
    """
    out_starts[:] = 0
    for c in range(n):
        q = columns[c]
        if bounds[c] >= min(own_bars[q], bars[documents[c]]):
            out_starts[q + 1] += 1
        else:  # mark it now, because another thread may raise bars meanwhile
            columns[c] = PANEL
    for q in range(PANEL):
        out_starts[q + 1] += out_starts[q]
    place = out_starts.copy()
    for c in range(n):
        q = columns[c]
        if q < PANEL:
            out_documents[place[q]] = documents[c]
            place[q] += 1
    return out_starts[PANEL]
