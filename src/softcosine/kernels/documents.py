"""Kernels over the forward index: each document's terms and values, in ascending term order.

There are three kinds of values: ``COUNTS``, a table over the distinct frequencies (f(tf) of the
weighting); ``SATURATED``, the BM25 form tf (k1+1) / (tf + K_d); and ``REALS``, a float64 per
posting. Every sum runs over a document's terms in ascending order, in float64: the canonical order
of all final scores.

An entry of the forward index holds a term in 24 bits and, above it, the level of its frequency in
8. Level 255 means that the level is in `spilled_levels`, at the entry's position in `spilled`. With
real weights an entry is a term only, and the weight is in `reals`.

A search reads only the documents that it ranks, so entries are not checked in advance:
`rank_candidates` and `score_documents` check them and report an invalid one.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, inlined, kernel
from softcosine.kernels.ordering import lower_bound
from softcosine.kernels.segment_table import AT, array_at

COUNTS, SATURATED, REALS = 0, 1, 2

_HUGE = 1e30  # upper limit of bars, within the range of float32


@inlined
def term_of(kind, entry):
    """Return the term of an entry; with real weights the entry is the term."""
    return entry if kind == 2 else entry & np.uint32(0xFFFFFF)


@helper
def _score(
    kind, d, pointers, entries, spilled, spilled_levels, table, saturation, k1,
    reals, factors, rounded_one, expansion, query_factor,
):  # fmt: skip
    """Score one document: the sum over its terms, ascending, in float64.

    NaN if an entry is invalid.
    """
    begin, end = pointers[d], pointers[d + 1]
    # Inlined: a function with array arguments, called per entry, would take ten times as long.
    s = lower_bound(spilled, begin)
    total = 0.0
    n_terms, n_levels = expansion.shape[0], table.shape[0]
    for p in range(begin, end):
        entry = entries[p]
        if kind == 2:
            if entry >= n_terms:
                return np.nan
            total += expansion[entry] * reals[p]
            continue
        level = np.int64(entry >> np.uint32(24))
        if level == 255:
            if s >= spilled_levels.shape[0]:
                return np.nan
            level = np.int64(spilled_levels[s])
            s += 1
        term = np.int64(entry & np.uint32(0xFFFFFF))
        if level >= n_levels or term >= n_terms:
            return np.nan
        value = table[level]
        if kind == 1:
            value = value * (k1 + 1.0) / (value + saturation[d])
        total += expansion[term] * value
    score = total * factors[d] * query_factor
    if 1.0 < abs(score) <= rounded_one:
        return 1.0 if score > 0.0 else -1.0
    return score


@kernel(
    "void(int64, int64[::1], uint32[::1], int64[::1], uint16[::1], float64[::1], float64[::1],"
    " float64, float64[::1], float64[::1], int64[::1], int32[::1], float32[::1], int64, int64,"
    " float64[::1], float64[::1])"
)
def soft_norms_squared(
    kind, pointers, entries, spilled, spilled_levels, table, saturation, k1,
    reals, term_weights, s_pointers, s_indices, s_values, start, stop,
    scratch, out,
):  # fmt: skip
    """Write (W d)' S (W d) of the documents start..stop into `out` (theory T5).

    `scratch` (n_terms,) float64 is zero on entry and on exit. Cost O(sum of the lengths of the
    rows of S of the documents' terms).
    """
    for d in range(start, stop):
        begin, end = pointers[d], pointers[d + 1]
        s = lower_bound(spilled, begin)
        for p in range(begin, end):
            entry = entries[p]
            i = term_of(kind, entry)
            if kind == 2:
                scratch[i] = reals[p] * term_weights[i]
                continue
            level = np.int64(entry >> np.uint32(24))
            if level == 255:
                level = np.int64(spilled_levels[s])
                s += 1
            value = table[level]
            if kind == 1:
                value = value * (k1 + 1.0) / (value + saturation[d])
            scratch[i] = value * term_weights[i]
        total = 0.0
        for p in range(begin, end):
            i = term_of(kind, entries[p])
            row = 0.0
            for q in range(s_pointers[i], s_pointers[i + 1]):
                row += s_values[q] * scratch[s_indices[q]]
            total += scratch[i] * row
        out[d] = total
        for p in range(begin, end):
            scratch[term_of(kind, entries[p])] = 0.0


@helper
def _arrays(row):
    """Return the arrays of a segment in a table that `_score` takes."""
    n_docs, n_postings, kind = row[AT.N_DOCS], row[AT.N_POSTINGS], row[AT.KIND]
    return (
        array_at(row[AT.POINTERS], n_docs + 1, np.int64),
        array_at(row[AT.ENTRIES], n_postings, np.uint32),
        array_at(row[AT.SPILLED], row[AT.N_SPILLED], np.int64),
        array_at(row[AT.SPILLED_LEVELS], row[AT.N_SPILLED], np.uint16),
        array_at(row[AT.TABLE], row[AT.N_LEVELS], np.float64),
        array_at(row[AT.SATURATION], n_docs if kind == 1 else 0, np.float64),
        array_at(row[AT.REALS], n_postings if kind == 2 else 0, np.float64),
        array_at(row[AT.FACTORS], n_docs, np.float64),
    )


@helper
def _rank(
    row, k1, rounded_one, expansion, query_factor, candidates, approximate, bound, minimum,
    exclusive, held, out_documents, out_scores,
):  # fmt: skip
    """Offer the candidates of one query in one segment to a heap of the best.

    The root of the heap is the worst. Returns the size of the heap, or -1 if a document has no
    score.
    """
    pointers, entries, spilled, spilled_levels, table, saturation, reals, factors = _arrays(row)
    for c in range(candidates.shape[0]):
        if approximate[c] < bound:
            continue
        d = np.int64(candidates[c])
        score = _score(
            row[AT.KIND], d, pointers, entries, spilled, spilled_levels, table, saturation, k1,
            reals, factors, rounded_one, expansion, query_factor,
        )  # fmt: skip
        if np.isnan(score):
            return -1
        if score < minimum or (exclusive and score == minimum):
            continue
        held = _offer(out_scores, out_documents, held, score, row[AT.FIRST] + d)
    return held


@kernel(
    "int64(int64[:, ::1], float64, float64, int64[::1], int32[::1], float64[::1], float64[::1],"
    " int64[::1], uint32[::1], float32[::1], float32[::1], float64, boolean, float64[::1],"
    " int64[::1], int64[::1], int64[::1], float64[::1])"
)
def rank_candidates(
    segments, k1, rounded_one, query_pointers, query_terms, query_weights, query_factors,
    starts, candidates, approximate, bounds, minimum, exclusive, expansion,
    places, n_ranked, out_documents, out_scores,
):  # fmt: skip
    """Score the candidates of each query exactly and write the best, best first.

    For `segments` see `softcosine.kernels.segment_table`. Queries and candidates are those of
    `softcosine.kernels.search.find_candidates`; candidates with an `approximate` score below
    ``bounds[q]`` are skipped. The score of d is ``(sum over its terms, ascending, of expansion[t] *
    value(d, t)) * factors[d] * query_factors[q]``, in float64. Only scores of at least `minimum`
    count, or above it if `exclusive`. Ties go to the earlier document. At most ``places[q + 1] -
    places[q]`` documents and scores are written, from ``places[q]``, and their number to
    ``n_ranked[q]``. `expansion` (n_terms,) float64 is zero on entry and exit. Returns -1, or the
    first segment with an invalid entry in a candidate.
    """
    n_queries, n_segments = query_factors.shape[0], segments.shape[0]
    wrong = -1
    for q in range(n_queries):
        n_ranked[q] = 0
        if places[q] == places[q + 1]:
            continue
        for t in range(query_pointers[q], query_pointers[q + 1]):
            expansion[query_terms[t]] = query_weights[t]
        documents = out_documents[places[q] : places[q + 1]]
        scores = out_scores[places[q] : places[q + 1]]
        held = 0
        for s in range(n_segments):
            own = slice(starts[s * n_queries + q], starts[s * n_queries + q + 1])
            if own.start == own.stop:
                continue
            held = _rank(
                segments[s], k1, rounded_one, expansion, query_factors[q], candidates[own],
                approximate[own], bounds[q], minimum, exclusive, held, documents, scores,
            )  # fmt: skip
            if held < 0:
                wrong = s
                break
        for t in range(query_pointers[q], query_pointers[q + 1]):
            expansion[query_terms[t]] = 0.0
        if wrong >= 0:
            break
        n_ranked[q] = held
        for last in range(held - 1, 0, -1):
            score, document = scores[last], documents[last]
            scores[last], documents[last] = scores[0], documents[0]
            _sift_down(scores, documents, last, score, document)
    return wrong


@kernel("int64(int64[:, ::1], float64, float64, float64[::1], float64, int64[::1], float64[::1])")
def score_documents(segments, k1, rounded_one, expansion, query_factor, documents, out_scores):
    """Write the scores of documents, equal to those of `rank_candidates` bit for bit.

    `documents` are numbered as in the whole table. Returns -1, or the segment of the first document
    with an invalid entry.
    """
    s = 0
    firsts = segments[:, AT.FIRST]
    pointers, entries, spilled, spilled_levels, table, saturation, reals, factors = _arrays(
        segments[s]
    )
    for c in range(documents.shape[0]):
        document = documents[c]
        if not firsts[s] <= document < firsts[s] + segments[s, AT.N_DOCS]:
            s = lower_bound(firsts, document + 1) - 1
            pointers, entries, spilled, spilled_levels, table, saturation, reals, factors = _arrays(
                segments[s]
            )
        out_scores[c] = _score(
            segments[s, AT.KIND], document - firsts[s], pointers, entries, spilled, spilled_levels,
            table, saturation, k1, reals, factors, rounded_one, expansion, query_factor,
        )  # fmt: skip
        if np.isnan(out_scores[c]):
            return s
    return -1


@kernel(
    "int64(int64[:, ::1], int64, int32[::1], int64[::1], int32[::1], float64[::1], float64[::1],"
    " int64[::1], float64[::1], float64[::1])"
)
def score_soft_frequencies(
    segments, n_terms, terms, pointers, words, shares, amounts, documents, frequencies, out_scores,
):  # fmt: skip
    """Write the BM25 scores of soft frequencies of documents (theory T20), in float64.

    The ascending `terms` are those that words of the query ask for: of a frequency of ``terms[t]``
    the words ``words[pointers[t]:pointers[t + 1]]`` get their `shares`, added in ascending order of
    terms. A word of the soft frequency x > 0 adds ``amounts[i] * (x / (x + K))``, in the order of
    the words. `frequencies` (n_words,) float64 is scratch, and holds the soft frequencies of the
    last document on exit. Returns -1, or the segment of the first document with an invalid entry.
    """
    s = 0
    firsts = segments[:, AT.FIRST]
    pointers_of, entries, spilled, spilled_levels, table, saturation, _, _ = _arrays(segments[s])
    for c in range(documents.shape[0]):
        document = documents[c]
        if not firsts[s] <= document < firsts[s] + segments[s, AT.N_DOCS]:
            s = lower_bound(firsts, document + 1) - 1
            pointers_of, entries, spilled, spilled_levels, table, saturation, _, _ = _arrays(
                segments[s]
            )
        d = document - firsts[s]
        frequencies[:] = 0.0
        begin, end = pointers_of[d], pointers_of[d + 1]
        spill = lower_bound(spilled, begin)
        for p in range(begin, end):
            level = np.int64(entries[p] >> np.uint32(24))
            if level == 255:
                if spill >= spilled_levels.shape[0]:
                    return s
                level = np.int64(spilled_levels[spill])
                spill += 1
            term = np.int64(entries[p] & np.uint32(0xFFFFFF))
            if level >= table.shape[0] or term >= n_terms:
                return s
            t = lower_bound(terms, term)
            if t < terms.shape[0] and terms[t] == term:
                for e in range(pointers[t], pointers[t + 1]):
                    frequencies[words[e]] += shares[e] * table[level]
        score = 0.0
        for i in range(amounts.shape[0]):
            if frequencies[i] > 0.0:
                score += amounts[i] * (frequencies[i] / (frequencies[i] + saturation[d]))
        out_scores[c] = score
    return -1


@kernel(
    "void(int64, int64[::1], uint32[::1], int64[::1], uint16[::1], float64[::1], float64[::1],"
    " float64, float64[::1], float64[::1], float64, int64[::1], int64, int64, int64[::1],"
    " int32[::1], float64[::1], float64[::1], int64[::1], uint32[::1], float64[::1], float64[::1])"
)
def score_pairs(
    kind, pointers, entries, spilled, spilled_levels, table, saturation, k1, reals,
    factors, rounded_one, local, begin, end, kept_starts, kept_terms, kept_weights,
    query_factors, pair_starts, pair_documents, expansion, scores,
):  # fmt: skip
    """Write exact scores of pairs, equal to those of `rank_candidates` bit for bit.

    The pairs come from `softcosine.kernels.all_pairs.gather_pairs`; only those whose document is in
    begin..end, the documents of one segment, are scored; `local` (n,) holds their numbers there.
    The kept expansions come from `expand_documents`. `expansion` (n_terms,) float64 is zero on
    entry and exit.
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
                reals, factors, rounded_one, expansion, query_factors[q],
            )  # fmt: skip
        if filled:
            for t in range(kept_starts[q], kept_starts[q + 1]):
                expansion[kept_terms[t]] = 0.0


@kernel(
    "void(int64, int64[::1], uint32[::1], float64[::1], float64, float64[:, ::1], uint32[:, ::1],"
    " int64[::1], float32[::1], float64)"
)
def push_pairs(
    first, pair_starts, pair_documents, scores, minimum, best, others, held, bars, slack
):
    """Offer pairs to the heaps of both their documents, and raise their bars.

    The pairs come from `score_pairs`, whose columns are the documents `first`, ...; those below
    `minimum` or not above 0 are ignored. `best` (n, k) and `others` (n, k) hold the k best of each
    document, as far as `held` (n,). Not thread-safe.
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


@helper
def _offer(scores, documents, held, score, document):
    """Offer a document to a heap with the worst at its root; returns the size of the heap."""
    if held < scores.shape[0]:
        child = held
        while child > 0:
            parent = (child - 1) >> 1
            s = scores[parent]
            if s < score or (s == score and documents[parent] > document):
                break
            scores[child] = s
            documents[child] = documents[parent]
            child = parent
        scores[child] = score
        documents[child] = document
        return held + 1
    if score > scores[0] or (score == scores[0] and document < documents[0]):
        _sift_down(scores, documents, held, score, document)
    return held


@helper
def _sift_down(scores, documents, size, score, document):
    """Replace the root of the heap (worst first) by the given pair."""
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            scores[right] < scores[child]
            or (scores[right] == scores[child] and documents[right] > documents[child])
        ):
            child = right
        s = scores[child]
        if s > score or (s == score and documents[child] < document):
            break
        scores[parent] = s
        documents[parent] = documents[child]
        parent = child
    scores[parent] = score
    documents[parent] = document
