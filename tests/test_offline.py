"""Hits of many queries in a file: those of a search, whatever happens on the way."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softcosine as sc
from sharded import QUERIES, RANKINGS, documents_of, epoch, in_folders, one_index
from softcosine.errors import (
    AlreadyExistsError,
    CommitNotFoundError,
    DeadlineExceededError,
    IndexLockedError,
    InvalidInputError,
)
from softcosine.evaluate.runs import Run
from softcosine.index import blocks
from softcosine.index.search import offline
from toy_encoder import ToyEncoder

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
            "ranking": st.sampled_from(RANKINGS), "fuzzy": st.booleans(), "fill": st.booleans(),
            "where": st.sampled_from([None, {"tag": "a"}]), "min_score": st.sampled_from([0, 0.5]),
            "ask": st.sampled_from(["words", "static"]), "mmr": st.sampled_from([None, 0.5]),
        },
    ),
    st.integers(1, 5),
)  # fmt: skip
def test_a_file_has_the_hits_of_a_search(both, tmp_path_factory, queries, options, block):
    folder = tmp_path_factory.mktemp("rows")
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
def test_bytes_depend_on_neither_jobs_nor_interruptions_nor_shards(both, tmp_path, small, ending):
    one, shards = both
    at_once, seen = tmp_path / f"a{ending}", []
    one.search_batch(QUERIES, to=at_once, ids=IDS, progress=lambda *done: seen.append(done))
    assert seen == [(min(n, 16), 16) for n in range(3, 19, 3)]
    for name, index in (("one", one), ("shards", shards)):
        jobs = tmp_path / f"{name}-jobs{ending}"
        index.search_batch(iter(QUERIES), to=jobs, ids=iter(IDS), jobs=2)
        assert jobs.read_bytes() == at_once.read_bytes()
        stopped = tmp_path / f"{name}-stopped{ending}"

        def stop(done, total):
            if done == 6:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            index.search_batch(QUERIES, to=stopped, ids=IDS, progress=stop)
        assert not stopped.exists()
        blocks = sorted(stopped.with_name(f"{stopped.name}.blocks").glob(f"hits-*{ending}"))
        times = [file.stat().st_mtime_ns for file in blocks]
        assert len(blocks) == 2

        def unchanged(done, total, blocks=blocks, times=times):
            assert [file.stat().st_mtime_ns for file in blocks] == times

        index.search_batch(QUERIES, to=stopped, ids=IDS, progress=unchanged)
        assert stopped.read_bytes() == at_once.read_bytes()
    if ending == ".parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(at_once)
        assert table.to_pylist() == expected(one, QUERIES, IDS)
    if ending == ".run":
        hits = one.search_batch(QUERIES)
        rankings = {id: tuple(own.ids) for id, own in zip(IDS, hits, strict=True) if len(own)}
        assert Run.read(at_once) == Run(rankings)


KILLED = """
import sys
import softcosine as sc
from softcosine.index.search import offline
offline._BLOCK = 3
index, to, queries = sys.argv[1:]
opened = (sc.ShardedIndex if index.endswith("shards") else sc.SoftIndex).open(index)
write = offline._write_block
def announced(*call):
    print(call[2].name, flush=True)
    write(*call)
offline._write_block = announced
opened.search_batch(__import__("pathlib").Path(queries), to=to)
"""


@pytest.mark.parametrize("n_blocks", [0, 1, 4])
def test_a_killed_search_continues(both, tmp_path, small, n_blocks):
    queries = tmp_path / "queries.jsonl"
    rows = ({"_id": id, "text": text} for id, text in zip(IDS, QUERIES, strict=True))
    queries.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    for index in both:
        to = tmp_path / f"{index.path.name}.jsonl"
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(index.path), str(to), str(queries)],
            stdout=subprocess.PIPE, text=True, env=ENVIRONMENT,
        )  # fmt: skip
        for _ in range(n_blocks + 1):
            process.stdout.readline()
        time.sleep(0.002 * n_blocks)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        if not to.exists():
            assert len(list(Path(f"{to}.blocks").glob("hits-*.jsonl"))) >= n_blocks
            index.search_batch(queries, to=to)
        assert rows_of(to) == expected(index, QUERIES, IDS)
        assert not Path(f"{to}.blocks").exists()


def test_other_work_in_the_same_place_is_refused(both, tmp_path, small):
    one, shards = both
    to = tmp_path / "hits.jsonl"

    def stop(done, total):
        if done == 6:
            with pytest.raises(IndexLockedError, match="another process keeps its hits in"):
                one.search_batch(QUERIES, to=to)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one.search_batch(QUERIES, to=to, progress=stop)
    for index, queries, options, problem in (
        (one, QUERIES[:6], {}, "other queries"),
        (one, [*QUERIES, "tea"], {}, "other queries"),
        (one, ["x", *QUERIES[1:]], {}, "other queries"),
        (one, QUERIES, {"ids": IDS}, "other queries"),
        (one, QUERIES, {"k": 3}, "other parameters"),
        (one, QUERIES, {"where": {"tag": "a"}}, "other parameters"),
        (shards, QUERIES, {}, "another index"),
    ):
        with pytest.raises(InvalidInputError, match=problem):
            index.search_batch(queries, to=to, **options)
    one.search_batch(QUERIES, to=to)
    with pytest.raises(AlreadyExistsError, match="exists already"):
        one.search_batch(QUERIES, to=to)
    one.search_batch(QUERIES, to=to, k=3, overwrite=True)
    assert rows_of(to) == expected(one, QUERIES, [str(n) for n in range(1, 17)], k=3)
    (tmp_path / "mine.jsonl.blocks").mkdir()
    (tmp_path / "mine.jsonl.blocks" / "letter.txt").write_text("dear")
    with pytest.raises(InvalidInputError, match="no checkpoint of hits"):
        one.search_batch(QUERIES, to=tmp_path / "mine.jsonl")


def test_who_begins_while_blocks_are_deleted_keeps_its_own(both, tmp_path, small, monkeypatch):
    to, begun = tmp_path / "hits.jsonl", []

    def another_begins(path, rmdir=Path.rmdir):
        monkeypatch.undo()
        begun.append(blocks.BlockFolder(path, {"of": "another"}, "hits"))
        (path / "queries-0000000.json").write_text("mine")
        rmdir(path)

    monkeypatch.setattr(Path, "rmdir", another_begins)
    both[0].search_batch(QUERIES, to=to)
    (other,) = begun
    files = {"question.json", "queries-0000000.json", "write.lock"}
    assert {file.name for file in other.path.iterdir()} == files
    with pytest.raises(IndexLockedError):
        blocks.BlockFolder(other.path, {"of": "another"}, "hits")
    other.close()


@pytest.mark.parametrize("n_deleted", range(0, 14, 3))
def test_blocks_that_were_deleted_in_part_are_of_their_queries(
    both, tmp_path, small, monkeypatch, n_deleted
):
    to, deleted = tmp_path / "hits.jsonl", []

    def stop(path, missing_ok=False, unlink=Path.unlink):
        if path.name[0] != "." and path.parent.suffix == ".blocks":
            if len(deleted) == n_deleted:
                raise OSError("killed")
            deleted.append(path)
        unlink(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", stop)
        both[0].search_batch(QUERIES, to=to)
    others = QUERIES[::-1]
    for queries, k in ((others, 10), (QUERIES, 10), (others, 3)):
        try:
            both[0].search_batch(queries, to=to, k=k, overwrite=True)
        except InvalidInputError:
            assert (queries, k) != (QUERIES, 10)
        else:
            ids = [str(number) for number in range(1, len(queries) + 1)]
            assert rows_of(to) == expected(both[0], queries, ids, k=k)


def test_blocks_of_another_version_are_refused(tmp_path, monkeypatch):
    blocks.BlockFolder(tmp_path / "x", {}, "hits").close()
    monkeypatch.setattr(blocks, "__version__", "9.0")
    with pytest.raises(InvalidInputError, match="or of another version"):
        blocks.BlockFolder(tmp_path / "x", {}, "hits")


def test_a_folder_that_is_deleted_meanwhile_is_made_anew(tmp_path, monkeypatch):
    def another_ends(folder, question, check=blocks.BlockFolder._check):
        monkeypatch.undo()
        folder.path.rmdir()
        return check(folder, question)

    monkeypatch.setattr(blocks.BlockFolder, "_check", another_ends)
    with blocks.BlockFolder(tmp_path / "x", {}, "hits") as folder:
        assert (folder.path / "question.json").exists()


def test_a_file_that_another_search_wrote_meanwhile_is_kept(both, tmp_path, small, monkeypatch):
    to = tmp_path / "hits.jsonl"

    def another_ends(path, question, what, opened=blocks.BlockFolder):
        to.write_text("of another")
        return opened(path, question, what)

    monkeypatch.setattr(offline, "BlockFolder", another_ends)
    with pytest.raises(AlreadyExistsError):
        both[0].search_batch(QUERIES, to=to)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["of another"]


def test_bad_input_is_named(both, tmp_path, small):
    one, _ = both
    memory = sc.SoftIndex.from_texts(["tea"], ids=["with space"], plain=True)
    for index, queries, to, options, problem in (
        (one, QUERIES, "hits.xyz", {}, "unknown format"),
        (one, "tea", "hits.jsonl", {}, "single"),
        (one, 5, "hits.jsonl", {}, "of type int"),
        (one, ["tea", {1, 2}], "hits.jsonl", {}, "no text, list of tokens"),
        (one, ["tea"], "hits.jsonl", {"ids": ["a", "b"]}, "more ids than queries"),
        (one, ["tea", "cup"], "hits.jsonl", {"ids": ["a"]}, "more queries than ids"),
        (one, ["tea"], "hits.jsonl", {"ids": [5]}, "no string"),
        (one, ["tea"], "hits.jsonl", {"facets": ["tag"]}, "facets"),
        (one, ["tea"], "hits.jsonl", {"jobs": 0.5}, "jobs"),
        (one, ["tea"], "hits.run", {"ids": ["a b"]}, "the id of a query"),
        (memory, ["tea"], "hits.run", {}, "the id of a document"),
        (memory, ["tea"], "hits.jsonl", {"jobs": 2}, "save it first"),
        (one, tmp_path / "none.jsonl", "hits.jsonl", {"ids": ["a"]}, "leave them out"),
    ):
        with pytest.raises(InvalidInputError, match=problem):
            index.search_batch(queries, to=tmp_path / to, **options)
    with pytest.raises(FileNotFoundError):
        one.search_batch(tmp_path / "none.jsonl", to=tmp_path / "hits.jsonl")
    with pytest.raises(FileNotFoundError, match="none does not exist"):
        one.search_batch(["tea"], to=tmp_path / "none" / "hits.jsonl")
    for queries, options in (
        (tmp_path / "queries.txt", {}), (["tea"], {"ids": ["a"]}), (["tea"], {"jobs": 2}),
        (["tea"], {"overwrite": True}), (["tea"], {"progress": print}),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError, match="pass to=FILE"):
            one.search_batch(queries, **options)
    assert not list(tmp_path.iterdir())
    (tmp_path / "a.jsonl").mkdir()
    with pytest.raises(AlreadyExistsError, match="is a folder"):
        one.search_batch(["tea"], to=tmp_path / "a.jsonl", overwrite=True)


def test_an_index_in_memory_leaves_no_blocks(tmp_path, small):
    memory = sc.SoftIndex.from_texts(["tea"], plain=True)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.search_batch(["tea"] * 5, to=tmp_path / "hits.jsonl", progress=stop)
    assert not list(tmp_path.iterdir())
    assert memory.search_batch(["tea"] * 5, to=tmp_path / "hits.jsonl") == 5


def test_hits_by_a_given_source_are_not_continued_by_those_of_another(tmp_path, small):
    sc.SoftIndex.from_texts(["tea cup", "car", "green tea"]).save(tmp_path / "x.index")
    file, queries = tmp_path / "hits.jsonl", ["teas", "tee", "cups", "cars", "tea", "cup"]

    def stop(done, total):
        raise KeyboardInterrupt

    for source in (sc.EditDistanceSimilarity(), sc.CharacterNgramSimilarity()):
        index = sc.SoftIndex.open(tmp_path / "x.index", source=source)
        with pytest.raises(KeyboardInterrupt):
            index.search_batch(queries, to=file, progress=stop)
        assert not list(tmp_path.glob("hits*"))


def test_jobs_use_the_encoder_of_the_index(tmp_path):
    encoder = ToyEncoder()
    sc.SoftIndex.from_texts(["tea cup", "car"], encoder=encoder).save(tmp_path / "x.index")
    index = sc.SoftIndex.open(tmp_path / "x.index", encoder=encoder)
    file = tmp_path / "hits.jsonl"
    assert index.search_batch(["tea", "motor"], to=file, jobs=2, ask="encoder") == 2
    assert rows_of(file) == expected(index, ["tea", "motor"], ["1", "2"], ask="encoder")
    encoder.open_file = threading.Lock()
    with pytest.raises(InvalidInputError, match=r"can be pickled.*leave jobs out"):
        index.search_batch(["tea"], to=file, jobs=2, ask="encoder", overwrite=True)


def test_a_later_commit_is_refused_by_jobs(tmp_path):
    sc.SoftIndex.from_texts(["tea"], plain=True).save(tmp_path / "x.index")
    source = offline.pickle.dumps((sc.SoftIndex.open(tmp_path / "x.index"), None, "other", None))
    with pytest.raises(CommitNotFoundError, match="later commit"):
        offline._opened(source)


def test_jobs_in_this_process_leave_no_index_open(tmp_path):
    sc.SoftIndex.from_texts(["tea"], plain=True).save(tmp_path / "x.index")
    index = sc.SoftIndex.open(tmp_path / "x.index")
    assert index.search_batch(["tea"], to=tmp_path / "hits.jsonl", jobs=1) == 1
    assert offline._opened.cache_info().currsize == 0


def test_a_folder_is_unlocked_after_a_full_disk(tmp_path, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(blocks, "sync", full)
        with pytest.raises(OSError, match="full") as kept:
            blocks.BlockFolder(tmp_path / "x", {}, "hits")
    assert kept.value.__traceback__ is not None  # which refers to the folder
    blocks.BlockFolder(tmp_path / "x", {}, "hits").close()


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
@pytest.mark.parametrize("most", [100, 1_500, 4_000])
def test_after_a_full_disk_a_search_continues(both, tmp_path, small, most):
    to = tmp_path / "hits.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(both[0].path), str(to), str(most)], check=False,
        capture_output=True, text=True, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 7, done.stderr
    assert not to.exists()
    queries = ["green tea", "flat tyre"] * 20
    assert both[0].search_batch(queries, to=to) == 40
    assert rows_of(to) == expected(both[0], queries, [str(n) for n in range(1, 41)])


def test_the_command_writes_the_same(run, both, tmp_path):
    one, _ = both
    queries = tmp_path / "queries.tsv"
    texts = [text for text in QUERIES if text and '"' not in text]
    queries.write_text("id\ttext\n" + "".join(f"q{n}\t{text}\n" for n, text in enumerate(texts)))
    ids = [f"q{n}" for n in range(len(texts))]
    options = {"k": 4, "where": {"tag": "a"}, "syntax": False, "ranking": "soft_cosine"}
    for index in both:
        to = tmp_path / f"{index.path.name}.jsonl"
        arguments = ["batch", index.path, queries, "-o", to, "-k4", "--where", "tag=a"]
        arguments += ["--no-syntax", "--ranking", "soft_cosine"]
        record = json.loads(run(*arguments, "--json"))
        assert (record["queries"], record["file"]) == (len(texts), str(to))
        assert rows_of(to) == expected(one, texts, ids, **options)
        assert "Queries: 13, searched in" in run(*arguments, "--overwrite", "--jobs", "2")
        assert rows_of(to) == expected(one, texts, ids, **options)
        assert "already" in run(*arguments, code=1)
    assert "unknown format" in run("batch", one.path, queries, "-o", "hits", code=2)


def test_the_command_reads_lines_from_standard_input(run, both, tmp_path, monkeypatch):
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"green tea\nflat tyre\n")))
    )
    run("batch", both[0].path, "-", "-o", tmp_path / "hits.jsonl", "--ask", "words")
    assert rows_of(tmp_path / "hits.jsonl") == expected(
        both[0], ["green tea", "flat tyre"], ["1", "2"], ask="words"
    )
