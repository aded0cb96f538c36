"""A tiny case of each benchmark still works. Time is never judged."""

from __future__ import annotations

import gc
import importlib
import itertools
import json
import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from conftest import JIT
from softcosine.index.soft_index import SoftIndex
from softcosine.space.basis import orthonormal_basis

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """Import a script of the folder by its name; what it imports is found there."""
    # Collecting the garbage of a whole test run before every timing would take most of the time.
    monkeypatch.setattr(gc, "collect", lambda: 0)
    monkeypatch.syspath_prepend(str(FOLDER))
    names = {path.stem for path in FOLDER.glob("*.py")}

    def load(name):
        return importlib.import_module(name)

    yield load
    for name in names & sys.modules.keys():
        del sys.modules[name]


@pytest.fixture(scope="module")
def texts():
    """Messages of frequent and rare words, so that terms keep company."""
    generator = np.random.default_rng(0)
    words = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(120)]
    shares = 1 / np.arange(1, 121)
    return [" ".join(generator.choice(words, 40, p=shares / shares.sum())) for _ in range(60)]


@pytest.fixture
def workload(benchmark, texts, tmp_path):
    return benchmark("newsgroups").load_workload(
        texts, cache=tmp_path, min_df=2, max_neighbors=6, dimensions=8
    )


def test_learned_similarities_are_kept(benchmark, workload, texts, tmp_path):
    again = benchmark("newsgroups").load_workload(
        texts, cache=tmp_path, min_df=2, max_neighbors=6, dimensions=8
    )
    assert np.array_equal(again.S.to_scipy().toarray(), workload.S.to_scipy().toarray())


def test_search(benchmark, workload, texts):
    pytest.importorskip("gensim")
    pytest.importorskip("sparse_dot_topn")
    rows = benchmark("search").race(workload, 5, n_queries=4, n_slow=2, n_nmslib=3, runs=1)
    peers = {row["contestant"].partition(",")[0] for row in rows}
    assert {"softcosine", "SciPy", "sparse_dot_topn", "gensim"} <= peers
    assert {row["asked"] for row in rows} == {"one by one", "batch"}
    assert benchmark("search").described(workload, (5,), 4)["documents"] == 60
    around = benchmark("search").default_search(texts, n_queries=2, runs=1)
    assert around["calls of a default search"] > 0


def test_indexing(benchmark, texts):
    pytest.importorskip("bm25s")
    script = benchmark("indexing")
    assert script.check(texts) < 1e-5
    assert len(script.measured(texts, runs=1)) == 6


def test_lists_are_ascending_and_of_the_lengths_asked(benchmark):
    lengths = np.array([1, 7, 50])
    documents, starts = benchmark("million").drawn_lists(50, lengths, 200)
    sizes = np.diff(starts)
    assert set(sizes.tolist()) <= {1, 7, 50}
    assert starts[-1] >= 200
    assert documents.max() < 50
    for start, stop in itertools.pairwise(starts):
        assert np.all(np.diff(documents[start:stop].astype(np.int64)) > 0)


def test_a_drawn_document_is_the_same_in_every_collection(benchmark, workload):
    drawn = benchmark("synthetic").Synthetic.like(workload.counts, terms=12)
    X = drawn.part(0, 400)
    assert abs(X.nnz / 400 - 12) < 2
    assert (X[150:200] != drawn.part(150, 200)).nnz == 0
    spelled = benchmark("synthetic").words(workload.S.vocabulary.terms)
    texts = list(drawn.texts(20, spelled))
    for row, text in enumerate(texts):
        expected = np.repeat(X[[row]].indices, X[[row]].data)
        assert sorted(text.split()) == sorted(spelled[term] for term in expected)


def test_million(benchmark, workload):
    script = benchmark("million")
    drawn = benchmark("synthetic").Synthetic.like(workload.counts, terms=12)
    small, large = (script.collection(workload, drawn, size) for size in (60, 300))
    rows = script.searched(small, large, lengths=(3,), n_queries=5, runs=1, n_yardstick=1_000)
    assert len(rows) == 7


def test_joined_segments_are_the_segment_of_all(benchmark, workload):
    counts = workload.counts
    segment = type(workload.segment)
    found = benchmark("million").joined(
        [segment.from_counts(counts[:25]), segment.from_counts(counts[25:])]
    )
    for name, array in workload.segment.to_arrays().items():
        assert np.array_equal(getattr(found, name), array), name


def test_million_indexing(benchmark, workload, tmp_path):
    script = benchmark("million_indexing")
    drawn = benchmark("synthetic").Synthetic.like(workload.counts, terms=12)
    script.write_texts(drawn, workload, 30, tmp_path / "texts.txt")
    names = ("softcosine, in memory and saved", "no such program")
    rows = script.indexed(tmp_path / "texts.txt", 30, 360, tmp_path, names)
    assert rows[0]["documents"] == 30
    assert "left out" in rows[1]
    path = tmp_path / "softcosine-in-memory-and-saved"
    (row,) = script.opened({30: path}, "worda", runs=1)
    assert row["open ms, median"] > 0


def test_norms(benchmark, workload):
    rows, difference = benchmark("norms").measured(workload, runs=1, slow_runs=1)
    assert len(rows) == 5
    assert difference < 1e-12


def test_bm25(benchmark, workload):
    pytest.importorskip("bm25s")
    script = benchmark("bm25")
    soft, plain = script.workloads(workload)
    rows = script.race(soft, plain, 4, n_queries=3, runs=1, backends=("numpy",))
    assert len(rows) == 3 + 6


def test_all_pairs(benchmark, workload):
    pytest.importorskip("sparse_dot_topn")
    rows = benchmark("all_pairs").race(workload, threads=2, runs=1)
    assert {row["contestant"] for row in rows} >= {"softcosine", "sparse_dot_topn"}


@pytest.mark.skipif(not JIT, reason="indexes all symbols, which takes minutes without the compiler")
def test_symbols(benchmark, tmp_path):
    annotations = tmp_path / "en.xml"
    annotations.write_text(
        "<ldml><annotations>"
        '<annotation cp="🐈">cat | pet | kitten</annotation>'
        '<annotation cp="🐈" type="tts">cat</annotation>'
        '<annotation cp="✈">aeroplane | jet</annotation>'
        "</annotations></ldml>",
        encoding="utf-8",
    )
    rows, described = benchmark("symbols").measured(annotations)
    assert described["keywords"] == 5
    assert described["keywords in no name of their symbols"] == 4
    demo, _, plain, _ = rows
    assert plain["hits@5"] < plain["hits@5, all keywords"]
    assert demo["hits@5"] > 0


def test_documentation(benchmark):
    script = benchmark("documentation")
    texts = ["Tools for a chatbot, a language model", "Tables of all measurements"]
    index = SoftIndex.from_texts(texts, ids=["mcp.html#tools 2", "reference/tables.html#tables"])
    words, default = script.figures(index, encoder=None)
    assert words["looked at: first"] == default["looked at: first"] == "1 of 30"
    assert default["held out: among three"] == "0 of 15"
    assert script.rank(["a.html#x", "a.html#x 2", "b.html#y"], ["b#y"]) == 2


def test_defaults(benchmark):
    script, test_sets = benchmark("defaults"), benchmark("test_sets")
    tiny = test_sets.TestSet(
        name="tiny",
        texts=["a flat tyre on a bike", "a cup of tea", "hot coffee"],
        queries=["bicycle", "tea"],
        gains=[{0: 1.0}, {1: 1.0}],
        candidates=None,
        measure="ndcg",
    )
    best, worst = script.DEFAULT, script.COSINE
    figures = script.measure_collection(tiny, [best, worst])
    assert figures[best].tolist() == [1, 1]
    assert figures[worst].tolist() == [0, 1]
    gain, low, high = test_sets.gain_interval({"tiny": figures[best]}, {"tiny": figures[worst]})
    assert gain == 0.5
    assert low <= gain <= high


@pytest.mark.skipif(not JIT, reason="runs the demo, which takes minutes without the compiler")
def test_startup(benchmark, tmp_path):
    script = benchmark("startup")
    (tmp_path / "kernels").symlink_to(os.environ["NUMBA_CACHE_DIR"])  # compiled already
    assert "cat" in script.run(script.DEMO, tmp_path)
    assert len(script.hits(script.run(script.DEMO, tmp_path))) >= 3
    calls = script.contestants(tmp_path, tmp_path / "cacm.index")
    assert set(calls) >= {"softcosine search INDEX WORDS", "demo, the first time"}
    names = ["import numpy", "Python alone"]
    rows = script.measured({name: calls[name] for name in names}, runs=1)
    assert [row["contestant"] for row in rows] == names
    assert rows[0]["times that of the first"] == 1


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # gensim leaves the file open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_loading(benchmark, tmp_path):
    pytest.importorskip("gensim")
    pytest.importorskip("pandas")
    script = benchmark("loading")
    path = tmp_path / "vectors.txt"
    words = script.write_text(path, 50, 4)
    script.check(path)
    assert len(script.measured(path, words, runs=1, slow_runs=1)) in (5, 7)


def test_edit_distance(benchmark):
    pytest.importorskip("rapidfuzz")
    script = benchmark("edit_distance")
    words = tuple(a + b + c + d for a in "ab" for b in "ab" for c in "ab" for d in ("", "a", "bc"))
    assert script.check(words, 1) < script.check(words, 2)
    rows = script.joins(words, runs=1) + script.joins_at_scale(words, runs=1)
    rows += script.single_words(words, runs=1, n_asked=2)
    assert len(rows) == 13


def test_neighbors(benchmark):
    script = benchmark("neighbors")
    words = tuple(f"w{i}" for i in range(300))
    rows = script.race(words, script.made(300, 8), runs=1, what="tiny")
    assert {"bare sgemm", "softcosine, all words at once"} <= {row["contestant"] for row in rows}


def test_build_matrix(benchmark):
    script = benchmark("build_matrix")
    rows, facts = script.race(*script.english(200), runs=1, what="tiny")
    assert len(rows) in (2, 3)
    assert facts["entries a column"] >= facts["entries a column, gensim"]
    assert len(script.assembly(500, runs=1)) == 2


@pytest.mark.skipif(not JIT, reason="searches for every document, which takes minutes without it")
def test_clustering(benchmark, texts, workload):
    pytest.importorskip("networkx")
    pytest.importorskip("sklearn")
    script = benchmark("clustering")
    labels = np.arange(60) % 3
    X = workload.weighted()
    matrices = {"plain": workload.S.identity(workload.S.vocabulary), "soft": workload.S.shrunk()}
    rows = script.measured(X, labels, matrices, seeds=2, graph_seeds=2, dimensions=4, n_neighbors=3)
    assert len(rows) == 3 + 3
    assert all(0 <= row["NMI, mean"] <= 1 for row in rows)
    kept = script.similarity_kept(X, matrices, dimensions=(3,))
    assert len(kept) == 2


def test_clusters_are_those_of_coordinates(benchmark, workload):
    pytest.importorskip("networkx")
    pytest.importorskip("sklearn")
    script = benchmark("clustering")
    S, X = workload.S.shrunk(), workload.weighted()
    Y = script.unit_documents(X, S)
    Z = csr_array(orthonormal_basis(S).coordinates(Y))
    for seed in range(3):
        by_S = script.spherical_k_means(Y, S.to_scipy().astype(float), 4, seed=seed)
        by_coordinates = script.spherical_k_means(Z, None, 4, seed=seed)
        assert np.array_equal(by_S, by_coordinates)


def test_basis(benchmark):
    script = benchmark("basis")
    words = script.EmbeddingSimilarity.english().words[:60]
    rows, fitted = script.measured(words, (10, 20), (30, 40), runs=1, once=30)
    assert [row["n"] for row in rows] == [10, 10, 10, 20, 20, 20, 30, 30, 30, 40, 40]
    assert len(fitted) == 3


def test_fill_in(benchmark):
    script = benchmark("fill_in")
    words = script.EmbeddingSimilarity.english().words[:80]
    bounds = script.Bounds(ours=3_000)
    rows = script.measured(words, (40, 80), (4, 10), runs=1, bounds=bounds)
    assert len(rows) == 2 * 2 * 2
    made = [row for row in rows if "entries" in row]
    assert all(row["entries"] == row["entries, estimated"] for row in made)
    assert any("not made" in str(row["factor s"]) for row in rows)
    assert all("SuperLU s" in row for row in made)


def test_frequent_words_are_kept(benchmark, monkeypatch, tmp_path):
    script = benchmark("fill_in")
    messages = ["dead king"] * 4 + ["tea king", "qqqq"] * 3
    monkeypatch.setattr(script, "newsgroups", lambda: messages)
    assert script.frequent_words(tmp_path, n=5) == ["king", "dead", "tea"]
    monkeypatch.setattr(script, "newsgroups", list)
    assert script.frequent_words(tmp_path, n=5) == ["king", "dead", "tea"]


def test_languages(benchmark):
    script = benchmark("languages")
    texts = ["der Hund und die Katze sind im Garten", "das Haus ist nicht auf dem Berg"] * 60
    shares = script.recognised(texts, "german")
    assert set(shares) == set(script.SIZES)
    assert shares[10] == (1.0, 0.0)


def test_multilingual(benchmark, monkeypatch, tmp_path):
    script = benchmark("multilingual")
    page = (
        '<page xmlns="http://projectmallard.org/1.0/"><info><desc>{}</desc></info>'
        "<title>Hilfe</title><p>{}</p></page>"
    )
    described = [
        "Wie alles vorher war", "Wie alles vorher war", "Zu kurz", "Wort " * 31, "wort4 " * 4,
        "Wie man Bilder malt", "Wie man Briefe schreibt",
    ]  # fmt: skip
    for number, query in enumerate(described):
        (tmp_path / f"{number}.page").write_text(page.format(query, f"wort{number} " * 40))
    found = script.judged("toy", "German", script.pages(tmp_path), [("6.page", "How to", "")])
    assert found.documents.ids == ("0.page", "1.page", "4.page", "5.page", "6.page")
    assert set(found.queries.texts) == {"Wie man Bilder malt", "Wie man Briefe schreibt"}
    monkeypatch.setattr(script, "N_DOCUMENTS", 3)
    same = [("1.page", described[1], "")]  # not translated
    found = script.judged("toy", "German", script.pages(tmp_path), same)
    assert found.documents.ids == ("0.page", "5.page", "6.page")
    assert found.qrels == {id: {id: 1.0} for id in found.documents.ids}
    values = {script.BOTH: np.array([1.0, 0.6]), script.WORDS: np.array([0.5, 0.5])}
    assert script.gain([values]) == "+60.0 [+20.0, +100.0]"


def test_first_stage(benchmark, texts):
    pytest.importorskip("bm25s")
    pytest.importorskip("faiss")
    script = benchmark("first_stage")
    index = SoftIndex.from_texts(texts, plain=True, ranking="soft_bm25")
    queries = script.ready_queries(index, script.drawn_queries(index, 4))
    rows = script.measured(
        "toy", index.words(), queries, runs=1, n_timed=2, stages=("0:1", "all:100")
    )
    assert [row["recall@10"] for row in rows][-1] == 1.0
    (large,) = script.enlarged(index, 90, "soft_bm25")
    both, asked = script.with_meaning(large, script.ready_queries(index, texts[:2], large))
    (row,) = script.measured(
        "drawn", large, asked, runs=1, n_timed=2, stages=("all:10",), both=both
    )
    assert row["documents"] == 90
    index = SoftIndex.from_texts(texts)
    rows = script.recall_of(index, texts[:2], [script.FirstStage(None, 60)])
    assert [row["recall@10"] for row in rows] == [1.0] * len(script.RANKINGS)


def test_meaning(benchmark, workload):
    pytest.importorskip("bm25s")
    pytest.importorskip("faiss")
    script = benchmark("meaning")
    calls, sizes = script.glued(workload, 60, 2)
    assert calls.keys() == sizes.keys()
    for call in calls.values():
        assert len(call()) == 2
    words = workload.searcher.words
    assert len(script.our_sizes(words, script.with_coordinates(words, 0))) == 2
    assert 20 < script.lines_of_code(script.ByHand) < 50


def test_the_http_server_is_measured(benchmark, texts):
    pytest.importorskip("prometheus_client")
    index = SoftIndex.from_texts(texts, plain=True)
    peers = [name for name in ("bm25s", "tantivy") if find_spec(name)]
    rows, facts = benchmark("serve").measured(index, [2], seconds=0.3, peers=peers)
    assert [row["way"] for row in rows] == [
        "in process", "HTTP", "HTTP, beside a writer", "HTTP, 2 workers",
        *(f"HTTP, {name}" for name in peers),
    ]  # fmt: skip
    assert facts["documents"] == 60


def test_an_answer_of_the_http_server_is_measured_against_its_search(benchmark, texts):
    pytest.importorskip("prometheus_client")
    rows, facts = benchmark("serve").answers(SoftIndex.from_texts(texts, plain=True), runs=1)
    assert next(row["of the search"] for row in rows) == 1.0
    assert all(row["CPU ms"] >= 0.0 for row in rows)
    assert facts["documents"] == len(texts)


def test_remote_index(benchmark, texts):
    pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    rows, parameters = benchmark("remote_index").measured(texts, runs=1)
    assert parameters["bytes of its pickle"] < 1000
    assert [one["requests"] for one in rows if one["what"] == "URL, later"] == [1]


@pytest.mark.skipif(not JIT, reason="starts processes that search without the compiler")
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_shards(benchmark, texts, tmp_path):
    pytest.importorskip("joblib")
    script = benchmark("shards")
    kinds = (script.KINDS[0], replace(script.KINDS[1], n_shards=2))
    rows, paths = script.building(texts, 40, 1, tmp_path, kinds)
    assert [row["index"] for row in rows] == list(paths)
    with script.closing_all(paths) as indexes:
        whole = indexes[script.ONE]
        queries = script.drawn_queries(whole, 3, (2, 4))
        rows = script.searched(indexes, queries, runs=1)
        assert len(rows) == len(indexes) * len(script.SEARCHES)
        postings, read = script.touched(whole, queries)
        assert 0 < read < postings
    asked = tmp_path / "queries.json"
    asked.write_text(json.dumps(queries))
    rows = script.in_memory({"none": None, **paths}, asked)
    assert rows[0]["anonymous MiB"] > 0


@pytest.mark.skipif(not JIT, reason="starts processes that search without the compiler")
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_shards_answer_as_one_index(benchmark, texts, tmp_path, monkeypatch):
    pytest.importorskip("joblib")
    script = benchmark("shards_equal")
    monkeypatch.setattr(script, "KINDS", [(*script.KINDS[0][:2], ("soft_bm25",))])
    found = list(script.rows("small", texts * 7, 2, 3, tmp_path))
    assert [row["state"] for row in found] == ["built", "changed"]
    assert [row["different"] for row in found] == [0, 0]
    assert {row["searches"] for row in found} == {3 * len(script.WAYS)}


def test_shards_on_ray(benchmark, texts, tmp_path):
    pytest.importorskip("ray")
    script = benchmark("shards")
    kinds = (script.KINDS[0], replace(script.KINDS[1], n_shards=2))
    _, paths = script.building(texts, 40, 1, tmp_path, kinds)
    whole, path = SoftIndex.open(paths[script.ONE]), paths[kinds[1].name]
    rows, actors = script.on_ray(path, whole, ["worda wordb"], runs=1)
    assert (len(rows), len(actors)) == (len(script.SEARCHES), 2)
