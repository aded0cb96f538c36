"""A tiny case of each benchmark still works. Time is never judged."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import JIT

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """Import a script of the folder by its name; what it imports is found there."""
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


def test_search(benchmark, workload):
    pytest.importorskip("gensim")
    pytest.importorskip("sparse_dot_topn")
    rows = benchmark("search").race(workload, 5, n_queries=4, n_slow=2, runs=1)
    assert len(rows) == 13
    assert {row["asked"] for row in rows} == {"one by one", "batch"}
    assert benchmark("search").described(workload, (5,), 4)["documents"] == 60


def test_vocabulary_growth(benchmark, workload):
    script = benchmark("vocabulary_growth")
    base = script.frequent_part(workload, 50)
    rows = script.measured(base, times=(1, 3), n_terms=4, n_queries=3, runs=1)
    assert [row["S of"] for row in rows] == [
        "50 terms", "50 terms, batch", "150 terms", "150 terms, batch",
    ]  # fmt: skip


def test_indexing(benchmark, texts):
    pytest.importorskip("bm25s")
    script = benchmark("indexing")
    assert script.check(texts) < 1e-5
    assert len(script.measured(texts, runs=1, slow_runs=0)) == 4


def test_scatter(benchmark, workload):
    sizes = {"1 KB": 256, "2 KB": 512}
    rows = benchmark("scatter").measured(
        workload, sizes=sizes, n_postings=2_000, lengths=(5,), n_queries=2, runs=1
    )
    assert [row["what"] for row in rows] == [
        *(f"scatter, {size} of scores" for size in sizes), "search, 5 terms, 0 KB of scores",
    ]  # fmt: skip


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
    assert plain["hits@5"] == 0 < plain["hits@5, all keywords"]
    assert demo["hits@5"] > 0


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
    assert "cat" in script.run(script.DEMO, tmp_path)
    assert script.hits(script.run((*script.DEMO, "--json"), tmp_path))
    assert set(script.contestants(tmp_path)) >= {"demo, later", "demo, the first time"}


def test_corpus_sources(benchmark, texts):
    rows = benchmark("corpus_sources").race(texts, memory=1 << 16, max_regressed=50, runs=1)
    assert len(rows) == 10


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
