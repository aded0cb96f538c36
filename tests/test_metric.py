"""A metric learned from labels (theory T16): right by the definition, and worth having."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse
from scipy.special import log_softmax

import strategies as own
from softcosine.errors import InvalidInputError, NotFittedError, VocabularyMismatchError
from toys import similarity_matrix

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import softcosine as sc
from softcosine.sklearn.coordinates import SoftCosineTransformer
from softcosine.sklearn.metric import CentroidCosines, MetricParameters, SoftMetric, _contrast
from softcosine.space.pair_pattern import PairPattern

THREE = [[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]
SPORT = [[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1]]  # the, ball, pan
TOPICS = ["sport", "sport", "food", "food"]


@parametrize_with_checks([SoftMetric(), SoftMetric(learn="both")])
def test_scikit_learn_finds_no_fault(estimator, check):
    check(estimator)


# --- the oracle: cosines with centroids, written out ---------------------------------------------


def cosines_by_definition(X, y, M):
    found = np.zeros((len(X), y.max() + 1))
    for x, k in np.ndindex(*found.shape):
        members = (y == k) & (np.arange(len(X)) != x)
        if not members.any():
            continue
        c = X[members].mean(axis=0)
        below = (X[x] @ M @ X[x]) * (c @ M @ c)
        found[x, k] = X[x] @ M @ c / np.sqrt(below) if below > 1e-12 else 0.0
    return found


@st.composite
def labelled(draw):
    n_terms, n_docs = draw(st.integers(1, 5)), draw(st.integers(3, 7))
    X = draw(own.coordinates(n_docs, n_terms))
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n_docs, max_size=n_docs)))
    y[:3] = 0, 1, 2
    A = draw(own.definite_matrices(n_terms))
    return X, y, similarity_matrix(0.5 * np.abs(A) + 0.5 * np.eye(n_terms))


def parts(X, y, S, pairs):
    sizes = np.bincount(y).astype(float)
    centroids = np.array([X[y == k].mean(axis=0) for k in range(len(sizes))])
    pattern = PairPattern.of(S)
    return sizes, MetricParameters(pattern, csr_array(X), centroids, pairs=pairs)


@given(labelled(), st.booleans())
def test_cosines_are_those_of_the_definition(drawn, pairs):
    X, y, S = drawn
    sizes, parameters = parts(X, y, S, pairs)
    free = parameters.start * 0.9
    learned, weights = parameters.matrix(free)
    M = weights[:, None] * learned.to_scipy().toarray().astype(float) * weights
    cosines = CentroidCosines(y, sizes)
    np.testing.assert_allclose(
        cosines.values(parameters.products(free)),
        cosines_by_definition(X, y, M),
        atol=1e-5,
    )


@pytest.mark.parametrize("pairs", [False, True])
def test_gradients_are_those_of_small_steps(pairs):
    random = np.random.default_rng(1)
    X = random.random((12, 6)) * (random.random((12, 6)) < 0.6)
    y = np.arange(12) % 3
    A = np.triu(0.2 * random.random((6, 6)) * (random.random((6, 6)) < 0.5), 1)
    sizes, parameters = parts(X, y, similarity_matrix(A + A.T + np.eye(6)), pairs)
    cosines = CentroidCosines(y, sizes)

    def value(free):
        products = parameters.products(free)
        reached, slope = _contrast(cosines.values(products), y, 0.1)
        distance, away = parameters.pull(free)
        gradient = parameters.gradient(free, cosines.gradient(products, slope))
        return reached - 0.3 * distance, gradient - 0.3 * away

    free = parameters.start * 1.1 + 0.05
    steps = 1e-6 * np.eye(len(free))
    numeric = [(value(free + step)[0] - value(free - step)[0]) / 2e-6 for step in steps]
    np.testing.assert_allclose(value(free)[1], numeric, atol=1e-7)


@pytest.mark.parametrize("learn", ["terms", "both"])
def test_the_objective_is_that_of_the_matrix_that_is_returned(learn):
    random = np.random.default_rng(0)
    X = random.choice([0.0, 0.0, 1.0, 2.0], size=(10, 4))
    y = np.arange(10) % 3
    S = similarity_matrix(0.6 * np.eye(4) + 0.4)
    metric = SoftMetric(S, learn=learn).fit(X, y)
    weights = metric.term_weights_
    M = weights[:, None] * metric.S_.to_scipy().toarray().astype(float) * weights
    likely = log_softmax(cosines_by_definition(X, y, M) / 0.1, axis=1)
    assert metric.objective_ == pytest.approx(likely[np.arange(10), y].mean(), abs=1e-6)
    assert metric.objective_ > metric.objective_before_


# --- what it is for -------------------------------------------------------------------------------


def test_words_that_tell_classes_apart_weigh_more_than_those_that_do_not():
    the, ball, pan = SoftMetric(strength=0.01).fit(SPORT, TOPICS).term_weights_
    assert the < 0.7 < ball
    assert ball == pytest.approx(pan)


def test_a_pair_that_misleads_loses_its_similarity():
    S = similarity_matrix([[1, 0, 0], [0, 1, 0.8], [0, 0.8, 1]])
    metric = SoftMetric(S, learn="both", strength=0.01).fit(SPORT, TOPICS)
    assert metric.S_.to_scipy()[1, 2] < 0.1
    assert metric.objective_ > metric.objective_before_


def test_the_stronger_the_pull_the_less_is_learned():
    weak, strong = (SoftMetric(strength=s).fit(SPORT, TOPICS) for s in (0.01, 1e6))
    assert np.abs(strong.term_weights_ - 1).max() < 1e-4 < np.abs(weak.term_weights_ - 1).max()


def test_learned_weights_work_with_neighbours_transformers_and_pipelines():
    X, y = np.tile(SPORT, (5, 1)), TOPICS * 5
    metric = SoftMetric(similarity_matrix(THREE), learn="both").fit(X, y)
    neighbors = sc.SoftNeighbors(metric.S_).fit(metric.transform(csr_array(X)))
    assert neighbors.search(metric.transform(X[:1]), k=1).scores[0, 0] == pytest.approx(1)
    coordinates = SoftCosineTransformer(metric.S_).fit_transform(metric.transform(X))
    assert coordinates.shape == X.shape
    model = make_pipeline(SoftMetric(), KNeighborsClassifier(1, metric="cosine"))
    grid = GridSearchCV(model, {"softmetric__strength": [0.1, 1.0]}, cv=2).fit(X, y)
    assert grid.best_score_ == 1


def test_sparse_and_dense_documents_give_the_same():
    dense = SoftMetric().fit(SPORT, TOPICS)
    sparse = clone(dense).fit(csr_array(np.array(SPORT, float)), TOPICS)
    np.testing.assert_array_equal(dense.term_weights_, sparse.term_weights_)
    weighted = sparse.transform(csr_array(np.array(SPORT, float)))
    assert issparse(weighted)
    np.testing.assert_array_equal(weighted.toarray(), dense.transform(SPORT))


def test_what_cannot_be_learned_from_is_refused():
    with pytest.raises(InvalidInputError, match="y has one class only; at least two"):
        SoftMetric().fit(SPORT, ["sport"] * 4)
    with pytest.raises(InvalidInputError, match=r"Negative values in data .* X has -1"):
        SoftMetric().fit(-np.array(SPORT), TOPICS)
    for settings, message in (
        ({"learn": "all"}, "learn is 'all'; it must be one of terms, both"),
        ({"strength": 0}, "strength is 0; it must be a finite number above 0"),
        ({"max_iterations": 0}, "max_iterations is 0; it must be a whole number of 1 or more"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            SoftMetric(**settings).fit(SPORT, TOPICS)
    with pytest.raises(VocabularyMismatchError, match="X has 3 terms but S has 2"):
        SoftMetric(similarity_matrix(np.eye(2))).fit(SPORT, TOPICS)
    with pytest.raises(InvalidInputError, match="needs a symmetric one"):
        SoftMetric(similarity_matrix([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]])).fit(SPORT, TOPICS)
    failed = SoftMetric().fit(SPORT, TOPICS)
    with pytest.raises(InvalidInputError):
        failed.set_params(learn="all").fit(SPORT, TOPICS)
    with pytest.raises(NotFittedError, match=r"call fit\(X, y\) first"):
        failed.transform(SPORT)
