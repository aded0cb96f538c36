"""The change of basis: coordinates whose ordinary products are the soft ones (theory T7)."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
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
from softcosine.errors import (
    CorruptIndexError,
    IndefiniteMatrixError,
    InvalidInputError,
    MissingDependencyError,
    VocabularyMismatchError,
)
from softcosine.lab import basis_by
from softcosine.space import basis as memory
from softcosine.space import cholesky
from softcosine.space.basis import OrthonormalBasis, orthonormal_basis
from softcosine.space.fill_in import estimate_fill_in, planned
from softcosine.space.measures import soft_cosine_similarity
from softcosine.space.transforms import expand_queries
from softcosine.text.vocabulary import Vocabulary
from toys import similarity_matrix

ORDERS = ("minimum_degree", "reverse_cuthill_mckee", "natural")
WAYS = {"own": orthonormal_basis, "superlu": partial(basis_by, "superlu")}
if find_spec("sksparse"):
    WAYS["cholmod"] = partial(basis_by, "cholmod")
METHODS = tuple(WAYS)


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


def ways():
    return st.sampled_from(METHODS), st.sampled_from(ORDERS)


@given(own.collections(matrices=matrices), *ways(), st.booleans())
def test_products_of_coordinates_are_the_soft_ones(c, method, order, small):
    S = similarity_matrix(c.S)
    if small:
        with small_cores():
            basis = WAYS[method](S, order=order)
    else:
        basis = WAYS[method](S, order=order)
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


@given(own.collections(matrices=matrices), *ways())
def test_expanded_queries_are_solved_to_the_coordinates(c, method, order):
    assume(np.linalg.eigvalsh(c.S)[0] > 1e-3)
    S = similarity_matrix(c.S)
    basis = WAYS[method](S, order=order)
    solved = basis.solved(expand_queries(c.queries, S))
    coordinates = basis.coordinates(c.queries)
    np.testing.assert_allclose(solved.toarray(), coordinates.toarray(), rtol=0, atol=1e-9)
    # Anything may be solved: its products with documents are its own with their weights.
    Z = c.counts[:1]
    products = (basis.solved(Z) @ basis.coordinates(c.counts).T).toarray()
    np.testing.assert_allclose(products, Z @ c.counts.T, rtol=1e-9, atol=1e-9)


@given(st.integers(1, own.MAX_TERMS).flatmap(dominant_matrices), *ways())
def test_the_factor_has_the_entries_of_the_estimate(S, method, order):
    S = similarity_matrix(S)
    with small_cores():
        basis = WAYS[method](S, order=order)
    estimate = estimate_fill_in(S, order=order).n_entries
    # All leave out chance zeros but the columns that are computed one by one.
    assert basis.n_entries <= estimate
    assert orthonormal_basis(S, order=order).n_entries == estimate
    assert basis.n_entries == basis.E.nnz
    assert (basis.order, basis.n_terms) == (order, len(S))
    assert "OrthonormalBasis" in repr(basis)


@given(st.integers(1, own.MAX_TERMS).flatmap(dominant_matrices), *ways())
def test_no_axis_has_to_do_with_two_components(S, method, order):
    with small_cores():
        E = WAYS[method](similarity_matrix(S), order=order).E.toarray()
    reach = np.linalg.matrix_power((S != 0).astype(float), len(S)) > 0
    for column in E.T:
        terms = np.flatnonzero(column)
        assert reach[np.ix_(terms, terms)].all()


@given(st.integers(1, own.MAX_TERMS).flatmap(dominant_matrices))
def test_in_the_natural_order_the_factor_is_lower_triangular(S):
    basis = orthonormal_basis(similarity_matrix(S), order="natural")
    np.testing.assert_allclose(basis.E.toarray(), np.linalg.cholesky(S), rtol=0, atol=1e-13)
    assert basis.pivots.tolist() == list(range(len(S)))


@given(st.integers(1, own.MAX_TERMS).flatmap(own.signed_matrices), *ways(), st.booleans())
def test_matrices_are_factored_or_refused_as_their_eigenvalues_say(S, method, order, small):
    lowest = np.linalg.eigvalsh(S)[0]
    assume(abs(lowest) > 1e-9)
    matrix = similarity_matrix(S)
    with small_cores() if small else nullcontext():
        if lowest > 0:
            E = WAYS[method](matrix, order=order).E.toarray()
            np.testing.assert_allclose(E @ E.T, S, rtol=0, atol=1e-12)
        else:
            with pytest.raises(IndefiniteMatrixError, match=r"S is .*indefinite: when"):
                WAYS[method](matrix, order=order)


@given(own.collections(matrices=matrices), *ways())
def test_a_basis_is_made_again_from_its_arrays(c, method, order):
    S = similarity_matrix(c.S)
    basis = WAYS[method](S, order=order)
    arrays = {name: array.copy() for name, array in basis.arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    again = OrthonormalBasis.from_arrays(S, arrays)
    assert again.order == order
    assert again.pivots.tolist() == basis.pivots.tolist()
    for name, array in basis.arrays().items():
        assert array.dtype == again.arrays()[name].dtype
        np.testing.assert_array_equal(array, again.arrays()[name])
    assert (again.coordinates(c.counts) != basis.coordinates(c.counts)).nnz == 0
    assert (again.solved(c.counts) != basis.solved(c.counts)).nnz == 0


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
    cores = cholesky.find_cores(planned(matrix, "minimum_degree"))
    assert knot // 2 <= cores.n_terms < n
    for method in METHODS:
        with patch.object(cholesky, "_BLOCK", 25):
            basis = WAYS[method](matrix)
        E = basis.E.toarray()
        np.testing.assert_allclose(E @ E.T, S, rtol=0, atol=1e-13)
        assert basis.n_entries == estimate_fill_in(matrix).n_entries


def test_a_document_has_the_same_cosines_in_the_basis():
    S = similarity_matrix([[1, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 1]])
    X = np.array([[1, 0, 0], [0, 2, 1], [0, 0, 0]])
    made = orthonormal_basis(S).coordinates(X).toarray()
    unit = made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-300)
    np.testing.assert_allclose(unit @ unit.T, soft_cosine_similarity(X, None, S), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_and_one_term_have_bases(method):
    for n in (0, 1):
        S = similarity_matrix(np.eye(n))
        basis = WAYS[method](S)
        assert basis.coordinates(np.ones((2, n))).toarray().tolist() == [[1.0] * n] * 2
        assert basis.solved(np.ones((0, n))).shape == (0, n)
        assert OrthonormalBasis.from_arrays(S, basis.arrays()).n_entries == n


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", ORDERS)
def test_the_identity_is_its_own_basis(method, order):
    S = similarity_matrix(np.eye(5))
    basis = WAYS[method](S, order=order)
    X = np.arange(10.0).reshape(2, 5)
    assert basis.n_entries == 5
    assert sorted(basis.coordinates(X).toarray()[0]) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("method", METHODS)
def test_an_indefinite_matrix_that_splu_factors_in_silence_is_refused(method):
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
        WAYS[method](matrix, order="natural")
    E = WAYS[method](matrix.shrunk()).E
    np.testing.assert_allclose(
        (E @ E.T).toarray(), matrix.shrunk().to_scipy().toarray(), atol=1e-12
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_pivot_of_zero_is_refused_whatever_follows(method):
    S = similarity_matrix([[1, 1, 0.5], [1, 1, 0.25], [0.5, 0.25, 1]])
    with pytest.raises(IndefiniteMatrixError, match=r"'1' is left with (the pivot 0,|too small)"):
        WAYS[method](S, order="natural")


@pytest.mark.parametrize("method", METHODS)
def test_a_singular_matrix_is_refused_by_name_and_can_be_shrunk(method):
    # Two terms that are wholly alike, and an even ring, which balancing leaves at the edge.
    ring = np.eye(4)
    for i in range(4):
        ring[i, i - 1] = ring[i - 1, i] = 0.5
    for S in (np.ones((2, 2)), ring):
        matrix = similarity_matrix(S)
        with pytest.raises(
            IndefiniteMatrixError, match=r"S is singular or indefinite: .*pivot.*S\.shrunk\(\)"
        ):
            WAYS[method](matrix)
        WAYS[method](matrix.shrunk())


@pytest.mark.parametrize("method", METHODS)
def test_more_memory_than_allowed_is_refused_with_the_estimate(method):
    S = similarity_matrix(np.full((50, 50), 0.5) + 0.5 * np.eye(50))
    with pytest.raises(InvalidInputError, match=r"needs 0 MiB.*has 1,275 entries \(0.0 MiB\)"):
        WAYS[method](S, max_memory=10_000)
    with (
        patch("softcosine.space.basis.available_memory", return_value=20_000),
        pytest.raises(InvalidInputError, match="Build S with fewer neighbours"),
    ):
        WAYS[method](S)
    WAYS[method](S, max_memory=1_000_000)
    with patch("softcosine.space.basis.available_memory", return_value=None):
        WAYS[method](S)


def test_the_memory_at_hand_is_read_where_the_system_tells_it(tmp_path, monkeypatch):
    found = memory.available_memory()
    assert found is None or found > 2**20
    monkeypatch.setattr(memory.sys, "platform", "linux")
    told, limit, used = (tmp_path / name for name in ("meminfo", "max", "current"))
    monkeypatch.setattr(memory, "_MEMORY", told)
    monkeypatch.setattr(memory, "_LIMITS", ((limit, used),))
    told.write_text("MemTotal: 9 kB\nMemAvailable:    4 kB\n")
    assert memory.available_memory() == 4096
    limit.write_text("max\n")
    used.write_text("1000\n")
    assert memory.available_memory() == 4096
    limit.write_text("3000\n")
    assert memory.available_memory() == 2000
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 700\n")
    assert memory.available_memory() == 2700
    (tmp_path / "memory.stat").write_text("inactive_file 700\ntotal_inactive_file 800\n")
    assert memory.available_memory() == 2800
    (tmp_path / "memory.stat").unlink()
    limit.write_text("500\n")
    assert memory.available_memory() == 0
    told.write_text("MemTotal: 9 kB\n")
    whole = memory.available_memory()
    assert whole is None or whole > 2**20


def test_cholmod_is_among_the_methods_that_are_tried():
    pytest.importorskip("sksparse", reason="needs scikit-sparse, which needs SuiteSparse's files")
    assert "cholmod" in METHODS


def test_without_scikit_sparse_the_message_is_the_command():
    S = similarity_matrix(np.eye(2))
    with (
        patch.dict(sys.modules, {"sksparse": None, "sksparse.cholmod": None}),
        pytest.raises(MissingDependencyError, match=r"pip install 'softcosine\[cholmod\]'"),
    ):
        basis_by("cholmod", S)


def test_what_has_no_basis_says_why():
    with pytest.raises(InvalidInputError, match="a change of basis needs a symmetric one"):
        orthonormal_basis(similarity_matrix([[1, 0.5], [0, 1]]))
    with pytest.raises(InvalidInputError, match="S is of type ndarray"):
        orthonormal_basis(np.eye(2))
    S = similarity_matrix(np.eye(2))
    with pytest.raises(
        InvalidInputError, match="library is 'qr'; it must be one of superlu, cholmod"
    ):
        basis_by("qr", S)
    with pytest.raises(
        InvalidInputError, match="order is 'colamd'; it must be one of minimum_degree"
    ):
        orthonormal_basis(S, order="colamd")
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


def test_arrays_that_are_no_basis_or_of_another_s_are_refused():
    S = similarity_matrix([[1, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 1]])
    arrays = orthonormal_basis(S).arrays()

    def altered(**changed):
        return OrthonormalBasis.from_arrays(S, {**arrays, **changed})

    with pytest.raises(CorruptIndexError, match="these arrays are no basis: 'indptr'"):
        OrthonormalBasis.from_arrays(S, {})
    with pytest.raises(CorruptIndexError, match="no basis: order is"):
        altered(order=np.frombuffer(b"qr", np.uint8))
    with pytest.raises(CorruptIndexError, match="of type float64"):
        altered(pivots=arrays["pivots"].astype(float))
    with pytest.raises(CorruptIndexError, match="not all of its terms"):
        altered(pivots=np.zeros(3, np.int32))
    with pytest.raises(CorruptIndexError, match="do not rise"):
        altered(indptr=arrays["indptr"][::-1].copy())
    with pytest.raises(CorruptIndexError, match="a number in indices"):
        altered(indices=arrays["indices"] + np.int32(3))
    with pytest.raises(CorruptIndexError, match="no possible one"):
        altered(data=arrays["data"] * np.nan)
    for wrong in ({"data": -arrays["data"]}, {"indices": arrays["indices"] * 0}):
        with pytest.raises(CorruptIndexError, match="do not end with their own axes"):
            altered(**wrong)
    with pytest.raises(CorruptIndexError, match="do not end with their own axes"):
        altered(indptr=np.array([0, 0, 0, len(arrays["indices"])]))
    with pytest.raises(InvalidInputError, match=r"E times its transpose is not S\. S has changed"):
        altered(data=arrays["data"] * 1.001)
    with pytest.raises(InvalidInputError, match="it has 3 terms and S has 2"):
        OrthonormalBasis.from_arrays(similarity_matrix(np.eye(2)), arrays)
    changed = similarity_matrix([[1, 0.5, 0], [0.5, 1, 0.26], [0, 0.26, 1]])
    with pytest.raises(InvalidInputError, match="one of another S"):
        OrthonormalBasis.from_arrays(changed, arrays)


def test_a_factor_that_does_not_multiply_to_s_is_never_handed_out():
    S = similarity_matrix([[1, 0.5], [0.5, 1]])
    wrong = orthonormal_basis(similarity_matrix([[1, 0.4], [0.4, 1]])).E
    with (
        patch("softcosine.space.basis.factored", return_value=wrong),
        pytest.raises(IndefiniteMatrixError, match="does not multiply to S"),
    ):
        orthonormal_basis(S)
