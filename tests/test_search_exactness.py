"""The fast search gives the bytes of the slow one, whatever is asked for."""

from __future__ import annotations

import copy
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

import strategies as own
from conftest import JIT
from expected import RANKINGS, TF
from softcosine.errors import IndefiniteMatrixError, InvalidInputError
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.rankings import prepare
from softcosine.index.segment.segment import Segment
from softcosine.index.spaces.words import Linear
from softcosine.text.weighting import Weighting
from toys import same, searcher_of, similarity_matrix, slowly, statistics_of, vector

N_DOCS, N_TERMS = (3000, 60) if JIT else (1100, 20)


def both(searcher, query, **settings):
    """The answer of the fast path, compared with that of the slow one; whether it was fast."""
    chosen, find = [], Linear._find

    def watched(self, space, expanded, wanted, asked):
        chosen.append(all(wanted))
        return find(self, space, expanded, wanted, asked)

    with patch.object(Linear, "_find", watched):
        fast = searcher.search(query, **settings)
    with slowly():
        slow = searcher.search(query, **settings)
    assert same(fast, slow)
    return fast, all(chosen)


def similarities(generator, n):
    upper = random_array((n, n), density=0.15, rng=generator).toarray()
    S = np.triu(np.round(upper, 2), 1)
    return similarity_matrix(S + S.T + np.eye(n))


def count_matrix(generator):
    counts = generator.choice([0, 1, 1, 2, 7, 300, 70000], (N_DOCS, N_TERMS))
    return np.where(generator.random(counts.shape) < 0.85, 0, counts).astype(float)


def real_matrix(generator):
    weights = generator.choice([0.3, 0.1 + 0.2, 0.5, 1.7], (N_DOCS, N_TERMS))
    return np.where(generator.random(weights.shape) < 0.85, 0, weights)


CASES = [
    *((ranking, Weighting(tf, "smooth")) for ranking in RANKINGS[:3] for tf in TF),
    ("soft_bm25", Weighting(b=0.0)),
    ("soft_bm25", Weighting(k1=0.5)),
    ("soft_tf_bm25", Weighting(b=0.0)),
    ("soft_tf_bm25", Weighting(k1=0.5)),
    *((ranking, None) for ranking in RANKINGS[:3]),
]
LIMITS = [1, 3, 10, 200, N_DOCS, N_DOCS + 5]
if not JIT:  # each kind of values that kernels read, once
    CASES = [CASES[0], *CASES[-6:-2]]
    LIMITS = [1, 10, N_DOCS + 5]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(("ranking", "weighting"), CASES)
def test_fast_and_slow_searches_agree_to_the_bit(ranking, weighting, limit):
    generator = np.random.default_rng(limit)
    X = real_matrix(generator) if weighting is None else count_matrix(generator)
    X[generator.integers(0, N_DOCS, 40)] = X[0]  # ties
    X[generator.integers(0, N_DOCS, 40)] = 0
    searcher = searcher_of(X, similarities(generator, N_TERMS), ranking, weighting)
    for n_words in (1, 2, 5, N_TERMS):
        weights = np.zeros(N_TERMS)
        chosen = generator.choice(N_TERMS, n_words, replace=False)
        weights[chosen] = generator.choice([1.0, 1.0, 0.7, 3.3], n_words)
        query = vector(weights)
        fast, was_fast = both(searcher, query, k=limit)
        assert was_fast
        best = float(fast.scores[min(limit, len(fast.scores)) // 2])
        for bound in (best, np.nextafter(best, np.inf), np.nextafter(best, 0), best / 2):
            found, _ = both(searcher, query, k=limit, min_score=bound)
            kept = fast.scores >= bound
            if len(fast.scores) < limit or not kept.all():
                np.testing.assert_array_equal(found.documents, fast.documents[kept])
        both(searcher, query, k=limit, min_score=-np.inf, positive=False)
        both(searcher, query, k=limit, min_score=best, positive=False)


@pytest.mark.parametrize("limit", [1, 10, N_DOCS])
@pytest.mark.parametrize(("ranking", "weighting"), CASES)
def test_parts_give_the_bits_of_the_whole(ranking, weighting, limit):
    generator = np.random.default_rng(limit)
    X = real_matrix(generator) if weighting is None else count_matrix(generator)
    X[generator.integers(0, N_DOCS, 40)] = X[0]
    S = similarities(generator, N_TERMS)
    whole = searcher_of(X, S, ranking, weighting)
    cuts = [1, 2, N_DOCS // 2, N_DOCS - 1]
    parts = searcher_of(X, S, ranking, weighting, cuts=cuts)
    for n_words in (1, 5, N_TERMS):
        weights = np.zeros(N_TERMS)
        weights[generator.choice(N_TERMS, n_words, replace=False)] = 1.0
        query = vector(weights)
        for settings in (
            {"k": limit},
            {"k": limit, "min_score": -np.inf, "positive": False},
            {"k": limit, "sharing": True},
        ):
            top, _ = both(parts, query, **settings)
            assert same(top, whole.search(query, **settings))
        documents = top.documents[::-1]
        np.testing.assert_array_equal(parts.scores(query, documents), top.scores[::-1])


def test_parts_with_and_without_coarse_columns_give_the_bits_of_the_whole():
    # The first part has columns of 16 bits, whose scores may be too large by far more than those
    # of the second, which is too small for columns; closely spaced scores let it show.
    S, weighting = similarity_matrix(np.eye(6)), Weighting("log", "none")
    query = QueryVector(np.array([0, 1, 2], np.int32), np.array([1.0, 0.7, 0.2]))
    for seed in range(30 if JIT else 3):
        generator = np.random.default_rng(seed)
        X = np.where(generator.random((2000, 6)) < 0.9, generator.integers(1, 40, (2000, 6)), 0)
        whole = searcher_of(X, S, weighting=weighting)
        parts = searcher_of(X, S, weighting=weighting, cuts=[1500])
        for k in (1, 3, 10, 50):
            assert same(parts.search(query, k=k), whole.search(query, k=k))


@pytest.mark.parametrize("ranking", RANKINGS if JIT else ("soft_cosine", "soft_bm25"))
def test_frequencies_of_any_size_and_number_count(ranking):
    generator = np.random.default_rng(5)
    counts = generator.integers(1, 700, (N_DOCS, N_TERMS)) * 1.0
    counts[generator.random(counts.shape) < 0.6] = 0
    counts[3, 2] = 2.0**40
    S = similarities(generator, N_TERMS)
    searcher = searcher_of(counts, S, ranking, Weighting("raw", "none"), cuts=[N_DOCS // 2])
    for part in searcher.space.parts:
        segment = part.segment
        assert len(segment.frequencies) > 500
        assert len(segment.spilled) > 0
        rows = counts[part.first : part.first + segment.n_docs]
        np.testing.assert_array_equal(segment.values(), rows[rows > 0])
        np.testing.assert_array_equal(segment.terms, np.nonzero(rows)[1])
        for d in (0, 3, segment.n_docs - 1):
            np.testing.assert_array_equal(segment.row(d)[1], rows[d][rows[d] > 0])
    for n_words in (1, 4, N_TERMS):
        weights = np.zeros(N_TERMS)
        weights[generator.choice(N_TERMS, n_words, replace=False)] = 1.0
        top, was_fast = both(searcher, vector(weights), k=N_DOCS)
        assert was_fast
        batch = searcher.search_batch([vector(weights)] * 64, k=N_DOCS)
        assert all(same(one, top) for one in batch)
        if ranking == "inner_product":
            truth = counts @ (S.to_scipy().toarray().astype(float) @ weights)
            np.testing.assert_allclose(top.scores, truth[top.documents], rtol=1e-12)


@pytest.mark.parametrize(("ranking", "weighting"), CASES)
def test_deleted_and_excluded_documents_are_no_answers(ranking, weighting):
    generator = np.random.default_rng(3)
    X = real_matrix(generator) if weighting is None else count_matrix(generator)
    S = similarities(generator, N_TERMS)
    live, allowed = generator.random(N_DOCS) < 0.7, generator.random(N_DOCS) < 0.4
    cuts = [N_DOCS // 3]
    searcher = searcher_of(X, S, ranking, weighting, cuts=cuts, live=live)
    masks = [allowed[: cuts[0]], allowed[cuts[0] :]]
    query = vector(np.where(generator.random(N_TERMS) < 0.2, 1.0, 0.0))
    for settings in (
        {},
        {"min_score": -np.inf, "positive": False},
        {"sharing": True},
    ):
        every = searcher.search(query, k=N_DOCS, **settings)
        assert live[every.documents].all()
        assert settings.get("positive", True) or len(every.documents) == live.sum()
        kept = allowed[every.documents]
        for k in (5, N_DOCS):
            some, _ = both(searcher, query, k=k, allowed=masks, **settings)
            np.testing.assert_array_equal(some.documents, every.documents[kept][:k])
            np.testing.assert_array_equal(some.scores, every.scores[kept][:k])
            again = searcher.search_batch([query] * 40, k=k, allowed=masks, **settings)
            assert all(same(one, some) for one in again)


@given(
    own.collections(matrices=own.similarity_matrices),
    st.sampled_from([1, 2, 3, 20]),
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    st.booleans(),
)
def test_fast_and_slow_searches_agree_on_awkward_collections(c, k, min_score, positive):
    S = similarity_matrix(c.S)
    for ranking in RANKINGS:
        searcher = searcher_of(c.counts, S, ranking, Weighting("raw", "none"))
        for weights in c.queries:
            found, _ = both(searcher, vector(weights), k=k, min_score=min_score, positive=positive)
            # Whatever is left out is below the bound, or there are k before it.
            every = searcher.search(vector(weights), k=c.n_docs, min_score=-np.inf, positive=False)
            allowed = every.scores >= min_score
            if positive:
                allowed &= every.scores > 0
            np.testing.assert_array_equal(found.documents, every.documents[allowed][:k])
            for document, score in zip(found.documents, found.scores, strict=True):
                assert searcher.score(vector(weights), int(document)) == score


@pytest.mark.parametrize("span", [1e-20, 1e-28, 1e-31, 1e-40, 1e-200, 1e-320])
def test_weights_that_float32_cannot_hold_take_the_slow_path(span):
    generator = np.random.default_rng(0)
    X = np.where(generator.random((200, 6)) < 0.5, 0, generator.choice([1.0, 0.5, span], (200, 6)))
    S = similarity_matrix(np.eye(6) + 0.5 * np.eye(6, k=1) + 0.5 * np.eye(6, k=-1))
    for ranking in RANKINGS[:3]:
        searcher = searcher_of(X, S, ranking)
        for weights in ([1, span, 0, 0, 0, 1], [0, 1, 1, 0, 0, 0], [0, 0, span, 0, 0, 0]):
            for k in (1, 10, 200):
                _, was_fast = both(searcher, vector(weights), k=k)
                assert not (was_fast and span < 1e-30)


def test_negative_similarities_take_the_slow_path():
    S = similarity_matrix([[1, -0.5, 0], [-0.5, 1, 0], [0, 0, 1]])
    X = [[1, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 1]]
    searcher = searcher_of(X, S)
    found, was_fast = both(searcher, vector([1, 0, 0]), k=4)
    assert not was_fast
    assert found.documents.tolist() == [0, 2]
    found, was_fast = both(searcher, vector([1, 0, 0]), k=4, min_score=-np.inf, positive=False)
    assert found.documents.tolist() == [0, 2, 3, 1]
    assert found.scores[-1] == -0.5
    assert both(searcher, vector([0, 0, 1]), k=4)[1]


@given(own.collections(matrices=own.similarity_matrices))
def test_without_expansion_only_documents_with_a_word_of_the_query_are_found(c):
    S = similarity_matrix(c.S)
    for ranking in RANKINGS:
        searcher = searcher_of(c.counts, S, ranking, Weighting("raw", "none"))
        for weights in c.queries:
            every = searcher.search(vector(weights), k=c.n_docs)
            found = searcher.search(vector(weights), k=c.n_docs, sharing=True)
            sharing = c.counts[:, weights > 0].any(axis=1)
            kept = sharing[every.documents]
            assert found.documents.tolist() == every.documents[kept].tolist()
            assert found.scores.tobytes() == every.scores[kept].tobytes()
            two = searcher.search(vector(weights), k=2, sharing=True)
            assert two.documents.tolist() == found.documents[:2].tolist()


def test_many_threads_may_search_at_once():
    generator = np.random.default_rng(1)
    searcher = searcher_of(
        count_matrix(generator), similarities(generator, N_TERMS), weighting=Weighting()
    )
    queries = [vector(generator.random(N_TERMS) < 0.1) for _ in range(40)]
    alone = [searcher.search(query, k=10) for query in queries]
    for threads in (1, 2, 8, 100, -1, None):
        together = searcher.search_batch(queries, k=10, threads=threads)
        assert all(same(*pair) for pair in zip(alone, together, strict=True))
    with ThreadPoolExecutor(8) as pool:
        again = list(pool.map(lambda query: searcher.search(query, k=10), queries * 3))
    assert all(same(*pair) for pair in zip(alone * 3, again, strict=True))


def test_the_number_of_threads_changes_no_norm():
    generator = np.random.default_rng(2)
    X = csr_array(count_matrix(generator))
    segment, S = Segment.from_counts(X), similarities(generator, N_TERMS)
    factors = {
        prepare(
            "soft_cosine", segment, S, Weighting(), statistics_of(segment), threads=threads
        ).factors.tobytes()
        for threads in (1, 2, 3, 7, 5000)
    }
    assert len(factors) == 1


def test_a_refused_query_leaves_no_trace():
    S = similarity_matrix(np.eye(3) - 0.9 * (1 - np.eye(3)))
    searcher = searcher_of([[1, 0, 0], [0, 1, 0]], S)
    before = searcher.search(vector([1, 0, 0]), k=2, min_score=-np.inf, positive=False)
    for _ in range(3):
        with pytest.raises(IndefiniteMatrixError):
            searcher.search(vector([1, 1, 1]), k=2)
        with pytest.raises(IndefiniteMatrixError):
            searcher.search_batch([vector([1, 0, 0]), vector([1, 1, 1])], k=2)
        with pytest.raises(IndefiniteMatrixError):
            searcher.score(vector([1, 1, 1]), 0)
        after = searcher.search(vector([1, 0, 0]), k=2, min_score=-np.inf, positive=False)
        assert same(before, after)


def test_no_queries_have_no_results():
    assert searcher_of([[1.0]], similarity_matrix([[1]])).search_batch([], k=1) == []


def test_settings_are_checked():
    searcher = searcher_of([[1.0]], similarity_matrix([[1]]))
    for threads in (0, 1.5, "2"):
        with pytest.raises(InvalidInputError, match="threads is "):
            searcher.search_batch([vector([1])], k=1, threads=threads)
    assert searcher.search(vector([1]), k=np.int64(1), min_score=np.float32(0.5)).scores == [1]
    assert not len(searcher.search(vector([1]), k=1, min_score=np.inf).documents)


@pytest.mark.skipif(not JIT, reason="so many documents take too long without compiled kernels")
def test_more_ties_than_there_is_room_for_at_first_are_all_found():
    n_docs, cuts = 30_000, [5_000, 5_000, 11_000, 25_000]
    X = np.ones((n_docs, 2))
    X[::7, 1] = 0
    searcher = searcher_of(X, similarity_matrix(np.eye(2)), "inner_product", cuts=cuts)
    for k in (1, 10, n_docs):
        top, was_fast = both(searcher, vector([1, 0]), k=k)
        assert was_fast
        assert top.documents.tolist() == list(range(k))


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_of_a_searcher_reads_its_own_arrays(again):
    generator = np.random.default_rng(3)
    X = generator.integers(0, 3, (300, 6))
    searcher = searcher_of(X, similarity_matrix(np.eye(6)), weighting=Weighting(), cuts=[100])
    expected = searcher.search(vector(np.ones(6)), k=20)
    other = again(searcher)
    rows, others = (one.space.table.rows[:, -8:].ravel() for one in (searcher, other))
    assert not set(rows) & set(others)
    del searcher
    gc.collect()
    assert same(other.search(vector(np.ones(6)), k=20), expected)


def test_terms_that_a_segment_lacks_or_came_after_it_are_passed_over():
    """Directories of any density, over words of 64 terms; some terms are in no segment."""
    generator = np.random.default_rng(5)
    X = generator.integers(1, 4, (120, 200)) * (generator.random((120, 200)) < 0.03)
    X[:40, 60:] = 0
    X[:, 190:] = 0
    S = similarities(generator, 200)
    whole = searcher_of(X, S, weighting=Weighting())
    cut = searcher_of(X, S, weighting=Weighting(), cuts=[1, 2, 40, 41, 119])
    for _ in range(10):
        query = vector(np.where(generator.random(200) < 0.05, generator.random(200), 0))
        assert same(both(cut, query, k=15)[0], whole.search(query, k=15))


@pytest.mark.parametrize("threads", [2, 3, 9])
def test_a_query_on_several_threads_gets_the_bits_of_one(threads):
    generator = np.random.default_rng(11)
    X = generator.integers(0, 3, (N_DOCS, N_TERMS)) * (generator.random((N_DOCS, N_TERMS)) < 0.2)
    X[N_DOCS // 2 :] = X[: N_DOCS - N_DOCS // 2]  # ties between runs of segments
    S = similarities(generator, N_TERMS)
    cuts = np.linspace(0, N_DOCS, 8).astype(int)[1:-1].tolist()
    live = generator.random(N_DOCS) < 0.9
    searcher = searcher_of(X, S, weighting=Weighting(), cuts=cuts, live=live)
    for k, least in ((1, 0.0), (10, 0.0), (10, 0.1), (N_DOCS, 0.0)):
        for _ in range(4):
            query = vector(np.where(generator.random(N_TERMS) < 0.2, generator.random(N_TERMS), 0))
            alone = searcher.search(query, k=k, min_score=least)
            with patch("softcosine.index.spaces.words._DIVIDED", 0):
                together = searcher.search(query, k=k, min_score=least, threads=threads)
            assert same(alone, together)
