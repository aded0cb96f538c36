"""Hits of many queries in a file: those of a search."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softcosine as sc
from sharded import QUERIES, RANKINGS, documents_of, epoch, in_folders, one_index
from softcosine.errors import (
    AlreadyExistsError,
    DeadlineExceededError,
    InvalidInputError,
)
from softcosine.evaluate.runs import Run
from softcosine.index.search import offline

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
IDS = [f"q{number}" for number in range(len(QUERIES))]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """One index in a folder and the same documents in shards."""
    documents = documents_of("static", np.random.default_rng(1), 60)
    path = tmp_path_factory.mktemp("offline")
    in_folders(epoch("static"), path / "big.shards", documents, 3)
    one_index(epoch("static"), documents).save(path / "one.index")
    with sc.ShardedIndex.open(path / "big.shards") as shards:
        yield sc.SoftIndex.open(path / "one.index"), shards


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(offline, "_BLOCK", 3)


def rows_of(file):
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def expected(index, queries, ids, offset=0, **options):
    return [
        {"query": id, "rank": rank, "document": hit.id, "score": hit.score}
        for id, hits in zip(ids, index.search_batch(queries, offset=offset, **options), strict=True)
        for rank, hit in enumerate(hits, offset + 1)
    ]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(QUERIES), max_size=9),
    st.fixed_dictionaries(
        {},
        optional={
            "k": st.integers(0, 30), "offset": st.integers(0, 3),
            "ranking": st.sampled_from(RANKINGS), "correct": st.booleans(), "fill": st.booleans(),
            "where": st.sampled_from([None, {"tag": "a"}]), "min_score": st.sampled_from([0, 0.5]),
            "ask": st.sampled_from(["words", "static"]), "mmr": st.sampled_from([None, 0.5]),
        },
    ),
    st.integers(1, 5),
)  # fmt: skip
def test_a_file_has_the_hits_of_a_search(both, example_folder, queries, options, block):
    folder = example_folder()
    written = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offline, "_BLOCK", block)
        for number, index in enumerate(both):
            file = folder / f"{number}.jsonl"
            assert index.search_batch(queries, to=file, **options) == len(queries)
            ids = [str(place) for place in range(1, len(queries) + 1)]
            assert rows_of(file) == expected(index, queries, ids, **options)
            written.append(file.read_bytes())
    assert written[0] == written[1]
    assert sorted(file.name for file in folder.iterdir()) == ["0.jsonl", "1.jsonl"]


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".run"])
def test_bytes_do_not_depend_on_shards_and_nothing_is_left_of_what_was_stopped(
    both, tmp_path, small, ending
):
    one, shards = both
    at_once, seen = tmp_path / f"a{ending}", []
    one.search_batch(QUERIES, to=at_once, ids=IDS, progress=lambda *done: seen.append(done))
    n_queries = len(QUERIES)
    assert seen == [(min(n, n_queries), n_queries) for n in range(3, n_queries + 3, 3)]
    again = tmp_path / f"b{ending}"

    def stop(done, total):
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shards.search_batch(QUERIES, to=again, ids=IDS, progress=stop)
    assert [file.name for file in tmp_path.iterdir()] == [at_once.name]
    assert shards.search_batch(iter(QUERIES), to=again, ids=iter(IDS)) == n_queries
    assert again.read_bytes() == at_once.read_bytes()
    with pytest.raises(AlreadyExistsError, match="exists already"):
        one.search_batch(QUERIES, to=again)
    one.search_batch(QUERIES, to=again, ids=IDS, overwrite=True)
    assert again.read_bytes() == at_once.read_bytes()
    if ending == ".parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(at_once)
        assert table.to_pylist() == expected(one, QUERIES, IDS)
    if ending == ".run":
        hits = one.search_batch(QUERIES)
        rankings = {id: tuple(own.ids) for id, own in zip(IDS, hits, strict=True) if len(own)}
        assert Run.read(at_once) == Run(rankings)


def test_bad_input_is_named(both, tmp_path, small):
    one, _ = both
    memory = sc.SoftIndex.from_texts(["tea"], ids=["with space"], plain=True)
    for index, queries, to, options, problem in (
        (one, QUERIES, "hits.xyz", {}, "unknown format"),
        (one, "tea", "hits.jsonl", {}, "single"),
        (one, 5, "hits.jsonl", {}, "of type int"),
        (one, ["tea", {1, 2}], "hits.jsonl", {}, "of type set"),
        (one, ["tea"], "hits.jsonl", {"ids": ["a", "b"]}, "more ids than queries"),
        (one, ["tea", "cup"], "hits.jsonl", {"ids": ["a"]}, "more queries than ids"),
        (one, ["tea"], "hits.jsonl", {"ids": [5]}, "no string"),
        (one, ["tea"], "hits.jsonl", {"facets": ["tag"]}, "facets"),
        (one, ["tea"], "hits.run", {"ids": ["a b"]}, "the id of a query"),
        (memory, ["tea"], "hits.run", {}, "the id of a document"),
        (one, tmp_path / "none.jsonl", "hits.jsonl", {"ids": ["a"]}, "leave them out"),
    ):
        with pytest.raises(InvalidInputError, match=problem):
            index.search_batch(queries, to=tmp_path / to, **options)
    with pytest.raises(FileNotFoundError):
        one.search_batch(tmp_path / "none.jsonl", to=tmp_path / "hits.jsonl")
    with pytest.raises(FileNotFoundError, match="none does not exist"):
        one.search_batch(["tea"], to=tmp_path / "none" / "hits.jsonl")
    for queries, options in (
        (tmp_path / "queries.txt", {}), (["tea"], {"ids": ["a"]}),
        (["tea"], {"overwrite": True}), (["tea"], {"progress": print}),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError, match="pass to=FILE"):
            one.search_batch(queries, **options)
    assert not list(tmp_path.iterdir())
    (tmp_path / "a.jsonl").mkdir()
    with pytest.raises(AlreadyExistsError, match="is a folder"):
        one.search_batch(["tea"], to=tmp_path / "a.jsonl", overwrite=True)


def test_no_shard_may_be_missing(both, tmp_path, monkeypatch):
    from softcosine.cluster.workers import ThreadWorkers

    scatter = ThreadWorkers.scatter

    def without_the_last(self, method, calls, seconds):
        answers = scatter(self, method, calls, seconds)
        if method == "found":
            answers.pop(2)
        return answers

    monkeypatch.setattr(ThreadWorkers, "scatter", without_the_last)
    with pytest.raises(DeadlineExceededError, match="shard-0002 did not answer"):
        both[1].search_batch(QUERIES, to=tmp_path / "hits.jsonl")


FULL = """
import resource, signal, sys
import softcosine as sc
from softcosine.index.search import offline
index, to, most = sys.argv[1:]
offline._BLOCK = 3
opened = sc.SoftIndex.open(index)
opened.search("tea")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
try:
    opened.search_batch(["green tea", "flat tyre"] * 20, to=to)
except OSError as error:
    print(error)
    sys.exit(7)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
@pytest.mark.parametrize("most", [100, 4_000])
def test_nothing_is_left_on_a_full_disk(both, tmp_path, most):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(both[0].path), str(tmp_path / "hits.jsonl"), str(most)],
        check=False, capture_output=True, text=True, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 7, done.stderr
    assert not list(tmp_path.iterdir())


def test_the_command_writes_the_same(run, both, tmp_path):
    one, _ = both
    queries = tmp_path / "queries.tsv"
    texts = [text for text in QUERIES if text and '"' not in text]
    queries.write_text("id\ttext\n" + "".join(f"q{n}\t{text}\n" for n, text in enumerate(texts)))
    ids = [f"q{n}" for n in range(len(texts))]
    options = {"k": 4, "where": {"tag": "a"}, "syntax": False, "ranking": "soft_cosine"}
    for index in both:
        to = tmp_path / f"{index.path.name}.jsonl"
        arguments = [
            "collection",
            "batch",
            index.path,
            queries,
            "-o",
            to,
            "-k4",
            "--where",
            "tag=a",
        ]
        arguments += ["--no-syntax", "--ranking", "soft_cosine"]
        record = json.loads(run(*arguments, "--json"))
        assert (record["queries"], record["file"]) == (len(texts), str(to))
        assert rows_of(to) == expected(one, texts, ids, **options)
        assert f"Queries: {len(texts)}, searched in" in run(*arguments, "--overwrite")
        assert rows_of(to) == expected(one, texts, ids, **options)
        assert "already" in run(*arguments, code=1)
    assert "unknown format" in run("collection", "batch", one.path, queries, "-o", "hits", code=2)


def test_the_command_reads_lines_from_standard_input(run, both, tmp_path, monkeypatch):
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"green tea\nflat tyre\n")))
    )
    run("collection", "batch", both[0].path, "-", "-o", tmp_path / "hits.jsonl", "--ask", "words")
    assert rows_of(tmp_path / "hits.jsonl") == expected(
        both[0], ["green tea", "flat tyre"], ["1", "2"], ask="words"
    )
