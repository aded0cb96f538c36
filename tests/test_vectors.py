"""Vectors of documents and queries: their dot products, or cosines, rank as the index does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import issparse, vstack

import strategies as own
from softcosine import SoftIndex, SoftNeighbors
from softcosine.errors import IndefiniteMatrixError, InvalidInputError
from softcosine.index.search.vectors import RankedVectors
from toy_encoder import ToyEncoder
from toys import similarity_matrix

RANKINGS = ["soft_cosine", "inner_product", "expanded_cosine", "soft_bm25"]
TEXTS = ["a puncture in the tyre", "tea is cold", "the bicycle stands outside", "hot soup", "tyre"]
QUERIES = ["kitten motorcycle", "drinks tyre", "qqqq", "+tea -soup", ["bicycle", "tyre"]]


@given(own.collections(), st.sampled_from(RANKINGS), st.integers(1, 5))
def test_products_of_vectors_are_scores(c, ranking, rows):
    S = similarity_matrix(c.S)
    neighbors = SoftNeighbors(S, ranking=ranking).fit(c.counts)
    vectors = RankedVectors(neighbors.words_)
    blocks = list(vectors.documents(rows=rows))
    assert len(vectors) == len(c.counts) == sum(block.shape[0] for block in blocks)
    assert max(block.shape[0] for block in blocks) <= rows
    queries = vectors.queries(neighbors.query_vectors(c.queries)).expanded(S)
    matches = neighbors.search(c.queries, k=max(1, len(c.counts)))
    products = (vstack(blocks) @ queries.T).toarray().T
    for row, ids, scores in zip(products, matches.ids, matches.scores, strict=True):
        expected = np.zeros(len(c.counts))
        expected[ids] = scores
        np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """An index of two segments, one of which has a deleted document."""
    path = tmp_path_factory.mktemp("vectors") / "faq"
    SoftIndex.from_texts(TEXTS[:4], encoder=None).save(path)
    index = SoftIndex.open(path)
    with index.writer() as writer:
        writer.delete("1")
        writer.add("4", TEXTS[4])
    return index


def exact(index, query, ranking):
    hits = index.search(query, k=99, ranking=ranking, ask="words", syntax=False)
    found = {hit.id: hit.score for hit in hits}
    return np.array([found.get(id, 0.0) for id in index])


@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize("route", ["impacts", "basis"])
def test_dot_products_are_the_scores_of_a_search(index, route, ranking):
    documents = index.document_vectors(route, ranking=ranking)
    queries = index.query_vectors(QUERIES, route, ranking=ranking)
    assert issparse(documents) == issparse(queries) == (route == "impacts")
    assert documents.dtype == queries.dtype == np.float32
    products = documents @ queries.T
    products = products.toarray() if issparse(products) else products
    for query, row in zip(QUERIES, products.T, strict=True):
        assert row == pytest.approx(exact(index, query, ranking), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("ranking", RANKINGS)
def test_cosines_of_unit_vectors_have_the_order_of_a_search(index, ranking):
    documents = index.document_vectors("unit", ranking=ranking).toarray()
    queries = index.query_vectors(QUERIES, "unit", ranking=ranking).toarray()
    np.testing.assert_allclose(np.linalg.norm(documents, axis=1), 1.0, rtol=1e-6)
    for query, row in zip(QUERIES, (documents @ queries.T).T, strict=True):
        scores = exact(index, query, ranking)
        assert row * scores.max() == pytest.approx(scores * row.max(), rel=1e-4, abs=1e-6)


def test_all_dimensions_of_lsa_are_exact_and_few_are_not(index):
    scores = exact(index, "drinks tyre", "soft_cosine")
    for n, equal in ((256, True), (1, False)):
        documents = index.document_vectors("lsa", n_dimensions=n)
        (query,) = index.query_vectors(["drinks tyre"], "lsa", n_dimensions=n)
        assert documents.shape == (4, min(n, 4))
        assert np.allclose(documents @ query, scores, atol=1e-5) == equal


def test_products_of_meaning_are_its_cosines():
    index = SoftIndex.from_texts(TEXTS, plain=True, encoder=ToyEncoder())
    documents = index.document_vectors("meaning")
    query, nothing = index.query_vectors(["cold tea zzzz", ""], "meaning")
    np.testing.assert_allclose(np.linalg.norm(documents, axis=1), 1.0, rtol=1e-6)
    assert not nothing.any()
    words = exact(index, "cold tea zzzz", "soft_bm25")
    hits = index.search("cold tea zzzz", k=9, ranking="soft_bm25", meaning=40.0)
    places = [list(index).index(hit.id) for hit in hits]
    scores = (words + 40.0 * (documents @ query))[places]
    assert scores == pytest.approx([hit.score for hit in hits], rel=1e-5)


def test_vectors_of_a_new_commit_are_those_of_its_documents(tmp_path):
    SoftIndex.from_texts(TEXTS, plain=True).save(tmp_path / "faq")
    index = SoftIndex.open(tmp_path / "faq")
    for _ in range(2):
        for route in ("lsa", "basis"):
            products = index.document_vectors(route) @ index.query_vectors(["tyre"], route).T
            assert products.ravel() == pytest.approx(exact(index, "tyre", "soft_cosine"), abs=1e-5)
        with index.writer() as writer:
            writer.add("new", "another tyre of a car")


def test_an_empty_index_has_no_rows():
    index = SoftIndex.create(plain=True)
    for route in ("impacts", "unit", "basis", "lsa"):
        assert index.document_vectors(route).shape[0] == 0
        assert index.query_vectors(["tea"], route).shape[0] == 1


def test_what_has_no_vectors_is_refused(index):
    for arguments, message in (
        (("best",), "route is 'best'"),
        (("impacts", "soft_tf_bm25"), "scores by soft_tf_bm25 are not products"),
        (("impacts", "best"), "ranking is 'best'"),
        (("meaning",), "have no coordinates"),
    ):
        given = dict(zip(("route", "ranking"), arguments, strict=False))
        with pytest.raises(InvalidInputError, match=message):
            index.document_vectors(**given)
        with pytest.raises(InvalidInputError, match=message):
            index.query_vectors(["tea"], **given)
    with pytest.raises(InvalidInputError, match="n_dimensions is 0"):
        index.document_vectors("lsa", n_dimensions=0)
    with pytest.raises(InvalidInputError, match="queries is a single string"):
        index.query_vectors("tea", "lsa")
    fields = SoftIndex.from_texts(
        [{"title": "tea", "body": "cup"}], fields=["title", "body"], plain=True
    )
    with pytest.raises(InvalidInputError, match="fields title, body, and each is a space"):
        fields.document_vectors("impacts")
    indefinite = SoftIndex.from_texts(["tea pot"], plain=True)
    S = similarity_matrix(np.array([[1.0, 2.0], [2.0, 1.0]]), indefinite.vocabulary)
    indefinite = indefinite.with_similarity(S)
    with pytest.raises(IndefiniteMatrixError):
        indefinite.document_vectors("basis", ranking="soft_bm25")
