"""Copies of an index: one commit each, exactly, whatever a writer does meanwhile."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import shutil
import signal
import time

import pytest

from softcosine import SoftIndex
from softcosine.errors import (
    AlreadyExistsError,
    CorruptIndexError,
    IndexLockedError,
    InvalidInputError,
)
from softcosine.index.directory import backup as backups
from softcosine.index.directory.check import check_index
from softcosine.index.directory.store import Store
from softcosine.similarity.pairs import PairSimilarity
from softcosine.storage import folder as copying
from written import tree

TEXTS = ["a flat tyre on my bike", "tea and coffee", "the tire of a bike"]
KEPT = 5  # documents that the endless writer leaves in the index


@pytest.fixture
def index(tmp_path):
    """An index of two segments, with a deletion."""
    source = PairSimilarity([("tyre", "tire", 0.8)])
    made = SoftIndex.create(tmp_path / "a.index", source=source, ranking="soft_cosine")
    for first in (0, 1):
        with made.writer(merge=None) as writer:
            writer.add_many([f"{first}{n}" for n in range(3)], TEXTS)
    with made.writer(merge=None) as writer:
        writer.delete("01")
    return made


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def scores(index):
    return [(hit.id, hit.score) for hit in index.search("tire tea", k=9)]


@pytest.mark.parametrize("links", [False, True])
def test_a_copy_has_the_same_bytes_and_answers_alike(index, tmp_path, links):
    made = index.backup(tmp_path / "b", links=links)
    assert tree(tmp_path / "b") == tree(index.path)
    assert names(tmp_path) == ["a.index", "b"]
    assert names(tmp_path / "b") == ["manifest.json", "parts"]
    copy = SoftIndex.open(tmp_path / "b", verify=True)
    check_index(Store.open(tmp_path / "b"))
    assert scores(copy) == scores(index)
    assert copy.commit == made.commit == index.commit
    assert made.n_bytes == sum(len(content) for content in tree(tmp_path / "b").values())
    with copy.writer() as writer:
        writer.add("new", "tea")
    assert len(copy) == 6


def test_links_share_the_files_and_no_commit_reaches_the_copy(index, tmp_path):
    index.backup(tmp_path / "linked", links=True)
    index.backup(tmp_path / "copied")
    before = tree(tmp_path / "linked")
    for name in before:
        if name != "manifest.json":
            file = index.path / name
            assert file.samefile(tmp_path / "linked" / name)
            assert not file.samefile(tmp_path / "copied" / name)
    with index.writer() as writer:
        writer.add("00", "replaced")
        writer.merge()
    assert tree(tmp_path / "linked") == before
    assert scores(SoftIndex.open(tmp_path / "linked", verify=True)) == scores(
        SoftIndex.open(tmp_path / "copied", verify=True)
    )


def test_where_there_are_no_links_files_are_copied(index, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", fail)
    index.backup(tmp_path / "b", links=True)
    assert tree(tmp_path / "b") == tree(index.path)


@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize("at", [1, 4, 12])
def test_parts_that_a_commit_deletes_meanwhile_are_those_of_the_newer_commit(
    index, tmp_path, monkeypatch, links, at
):
    calls = itertools.count()

    def meddling(true):
        def act(*arguments, **settings):
            if next(calls) == at:
                with SoftIndex.open(index.path).writer() as writer:
                    writer.add("new", "green tea")
                    writer.merge()
            return true(*arguments, **settings)

        return act

    monkeypatch.setattr(shutil, "copyfile", meddling(shutil.copyfile))
    monkeypatch.setattr(os, "link", meddling(os.link))
    made = index.backup(tmp_path / "b", links=links)
    assert tree(tmp_path / "b") == tree(index.path)
    assert index.refresh()
    assert made.commit == index.commit
    assert names(tmp_path / "b" / "parts") == sorted(Store.open(index.path).read().parts)


def write_for_ever(path):
    index = SoftIndex.open(path)
    for number in itertools.count(KEPT):
        with index.writer() as writer:
            writer.add(str(number), f"document {number} of words{number % 7} and tea")
            writer.delete(str(number - KEPT))
            if number % 4 == 0:
                writer.merge()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a forked writer")
def test_copies_taken_while_another_process_commits_and_merges_are_commits(tmp_path):
    path = tmp_path / "a.index"
    index = SoftIndex.create(path, plain=True)
    with index.writer() as writer:
        writer.add_many([str(number) for number in range(KEPT)], ["tea"] * KEPT)
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            write_for_ever(path)
        os._exit(1)
    try:
        seen, begin = set(), time.monotonic()
        for turn in range(40):
            made = index.backup(tmp_path / "b", links=turn % 2 == 0, overwrite=turn > 0)
            check_index(Store.open(tmp_path / "b"))
            copy = SoftIndex.open(tmp_path / "b", verify=True)
            assert copy.commit == made.commit
            ids = {hit.id for hit in copy.search("tea", k=100)}
            first = min(map(int, ids))
            assert ids == {str(first + n) for n in range(KEPT)}
            assert len(copy) == KEPT
            listed = sorted(json.loads((tmp_path / "b" / "manifest.json").read_text())["parts"])
            assert names(tmp_path / "b" / "parts") == listed
            seen.add(made.commit)
            if time.monotonic() - begin > 10 and len(seen) > 5:
                break
        assert os.waitpid(pid, os.WNOHANG) == (0, 0)  # it writes still
        assert len(seen) > 2
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert names(tmp_path) == ["a.index", "b"]


def test_what_is_there_is_replaced_only_on_request_and_if_it_is_an_index(index, tmp_path):
    index.backup(tmp_path / "b")
    with index.writer() as writer:
        writer.add("new", "tea")
    with pytest.raises(AlreadyExistsError, match="exists already"):
        index.backup(tmp_path / "b")
    old = SoftIndex.open(tmp_path / "b")
    index.backup(tmp_path / "b", overwrite=True)
    assert old.refresh()
    assert tree(tmp_path / "b") == tree(index.path)
    (tmp_path / "mine").mkdir()
    with pytest.raises(AlreadyExistsError, match="is no softcosine index"):
        index.backup(tmp_path / "mine", overwrite=True)
    with old.writer(), pytest.raises(IndexLockedError):
        index.backup(tmp_path / "b", overwrite=True)
    assert names(tmp_path) == ["a.index", "b", "mine"]


def test_an_index_is_not_copied_into_itself(index, tmp_path):
    (tmp_path / "link").symlink_to(index.path)
    for place in (
        index.path,
        index.path / "b",
        tmp_path / "link",
        tmp_path / "link" / "parts" / "b",
    ):
        with pytest.raises(InvalidInputError, match="choose a folder outside the index"):
            index.backup(place, overwrite=True)
    inner = SoftIndex.create(index.path / "inner", plain=True)
    with pytest.raises(InvalidInputError, match="one lies inside the other"):
        inner.backup(index.path, overwrite=True)
    with pytest.raises(InvalidInputError, match="in memory alone; `save`"):
        SoftIndex.from_texts(TEXTS, plain=True).backup(tmp_path / "b")


@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize("kind", ["segment", "space", "norms"])
def test_a_damaged_file_is_named_and_nothing_is_left(index, tmp_path, kind, links):
    file = sorted((index.path / "parts").glob(f"{kind}-*/**/*.npys"))[-1]
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(CorruptIndexError, match=f"{file} has changed since it was written"):
        index.backup(tmp_path / "b", links=links)
    assert names(tmp_path) == ["a.index"]
    index.backup(tmp_path / "b", verify=False)
    file.write_bytes(content[:-1])
    with pytest.raises(CorruptIndexError, match=f"{file} has .* bytes"):
        index.backup(tmp_path / "c", links=links, verify=False)
    assert names(tmp_path) == ["a.index", "b"]


def test_a_full_disk_leaves_nothing(index, tmp_path, monkeypatch):
    calls = itertools.count()

    def fail(source, target, **settings):
        if next(calls) == 7:
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        return true(source, target, **settings)

    true = shutil.copyfile
    monkeypatch.setattr(shutil, "copyfile", fail)
    with pytest.raises(OSError, match="the disk is probably full"):
        index.backup(tmp_path / "b")
    assert names(tmp_path) == ["a.index"]


def test_every_copied_file_has_reached_the_disk(index, tmp_path, monkeypatch):
    synced = set()
    true = backups.sync
    for module in (backups, copying):
        monkeypatch.setattr(module, "sync", lambda path: (synced.add(path.name), true(path)))
    index.backup(tmp_path / "b")
    every = {path.name for path in (tmp_path / "b").rglob("*")}
    assert every <= synced


def test_leftovers_are_not_copied(index, tmp_path):
    parts = index.path / "parts"
    shutil.copytree(next(parts.iterdir()), parts / "segment-0123456789abcdef")
    (index.path / "manifest.json.new").write_text("{")
    (index.path / "notes.txt").write_text("mine")
    index.backup(tmp_path / "b")
    assert names(tmp_path / "b") == ["manifest.json", "parts"]
    assert "segment-0123456789abcdef" not in names(tmp_path / "b" / "parts")


def test_an_index_that_a_copy_replaces_is_seen_on_refresh(index, tmp_path):
    other = SoftIndex.create(tmp_path / "other", plain=True)
    while other.snapshot.generation < index.snapshot.generation:
        with other.writer() as writer:
            writer.add("1", f"tea number {other.snapshot.generation}")
    other.backup(index.path, overwrite=True)
    assert index.refresh()
    assert index.filter().ids == ["1"]
    assert not index.refresh()


def test_what_earlier_releases_exported_into_the_folder_is_ignored(index, tmp_path):
    (index.path / "engines" / "faiss").mkdir(parents=True)
    (index.path / "engines" / "faiss" / "manifest.json").write_text("{}")
    assert SoftIndex.open(index.path).search("tea").ids
    with SoftIndex.open(index.path).writer() as writer:
        writer.add("new", "tea")
    SoftIndex.open(index.path).backup(tmp_path / "b")
    assert names(tmp_path / "b") == ["manifest.json", "parts"]


def test_the_command_copies_and_says_so(index, tmp_path, run):
    out = run("admin", "backup", index.path, tmp_path / "b")
    assert "Copied 5 documents in" in " ".join(out.split())
    message = run("admin", "backup", index.path, tmp_path / "b", code=1)
    assert "exists already; choose another name, or pass --overwrite." in message
    told = json.loads(
        run("admin", "backup", index.path, tmp_path / "b", "--overwrite", "--links", "--json")
    )
    assert (told["n_docs"], told["commit"]) == (5, index.commit)
    run("admin", "check", tmp_path / "b")
