"""Each kernel of the index against a few lines of plain NumPy.

The kernels of text, sources and assembly are tested beside their callers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import oracle
import strategies as own
from softcosine.index.rankings import RankedSegment, prepare
from softcosine.index.segment.segment import Segment
from softcosine.index.spaces.segment_table import Columns, SegmentTable
from softcosine.kernels.documents import (
    COUNTS,
    REALS,
    SATURATED,
    rank_candidates,
    score_documents,
    soft_norms_squared,
)
from softcosine.kernels.search import expand_queries, find_candidates
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
from toys import similarity_matrix, statistics_of

# No term has more postings than that.
NO_COLUMNS = Columns(2**40, np.empty(0, np.int32), np.empty((0, 0), np.uint16))


def kinds():
    return st.sampled_from([COUNTS, SATURATED, REALS])


@st.composite
def segments(draw, kind=None):
    """A segment of a kind, its dense values, and everything that goes with a prepared ranking."""
    kind = draw(kinds()) if kind is None else kind
    n_terms, n_docs = draw(own.sizes(own.MAX_TERMS)), draw(own.sizes(own.MAX_DOCS))
    if kind == REALS:
        X = draw(own.coordinates(n_docs, n_terms))
        X[0, 0] = 0.5  # a segment without values counts as one of counts
        segment, weighting = Segment.from_weights(csr_array(X)), None
        values = X
    else:
        X = draw(own.counts(n_docs, n_terms))
        segment = Segment.from_counts(csr_array(X))
        name = "bm25" if kind == SATURATED else draw(st.sampled_from(["raw", "log", "binary"]))
        weighting = Weighting(name, draw(st.sampled_from(["none", "smooth", "probabilistic"])))
        values = oracle.tf(X, name) if X.any() else X
    S = similarity_matrix(draw(own.similarity_matrices(n_terms)))
    ranking = prepare("inner_product", segment, S, weighting, statistics_of(segment), threads=1)
    assert ranking.kind == kind
    return segment, ranking, S, values


def forward(segment, ranking):
    return (
        ranking.kind, *segment.forward, ranking.table,
        ranking.saturation, ranking.k1, segment.reals,
    )  # fmt: skip


def table_of(segment, ranking, factors=None, *, copies=1):
    """A table of a segment several times, without columns, with other factors if given."""
    if factors is not None:
        ranking = replace(ranking, factors=factors)
    parts = [RankedSegment(segment, ranking, i * segment.n_docs) for i in range(copies)]
    return SegmentTable(parts, segment.n_terms, [NO_COLUMNS] * copies)


@given(
    st.lists(st.text("a\u20ac\u2060\u2061", min_size=1, max_size=3), unique=True, min_size=1),
    st.integers(1, 4),
    st.data(),
)
def test_lengths_count_all_words_but_joined_ones(terms, n_docs, data):
    X = data.draw(own.counts(n_docs, len(terms)))
    segment = Segment.from_counts(csr_array(X), Vocabulary(terms))
    counted = [not term.startswith("\u2060") for term in terms]
    assert segment.lengths.tolist() == X[:, counted].sum(axis=1).tolist()


@given(segments())
def test_postings_stand_by_term_then_frequency_then_document(drawn):
    segment, ranking, _, _ = drawn
    values = csr_array(
        (segment.values(), segment.terms.astype(int), segment.pointers),
        shape=(segment.n_docs, segment.n_terms),
    ).toarray()
    assert segment.present_terms.tolist() == np.flatnonzero(values.any(axis=0)).tolist()
    for slot, term in enumerate(segment.present_terms.tolist()):
        first, last = segment.term_groups[slot : slot + 2]
        docs = np.flatnonzero(values[:, term])
        if ranking.kind == REALS:
            assert segment.documents[first:last].tolist() == docs.tolist()
            np.testing.assert_array_equal(
                segment.posting_weights[first:last],
                (values[docs, term] / segment.scales[docs]).astype(np.float32),
            )
        else:
            found = [
                (segment.frequencies[segment.group_levels[group]], document)
                for group in range(first, last)
                for document in segment.documents[
                    segment.group_starts[group] : segment.group_starts[group + 1]
                ]
            ]
            assert found == sorted((values[d, term], d) for d in docs)


@given(segments(), own.term_weights(own.MAX_TERMS), st.data())
def test_soft_norms_are_those_of_dense_matrices(drawn, weights, data):
    segment, ranking, S, values = drawn
    weights = weights[: segment.n_terms].copy()
    scratch, out = np.zeros(segment.n_terms), np.full(segment.n_docs, -7.0)
    start = data.draw(st.integers(0, segment.n_docs))
    stop = data.draw(st.integers(start, segment.n_docs))
    soft_norms_squared(*forward(segment, ranking), weights, *S.arrays, start, stop, scratch, out)
    rows = (values / segment.scales[:, None])[start:stop] * weights
    np.testing.assert_allclose(
        out[start:stop], [x @ S.to_scipy().toarray().astype(float) @ x for x in rows], atol=1e-12
    )
    assert np.all(out[:start] == -7)
    assert np.all(out[stop:] == -7)
    assert not scratch.any()


@given(
    segments(),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, -1.0]), min_size=8, max_size=8),
    st.sampled_from([-np.inf, 0.0, 0.5, 1.0, np.inf]),
    st.booleans(),
    st.integers(1, 15),
)
def test_candidates_rank_by_score_then_number(drawn, expansion, minimum, exclusive, k):
    segment, ranking, _, values = drawn
    expansion = np.array(expansion[: segment.n_terms])
    factors = np.where(np.arange(segment.n_docs) % 3 == 2, 0.0, 0.5)
    candidates = np.arange(segment.n_docs, dtype=np.uint32)[::2].copy()
    terms = np.flatnonzero(expansion).astype(np.int32)
    # The same query before and after one without candidates, in the second of two segments; the
    # last candidate is too weak.
    table = table_of(segment, ranking, factors, copies=2)
    starts, places = np.array([0, 0, 0, 0, 1, 1, 2]) * len(candidates), np.array([0, k, k, 2 * k])
    strong = np.arange(len(candidates)) < len(candidates) - 1
    approximate = np.tile(strong, 2).astype(np.float32)
    every, numbers = np.empty((2, k)), np.empty((2, k), np.int64)
    n_ranked, scratch = np.full(3, -1), np.zeros(segment.n_terms)
    wrong = rank_candidates(
        table.rows, ranking.k1, 1.0, np.array([0, 1, 2, 3]) * len(terms),
        np.tile(terms, 3), np.tile(expansion[terms], 3), np.full(3, 2.0), starts,
        np.tile(candidates, 2), approximate, np.full(3, 0.5, np.float32), minimum, exclusive,
        scratch, places, n_ranked, numbers.ravel(), every.ravel(),
    )  # fmt: skip
    assert wrong == -1
    assert not scratch.any()
    n = n_ranked[0]
    assert n_ranked.tolist() == [n, 0, n]
    assert every[0, :n].tolist() == every[1, :n].tolist()
    documents, scores = numbers[0], every[0]
    again = np.empty(n)
    wrong = score_documents(
        table.rows, ranking.k1, 1.0, expansion, 2.0, documents[:n].copy(), again
    )
    assert wrong == -1
    assert again.tolist() == scores[:n].tolist()
    exact = []
    for d in range(segment.n_docs):  # the canonical order: ascending terms
        total = 0.0
        for term in range(segment.n_terms):
            total += expansion[term] * (values / segment.scales[:, None])[d, term]
        exact.append(total * factors[d] * 2.0)
    kept = [
        d
        for d in candidates[strong]
        if exact[d] > minimum or (exact[d] == minimum and not exclusive)
    ]
    expected = sorted(kept, key=lambda d: (-round(exact[d], 9), d))[:k]
    np.testing.assert_allclose(scores[:n], [exact[d] for d in expected], atol=1e-12)
    assert documents[:n].tolist() == [segment.n_docs + d for d in expected]


@st.composite
def expansions(draw):
    n = draw(own.sizes(own.MAX_TERMS))
    S = draw(st.one_of(own.asymmetric_matrices(n), own.signed_matrices(n)))
    x = draw(own.coordinates(1, n))[0]
    extra = draw(own.coordinates(2, n))
    return S, x, extra, draw(own.term_weights(n))


def expanded(queries, S, weights):
    """Expand queries of (x, what outside words add); scratch arrays must come back clean."""
    n = len(weights)
    terms = [np.flatnonzero(x).astype(np.int32) for x, _ in queries]
    extras = [np.nonzero(extra) for _, extra in queries]
    flat = [np.cumsum([0, *map(len, parts)]) for parts in (terms, [rows for rows, _ in extras])]
    room = n * len(queries)
    expansion, seen = np.zeros(n), np.zeros(n, np.uint8)
    facts, pointers = np.empty((len(queries), 6)), np.empty(len(queries) + 1, np.int64)
    reached, values = np.empty(room, np.int32), np.empty(room)
    expand_queries(
        flat[0], np.concatenate(terms), np.concatenate([x[x != 0] for x, _ in queries]),
        *similarity_matrix(S).arrays, flat[1],
        np.concatenate([columns for _, columns in extras]).astype(np.int32),
        np.concatenate([extra[extra != 0] for _, extra in queries]), weights,
        expansion, seen, np.empty(n + 1, np.int32), facts, pointers, reached, values,
    )  # fmt: skip
    assert not expansion.any()
    assert not seen.any()
    return facts, pointers, reached, values


@given(expansions())
def test_expansion_is_a_product_of_matrices(drawn):
    S, x, extra, weights = drawn
    n = len(x)
    queries = [(x, extra), (np.zeros(n), np.zeros((2, n))), (x[::-1].copy(), extra)]
    every, pointers, reached, values = expanded(queries, S, weights)
    for (query, added), facts, start, stop in zip(
        queries, every, pointers[:-1], pointers[1:], strict=True
    ):
        plain = S.T @ query + added.sum(axis=0)
        expansion = np.zeros(n)
        expansion[reached[start:stop]] = values[start:stop]
        np.testing.assert_allclose(expansion, weights * plain, atol=1e-12)
        support = (S[query != 0] != 0).any(axis=0) | (added != 0).any(axis=0)
        assert sorted(reached[start:stop]) == np.flatnonzero(support).tolist()
        sizes = np.abs(expansion)
        assert facts[0] == sizes.max(initial=0)
        assert facts[1] == (sizes[sizes > 0].min() if sizes.any() else np.inf)
        assert facts[2] == np.count_nonzero(expansion < 0)
        # What outside words add to the norm is not counted here.
        assert facts[3] == pytest.approx(query @ S @ query, abs=1e-12)
        assert facts[4] == pytest.approx(plain @ plain, abs=1e-12)
        assert facts[5] == 0


def test_weights_that_are_no_numbers_are_counted():
    S = np.array([[1.0, -1.0], [-1.0, 1.0]])
    x, extra = np.array([1.7e308, 1.7e308]), np.array([[np.inf, 0.0]])
    facts, *_ = expanded([(x, extra)], S, np.array([1e10, 1.0]))
    assert facts[0, 5] == 1


def found_candidates(segment, ranking, terms, weights, scale, floor, k, slack, scores):
    """Candidates of a query, asked for three times with a query between that is not wanted."""
    table = table_of(segment, ranking)
    _, addresses = table.factors(None)
    room = max(2 * segment.n_docs - 1, 1)  # not always enough for two
    candidates, approximate = np.full(room, 99, np.uint32), np.full(room, -1, np.float32)
    heaps, starts = np.zeros((4, k), np.float32), np.zeros(5, np.int64)
    begin = 0
    while begin < 4:
        end = find_candidates(
            table.rows, addresses, np.arange(5) * len(terms), np.tile(terms, 4),
            np.tile(weights, 4), np.full(4, scale), np.array([1, 0, 1, 1], np.uint8),
            np.full(4, floor, np.float32), heaps, np.full(4, slack), scores, begin, starts,
            candidates, approximate,
        )  # fmt: skip
        assert begin < end <= 4
        candidates, approximate = np.tile(candidates, 2), np.tile(approximate, 2)
        begin = end
    found = [candidates[starts[q] : starts[q + 1]].tolist() for q in range(4)]
    assert found[1] == []
    assert found[0] == found[2] == found[3]
    assert (approximate[: starts[-1]] > 0).all()
    return np.array(found[0], np.uint32), len(found[0])


@given(
    segments(),
    st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), min_size=8, max_size=8),
    st.sampled_from([0.0, 0.5, 2.0]),
    st.integers(1, 15),
    st.sampled_from([1.0, 0.9]),
)
def test_no_document_that_may_be_among_the_best_is_missed(drawn, expansion, floor, k, slack):
    segment, ranking, _, values = drawn
    expansion = np.array(expansion[: segment.n_terms])
    k = min(k, segment.n_docs)
    touched = np.flatnonzero(expansion).astype(np.int32)
    scores = np.zeros(segment.n_docs, np.float32)
    candidates, n = found_candidates(
        segment, ranking, touched, expansion[touched], 3.0, floor, k, slack, scores
    )
    exact = values @ expansion / 3.0
    least = max(sorted(exact, reverse=True)[k - 1], floor)
    found = candidates[:n].tolist()
    assert found == sorted(found)
    must = {d for d in range(segment.n_docs) if exact[d] >= least * slack * (1 + 1e-5) > 0}
    may = {d for d in range(segment.n_docs) if exact[d] >= least * slack * (1 - 1e-5)}
    assert must <= set(found) <= may
    assert all(exact[d] > 0 for d in found)
    assert not scores.any()


def test_candidates_are_found_across_blocks_of_the_scan():
    n_docs = 2500
    X = np.zeros((n_docs, 1))
    X[[5, 1023, 1024, 2047, 2499], 0] = [2, 1, 3, 3, 2]
    segment = Segment.from_counts(csr_array(X))
    ranking = prepare(
        "inner_product", segment, similarity_matrix([[1]]), None, statistics_of(segment), threads=1
    )
    for k, expected in (
        (1, [1024, 2047]),
        (3, [5, 1024, 2047, 2499]),
        (6, [5, 1023, 1024, 2047, 2499]),
    ):
        candidates, n = found_candidates(
            segment, ranking, np.zeros(1, np.int32), np.ones(1), 1.0, 0.0, k, 1.0,
            np.zeros(n_docs, np.float32),
        )  # fmt: skip
        assert candidates[:n].tolist() == expected
