"""Pairs of similar documents and neighbour graphs, against every pair searched one by one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import expected
import oracle
import strategies
from conftest import JIT
from softcosine import TermSimilarityMatrix, Weighting
from softcosine.errors import InvalidInputError
from softcosine.index.near_duplicates.all_pairs import (
    nearest_neighbors,
    pair_documents,
    similar_pairs,
)
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.rankings import RankedSegment, prepare
from softcosine.index.segment.segment import Segment
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.spaces.frequencies import words_space
from softcosine.kernels.documents import push_pairs

WEIGHTINGS = [None, Weighting(), Weighting(tf="bm25", idf="bm25"), Weighting(tf="raw", idf="none")]


def matrix(S):
    """S without a warning where it is indefinite."""
    return TermSimilarityMatrix.from_matrix(S, warn=False)


def parts_of(X, S, *, ranking="soft_cosine", weighting=None, cuts=(), live=None, real=False, gap=0):
    """Documents X (n_docs, n_terms), dense, as parts that are cut before some documents."""
    bounds = [0, *sorted(cuts), len(X)]
    make = Segment.from_weights if real else Segment.from_counts
    pieces = list(pairwise(bounds))
    segments = [make(csr_array(np.asarray(X, float)[a:b])) for a, b in pieces]
    masks = [None if live is None else np.array(live[a:b], bool) for a, b in pieces]
    statistics = FieldStatistics.of(segments, len(S), live=masks)
    return [
        RankedSegment(
            segment, prepare(ranking, segment, S, weighting, statistics), a + gap * number, mask
        )
        for number, (segment, (a, _), mask) in enumerate(zip(segments, pieces, masks, strict=True))
    ]


def searched(parts, S):
    """Similarity of every pair (i < j) that can have one, by a search: a dictionary."""
    space = words_space(parts, S)
    queries = {}
    for part in parts:
        segment, ranking = part.segment, part.ranking
        for d in range(segment.n_docs):
            if part.live is not None and not part.live[d]:
                continue
            terms, values = segment.row(d)
            if ranking.kind == 0:
                values = ranking.table[
                    segment.levels[segment.pointers[d] : segment.pointers[d + 1]]
                ]
            if ranking.kind == 1:
                values = values * (ranking.k1 + 1.0) / (values + ranking.saturation[d])
            weights = values * ranking.term_weights[terms]
            queries[part.first + d] = QueryVector(terms.astype(np.int32), weights)
    numbers = sorted(queries)
    found = {}
    for place, i in enumerate(numbers):
        later = np.array(numbers[place + 1 :], np.int64)
        if later.size:
            scores = space.prepare(ReadyQuery((queries[i],))).exact(later)
            found.update({(i, int(j)): float(s) for j, s in zip(later, scores, strict=True)})
    return found


def pairs_of(parts, S, **options):
    """All pairs found, as a dictionary; each once and in order."""
    blocks = list(similar_pairs(pair_documents(parts, S), **options))
    assert all(len(block) for block in blocks)
    found = [
        (int(i), int(j), float(s))
        for block in blocks
        for i, j, s in zip(block.first, block.second, block.similarities, strict=True)
    ]
    assert [pair[:2] for pair in found] == sorted({pair[:2] for pair in found})
    return {(i, j): s for i, j, s in found}


def neighbors_of(parts, S, **options):
    """The neighbours found, as a dictionary of lists."""
    found = nearest_neighbors(pair_documents(parts, S), **options)
    assert bool((np.diff(found.first) >= 0).all())
    lists = {d: found.first == d for d in found.first.tolist()}
    return {
        d: list(zip(found.second[own].tolist(), found.similarities[own].tolist(), strict=True))
        for d, own in lists.items()
    }


def best_of(similarities, k, minimum=0.0):
    """The k best of each document, by the one total order."""
    lists = {}
    for (i, j), s in similarities.items():
        if s > 0 and s >= minimum:
            lists.setdefault(i, []).append((j, s))
            lists.setdefault(j, []).append((i, s))
    return {d: sorted(own, key=lambda e: (-e[1], e[0]))[:k] for d, own in lists.items()}


def check(parts, S, *, k, minimum, threads=1):
    """Both questions have the answers of searches, to the bit."""
    similarities = searched(parts, S)
    enough = {pair: s for pair, s in similarities.items() if s >= minimum}
    assert pairs_of(parts, S, min_similarity=minimum, threads=threads) == enough
    assert neighbors_of(parts, S, k=k, threads=threads) == best_of(similarities, k)
    filtered = neighbors_of(parts, S, k=k, min_similarity=minimum, threads=threads)
    assert filtered == best_of(similarities, k, minimum)


@given(st.data())
def test_pairs_and_neighbors_are_those_of_single_searches_to_the_bit(data):
    collection = data.draw(strategies.collections(matrices=strategies.symmetric_matrices))
    S = matrix(collection.S)
    n = collection.n_docs
    parts = parts_of(
        collection.counts,
        S,
        ranking=data.draw(st.sampled_from(("soft_cosine", "inner_product"))),
        weighting=data.draw(st.sampled_from(WEIGHTINGS)),
        cuts=data.draw(st.sets(st.integers(0, n), max_size=2)),
        live=data.draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n)),
        gap=data.draw(st.sampled_from((0, 7))),
    )
    k = data.draw(strategies.result_limits(n))
    check(parts, S, k=k, minimum=data.draw(st.sampled_from((0.1, 0.5, 1.0, 1.5))))


@given(st.data())
def test_real_weights_of_any_size_have_the_pairs_of_single_searches(data):
    n_terms, n = data.draw(strategies.sizes(6)), data.draw(strategies.sizes(8))
    X = data.draw(strategies.coordinates(n, n_terms))
    scales = data.draw(
        st.lists(st.sampled_from((1.0, 1.0, 1e-3, 1e20, 1e-40)), min_size=n, max_size=n)
    )
    S = matrix(data.draw(strategies.symmetric_matrices(n_terms)))
    ranking = data.draw(st.sampled_from(("soft_cosine", "inner_product")))
    parts = parts_of(X * np.array(scales)[:, None], S, ranking=ranking, real=True)
    check(parts, S, k=data.draw(strategies.result_limits(n)), minimum=0.25)


@given(st.data())
def test_negative_similarities_of_terms_change_nothing_but_the_time(data):
    n_terms, n = data.draw(strategies.sizes(6)), data.draw(strategies.sizes(8))
    S = matrix(data.draw(strategies.definite_matrices(n_terms)))
    parts = parts_of(data.draw(strategies.counts(n, n_terms)), S)
    check(parts, S, k=data.draw(strategies.result_limits(n)), minimum=0.3)


def test_a_term_whose_weight_comes_back_to_zero_on_the_way_counts_once():
    S = np.eye(4)
    S[3, :3] = S[:3, 3] = 0.5, -0.5, 0.5  # the first three reach the fourth one after the other
    parts = parts_of([[1, 1, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1]], matrix(S))
    check(parts, matrix(S), k=2, minimum=0.2)


@given(st.data())
def test_heaps_keep_the_best_in_whatever_order_pairs_come(data):
    n, k = data.draw(st.integers(2, 9)), data.draw(st.integers(1, 4))
    pairs = data.draw(st.permutations([(i, j) for i in range(n) for j in range(i + 1, n)]))
    values = st.sampled_from((-0.5, 0.0, 0.25, 0.5, 0.5, 1.0))
    similarities = {pair: data.draw(values) for pair in pairs}
    best, others = np.zeros((n, k)), np.zeros((n, k), np.uint32)
    held, bars = np.zeros(n, np.int64), np.zeros(n, np.float32)
    for (i, j), s in similarities.items():
        starts = np.array([0, 1])
        push_pairs(
            i, starts, np.array([j], np.uint32), np.array([s]), 0.25,
            best, others, held, bars, 0.5,
        )  # fmt: skip
    wanted = best_of(similarities, k, 0.25)
    for d in range(n):
        own = list(zip(others[d, : held[d]].tolist(), best[d, : held[d]].tolist(), strict=True))
        assert sorted(own, key=lambda e: (-e[1], e[0])) == wanted.get(d, [])
        assert bars[d] == (0.5 * min(s for _, s in own) if len(own) == k else 0.0)


@given(strategies.collections(matrices=strategies.symmetric_matrices), st.integers(0, 3))
def test_pairs_are_the_oracle_s(collection, kind):
    S = matrix(collection.S)
    tf, idf = ("raw", "log", "binary", "bm25")[kind], ("none", "smooth", "bm25", "smooth")[kind]
    parts = parts_of(collection.counts, S, weighting=Weighting(tf=tf, idf=idf))
    truth = expected.scores("soft_cosine", collection.counts, collection.counts, collection.S,
                            tf=tf, idf=idf)  # fmt: skip
    if tf == "bm25":  # a document's length counts as a document's
        weights = oracle.idf(oracle.document_frequencies(collection.counts), collection.n_docs, idf)
        Y = oracle.weighted(oracle.tf(collection.counts, tf), weights)
        truth = oracle.soft_cosine(Y, Y, collection.S)
    found = pairs_of(parts, S, min_similarity=1e-9)
    for i in range(collection.n_docs):
        for j in range(i + 1, collection.n_docs):
            assert found.get((i, j), 0.0) == pytest.approx(truth[i, j], abs=1e-8)


def many(n_docs, n_terms, *, seed=0):
    """Documents with repeats, several panels of them, and an S with real neighbourhoods."""
    generator = np.random.default_rng(seed)
    X = generator.poisson(0.25, (n_docs, n_terms)) * generator.integers(1, 4, (n_docs, n_terms))
    X[generator.integers(0, n_docs, n_docs // 4)] = X[generator.integers(0, n_docs, n_docs // 4)]
    X[:: n_docs // 5] = 0
    near = (generator.random((n_terms, n_terms)) < 0.2) * generator.integers(1, 8, n_terms) / 8
    S = np.triu(near, 1) + np.triu(near, 1).T + np.eye(n_terms)
    return X, matrix(S)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("real", [False, True])
def test_many_panels_in_many_parts_give_the_same_as_single_searches(threads, real):
    X, S = many(210 if JIT else 90, 24)
    live = np.arange(len(X)) % 11 != 3
    parts = parts_of(X, S, cuts=(30, 31, 80), live=live, real=real, gap=5)
    check(parts, S, k=4, minimum=0.7, threads=threads)


@pytest.mark.skipif(not JIT, reason="many pairs")
def test_documents_of_many_frequencies_and_runs_longer_than_a_sum_can_hold():
    generator = np.random.default_rng(4)
    X = (generator.random((70, 700)) < 0.9) * generator.integers(1, 3, (70, 700))
    X[5, :300] = np.arange(300) + 1
    X[[7, 66]] = 1  # rows of 255 from end to end
    parts = parts_of(X, S := matrix(np.eye(700)))
    check(parts, S, k=3, minimum=0.5)


@pytest.mark.parametrize("real", [False, True])
def test_similarities_that_bounds_cannot_tell_apart_are_in_the_right_order(real):
    # One weight is so large that all others are a few units, and differ by parts of one.
    generator = np.random.default_rng(8)
    n = 200 if JIT else 80
    X = 1 + generator.random((n, 12)) * (generator.random((n, 12)) < 0.8)
    X[:, 0] = generator.integers(50, 54, n)
    X = X if real else np.rint(X * 8)
    S = matrix(np.eye(12) + 0.125 * (np.eye(12, k=1) + np.eye(12, k=-1)))
    parts = parts_of(X, S, real=real, weighting=None, cuts=(70,))
    check(parts, S, k=3, minimum=0.9995)


def test_a_loner_has_the_right_neighbors_though_none_of_them_wants_it():
    # The large weight that a loner has alone makes all its others a few units.
    generator = np.random.default_rng(9)
    n_loners, n = 50, 130
    X = np.zeros((n, 12 + n_loners))
    X[:, :12] = 5 + generator.random((n, 12))
    X[:n_loners, :12] = 1 + generator.random((n_loners, 12))
    X[np.arange(n_loners), 12 + np.arange(n_loners)] = 100
    S = matrix(np.eye(X.shape[1]))
    check(parts_of(X, S, real=True), S, k=3, minimum=0.9)


@pytest.mark.skipif(not JIT, reason="many pairs")
def test_more_pairs_than_a_scan_has_room_for():
    X = np.ones((700, 3))
    X[::7, 1] = 2
    S = matrix(np.eye(3))
    parts = parts_of(X, S, cuts=(350,))
    assert len(pairs_of(parts, S, min_similarity=0.1, threads=2)) == 700 * 699 // 2
    # All are equal or nearly so: the earliest come first.
    lists = neighbors_of(parts, S, k=2, threads=2)
    assert [d for d, _ in lists[699]] == [1, 2]
    assert [d for d, _ in lists[0]] == [7, 14]


def test_the_number_of_threads_changes_no_bit():
    X, S = many(200 if JIT else 80, 20, seed=3)
    parts = parts_of(X, S, weighting=Weighting(), cuts=(70,))
    graphs = [
        nearest_neighbors(pair_documents(parts, S), k=5, threads=threads) for threads in (1, 2, 5)
    ]
    for graph in graphs[1:]:
        assert graph.second.tolist() == graphs[0].second.tolist()
        assert graph.similarities.tobytes() == graphs[0].similarities.tobytes()
    one, four = (pairs_of(parts, S, min_similarity=0.6, threads=n) for n in (1, 4))
    assert one == four


def test_documents_without_terms_or_norm_or_live_have_no_pairs():
    S = matrix([[1.0, -1.0, 0], [-1.0, 1.0, 0], [0, 0, 1]])
    X = [[1, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 1]]  # the first has norm 0
    parts = parts_of(X, S, live=[1, 1, 1, 0, 1])
    assert pairs_of(parts, S, min_similarity=0.5) == {(2, 4): 1.0}
    assert neighbors_of(parts, S, k=9) == {2: [(4, 1.0)], 4: [(2, 1.0)]}


@pytest.mark.parametrize("X", [np.zeros((0, 2)), np.zeros((3, 2)), [[1, 0]], [[0, 0], [0, 1]]])
def test_fewer_than_two_documents_have_no_pairs(X):
    S = matrix(np.eye(2))
    parts = parts_of(np.asarray(X, float).reshape(-1, 2), S)
    assert pairs_of(parts, S, min_similarity=0.5) == {}
    assert neighbors_of(parts, S, k=3) == {}


def test_progress_counts_the_pairs_compared():
    X, S = many(100, 10)
    parts = parts_of(X, S)
    n = len({d for pair in searched(parts, S) for d in pair if X[d].any()})
    for run in (
        lambda **options: list(
            similar_pairs(pair_documents(parts, S), min_similarity=0.5, **options)
        ),
        lambda **options: nearest_neighbors(pair_documents(parts, S), k=2, **options),
    ):
        seen = []
        run(threads=2, progress=lambda *at, seen=seen: seen.append(at))
        assert seen == sorted(seen)
        assert seen[-1] == (n * (n - 1) // 2, n * (n - 1) // 2)


def test_a_stream_can_be_left_at_any_block():
    X, S = many(200 if JIT else 80, 10)
    stream = similar_pairs(pair_documents(parts_of(X, S), S), min_similarity=0.1, threads=2)
    assert len(next(stream))
    stream.close()


@pytest.mark.parametrize("value", [float("nan"), "0.5", None, True])
def test_a_least_similarity_that_is_no_number_is_refused(value):
    S = matrix(np.eye(2))
    parts = parts_of([[1, 0], [0, 1]], S)
    for call in (
        lambda: similar_pairs(pair_documents(parts, S), min_similarity=value),
        lambda: nearest_neighbors(pair_documents(parts, S), k=1, min_similarity=value),
    ):
        with pytest.raises(InvalidInputError, match=r"min_similarity is .*; it must be a number"):
            call()


@pytest.mark.parametrize("value", [0, -0.5, float("-inf")])
def test_all_pairs_of_any_similarity_are_refused(value):
    S = matrix(np.eye(2))
    parts = parts_of([[1, 0], [0, 1]], S)
    with pytest.raises(InvalidInputError, match="would list nearly every pair; pass a number"):
        similar_pairs(pair_documents(parts, S), min_similarity=value)
    assert neighbors_of(parts, S, k=1, min_similarity=value) == {}


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_k_that_is_no_whole_number_above_0_is_refused(k):
    S = matrix(np.eye(2))
    with pytest.raises(InvalidInputError, match=r"k is .*whole number of 1 or more"):
        nearest_neighbors(pair_documents(parts_of([[1, 0], [0, 1]], S), S), k=k)


@pytest.mark.parametrize("ranking", ["soft_bm25", "expanded_cosine"])
def test_rankings_that_tell_queries_from_documents_have_no_pairs(ranking):
    S = matrix(np.eye(2))
    parts = parts_of([[1, 0], [0, 1]], S, ranking=ranking)
    with pytest.raises(InvalidInputError, match=f"{ranking} tells queries from documents"):
        similar_pairs(pair_documents(parts, S), min_similarity=0.5)


def test_an_asymmetric_matrix_has_no_pairs():
    S = matrix([[1, 0.5], [0, 1]])
    parts = parts_of([[1, 0], [0, 1]], S)
    with pytest.raises(InvalidInputError, match="symmetric"):
        nearest_neighbors(pair_documents(parts, S), k=1)
