"""Norms, products and cosines of pairs against the dense oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

import oracle
import strategies as own
from softcosine.errors import (
    IndefiniteMatrixError,
    InvalidInputError,
    VocabularyMismatchError,
)
from softcosine.space.measures import (
    paired_soft_cosine_similarity,
    paired_soft_inner_product,
    soft_cosine_similarity,
    soft_inner_product,
    soft_norm,
    sparse_soft_cosine_similarity,
)
from toys import similarity_matrix

MATRICES = {
    "non-negative": own.symmetric_matrices,
    "definite": own.definite_matrices,
    "identity": lambda n: st.just(np.eye(n)),
}


@st.composite
def operands(draw, matrices=own.similarity_matrices, *, signed=False):
    n = draw(own.sizes(own.MAX_TERMS))
    X = draw(own.coordinates(draw(st.integers(0, 6)), n, signed=signed))
    Y = draw(own.coordinates(draw(st.integers(0, 6)), n, signed=signed))
    return X, Y, draw(matrices(n))


@given(operands())
def test_every_measure_agrees_with_its_definition(drawn):
    X, Y, S = drawn
    matrix = similarity_matrix(S)
    np.testing.assert_allclose(
        soft_inner_product(X, Y, matrix), oracle.soft_inner_product(X, Y, S), atol=1e-12
    )
    np.testing.assert_allclose(soft_norm(X, matrix), oracle.soft_norm(X, S), atol=1e-12)
    expected = oracle.soft_cosine(X, Y, S)
    np.testing.assert_allclose(soft_cosine_similarity(X, Y, matrix), expected, atol=1e-12)
    np.testing.assert_allclose(
        sparse_soft_cosine_similarity(X, Y, matrix, min_similarity=-np.inf).toarray(),
        expected,
        atol=1e-12,
    )
    n = min(len(X), len(Y))
    np.testing.assert_allclose(
        paired_soft_cosine_similarity(X[:n], Y[:n], matrix), np.diag(expected), atol=1e-12
    )
    np.testing.assert_allclose(
        paired_soft_inner_product(X[:n], Y[:n], matrix),
        np.diag(oracle.soft_inner_product(X, Y, S)),
        atol=1e-12,
    )


@given(operands(own.signed_matrices, signed=True))
def test_signed_coordinates_and_similarities_agree_or_are_refused(drawn):
    X, Y, S = drawn
    matrix = similarity_matrix(S)
    np.testing.assert_allclose(
        soft_inner_product(X, Y, matrix), oracle.soft_inner_product(X, Y, S), atol=1e-12
    )
    if np.isnan(oracle.soft_norm(X, S)).any() or np.isnan(oracle.soft_norm(Y, S)).any():
        with pytest.raises(IndefiniteMatrixError, match="x'Sx is -"):
            soft_cosine_similarity(X, Y, matrix)
    else:
        np.testing.assert_allclose(
            soft_cosine_similarity(X, Y, matrix), oracle.soft_cosine(X, Y, S), atol=1e-9
        )


def test_the_first_document_without_a_norm_is_named():
    S = similarity_matrix([[1, -1], [-1, 1]])
    assert soft_norm([[1, 1]], S) == [0]
    indefinite = similarity_matrix(np.eye(3) - 0.9 * (1 - np.eye(3)))
    X = [[1, 0, 0], [1, 1, 1], [1, 1, 1]]
    with pytest.raises(IndefiniteMatrixError, match=r"x'Sx is -2.4 for document 1 \(2 of 3 are"):
        soft_norm(X, indefinite)
    many = np.vstack([np.tile(X[0], (600, 1)), X[1]])
    with pytest.raises(IndefiniteMatrixError, match="for document 600"):
        sparse_soft_cosine_similarity(many, [X[0]], indefinite)
    np.testing.assert_allclose(soft_cosine_similarity(X, X, indefinite.shrunk()).max(), 1)


@pytest.mark.parametrize("n", [3, 9, 17, 33])
def test_a_norm_that_is_rounding_alone_is_zero(n):
    # n axes at equal angles, their sum is nothing: x'Sx = n (c² - (n - 1) c² / (n - 1)).
    S = similarity_matrix(np.eye(n) - (1 - np.eye(n)) / (n - 1))
    c = np.linspace(0.1, 7, 97)
    assert not soft_norm(c[:, None] * np.ones(n), S).any()


def test_documents_in_the_null_space_have_norm_zero():
    # Three axes at 120 degrees: their sum is nothing, but for rounding.
    S = similarity_matrix(np.eye(3) - 0.5 * (1 - np.eye(3)))
    X = [[1, 1, 1], [0.1, 0.1, 0.1], [1, 0, 0]]
    assert soft_norm(X, S).tolist() == [0, 0, 1]
    assert soft_cosine_similarity(X, X, S).tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]


@given(operands(own.definite_matrices, signed=True))
def test_definite_matrices_give_cosines(drawn):
    X, Y, S = drawn
    matrix = similarity_matrix(S)
    between = soft_cosine_similarity(X, Y, matrix)
    assert np.all(np.abs(between) <= 1 + 1e-9)
    among = soft_cosine_similarity(X, None, matrix)
    np.testing.assert_allclose(among, among.T, atol=1e-12)
    alive = soft_norm(X, matrix) > 0
    np.testing.assert_allclose(np.diag(among)[alive], 1, atol=1e-9)
    np.testing.assert_array_equal(np.diag(among)[~alive], 0)


@given(operands())
def test_the_identity_gives_the_ordinary_cosine(drawn):
    X, Y, _ = drawn
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    assume(len(X) and len(Y))
    identity = similarity_matrix(np.eye(X.shape[1]))
    expected = pairwise.cosine_similarity(X, Y)
    np.testing.assert_allclose(soft_cosine_similarity(X, Y, identity), expected, atol=1e-12)


@given(operands(own.symmetric_matrices), st.sampled_from([3.0, 0.1, 2.0**-500, 1e200, 1e-200]))
def test_scaling_a_document_changes_no_cosine(drawn, factor):
    X, Y, S = drawn
    matrix = similarity_matrix(S)
    np.testing.assert_allclose(
        soft_cosine_similarity(factor * X, Y, matrix),
        soft_cosine_similarity(X, Y, matrix),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        soft_norm(factor * X, matrix), factor * soft_norm(X, matrix), rtol=1e-12
    )


@given(operands(), st.randoms(use_true_random=False))
def test_renumbering_terms_changes_nothing(drawn, random):
    X, Y, S = drawn
    order = list(range(len(S)))
    random.shuffle(order)
    moved = similarity_matrix(S[np.ix_(order, order)])
    np.testing.assert_allclose(
        soft_cosine_similarity(X[:, order], Y[:, order], moved),
        soft_cosine_similarity(X, Y, similarity_matrix(S)),
        atol=1e-12,
    )


def test_extreme_weights_give_the_cosines_of_ordinary_ones():
    S = similarity_matrix([[1, 0.5], [0.5, 1]])
    tiny, huge, least = 1e-300, 1e300, 5e-324
    X = [[tiny, tiny], [huge, huge], [least, least], [tiny, huge], [1.7e308, 1.7e308]]
    expected = soft_cosine_similarity([[1, 1], [1, 1], [1, 1], [0, 1], [1, 1]], None, S)
    np.testing.assert_allclose(soft_cosine_similarity(X, None, S), expected, rtol=1e-12)
    np.testing.assert_allclose(paired_soft_cosine_similarity(X, X, S), 1, rtol=1e-12)
    np.testing.assert_allclose(soft_norm(X[:2], S), np.sqrt(3) * np.array([tiny, huge]))
    for overflowing in (soft_inner_product, paired_soft_inner_product):
        with pytest.raises(InvalidInputError, match="leaves the range of float64"):
            overflowing(X, X, S)
    with pytest.raises(InvalidInputError, match="leaves the range of float64"):
        soft_norm([[1.7e308, 1.7e308]], S)


@given(operands(), st.sampled_from([1, 2, 3, 9, None]), st.sampled_from([0.0, 0.5, 1.0, -1.0]))
def test_the_sparse_form_keeps_the_best_of_each_row(drawn, k, bound):
    X, Y, S = drawn
    found = sparse_soft_cosine_similarity(X, Y, similarity_matrix(S), k=k, min_similarity=bound)
    full = sparse_soft_cosine_similarity(X, Y, similarity_matrix(S), min_similarity=-np.inf)
    full = full.toarray()
    assert found.shape == (len(X), len(Y))
    assert found.has_canonical_format
    for row in range(len(X)):
        best = oracle.top_k(full[row], len(Y) if k is None else k)
        kept = sorted(j for j in best if full[row, j] != 0 and full[row, j] >= bound)
        part = slice(found.indptr[row], found.indptr[row + 1])
        assert found.indices[part].tolist() == kept
        assert found.data[part].tolist() == full[row, kept].tolist()


def test_the_sparse_form_works_in_blocks():
    generator = np.random.default_rng(0)
    X = csr_array(generator.integers(0, 2, (1100, 4)) * 1.0)
    S = similarity_matrix(np.eye(4) + 0.5 * np.eye(4, k=1) + 0.5 * np.eye(4, k=-1))
    found = sparse_soft_cosine_similarity(X, X[:5], S)
    np.testing.assert_array_equal(found.toarray(), soft_cosine_similarity(X, X[:5], S))


@pytest.mark.parametrize("form", [csr_array, csr_matrix, csc_array, coo_array, np.asarray, list])
def test_any_form_of_matrix_will_do(form):
    X = [[1, 0, 2], [0, 0, 0]]
    S = similarity_matrix([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    expected = soft_cosine_similarity(np.array(X, float), None, S)
    given_X = form(X) if form is list else form(np.array(X))
    np.testing.assert_array_equal(soft_cosine_similarity(given_X, None, S), expected)
    np.testing.assert_array_equal(soft_cosine_similarity(given_X, given_X, S), expected)


def test_the_input_is_not_changed():
    X = csr_array(([1.0, 2.0, 3.0, 0.0], [1, 1, 0, 2], [0, 4, 4]), shape=(2, 3))
    before = X.data.copy(), X.indices.copy()
    S = similarity_matrix(np.eye(3))
    np.testing.assert_allclose(soft_norm(X, S), [np.sqrt(18), 0])
    soft_cosine_similarity(X, X, S)
    np.testing.assert_array_equal(X.data, before[0])
    np.testing.assert_array_equal(X.indices, before[1])


MEASURES = [
    soft_inner_product,
    soft_cosine_similarity,
    sparse_soft_cosine_similarity,
    paired_soft_inner_product,
    paired_soft_cosine_similarity,
]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("X", "Y", "error", "message"),
    [
        ([[1, np.nan]], [[1, 1]], InvalidInputError, "X holds NaN or infinity in row 0"),
        ([[1, 1]], [[1, 1], [np.inf, 0]], InvalidInputError, "Y holds NaN or infinity in row 1"),
        ([1, 1], [[1, 1]], InvalidInputError, r"X has 1 dimension\(s\)"),
        ([["tea", "x"]], [[1, 1]], InvalidInputError, "X cannot be read as a matrix"),
        ([[1j, 1]], [[1, 1]], InvalidInputError, "X holds complex numbers"),
        (csr_array([[1j, 1]]), [[1, 1]], InvalidInputError, "X holds complex numbers"),
        ([[1, 1, 1]], [[1, 1]], VocabularyMismatchError, "X has 3 terms but S has 2"),
        ([[1, 1]], [[1]], VocabularyMismatchError, "Y has 1 terms but S has 2"),
        ([[1, 1], [1]], [[1, 1]], InvalidInputError, "X cannot be read as a matrix"),
        ([[None, 1]], [[1, 1]], InvalidInputError, "X"),
        (5, [[1, 1]], InvalidInputError, "X has 0 dimension"),
    ],
)
def test_bad_operands_are_named(measure, X, Y, error, message):
    with pytest.raises(error, match=message):
        measure(X, Y, similarity_matrix(np.eye(2)))


@pytest.mark.parametrize("measure", MEASURES)
def test_only_a_symmetric_similarity_matrix_will_do(measure):
    X = [[1, 1]]
    with pytest.raises(InvalidInputError, match="S is asymmetric"):
        measure(X, X, similarity_matrix([[1, 0.5], [0, 1]]))
    with pytest.raises(InvalidInputError, match=r"S is of type ndarray; wrap a matrix by"):
        measure(X, X, np.eye(2))


def test_pairs_need_as_many_rows():
    with pytest.raises(InvalidInputError, match="X has 1 rows and Y has 2"):
        paired_soft_cosine_similarity([[1]], [[1], [1]], similarity_matrix([[1]]))


@pytest.mark.parametrize("k", [0, -1, True, 2.5, "2"])
def test_k_is_a_whole_number(k):
    with pytest.raises(InvalidInputError, match="whole number"):
        sparse_soft_cosine_similarity([[1]], [[1]], similarity_matrix([[1]]), k=k)


def test_min_similarity_is_a_number():
    for bound in (np.nan, "1", None):
        with pytest.raises(InvalidInputError, match="min_similarity"):
            sparse_soft_cosine_similarity(
                [[1]], [[1]], similarity_matrix([[1]]), min_similarity=bound
            )


def test_nothing_has_measures_too():
    S = similarity_matrix(np.eye(2))
    empty = np.empty((0, 2))
    assert soft_norm(empty, S).shape == (0,)
    assert soft_cosine_similarity(empty, [[1, 0]], S).shape == (0, 1)
    assert soft_inner_product([[1, 0]], empty, S).shape == (1, 0)
    assert sparse_soft_cosine_similarity(empty, empty, S).shape == (0, 0)
    assert paired_soft_cosine_similarity(empty, empty, S).shape == (0,)
    no_terms = similarity_matrix(np.empty((0, 0)))
    assert soft_norm(np.empty((3, 0)), no_terms).tolist() == [0, 0, 0]
    assert soft_cosine_similarity(np.empty((3, 0)), None, no_terms).tolist() == [[0] * 3] * 3
