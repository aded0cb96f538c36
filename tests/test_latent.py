"""Few dimensions keep what theory T11 says: against dense decompositions by NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

import oracle
import strategies as own
from softcosine.errors import IndefiniteMatrixError, InvalidInputError
from softcosine.space.latent import right_singular_vectors, soft_singular_vectors
from softcosine.space.transforms import expand_queries, unit_documents
from toys import similarity_matrix


def cut(X, *bounds):
    """Blocks of successive rows, as a function that gives them anew."""
    X = csr_array(X)
    edges = [0, *bounds, X.shape[0]]
    return lambda: (X[a:b] for a, b in itertools.pairwise(edges))


def sampled(n_docs, n_terms, *, seed=1, decay=0.9):
    """Sparse documents whose singular values fall."""
    X = random_array((n_docs, n_terms), density=0.1, rng=seed, format="csr")
    return csr_array(X * decay ** np.arange(n_terms))


def connected(n_terms, *, seed=1, neighbors=6, size=0.9):
    """A definite S in which every term can be reached from every other."""
    A = random_array((n_terms, n_terms), density=neighbors / n_terms, rng=seed).tolil()
    for i in range(n_terms - 1):
        A[i, i + 1] = 0.5
    A = csr_array(A)
    A = A + A.T
    A.setdiag(0)
    A = A * (size / np.abs(np.linalg.eigvalsh(A.toarray())).max())
    A.setdiag(1)
    return similarity_matrix(A)


def dense(S):
    return S.to_scipy().toarray().astype(float)


def assert_orthonormal(V, sigma):
    """Columns of length 1 at right angles, and zeros where a value is 0."""
    np.testing.assert_allclose(V.T @ V, np.diag((sigma > 0).astype(float)), atol=1e-9)


# --- right singular vectors ---------------------------------------------------------------------


@given(own.collections(), st.integers(1, 10), st.integers(0, 12))
def test_singular_vectors_are_those_of_the_whole_matrix(c, k, bound):
    Y = oracle.weighted(c.counts, c.weights)
    V, sigma = right_singular_vectors(cut(Y, min(bound, len(Y))), c.n_terms, k=k)
    assert V.shape == (c.n_terms, k)
    expected = np.zeros(k)
    true = np.linalg.svd(Y, compute_uv=False)
    expected[: min(k, len(true))] = true[:k]
    scale = max(true.max(initial=0), 1)
    np.testing.assert_allclose(sigma, expected, atol=1e-9 * scale)
    assert_orthonormal(V, sigma)
    # What is left out is as little as any k dimensions can leave.
    left = np.linalg.norm(Y - Y @ V @ V.T, 2)
    assert left <= (true[k] if k < len(true) else 0) + 1e-9 * scale


@given(own.collections(matrices=own.definite_matrices), st.integers(1, 5))
def test_scores_in_few_dimensions_are_as_near_as_the_next_singular_value(c, k):
    S = similarity_matrix(c.S)
    Y = unit_documents(c.counts, S, term_weights=c.weights)
    X = expand_queries(c.queries, S, term_weights=c.weights).toarray()
    V, _ = right_singular_vectors(lambda: [Y], c.n_terms, k=k)
    values = np.append(np.linalg.svd(Y.toarray(), compute_uv=False), np.zeros(k + 1))
    error = np.abs((X @ V) @ (Y @ V).T - X @ Y.toarray().T)
    bound = np.linalg.norm(X, axis=1) * values[k]
    assert np.all(error <= bound[:, None] + 1e-9 * np.linalg.norm(X, axis=1, keepdims=True))


def test_the_power_method_finds_the_leading_vectors_of_many_terms():
    Y = sampled(300, 120)
    V, sigma = right_singular_vectors(cut(Y, 100, 101, 250), 120, k=8, n_iterations=12)
    _, true, right = np.linalg.svd(Y.toarray())
    np.testing.assert_allclose(sigma, true[:8], rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(V * right[:8].T, axis=0)), 1, rtol=1e-6)
    assert_orthonormal(V, sigma)
    few = right_singular_vectors(cut(Y), 120, k=8, n_iterations=0, oversampling=0)[1]
    assert np.all(few <= true[:8] + 1e-12)
    assert few[0] < 0.99 * true[0]


def test_one_seed_gives_the_same_bits_and_blocks_change_rounding_only():
    Y = sampled(60, 50)
    first = right_singular_vectors(cut(Y, 20), 50, k=3, oversampling=2, random_state=7)
    again = right_singular_vectors(cut(Y, 20), 50, k=3, oversampling=2, random_state=7)
    whole = right_singular_vectors(cut(Y), 50, k=3, oversampling=2, random_state=7)
    other = right_singular_vectors(cut(Y), 50, k=3, oversampling=2, random_state=8)
    for a, b, c in zip(first, again, whole, strict=True):
        assert np.array_equal(a, b)
        np.testing.assert_allclose(a, c, atol=1e-9)
    assert not np.array_equal(whole[0], other[0])


def test_the_entry_of_greatest_size_is_positive():
    V, _ = right_singular_vectors(lambda: [csr_array([[-3.0, 0, 0], [0, 1, -1]])], 3, k=3)
    root = np.sqrt(0.5)
    np.testing.assert_allclose(V, [[1, 0, 0], [0, root, 0], [0, -root, 0]], atol=1e-12)
    assert not np.any(np.signbit(V[V == 0]))


def test_documents_without_terms_and_no_documents_have_no_dimensions():
    for blocks in (list, lambda: [csr_array((3, 4))], lambda: [csr_array((0, 4))]):
        V, sigma = right_singular_vectors(blocks, 4, k=2)
        assert V.shape == (4, 2)
        assert not V.any()
        assert not sigma.any()
    assert right_singular_vectors(list, 0, k=2)[0].shape == (0, 2)


# --- soft singular vectors ----------------------------------------------------------------------


@given(own.collections(matrices=own.definite_matrices), st.integers(1, 10))
def test_soft_dimensions_are_the_best_of_an_orthonormal_basis(c, k):
    S = similarity_matrix(c.S)
    Y = oracle.weighted(c.counts, c.weights)
    E = np.linalg.cholesky(dense(S))
    P, sigma = soft_singular_vectors(cut(Y), S, k=k)
    true = np.append(np.linalg.svd(Y @ E, compute_uv=False), np.zeros(k + 1))
    scale = max(true[0], 1)
    np.testing.assert_allclose(sigma, true[:k], atol=1e-6 * scale)
    products, exact = (Y @ P) @ (c.queries @ P).T, Y @ dense(S) @ c.queries.T
    norms = oracle.soft_norm(c.queries, dense(S))
    assert np.all(np.abs(products - exact) <= norms * true[k] + 1e-5 * scale * (norms + 1))


def test_soft_dimensions_of_many_terms_need_no_factor():
    S, Y = connected(120), sampled(300, 120)
    E = np.linalg.cholesky(dense(S))
    P, sigma = soft_singular_vectors(cut(Y, 70), S, k=8, n_iterations=12)
    true = np.linalg.svd(Y @ E, compute_uv=False)
    np.testing.assert_allclose(sigma, true[:8], rtol=1e-6)
    Z = Y @ P
    np.testing.assert_allclose(Z.T @ Z, np.diag(true[:8] ** 2), atol=1e-5)
    left = np.linalg.norm(Y @ dense(S) @ Y.T - Z @ Z.T, 2)
    np.testing.assert_allclose(left, true[8] ** 2, rtol=1e-3)


def test_soft_dimensions_without_similarities_are_singular_vectors():
    Y = sampled(60, 50)
    P, soft = soft_singular_vectors(cut(Y), similarity_matrix(np.eye(50)), k=4)
    V, sigma = right_singular_vectors(cut(Y), 50, k=4)
    np.testing.assert_allclose(soft, sigma, rtol=1e-9)
    np.testing.assert_allclose(P, V, atol=1e-6)


def test_a_singular_matrix_has_fewer_dimensions_and_an_indefinite_one_is_refused():
    P, sigma = soft_singular_vectors(
        lambda: [csr_array([[1.0, 0], [0, 2]])], similarity_matrix(np.ones((2, 2))), k=2
    )
    np.testing.assert_allclose(sigma, [np.sqrt(5), 0], rtol=1e-6)
    np.testing.assert_allclose(P, [[1, 0], [1, 0]], rtol=1e-6)
    with pytest.raises(IndefiniteMatrixError, match=r"x'Sx is -0\.5 .* Use S\.shrunk\(\)"):
        soft_singular_vectors(
            lambda: [csr_array([[1.0, 0]])], similarity_matrix([[1, 1.5], [1.5, 1]]), k=1
        )
    with pytest.raises(InvalidInputError, match="soft singular vectors needs a symmetric"):
        soft_singular_vectors(list, similarity_matrix([[1, 0.5], [0, 1]]), k=1)


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k is 0; it must be a whole number of 1 or more"),
        ({"k": 1.5}, "k is 1.5; it must be a whole number of 1 or more"),
        ({"k": True}, "k is True"),
        (
            {"k": 1, "n_iterations": -1},
            "n_iterations is -1; it must be a whole number of 0 or more",
        ),
        ({"k": 1, "oversampling": -1}, "oversampling is -1"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        right_singular_vectors(list, 3, **settings)
    with pytest.raises(InvalidInputError, match=message):
        soft_singular_vectors(list, similarity_matrix(np.eye(3)), **settings)


def test_blocks_that_do_not_fit_are_refused():
    def found(*blocks, n_terms=2, **settings):
        return right_singular_vectors(lambda: blocks, n_terms, k=1, **settings)

    with pytest.raises(InvalidInputError, match=r"shape \(1, 3\); needed are 2 columns"):
        found(csr_array([[1.0, 0, 0]]))
    with pytest.raises(InvalidInputError, match="holds NaN or infinity"):
        found(csr_array([[1.0, np.nan]]))
    for values in ([1e200, 0], [1e308, 1e308]):
        with pytest.raises(InvalidInputError, match="leave the range of float64"):
            found(csr_array([values + [0] * 8]), n_terms=10, oversampling=0)
    read = iter([csr_array([[1.0, 0, 1]]), csr_array([[0, 1.0, 1]])])
    with pytest.raises(InvalidInputError, match="gave 2 documents at first and 0 later"):
        right_singular_vectors(lambda: read, 3, k=1, oversampling=0)
