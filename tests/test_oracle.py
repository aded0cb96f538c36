"""The oracle agrees with what can be worked out by hand, and the strategies give what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import oracle
import strategies as own


def test_a_chain_of_synonyms_exceeds_one():
    S = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
    a_and_c, b = np.array([[1.0, 0, 1]]), np.array([[0.0, 1, 0]])
    assert oracle.soft_cosine(a_and_c, b, S)[0, 0] == pytest.approx(np.sqrt(2))


def test_a_document_without_terms_resembles_nothing():
    X = np.array([[0.0, 0], [1, 0]])
    assert oracle.soft_cosine(X, X, np.eye(2)).tolist() == [[0, 0], [0, 1]]


def test_the_identity_gives_the_ordinary_bm25():
    counts = np.array([[2.0, 0, 1], [0, 1, 0]])
    idf = np.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    scores = oracle.soft_bm25(np.array([[1.0, 0, 0]]), counts, np.eye(3))
    np.testing.assert_allclose(scores, [[expected, 0]])


def test_equal_scores_rank_by_insertion():
    assert oracle.top_k(np.array([0.5, 0.7, 0.5, 0.7]), 3) == [1, 3, 0]


def test_dominance_keeps_the_greater_similarity():
    candidates = np.array([[0, 0.3, 0.9], [0.3, 0, 0], [0.9, 0, 0]])
    terms = ["a", "b", "c"]
    S = oracle.keep_symmetric(candidates, 5, terms, [0, 1, 2], dominant=True)
    assert S[0, 2] == np.float32(0.9)
    assert S[0, 1] == 0


@given(own.collections(matrices=own.definite_matrices))
def test_definite_matrices_bound_the_cosine(collection):
    assert np.linalg.eigvalsh(collection.S)[0] > 0
    scores = oracle.soft_cosine(collection.queries, collection.counts, collection.S)
    assert np.abs(scores).max() <= 1 + 1e-9


@given(own.collections(matrices=own.asymmetric_matrices))
def test_expanded_queries_multiply_with_raw_documents(collection):
    c = collection
    products = oracle.expanded(c.queries, c.S, c.weights) @ c.counts.T
    weighted = oracle.weighted(c.queries, c.weights), oracle.weighted(c.counts, c.weights)
    np.testing.assert_allclose(products, oracle.soft_inner_product(*weighted, c.S), rtol=1e-12)


@given(own.collections())
def test_cosine_only_forms_keep_the_order(collection):
    Q, Y, S = collection.queries, collection.counts, collection.S
    forms = oracle.cosine_only_queries(Q, S), oracle.cosine_only_documents(Y, S)
    cosines = oracle.soft_cosine(*forms, np.eye(forms[0].shape[1]))
    expansions = np.array([np.linalg.norm(S.T @ x) for x in Q])
    norms = oracle.soft_norm(Q, S)
    expected = oracle.soft_cosine(Q, Y, S) * norms[:, None]
    np.testing.assert_allclose(
        cosines * expansions[:, None], expected, atol=1e-9 * np.abs(expected).max(initial=1)
    )


@pytest.mark.data
def test_the_data_marker_finds_the_folder(data):
    assert (data / "README.md").is_file()
