"""Cosines that rounding takes above 1 are 1, wherever they are computed; distances of them."""

from __future__ import annotations

from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import strategies as own
from softcosine import (
    SoftIndex,
    SoftNeighbors,
    paired_soft_cosine_similarity,
    soft_cosine_distances,
    soft_cosine_similarity,
    sparse_soft_cosine_similarity,
)
from softcosine.errors import InvalidInputError
from softcosine.index import rankings
from softcosine.space import norms
from softcosine.space.norms import ROUNDED_ONE, clipped, distances
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
from toys import similarity_matrix, slowly

COSINES = ("soft_cosine", "expanded_cosine")
TERMS = list("abcdefgh")


def texts_of(seed, n_docs=150):
    """Few words in few proportions: many documents are multiples of each other."""
    rng = np.random.default_rng(seed)
    base = [[str(t) for t in rng.choice(TERMS, size=rng.integers(1, 9))] for _ in range(n_docs)]
    return [words * int(rng.integers(1, 4)) for words in base]


def index_of(texts, seed=0, density=0.5, **options):
    rng = np.random.default_rng(seed)
    S = np.where(rng.random((8, 8)) < density, rng.integers(0, 8, (8, 8)) / 16, 0.0)
    S = np.maximum(S, S.T)
    np.fill_diagonal(S, 1.0)
    given_texts = texts
    if "fields" in options:
        given_texts = [{name: " ".join(words) for name in options["fields"]} for words in texts]
    return SoftIndex.from_texts(
        given_texts, S=similarity_matrix(S, Vocabulary(TERMS)), analyzer=Analyzer(),
        weighting=Weighting("log", "smooth"), ranking="soft_cosine", **options,
    )  # fmt: skip


def unclipped():
    """Scores as they come out of the sums."""
    return patch.object(rankings, "ROUNDED_ONE", 1.0)


def test_what_rounding_adds_to_one_is_taken_away_and_what_is_real_stays():
    above = np.nextafter(ROUNDED_ONE, 2)
    kept = [0.0, 0.5, 1 - 1e-16, 1.0, above, np.sqrt(2), -1.0, -above, -0.3]
    assert clipped(np.array(kept)).tolist() == kept
    rounded = [np.nextafter(1, 2), 1 + 1e-12, ROUNDED_ONE]
    assert clipped(np.array(rounded)).tolist() == [1.0] * 3
    assert clipped(-np.array(rounded)).tolist() == [-1.0] * 3
    assert distances(np.array([*rounded, 1.0, 1 - 1e-16, 1.5, 0.25, -1.0])).tolist() == (
        [0.0] * 6 + [0.75, 2.0]
    )


@pytest.mark.parametrize("ranking", COSINES)
def test_no_search_gives_more_than_one_where_the_sums_do(ranking):
    texts = texts_of(1)
    queries = [" ".join(words) for words in texts]
    density = 0.0 if ranking == "expanded_cosine" else 0.5  # expanded queries are no documents
    with unclipped():
        raw = index_of(texts, density=density).search_batch(queries, k=150, ranking=ranking)
    assert max(hit.score for hits in raw for hit in hits) > 1.0
    found = index_of(texts, density=density).search_batch(queries, k=150, ranking=ranking)
    assert max(hit.score for hits in found for hit in hits) == 1.0
    for one, before in zip(found, raw, strict=True):
        clip = {hit.id: float(clipped(np.array(hit.score))) for hit in before}
        assert {hit.id: hit.score for hit in one} == clip
        assert [(hit.score, hit.number) for hit in one] == sorted(
            ((hit.score, hit.number) for hit in one), key=lambda pair: (-pair[0], pair[1])
        )


@pytest.mark.parametrize("ranking", COSINES)
@pytest.mark.parametrize("k", [1, 3, 150])
@pytest.mark.parametrize("min_score", [0.0, 0.5, 1.0])
def test_every_way_to_search_clips_to_the_same_bits(ranking, k, min_score):
    texts = texts_of(2)
    queries = [" ".join(words) for words in texts]
    index = index_of(texts)
    ask = {"k": k, "min_score": min_score, "ranking": ranking}
    together = index.search_batch(queries, threads=1, **ask)
    assert any(hits.plan.method == "panel" for hits in together)
    with slowly():
        slow = index.search_batch(queries, threads=1, **ask)
    alone = [index.search(query, **ask) for query in queries]
    for hits, others, own_hits in zip(together, slow, alone, strict=True):
        expected = [(hit.number, hit.score) for hit in own_hits]
        assert [(hit.number, hit.score) for hit in hits] == expected
        assert [(hit.number, hit.score) for hit in others] == expected
        for number, score in expected[:3]:
            assert index.explain(hits.query, str(number), ranking=ranking).score == score


def test_pairs_similar_documents_and_fields_clip_to_the_same_bits():
    texts = texts_of(3, 80)
    index = index_of(texts)
    with unclipped():
        assert max(pair.score for pair in index_of(texts).pairs(min_similarity=0.9)) > 1.0
    pairs = {(p.id, p.other): p.score for p in index.pairs(min_similarity=0.9)}
    assert max(pairs.values()) == 1.0
    similar = {id: {h.id: h.score for h in index.similar(id, k=80)} for id in map(str, range(80))}
    assert all(similar[first][second] == value for (first, second), value in pairs.items())
    nearest: dict[str, list[tuple[str, float]]] = {}
    for pair in index.pairs(k=3):
        nearest.setdefault(pair.id, []).append((pair.other, pair.score))
    every = {frozenset(pair): value for pair, value in pairs.items()}
    for id, others in nearest.items():
        assert others == sorted(others, key=lambda other: (-other[1], int(other[0])))
        for other, value in others:
            assert every.get(frozenset((id, other)), value) == value <= 1.0
    fields = index_of(texts, fields={"title": 1.0, "body": 0.5})
    for id in ("0", "7"):
        sums = {hit.id: hit.score for hit in fields.similar(id, k=80)}
        assert sums == {other: 1.0 * s + 0.5 * s for other, s in similar[id].items()}


@given(own.collections(matrices=own.definite_matrices), st.data())
def test_cosines_of_a_definite_matrix_never_exceed_one(c, data):
    X = data.draw(own.coordinates(c.n_docs, c.n_terms))
    S = similarity_matrix(c.S)
    for found in (
        soft_cosine_similarity(X, None, S),
        sparse_soft_cosine_similarity(X, None, S).toarray(),
        paired_soft_cosine_similarity(X, X, S),
        SoftNeighbors(S).fit(X).search(X, k=c.n_docs).scores,
    ):
        assert np.abs(found).max() <= 1.0
    truth = np.maximum(1 - oracle.soft_cosine(X, X, c.S), 0)
    np.fill_diagonal(truth, 0.0)
    far = soft_cosine_distances(X, None, S)
    np.testing.assert_allclose(far, truth, atol=1e-9)
    assert far.min() >= 0.0
    assert not far.diagonal().any()
    assert SoftNeighbors(S).fit(X).kneighbors(X, 1)[0].min() >= 0.0


def test_pairwise_measures_clip_where_the_products_exceed_one():
    X = np.random.default_rng(0).random((200, 5))
    S = similarity_matrix(np.eye(5) + 0.25 * (np.ones((5, 5)) - np.eye(5)))
    with patch.object(norms, "ROUNDED_ONE", 1.0):
        assert soft_cosine_similarity(X, None, S).max() > 1.0
        assert paired_soft_cosine_similarity(X, X, S).max() > 1.0
        assert sparse_soft_cosine_similarity(X, None, S).max() > 1.0
    assert soft_cosine_similarity(X, None, S).max() == 1.0
    assert paired_soft_cosine_similarity(X, X, S).max() == 1.0
    assert sparse_soft_cosine_similarity(X, None, S).max() == 1.0


def test_real_cosines_above_one_are_reported_and_their_distance_is_zero():
    S = similarity_matrix([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    X = [[1, 0, 1], [0, 1, 0]]
    assert soft_cosine_similarity(X, None, S)[0, 1] == pytest.approx(np.sqrt(2))
    neighbors = SoftNeighbors(S).fit(X)
    assert neighbors.search([[0, 1, 0]], k=1).scores[0, 0] == pytest.approx(np.sqrt(2))
    assert soft_cosine_distances(X, None, S).tolist() == [[0, 0], [0, 0]]
    assert neighbors.kneighbors([[0, 1, 0]], 2)[0].tolist() == [[0, 0]]


def test_the_matches_of_the_fitted_rows_are_others():
    X = [[1, 0], [1, 0], [0, 1]]
    neighbors = SoftNeighbors(similarity_matrix(np.eye(2)), n_neighbors=1).fit(X)
    assert neighbors.search().ids.tolist() == [[1], [0], [0]]
    for k in (2, 3, 9):
        matches = neighbors.search(k=k)
        assert matches.ids.tolist() == [[1, 2], [0, 2], [0, 1]]
        assert matches.scores.tolist() == [[1, 0], [1, 0], [0, 0]]
    assert SoftNeighbors(similarity_matrix([[1]])).fit([[1]]).search().ids.shape == (1, 0)
    empty = SoftNeighbors(similarity_matrix([[1]])).fit(np.empty((0, 1)))
    assert empty.search().ids.shape == (0, 0)


def test_scores_that_are_no_cosines_are_not_clipped():
    S = similarity_matrix(np.eye(1))
    X = [[1 + 2**-40], [1 + 2**-50]]
    found = SoftNeighbors(S, ranking="inner_product").fit(X).search([[1.0]], k=2)
    assert found.scores.tolist() == [[1 + 2**-40, 1 + 2**-50]]


@pytest.mark.parametrize("ranking", ["inner_product", "soft_bm25"])
def test_scores_without_a_bound_have_no_distances(ranking):
    neighbors = SoftNeighbors(similarity_matrix(np.eye(2)), ranking=ranking).fit([[1, 0], [0, 1]])
    with pytest.raises(InvalidInputError, match=r"without a bound.*return_distance=False"):
        neighbors.kneighbors([[1, 1]], 1)
    assert neighbors.kneighbors([[1, 0]], 1, return_distance=False).tolist() == [[0]]


def test_a_graph_has_the_entries_of_kneighbors():
    X = np.random.default_rng(1).integers(0, 3, (12, 4))
    neighbors = SoftNeighbors(similarity_matrix(np.eye(4)), n_neighbors=3).fit(X)
    for given_X in (None, X[:5]):
        far, ids = neighbors.kneighbors(given_X)
        graph = neighbors.kneighbors_graph(given_X, mode="distance")
        assert graph.shape == (len(ids), 12)
        assert graph.indices.reshape(ids.shape).tolist() == ids.tolist()
        assert graph.data.reshape(ids.shape).tolist() == far.tolist()
        ones = neighbors.kneighbors_graph(given_X)
        assert ones.indices.tolist() == graph.indices.tolist()
        assert set(ones.data) == {1.0}
    with pytest.raises(InvalidInputError, match="mode is 'cosine'; it must be one of distance"):
        neighbors.kneighbors_graph(mode="cosine")


class TestScikitLearn:
    """What refuses a negative distance, and asks an estimator what it is."""

    @pytest.fixture
    def documents(self):
        rng = np.random.default_rng(5)
        centres = rng.random((3, 12)) * (rng.random((3, 12)) < 0.4)
        X = np.repeat(centres, 30, axis=0) * rng.random((90, 1))  # multiples: cosines of 1
        S = np.eye(12) + 0.05 * (np.ones((12, 12)) - np.eye(12))
        return X, np.repeat([0, 1, 2], 30), similarity_matrix(S)

    def test_clusters_of_precomputed_distances(self, documents):
        cluster = pytest.importorskip("sklearn.cluster")
        X, labels, S = documents
        with patch.object(norms, "ROUNDED_ONE", 1.0):
            raw = 1.0 - soft_cosine_similarity(X, None, S)
        assert raw.min() < 0.0
        estimator = cluster.DBSCAN(eps=0.1, min_samples=3, metric="precomputed")
        with pytest.raises(ValueError, match="Negative values in data"):
            estimator.fit_predict(raw)
        assert estimator.fit_predict(soft_cosine_distances(X, None, S)).tolist() == labels.tolist()
        graph = SoftNeighbors(S).fit(X).kneighbors_graph(n_neighbors=29, mode="distance")
        assert estimator.fit_predict(graph).tolist() == labels.tolist()

    def test_votes_of_precomputed_distances(self, documents):
        sklearn = pytest.importorskip("sklearn.neighbors")
        X, labels, S = documents
        vote = sklearn.KNeighborsClassifier(n_neighbors=3, metric="precomputed")
        vote.fit(soft_cosine_distances(X, None, S), labels)
        assert vote.predict(soft_cosine_distances(X, X, S)).tolist() == labels.tolist()
        neighbors = SoftNeighbors(S, n_neighbors=4).fit(X)
        by_graph = sklearn.KNeighborsClassifier(n_neighbors=3, metric="precomputed")
        by_graph.fit(neighbors.kneighbors_graph(X, mode="distance"), labels)
        found = by_graph.predict(neighbors.kneighbors_graph(X, mode="distance"))
        assert found.tolist() == labels.tolist()

    def test_an_estimator_says_what_it_is(self, documents):
        utils = pytest.importorskip("sklearn.utils")
        base = pytest.importorskip("sklearn.base")
        from sklearn.utils.validation import check_is_fitted

        X, _, S = documents
        neighbors = SoftNeighbors(S, n_neighbors=2)
        tags = utils.get_tags(neighbors)
        assert tags.input_tags.sparse
        assert tags.input_tags.positive_only
        assert not tags.target_tags.required
        assert tags.estimator_type is None
        check_is_fitted(base.clone(neighbors).fit(X))

    def test_graphs_of_both_estimators_agree(self, documents):
        pytest.importorskip("sklearn")
        from softcosine.sklearn import SoftNeighborsTransformer

        X, _, S = documents
        graph = SoftNeighborsTransformer(S, n_neighbors=4).fit(X).transform(X)
        ours = SoftNeighbors(S).fit(X).kneighbors_graph(X, 5, mode="distance")
        for name in ("data", "indices", "indptr"):
            assert getattr(graph, name).tolist() == getattr(ours, name).tolist()
        assert graph.data.min() == 0.0

    def test_sparse_coordinates_become_a_frame_where_one_is_asked_for(self, documents):
        pandas = pytest.importorskip("pandas")
        base = pytest.importorskip("sklearn")
        from softcosine.sklearn import SoftCosineTransformer

        X, _, S = documents
        plain = SoftCosineTransformer(S).fit(X)
        framed = SoftCosineTransformer(S).fit(X).set_output(transform="pandas")
        for model in (framed, base.clone(framed).fit(X)):
            frame = model.transform(X)
            assert isinstance(frame, pandas.DataFrame)
            np.testing.assert_array_equal(frame.to_numpy(), plain.transform(X).toarray())
            assert list(frame.columns) == list(model.get_feature_names_out())
        with base.config_context(transform_output="pandas"):
            assert isinstance(plain.transform(X), pandas.DataFrame)
        assert not isinstance(plain.transform(X), pandas.DataFrame)


def test_pairs_of_equal_documents_reach_one(tmp_path):
    index = index_of([["a", "b"], ["a", "b"] * 2, ["b", "a"]])
    found = {(p.id, p.other): p.score for p in index.pairs(min_similarity=1 - 1e-12)}
    assert set(found) == set(combinations("012", 2))
    assert max(found.values()) <= 1.0
