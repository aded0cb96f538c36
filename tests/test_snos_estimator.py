"""SNOS as an estimator of scikit-learn, and of more than two kinds of objects."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse

import strategies as own
from conftest import JIT
from softcosine.errors import InvalidInputError, SoftCosineWarning
from softcosine.lab.snos.learning import snos
from softcosine.lab.snos.many import snos_many

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from softcosine.lab.snos.estimator import SNOS

CLICKS = np.array([[3, 0, 0, 0], [1, 1, 0, 0], [0, 2, 1, 0], [0, 0, 0, 4]], dtype=np.float64)


@parametrize_with_checks(
    [
        SNOS(),
        SNOS(measure="similarity", normalize="rows"),
        SNOS(method="factored"),
        SNOS(max_neighbors=5, n_neighbors=1),
    ]
)
def test_scikit_learn_finds_no_fault(estimator, check):
    if not JIT and estimator.max_neighbors:
        pytest.skip("learns from hundreds of rows, which takes minutes without the compiler")
    check(estimator)


@given(st.tuples(st.integers(1, 7), st.integers(1, 7)).flatmap(lambda s: own.coordinates(*s)))
def test_rows_are_objects(X):
    fitted, expected = SNOS().fit(X), snos(X.T, normalize="both")
    np.testing.assert_array_equal(fitted.similarities_, expected.S_o)
    np.testing.assert_array_equal(fitted.result_.S_f, expected.S_f)
    np.testing.assert_allclose(fitted.transform(X), expected.cosines(X), atol=1e-12)
    products = SNOS(measure="similarity").fit(X).transform(X)
    np.testing.assert_allclose(products, expected.products(X)[0], atol=1e-12)


@given(
    st.tuples(st.integers(2, 7), st.integers(1, 7)).flatmap(lambda s: own.coordinates(*s)),
    st.sampled_from(["soft_cosine", "similarity"]),
    st.sampled_from([{}, {"max_neighbors": 2}]),
)
def test_neighbors_are_the_most_similar_rows_and_not_oneself(X, measure, settings):
    fitted = SNOS(measure=measure, n_neighbors=1, **settings).fit(X)
    S = fitted.result_.soft_cosines if measure == "soft_cosine" else fitted.similarities_
    S = S.toarray() if issparse(S) else S.copy()
    np.fill_diagonal(S, -1.0)
    distances, ids = fitted.kneighbors(n_neighbors=len(X) - 1)
    for row in range(len(X)):
        order = sorted(set(range(len(X))) - {row}, key=lambda j: (-S[row, j], j))
        assert ids[row].tolist() == order
    far = np.maximum(1.0 - np.take_along_axis(S, ids, axis=1), 0.0)
    np.testing.assert_allclose(distances, far, atol=1e-9)
    assert distances.min(initial=0.0) >= 0.0
    away, found = fitted.kneighbors(X, n_neighbors=1)
    nearest = np.maximum(1.0 - fitted.transform(X).max(axis=1), 0.0)
    np.testing.assert_allclose(away[:, 0], nearest, atol=1e-9)
    assert np.array_equal(fitted.kneighbors(X, 1, return_distance=False), found)


def test_it_stands_before_a_classifier_and_is_copied_and_pickled():
    y = [0, 0, 0, 1]
    pipeline = make_pipeline(SNOS(n_neighbors=1), KNeighborsClassifier(1)).fit(CLICKS, y)
    assert pipeline.predict([[0, 0, 5, 0], [0, 0, 0, 1]]).tolist() == [0, 1]
    fitted = SNOS(n_neighbors=1).fit(csr_array(CLICKS))
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(CLICKS), fitted.transform(CLICKS))
    assert clone(SNOS(lam=0.1)).lam == 0.1
    assert list(fitted.get_feature_names_out()) == ["snos0", "snos1", "snos2", "snos3"]


def test_bad_settings_of_the_estimator_say_what_was_needed():
    with pytest.raises(
        InvalidInputError, match="measure is 'cosine'; it must be one of soft_cosin"
    ):
        SNOS(measure="cosine").fit(CLICKS)
    with pytest.raises(InvalidInputError, match="n_neighbors"):
        SNOS(n_neighbors=0).fit(CLICKS)
    with pytest.raises(InvalidInputError, match="4 neighbours were asked for, and 4 rows were fit"):
        SNOS(n_neighbors=4).fit(CLICKS).kneighbors()
    with pytest.raises(NotFittedError, match="this SNOS is not fitted yet"):
        SNOS().kneighbors()
    with pytest.raises(InvalidInputError, match="Negative values in data"):
        SNOS().fit(-CLICKS)


# --- more than two kinds ------------------------------------------------------------------------


def chains(max_size=5):
    size = st.integers(1, max_size)
    return st.tuples(size, size, size).flatmap(
        lambda n: st.tuples(own.coordinates(n[0], n[1]), own.coordinates(n[1], n[2]))
    )


def kinds_by_definition(B, C, lambdas, n):
    """Queries, pages and terms; terms are learned first."""
    Q, P, T = (np.eye(k) for k in (B.shape[0], B.shape[1], C.shape[1]))
    for _ in range(n):
        T = lambdas["term", "page"] * C.T @ P @ C
        np.fill_diagonal(T, 1.0)
        P = lambdas["page", "query"] * B.T @ Q @ B + lambdas["page", "term"] * C @ T @ C.T
        np.fill_diagonal(P, 1.0)
        Q = lambdas["query", "page"] * B @ P @ B.T
        np.fill_diagonal(Q, 1.0)
    return {"query": Q, "page": P, "term": T}


@given(chains(), st.sampled_from(["spectral", "norm"]), st.sampled_from([None, 20]))
def test_three_kinds_follow_the_definition(chain, rule, limit):
    B, C = chain
    relations = {("query", "page"): B, ("page", "term"): C}
    found = snos_many(relations, lam=rule, max_neighbors=limit, tolerance=1e-10)
    assert found.trace.converged
    expected = kinds_by_definition(B, C, found.lambdas, len(found.trace))
    for kind, S in found.similarities.items():
        S = S.toarray() if issparse(S) else S
        np.testing.assert_allclose(S, expected[kind], atol=1e-10)
        if rule == "norm":
            assert S.max() <= 1.0


@given(st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(lambda s: own.coordinates(*s)))
def test_two_kinds_are_plain_snos(B):
    found = snos_many({("object", "feature"): B.T}, tolerance=1e-10)
    plain = snos(B, method="dense", tolerance=1e-10)
    np.testing.assert_allclose(found.similarities["object"], plain.S_o, atol=1e-8)
    np.testing.assert_allclose(found.similarities["feature"], plain.S_f, atol=1e-8)


def test_a_third_kind_brings_queries_together_that_share_no_page():
    clicks = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    words = [[1, 1, 0], [0, 1, 0], [0, 0, 1]]  # the first two pages share a word
    found = snos_many({("query", "page"): clicks, ("page", "term"): words})
    Q = found.similarities["query"]
    assert Q[0, 1] > 0.0 == Q[0, 2]


def test_shares_say_how_much_each_relation_counts():
    B, C = np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]])
    relations = {("query", "page"): B, ("page", "term"): C}
    even = snos_many(relations)
    more = snos_many(relations, shares={("query", "page"): 1.0, ("page", "term"): 3.0})
    assert more.similarities["term"][0, 1] > even.similarities["term"][0, 1]
    assert more.trace.converged


@pytest.mark.parametrize(
    ("relations", "settings", "message"),
    [
        ({}, {}, "there are no relations; needed is a mapping such as"),
        ({"query": [[1]]}, {}, "'query' is no relation; needed are two kinds by name"),
        ({("a", "a"): [[1]]}, {}, "is no relation; needed are two kinds by name"),
        ({("a", "b"): [[1]], ("b", "a"): [[1]]}, {}, "'a' and 'b' are related twice"),
        ({("a", "b"): [[1]], ("b", "c"): [[1], [1]]}, {}, "there are 1 of 'b' elsewhere"),
        ({("a", "b"): [[-1]]}, {}, r"relations\[\('a', 'b'\)\]\[0, 0\] is -1; SNOS needs"),
        ({("a", "b"): [[1]]}, {"lam": "paper"}, "lam is 'paper'; it must be one of spectral, norm"),
        ({("a", "b"): [[1]]}, {"lam": {("a", "b"): 0.5}}, r"lam\[\('b', 'a'\)\] is None"),
        ({("a", "b"): [[1]]}, {"lam": ["norm"]}, r"lam is \['norm'\]; it must be one of"),
        ({("a", "b"): [[1]]}, {"shares": {("a", "b"): "1"}}, r"shares\[\('a', 'b'\)\] is '1'"),
        ({("a", "b"): [[1]]}, {"max_neighbors": 0}, "max_neighbors is 0; it must be a whole"),
        ({("a", "b"): [[1]]}, {"max_iterations": 0}, "max_iterations is 0; it must be a whole"),
        (
            {("a", "b"): [[1]]},
            {"tolerance": "1"},
            "tolerance is '1'; it must be a finite number of at least 0",
        ),
        ({("a", "b"): [[1]]}, {"shares": {}}, r"shares\[\('a', 'b'\)\] is None"),
        (
            {("a", "b"): [[1, 1], [1, 1]]},
            {"lam": {("a", "b"): 2.0, ("b", "a"): 2.0}},
            "grow without bound",
        ),
    ],
)
def test_bad_relations_say_what_was_needed(relations, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        snos_many(relations, **settings)


def test_stopping_early_is_warned_of_for_many_kinds_too():
    relations = {("query", "page"): [[1, 1], [0, 1]]}
    with pytest.warns(SoftCosineWarning, match="did not converge in 1 rounds"):
        assert not snos_many(relations, max_iterations=1).trace.converged
