"""The change of basis: coordinates whose ordinary products are the soft ones (theory T7)."""

from __future__ import annotations

from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

import oracle
import strategies as own
from conftest import JIT
from softcosine.errors import IndefiniteMatrixError, InvalidInputError, VocabularyMismatchError
from softcosine.space import cholesky
from softcosine.space.basis import orthonormal_basis
from softcosine.space.fill_in import estimate_fill_in, planned
from softcosine.space.measures import soft_cosine_similarity
from softcosine.space.transforms import expand_queries
from softcosine.text.vocabulary import Vocabulary
from toys import similarity_matrix


def small_cores():
    """Let LAPACK have cores of a few terms in several blocks, as it has of large matrices."""
    return patch.multiple(cholesky, _LEAST_CORE=2, _AN_ENTRY=0.0, _BLOCK=3)


@st.composite
def dominant_matrices(draw, n):
    """Sparse or full, negative entries too, in parts that do not touch; exact in float32."""
    values = draw(st.sampled_from(((0, 0, 0, 0, 1, 2, -1), (1, 2, -1))))
    entries = draw(st.lists(st.sampled_from(values), min_size=n * n, max_size=n * n))
    S = np.triu(np.array(entries, float).reshape(n, n), 1) / 32  # sums stay below 1
    part = draw(st.integers(0, n))
    S[:part, part:] = 0
    return S + S.T + np.eye(n)


def matrices(n):
    return st.one_of(st.just(np.eye(n)), dominant_matrices(n), own.definite_matrices(n))


@given(own.collections(matrices=matrices), st.booleans())
def test_products_of_coordinates_are_the_soft_ones(c, small):
    S = similarity_matrix(c.S)
    if small:
        with small_cores():
            basis = orthonormal_basis(S)
    else:
        basis = orthonormal_basis(S)
    E = basis.E.toarray()
    np.testing.assert_allclose(E @ E.T, c.S, rtol=0, atol=1e-13)
    X, Y = oracle.weighted(c.queries, c.weights), oracle.weighted(c.counts, c.weights)
    queries = basis.coordinates(c.queries, term_weights=c.weights)
    documents = basis.coordinates(c.counts, term_weights=c.weights)
    assert queries.has_sorted_indices
    products = (queries @ documents.T).toarray()
    scale = np.abs(X) @ np.abs(c.S) @ np.abs(Y.T)
    assert np.all(np.abs(products - oracle.soft_inner_product(X, Y, c.S)) <= 1e-13 * scale)
    lengths = np.linalg.norm(queries.toarray(), axis=1), np.linalg.norm(documents.toarray(), axis=1)
    ordinary = oracle.soft_cosine(queries.toarray(), documents.toarray(), np.eye(c.n_terms))
    np.testing.assert_allclose(lengths[0], oracle.soft_norm(X, c.S), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(lengths[1], oracle.soft_norm(Y, c.S), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ordinary, oracle.soft_cosine(X, Y, c.S), rtol=0, atol=1e-8)


@given(own.collections(matrices=matrices))
def test_expanded_queries_are_solved_to_the_coordinates(c):
    assume(np.linalg.eigvalsh(c.S)[0] > 1e-3)
    S = similarity_matrix(c.S)
    basis = orthonormal_basis(S)
    solved = basis.solved(expand_queries(c.queries, S))
    coordinates = basis.coordinates(c.queries)
    np.testing.assert_allclose(solved.toarray(), coordinates.toarray(), rtol=0, atol=1e-9)
    # Anything may be solved: its products with documents are its own with their weights.
    Z = c.counts[:1]
    products = (basis.solved(Z) @ basis.coordinates(c.counts).T).toarray()
    np.testing.assert_allclose(products, Z @ c.counts.T, rtol=1e-9, atol=1e-9)


@given(st.integers(1, own.MAX_TERMS).flatmap(dominant_matrices))
def test_the_factor_has_the_entries_of_the_estimate(S):
    S = similarity_matrix(S)
    with small_cores():
        basis = orthonormal_basis(S)
    estimate = estimate_fill_in(S).n_entries
    # All leave out chance zeros but the columns that are computed one by one.
    assert basis.n_entries <= estimate
    assert orthonormal_basis(S).n_entries == estimate
    assert basis.n_entries == basis.E.nnz
    assert basis.n_terms == len(S)
    assert "OrthonormalBasis" in repr(basis)


@given(st.integers(1, own.MAX_TERMS).flatmap(dominant_matrices))
def test_no_axis_has_to_do_with_two_components(S):
    with small_cores():
        E = orthonormal_basis(similarity_matrix(S)).E.toarray()
    reach = np.linalg.matrix_power((S != 0).astype(float), len(S)) > 0
    for column in E.T:
        terms = np.flatnonzero(column)
        assert reach[np.ix_(terms, terms)].all()


@given(st.integers(1, own.MAX_TERMS).flatmap(own.signed_matrices), st.booleans())
def test_matrices_are_factored_or_refused_as_their_eigenvalues_say(S, small):
    lowest = np.linalg.eigvalsh(S)[0]
    assume(abs(lowest) > 1e-9)
    matrix = similarity_matrix(S)
    with small_cores() if small else nullcontext():
        if lowest > 0:
            E = orthonormal_basis(matrix).E.toarray()
            np.testing.assert_allclose(E @ E.T, S, rtol=0, atol=1e-12)
        else:
            with pytest.raises(IndefiniteMatrixError, match=r"S is .*indefinite: when"):
                orthonormal_basis(matrix)


def test_large_parts_are_left_to_lapack_and_give_the_same():
    # A knot of many terms with chains hanging on it.
    generator = np.random.default_rng(0)
    n, knot = (300, 80) if JIT else (90, 40)
    S = np.eye(n)
    block = generator.random((knot, knot)) / (4 * knot)
    S[:knot, :knot] += np.triu(block, 1) + np.triu(block, 1).T
    for i in range(knot, n):
        j = int(generator.integers(i))
        S[i, j] = S[j, i] = 0.05
    numbers = generator.permutation(n)
    S = S[np.ix_(numbers, numbers)].astype(np.float32).astype(float)
    matrix = similarity_matrix(S)
    cores = cholesky.find_cores(planned(matrix))
    assert knot // 2 <= cores.n_terms < n
    with patch.object(cholesky, "_BLOCK", 25):
        basis = orthonormal_basis(matrix)
    E = basis.E.toarray()
    np.testing.assert_allclose(E @ E.T, S, rtol=0, atol=1e-13)
    assert basis.n_entries == estimate_fill_in(matrix).n_entries


def test_a_document_has_the_same_cosines_in_the_basis():
    S = similarity_matrix([[1, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 1]])
    X = np.array([[1, 0, 0], [0, 2, 1], [0, 0, 0]])
    made = orthonormal_basis(S).coordinates(X).toarray()
    unit = made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-300)
    np.testing.assert_allclose(unit @ unit.T, soft_cosine_similarity(X, None, S), atol=1e-12)


def test_nothing_and_one_term_have_bases():
    for n in (0, 1):
        S = similarity_matrix(np.eye(n))
        basis = orthonormal_basis(S)
        assert basis.coordinates(np.ones((2, n))).toarray().tolist() == [[1.0] * n] * 2
        assert basis.solved(np.ones((0, n))).shape == (0, n)
        assert basis.n_entries == n


def test_the_identity_is_its_own_basis():
    S = similarity_matrix(np.eye(5))
    basis = orthonormal_basis(S)
    X = np.arange(10.0).reshape(2, 5)
    assert basis.n_entries == 5
    assert sorted(basis.coordinates(X).toarray()[0]) == [0, 1, 2, 3, 4]


def test_an_indefinite_matrix_that_splu_factors_in_silence_is_refused():
    S = np.array([[1, 0.9, 0.1], [0.9, 1, 0.9], [0.1, 0.9, 1]])
    silent = splu(
        csc_array(S), permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    assert np.array_equal(silent.perm_r, silent.perm_c)
    assert silent.U.diagonal().min() < 0
    matrix = similarity_matrix(S, Vocabulary(["dead", "killed", "king"]))
    with pytest.raises(
        IndefiniteMatrixError,
        match=r"'king' is left with (the pivot -2\.46|too small a pivot), .*S\.shr",
    ):
        orthonormal_basis(matrix)
    E = orthonormal_basis(matrix.shrunk()).E
    np.testing.assert_allclose(
        (E @ E.T).toarray(), matrix.shrunk().to_scipy().toarray(), atol=1e-12
    )


def test_a_pivot_of_zero_is_refused_whatever_follows():
    S = similarity_matrix([[1, 1, 0.5], [1, 1, 0.25], [0.5, 0.25, 1]])
    with pytest.raises(IndefiniteMatrixError, match=r"'1' is left with (the pivot 0,|too small)"):
        orthonormal_basis(S)


def test_a_singular_matrix_is_refused_by_name_and_can_be_shrunk():
    # Two terms that are wholly alike, and an even ring, which balancing leaves at the edge.
    ring = np.eye(4)
    for i in range(4):
        ring[i, i - 1] = ring[i - 1, i] = 0.5
    for S in (np.ones((2, 2)), ring):
        matrix = similarity_matrix(S)
        with pytest.raises(
            IndefiniteMatrixError, match=r"S is singular or indefinite: .*pivot.*S\.shrunk\(\)"
        ):
            orthonormal_basis(matrix)
        orthonormal_basis(matrix.shrunk())


def test_more_memory_than_allowed_is_refused_with_the_estimate():
    S = similarity_matrix(np.full((50, 50), 0.5) + 0.5 * np.eye(50))
    with pytest.raises(InvalidInputError, match=r"needs 0 MiB.*has 1,275 entries \(0.0 MiB\)"):
        orthonormal_basis(S, max_memory=10_000)
    orthonormal_basis(S, max_memory=1_000_000)


def test_what_has_no_basis_says_why():
    with pytest.raises(InvalidInputError, match="a change of basis needs a symmetric one"):
        orthonormal_basis(similarity_matrix([[1, 0.5], [0, 1]]))
    with pytest.raises(InvalidInputError, match="S is of type ndarray"):
        orthonormal_basis(np.eye(2))
    S = similarity_matrix(np.eye(2))
    for wrong in ("1 GB", 1e9, True):
        with pytest.raises(InvalidInputError, match="it must be a number of bytes"):
            orthonormal_basis(S, max_memory=wrong)


def test_what_has_no_coordinates_says_why():
    basis = orthonormal_basis(similarity_matrix([[1, 0.5], [0.5, 1]]))
    for give in (basis.coordinates, basis.solved):
        with pytest.raises(VocabularyMismatchError, match="has 3 terms but S has 2"):
            give([[1, 1, 1]])
        with pytest.raises(InvalidInputError, match="NaN or infinity"):
            give([[1, np.nan]])
        with pytest.raises(InvalidInputError, match="leaves the range of float64; scale"):
            give([[-1.7e308, 1.7e308], [1.7e308, 1.7e308]])
    with pytest.raises(InvalidInputError, match=r"has shape \(1,\)"):
        basis.coordinates([[1, 1]], term_weights=[1])
    with pytest.raises(InvalidInputError, match="must be finite and not negative"):
        basis.coordinates([[1, 1]], term_weights=[1, -1])
    with pytest.raises(InvalidInputError, match="cannot be read as numbers"):
        basis.coordinates([[1, 1]], term_weights=["a", "b"])


def test_a_factor_that_does_not_multiply_to_s_is_never_handed_out():
    S = similarity_matrix([[1, 0.5], [0.5, 1]])
    wrong = orthonormal_basis(similarity_matrix([[1, 0.4], [0.4, 1]])).E
    with (
        patch("softcosine.space.basis.factored", return_value=wrong),
        pytest.raises(IndefiniteMatrixError, match="does not multiply to S"),
    ):
        orthonormal_basis(S)
