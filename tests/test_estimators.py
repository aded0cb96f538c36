"""The transformers of `softcosine.sklearn`: good citizens of scikit-learn, right by the oracle."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse

import oracle
import softcosine as sc
import strategies as own
from conftest import JIT
from softcosine import errors
from softcosine.errors import (
    IndefiniteMatrixError,
    InvalidInputError,
    VocabularyMismatchError,
)
from toys import ToySource, similarity_matrix

pytest.importorskip("sklearn")

from sklearn import exceptions
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from softcosine.lab import SNOS
from softcosine.sklearn.coordinates import SoftCosineTransformer
from softcosine.sklearn.metric import SoftMetric
from softcosine.sklearn.neighbor_graph import SoftNeighborsTransformer
from softcosine.sklearn.neighbors_classifier import SoftNeighborsClassifier

ALL = (SoftCosineTransformer, SoftNeighborsTransformer)

THREE = [[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]
TEXTS = ["a dead king", "the king was killed", "tea in a cup", "a cup of coffee"] * 3
PEOPLE = ToySource({("dead", "killed"): 0.9, ("tea", "coffee"): 0.6, ("tea", "cup"): 0.3})
PEOPLES = sc.SimilarityRecipe(sources=[PEOPLE])


def of_documents(**settings):
    return sc.SimilarityRecipe(sources=["documents"], **settings)


def dense(X):
    return X.toarray() if issparse(X) else np.asarray(X)


def documents(n_docs=40, n_terms=12, *, seed=0, density=0.3):
    """Sparse weights without empty rows."""
    generator = np.random.default_rng(seed)
    X = generator.random((n_docs, n_terms)) * (generator.random((n_docs, n_terms)) < density)
    for row in range(n_docs):
        X[row, row % n_terms] = 1.0
    return csr_array(X)


# --- scikit-learn's own checks ------------------------------------------------------------------


@parametrize_with_checks(
    [
        *(kind() for kind in ALL),
        SoftCosineTransformer(sparse_output=False),
        SoftCosineTransformer(n_components=2),
        SoftNeighborsTransformer(mode="connectivity"),
    ]
)
def test_scikit_learn_finds_no_fault(estimator, check):
    if not JIT and isinstance(estimator, SoftNeighborsTransformer):
        pytest.skip("searches hundreds of documents, which takes minutes without the compiler")
    check(estimator)


# --- coordinates --------------------------------------------------------------------------------


@given(own.collections(matrices=own.definite_matrices))
def test_dot_products_and_cosines_of_coordinates_are_the_soft_ones(c):
    S = similarity_matrix(c.S)
    transformer = SoftCosineTransformer(S).fit(c.counts)
    left, right = transformer.transform(c.counts), transformer.transform(csr_array(c.queries))
    products = oracle.soft_inner_product(c.counts, c.queries, c.S)
    np.testing.assert_allclose(dense(left @ right.T), products, atol=1e-9 * max(1, products.max()))
    lengths = np.linalg.norm(dense(left), axis=1)
    np.testing.assert_allclose(lengths, oracle.soft_norm(c.counts, c.S), atol=1e-6)


@given(own.collections(matrices=own.definite_matrices), st.integers(1, 9))
def test_few_coordinates_are_as_good_as_the_next_singular_value_says(c, k):
    transformer = SoftCosineTransformer(similarity_matrix(c.S), n_components=k)
    Z, Q = transformer.fit_transform(c.counts), transformer.transform(c.queries)
    assert Z.shape == (c.n_docs, k)
    values = np.linalg.svd(c.counts @ np.linalg.cholesky(c.S), compute_uv=False)
    following = values[k] if k < len(values) else 0.0
    scale = max(1, values[0])
    error = np.abs(Q @ Z.T - oracle.soft_inner_product(c.queries, c.counts, c.S))
    norms = oracle.soft_norm(c.queries, c.S)[:, None]
    assert np.all(error <= norms * following + 1e-5 * scale * (norms + 1))


def test_without_similarities_few_coordinates_are_those_of_truncated_svd():
    X = documents()
    ours = SoftCosineTransformer(similarity_matrix(np.eye(12)), n_components=3)
    theirs = TruncatedSVD(3, algorithm="arpack", random_state=0).fit_transform(X)
    np.testing.assert_allclose(np.abs(ours.fit_transform(X)), np.abs(theirs), atol=1e-6)


def test_a_linear_model_sees_words_that_mean_the_same():
    S = similarity_matrix([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]])
    X, y = [[1, 0, 0], [0, 0, 1]] * 5, [0, 1] * 5
    for soft in (SoftCosineTransformer(S), SoftCosineTransformer(S, n_components=2)):
        model = make_pipeline(soft, LogisticRegression()).fit(X, y)
        assert model.predict([[0, 1, 0]]) == [0]


def test_a_factor_that_does_not_fit_is_refused_with_the_way_out(monkeypatch):
    monkeypatch.setitem(sc.orthonormal_basis.__kwdefaults__, "max_memory", 10)
    S = similarity_matrix(THREE)
    with pytest.raises(InvalidInputError, match=r"needs .* MiB, .* n_components needs no factor"):
        SoftCosineTransformer(S).fit(np.eye(3))
    assert SoftCosineTransformer(S, n_components=2).fit_transform(np.eye(3)).shape == (3, 2)
    with pytest.raises(InvalidInputError, match="SoftCosineTransformer needs a symmetric"):
        SoftCosineTransformer(similarity_matrix([[1, 0.5], [0, 1]])).fit(np.eye(2))


# --- few dimensions -----------------------------------------------------------------------------


def test_more_documents_than_are_multiplied_at_once_give_the_same(monkeypatch):
    X = documents()
    transformer = SoftCosineTransformer(n_components=3).fit(X)
    expected = dense(transformer.transform(X))
    monkeypatch.setattr("softcosine.sklearn.estimator._ROWS", 7)
    np.testing.assert_allclose(dense(transformer.fit(X).transform(X)), expected, atol=1e-6)


# --- neighbour graphs ---------------------------------------------------------------------------


@given(own.collections(matrices=own.definite_matrices), st.data())
def test_the_graph_holds_the_nearest_by_distance(c, data):
    k = data.draw(st.integers(1, c.n_docs))
    for mode, width in (("distance", k - 1), ("connectivity", k)):
        if width == 0:
            continue
        transformer = SoftNeighborsTransformer(
            similarity_matrix(np.abs(c.S)), n_neighbors=width, mode=mode
        )
        try:
            graph = transformer.fit(c.counts).transform(c.queries)
        except IndefiniteMatrixError:
            return
        assert graph.shape == (len(c.queries), c.n_docs)
        distances = np.maximum(1 - oracle.soft_cosine(c.queries, c.counts, np.abs(c.S)), 0)
        for row, right in enumerate(distances):
            found = slice(*graph.indptr[row : row + 2])
            assert found.stop - found.start == k
            if mode == "connectivity":
                assert np.all(graph.data[found] == 1)
            else:
                assert np.all(graph.data[found] >= 0)
                assert np.all(np.diff(graph.data[found]) >= 0)
                np.testing.assert_allclose(
                    graph.data[found], right[graph.indices[found]], atol=1e-9
                )
            np.testing.assert_allclose(right[graph.indices[found]], np.sort(right)[:k], atol=1e-9)


def test_distances_are_never_negative_where_soft_cosines_exceed_one():
    S = similarity_matrix([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    graph = SoftNeighborsTransformer(S, n_neighbors=1).fit_transform([[1, 0, 1], [0, 1, 0]])
    assert np.array_equal(graph.toarray(), np.zeros((2, 2)))
    assert graph.nnz == 4


def test_the_graph_serves_estimators_of_precomputed_distances():
    X = documents(60)
    y = np.arange(60) % 3
    S = SoftCosineTransformer().fit(X).S_
    coordinates = SoftCosineTransformer(S, sparse_output=False)
    ours = make_pipeline(
        SoftNeighborsTransformer(S, n_neighbors=5),
        KNeighborsClassifier(n_neighbors=5, metric="precomputed"),
    ).fit(X, y)
    theirs = make_pipeline(coordinates, KNeighborsClassifier(n_neighbors=5, metric="cosine"))
    queries = documents(20, seed=9)
    assert np.array_equal(ours.predict(queries), theirs.fit(X, y).predict(queries))
    graph = SoftNeighborsTransformer(S, n_neighbors=20).fit_transform(X)
    plain = make_pipeline(coordinates, KNeighborsTransformer(n_neighbors=20, metric="cosine"))
    labels = [
        DBSCAN(eps=0.2, metric="precomputed").fit_predict(each)
        for each in (graph, plain.fit_transform(X))
    ]
    assert np.array_equal(*labels)


def test_a_graph_that_cannot_be_made_says_why():
    X = np.eye(3)
    S = similarity_matrix(THREE)
    with pytest.raises(InvalidInputError, match="4 neighbours are needed, and n_samples = 3"):
        SoftNeighborsTransformer(S, n_neighbors=3).fit(X)
    with pytest.raises(InvalidInputError, match="mode is 'distances'; it must be one of distance"):
        SoftNeighborsTransformer(S, n_neighbors=1, mode="distances").fit(X)
    with pytest.raises(InvalidInputError, match="n_neighbors is 0"):
        SoftNeighborsTransformer(S, n_neighbors=0).fit(X)
    fitted = SoftNeighborsTransformer(S, n_neighbors=1).fit(X)
    with pytest.raises(InvalidInputError, match="Negative values in data passed"):
        fitted.transform(-X)
    with pytest.raises(InvalidInputError, match="values that are no counts"):
        SoftNeighborsTransformer(S, n_neighbors=1, weighting=sc.Weighting()).fit(X / 3)
    asymmetric = similarity_matrix([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(InvalidInputError, match="SoftNeighbors needs a symmetric"):
        SoftNeighborsTransformer(asymmetric, n_neighbors=1).fit(X)


# --- where S comes from -------------------------------------------------------------------------


def test_a_source_gives_similarities_of_the_columns_terms():
    terms = ["dead", "killed", "king"]
    transformer = SoftCosineTransformer(PEOPLES, vocabulary=terms).fit(np.eye(3))
    S = transformer.S_.to_scipy().toarray()
    np.testing.assert_allclose(S, [[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]], rtol=1e-6)
    assert transformer.S_.vocabulary.terms == tuple(terms)
    named = clone(transformer).set_params(vocabulary=sc.Vocabulary(terms)).fit(np.eye(3))
    assert np.array_equal(named.S_.to_scipy().toarray(), S)


def test_columns_of_a_data_frame_name_the_terms():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.eye(3), columns=["dead", "killed", "king"])
    transformer = SoftCosineTransformer(PEOPLES).fit(X)
    assert transformer.S_.to_scipy()[0, 1] == np.float32(0.9)
    assert transformer.feature_names_in_.tolist() == ["dead", "killed", "king"]


def test_threshold_exponent_and_limit_shape_the_matrix():
    terms = ["tea", "coffee", "cup"]

    def built(**settings):
        transformer = SoftCosineTransformer(
            S=sc.SimilarityRecipe(sources=[PEOPLE], **settings), vocabulary=terms
        )
        return transformer.fit(np.eye(3)).S_.to_scipy().toarray()

    np.testing.assert_allclose(built()[0], [1, 0.6, 0.3], rtol=1e-6)
    assert built(min_similarity=0.5)[0, 2] == 0
    assert built(max_neighbors=1)[0, 2] == 0
    assert built(max_neighbors=1)[0, 1] > 0
    learned = [
        SoftCosineTransformer(of_documents(threshold=bound)).fit(documents()).S_.to_scipy().nnz
        for bound in (0.0, 0.2, 1.0)
    ]
    assert learned[0] > learned[1] > learned[2] == 12


@given(own.collections(), st.floats(0, 1), st.floats(0.25, 4))
def test_a_learned_matrix_is_definite(c, threshold, exponent):
    transformer = SoftCosineTransformer(of_documents(threshold=threshold, exponent=exponent))
    S = transformer.fit(c.counts).S_
    assert S.symmetric
    assert np.linalg.eigvalsh(dense(S.to_scipy()).astype(float))[0] > 1e-9


def test_terms_of_like_documents_are_learned_to_be_similar():
    X = np.array([[1, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 1], [0, 0, 3, 3]], float)
    S = SoftCosineTransformer().fit(X).S_.to_scipy().toarray()
    assert S[0, 1] == pytest.approx(S[2, 3])
    assert S[0, 1] > 0.9
    assert S[0, 2] == 0


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"S": np.eye(3)}, InvalidInputError, "S is of type ndarray"),
        ({"S": similarity_matrix(np.eye(2))}, VocabularyMismatchError, "X has 3 terms but S has 2"),
        (
            {"S": similarity_matrix(THREE), "vocabulary": list("abc")},
            InvalidInputError,
            "S is given, and so is vocabulary",
        ),
        ({"S": PEOPLES}, InvalidInputError, "a source must know the terms of the columns"),
        ({"S": "english"}, InvalidInputError, "S is of type str"),
        (
            {"S": sc.SimilarityRecipe(sources=["texts"]), "vocabulary": list("abc")},
            InvalidInputError,
            "fit",
        ),
        (
            {"S": of_documents().changed(sources=["documents:0"])},
            InvalidInputError,
            "n_dimensions is 0",
        ),
        (
            {"S": of_documents().changed(sources=["documents:many"])},
            InvalidInputError,
            "names no number of dimensions",
        ),
        ({"vocabulary": "abc"}, InvalidInputError, "vocabulary is a single string"),
        ({"vocabulary": ["a"]}, VocabularyMismatchError, "X has 3 terms but the vocabulary has 1"),
        (
            {"n_components": 0},
            InvalidInputError,
            "n_components is 0; it must be a whole number of 1 or more",
        ),
        ({"sparse_output": "yes"}, InvalidInputError, "sparse_output is 'yes'"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        SoftCosineTransformer(**parameters).fit(np.eye(3))


def test_an_indefinite_matrix_has_no_coordinates():
    S = similarity_matrix([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    for settings_ in ({}, {"n_components": 2}):
        with pytest.raises(IndefiniteMatrixError, match=r"shrunk\(\)"):
            SoftCosineTransformer(S, **settings_).fit(np.eye(3))
    with pytest.raises(InvalidInputError, match="leaves the range of float64"):
        SoftCosineTransformer(similarity_matrix(THREE)).fit(np.eye(3)).transform(
            [[0, 1.7e308, 1.7e308]]
        )


# --- scikit-learn's ways ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_using_it_before_fit_is_an_error_of_both_libraries(kind):
    with pytest.raises(errors.NotFittedError, match=r"this Soft\w+ is not fitted yet") as caught:
        kind().transform(np.eye(3))
    assert isinstance(caught.value, exceptions.NotFittedError)


@pytest.mark.parametrize("kind", ALL)
def test_clones_and_pickles_are_equal(kind):
    X = documents()
    transformer = kind(SoftCosineTransformer().fit(X).S_)
    fitted = transformer.fit(X)
    right = dense(fitted.transform(X))
    assert np.array_equal(dense(pickle.loads(pickle.dumps(fitted)).transform(X)), right)
    assert np.array_equal(dense(clone(fitted).fit(X).transform(X)), right)
    assert np.array_equal(dense(fitted.transform(dense(X))), right)


@pytest.mark.parametrize("kind", ALL)
def test_outputs_have_names_and_come_as_data_frames(kind):
    pandas = pytest.importorskip("pandas")
    X = documents(8, 5)
    transformer = kind().set_params(
        **({"n_components": 2} if kind is SoftCosineTransformer else {})
    )
    names = transformer.fit(X).get_feature_names_out()
    assert names[0] == f"{kind.__name__.lower()}0"
    assert len(names) == transformer.transform(X).shape[1]
    if kind is not SoftNeighborsTransformer:
        frame = transformer.set_output(transform="pandas").transform(X)
        assert isinstance(frame, pandas.DataFrame)
        assert frame.columns.tolist() == names.tolist()


def test_a_grid_search_over_threshold_exponent_and_limit():
    terms = sorted(TfidfVectorizer().fit(TEXTS).vocabulary_)
    y = [0, 0, 1, 1] * 3
    model = make_pipeline(
        TfidfVectorizer(vocabulary=terms),
        SoftCosineTransformer(PEOPLES, vocabulary=terms),
        LogisticRegression(),
    )
    grid = {
        "softcosinetransformer__S": [
            PEOPLES.changed(min_similarity=least, max_neighbors=most)
            for least in (0.0, 0.25, 0.95)
            for most in (1, 10)
        ],
        "logisticregression__C": [1.0, 2.0],
    }
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(TEXTS, y)
    assert len(search.cv_results_["params"]) == 12
    assert search.predict(["killed", "coffee"]).tolist() == [0, 1]


def test_a_grid_search_of_neighbour_graphs():
    X, y = documents(60), np.arange(60) % 3
    model = make_pipeline(
        SoftNeighborsTransformer(n_neighbors=7), KNeighborsClassifier(5, metric="precomputed")
    )
    grid = {"softneighborstransformer__S": [of_documents(exponent=e) for e in (1.0, 3.0)]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, y)
    assert np.all(search.cv_results_["mean_test_score"] >= 0)


def test_spherical_k_means_on_coordinates():
    source = ToySource({("dead", "killed"): 0.9, ("tea", "coffee"): 0.9})
    texts = ["dead", "killed", "dead", "killed", "tea", "coffee", "tea", "coffee"]
    terms = ["coffee", "dead", "killed", "tea"]
    model = make_pipeline(
        TfidfVectorizer(vocabulary=terms),
        SoftCosineTransformer(sc.SimilarityRecipe(sources=[source]), vocabulary=terms),
        Normalizer(),
        KMeans(2, n_init=5, random_state=0),
    )
    labels = model.fit_predict(texts)
    assert len(set(labels[:4])) == len(set(labels[4:])) == 1
    assert labels[0] != labels[4]


@pytest.mark.skipif(not JIT, reason="starts a process, which is slow without the compiler")
def test_without_scikit_learn_the_message_is_the_command():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from softcosine.errors import MissingDependencyError\n"
        "try:\n    import softcosine.sklearn.coordinates\n"
        "except MissingDependencyError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "needs the package scikit-learn" in done.stdout
    assert "pip install 'softcosine[sklearn]'" in done.stdout


def test_columns_in_another_order_than_the_terms_are_refused():
    pandas = pytest.importorskip("pandas")
    terms = sc.Vocabulary(["car", "auto", "tree"])
    S = sc.TermSimilarityMatrix.from_matrix([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]], terms)
    mixed = pandas.DataFrame(np.eye(3), columns=["tree", "car", "auto"])
    with pytest.raises(VocabularyMismatchError, match="column 0 of X is 'tree'"):
        SoftCosineTransformer(S).fit(mixed)
    with pytest.raises(VocabularyMismatchError, match="column 0 of X is 'tree'"):
        SoftCosineTransformer(vocabulary=list(terms.terms)).fit(mixed)
    ordered = mixed[["car", "auto", "tree"]]
    assert SoftCosineTransformer(S).fit_transform(ordered).shape == (3, 3)


def test_what_failed_to_fit_again_is_not_fitted():
    good = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    bad = sc.TermSimilarityMatrix.from_matrix([[1, 2.0], [2.0, 1]], warn=False)
    model = SoftCosineTransformer(good).fit(np.eye(2)).set_params(S=bad)
    with pytest.raises(IndefiniteMatrixError):
        model.fit(np.eye(2))
    with pytest.raises(errors.NotFittedError):
        model.transform(np.eye(2))


@pytest.mark.parametrize("texts", [["green tea", "a tyre"], np.array(["tea", "car"]), ("tea",)])
@pytest.mark.parametrize(
    "fit",
    [
        lambda S, texts: sc.SoftNeighbors(S).fit(texts),
        lambda S, texts: SoftCosineTransformer(S).fit(texts),
        lambda S, texts: SoftNeighborsTransformer(S).fit(texts),
        lambda S, texts: SoftNeighborsClassifier(S).fit(texts, [0] * len(texts)),
        lambda S, texts: SoftMetric(S).fit(texts, [0] * len(texts)),
        lambda S, texts: SNOS().fit(texts),
        lambda S, texts: sc.soft_cosine_similarity(texts, None, S),
        lambda S, texts: SoftCosineTransformer(S).fit([[1, 0], [0, 1]]).transform(texts),
    ],
)
def test_texts_instead_of_a_matrix_are_refused_with_the_way_out(fit, texts):
    S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    with pytest.raises(InvalidInputError, match=r"holds texts.*TfidfVectorizer.*from_texts"):
        fit(S, texts)


def test_a_series_of_texts_is_refused_and_a_frame_of_numbers_is_not():
    pandas = pytest.importorskip("pandas")
    S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    with pytest.raises(InvalidInputError, match="holds texts"):
        sc.SoftNeighbors(S).fit(pandas.Series(["green tea", "a tyre"]))
    frame = pandas.DataFrame([[1.0, 0.0], [0.0, 1.0]], columns=["tea", "tyre"])
    assert sc.SoftNeighbors(S).fit(frame).n_samples_fit_ == 2
    assert SoftCosineTransformer(S).fit(frame).n_features_in_ == 2
