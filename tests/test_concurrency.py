"""Searching from many threads and processes while a writer commits and merges."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from itertools import pairwise

import pytest

from softcosine.errors import IndexLockedError
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer.merging import MergePolicy

N_DOCS, N_COMMITS = 20, 12
SMALL = MergePolicy(factor=2, min_docs=1, max_deleted=0.2)


def rewrite(index, generation):
    """Replace every document; all of one commit carry its number."""
    with index.writer(merge=SMALL) as writer:
        for number in range(N_DOCS):
            tail = "tea " * (number % 3)
            writer.add(str(number), f"green tea {tail}", {"commit": generation})
        if generation % 5 == 4:
            writer.merge()


def seen(index):
    """The commit that an answer comes from: one for all documents, each of them there once."""
    hits = index.search("tea", k=2 * N_DOCS)
    assert sorted(int(id) for id in hits.ids) == list(range(N_DOCS))
    assert all(left.score >= right.score for left, right in pairwise(hits))
    (commit,) = {hit.metadata["commit"] for hit in hits}
    filtered = index.search("+green", syntax=True, k=1, where={"commit": {"<=": commit}})
    assert len(filtered) == 1
    return commit


@pytest.fixture
def written(tmp_path):
    index = SoftIndex.create(tmp_path / "x", plain=True)
    rewrite(index, 0)
    return tmp_path / "x", index


def test_threads_see_whole_commits_while_one_writes(written):
    path, index = written
    shared, failures, last = SoftIndex.open(path), [], threading.Event()

    def search(own):
        try:
            commits = [-1]
            while commits[-1] < N_COMMITS - 1:
                finished = last.is_set()
                own.refresh()
                if own is not shared:
                    # What another thread refreshes may go on between two of its questions.
                    commits.append(seen(own))
                    assert commits[-1] >= commits[-2]
                else:
                    hits = own.search("tea", k=2 * N_DOCS)
                    assert len(hits) == N_DOCS
                    commits.append(max(hit.metadata["commit"] for hit in hits))
                    assert len({hit.metadata["commit"] for hit in hits}) == 1
                assert not finished or commits[-1] == N_COMMITS - 1
        except BaseException as error:
            failures.append(error)

    readers = [SoftIndex.open(path), SoftIndex.open(path), shared, shared]
    threads = [threading.Thread(target=search, args=[reader]) for reader in readers]
    for thread in threads:
        thread.start()
    for generation in range(1, N_COMMITS):
        rewrite(index, generation)
        assert seen(index) == generation
    last.set()
    for thread in threads:
        thread.join()
    assert not failures


_READER = """
import json, sys
from softcosine.index.soft_index import SoftIndex
sys.path.insert(0, sys.argv[2])
from test_concurrency import N_COMMITS, seen
index, commits = SoftIndex.open(sys.argv[1]), []
print("ready", flush=True)
while not commits or commits[-1] < N_COMMITS - 1:
    if len(commits) % 3 == 2:
        index = SoftIndex.open(sys.argv[1])
    else:
        index.refresh()
    commits.append(seen(index))
print(json.dumps(commits))
"""


def test_processes_see_whole_commits_while_one_writes(written, request):
    path, index = written
    command = [sys.executable, "-c", _READER, str(path), str(request.path.parent)]
    readers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for reader in readers:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
    for generation in range(1, N_COMMITS):
        rewrite(index, generation)
    for reader in readers:
        shown, errors = reader.communicate()
        assert reader.returncode == 0, errors
        commits = json.loads(shown)
        assert commits == sorted(commits)
        assert commits[-1] == N_COMMITS - 1


def test_an_old_generation_answers_after_everything_was_rewritten_and_merged(written):
    path, index = written
    old = SoftIndex.open(path)
    before = [(hit.id, hit.score, hit.text) for hit in old.search("tea", k=N_DOCS)]
    for generation in range(1, 6):
        rewrite(index, generation)
    assert [(hit.id, hit.score, hit.text) for hit in old.search("tea", k=N_DOCS)] == before
    assert [hit.id for hit in old.similar("0", k=3)]
    assert seen(old) == 0
    assert old.refresh()
    assert seen(old) == 5
    assert not old.refresh()


def test_two_writers_take_turns(written):
    path, index = written
    with index.writer() as first:
        with pytest.raises(IndexLockedError, match="writer"):
            SoftIndex.open(path).writer(timeout=0)
        first.add("more", "black tea")
    other = SoftIndex.open(path)
    done = threading.Event()

    def wait():
        with other.writer() as writer:
            writer.delete("more")
        done.set()

    with index.writer() as writer:
        thread = threading.Thread(target=wait)
        thread.start()
        writer.add("most", "black tea")
    thread.join()
    assert done.is_set()
    index.refresh()
    assert "more" not in index
    assert "most" in index


_ADDER = """
import sys
from softcosine.index.soft_index import SoftIndex
index = SoftIndex.open(sys.argv[1])
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    with index.writer() as writer:
        writer.add(str(number), f"green tea {number}")
"""


def test_many_threads_and_processes_add_a_document_each(tmp_path):
    path, n = tmp_path / "x", 8
    index = SoftIndex.create(path, plain=True)
    processes = [
        subprocess.Popen([sys.executable, "-c", _ADDER, str(path), str(first), str(first + 2)])
        for first in (n, n + 2)
    ]
    start, failures = threading.Barrier(n), []

    def add(number):
        try:
            start.wait()
            with index.writer() as writer:
                writer.add(str(number), f"green tea {number}")
            assert str(number) in index
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=add, args=[number]) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert [process.wait() for process in processes] == [0, 0]
    index.refresh()
    assert sorted(index, key=int) == [str(number) for number in range(n + 4)]
