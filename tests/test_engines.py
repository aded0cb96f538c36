"""Every engine by every route against the exact index: values, order, what is missing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies as own
from conftest import need_engine
from softcosine import SoftIndex, SoftNeighbors, Weighting
from softcosine.engines import registry
from softcosine.engines.capabilities import Capabilities
from softcosine.engines.engine import Engine
from softcosine.engines.engine_index import EngineIndex
from softcosine.engines.registry import engine_by_name
from softcosine.errors import (
    IndefiniteMatrixError,
    InvalidInputError,
    MissingDependencyError,
    NotFittedError,
)
from toy_engine import ENTRY, ToyEngine
from toys import similarity_matrix

RANKINGS = ["soft_cosine", "inner_product", "expanded_cosine", "soft_bm25"]
# With these settings no engine misses anything of a few vectors.
EXHAUSTIVE = {
    "faiss flat": ("faiss", {"factory": "Flat"}),
    "faiss lists": ("faiss", {"factory": "IVF2,Flat", "width": 2}),
    "annoy angular": ("annoy", {"metric": "angular", "width": 100_000}),
    "annoy dot": ("annoy", {"metric": "dot", "width": 100_000}),
    "usearch, all": ("usearch", {"exact": True}),
}
APPROXIMATE = {
    "faiss graph": ("faiss", {"factory": "HNSW8"}),
    "faiss quantised": ("faiss", {"factory": "PQ1x4"}),
    "faiss rotated": ("faiss", {"factory": "RR4,SQ8"}),
    "hnswlib": ("hnswlib", {"width": 64}),
    "usearch": ("usearch", {"dtype": "f16"}),
}
ENGINES = EXHAUSTIVE | APPROXIMATE
ROUTES = ["basis", "lsa"]
N_DOCS, N_TERMS = 40, 10


def built(index, name, **more):
    """An engine of the table; skips the test where its package is missing."""
    engine, engine_settings = ENGINES.get(name, (name, {}))
    if engine in registry.ENGINES and engine != "toy":
        need_engine(engine)
    return EngineIndex.build(index, engine, threads=1, **{**engine_settings, **more})


def toy_data(seed=0, n_docs=N_DOCS, n_terms=N_TERMS):
    """Counts with a document of none and two equal ones, and a definite S."""
    rng = np.random.default_rng(seed)
    counts = (rng.random((n_docs, n_terms)) < 0.4) * rng.integers(1, 4, (n_docs, n_terms))
    counts[3], counts[8] = 0, counts[7]
    A = rng.random((n_terms, n_terms)) * 0.15
    S = (A + A.T) / 2
    np.fill_diagonal(S, 1.0)
    return counts.astype(float), similarity_matrix(S)


@pytest.fixture
def toy(monkeypatch):
    """Register the toy engine."""
    monkeypatch.setitem(registry.ENGINES, "toy", ENTRY)
    return ToyEngine


@pytest.fixture(scope="module")
def data():
    counts, S = toy_data()
    queries = np.vstack([counts[:6], np.zeros((1, N_TERMS)), np.eye(N_TERMS)[:2]])
    return counts, S, queries


def check_near(found, exact, neighbors, queries, *, width, tolerance=2e-6):
    """Scores are the exact ones but for float32, and every document has the score that it says."""
    size = np.abs(exact.scores[np.isfinite(exact.scores)]).max(initial=1e-9)
    assert found.ids.shape == found.scores.shape == (len(queries), width)
    np.testing.assert_allclose(found.scores, exact.scores, rtol=0, atol=tolerance * size)
    for row, vector in enumerate(neighbors.query_vectors(queries)):
        assert len(set(found.ids[row].tolist())) == width
        own_scores = neighbors.searcher_.scores(vector, found.ids[row])
        np.testing.assert_allclose(found.scores[row], own_scores, rtol=0, atol=tolerance * size)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("route", ROUTES)
class TestEveryEngine:
    """The contract."""

    @pytest.mark.parametrize("ranking", RANKINGS)
    def test_answers_are_those_of_the_index(self, data, name, route, ranking):
        counts, S, queries = data
        neighbors = SoftNeighbors(S, ranking=ranking, weighting=Weighting()).fit(counts)
        fast = built(neighbors, name, route=route)
        assert fast.route == route
        assert fast.note == ""
        for k in (1, 5, N_DOCS + 10):
            exact = neighbors.search(queries, k=k)
            width = min(k, N_DOCS)
            if name in EXHAUSTIVE:
                found = fast.search(queries, k)
                check_near(found, exact, neighbors, queries, width=width)
            # With all candidates nothing can be missed but by a graph.
            again = fast.search(queries, k, rerank=N_DOCS)
            assert np.array_equal(again.scores, exact.scores)
            positive = exact.scores > 0
            assert np.array_equal(again.ids[positive], exact.ids[positive])
        assert fast.recall(queries, 5, rerank=N_DOCS) == 1.0

    @pytest.mark.parametrize("ranking", RANKINGS)
    def test_dot_products_of_its_vectors_are_the_scores(self, data, name, route, ranking):
        counts, S, queries = data
        neighbors = SoftNeighbors(S, ranking=ranking, weighting=Weighting()).fit(counts)
        fast = built(neighbors, name, route=route)
        documents, asked = fast.document_vectors(), fast.query_vectors(queries)
        n_columns = fast.n_dimensions + (fast.capabilities.measure == "cosine")
        worded = np.flatnonzero(counts.any(axis=1))
        assert documents.shape == (len(worded), n_columns)
        assert asked.shape == (len(queries), n_columns)
        for vectors in (documents, asked):
            assert vectors.dtype == np.float32
            assert vectors.flags.c_contiguous
        numbers = np.array(fast.document_ids())
        assert np.array_equal(numbers, worded)
        exact = [
            neighbors.searcher_.scores(one, numbers) for one in neighbors.query_vectors(queries)
        ]
        size = np.abs(exact).max()
        np.testing.assert_allclose(asked @ documents.T, exact, rtol=0, atol=3e-6 * size)
        if fast.capabilities.measure == "cosine":
            np.testing.assert_allclose(np.linalg.norm(documents, axis=1), 1.0, rtol=1e-6)

    def test_one_by_one_and_in_threads_as_in_a_batch(self, data, name, route):
        counts, S, queries = data
        neighbors = SoftNeighbors(S).fit(counts)
        fast = built(neighbors, name, route=route)
        together = fast.search(queries, 7, rerank=9, threads=2)
        for row in range(len(queries)):
            alone = fast.search(queries[row : row + 1], 7, rerank=9, threads=1)
            assert np.array_equal(alone.ids[0], together.ids[row])
            assert np.array_equal(alone.scores[0], together.scores[row])

    def test_saved_and_opened_it_answers_the_same(self, data, name, route, tmp_path):
        counts, S, queries = data
        neighbors = SoftNeighbors(S).fit(counts)
        fast = built(neighbors, name, route=route)
        path = fast.save(tmp_path / "engine")
        again = EngineIndex.open(path, neighbors)
        assert again.settings == fast.settings
        assert again.capabilities == fast.capabilities
        assert (again.route, again.n_dimensions) == (fast.route, fast.n_dimensions)
        ours, theirs = again.search(queries, 9), fast.search(queries, 9)
        assert np.array_equal(ours.ids, theirs.ids)
        assert np.array_equal(ours.scores, theirs.scores)

    def test_the_same_vectors_make_the_same_engine(self, data, name, route):
        counts, S, queries = data
        neighbors = SoftNeighbors(S).fit(counts)
        left, right = (built(neighbors, name, route=route).search(queries, 4) for _ in range(2))
        assert np.array_equal(left.ids, right.ids)
        assert np.array_equal(left.scores, right.scores)

    def test_it_can_what_its_capabilities_say(self, data, name, route):
        counts, S, queries = data
        neighbors = SoftNeighbors(S).fit(counts[:30])
        fast = built(neighbors, name, route=route)
        for able, rows in (
            (fast.capabilities.adds, counts[:34]),  # four more
            (fast.capabilities.incremental, np.vstack([counts[10:34], counts[:2], counts[38:]])),
        ):
            neighbors.fit(rows)
            assert fast.stale
            if not able:
                before = fast.search(queries, 5)
                with pytest.raises(InvalidInputError, match=r"cannot follow .* Build it anew"):
                    fast.update(threads=1)
                assert np.array_equal(fast.search(queries, 5).ids, before.ids)
                return
            assert fast.update(threads=1)
            assert not fast.stale
            assert not fast.updated.rebuilt
            assert not fast.update()
            assert len(fast) == len(rows)
            found = fast.search(queries, 10, rerank=len(rows))
            exact = neighbors.search(queries, k=10)
            assert np.array_equal(found.scores, exact.scores)

    def test_what_is_in_json_makes_it_again(self, data, name, route):
        counts, S, _ = data
        fast = built(SoftNeighbors(S).fit(counts), name, route=route)
        stored = json.loads(json.dumps(fast.settings))
        engine = engine_by_name(fast.engine, stored)
        assert isinstance(engine, Engine)
        assert dict(engine.settings) == stored
        assert fast.package.startswith(fast.engine)


@settings(max_examples=20)
@given(
    own.collections(matrices=own.definite_matrices),
    st.sampled_from(RANKINGS),
    st.sampled_from(["faiss flat", "annoy angular", "usearch, all"]),
    st.sampled_from(ROUTES),
)
def test_whatever_the_documents_the_answers_are_those_of_the_index(c, ranking, name, route):
    neighbors = SoftNeighbors(similarity_matrix(c.S), ranking=ranking)
    try:
        neighbors.fit(c.counts)
        exact = neighbors.search(c.queries, k=c.n_docs)
        fast = built(neighbors, name, route=route, n_dimensions=c.n_terms)
    except IndefiniteMatrixError:
        return
    found = fast.search(c.queries, c.n_docs)
    # The terms of a definite S may be all but equal: float32 then tells less than of others.
    check_near(found, exact, neighbors, c.queries, width=c.n_docs, tolerance=2e-5)
    again = fast.search(c.queries, c.n_docs, rerank=c.n_docs)
    assert np.array_equal(again.scores, exact.scores)


@settings(max_examples=25)
@given(
    st.lists(st.lists(st.integers(0, 19), max_size=20), min_size=2, max_size=4),
    st.sampled_from(["toy", "faiss flat", "usearch, all", "annoy dot"]),
)
def test_however_documents_come_and_go_the_answers_follow(states, name):
    counts, S = toy_data(7, n_docs=20)
    neighbors = SoftNeighbors(S)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.ENGINES, "toy", ENTRY)
        fast = built(neighbors.fit(counts[states[0]].reshape(-1, N_TERMS)), name)
        for chosen in states[1:]:
            rows = counts[chosen].reshape(-1, N_TERMS)
            neighbors.fit(rows)
            try:
                fast.update(threads=1)
            except InvalidInputError:  # a forest never changes
                assert name == "annoy dot"
                fast = built(neighbors, name)
            assert len(fast) == len(rows)
            found = fast.search(counts[:4], 20, rerank=20)
            exact = neighbors.search(counts[:4], k=20)
            assert np.array_equal(found.scores, exact.scores)
            positive = exact.scores > 0
            assert np.array_equal(found.ids[positive], exact.ids[positive])


class TestFaiss:
    def test_what_it_can_depends_on_the_factory(self, data):
        counts, S, _ = data
        neighbors = SoftNeighbors(S).fit(counts)
        able = Capabilities(exact=False, adds=True, deletes=True)
        for factory, expected in {
            "Flat": Capabilities(exact=True, adds=True, deletes=True),
            "IDMap,Flat": Capabilities(exact=True, adds=True, deletes=True),
            "HNSW8": Capabilities(exact=False, adds=True),
            "IVF2,Flat": able,
            "SQ8": able,
            "RR8,Flat": able,
        }.items():
            assert built(neighbors, "faiss", factory=factory).capabilities == expected

    @pytest.mark.parametrize(
        ("factory", "message"),
        [
            ("HNSW8,PQ2x4", "does not rank by dot product"),
            ("PCA4,Flat", "PCAMatrix changes dot products"),
            ("L2norm,Flat", "NormalizationTransform changes dot products"),
            ("nonsense", r"cannot make 'nonsense' of 37 vectors of 10 dimensions: could not"),
            ("IVF64,Flat", "should be at least as large as number of clusters"),
            ("PQ7", "cannot make 'PQ7'"),
        ],
    )
    def test_what_would_not_rank_by_dot_product_is_refused(self, data, factory, message):
        counts, S, _ = data
        neighbors = SoftNeighbors(S).fit(counts)
        with pytest.raises(InvalidInputError, match=message):
            built(neighbors, "faiss", factory=factory)

    def test_the_width_of_a_search_is_heeded(self):
        counts, S = toy_data(3, n_docs=400)
        neighbors = SoftNeighbors(S).fit(counts)
        fast = built(neighbors, "faiss", factory="IVF40,Flat", route="basis")
        narrow, broad = (fast.recall(counts[:50], 10, width=width) for width in (1, 40))
        assert narrow < 0.9
        assert broad == 1.0
        assert fast.recall(counts[:50], 10, width=1, rerank=50) < 1.0

    def test_threads_of_the_process_stay_as_they_were(self, data):
        need_engine("faiss")
        import faiss

        counts, S, queries = data
        before = faiss.omp_get_max_threads()
        fast = built(SoftNeighbors(S).fit(counts), "faiss flat")
        fast.search(queries, 3, threads=3)
        assert faiss.omp_get_max_threads() == before


class TestRoutes:
    def test_what_does_not_fit_goes_by_few_dimensions(self, data):
        counts, S, _ = data
        neighbors = SoftNeighbors(S).fit(counts)
        fast = built(neighbors, "faiss flat", max_memory=1000, n_dimensions=4)
        assert (fast.route, fast.n_dimensions) == ("lsa", 4)
        assert "40 documents have 0 MiB of coordinates in the basis of all 10" in fast.note
        assert fast.recall(counts[:10], 5) < 1.0
        assert fast.recall(counts[:10], 5, rerank=40) == 1.0
        few = SoftNeighbors(S).fit(counts[:1])
        assert "the factor of S has" in built(few, "faiss flat", max_memory=100).note

    def test_whatever_memory_is_allowed_some_route_is_found(self, data):
        counts, S, _ = data
        few = SoftNeighbors(S).fit(counts[:1])
        notes = {built(few, "faiss flat", max_memory=2**n).note for n in range(5, 20)}
        assert "" in notes
        assert any(note.startswith("factoring S takes more than") for note in notes)

    def test_an_s_without_a_basis_goes_by_few_dimensions(self, data):
        counts, _, _ = data
        S = np.eye(N_TERMS)
        S[0, 1] = S[1, 0] = S[1, 2] = S[2, 1] = 0.9
        neighbors = SoftNeighbors(similarity_matrix(S)).fit(counts)
        fast = built(neighbors, "faiss flat")
        assert fast.route == "lsa"
        assert fast.note == "S is not positive definite and has no basis"
        with pytest.raises(IndefiniteMatrixError):
            built(neighbors, "faiss flat", route="basis")

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"route": "svd"}, "route is 'svd'; it must be one of basis, lsa, auto"),
            ({"route": None}, "route is None"),
            ({"n_dimensions": 0}, "n_dimensions is 0; it must be a whole number of 1 or more"),
            ({"n_dimensions": 2.5}, "n_dimensions is 2.5"),
            ({"max_memory": -1}, "max_memory is -1"),
        ],
    )
    def test_wrong_choices_say_what_is_right(self, data, given, message):
        counts, S, _ = data
        with pytest.raises(InvalidInputError, match=message):
            built(SoftNeighbors(S).fit(counts), "faiss flat", **given)

    def test_a_factor_that_is_too_large_is_refused(self, data):
        counts, S, _ = data
        with pytest.raises((InvalidInputError, MemoryError), match="max_memory"):
            built(SoftNeighbors(S).fit(counts), "faiss flat", route="basis", max_memory=10)


class TestAnswers:
    def test_what_an_engine_does_not_find_is_told_as_minus_one(self, data, toy, monkeypatch):
        counts, S, queries = data
        neighbors = SoftNeighbors(S).fit(counts)
        fast = built(neighbors, "toy")

        def spoiled(found):
            found.slots[:, 1::2] = -1
            found.scores[:, 2] = np.nan
            found.slots[:, 4] = 10**9
            return found

        monkeypatch.setattr(ToyEngine, "answer", staticmethod(spoiled))
        found = fast.search(queries[:6], 8)
        assert not np.isnan(found.scores).any()
        # Slots 0 and 6 of eight remain, and the three documents of norm 0.
        answered = [0, 1, 2, 4, 5]  # document 3 reaches nothing
        assert (found.ids[answered, :5] >= 0).all()
        assert (found.ids[answered, 5:] == -1).all()
        assert (found.scores[answered, 5:] == -np.inf).all()

    def test_documents_of_no_length_come_where_zeros_come(self, data):
        _, S, _ = data
        counts = np.zeros((6, N_TERMS))
        counts[2, 0] = counts[4, 9] = 1
        S = similarity_matrix(np.eye(N_TERMS))
        neighbors = SoftNeighbors(S).fit(counts)
        for name in EXHAUSTIVE:
            fast = built(neighbors, name)
            found = fast.search(np.eye(N_TERMS)[:1], 6)
            assert found.ids[0, 0] == 2
            assert found.scores[0].tolist() == pytest.approx([1, 0, 0, 0, 0, 0], abs=1e-6)
            assert sorted(found.ids[0].tolist()) == [0, 1, 2, 3, 4, 5]

    @pytest.mark.parametrize("n_docs", [0, 3])
    def test_nothing_to_hold_finds_nothing(self, data, n_docs, tmp_path):
        _, S, queries = data
        neighbors = SoftNeighbors(S).fit(np.zeros((n_docs, N_TERMS)))
        for name in ENGINES:
            fast = built(neighbors, name)
            found = fast.search(queries, 5, rerank=3)
            assert found.ids.shape == (len(queries), n_docs)
            assert (found.scores == 0).all()
            assert fast.recall(queries) == fast.recall() == 1.0
            assert fast.n_dimensions == 0
            again = EngineIndex.open(fast.save(tmp_path / name), neighbors)
            assert np.array_equal(again.search(queries, 5).ids, found.ids)
        neighbors.fit(np.eye(N_TERMS))
        assert fast.update(threads=1)
        assert fast.search(queries[-1:], 1).ids.tolist() == [[1]]

    def test_scores_of_any_size_are_served(self):
        counts, S = toy_data(1)
        for size in (1e-30, 1e30):
            neighbors = SoftNeighbors(S, ranking="inner_product").fit(counts * size + 0.0)
            for name in ("faiss flat", "annoy angular", "usearch, all"):
                fast = built(neighbors, name)
                exact = neighbors.search(counts[:5] * size, k=10).scores
                found = fast.search(counts[:5] * size, 10).scores
                np.testing.assert_allclose(found, exact, rtol=1e-5)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"k": 0}, "k is 0"),
            ({"rerank": -1}, "rerank is -1; it must be a whole number from 0 to"),
            ({"rerank": 1.5}, "rerank is 1.5"),
            ({"width": -1}, "width is -1"),
            ({"threads": 0}, "threads is 0"),
        ],
    )
    def test_wrong_questions_say_what_is_right(self, data, given, message):
        counts, S, queries = data
        fast = built(SoftNeighbors(S).fit(counts), "faiss flat")
        with pytest.raises(InvalidInputError, match=message):
            fast.search(queries, **{"k": 3, **given})
        with pytest.raises(InvalidInputError, match=r"SoftNeighbors.*takes a matrix"):
            fast.hits(["tea"])

    def test_equal_scores_count_as_found(self, data):
        _, S, _ = data
        counts = np.tile(np.eye(N_TERMS)[0], (30, 1))
        fast = built(SoftNeighbors(S).fit(counts), "faiss graph")
        assert fast.recall(counts[:1], 5) == 1.0


TEXTS = (
    "a puncture in the bike's tyre",
    "the tea is getting cold",
    "flat tyre of a bicycle repaired",
    "",
    "my dog barks at the postman",
    "the kettle boils water for tea",
)
QUERIES = ("bicycle repair", "hound", "kitten drinks", "xyzzyx", "")


@pytest.fixture(scope="module")
def index():
    """An index by words and meaning, whose own ranking has no vectors."""
    return SoftIndex.from_texts(TEXTS, ranking="soft_tf_bm25", encoder="static")


class TestIndexes:
    @pytest.mark.parametrize("name", ENGINES)
    @pytest.mark.parametrize("ranking", ["soft_tf_bm25", "soft_cosine"])
    def test_texts_get_the_hits_of_the_index(self, index, name, ranking):
        fast = built(
            index, name, ranking=ranking, **({"factory": "SQ8"} if "quant" in name else {})
        )
        for syntax in (True, False):
            ours = fast.hits(QUERIES, k=4, rerank=6, syntax=syntax)
            theirs = index.search_batch(QUERIES, k=4, ranking=ranking, ask="words", syntax=syntax)
            for found, exact in zip(ours, theirs, strict=True):
                assert list(found) == list(exact)
                assert found.outside == exact.outside
                assert found.unknown == exact.unknown
                assert found.ranking == exact.ranking
                assert found.plan.method in (fast.engine, "nothing")
        assert [len(hits) for hits in ours][-2:] == [0, 0]

    @pytest.mark.parametrize("name", ENGINES)
    def test_the_index_ranks_the_candidates_by_words_and_meaning(self, index, name):
        fast = built(index, name, **({"factory": "SQ8"} if "quant" in name else {}))
        assert (fast.ranking, fast.vector_ranking) == ("soft_tf_bm25", "soft_bm25")
        assert not fast.linear
        ours, theirs = fast.hits(QUERIES[:2], k=4), index.search_batch(QUERIES[:2], k=4)
        for found, exact in zip(ours, theirs, strict=True):
            assert list(found) == list(exact)
            assert (found.ranking, found.plan.ask) == (exact.ranking, exact.plan.ask)
            assert "by soft BM25; the best 100 scored exactly by BM25 of soft" in found.plan.reason
            assert "words + 10 x cosine" in found.plan.reason
        assert fast.recall(QUERIES[:2]) == fast.recall() == 1.0
        assert [len(found) for found in fast.hits(QUERIES[-2:])] == [0, 0]

    def test_the_candidates_are_ranked_as_in_a_search_of_the_index(self):
        rng = np.random.default_rng(3)
        words = ["tyre", "tea", "dog", "bicycle", "kettle", "cup", "puncture", "water", "wheel"]
        texts = [" ".join(rng.choice(words, 6)) for _ in range(40)]
        index = SoftIndex.from_texts(texts, ranking="soft_tf_bm25", encoder="static")
        fast = built(index, "faiss flat")
        for query in (*words, "tea cup repair", "wheel of a bicycle"):
            candidates = set(fast.search([query], 8, rerank=0).ids[0].tolist())
            (found,) = fast.hits([query], k=8, rerank=8)
            exact = [hit for hit in index.search(query, k=40) if hit.number in candidates]
            assert list(found) == exact
            assert fast.search([query], 8, rerank=8).ids[0].tolist() == [
                hit.number for hit in exact
            ]

    def test_without_candidates_the_scores_are_those_of_the_vectors(self, index):
        fast, by_words = built(index, "faiss flat"), built(index, "faiss flat", ranking="soft_bm25")
        assert by_words.linear
        ours, theirs = fast.hits(QUERIES, rerank=0), by_words.hits(QUERIES)
        assert list(map(list, ours)) == list(map(list, theirs))
        assert {(found.ranking, found.plan.ask) for found in ours} == {("soft_bm25", "words")}
        assert 0 < fast.recall(QUERIES, 2, rerank=0) <= 1
        exact = index.search("tea tyre", ranking="soft_bm25", ask="words")
        np.testing.assert_allclose(
            [hit.score for hit in fast.hits(["tea tyre"], rerank=0)[0]],
            [hit.score for hit in exact], rtol=1e-5,
        )  # fmt: skip

    def test_a_linear_ranking_with_meaning_is_ranked_by_the_index(self):
        index = SoftIndex.from_texts(TEXTS, ranking="soft_bm25", encoder="static")
        fast = built(index, "faiss flat")
        assert (fast.ranking, fast.vector_ranking, fast.linear) == ("soft_bm25",) * 2 + (False,)
        assert list(fast.hits(["tea tyre"])[0]) == list(index.search("tea tyre"))
        without = SoftIndex.from_texts(TEXTS, ranking="soft_bm25", encoder=None)
        assert built(without, "faiss flat").linear

    def test_the_number_of_candidates_grows_with_the_results(self, index):
        fast = built(index, "faiss flat")
        (usual,), (more,) = fast.hits(["tea"]), fast.hits(["tea"], k=20, offset=5)
        (chosen,) = fast.search(["tea"], 3, rerank=2).plans
        counts = [plan.n_candidates for plan in (usual.plan, more.plan, chosen)]
        assert counts == [100, 250, 3]
        with pytest.raises(InvalidInputError, match="rerank is -1"):
            fast.hits(["tea"], rerank=-1)

    def test_numbers_and_pages_are_those_of_the_index(self, index):
        fast = built(index, "faiss flat")
        found = fast.search(QUERIES, 3)
        for row, exact in enumerate(index.search_batch(QUERIES, k=3)):
            numbers = [hit.number for hit in exact]
            assert found.ids[row].tolist() == numbers + [-1] * (3 - len(numbers))
        whole = index.search("tea tyre", k=10)
        page = fast.hits(["tea tyre"], k=1, offset=1, rerank=6)[0]
        assert (page.ids, page.offset) == (whole.ids[1:2], 1)
        least = whole[1].score
        (few,) = fast.hits(["tea tyre"], min_score=least, rerank=6)
        assert few.ids == whole.ids[:2]

    @pytest.mark.parametrize("name", EXHAUSTIVE)
    def test_rounding_makes_no_answer_of_a_score_of_zero(self, name):
        texts = ["tea cup", "dog bark dog", "kettle", "tea"]
        index = SoftIndex.from_texts(texts, plain=True, ranking="inner_product")
        fast = built(index, name, route="basis")
        assert set(fast.hits(["tea"])[0].ids) == {"0", "3"}
        assert (fast.search(["tea", "cup"]).ids >= 0).sum(axis=1).tolist() == [2, 1]

    def test_a_score_that_may_be_rounding_is_computed_exactly(self, index, monkeypatch):
        monkeypatch.setattr("softcosine.engines.state._ROUNDING", 2.0)
        fast = built(index, "faiss flat", ranking="soft_bm25")
        exact = index.search("tea tyre", ranking="soft_bm25", ask="words")
        assert list(fast.hits(["tea tyre"])[0]) == list(exact)

    def test_what_only_the_index_can_do_is_refused(self, index):
        fast = built(index, "faiss flat")
        for query in ("+tea", "-tea tyre", '"the tea"'):
            with pytest.raises(InvalidInputError, match="search the index itself"):
                fast.hits([query])
        with pytest.raises(InvalidInputError, match="single string"):
            fast.hits("tea")
        with pytest.raises(InvalidInputError, match="single string"):
            fast.search("tea")

    def test_several_fields_are_refused(self):
        texts = [{"title": "tea", "body": "a cup"}]
        index = SoftIndex.from_texts(texts, fields=["title", "body"], plain=True)
        with pytest.raises(InvalidInputError, match="fields title, body, each a space of its own"):
            built(index, "faiss flat")

    def test_the_weight_of_the_only_field_counts(self):
        index = SoftIndex.from_texts(
            [{"a": "tea cup"}, {"a": "tea"}], fields={"a": 2.5}, plain=True
        )
        fast = built(index, "faiss flat")
        exact = [hit.score for hit in index.search("tea")]
        assert [hit.score for hit in fast.hits(["tea"])[0]] == pytest.approx(exact)
        assert [hit.score for hit in fast.hits(["tea"], rerank=2)[0]] == exact

    def test_what_is_no_index_is_refused(self, index):
        with pytest.raises(InvalidInputError, match="is of type list; pass a SoftIndex"):
            EngineIndex.build(["tea"])
        with pytest.raises(NotFittedError):
            built(SoftNeighbors(index.S), "faiss flat")
        with pytest.raises(InvalidInputError, match="this SoftNeighbors ranks by soft_cosine"):
            built(SoftNeighbors(index.S).fit(np.eye(len(index.S))), "faiss", ranking="soft_bm25")
        with pytest.raises(InvalidInputError, match="ranking is 'best'"):
            built(index, "faiss flat", ranking="best")


class TestRegistry:
    @pytest.mark.parametrize(
        ("name", "given", "message"),
        [
            ("lucid", {}, "engine is 'lucid'; it must be one of annoy, faiss, hnswlib, usearch"),
            (3, {}, "engine is 3"),
            (
                "faiss",
                {"depth": 3},
                "faiss has no setting 'depth'; its settings are factory, width",
            ),
            ("faiss", {"width": 0}, "faiss: width is 0; it must be a whole number from 1 to"),
            ("faiss", {"factory": 7}, "faiss: factory is of type int"),
            ("annoy", {"metric": "euclidean"}, "it must be one of angular, dot"),
            ("annoy", {"trees": "many"}, "annoy: trees is 'many'"),
            ("hnswlib", {"links": 1.5}, "hnswlib: links is 1.5"),
            ("usearch", {"dtype": "f8"}, "usearch: dtype is 'f8'; it must be one of f32"),
            ("usearch", {"exact": 1}, "usearch: exact is 1"),
        ],
    )
    def test_what_there_is_not_is_told(self, name, given, message):
        if name in registry.ENGINES:
            need_engine(name)
        with pytest.raises(InvalidInputError, match=message):
            engine_by_name(name, given)

    @pytest.mark.parametrize(
        ("engine", "module"),
        [
            ("faiss", "faiss"),
            ("annoy", "annoy"),
            ("hnswlib", "hnswlib"),
            ("usearch", "usearch.index"),
        ],
    )
    def test_a_missing_package_is_told_with_the_command(self, data, monkeypatch, engine, module):
        monkeypatch.setitem(__import__("sys").modules, module, None)
        counts, S, _ = data
        neighbors = SoftNeighbors(S).fit(counts)
        command = rf"pip install 'softcosine\[{engine}\]'"
        with pytest.raises(MissingDependencyError, match=command):
            EngineIndex.build(neighbors, engine)


def test_vectors_of_no_documents_have_no_columns():
    fast = built(SoftIndex.from_texts(["", ""], ids=["a", "b"]), "faiss")
    assert fast.document_vectors().shape == (0, 0)
    assert fast.query_vectors(["ant", "bee"]).shape == (2, 0)
    assert fast.document_ids() == []


@pytest.mark.parametrize("scale", [1e60, 1e-60])
def test_query_vectors_that_float32_cannot_hold_are_refused(scale):
    neighbors = SoftNeighbors(similarity_matrix(np.eye(3)), ranking="inner_product")
    fast = built(neighbors.fit(np.eye(3) * scale), "faiss")
    assert fast.search(np.eye(3), 1).ids.ravel().tolist() == [0, 1, 2]
    with pytest.raises(InvalidInputError, match=r"query 1 has the length 1e[+-]60, beyond float32"):
        fast.query_vectors(np.array([[0.0, 0, 0], [0, 1, 0]]))
    assert (fast.query_vectors(np.eye(3) / scale) @ fast.document_vectors().T == np.eye(3)).all()
