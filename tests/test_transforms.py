"""Vectors for other engines: their dot products and cosines rank as the soft cosine does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import strategies as own
from softcosine.errors import IndefiniteMatrixError, InvalidInputError, VocabularyMismatchError
from softcosine.space.measures import soft_cosine_similarity
from softcosine.space.transforms import (
    cosine_documents,
    cosine_queries,
    expand_queries,
    unit_documents,
)
from toys import similarity_matrix


@given(own.collections(matrices=own.asymmetric_matrices))
def test_expanded_queries_multiply_to_soft_inner_products(c):
    S = similarity_matrix(c.S)
    products = oracle.soft_inner_product(
        oracle.weighted(c.queries, c.weights), oracle.weighted(c.counts, c.weights), c.S
    )
    stored = oracle.weighted(c.counts, c.weights)
    expanded = expand_queries(c.queries, S, term_weights=c.weights)
    np.testing.assert_allclose(expanded @ stored.T, products, rtol=1e-12)
    raw = expand_queries(c.queries, S, term_weights=c.weights, raw_documents=True)
    np.testing.assert_allclose(raw @ c.counts.T, products, rtol=1e-12)
    np.testing.assert_allclose(
        raw.toarray(), oracle.expanded(c.queries, c.S, c.weights), rtol=1e-12
    )


@given(own.collections(matrices=own.signed_matrices))
def test_indefinite_matrices_expand_too(c):
    expanded = expand_queries(c.queries, similarity_matrix(c.S))
    np.testing.assert_allclose(expanded.toarray(), c.queries @ c.S, atol=1e-9)


@given(own.collections(matrices=own.similarity_matrices))
def test_unit_documents_multiply_to_soft_cosines(c):
    S = similarity_matrix(c.S)
    Y = oracle.weighted(c.counts, c.weights)
    units = unit_documents(c.counts, S, term_weights=c.weights)
    np.testing.assert_allclose(units.toarray(), oracle.normalized_documents(Y, c.S), atol=1e-12)
    norms = oracle.soft_norm(c.queries, c.S)
    cosines = oracle.soft_cosine(c.queries, Y, c.S)
    np.testing.assert_allclose(
        (expand_queries(c.queries, S) @ units.T).toarray(),
        norms[:, None] * cosines,
        rtol=1e-9,
        atol=1e-9,
    )


@given(own.collections())
def test_cosine_only_vectors_have_length_one_and_keep_the_order(c):
    S = similarity_matrix(c.S)
    queries = cosine_queries(c.queries, S, term_weights=c.weights)
    documents = cosine_documents(c.counts, S, term_weights=c.weights)
    Q, Y = oracle.weighted(c.queries, c.weights), oracle.weighted(c.counts, c.weights)
    np.testing.assert_allclose(queries.toarray(), oracle.cosine_only_queries(Q, c.S), atol=1e-12)
    # The last coordinate is the root of a difference, which doubles its rounding's digits.
    np.testing.assert_allclose(documents.toarray(), oracle.cosine_only_documents(Y, c.S), atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(documents.toarray(), axis=1), 1, atol=1e-9)
    scores = (queries @ documents.T).toarray()
    cosines = soft_cosine_similarity(Q, Y, S)
    lengths = np.linalg.norm(expand_queries(Q, S).toarray(), axis=1)
    norms = oracle.soft_norm(Q, c.S)
    np.testing.assert_allclose(
        scores * lengths[:, None], cosines * norms[:, None], rtol=1e-9, atol=1e-9
    )


def assert_same_order(scores, cosines):
    """Wherever one soft cosine is clearly above another, its score is above the other's."""
    above = cosines[:, :, None] > cosines[:, None, :] + 1e-9
    assert np.all((scores[:, :, None] > scores[:, None, :]) | ~above)


@given(own.collections(matrices=own.definite_matrices), st.data())
def test_unit_documents_keep_the_order_where_entries_are_negative_too(c, data):
    S = similarity_matrix(c.S)
    Y = data.draw(own.coordinates(c.n_docs, c.n_terms, signed=True))
    Q = data.draw(own.coordinates(len(c.queries), c.n_terms, signed=True))
    scores = (expand_queries(Q, S) @ unit_documents(Y, S).T).toarray()
    norms = oracle.soft_norm(Q, c.S)
    assert_same_order(scores[norms > 1e-6], oracle.soft_cosine(Q, Y, c.S)[norms > 1e-6])


@given(own.collections())
def test_stores_with_cosine_only_keep_the_order(c):
    S = similarity_matrix(c.S)
    Q, Y = oracle.weighted(c.queries, c.weights), oracle.weighted(c.counts, c.weights)
    scores = (
        cosine_queries(c.queries, S, term_weights=c.weights)
        @ cosine_documents(c.counts, S, term_weights=c.weights).T
    ).toarray()
    assert_same_order(scores, oracle.soft_cosine(Q, Y, c.S))


@given(own.collections(matrices=own.asymmetric_matrices))
def test_documents_of_an_asymmetric_matrix_are_refused_and_its_queries_are_not(c):
    S = similarity_matrix(c.S)
    expand_queries(c.queries, S)
    if not S.symmetric:
        for transform in (unit_documents, cosine_documents):
            with pytest.raises(InvalidInputError, match="a document form needs a symmetric"):
                transform(c.counts, S)


def test_extreme_weights_give_ordinary_vectors():
    S = similarity_matrix([[1, 0.5], [0.5, 1]])
    for scale in (1e-300, 1e300):
        X = np.array([[1, 1], [0, 0]]) * scale
        plain = np.array([[1, 1], [0, 0]])
        for transform in (unit_documents, cosine_documents, cosine_queries):
            np.testing.assert_allclose(
                transform(X, S).toarray(), transform(plain, S).toarray(), atol=1e-12
            )
    with pytest.raises(InvalidInputError, match="leaves the range of float64"):
        expand_queries([[1.7e308, 1.7e308]], S)


def test_what_cannot_be_transformed_says_why():
    I2 = similarity_matrix(np.eye(2))
    asymmetric = similarity_matrix([[1, 0.5], [0, 1]])
    with pytest.raises(InvalidInputError, match="a document form needs a symmetric"):
        unit_documents([[1, 1]], asymmetric)
    negative = similarity_matrix([[1, -0.5], [-0.5, 1]])
    for transform in (cosine_queries, cosine_documents):
        with pytest.raises(InvalidInputError, match="must not have negative entries"):
            transform([[1, 1]], negative)
        with pytest.raises(InvalidInputError, match="must not have negative entries"):
            transform([[-1, 1]], I2)
    with pytest.raises(IndefiniteMatrixError):
        unit_documents([[1, 1, 1]], similarity_matrix(np.eye(3) - 0.9 * (1 - np.eye(3))))
    for transform in (expand_queries, unit_documents, cosine_queries, cosine_documents):
        with pytest.raises(VocabularyMismatchError, match="has 3 terms but S has 2"):
            transform([[1, 1, 1]], I2)
        with pytest.raises(InvalidInputError, match="S is of type ndarray"):
            transform([[1, 1]], np.eye(2))
        with pytest.raises(InvalidInputError, match="NaN or infinity"):
            transform([[1, np.nan]], I2)
        for weights, message in (
            ([1], r"has shape \(1,\)"),
            ([1, -1], "not negative"),
            ([1, np.nan], "must be finite"),
            (["a", "b"], "cannot be read as numbers"),
        ):
            with pytest.raises(InvalidInputError, match=message):
                transform([[1, 1]], I2, term_weights=weights)


def test_no_documents_give_no_vectors():
    S = similarity_matrix(np.eye(2))
    empty = np.empty((0, 2))
    assert expand_queries(empty, S).shape == (0, 2)
    assert unit_documents(empty, S).shape == (0, 2)
    assert cosine_documents(empty, S).shape == (0, 3)
    assert cosine_queries(empty, S).shape == (0, 3)
