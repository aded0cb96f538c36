"""Indexes that are sent to other processes: in a folder by path and commit, in memory whole."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

import softcosine as sc
from softcosine.errors import CommitNotFoundError, CorruptIndexError


@pytest.fixture
def index(tmp_path):
    index = sc.SoftIndex.create(tmp_path / "x.index", plain=True)
    with index.writer() as writer:
        writer.add_many([f"d{n}" for n in range(300)], texts(300))
    return index


def texts(n):
    return [f"green tea number {number} and a tyre of {number * 7}" for number in range(n)]


def test_an_index_in_a_folder_is_pickled_as_path_and_commit(index, tmp_path):
    sent = pickle.dumps(index)
    assert len(sent) < 1000
    opened = pickle.loads(sent)
    assert (opened.path, opened.commit, opened.epoch) == (index.path, index.commit, index.epoch)
    for query in ("tea 7", "tyre", "+number -3"):
        assert opened.search(query, syntax=True).ids == index.search(query, syntax=True).ids
    with index.writer() as writer:
        writer.add("new", "a kettle")
    assert not opened.search("kettle").ids
    assert opened.refresh()
    assert opened.search("kettle").ids == ["new"]


def test_another_process_opens_the_same_commit(index):
    program = (
        "import pickle, sys; index = pickle.load(sys.stdin.buffer); "
        "print(index.commit, *index.search('tea 7').ids)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(index), capture_output=True, check=True
    ).stdout.decode()
    assert said.split() == [index.commit, *index.search("tea 7").ids]


def test_a_commit_that_is_gone_is_an_error(index):
    sent = pickle.dumps(index)
    with index.writer() as writer:
        writer.delete("d1")
    with pytest.raises(CommitNotFoundError, match=r"x\.index no longer has the commit \w{16}"):
        pickle.loads(sent)
    assert pickle.loads(pickle.dumps(index)).commit == index.commit
    index.path.rename(index.path.with_name("elsewhere"))
    with pytest.raises(FileNotFoundError, match="there is no index at"):
        pickle.loads(pickle.dumps(index))


def test_a_damaged_index_is_not_opened_from_a_pickle(index):
    sent = pickle.dumps(index)
    next(index.path.glob("parts/segment-*/*.npys")).unlink()
    with pytest.raises(CorruptIndexError, match="is missing"):
        pickle.loads(sent)


def test_an_own_source_goes_along(index):
    opened = sc.SoftIndex.open(index.path, source=sc.PairSimilarity([("kettle", "tea", 0.9)]))
    assert opened.search("kettle", k=3).ids
    again = pickle.loads(pickle.dumps(opened))
    assert again.search("kettle", k=3).ids == opened.search("kettle", k=3).ids


def test_indexes_in_memory_are_pickled_whole(index):
    for one in (index.with_note("other"), sc.SoftIndex.from_texts(texts(30), plain=True)):
        opened = pickle.loads(pickle.dumps(one))
        assert opened.path is None
        assert opened.note == one.note
        assert opened.search("tea 7").ids == one.search("tea 7").ids
    assert copy.deepcopy(index).commit == index.commit
