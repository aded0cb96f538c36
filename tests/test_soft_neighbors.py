"""SoftNeighbors: every ranking and weighting against the oracle, and scikit-learn's manners."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

import oracle
import strategies as own
from expected import IDF, RANKINGS, TF, assert_ranked, scores
from softcosine.errors import (
    IndefiniteMatrixError,
    InvalidInputError,
    NotFittedError,
    VocabularyMismatchError,
)
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.soft_neighbors import SoftNeighbors
from softcosine.space.measures import soft_cosine_similarity, soft_inner_product
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
from toys import similarity_matrix

limits = st.sampled_from([1, 2, 3, 17])
K1_B = st.sampled_from([(1.2, 0.75), (0.0, 0.75), (0.9, 0.0), (2.0, 1.0)])


def everything(neighbors, Q):
    """Scores of all rows, (n_queries, n_docs), in row order."""
    matches = neighbors.search(Q, k=max(1, neighbors.n_samples_fit_))
    found = np.empty(matches.scores.shape)
    np.put_along_axis(found, matches.ids, matches.scores, axis=1)
    return found


@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize("idf", IDF)
@pytest.mark.parametrize("tf", TF)
@own.FEWER
@given(c=own.collections(matrices=own.similarity_matrices, max_docs=6), k=limits, k1_b=K1_B)
def test_every_weighting_and_ranking_agrees_with_the_oracle(tf, idf, ranking, c, k, k1_b):
    k1, b = k1_b
    neighbors = SoftNeighbors(
        similarity_matrix(c.S), ranking=ranking, weighting=Weighting(tf, idf, k1=k1, b=b), n_jobs=1
    ).fit(c.counts)
    # Negative similarities can make x'Sx of an odd weighting's query vanish: it is then nothing.
    truth = scores(ranking, c.queries, c.counts, c.S, tf=tf, idf=idf, k1=k1, b=b)
    matches = neighbors.search(c.queries, k=k)
    for ids, found, expected in zip(matches.ids, matches.scores, truth, strict=True):
        assert_ranked(ids, found, expected, k=k)


@given(own.collections(matrices=own.similarity_matrices), st.data(), limits)
def test_real_weights_agree_with_the_oracle(c, data, k):
    X = data.draw(own.coordinates(c.n_docs, c.n_terms))
    Q = data.draw(own.coordinates(2, c.n_terms))
    for ranking in ("soft_cosine", "inner_product", "expanded_cosine"):
        neighbors = SoftNeighbors(similarity_matrix(c.S), ranking=ranking).fit(X)
        measure = {
            "soft_cosine": oracle.soft_cosine,
            "inner_product": oracle.soft_inner_product,
            "expanded_cosine": oracle.expansion_cosine,
        }[ranking]
        truth = measure(Q, X, c.S)
        matches = neighbors.search(Q, k=k)
        for ids, found, expected in zip(matches.ids, matches.scores, truth, strict=True):
            assert_ranked(ids, found, expected, k=k)


@given(own.collections(matrices=own.similarity_matrices), st.data())
def test_scores_are_those_of_the_pairwise_functions(c, data):
    X = data.draw(own.coordinates(c.n_docs, c.n_terms))
    S = similarity_matrix(c.S)
    for ranking, measure in (
        ("soft_cosine", soft_cosine_similarity),
        ("inner_product", soft_inner_product),
    ):
        found = everything(SoftNeighbors(S, ranking=ranking).fit(X), c.queries)
        np.testing.assert_allclose(found, measure(c.queries, X, S), rtol=1e-12, atol=1e-12)


@given(own.collections(matrices=own.signed_matrices))
def test_signed_similarities_agree_or_are_refused(c):
    S = similarity_matrix(c.S)
    if np.isnan(oracle.soft_norm(c.counts, c.S)).any():
        with pytest.raises(IndefiniteMatrixError, match="x'Sx is -"):
            SoftNeighbors(S).fit(c.counts)
        return
    neighbors = SoftNeighbors(S).fit(c.counts)
    if np.isnan(oracle.soft_norm(c.queries, c.S)).any():
        with pytest.raises(IndefiniteMatrixError, match="x'Sx is -"):
            neighbors.search(c.queries)
        return
    truth = oracle.soft_cosine(c.queries, c.counts, c.S)
    np.testing.assert_allclose(everything(neighbors, c.queries), truth, atol=1e-9)


@given(own.collections(matrices=lambda n: st.just(np.eye(n))))
def test_the_identity_gives_cosine_and_bm25(c):
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    S = similarity_matrix(c.S)
    cosines = everything(SoftNeighbors(S).fit(c.counts), c.queries)
    np.testing.assert_allclose(cosines, pairwise.cosine_similarity(c.queries, c.counts), atol=1e-12)
    found = everything(SoftNeighbors(S, ranking="soft_bm25").fit(c.counts), c.queries)
    impacts = oracle.tf(c.counts, "bm25") * oracle.idf(
        oracle.document_frequencies(c.counts), c.n_docs, "bm25"
    )
    np.testing.assert_allclose(found, c.queries @ impacts.T, rtol=1e-12)


@given(own.collections(matrices=own.definite_matrices))
def test_a_document_is_its_own_best_match(c):
    neighbors = SoftNeighbors(similarity_matrix(c.S)).fit(c.counts)
    found = everything(neighbors, c.counts)
    filled = c.counts.any(axis=1)
    np.testing.assert_allclose(np.diag(found)[filled], 1, atol=1e-9)
    np.testing.assert_array_equal(found[~filled], 0)
    np.testing.assert_array_equal(found[:, ~filled], 0)
    np.testing.assert_allclose(found, found.T, atol=1e-9)
    assert np.abs(found).max() <= 1 + 1e-9


@given(own.collections(matrices=own.similarity_matrices), st.randoms(use_true_random=False))
def test_renumbering_terms_changes_nothing(c, random):
    order = list(range(c.n_terms))
    random.shuffle(order)
    S, moved = similarity_matrix(c.S), similarity_matrix(c.S[np.ix_(order, order)])
    for ranking in RANKINGS:
        np.testing.assert_allclose(
            everything(
                SoftNeighbors(moved, ranking=ranking).fit(c.counts[:, order]), c.queries[:, order]
            ),
            everything(SoftNeighbors(S, ranking=ranking).fit(c.counts), c.queries),
            rtol=1e-12,
            atol=1e-12,
        )


@given(own.collections(matrices=own.similarity_matrices), st.data())
def test_scaling_a_document_changes_no_cosine(c, data):
    X = data.draw(own.coordinates(c.n_docs, c.n_terms))
    S = similarity_matrix(c.S)
    for factor in (3.0, 1e-200, 1e200):
        np.testing.assert_allclose(
            everything(SoftNeighbors(S).fit(factor * X), c.queries / factor),
            everything(SoftNeighbors(S).fit(X), c.queries),
            rtol=1e-12,
            atol=1e-12,
        )


@pytest.mark.parametrize("ranking", ["soft_cosine", "expanded_cosine"])
def test_extreme_weights_rank_like_ordinary_ones(ranking):
    S = similarity_matrix([[1, 0.5], [0.5, 1]])
    tiny, huge, least, most = 1e-300, 1e300, 5e-324, 1.7e308
    X = np.array([[tiny, 0], [huge, 0], [least, 0], [tiny, huge], [most, most], [huge, tiny]])
    plain = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [1, 1], [1, 0]])
    for query in ([tiny, 0], [huge, huge], [least, least], [huge, tiny], [most, most]):
        expected = {tiny: [1, 0], least: [1, 1], most: [1, 1]}.get(
            query[0], [1, 1] if query[1] == huge else [1, 0]
        )
        found = SoftNeighbors(S, ranking=ranking).fit(X).search([query], k=6)
        wanted = SoftNeighbors(S, ranking=ranking).fit(plain).search([expected], k=6)
        np.testing.assert_allclose(found.scores, wanted.scores, rtol=1e-12)
        # The third row is a multiple of the first to the bit, the others up to rounding.
        assert set(found.ids[0]) == set(range(6))


def test_inner_products_beyond_float64_are_refused():
    S = similarity_matrix([[1, 0.5], [0.5, 1]])
    neighbors = SoftNeighbors(S, ranking="inner_product").fit([[1e300, 1e-300], [0.5, 0]])
    assert neighbors.search([[1e-300, 0]]).scores[0].tolist() == pytest.approx([1, 5e-301])
    for query in ([1e300, 0], [1.7e308, 1.7e308]):
        # Without the compiler NumPy warns where the machine does not.
        with (
            np.errstate(over="ignore", invalid="ignore"),
            pytest.raises(InvalidInputError, match="range of float64"),
        ):
            neighbors.search([query])
    signed = similarity_matrix([[1, -1], [-1, 1]])
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(InvalidInputError, match="range of float64"),
    ):
        SoftNeighbors(signed, ranking="inner_product").fit([[1e200, 0.5]]).search([[1e300, 0]])


@pytest.mark.parametrize("largest", [255, 256, 257, 65535, 65536, 70000, 2**31, 2**40])
def test_counts_of_any_size_are_never_clipped(largest):
    S = similarity_matrix([[1, 0.5], [0.5, 1]])
    X = np.array([[largest, 1], [largest - 1, 1], [1, largest], [1, 1]], float)
    for tf in TF:
        found = everything(SoftNeighbors(S, weighting=Weighting(tf, "none")).fit(X), X)
        np.testing.assert_allclose(
            found, scores("soft_cosine", X, X, S.to_scipy().toarray(), tf=tf)
        )


@pytest.mark.parametrize("step", [1, 7, 2**21])
def test_any_number_of_distinct_counts_is_kept(step):
    X = 1.0 + step * np.arange(60).reshape(20, 3)
    S = np.array([[1, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 1]])
    for tf in TF:
        neighbors = SoftNeighbors(
            similarity_matrix(S), ranking="inner_product", weighting=Weighting(tf, "none")
        ).fit(X)
        truth = scores("inner_product", X[:3], X, S, tf=tf)
        np.testing.assert_allclose(everything(neighbors, X[:3]), truth, rtol=1e-12)


def test_more_distinct_counts_than_levels_are_kept_as_weights():
    n = 2**16 + 1
    X = csr_array((np.arange(1.0, n + 1), (np.arange(n), np.zeros(n, int))), shape=(n, 1))
    S = similarity_matrix([[1]])
    matches = SoftNeighbors(S, ranking="inner_product").fit(X).search([[1]], k=2)
    assert matches.scores.tolist() == [[n, n - 1]]
    many = TermSimilarityMatrix.identity(Vocabulary.numbered(n))
    with pytest.raises(InvalidInputError, match="65537 distinct values"):
        SoftNeighbors(many, weighting=Weighting()).fit(csr_array(X.T))


@given(own.collections(), st.sampled_from([1, 2, 3, 7, None, -1]))
def test_a_batch_gives_the_bits_of_single_queries_on_any_number_of_threads(c, n_jobs):
    S = similarity_matrix(c.S)
    for ranking in RANKINGS:
        neighbors = SoftNeighbors(S, ranking=ranking, n_jobs=1).fit(c.counts)
        together = SoftNeighbors(S, ranking=ranking, n_jobs=n_jobs).fit(c.counts).search(c.queries)
        for row, query in enumerate(c.queries):
            alone = neighbors.search([query])
            assert together.ids[row].tobytes() == alone.ids[0].tobytes()
            assert together.scores[row].tobytes() == alone.scores[0].tobytes()


def test_equal_scores_rank_by_insertion():
    X = [[0, 1], [1, 0], [1, 0], [0, 1], [2, 0], [0, 0]]
    matches = SoftNeighbors(similarity_matrix(np.eye(2))).fit(X).search([[1, 0], [0, 0]], k=6)
    assert matches.ids.tolist() == [[1, 2, 4, 0, 3, 5], [0, 1, 2, 3, 4, 5]]
    assert matches.scores.tolist() == [[1, 1, 1, 0, 0, 0], [0] * 6]


def test_fewer_rows_than_asked_for_are_all_given():
    neighbors = SoftNeighbors(similarity_matrix(np.eye(2))).fit([[1, 0], [0, 1]])
    matches = neighbors.search([[1, 0], [0, 0], [1, 1]], k=10)
    assert matches.ids.shape == matches.scores.shape == (3, 2)
    assert neighbors.search(np.empty((0, 2))).ids.shape == (0, 2)


def test_nothing_is_fitted_and_searched():
    S = similarity_matrix(np.eye(2))
    empty = SoftNeighbors(S).fit(np.empty((0, 2)))
    matches = empty.search([[1, 0], [0, 0]])
    assert matches.ids.shape == matches.scores.shape == (2, 0)
    for X in ([[0, 0]], csr_array((1, 2))):
        for ranking in RANKINGS:
            matches = SoftNeighbors(S, ranking=ranking).fit(X).search([[1, 1]])
            assert matches.scores.tolist() == [[0]]
    no_terms = SoftNeighbors(similarity_matrix(np.empty((0, 0)))).fit(np.empty((3, 0)))
    assert no_terms.search(np.empty((2, 0)), k=2).ids.tolist() == [[0, 1], [0, 1]]
    one = SoftNeighbors(similarity_matrix([[1]])).fit([[3]])
    assert one.search([[2]]).scores.tolist() == [[1]]


@given(own.collections(matrices=own.definite_matrices))
def test_kneighbors_is_that_of_scikit_learn_for_distances(c):
    sklearn = pytest.importorskip("sklearn.neighbors")
    assume(c.n_docs > 1)
    S = similarity_matrix(np.eye(c.n_terms))
    ours = SoftNeighbors(S, n_neighbors=1).fit(c.counts)
    theirs = sklearn.NearestNeighbors(n_neighbors=1, metric="cosine").fit(c.counts)
    np.testing.assert_allclose(
        ours.kneighbors(c.queries)[0], theirs.kneighbors(c.queries)[0], atol=1e-9
    )
    np.testing.assert_allclose(ours.kneighbors()[0], theirs.kneighbors()[0], atol=1e-9)
    distances, ids = ours.kneighbors(n_neighbors=c.n_docs - 1)
    assert (ids != np.arange(c.n_docs)[:, None]).all()
    assert distances.shape == ids.shape == (c.n_docs, c.n_docs - 1)
    assert np.array_equal(ours.kneighbors(return_distance=False), ours.kneighbors()[1])


def test_kneighbors_leaves_out_each_row_itself_even_where_rows_are_equal():
    neighbors = SoftNeighbors(similarity_matrix(np.eye(2))).fit([[1, 0]] * 4 + [[0, 0]])
    _, ids = neighbors.kneighbors(n_neighbors=2)
    assert ids.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]
    real = SoftNeighbors(similarity_matrix(np.eye(2))).fit([[0.3, 0.1]] * 3)
    assert real.kneighbors(n_neighbors=2)[1].tolist() == [[1, 2], [0, 2], [0, 1]]


def test_more_neighbors_than_rows_are_refused_by_kneighbors():
    neighbors = SoftNeighbors(similarity_matrix(np.eye(2))).fit([[1, 0], [0, 1]])
    with pytest.raises(InvalidInputError, match=r"3 neighbours were asked for.*at most 2"):
        neighbors.kneighbors([[1, 0]], n_neighbors=3)
    with pytest.raises(InvalidInputError, match="at most 1"):
        neighbors.kneighbors(n_neighbors=2)


def test_any_form_of_matrix_will_do_and_is_not_changed():
    X = np.array([[1, 0.0], [2, 3]])
    S = similarity_matrix([[1, 0.5], [0.5, 1]])
    expected = SoftNeighbors(S).fit(X).search(X)
    unsorted = csr_array(([3.0, 2.0, 1.0, 0.0], [1, 0, 0, 1], [0, 0, 2]), shape=(2, 2))
    unsorted = csr_array(([1.0, 0.0, 3.0, 1.0, 1.0], [0, 1, 1, 0, 0], [0, 2, 5]), shape=(2, 2))
    before = unsorted.data.copy()
    for form in (csr_array(X), csc_array(X), X.tolist(), X.astype(int), unsorted):
        found = SoftNeighbors(S).fit(form).search(form)
        np.testing.assert_array_equal(found.scores, expected.scores)
        np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(unsorted.data, before)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([[1, -0.5]], InvalidInputError, "holds a negative weight in row 0"),
        ([[0, 0], [1, np.nan]], InvalidInputError, "NaN or infinity in row 1"),
        ([[np.inf, 0]], InvalidInputError, "NaN or infinity in row 0"),
        ([[1, 2, 3]], VocabularyMismatchError, "has 3 terms but S has 2"),
        ([1, 2], InvalidInputError, "1 dimension"),
        ([["tea", "x"]], InvalidInputError, "cannot be read as a matrix"),
    ],
)
def test_bad_matrices_are_refused_by_fit_and_search(X, error, message):
    neighbors = SoftNeighbors(similarity_matrix(np.eye(2)))
    with pytest.raises(error, match=message):
        neighbors.fit(X)
    with pytest.raises(error, match=message):
        neighbors.fit([[1, 0]]).search(X)


@pytest.mark.parametrize("k", [0, -1, True, 2.5, "3", np.float64(2)])
def test_k_is_a_whole_number(k):
    neighbors = SoftNeighbors(similarity_matrix(np.eye(2))).fit([[1, 0], [0, 1]])
    for ask in (
        lambda: neighbors.search([[1, 0]], k=k),
        lambda: neighbors.kneighbors([[1, 0]], n_neighbors=k),
        lambda: neighbors.set_params(n_neighbors=k).search([[1, 0]]),
    ):
        with pytest.raises(InvalidInputError, match="k is"):
            ask()
    assert neighbors.search([[1, 0]], k=np.int32(1)).ids.tolist() == [[0]]


def test_settings_are_checked_when_they_are_used():
    S = similarity_matrix(np.eye(2))
    for settings, message in (
        ({"ranking": "bm25"}, "ranking is 'bm25'; it must be one of soft_cosine"),
        ({"ranking": None}, "ranking is None"),
        ({"n_jobs": 0}, "threads is 0"),
        ({"n_jobs": 1.5}, "threads is 1.5"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            SoftNeighbors(S, **settings).fit([[1, 0]])
    with pytest.raises(InvalidInputError, match="S is asymmetric, and SoftNeighbors needs"):
        SoftNeighbors(similarity_matrix([[1, 0.5], [0, 1]])).fit([[1, 0]])
    with pytest.raises(InvalidInputError, match="S is of type ndarray"):
        SoftNeighbors(np.eye(2)).fit([[1, 0]])
    with pytest.raises(InvalidInputError, match="soft_bm25 needs counts"):
        SoftNeighbors(S, ranking="soft_bm25").fit([[1, 0.5]])
    with pytest.raises(InvalidInputError, match="a weighting needs counts"):
        SoftNeighbors(S, weighting=Weighting()).fit([[1, 0.5]])
    with pytest.raises(InvalidInputError, match="no parameter 'metric'"):
        SoftNeighbors(S).set_params(metric="cosine")
    with pytest.raises(NotFittedError, match=r"call fit\(X\) first"):
        SoftNeighbors(S).search([[1, 0]])


def test_parameters_are_got_and_set_as_in_scikit_learn():
    sklearn = pytest.importorskip("sklearn.base")
    neighbors = SoftNeighbors(similarity_matrix(np.eye(2)), ranking="inner_product", n_jobs=1)
    copy = neighbors.set_params(n_neighbors=1)
    assert copy is neighbors
    assert neighbors.get_params()["n_neighbors"] == 1
    same = SoftNeighbors(**neighbors.get_params())
    assert same.get_params() == neighbors.get_params()
    fitted = neighbors.fit([[1, 0], [0, 1]])
    assert fitted is neighbors
    assert (fitted.n_features_in_, fitted.n_samples_fit_) == (2, 2)
    del sklearn


def test_matches_become_a_table():
    pytest.importorskip("pandas")
    matches = (
        SoftNeighbors(similarity_matrix(np.eye(2))).fit([[1, 0], [0, 1]]).search([[1, 0], [0, 1]])
    )
    frame = matches.to_pandas()
    assert frame.columns.tolist() == ["query", "rank", "id", "score"]
    assert frame["query"].tolist() == [0, 0, 1, 1]
    assert frame["rank"].tolist() == [1, 2, 1, 2]
    assert frame["id"].tolist() == [0, 1, 1, 0]
    assert frame["score"].tolist() == [1, 0, 1, 0]


def test_columns_with_names_are_taken_by_the_terms_of_s():
    pandas = pytest.importorskip("pandas")
    terms = ["cat", "feline", "car"]
    named = TermSimilarityMatrix.from_matrix(
        [[1, 0.75, 0], [0.75, 1, 0], [0, 0, 1]], Vocabulary(terms)
    )
    A = pandas.DataFrame([[1, 0, 0]], columns=terms)
    B = pandas.DataFrame([[0, 0, 1]], columns=["car", "cat", "feline"])
    for S in (named, TermSimilarityMatrix.from_matrix(named.to_scipy().toarray())):
        assert soft_cosine_similarity(A, B, S) == pytest.approx(0.75)
        assert SoftNeighbors(S).fit(A).search(B, k=1).scores == pytest.approx(0.75)
        with pytest.raises(VocabularyMismatchError, match=r"Y has columns of other names .* 'cat'"):
            soft_cosine_similarity(A, B.rename(columns={"cat": "dog"}), S)
    assert SoftNeighbors(named).fit(B).search([[1, 0, 0]], k=1).scores == pytest.approx(0.75)
    assert soft_inner_product(B, [[1, 0, 0]], named) == pytest.approx(0.75)


def test_it_prints_its_matrix_and_ranking():
    S = TermSimilarityMatrix.identity(Vocabulary(["a", "b"]))
    shown = "SoftNeighbors(TermSimilarityMatrix(2 terms, 0 neighbours, symmetric), "
    assert repr(SoftNeighbors(S)) == f"{shown}ranking='soft_cosine')"
    assert repr(SoftNeighbors(S).fit([[1, 0]])) == f"{shown}ranking='soft_cosine', 1 rows)"


def test_the_result_of_a_recipe_is_no_matrix_and_has_one():
    built = SimilarityRecipe(sources=()).build(Vocabulary(["a"]))
    with pytest.raises(InvalidInputError, match=r"type BuiltSimilarity; pass its matrix, the `S`"):
        SoftNeighbors(built).fit([[1]])
