"""Term-at-a-time search: expand the query, accumulate in float32, keep every possible result."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.heap import push
from softcosine.kernels.jit import helper, kernel
from softcosine.kernels.lanes import count_bits
from softcosine.kernels.ordering import lower_bound
from softcosine.kernels.prefetch import prefetch
from softcosine.kernels.segment_table import AT, array_at

# Most posting lists are short and not in the cache: a term, its groups and its postings are
# prefetched this many terms ahead.
_FETCH_TERM, _FETCH_GROUPS, _FETCH_POSTINGS = 24, 16, 8
_DENSE = 16  # if one document in 16 has a posting, a pass over all documents is faster
_TINY = np.float32(1e-37)
_BLOCK = 1024  # documents per block of the scan: 4 KiB of scores fit into the first-level cache


@helper
def _expand(
    query_terms, query_weights, s_pointers, s_indices, s_values,
    extra_terms, extra_values, term_weights, expansion, seen, touched, facts,
):  # fmt: skip
    """Write W S' W x of one query to `expansion`; returns the number of terms that it reaches."""
    n = 0
    for a in range(query_terms.shape[0]):
        i = query_terms[a]
        x = query_weights[a]
        for p in range(s_pointers[i], s_pointers[i + 1]):
            j = s_indices[p]
            # Branchless: whether a term was seen is unpredictable.
            touched[n] = j
            n += 1 - int(seen[j])
            seen[j] = 1
            expansion[j] += s_values[p] * x
    # Before the extra values are added: their share of the norm is known otherwise.
    norm = 0.0
    for a in range(query_terms.shape[0]):
        norm += query_weights[a] * expansion[query_terms[a]]
    for a in range(extra_terms.shape[0]):
        j = extra_terms[a]
        if seen[j] == 0:
            seen[j] = 1
            touched[n] = j
            n += 1
        expansion[j] += extra_values[a]
    largest = 0.0
    smallest = np.inf
    negative = 0.0
    squares = 0.0
    infinite = 0.0
    for t in range(n):
        j = touched[t]
        squares += expansion[j] * expansion[j]
        value = expansion[j] * term_weights[j]
        expansion[j] = value
        size = abs(value)
        if size > largest:
            largest = size
        if size > 0.0 and size < smallest:
            smallest = size
        if value < 0.0:
            negative += 1.0
        if not np.isfinite(value):
            infinite += 1.0
    facts[0] = largest
    facts[1] = smallest
    facts[2] = negative
    facts[3] = norm
    facts[4] = squares
    facts[5] = infinite
    return n


@kernel(
    "void(int64[::1], int32[::1], float64[::1], int64[::1], int32[::1], float32[::1],"
    " int64[::1], int32[::1], float64[::1], float64[::1], float64[::1], uint8[::1], int32[::1],"
    " float64[:, ::1], int64[::1], int32[::1], float64[::1])"
)
def expand_queries(
    query_pointers, query_terms, query_weights, s_pointers, s_indices, s_values,
    extra_pointers, extra_terms, extra_values, term_weights, expansion, seen, touched,
    facts, pointers, terms, weights,
):  # fmt: skip
    """Write W S' W x of queries (theory T12), concatenated.

    Query q has the terms ``query_terms[query_pointers[q]:query_pointers[q + 1]]``, ascending, with
    `query_weights` = W x; `extra_terms`, `extra_values` are the contribution of query words outside
    the vocabulary to S' W x. `expansion` (n_terms,) float64 and `seen` (n_terms,) are zero on entry
    and exit, `touched` (n_terms + 1,) is scratch. The reached `terms` and their `weights` are
    written from ``pointers[q]``, in the order in which they are reached. `facts` (n_queries, 6)
    gets the largest and the smallest absolute weight, the number of negative ones, x'WSWx over the
    vocabulary, the squared ordinary norm of S' W x, and the number of non-finite weights.
    """
    end = 0
    for q in range(facts.shape[0]):
        pointers[q] = end
        own = slice(query_pointers[q], query_pointers[q + 1])
        extra = slice(extra_pointers[q], extra_pointers[q + 1])
        n = _expand(
            query_terms[own], query_weights[own], s_pointers, s_indices, s_values,
            extra_terms[extra], extra_values[extra], term_weights, expansion, seen, touched,
            facts[q],
        )  # fmt: skip
        for t in range(n):
            j = touched[t]
            terms[end + t] = j
            weights[end + t] = expansion[j]
            expansion[j] = 0.0
            seen[j] = 0
        end += n
    pointers[facts.shape[0]] = end


@helper
def _scaled(pointers, weights, scales, chosen):
    """Divide the weights of each chosen query by its scale."""
    scaled = np.empty(weights.shape[0], np.float32)
    for q in range(scales.shape[0]):
        if chosen[q] == 0:
            continue
        inverse = 1.0 / scales[q]
        for t in range(pointers[q], pointers[q + 1]):
            scaled[t] = weights[t] * inverse
    return scaled


@helper
def _look_up(terms, weights, present_bits, present_before, slots, slot_weights):
    """Write the positions of terms in a segment's term directory, and their weights.

    Returns how many terms the segment has. Bit i of ``present_bits[w]`` is set if it has the term
    ``64 w + i``; ``present_before[w]`` counts its terms below ``64 w``.
    """
    n, one = np.int64(0), np.uint64(1)
    for t in range(terms.shape[0]):
        word, bit = terms[t] >> 6, np.uint64(terms[t] & 63)
        bits = present_bits[word]
        # Branchless: whether a segment has a term is unpredictable.
        slots[n] = np.int64(present_before[word]) + count_bits(bits & ((one << bit) - one))
        slot_weights[n] = weights[t]
        n += np.int64((bits >> bit) & one) & np.int64(weights[t] != 0)
    return n


@helper
def _add_groups(first, last, group_starts, group_levels, table, documents, weight, scores):
    for g in range(first, last):
        w = weight * table[group_levels[g]]
        for p in range(group_starts[g], group_starts[g + 1]):
            scores[documents[p]] += w


@helper
def _add_saturated(
    first, last, group_starts, group_levels, table, documents, weight, saturation, scores
):
    one = np.float32(1.0)
    for g in range(first, last):
        tf = table[group_levels[g]]
        if tf == one:
            for p in range(group_starts[g], group_starts[g + 1]):
                scores[documents[p]] += weight
        else:
            w = weight * tf
            for p in range(group_starts[g], group_starts[g + 1]):
                d = documents[p]
                scores[d] += w * (one + saturation[d]) / (tf + saturation[d])


@helper
def _add_reals(start, stop, documents, weights, weight, scores):
    for p in range(start, stop):
        scores[documents[p]] += weight * weights[p]


@helper
def _add_columns(rows, row_weights, columns, n_docs, begin, part):
    """Add the columns of frequent terms, four at a time, to the scores from `begin`."""
    size = part.shape[0]
    sixteen = np.uint32(16)
    for r in range(0, rows.shape[0], 4):
        a, b = columns[rows[r] * n_docs + begin :], columns[rows[r + 1] * n_docs + begin :]
        c, d = columns[rows[r + 2] * n_docs + begin :], columns[rows[r + 3] * n_docs + begin :]
        wa, wb, wc, wd = row_weights[r], row_weights[r + 1], row_weights[r + 2], row_weights[r + 3]
        for i in range(size):
            # The upper half of a float32.
            va = np.uint32(np.uint32(a[i]) << sixteen).view(np.float32)
            vb = np.uint32(np.uint32(b[i]) << sixteen).view(np.float32)
            vc = np.uint32(np.uint32(c[i]) << sixteen).view(np.float32)
            vd = np.uint32(np.uint32(d[i]) << sixteen).view(np.float32)
            part[i] += (wa * va + wb * vb) + (wc * vc + wd * vd)


@helper
def _add_postings(
    kind, slots, weights, term_groups, group_starts, group_levels, table, documents,
    posting_weights, saturation, longest_list, column_slots, rows, row_weights, scores,
):  # fmt: skip
    """Add the posting lists of terms; for terms with a column, only note row and weight.

    Returns the number of noted rows, padded with zero weights to a multiple of four.
    """
    n, n_rows = slots.shape[0], 0
    row_weights[:] = np.float32(0.0)
    for t in range(n):
        if t + _FETCH_TERM < n:
            prefetch(term_groups, np.int64(slots[t + _FETCH_TERM]))
            ahead = np.int64(term_groups[slots[t + _FETCH_POSTINGS]])
            if kind != 2:
                prefetch(group_starts, np.int64(term_groups[slots[t + _FETCH_GROUPS]]))
                ahead = np.int64(group_starts[ahead])
            prefetch(documents, ahead)
        weight = weights[t]
        first, last = np.int64(term_groups[slots[t]]), np.int64(term_groups[slots[t] + 1])
        length = last - first
        if kind != 2:
            length = np.int64(group_starts[last]) - np.int64(group_starts[first])
        if length > longest_list:
            rows[n_rows] = lower_bound(column_slots, slots[t])
            row_weights[n_rows] = weight
            n_rows += 1
        elif kind == 0:
            _add_groups(first, last, group_starts, group_levels, table, documents, weight, scores)
        elif kind == 1:
            _add_saturated(
                first, last, group_starts, group_levels, table, documents, weight, saturation,
                scores,
            )  # fmt: skip
        else:
            _add_reals(first, last, documents, posting_weights, weight, scores)
    return (n_rows + 3) // 4 * 4


# The scans below walk slices from 0: a loop over begin..end does not vectorise, because an index
# that the compiler cannot prove non-negative might count from the end. They count values above a
# bound in integers, which vectorises where a float maximum does not.


@helper
def _scale(part, factors, heap, least, floor):
    """Multiply scores by factors, push the largest on the heap; returns the least that counts."""
    above = np.int32(0)
    for i in range(part.shape[0]):
        score = part[i] * factors[i]
        part[i] = score
        above += np.int32(score > least)
    if above > 0:
        for i in range(part.shape[0]):
            if part[i] > least:
                push(heap, part[i])
                least = max(heap[0], floor)
    return least


@helper
def _collect(scores, bound, first, candidates, approximate):
    """Write the documents and scores that reach the bound, and set all scores to zero."""
    n = 0
    zero = np.float32(0.0)
    for begin in range(0, scores.shape[0], _BLOCK):
        part = scores[begin : begin + _BLOCK]
        above = np.int32(0)
        for i in range(part.shape[0]):
            above += np.int32(part[i] >= bound)
        if above > 0:
            for i in range(part.shape[0]):
                if part[i] >= bound and part[i] > zero:
                    candidates[n] = first + begin + i
                    approximate[n] = part[i]
                    n += 1
        part[:] = zero
    return n


@helper
def find_in_segment(
    kind, terms, weights, present_bits, present_before, term_groups,
    group_starts, group_levels, table, documents, posting_weights, saturation, longest_list,
    column_slots, columns, factors, floor, heap, slack, scores, candidates, approximate,
):  # fmt: skip
    """Run `find_candidates` for one query in one segment, whose arrays are arguments.

    Returns the number of candidates. Arrays may have other widths than in the table.
    """
    n_docs = scores.shape[0]
    n_terms = terms.shape[0]
    slots, slot_weights = np.empty(n_terms + 1, np.int32), np.empty(n_terms + 1, np.float32)
    rows = np.zeros(column_slots.shape[0] + 3, np.int64)
    row_weights = np.empty(column_slots.shape[0] + 3, np.float32)
    n = _look_up(terms, weights, present_bits, present_before, slots, slot_weights)
    if n == 0:
        return 0
    filled = _add_postings(
        kind, slots[:n], slot_weights[:n], term_groups, group_starts, group_levels, table,
        documents, posting_weights, saturation, longest_list, column_slots, rows, row_weights,
        scores,
    )  # fmt: skip
    least = max(heap[0], floor)
    for first in range(0, n_docs, _BLOCK):
        part = scores[first : first + _BLOCK]
        _add_columns(rows[:filled], row_weights[:filled], columns, n_docs, first, part)
        least = _scale(part, factors[first : first + _BLOCK], heap, least, floor)
    bound = np.float32(np.float64(least) * slack)
    return _collect(scores, bound, 0, candidates, approximate)


@kernel(
    "int64(int64[:, ::1], int64[::1], int64[::1], int32[::1], float64[::1], float64[::1],"
    " uint8[::1], float32[::1], float32[:, ::1], float64[::1], float32[::1], int64, int64[::1],"
    " uint32[::1], float32[::1])"
)
def find_candidates(
    segments, factors, pointers, terms, weights, scales, chosen, floors, heaps, slacks, scores,
    begin, starts, candidates, approximate,
):  # fmt: skip
    """Write, for each segment and query, every document that can be among the query's k best.

    For `segments` see `softcosine.kernels.segment_table`; ``factors[s]`` is the address of the
    factors (n_docs,) float32 of the documents of segment s, 0 for documents that are no results.
    Queries are expanded as by `expand_queries`; those not `chosen` get no candidates. Their
    weights, divided by ``scales[q]``, are accumulated in float32 and multiplied by the factors.
    ``heaps[q]`` (k,) float32, zeros at first, collects the k largest such scores. With a_k its
    least, the candidates are all documents with a score above 0 of at least ``max(a_k, floors[q]) *
    slacks[q]``; a slack < 1 covers the rounding (theory, "Exactness of the two-stage search"). a_k
    rises from segment to segment, so earlier candidates may turn out to be too weak. ``floors[q]``
    is raised to a_k, and threads that search other segments may share it: a lost update only lets
    more candidates through. All weights are non-negative. `scores` (size of the largest segment)
    float32 is zero on entry and exit.

    The candidates of query q in segment s are ``candidates[starts[i]:starts[i + 1]]`` with
    ``i = s * n_queries + q``, as document numbers within the segment, ascending; `approximate` are
    their scores. Begins at ``i = begin``, with ``starts[begin]`` given. Returns the first i whose
    candidates may lack space, for another call with more, else ``n_segments * n_queries``.

    A term with more postings than a segment's LONGEST_LIST is read from its column, see
    `softcosine.index.spaces.segment_table`.
    """
    n_queries = scales.shape[0]
    scaled = _scaled(pointers, weights, scales, chosen)
    for s in range(begin // n_queries, segments.shape[0]):
        row = segments[s]
        n_docs, n_present, n_groups = row[AT.N_DOCS], row[AT.N_PRESENT], row[AT.N_GROUPS]
        n_postings, kind, n_columns = row[AT.N_POSTINGS], row[AT.KIND], row[AT.N_COLUMNS]
        for q in range(max(begin - s * n_queries, 0), n_queries):
            i = s * n_queries + q
            end = starts[i]
            starts[i + 1] = end
            if chosen[q] == 0:
                continue
            if candidates.shape[0] - end < n_docs:
                return i
            own = slice(pointers[q], pointers[q + 1])
            n = find_in_segment(
                kind, terms[own], scaled[own],
                array_at(row[AT.PRESENT_BITS], row[AT.N_WORDS], np.uint64),
                array_at(row[AT.PRESENT_BEFORE], row[AT.N_WORDS], np.uint32),
                array_at(row[AT.TERM_GROUPS], n_present + 1, np.uint32),
                array_at(row[AT.GROUP_STARTS], n_groups + 1, np.uint32),
                array_at(row[AT.GROUP_LEVELS], n_groups, np.uint16),
                array_at(row[AT.TABLE32], row[AT.N_LEVELS], np.float32),
                array_at(row[AT.DOCUMENTS], n_postings, np.uint16),
                array_at(row[AT.POSTING_WEIGHTS], n_postings if kind == 2 else 0, np.float32),
                array_at(row[AT.SATURATION32], n_docs if kind == 1 else 0, np.float32),
                row[AT.LONGEST_LIST], array_at(row[AT.COLUMN_SLOTS], n_columns, np.int32),
                array_at(row[AT.COLUMN_VALUES], n_columns * n_docs, np.uint16),
                array_at(factors[s], n_docs, np.float32), floors[q], heaps[q], slacks[q],
                scores[:n_docs], candidates[end:], approximate[end:],
            )  # fmt: skip
            starts[i + 1] += n
            floors[q] = max(floors[q], heaps[q, 0])
    return segments.shape[0] * n_queries


@kernel(
    "void(int64[:, ::1], int64[::1], int32[::1], float64[::1], float64, float32, float32[::1],"
    " float32[::1])"
)
def add_scores(segments, factors, terms, weights, scale, weight, scores, total):
    """Add `weight` times the scores of one query, as in `find_candidates`, to `total`.

    `total` holds the documents of all segments of the table, one after the other.
    """
    n_terms = terms.shape[0]
    slots, slot_weights = np.empty(n_terms + 1, np.int32), np.empty(n_terms + 1, np.float32)
    scaled = _scaled(np.array([0, n_terms]), weights, np.array([scale]), np.ones(1, np.uint8))
    place = 0
    for s in range(segments.shape[0]):
        row = segments[s]
        n_docs, n_present, n_groups = row[AT.N_DOCS], row[AT.N_PRESENT], row[AT.N_GROUPS]
        n_postings, kind, n_columns = row[AT.N_POSTINGS], row[AT.KIND], row[AT.N_COLUMNS]
        n = _look_up(
            terms, scaled, array_at(row[AT.PRESENT_BITS], row[AT.N_WORDS], np.uint64),
            array_at(row[AT.PRESENT_BEFORE], row[AT.N_WORDS], np.uint32), slots, slot_weights,
        )  # fmt: skip
        rows, row_weights = np.zeros(n_columns + 3, np.int64), np.empty(n_columns + 3, np.float32)
        filled = _add_postings(
            kind, slots[:n], slot_weights[:n],
            array_at(row[AT.TERM_GROUPS], n_present + 1, np.uint32),
            array_at(row[AT.GROUP_STARTS], n_groups + 1, np.uint32),
            array_at(row[AT.GROUP_LEVELS], n_groups, np.uint16),
            array_at(row[AT.TABLE32], row[AT.N_LEVELS], np.float32),
            array_at(row[AT.DOCUMENTS], n_postings, np.uint16),
            array_at(row[AT.POSTING_WEIGHTS], n_postings if kind == 2 else 0, np.float32),
            array_at(row[AT.SATURATION32], n_docs if kind == 1 else 0, np.float32),
            row[AT.LONGEST_LIST], array_at(row[AT.COLUMN_SLOTS], n_columns, np.int32),
            rows, row_weights, scores,
        )  # fmt: skip
        columns = array_at(row[AT.COLUMN_VALUES], n_columns * n_docs, np.uint16)
        of_segment = array_at(factors[s], n_docs, np.float32)
        for begin in range(0, n_docs, _BLOCK):
            part = scores[begin : min(begin + _BLOCK, n_docs)]
            _add_columns(rows[:filled], row_weights[:filled], columns, n_docs, begin, part)
            own, out = of_segment[begin:], total[place + begin :]
            for i in range(part.shape[0]):
                out[i] += weight * (part[i] * own[i])
            part[:] = np.float32(0.0)
        place += n_docs


@kernel(
    "void(int64[:, ::1], int64[::1], int32[::1], float32[::1], float32[::1], float32, float32[::1],"
    " uint32[::1], float32[::1])"
)
def add_soft_frequency_scores(
    segments, pointers, terms, shares, amounts, weight, frequencies, touched, total
):
    """Add `weight` times the BM25 scores of soft frequencies to `total` (theory T20), in float32.

    Query word i has the neighbours ``terms[pointers[i]:pointers[i + 1]]`` with positive `shares`;
    its soft frequency x in a document is the sum of their shares times their frequencies, and its
    part of the score ``amounts[i] * x / (x + K)``. `frequencies` (size of the largest segment) is
    zero on entry and exit, `touched` (one more) is scratch. `total` holds the documents of all
    segments of the table, one after the other.
    """
    n_terms, place = terms.shape[0], 0
    slots, slot_shares = np.empty(n_terms + 1, np.int32), np.empty(n_terms + 1, np.float32)
    for s in range(segments.shape[0]):
        row = segments[s]
        n_docs, n_groups = row[AT.N_DOCS], row[AT.N_GROUPS]
        present_bits = array_at(row[AT.PRESENT_BITS], row[AT.N_WORDS], np.uint64)
        present_before = array_at(row[AT.PRESENT_BEFORE], row[AT.N_WORDS], np.uint32)
        term_groups = array_at(row[AT.TERM_GROUPS], row[AT.N_PRESENT] + 1, np.uint32)
        group_starts = array_at(row[AT.GROUP_STARTS], n_groups + 1, np.uint32)
        group_levels = array_at(row[AT.GROUP_LEVELS], n_groups, np.uint16)
        table = array_at(row[AT.TABLE32], row[AT.N_LEVELS], np.float32)
        documents = array_at(row[AT.DOCUMENTS], row[AT.N_POSTINGS], np.uint16)
        saturation = array_at(row[AT.SATURATION32], n_docs, np.float32)
        for i in range(amounts.shape[0]):
            own = slice(pointers[i], pointers[i + 1])
            n = _look_up(terms[own], shares[own], present_bits, present_before, slots, slot_shares)
            n_read, n_touched = np.int64(0), np.int64(0)
            for t in range(n):
                n_read += np.int64(group_starts[term_groups[slots[t] + 1]])
                n_read -= np.int64(group_starts[term_groups[slots[t]]])
            few = n_read < n_docs // _DENSE
            for t in range(n):
                first, last = np.int64(term_groups[slots[t]]), np.int64(term_groups[slots[t] + 1])
                for g in range(first, last):
                    x = slot_shares[t] * table[group_levels[g]]
                    begin, end = np.int64(group_starts[g]), np.int64(group_starts[g + 1])
                    if few:
                        for p in range(begin, end):
                            d = documents[p]
                            touched[n_touched] = d
                            n_touched += np.int64(frequencies[d] == 0)
                            frequencies[d] += x
                    else:
                        for p in range(begin, end):
                            frequencies[documents[p]] += x
            amount = weight * amounts[i]
            if few:
                for t in range(n_touched):
                    d = touched[t]
                    x = frequencies[d]
                    total[place + np.int64(d)] += amount * (x / (x + saturation[d]))
                    frequencies[d] = np.float32(0.0)
            else:
                part = total[place : place + n_docs]
                for d in range(n_docs):
                    x = frequencies[d]
                    # x + K is 0 only if both are, and then any divisor gives 0.
                    part[d] += amount * (x / max(x + saturation[d], _TINY))
                frequencies[:n_docs] = np.float32(0.0)
        place += n_docs


@kernel(
    "int64(float32[::1], float32[::1], int64, float32[::1], float32, float64, uint32[::1],"
    " float32[::1])",
)
def select_candidates(scores, factors, first, heap, floor, slack, candidates, approximate):
    """Select candidates as `find_candidates` does, from given scores.

    The documents are numbered from `first`; `factors` are theirs. `heap` (k,) float32 holds the
    largest scores of the documents before, zeros at first, and is updated. Candidates of earlier
    calls may turn out to be too weak.
    """
    least = max(heap[0], floor)
    for begin in range(0, scores.shape[0], _BLOCK):
        part = scores[begin : begin + _BLOCK]
        least = _scale(part, factors[begin : begin + _BLOCK], heap, least, floor)
    bound = np.float32(np.float64(least) * slack)
    return _collect(scores, bound, first, candidates, approximate)
