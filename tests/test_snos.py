"""SNOS: right by the definition, whole or in parts, and by the lemmas of theory T13."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse, random_array

import strategies as own
from softcosine.errors import InvalidInputError, SoftCosineWarning
from softcosine.lab.snos.graph import NORMALIZATIONS, largest_singular_value, normalized
from softcosine.lab.snos.learning import METHODS, snos
from softcosine.lab.snos.scaling import RULES, lambdas_of

# Terms by titles c1 to c5 and m1 to m4 of Deerwester et al. 1990.
TITLES = np.array(
    [
        [1, 0, 0, 1, 0, 0, 0, 0, 0],  # human
        [1, 0, 1, 0, 0, 0, 0, 0, 0],  # interface
        [1, 1, 0, 0, 0, 0, 0, 0, 0],  # computer
        [0, 1, 1, 0, 1, 0, 0, 0, 0],  # user
        [0, 1, 1, 2, 0, 0, 0, 0, 0],  # system
        [0, 1, 0, 0, 1, 0, 0, 0, 0],  # response
        [0, 1, 0, 0, 1, 0, 0, 0, 0],  # time
        [0, 0, 1, 1, 0, 0, 0, 0, 0],  # EPS
        [0, 1, 0, 0, 0, 0, 0, 0, 1],  # survey
        [0, 0, 0, 0, 0, 1, 1, 1, 0],  # trees
        [0, 0, 0, 0, 0, 0, 1, 1, 1],  # graph
        [0, 0, 0, 0, 0, 0, 0, 1, 1],  # minors
    ],
    dtype=np.float64,
)
BINARY = np.minimum(TITLES, 1.0)


def steps(B, lambdas, n, *, start=None):
    """The first n rounds from the definition: pairs (S_o, S_f)."""
    S_o = np.eye(B.shape[1]) if start is None else start
    for _ in range(n):
        S_f = lambdas[1] * B @ S_o @ B.T
        np.fill_diagonal(S_f, 1.0)
        S_o = lambdas[0] * B.T @ S_f @ B
        np.fill_diagonal(S_o, 1.0)
        yield S_o, S_f


def dense(S):
    return S.toarray() if issparse(S) else S


def run(B, n, **settings):
    """Exactly n rounds."""
    settings = {"max_iterations": n, "tolerance": 0.0, **settings}
    try:
        return snos(B, allow_divergence=True, **settings)
    except SoftCosineWarning:  # it did not converge, which nobody asked for
        pytest.fail("a warning is no error here")


graphs = st.tuples(st.integers(1, 7), st.integers(1, 7)).flatmap(
    lambda shape: own.coordinates(*shape)
)
scales = st.sampled_from([(0.5, 0.5), (0.9, 0.9), (0.2, 1.5), (2.0, 0.3)])


def lambdas_for(B, scale):
    """λ of which the product is below the bound of convergence."""
    sigma = np.linalg.norm(B, 2)
    return tuple(s / sigma**2 for s in scale) if sigma else (1.0, 1.0)


# --- by the definition --------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:SNOS did not converge")
@given(graphs, scales, st.integers(1, 6), st.sampled_from(sorted(METHODS)))
def test_every_method_follows_the_definition_round_by_round(B, scale, n, method):
    lambdas = lambdas_for(B, scale)
    result = run(B, n, lam=lambdas, method=method)
    *_, (S_o, S_f) = steps(B, lambdas, len(result.trace))
    np.testing.assert_allclose(dense(result.S_o), S_o, atol=1e-12)
    if result.S_f is not None:
        np.testing.assert_allclose(dense(result.S_f), S_f, atol=1e-12)
    else:
        (following,) = steps(B, lambdas, 1, start=S_o)
        np.testing.assert_allclose(result.feature_similarities(), following[1], atol=1e-12)


@given(graphs, scales, st.sampled_from(sorted(METHODS)))
def test_the_limit_solves_both_equations(B, scale, method):
    lambdas = lambdas_for(B, scale)
    result = snos(B, lam=lambdas, method=method, tolerance=1e-12, max_iterations=2000)
    assert result.converged
    ((S_o, S_f),) = steps(B, lambdas, 1, start=dense(result.S_o))
    np.testing.assert_allclose(dense(result.S_o), S_o, atol=1e-9)
    np.testing.assert_allclose(result.feature_similarities(), S_f, atol=1e-9)


@pytest.mark.filterwarnings("ignore:SNOS did not converge")
@given(graphs, st.integers(1, 4))
def test_the_paper_s_simultaneous_update_passes_through_the_same_matrices(B, n):
    l1, l2 = lambdas_for(B, (0.9, 0.9))
    S_o, S_f = np.eye(B.shape[1]), np.eye(B.shape[0])
    for _ in range(2 * n):
        S_o, S_f = l1 * B.T @ S_f @ B, l2 * B @ S_o @ B.T
        np.fill_diagonal(S_o, 1.0)
        np.fill_diagonal(S_f, 1.0)
    result = run(B, n, lam=(l1, l2), method="dense")
    *_, (alternating, _) = steps(B, (l1, l2), n)
    np.testing.assert_allclose(alternating, S_o, atol=1e-12)
    if len(result.trace) == n:
        np.testing.assert_allclose(result.S_o, S_o, atol=1e-12)


@given(graphs, scales)
def test_similarities_are_symmetric_to_the_bit(B, scale):
    for method in METHODS:
        S = dense(snos(B, lam=lambdas_for(B, scale), method=method).S_o)
        assert S.tobytes() == np.ascontiguousarray(S.T).tobytes()


@given(graphs, st.data())
def test_objects_renumbered_are_as_similar(B, data):
    order = data.draw(st.permutations(range(B.shape[1])))
    expected = snos(B, tolerance=1e-10).S_o[np.ix_(order, order)]
    np.testing.assert_allclose(snos(B[:, order], tolerance=1e-10).S_o, expected, atol=1e-8)


def test_blocks_of_columns_change_nothing(monkeypatch):
    B = random_array((60, 50), density=0.2, rng=1)
    whole = snos(B, method="factored")
    monkeypatch.setattr("softcosine.lab.snos.factored._BLOCK_BYTES", 8 * 60 * 7)
    monkeypatch.setattr("softcosine.lab.snos.dense._TILE", 16)
    np.testing.assert_allclose(snos(B, method="factored").S_o, whole.S_o, atol=1e-13)
    np.testing.assert_allclose(snos(B, method="dense").S_o, whole.S_o, atol=1e-13)


# --- the lemmas ---------------------------------------------------------------------------------


@given(graphs)
def test_below_the_bound_of_norms_entries_stay_in_zero_to_one_and_grow(B):
    lambdas = RULES["norm"](csr_array(B))
    before = np.eye(B.shape[1]), np.eye(B.shape[0])
    for after in steps(B, lambdas, 8):
        for S, old in zip(after, before, strict=True):
            assert np.all(old - S <= 1e-12)
            assert S.min() >= 0.0
            assert S.max() <= 1.0 + 1e-12
        before = after
    result = snos(B, lam="norm")
    assert result.S_o.min() >= 0.0
    assert result.S_o.max() <= 1.0


@given(graphs)
def test_below_the_bound_of_norms_similarities_are_positive_definite(B):
    result = snos(B, lam="norm", method="dense")
    assert np.linalg.eigvalsh(result.S_o)[0] > 0.0
    assert np.linalg.eigvalsh(result.S_f)[0] > 0.0
    assert np.all(result.object_diagonal < 1.0)
    assert np.all(result.feature_diagonal < 1.0)


@given(graphs, st.sampled_from(sorted(NORMALIZATIONS)), st.sampled_from(["norm", "spectral"]))
def test_both_bounds_always_converge_and_grow_monotonically(B, normalize, rule):
    result = snos(B, lam=rule, normalize=normalize)
    assert result.converged
    scaled = dense(result.B)
    before = np.eye(B.shape[1])
    for S_o, _ in steps(scaled, result.lambdas, 5):
        assert np.all(S_o >= before - 1e-12)
        before = S_o
    assert np.all(result.S_o >= before - 1e-5)


@given(graphs, scales)
def test_changes_shrink_ever_more_slowly_and_no_faster_than_the_bound(B, scale):
    lambdas = lambdas_for(B, scale)
    norms = [r.change.norm for r in snos(B, lam=lambdas, method="dense").trace.rounds]
    norms = np.array([norm for norm in norms if norm > 1e-9])
    ratios = norms[1:] / norms[:-1]
    assert np.all(np.diff(ratios) >= -1e-5)
    assert np.all(ratios <= scale[0] * scale[1] * (1 + 1e-6))


@given(graphs, st.floats(1.01, 4.0))
def test_what_is_said_to_diverge_does(B, factor):
    sigma = np.linalg.norm(B, 2)
    lam = factor / sigma**2 if sigma else 1.0
    result = snos(B, lam=lam, allow_divergence=True, max_iterations=3000, tolerance=1e-9)
    # The affine map's linear part, entry by entry.
    n = B.shape[1]
    images = []
    for unit in np.eye(n * n):
        D = unit.reshape(n, n) * (1 - np.eye(n))
        E = lam * B @ D @ B.T
        np.fill_diagonal(E, 0.0)
        D = lam * B.T @ E @ B
        np.fill_diagonal(D, 0.0)
        images.append(D.ravel())
    radius = np.abs(np.linalg.eigvalsh(np.array(images))).max(initial=0.0)
    if result.diverged:
        assert radius > 1.0 - 1e-6
    else:  # it may converge all the same, where the start has no part in what would grow
        assert result.converged or radius > 0.98


@given(graphs, scales, st.integers(1, 3))
def test_truncated_similarities_are_no_greater_than_whole_ones(B, scale, limit):
    lambdas = lambdas_for(B, scale)
    whole = snos(B, lam=lambdas, tolerance=1e-10, max_iterations=2000).S_o
    kept = snos(B, lam=lambdas, max_neighbors=limit, tolerance=1e-10, max_iterations=2000)
    assert issparse(kept.S_o)
    assert np.all(dense(kept.S_o) <= whole + 1e-7)
    assert kept.converged
    # A pair stays that either chose.
    assert kept.S_o.nnz - B.shape[1] <= 2 * limit * B.shape[1]


# --- λ, scales and starts -----------------------------------------------------------------------


@given(graphs)
def test_rules_are_what_the_paper_and_the_theorems_say(B):
    matrix = csr_array(B)
    columns, rows = B.sum(axis=0).max(), B.sum(axis=1).max()
    if not columns:
        assert all(rule(matrix) == (0.0, 0.0) for rule in RULES.values())
        return
    assert lambdas_of(matrix, "paper") == pytest.approx((0.9 / max(columns, rows),) * 2)
    assert lambdas_of(matrix, "norm") == pytest.approx((0.9 / columns**2, 0.9 / rows**2))
    assert lambdas_of(matrix, "spectral") == pytest.approx((0.9 / np.linalg.norm(B, 2) ** 2,) * 2)


def test_the_largest_singular_value_of_large_and_of_lopsided_matrices():
    for shape, scale in (((200, 150), 1.0), ((3, 400), 1e200), ((400, 3), 1e-200)):
        B = csr_array(random_array(shape, density=0.2, rng=0)) * scale
        expected = np.linalg.norm(B.toarray() / scale, 2) * scale
        assert largest_singular_value(csr_array(B)) == pytest.approx(expected, rel=1e-6)
    assert largest_singular_value(csr_array((4, 5))) == 0.0


@given(graphs)
def test_weights_are_scaled_as_said(B):
    matrix = csr_array(B)

    def scaled(name):
        return normalized(matrix, name).toarray()

    has_row, has_column = B.any(axis=1), B.any(axis=0)
    assert np.array_equal(scaled("raw"), B)
    assert np.array_equal(scaled("binary"), (B > 0) * 1.0)
    np.testing.assert_allclose(scaled("rows").sum(axis=1), has_row)
    np.testing.assert_allclose(scaled("columns").sum(axis=0), has_column)
    np.testing.assert_allclose(np.linalg.norm(scaled("length"), axis=0), has_column)
    if B.any():
        assert np.linalg.norm(scaled("both"), 2) == pytest.approx(1.0)


@given(graphs, st.sampled_from(["cosine", "ones"]))
def test_another_start_leads_to_the_same_limit(B, start):
    initial = np.ones((B.shape[1], B.shape[1])) if start == "ones" else start
    for method in METHODS:
        here = snos(B, method=method, tolerance=1e-10).S_o
        there = snos(B, initial=initial, method=method, tolerance=1e-10).S_o
        np.testing.assert_allclose(dense(there), dense(here), atol=1e-8)


@pytest.mark.parametrize("B", [TITLES, BINARY], ids=["raw", "binary"])
def test_search_leaves_less_on_the_diagonals_than_the_spectral_bound(B):
    found, bound = snos(B, lam="search"), snos(B)
    assert found.converged
    assert np.hypot(*found.remainders) < np.hypot(*bound.remainders)


def test_search_where_there_is_nothing_to_learn():
    assert snos(np.zeros((2, 3)), lam="search").lambdas == (0.0, 0.0)


# --- the nine titles ----------------------------------------------------------------------------


def test_nine_titles_come_out_in_the_paper_s_order():
    for method in METHODS:
        similar = dense(snos(BINARY, method=method).S_o)[0]
        assert similar[1] > similar[2] > similar[3] > similar[4] > similar[5:].max()


def test_nine_titles_by_search_come_near_the_printed_row():
    similar = snos(BINARY, lam="search").S_o[0]
    np.testing.assert_allclose(similar[:4], [1, 0.5, 0.4, 0.3], atol=0.03)
    assert similar[5:].max() < 0.1


def test_the_printed_rule_diverges_on_counts_and_says_so():
    for B in (TITLES, BINARY):
        with pytest.raises(InvalidInputError, match=r"grow without bound.*lam=\"spectral\""):
            snos(B, lam="paper")
        result = snos(B, lam="paper", allow_divergence=True)
        assert not result.converged
        assert "grow without bound" in str(result.trace)
    assert snos(TITLES, lam="paper", normalize="rows").converged


# --- the space that follows ---------------------------------------------------------------------


@given(graphs, scales)
def test_soft_cosines_are_those_in_the_space_of_the_features(B, scale):
    for method in METHODS:
        result = snos(
            B, lam=lambdas_for(B, scale), method=method, tolerance=1e-12, max_iterations=2000
        )
        S_f = result.feature_similarities()
        squares = np.einsum("fi,fg,gi->i", B, S_f, B)
        lengths = np.sqrt(np.where(squares > 0, squares, np.inf))
        expected = B.T @ S_f @ B / np.outer(lengths, lengths)
        np.testing.assert_allclose(result.cosines(B.T), expected, atol=1e-8)
        among = dense(result.soft_cosines)
        assert np.all(np.diagonal(among) == 1.0)
        np.fill_diagonal(expected, 1.0)
        np.testing.assert_allclose(among, expected, atol=1e-8)
        products, norms = result.products(B.T)
        np.testing.assert_allclose(norms, result.lambdas[0] * squares, atol=1e-8)
        np.fill_diagonal(products, 1.0)
        np.testing.assert_allclose(products, dense(result.S_o), atol=1e-8)


@pytest.mark.parametrize("normalize", sorted(NORMALIZATIONS))
def test_further_objects_are_scaled_as_those_learned_from(normalize):
    result = snos(TITLES, normalize=normalize, tolerance=1e-12)
    np.testing.assert_allclose(result.weights(TITLES.T).toarray(), result.B.T.toarray())
    one = result.cosines(TITLES.T[2:3])
    np.testing.assert_allclose(one[0], dense(result.soft_cosines)[2], atol=1e-9)


# --- sparse -------------------------------------------------------------------------------------


def test_one_thread_gives_the_bits_of_several(monkeypatch):
    B = random_array((300, 200), density=0.05, rng=2)
    several = snos(B, max_neighbors=5, method="sparse")
    monkeypatch.setenv("SOFTCOSINE_THREADS", "1")
    monkeypatch.setattr("softcosine.lab.snos.sparse._CHUNK_ROWS", 7)
    alone = snos(B, max_neighbors=5, method="sparse")
    assert alone.S_o.data.tobytes() == several.S_o.data.tobytes()
    assert alone.S_o.indices.tobytes() == several.S_o.indices.tobytes()


def test_kept_pairs_are_of_the_same_community():
    random = np.random.default_rng(3)
    group = np.arange(80) // 20
    B = (
        random.random((120, 80)) < np.where(np.arange(120)[:, None] // 30 == group, 0.3, 0.02)
    ) * 1.0
    kept = snos(B, max_neighbors=10, method="sparse").S_o.tocoo()
    rows, columns = kept.coords
    others = rows != columns
    assert np.mean(group[rows[others]] == group[columns[others]]) > 0.98


def test_features_of_many_objects_go_first_where_a_step_is_too_long(monkeypatch):
    monkeypatch.setattr("softcosine.lab.snos.sparse._STEPS", 1)
    # All objects share the last feature; pairs share one more.
    B = np.vstack([np.repeat(np.eye(20), 2, axis=1), np.ones((1, 40))])
    kept = snos(B, max_neighbors=1, method="sparse", normalize="rows").S_o
    partners = kept - csr_array(np.eye(40))
    assert np.array_equal(partners.indices, np.arange(40) ^ 1)


def test_the_same_entries_as_a_dense_matrix_where_nothing_is_left_out():
    B = random_array((90, 70), density=0.1, rng=4)
    for limit in (None, 90):
        sparse = snos(B, method="sparse", max_neighbors=limit)
        whole = snos(B, method="dense")
        assert len(sparse.trace) == len(whole.trace)
        np.testing.assert_allclose(sparse.S_o.toarray(), whole.S_o, atol=1e-12)
        np.testing.assert_allclose(sparse.S_f.toarray(), whole.S_f, atol=1e-12)


# --- odd and bad input --------------------------------------------------------------------------


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (4, 3)])
def test_without_weights_everything_is_similar_to_itself_only(method, shape):
    result = snos(np.zeros(shape), method=method)
    assert np.array_equal(dense(result.S_o), np.eye(shape[1]))
    assert np.array_equal(result.feature_similarities(), np.eye(shape[0]))
    assert result.converged


def test_the_method_is_chosen_by_size(monkeypatch):
    B = random_array((30, 20), density=0.2, rng=5)
    assert snos(B).method == "dense"
    assert snos(B, max_neighbors=3).method == "sparse"
    monkeypatch.setattr("softcosine.lab.snos.learning._DENSE", 25)
    assert snos(B).method == "factored"
    monkeypatch.setattr("softcosine.lab.snos.learning._FACTORED", 10)
    assert snos(B).method == "sparse"


def test_stopping_early_is_warned_of():
    with pytest.warns(SoftCosineWarning, match="did not converge in 2 rounds"):
        result = snos(BINARY, max_iterations=2)
    assert not result.converged
    assert str(result.trace).endswith("stopped before it converged")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lam": "best"}, "lam is 'best'; it must be one of paper, norm, spectral and search"),
        ({"lam": 0.0}, "lam is 0.0; needed is the name of a rule"),
        ({"lam": (1.0, -1.0)}, "needed is the name of a rule, a number above 0"),
        ({"lam": (1.0, 1.0, 1.0)}, "or two of them"),
        ({"normalize": "l1"}, "normalize is 'l1'; it must be one of raw, binary"),
        ({"method": "gpu"}, "method is 'gpu'; it must be one of auto, dense"),
        ({"max_neighbors": 0}, "max_neighbors is 0; it must be a whole number of 1 or more"),
        ({"max_neighbors": 2, "method": "dense"}, "the dense method leaves nothing out"),
        ({"max_iterations": 0}, "max_iterations is 0; it must be a whole number of 1 or more"),
        ({"tolerance": -1.0}, "tolerance is -1.0; it must be a finite number of at least 0"),
        ({"initial": "random"}, "initial is 'random'; needed is identity or cosine, or a matrix"),
        ({"initial": np.eye(3)}, r"initial has shape \(3, 3\), but there are 9 objects"),
        ({"initial": np.zeros((9, 9))}, "initial has a diagonal other than 1"),
        ({"initial": 2 * np.eye(9) - 1}, "initial holds a negative similarity"),
        ({"initial": np.triu(np.ones((9, 9)))}, "initial is not symmetric"),
    ],
)
def test_bad_settings_say_what_was_needed(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        snos(BINARY, **settings)


@pytest.mark.parametrize("size", [1e160, 1e-170])
def test_weights_whose_squares_are_no_numbers_are_refused(size):
    with pytest.raises(InvalidInputError, match=r"largest weight of B is 1e.*; scale the weights"):
        snos([[size, 0], [size, size]])


def test_bad_weights_say_what_was_needed():
    with pytest.raises(InvalidInputError, match=r"B\[1, 0\] is -1; SNOS needs weights of 0"):
        snos([[1, 0], [-1, 2]])
    with pytest.raises(InvalidInputError, match="B holds NaN or infinity in row 0"):
        snos([[np.nan, 1.0]])
    with pytest.raises(InvalidInputError, match="X has 3 features, but similarities were learned"):
        snos(BINARY).cosines(np.ones((1, 3)))
