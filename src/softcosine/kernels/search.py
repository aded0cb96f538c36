"""Term-at-a-time search: expand the query, accumulate in float32, keep every possible answer."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel
from softcosine.kernels.prefetch import prefetch

__all__ = ["add_scores", "expand_queries", "find_candidates", "select_candidates"]

# Most lists are short and cold: so many terms ahead of its use, a term, its groups and its
# postings are fetched, one after the other.
_FETCH_TERM, _FETCH_GROUPS, _FETCH_POSTINGS = 24, 16, 8
_BLOCK = 1024  # documents a block of the scan: 4 KiB of scores stay in the first-level cache


@helper
def _expand(  # type: ignore[no-untyped-def]
    query_terms, query_weights, s_pointers, s_indices, s_values,
    extra_terms, extra_values, term_weights, expansion, seen, touched, facts,
):  # fmt: skip
    """Leave W S' W x of one query in `expansion`; the number of terms it reaches is returned."""
    n = 0
    for a in range(query_terms.shape[0]):
        i = query_terms[a]
        x = query_weights[a]
        for p in range(s_pointers[i], s_pointers[i + 1]):
            j = s_indices[p]
            # Without a branch: whether a term was seen cannot be predicted.
            touched[n] = j
            n += 1 - int(seen[j])
            seen[j] = 1
            expansion[j] += s_values[p] * x
    # Before the extra values come in: what they add to the norm is known otherwise.
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
def expand_queries(  # type: ignore[no-untyped-def]
    query_pointers, query_terms, query_weights, s_pointers, s_indices, s_values,
    extra_pointers, extra_terms, extra_values, term_weights, expansion, seen, touched,
    facts, pointers, terms, weights,
):  # fmt: skip
    """Write W S' W x of some queries (theory T12), one after the other.

    Query q has the terms ``query_terms[query_pointers[q]:query_pointers[q + 1]]``, ascending, and
    `query_weights` = W x; `extra_terms`, `extra_values` are what query words outside the vocabulary
    contribute to S' W x. `expansion` (n_terms,) float64 and `seen` (n_terms,) are zero on entry and
    exit, `touched` (n_terms + 1,) is scratch. The reached `terms` and their `weights` are written
    from ``pointers[q]`` on, in the order in which they are met. `facts` (n_queries, 6) receives the
    largest and the smallest absolute weight, the number of negative ones, x'WSWx over the
    vocabulary, the squared ordinary norm of S' W x, and the number of weights that are not finite.
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
def _add_groups(first, last, group_starts, group_weights, documents, weight, scores):  # type: ignore[no-untyped-def]
    for g in range(first, last):
        w = weight * group_weights[g]
        for p in range(group_starts[g], group_starts[g + 1]):
            scores[documents[p]] += w


@helper
def _add_saturated(  # type: ignore[no-untyped-def]
    first, last, group_starts, group_weights, documents, weight, saturation, scores
):
    one = np.float32(1.0)
    for g in range(first, last):
        tf = group_weights[g]
        if tf == one:
            for p in range(group_starts[g], group_starts[g + 1]):
                scores[documents[p]] += weight
        else:
            w = weight * tf
            for p in range(group_starts[g], group_starts[g + 1]):
                d = documents[p]
                scores[d] += w * (one + saturation[d]) / (tf + saturation[d])


@helper
def _add_reals(start, stop, documents, weights, weight, scores):  # type: ignore[no-untyped-def]
    for p in range(start, stop):
        scores[documents[p]] += weight * weights[p]


@helper
def _push(heap, value):  # type: ignore[no-untyped-def]
    """Replace the least value, at the root, by a larger one."""
    size = heap.shape[0]
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = value


@helper
def _add_columns(rows, row_weights, columns, begin, part):  # type: ignore[no-untyped-def]
    """Add the columns of frequent terms, four at a time, to the scores from `begin` on."""
    end = begin + part.shape[0]
    sixteen = np.uint32(16)
    for r in range(0, rows.shape[0], 4):
        a, b = columns[rows[r], begin:end], columns[rows[r + 1], begin:end]
        c, d = columns[rows[r + 2], begin:end], columns[rows[r + 3], begin:end]
        wa, wb, wc, wd = row_weights[r], row_weights[r + 1], row_weights[r + 2], row_weights[r + 3]
        for i in range(part.shape[0]):
            # The upper half of a float32.
            va = np.uint32(np.uint32(a[i]) << sixteen).view(np.float32)
            vb = np.uint32(np.uint32(b[i]) << sixteen).view(np.float32)
            vc = np.uint32(np.uint32(c[i]) << sixteen).view(np.float32)
            vd = np.uint32(np.uint32(d[i]) << sixteen).view(np.float32)
            part[i] += (wa * va + wb * vb) + (wc * vc + wd * vd)


@helper
def _add_postings(  # type: ignore[no-untyped-def]
    kind, terms, weights, scale, term_groups, group_starts, group_weights,
    documents, posting_weights, saturation, longest_list, column_of,
    rows, row_weights, scores,
):  # fmt: skip
    """Add up the terms' postings; of terms with a column only row and weight are noted."""
    inverse = 1.0 / scale
    n_terms = term_groups.shape[0] - 1
    n_rows = 0
    for t in range(terms.shape[0]):
        if t + _FETCH_TERM < terms.shape[0]:
            prefetch(term_groups, np.int64(terms[t + _FETCH_TERM]))
            ahead = term_groups[min(terms[t + _FETCH_POSTINGS], n_terms)]
            if kind != 2:
                prefetch(group_starts, term_groups[min(terms[t + _FETCH_GROUPS], n_terms)])
                ahead = group_starts[ahead]
            prefetch(documents, ahead)
        j = terms[t]
        weight = np.float32(weights[t] * inverse)
        if weight == 0 or j >= n_terms:
            continue
        first, last = term_groups[j], term_groups[j + 1]
        if first == last:
            continue
        length = last - first if kind == 2 else group_starts[last] - group_starts[first]
        if length > longest_list:
            rows[n_rows] = column_of[j]
            row_weights[n_rows] = weight
            n_rows += 1
        elif kind == 0:
            _add_groups(first, last, group_starts, group_weights, documents, weight, scores)
        elif kind == 1:
            _add_saturated(
                first, last, group_starts, group_weights, documents, weight, saturation, scores
            )
        else:
            _add_reals(first, last, documents, posting_weights, weight, scores)
    return n_rows


# The scans below walk slices from 0 on: a loop over begin..end does not vectorise, since an index
# that the compiler cannot prove to be 0 or more might count from the end. And they count in
# integers what exceeds a bound, which vectorises where a float maximum would not.


@helper
def _scale(part, factors, heap, least, floor):  # type: ignore[no-untyped-def]
    """Multiply scores by factors and let the heap take the largest; the least that still counts."""
    above = np.int32(0)
    for i in range(part.shape[0]):
        score = part[i] * factors[i]
        part[i] = score
        above += np.int32(score > least)
    if above > 0:
        for i in range(part.shape[0]):
            if part[i] > least:
                _push(heap, part[i])
                least = max(heap[0], floor)
    return least


@helper
def _collect(scores, bound, first, candidates):  # type: ignore[no-untyped-def]
    """Write the documents whose score reaches the bound, and set all scores to zero."""
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
                    n += 1
        part[:] = zero
    return n


@kernel(
    "int64(int64, int64[::1], int32[::1], float64[::1], float64[::1], uint8[::1], int64[::1],"
    " int64[::1], float32[::1], uint16[::1], float32[::1], float32[::1], int64, int32[::1],"
    " uint16[:, ::1], float32[::1], float32[::1], float32[:, ::1], float64[::1], float32[::1],"
    " int64, int64[::1], uint32[::1])"
)
def find_candidates(  # type: ignore[no-untyped-def]
    kind, pointers, terms, weights, scales, chosen, term_groups, group_starts, group_weights,
    documents, posting_weights, saturation, longest_list, column_of, columns,
    factors, floors, heaps, slacks, scores, begin, starts, candidates,
):  # fmt: skip
    """Write, for each query from `begin` on, every document that can be among the k best.

    Queries are expanded as by `expand_queries`; those not `chosen` get none. Their weights, divided
    by ``scales[q]``, are accumulated in float32 and multiplied by `factors` (n_docs,). ``heaps[q]``
    (k,) float32 holds the k largest such scores of the segments before, zeros at first, and takes
    those of this one. With a_k its least, the candidates are all documents with a score above 0 of
    at least ``max(a_k, floors[q]) * slacks[q]``; a slack < 1 covers the rounding (theory,
    "Exactness of the two-stage search"). All weights are non-negative. `scores` (n_docs,) float32
    is zero on entry and exit.

    The candidates of query q are ``candidates[starts[q]:starts[q + 1]]``, ascending. Where
    `candidates` might not hold another query's, the number of that query is returned, else
    n_queries; they are written from the beginning.

    `kind`, see `softcosine.kernels.documents`; for real weights `term_groups` points into the
    postings themselves. Terms with more postings than `longest_list` are read from their row
    ``column_of[term]`` of `columns` (n_columns, n_docs), see
    `softcosine.index.segment.dense_columns`. Terms beyond `term_groups` have no postings.
    """
    n_docs = scores.shape[0]
    rows = np.zeros(columns.shape[0] + 3, np.int32)
    row_weights = np.zeros(columns.shape[0] + 3, np.float32)
    end = 0
    for q in range(begin, scales.shape[0]):
        starts[q] = end
        starts[q + 1] = end
        if chosen[q] == 0:
            continue
        if candidates.shape[0] - end < n_docs:
            return q
        own = slice(pointers[q], pointers[q + 1])
        row_weights[:] = np.float32(0.0)
        n_rows = _add_postings(
            kind, terms[own], weights[own], scales[q], term_groups, group_starts, group_weights,
            documents, posting_weights, saturation, longest_list, column_of,
            rows, row_weights, scores,
        )  # fmt: skip
        # Filled up to a multiple of four by weights of zero.
        filled = (n_rows + 3) // 4 * 4
        heap, floor = heaps[q], floors[q]
        least = max(heap[0], floor)
        for first in range(0, n_docs, _BLOCK):
            part = scores[first : first + _BLOCK]
            _add_columns(rows[:filled], row_weights[:filled], columns, first, part)
            least = _scale(part, factors[first : first + _BLOCK], heap, least, floor)
        bound = np.float32(np.float64(least) * slacks[q])
        end += _collect(scores, bound, 0, candidates[end:])
        starts[q + 1] = end
    return scales.shape[0]


@kernel(
    "void(int64, int32[::1], float64[::1], float64, int64[::1], int64[::1], float32[::1],"
    " uint16[::1], float32[::1], float32[::1], int64, int32[::1], uint16[:, ::1],"
    " float32[::1], float32, float32[::1], float32[::1])"
)
def add_scores(  # type: ignore[no-untyped-def]
    kind, terms, weights, scale, term_groups, group_starts, group_weights,
    documents, posting_weights, saturation, longest_list, column_of, columns,
    factors, weight, scores, total,
):  # fmt: skip
    """Add `weight` times the scores of one query, as of `find_candidates`, to `total` (n_docs,)."""
    rows = np.zeros(columns.shape[0] + 3, np.int32)
    row_weights = np.zeros(columns.shape[0] + 3, np.float32)
    n_rows = _add_postings(
        kind, terms, weights, scale, term_groups, group_starts, group_weights,
        documents, posting_weights, saturation, longest_list, column_of,
        rows, row_weights, scores,
    )  # fmt: skip
    rows, row_weights = rows[: (n_rows + 3) // 4 * 4], row_weights[: (n_rows + 3) // 4 * 4]
    for begin in range(0, scores.shape[0], _BLOCK):
        part = scores[begin : begin + _BLOCK]
        _add_columns(rows, row_weights, columns, begin, part)
        own, out = factors[begin : begin + _BLOCK], total[begin : begin + _BLOCK]
        for i in range(part.shape[0]):
            out[i] += weight * (part[i] * own[i])
        part[:] = np.float32(0.0)


@kernel(
    "int64(float32[::1], float32[::1], int64, float32[::1], float32, float64, uint32[::1])",
)
def select_candidates(scores, factors, first, heap, floor, slack, candidates):  # type: ignore[no-untyped-def]
    """Do what `find_candidates` does once scores are added up, for some of the documents.

    The documents are numbered from `first`; `factors` are theirs. `heap` (k,) float32 holds the
    largest scores of the documents before, zeros at first, and takes those of these. Candidates
    of earlier calls may turn out to be too weak.
    """
    least = max(heap[0], floor)
    for begin in range(0, scores.shape[0], _BLOCK):
        part = scores[begin : begin + _BLOCK]
        least = _scale(part, factors[begin : begin + _BLOCK], heap, least, floor)
    return _collect(scores, np.float32(np.float64(least) * slack), first, candidates)
