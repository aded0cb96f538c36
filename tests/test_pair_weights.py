"""Similarities of pairs learned from preferences: right by the definition, and worth having."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import oracle
import softcosine as sc
import strategies as own
from softcosine.errors import InvalidInputError, VocabularyMismatchError
from softcosine.lab.term_pairs.pair_weights import (
    PreferenceLoss,
    Preferences,
    bm25_vectors,
    held_out_losses,
    learn_pair_weights,
)
from softcosine.space.pair_pattern import PairPattern, own_products
from toys import similarity_matrix

JAGUAR = [[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]]  # car, cat, jaguar
ANIMALS = [[1, 0, 0], [0, 1, 0]]


@st.composite
def judged(draw):
    c = draw(own.collections(matrices=own.symmetric_matrices))
    n = draw(st.integers(1, 6))
    numbers = [
        np.array(draw(st.lists(st.integers(0, high - 1), min_size=n, max_size=n)), np.int64)
        for high in (len(c.queries), c.n_docs, c.n_docs)
    ]
    return c, Preferences(*numbers)


def scores_by_definition(c, M, measure):
    if measure == "inner_product":
        return oracle.soft_inner_product(c.queries, c.counts, M)
    return oracle.soft_cosine(c.queries, c.counts, M)


# --- the pattern ----------------------------------------------------------------------------------


@given(own.collections(matrices=own.symmetric_matrices))
def test_products_are_linear_in_the_pairs(c):
    pattern = PairPattern.of(similarity_matrix(c.S))
    X, Y = csr_array(c.queries), csr_array(c.counts)
    rows, columns = (
        part.ravel() for part in np.meshgrid(range(len(c.queries)), range(c.n_docs), indexing="ij")
    )
    products = pattern.products(X, Y, rows, columns)
    found = np.sum(c.queries[rows] * c.counts[columns], axis=1) + products @ pattern.given
    expected = oracle.soft_inner_product(c.queries, c.counts, c.S)
    np.testing.assert_allclose(found, expected.ravel(), rtol=1e-12)
    squares = np.sum(c.counts**2, axis=1) + own_products(pattern, Y) @ pattern.given
    np.testing.assert_allclose(squares, [y @ c.S @ y for y in c.counts], rtol=1e-12)


@given(own.collections(matrices=own.symmetric_matrices))
def test_a_matrix_taken_apart_is_put_together_again(c):
    S = similarity_matrix(c.S)
    pattern = PairPattern.of(S)
    assert len(pattern) == np.count_nonzero(np.triu(c.S, 1))
    weights = 1.0 + np.arange(c.n_terms)
    M = pattern.with_diagonal(pattern.given, weights)
    again, roots = pattern.normalized(pattern.given, weights)
    np.testing.assert_allclose(
        roots[:, None] * again.to_scipy().toarray() * roots, M.toarray(), rtol=1e-6
    )
    left, right = np.arange(2.0 * c.n_terms).reshape(-1, 2), np.ones((c.n_terms, 2))
    whole = left @ right.T + right @ left.T
    np.testing.assert_allclose(pattern.sampled(left, right), whole[pattern.rows, pattern.columns])


# --- the loss -------------------------------------------------------------------------------------


@given(judged(), st.sampled_from(("inner_product", "soft_cosine")))
def test_scores_and_loss_are_those_of_the_definition(drawn, measure):
    c, preferences = drawn
    S = similarity_matrix(c.S)
    loss = PreferenceLoss.of(
        PairPattern.of(S), csr_array(c.queries), csr_array(c.counts), preferences,
        measure=measure, learn=("pairs", "terms"), scale=2.0,
    )  # fmt: skip
    scores = scores_by_definition(c, c.S, measure)
    q, b, w = preferences.queries, preferences.better, preferences.worse
    margins = scores[q, b] - scores[q, w]
    np.testing.assert_allclose(loss.margins(loss.given), margins, rtol=1e-9, atol=1e-9)
    expected = np.mean(
        [np.logaddexp(0, -margins[q == query] / 2.0).mean() for query in np.unique(q)]
    )
    assert loss(loss.given)[0] == pytest.approx(expected)


@pytest.mark.parametrize("measure", ["inner_product", "soft_cosine"])
@pytest.mark.parametrize("learn", [("pairs",), ("terms",), ("pairs", "terms")])
def test_gradients_are_those_of_small_steps(measure, learn):
    random = np.random.default_rng(0)
    Q, D = (random.random((n, 7)) * (random.random((n, 7)) < 0.5) for n in (3, 8))
    A = np.triu(random.random((7, 7)) * (random.random((7, 7)) < 0.5), 1)
    pattern = PairPattern.of(similarity_matrix(A + A.T + np.eye(7)))
    preferences = Preferences(*(random.integers(0, n, 20) for n in (3, 8, 8)))
    loss = PreferenceLoss.of(
        pattern, csr_array(Q), csr_array(D), preferences, measure=measure, learn=learn
    )
    values = 0.8 * loss.given + 0.1
    steps = 1e-6 * np.eye(len(values))
    numeric = [(loss(values + step)[0] - loss(values - step)[0]) / 2e-6 for step in steps]
    np.testing.assert_allclose(loss(values)[1], numeric, atol=1e-7)


# --- learning -------------------------------------------------------------------------------------


def test_preferences_move_the_pairs_that_they_speak_of():
    wanted = Preferences.of([{0: 1.0}], [[0, 1]])
    S = similarity_matrix(JAGUAR)
    for measure in ("inner_product", "soft_cosine"):
        learned = learn_pair_weights(S, [[0, 0, 1]], ANIMALS, wanted, measure=measure, strength=0.1)
        matrix = learned.S.to_scipy().toarray()
        assert matrix[0, 2] > 0.5 > matrix[1, 2] >= 0
        np.testing.assert_array_equal(matrix, matrix.T)
        assert learned.loss_after < learned.loss_before
        assert (learned.accuracy_before, learned.accuracy_after) == (0.5, 1.0)
        assert len(learned.changes().changes) == 2
        assert "2 numbers learned in" in str(learned)


def test_what_equal_terms_count_can_be_learned():
    S = similarity_matrix(np.eye(3))
    # Both documents share one word with the query; the first word is what matters.
    wanted = Preferences.of([{0: 1.0}], [[0, 1]])
    learned = learn_pair_weights(S, [[1, 1, 0]], ANIMALS, wanted, learn="terms", strength=0.1)
    w = learned.term_weights
    assert w[0] > 1 > w[1] > 0
    assert w[2] == 1
    np.testing.assert_allclose(learned.weighted(ANIMALS).toarray(), ANIMALS * w)


@given(judged(), st.sampled_from(("pairs", "terms", "both")))
def test_learned_matrices_keep_their_promises(drawn, learn):
    c, preferences = drawn
    S = similarity_matrix(c.S)
    learned = learn_pair_weights(
        S, c.queries, c.counts, preferences, learn=learn, strength=0.5, max_iterations=20
    )
    matrix = learned.S.to_scipy().toarray()
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 1)
    assert matrix.min() >= 0
    assert not np.any((matrix != 0) & (c.S == 0))
    if learn == "pairs":
        assert matrix.max() <= 1
        np.testing.assert_array_equal(learned.term_weights, 1)
    assert learned.loss_after <= learned.loss_before + 1e-12
    # What is reported is what the learned matrix gives.
    M = learned.term_weights[:, None] * matrix.astype(float) * learned.term_weights
    scores = scores_by_definition(c, M, "inner_product")
    q, b, w = preferences.queries, preferences.better, preferences.worse
    far = np.abs(scores[q, b] - scores[q, w]) > 1e-3
    if far.all():
        met = (scores[q, b] > scores[q, w]) @ preferences.weights
        assert learned.accuracy_after == pytest.approx(met)


def test_a_strong_pull_leaves_everything_as_it_was():
    wanted = Preferences.of([{0: 1.0}], [[0, 1]])
    S = similarity_matrix(JAGUAR)
    learned = learn_pair_weights(S, [[0, 0, 1]], ANIMALS, wanted, strength=1e9)
    assert len(learned.changes().changes) == 0


def test_pairs_that_no_query_reaches_stay():
    S = similarity_matrix([[1, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 1]])
    wanted = Preferences.of([{0: 1.0}], [[1]])
    learned = learn_pair_weights(S, [[1, 0, 0]], [[0, 1, 0], [1, 0, 0]], wanted)
    assert learned.n_learned == 1
    assert learned.S.similarity("1", "2") == 0.25


def test_what_queries_teach_each_other_wants_a_weak_pull_and_what_they_do_not_a_strong_one():
    # Every query is about the same two words; or each judges by a coin what none can know.
    S = similarity_matrix(JAGUAR)
    Q = np.tile([0, 0, 1], (10, 1))
    alike = Preferences.of([{0: 1.0}] * 10, [[0, 1]] * 10)
    coins = np.random.default_rng(0).integers(0, 2, 10)
    unlike = Preferences.of([{int(coin): 1.0} for coin in coins], [[0, 1]] * 10)
    losses = held_out_losses(S, Q, ANIMALS, alike, strengths=(0.1, 100.0))
    assert losses[0.1] < losses[100.0]
    losses = held_out_losses(
        S, Q, ANIMALS, unlike, strengths=(0.001, 1000.0), learn="both", max_iterations=50
    )
    assert losses[0.001] > losses[1000.0] == pytest.approx(np.log(2), abs=0.01)
    with pytest.raises(InvalidInputError, match="there is one query only"):
        held_out_losses(S, Q, ANIMALS, alike.of_queries([3]))


@given(own.collections(matrices=own.symmetric_matrices))
def test_bm25_vectors_multiply_to_soft_bm25(c):
    queries, documents = bm25_vectors(c.queries, c.counts, k1=1.5, b=0.5)
    expected = oracle.soft_bm25(c.queries, c.counts, c.S, k1=1.5, b=0.5)
    found = sc.soft_inner_product(queries, documents, similarity_matrix(c.S))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


# --- preferences ----------------------------------------------------------------------------------


def test_every_query_has_the_same_say():
    preferences = Preferences.of([{0: 1.0}, {1: 2.0, 2: 1.0}, {}], [[1], [3, 4], [0]])
    assert preferences.n_queries == 2
    sums = np.bincount(preferences.queries, preferences.weights)
    np.testing.assert_allclose(sums, [0.5, 0.5])
    triples = zip(preferences.queries, preferences.better, preferences.worse, strict=True)
    assert sorted(triples) == [(0, 0, 1), (1, 1, 2), (1, 1, 3), (1, 1, 4), (1, 2, 3), (1, 2, 4)]
    assert set(preferences.of_queries([1]).queries) == {1}


def test_triples_count_by_what_an_exchange_would_change():
    judgements, candidates = [{7: 2.0, 5: 1.0}], [[3, 7, 4]]  # 5 was not found
    preferences = Preferences.of(judgements, candidates)
    discount = dict.fromkeys(range(10), 0.0) | {3: 1.0, 7: 1 / np.log2(3), 4: 0.5}
    gains = {7: 2.0, 5: 1.0, 3: 0.0, 4: 0.0}
    expected = [
        abs(discount[b] - discount[w]) * (gains[b] - gains[w])
        for b, w in zip(preferences.better, preferences.worse, strict=True)
    ]
    np.testing.assert_allclose(preferences.weights, np.array(expected) / sum(expected))
    flat = Preferences.of(judgements, candidates, top_heavy=False)
    np.testing.assert_allclose(flat.weights, 1 / len(flat))
    # Where nothing would change, all count the same.
    apart = Preferences.of([{8: 1.0, 9: 0.0}], [[]])
    np.testing.assert_allclose(apart.weights, 1.0)
    with pytest.raises(InvalidInputError, match="importance must be finite and not negative"):
        Preferences(*np.zeros((3, 1), int), np.array([-1.0]))


def test_triples_are_row_numbers_of_any_size():
    small = [np.array(numbers, np.int8) for numbers in ([100], [1], [0])]
    preferences = Preferences(*small)
    assert preferences.queries.dtype == preferences.better.dtype == np.int64
    with pytest.raises(InvalidInputError, match="better is of float64; needed are row numbers"):
        Preferences(np.array([0]), np.array([0.5]), np.array([1]))


def test_of_too_many_triples_some_are_drawn_by_the_seed():
    judgements, candidates = [dict.fromkeys(range(10), 1.0)], [np.arange(40)]
    few = [
        Preferences.of(judgements, candidates, max_per_query=20, random_state=seed)
        for seed in (0, 0, 1)
    ]
    assert [len(part) for part in few] == [20] * 3
    np.testing.assert_array_equal(few[0].better, few[1].better)
    assert not np.array_equal(few[0].worse, few[2].worse)


def test_what_cannot_be_learned_from_is_refused():
    S = similarity_matrix(JAGUAR)
    wanted = Preferences.of([{0: 1.0}], [[0, 1]])
    with pytest.raises(InvalidInputError, match="no document is to be preferred to another"):
        Preferences.of([{0: 0.0}], [[1]])
    with pytest.raises(InvalidInputError, match="2 queries with judgements and 1 with candidates"):
        Preferences.of([{0: 1.0}, {}], [[1]])
    with pytest.raises(InvalidInputError, match="a gain of query 0 is not a finite number"):
        Preferences.of([{0: float("nan")}], [[1]])
    with pytest.raises(InvalidInputError, match="three arrays of one length"):
        Preferences(np.zeros(1, int), np.zeros(2, int), np.zeros(1, int))
    with pytest.raises(InvalidInputError, match="a triple names document 1, and there are 1"):
        learn_pair_weights(S, [[0, 0, 1]], ANIMALS[:1], wanted)
    with pytest.raises(InvalidInputError, match="Negative values in data: D has -1"):
        learn_pair_weights(S, [[0, 0, 1]], [[1, 0, 0], [-1, 0, 0]], wanted)
    with pytest.raises(VocabularyMismatchError, match="Q has 2 terms but S has 3"):
        learn_pair_weights(S, [[0, 1]], ANIMALS, wanted)
    with pytest.raises(InvalidInputError, match="learning its pairs needs a symmetric one"):
        learn_pair_weights(similarity_matrix([[1, 0.5], [0, 1]]), [[1, 0]], [[1, 0]], wanted)
    with pytest.raises(InvalidInputError, match="S has negative entries; learned similarities"):
        learn_pair_weights(similarity_matrix([[1, -1], [-1, 1]]), [[1, 0]], [[1, 0]], wanted)
    for settings, message in (
        ({"measure": "soft_bm25"}, "measure is 'soft_bm25'; .* For soft BM25 take the inner"),
        ({"learn": "all"}, "learn is 'all'; it must be one of pairs, terms, both"),
        ({"strength": 0}, "strength is 0; it must be a finite number above 0"),
        ({"scale": -1.0}, "scale is -1.0; it must be a finite number above 0"),
        ({"max_similarity": 2}, r"max_similarity is 2; it must be a number from 0 to 1"),
        ({"max_iterations": 0}, "max_iterations is 0"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            learn_pair_weights(S, [[0, 0, 1]], ANIMALS, wanted, **settings)
