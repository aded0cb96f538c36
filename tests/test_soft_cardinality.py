"""Soft cardinalities and set measures against loops over the definition (theory T17)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import strategies as own
from softcosine.errors import InvalidInputError, VocabularyMismatchError
from softcosine.lab.text_pairs.cardinality import (
    SET_MEASURES,
    paired_soft_cardinalities,
    paired_soft_set_similarity,
    soft_cardinality,
    soft_set_similarity,
)
from toys import similarity_matrix

HALF = [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]


def by_definition(x, S, w, p, multiset):
    """|A|' of one row: element by element, each copy of a multiset by its number."""
    x = np.asarray(x, float)
    amounts = x if multiset else (x > 0).astype(float)
    weights = w if multiset else w * x
    return sum(
        amounts[i] * weights[i] / sum(amounts[j] * S[i, j] ** p for j in range(len(x)))
        for i in range(len(x))
        if x[i] > 0
    )


@st.composite
def pairs_of_sets(draw):
    n = draw(own.sizes(own.MAX_TERMS))
    X = draw(own.coordinates(draw(st.integers(0, 5)), n))
    Y = draw(own.coordinates(draw(st.integers(0, 5)), n))
    S = draw(st.one_of(st.just(np.eye(n)), own.symmetric_matrices(n)))
    w = draw(own.term_weights(n))
    return X, Y, S, w, draw(st.sampled_from((0.5, 1.0, 2.0))), draw(st.booleans())


@given(pairs_of_sets())
def test_cardinalities_are_those_of_the_definition(drawn):
    X, Y, S, w, p, multiset = drawn
    matrix = similarity_matrix(S)
    settings = {"term_weights": w, "exponent": p, "multiset": multiset}
    np.testing.assert_allclose(
        soft_cardinality(X, matrix, **settings),
        [by_definition(x, S, w, p, multiset) for x in X],
        atol=1e-12,
    )
    n = min(len(X), len(Y))
    counted = paired_soft_cardinalities(csr_array(X[:n]), Y[:n], matrix, **settings)
    unions = [
        by_definition(np.maximum(x, y), S, w, p, multiset)
        for x, y in zip(X[:n], Y[:n], strict=True)
    ]
    np.testing.assert_allclose(counted.union, unions, atol=1e-12)


@given(pairs_of_sets(), st.sampled_from(sorted(SET_MEASURES)))
def test_all_pairs_and_row_pairs_agree_with_the_formulas(drawn, measure):
    X, Y, S, w, p, multiset = drawn
    matrix = similarity_matrix(S)
    settings = {"measure": measure, "term_weights": w, "exponent": p, "multiset": multiset}
    found = soft_set_similarity(X, Y, matrix, **settings)
    assert found.shape == (len(X), len(Y))
    for i, j in np.ndindex(*found.shape):
        a, b, union = (
            by_definition(x, S, w, p, multiset) for x in (X[i], Y[j], np.maximum(X[i], Y[j]))
        )
        both = a + b - union
        below = {
            "jaccard": union,
            "dice": (a + b) / 2,
            "cosine": np.sqrt(a * b),
            "overlap": min(a, b),
        }[measure]
        assert found[i, j] == pytest.approx(both / below if below else 0.0, abs=1e-9)
    n = min(found.shape)
    paired = paired_soft_set_similarity(X[:n], Y[:n], matrix, **settings)
    np.testing.assert_array_equal(paired, np.diag(found[:n, :n]))


@given(pairs_of_sets())
def test_a_set_shares_everything_with_itself_and_measures_are_symmetric(drawn):
    X, Y, S, w, p, multiset = drawn
    matrix = similarity_matrix(S)
    settings = {"term_weights": w, "exponent": p, "multiset": multiset}
    filled = soft_cardinality(X, matrix, **settings) > 0
    for measure in SET_MEASURES:
        own_ = soft_set_similarity(X, None, matrix, measure=measure, **settings)
        np.testing.assert_allclose(np.diag(own_), filled, atol=1e-12)
        there = soft_set_similarity(X, Y, matrix, measure=measure, **settings)
        back = soft_set_similarity(Y, X, matrix, measure=measure, **settings)
        np.testing.assert_array_equal(there, back.T)
        assert (there >= 0).all()


@given(pairs_of_sets())
def test_without_similarities_they_are_the_ordinary_set_measures(drawn):
    X, Y, *_ = drawn
    identity = similarity_matrix(np.eye(X.shape[1]))
    x, y = (X > 0).astype(int), (Y > 0).astype(int)
    both = x @ y.T
    either = x.sum(1)[:, None] + y.sum(1) - both
    expected = np.divide(both, either, out=np.zeros(both.shape), where=either > 0)
    found = soft_set_similarity(x, y, identity)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_words_that_are_wholly_alike_count_for_one():
    S = similarity_matrix([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_allclose(soft_cardinality([[1, 1, 0], [1, 1, 1]], S), [1, 2])
    np.testing.assert_allclose(soft_set_similarity([[1, 0, 0]], [[0, 1, 0]], S), [[1]])


def test_repetitions_count_for_nothing_by_themselves():
    S = similarity_matrix(HALF)
    once, often = [[1, 0, 1]], [[5, 0, 3]]
    assert soft_cardinality(often, S, multiset=True) == soft_cardinality(once, S)
    # But they pull on what is like them: five of one word, half like a second one.
    assert soft_cardinality([[5, 1, 0]], S, multiset=True) == pytest.approx(5 / 5.5 + 1 / 3.5)


def test_a_high_exponent_leaves_only_what_is_nearly_the_same():
    S = similarity_matrix(HALF)
    np.testing.assert_allclose(soft_cardinality([[1, 1, 0]], S, exponent=40), [2])


def test_an_element_like_two_others_can_make_a_set_smaller_and_a_measure_exceed_one():
    S = similarity_matrix([[1, 0, 0.9], [0, 1, 0.9], [0.9, 0.9, 1]])
    two, three = soft_cardinality([[1, 1, 0], [1, 1, 1]], S)
    assert three < two
    assert soft_set_similarity([[1, 1, 0]], [[0, 0, 1]], S, measure="overlap") > 1


def test_stored_zeros_are_no_elements():
    S = similarity_matrix(HALF)
    X = csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    assert soft_cardinality(X, S) == [1]
    assert X.nnz == 2


def test_many_pairs_are_counted_block_by_block(monkeypatch):
    S = similarity_matrix(HALF)
    X = np.random.default_rng(0).integers(0, 2, (9, 3))
    whole = soft_set_similarity(X, None, S)
    monkeypatch.setattr("softcosine.lab.text_pairs.cardinality._BLOCK", 10)
    np.testing.assert_array_equal(soft_set_similarity(X, None, S), whole)


def test_a_power_too_large_for_numbers_is_refused():
    S = similarity_matrix(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(InvalidInputError, match="S has 2, which cannot be raised"):
        soft_cardinality([[1, 0]], S, exponent=1e5)


def test_what_cannot_be_counted_is_refused():
    S = similarity_matrix(HALF)
    with pytest.raises(InvalidInputError, match=r"X has -1 in row 1; weights of elements"):
        soft_cardinality([[1, 0, 0], [0, -1, 0]], S)
    with pytest.raises(
        InvalidInputError, match="exponent is 0; it must be a finite number above 0"
    ):
        soft_cardinality([[1, 0, 0]], S, exponent=0)
    with pytest.raises(InvalidInputError, match="set measure is 'tanimoto'; it must be one"):
        soft_set_similarity([[1, 0, 0]], None, S, measure="tanimoto")
    with pytest.raises(InvalidInputError, match="S has negative entries"):
        soft_cardinality([[1, 1]], similarity_matrix([[1, -0.5], [-0.5, 1]]))
    with pytest.raises(InvalidInputError, match="a set measure needs a symmetric one"):
        soft_cardinality([[1, 1]], similarity_matrix([[1, 0.5], [0, 1]]))
    with pytest.raises(InvalidInputError, match="X has 1 rows and Y has 2; pairs need as many"):
        paired_soft_set_similarity([[1, 0, 0]], [[1, 0, 0]] * 2, S)
    with pytest.raises(InvalidInputError, match=r"X holds 1e\+308, weights of terms included"):
        soft_cardinality([[1e308, 0, 1e308]], S)
    with pytest.raises(InvalidInputError, match=r"X holds 1e\+200"):
        soft_cardinality([[1e200, 0, 1]], S, multiset=True)
    with pytest.raises(VocabularyMismatchError, match="X has 2 terms but S has 3"):
        soft_cardinality([[1, 1]], S)
