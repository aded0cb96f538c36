"""A writer with two threads: the same bytes, the same errors, and nothing lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from threading import Event

import numpy as np
import pytest

from killing import ended, within
from sharded import built
from softcosine.cluster.sharded_index import ShardedIndex
from softcosine.errors import IndexLockedError, InvalidInputError
from softcosine.index.directory.check import check_index
from softcosine.index.directory.store import Store
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer import index_writer as writers
from softcosine.index.writer.merging import MergePolicy
from softcosine.index.writer.pending_commit import PendingCommit
from softcosine.text.analyzer import Analyzer

WAIT = 60  # seconds that a test waits for another thread or process
PATH = os.pathsep.join(sys.path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(writers, "MAX_DOCS", 3)
    SoftIndex.create(tmp_path / "x", plain=True, analyzer=Analyzer())
    return tmp_path / "x"


def documents(n_docs):
    random = np.random.default_rng(5)
    words = ["tea", "teas", "Coffee", "tires", "wheels", "überall", "x1", "東京都", "New York"]
    return [" ".join(random.choice(words, n % 7)) + f" n{n // 2}" * (n > 8) for n in range(n_docs)]


@pytest.mark.parametrize(
    "options",
    [
        {"positions": True, "analyzer": Analyzer("english", max_ngram=2)},
        {"language": "english", "min_df": 2, "keep_texts": False},
        {"fields": ["title", "body"], "plain": True},
        {"ranking": "soft_cosine"},
    ],
)
def test_the_number_of_threads_changes_no_byte(tmp_path, monkeypatch, options):
    monkeypatch.setattr(writers, "MAX_DOCS", 7)
    texts = documents(80)
    if "fields" in options:
        texts = [{"title": text[:9], "body": text} for text in texts]
    found = []
    for threads in (1, 2):
        index = SoftIndex.create(tmp_path / f"{threads}", **options)
        with index.writer(threads=threads, merge=MergePolicy(3, min_docs=2)) as writer:
            writer.add_many([f"{n % 60}" for n in range(80)], texts)
            writer.delete("9")
            writer.add("token list", ["tea", "new york"]) if "fields" not in options else None
            writer.commit()
            writer.add_many([f"{n + 50}" for n in range(80)], texts)
            writer.update_metadata("51", {"n": 1})
        store = Store.open(tmp_path / f"{threads}")
        commit = store.read()
        found.append(sorted((part.kind, part.checksum) for part in commit.parts.values()))
        check_index(store)
    assert found[0] == found[1]


def test_documents_are_analysed_while_earlier_ones_are_written(folder, monkeypatch):
    append, analyze = PendingCommit.append, PendingCommit.analyze
    analysed = Event()

    def slow_append(pending, batch):
        if batch.documents[0].id == "3":
            assert analysed.wait(WAIT)
        append(pending, batch)

    def noted_analyze(pending, documents):
        batch = analyze(pending, documents)
        if documents[0].id == "6":
            analysed.set()
        return batch

    monkeypatch.setattr(PendingCommit, "append", slow_append)
    monkeypatch.setattr(PendingCommit, "analyze", noted_analyze)
    with SoftIndex.open(folder).writer(threads=2) as writer:
        writer.add_many(map(str, range(9)), ["tea"] * 9)
    assert list(SoftIndex.open(folder)) == list("012345678")


def test_an_error_in_the_background_surfaces_and_its_documents_stay(folder, monkeypatch):
    index = SoftIndex.open(folder)
    with index.writer(threads=2) as writer:
        with monkeypatch.context() as patch:

            def fail(pending, batch):
                raise RuntimeError(f"cannot write {batch.documents[0].id}")

            patch.setattr(PendingCommit, "append", fail)
            writer.add_many(list("abcd"), ["tea"] * 4)  # "a", "b", "c" are in flight
            writer.add("b", "coffee")  # comes after "d"
            with pytest.raises(RuntimeError, match="cannot write a"):
                writer.commit()
            with pytest.raises(RuntimeError, match="cannot write a"):
                writer.commit()
        assert writer.commit() == 2
    assert list(index) == list("acdb")
    assert index.search("coffee").ids == ["b"]


@pytest.mark.parametrize("how", ["rollback", "close"])
@pytest.mark.parametrize("fails", [False, True])
def test_undone_changes_leave_nothing_though_they_are_being_written(
    folder, monkeypatch, how, fails
):
    append, started, go = PendingCommit.append, Event(), Event()

    def slow_append(pending, batch):
        started.set()
        assert go.wait(WAIT)
        if fails:
            raise OSError("no space")
        append(pending, batch)

    before = Store.open(folder).read()
    with SoftIndex.open(folder).writer(threads=2) as writer, monkeypatch.context() as patch:
        patch.setattr(PendingCommit, "append", slow_append)
        writer.add_many(list("abcd"), ["tea"] * 4)
        assert started.wait(WAIT)
        go.set()
        getattr(writer, how)()
    assert Store.open(folder).read().checksum == before.checksum
    assert {path.name for path in (folder / "parts").iterdir()} == set(before.parts)


ENDLESS = """
import sys
from itertools import count
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer import index_writer as writers
writers.MAX_DOCS = 3
with SoftIndex.open(sys.argv[1]).writer(threads=2) as writer:
    writer.add_many(list("abcde"), ["tea"] * 5)
    writer.commit()
    for number in count():
        writer.add(str(number), f"tea {number % 50}")
        if number == 40:
            print("running", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_or_killed_writer_leaves_the_last_commit(folder, sent):
    command = [sys.executable, "-c", ENDLESS, str(folder)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, **pipes, env={**os.environ, "PYTHONPATH": PATH})
    with ended(process):
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(sent)
        _, errors = process.communicate(timeout=WAIT)
    if sent == signal.SIGINT:
        assert errors.rstrip().endswith("KeyboardInterrupt")
        parts = {path.name for path in (folder / "parts").iterdir()}
        assert parts == set(Store.open(folder).read().parts)
    with SoftIndex.open(folder).writer() as writer:
        writer.add("f", "tea")
    assert list(SoftIndex.open(folder)) == list("abcdef")
    check_index(Store.open(folder))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("kind", ["folder", "memory", "shards"])
@pytest.mark.parametrize("n_before", [0, 1, 5])
def test_a_writer_of_the_parent_refuses_to_write_and_readers_go_on(tmp_path, kind, n_before):
    """With nothing, with buffered and with written documents at the fork."""
    if kind == "shards":
        built(tmp_path / "x", ["tea"] * 4, n_shards=2, plain=True, encoder=None)
        index = ShardedIndex.open(tmp_path / "x")
    else:
        index = SoftIndex.create(tmp_path / "x" if kind == "folder" else None, plain=True)
        with index.writer() as writer:
            writer.add_many(list("0123"), ["tea"] * 4)
    ids = [hit.id for hit in index.search("tea")]  # starts the threads of the shards
    writer = index.writer(memory=1 << 16)
    writer.add_many(map(str, range(4, 4 + n_before)), ["tea pot" * 1000] * n_before)

    def child():
        for change in (
            lambda: writer.add("x", "tea"), lambda: writer.add_many(["x"], ["tea"]),
            writer.commit, writer.rollback, lambda: writer.delete("0"), writer.merge,
            lambda: writer.delete(where={}), lambda: writer.update_metadata("0", {"n": 1}),
            lambda: writer.n_docs, lambda: writer.__exit__(None),
        ):  # fmt: skip
            with pytest.raises(InvalidInputError, match="forked from"):
                change()
        writer.close()
        assert [hit.id for hit in index.search("tea")] == ids
        if kind == "memory":  # a copy of its own
            with index.writer(timeout=0) as own:
                own.add("own", "tea")
            assert len(index) == 5
            return
        with pytest.raises(IndexLockedError):
            index.writer(timeout=0)

    in_child(child)
    writer.commit()
    writer.close()
    assert len(index) == 4 + n_before
    if kind != "memory":
        in_child(lambda: index.writer(timeout=0).close())


def in_child(action):
    """Do something in a forked process; its errors are said."""
    pid = os.fork()
    if pid == 0:
        try:
            with within(WAIT):
                action()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
