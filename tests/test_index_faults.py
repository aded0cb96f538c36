"""Faults while an index is written: a killed writer, a full disk."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from killing import run_script
from softcosine.errors import SoftCosineWarning
from softcosine.index.directory.check import check_index
from softcosine.index.directory.store_writer import StoreWriter
from softcosine.index.segment import stored_fields as stored_documents
from softcosine.index.writer.merging import MergePolicy
from softcosine.similarity.pairs import PairSimilarity
from softcosine.storage import folder
from test_store import Steps, error_of, names, tree
from written import created, opened, writing

SOURCE = PairSimilarity([("tire", "tyre", 0.875), ("word1", "word2", 0.5)])
POLICY = MergePolicy(3, min_docs=1)
KEPT = 4  # documents beside "same"


def step(writer, number):
    """What commit `number` does: a document comes, one goes, one is replaced, a term is new."""
    writer.add(f"d{number}", f"tire word{number % 9} new{number % 50}", {"n": number})
    if number > KEPT:
        writer.delete(f"d{number - KEPT}")
    writer.add("same", f"tyre word{number % 9}", {"n": number})
    if number % 5 == 0:
        writer.merge()
    return writer.commit()


def state_of(index):
    """Number of the last commit that the index shows."""
    if not len(index):
        return 0
    return index.documents.metadata(index.documents.number("same"))["n"]


def assert_state(index, number):
    """The index is as commit `number` left it."""
    there = [f"d{n}" for n in range(max(1, number - KEPT + 1), number + 1)]
    documents = index.documents
    places = [documents.number(id) for id in [*there, "same"]] if number else []
    assert places == sorted(places)
    assert len(index) == len(places)
    for place in places:
        n = documents.metadata(place)["n"]
        text = documents.text(place)
        assert text == (
            f"tyre word{n % 9}" if place == places[-1] else f"tire word{n % 9} new{n % 50}"
        )
    if number:
        assert documents.metadata(places[-1])["n"] == number
        hits = index.search("tyre", k=20)
        assert hits.ids[0] == "same"
        assert set(hits.ids) == {*there, "same"}


KILLED = """
import os, random, sys
from killing import Victims
from test_index_faults import POLICY, assert_state, state_of, step
from softcosine.index.directory.store import Store
from softcosine.index.directory.check import check_index
from written import opened, writing

def write(say):
    with writing(store, merge=POLICY) as writer:
        number = state_of(opened(store))
        say(number)
        while True:
            number += 1
            step(writer, number)
            say(number)

path, rounds = sys.argv[1], int(sys.argv[2])
os.fsync = lambda descriptor: None  # what is written outlives a process in any case
random.seed(rounds)
store = Store.open(path)
victims, last = Victims(write, usual=0.05), 0
for turn in range(rounds):
    reported = victims.killed(last)
    found = state_of(opened(store))
    assert found in (reported, reported + 1), (found, reported)
    if found != last:
        assert_state(opened(store), found)
    if turn % 5 == 0:
        check_index(store)
    last = found
print(last)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows forks no processes")
def test_a_killed_writer_leaves_the_last_commit_or_the_one_in_flight(tmp_path):
    store = created(tmp_path / "x", source=SOURCE)
    number = run_script(KILLED, store.path, 200)
    assert number > 20
    with writing(store, merge=POLICY) as writer:
        step(writer, number + 1)
    assert_state(opened(store), number + 1)
    parts = store.read().parts
    assert names(store.path) == ["manifest.json", "parts", "write.lock"]
    assert names(store.path / "parts") == sorted(parts)


def test_a_full_disk_at_any_step_leaves_the_last_commit_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    store = created(tmp_path / "x", source=SOURCE)
    with writing(store, merge=POLICY) as writer:
        for number in range(1, 7):
            step(writer, number)
    before = tmp_path / "before"
    shutil.copytree(store.path, before)
    n_failures, n_standing = 0, 0
    while True:
        n_failures += 1 if n_failures < 40 else 2
        with writing(store, merge=POLICY) as writer, monkeypatch.context() as patch:
            steps = Steps(patch, n_failures)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", SoftCosineWarning)
                error = error_of(step, writer, 7)
            patch.undo()
            writer.rollback()
        check_index(store)
        if error is None and not caught:
            break
        assert "free space" in str(error or caught[0].message)
        found = state_of(opened(store))
        assert_state(opened(store), found)
        if found == 6:
            assert error is not None
            assert tree(store.path) == tree(before)
            continue
        # It was visible before: only to sync the folder failed, or to join segments.
        assert found == 7
        n_standing += 1
        shutil.rmtree(store.path)
        shutil.copytree(before, store.path)
    assert n_failures > 30
    assert n_standing > 10
    assert steps.left > 0
    assert_state(opened(store), 7)


def test_a_commit_that_found_no_room_may_be_tried_again(tmp_path, monkeypatch):
    store = created(tmp_path / "x", source=SOURCE)
    for number in (1, 4, 9, 16, 25):
        with writing(store) as writer:
            writer.add(f"d{number}", f"tire word{number}")
            with monkeypatch.context() as patch:
                Steps(patch, number)
                assert error_of(writer.commit) is not None
            before = store.generation()
            assert writer.commit() == before + 1
            assert f"d{number}" in opened(store)
    check_index(store)


def held_open(path):
    """Files below a folder that are deleted and take room all the same: mapped, or open."""
    maps = {
        line.split(maxsplit=5)[5].removesuffix(" (deleted)")
        for line in Path("/proc/self/maps").read_text().splitlines()
        if line.endswith("(deleted)")
    }
    for descriptor in list(Path("/proc/self/fd").iterdir()):
        with contextlib.suppress(OSError):
            target = str(descriptor.readlink())
            if target.endswith("(deleted)"):
                maps.add(target.removesuffix(" (deleted)"))
    return sorted(name for name in maps if name.startswith(str(path)))


def no_room(monkeypatch, kind, *, times=1):
    """Have writing the part of a kind fail, after so many were written."""
    write, left = StoreWriter.write, [times]

    def failing(self, own, settings, arrays, files=None):
        if own == kind:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, "no space left on device")
        return write(self, own, settings, arrays, files)

    monkeypatch.setattr(StoreWriter, "write", failing)


@pytest.fixture
def mapping(monkeypatch):
    """Small files are mapped too, and stay open."""
    monkeypatch.setattr(folder, "_MAPPED_BYTES", 1)
    monkeypatch.setattr(stored_documents, "_OPENED_BYTES", 0)


def fill(writer, first):
    for number in range(first, first + 300):
        writer.add(f"d{number}", f"tire word{number} same{number % 3}")


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not list a process's maps")
@pytest.mark.parametrize("kind", ["norms", "deleted", "statistics", "space", "segment"])
@pytest.mark.parametrize("closing", [False, True])
def test_a_rollback_frees_the_disk_once_its_error_is_handled(
    tmp_path, monkeypatch, mapping, kind, closing
):
    store = created(tmp_path / "x", source=SOURCE)
    with writing(store, merge=None) as writer:
        fill(writer, 0)
    index = opened(store)
    seen = [str(store.path / "parts" / name) for name in store.read().parts]  # by the reader
    expected = [(hit.id, hit.score) for hit in index.search("word7 same1", k=50)]
    writer = writing(store, merge=None)
    fill(writer, 200)  # some are replaced
    no_room(monkeypatch, kind)
    try:
        if kind == "segment":
            writer.merge()
        writer.commit(refresh=True)
        no_room(monkeypatch, kind, times=0)
        fill(writer, 400)
        writer.commit(refresh=True)
    except OSError:
        assert len(names(store.path / "parts")) > len(store.read().parts)
        if closing:
            writer.close()
        else:
            writer.rollback()
    else:
        pytest.fail("there was room")
    assert [file for file in held_open(store.path) if not file.startswith(tuple(seen))] == []
    assert names(store.path / "parts") == sorted(store.read().parts)
    monkeypatch.undo()
    assert [(hit.id, hit.score) for hit in index.search("word7 same1", k=50)] == expected
    if not closing:
        fill(writer, 700)
        writer.commit()
        writer.close()
        assert f"d{700}" in opened(store)
    check_index(store)


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root may mount a small disk"
)
def test_a_really_full_disk_has_room_again_after_a_rollback(tmp_path, mapping):
    with small_disk(tmp_path, "6m") as disk:
        store = created(disk / "x", plain=True)
        with writing(store, merge=None, memory=1 << 20) as writer:
            writer.add("first", "tea")
            writer.commit()
            free = shutil.disk_usage(disk).free
            try:
                for number in range(10_000):
                    writer.add(str(number), " ".join(f"word{number}x{n}" for n in range(2000)))
            except OSError:
                assert shutil.disk_usage(disk).free < free // 10
                writer.rollback()
            assert shutil.disk_usage(disk).free >= free
            writer.add("last", "tea")
        assert opened(store).search("tea").ids == ["first", "last"]


@contextlib.contextmanager
def small_disk(tmp_path, size):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)],
        capture_output=True, check=False,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)
        shutil.rmtree(disk, ignore_errors=True)


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root may mount a small disk"
)
def test_a_really_full_disk_leaves_the_last_commit_whole(tmp_path):
    with small_disk(tmp_path, "3m") as disk:
        store = created(disk / "x", plain=True)
        n_committed, error = 0, None
        while error is None:
            assert n_committed < 200
            with warnings.catch_warnings(), contextlib.suppress(OSError):
                warnings.simplefilter("ignore", SoftCosineWarning)  # no room to join segments
                with writing(store) as writer:
                    writer.add(str(n_committed), f"word{n_committed} " * 5000)
                    error = error_of(writer.commit)
            n_committed += error is None
        assert "free space" in str(error)
        assert n_committed > 3
        check_index(store)
        assert len(opened(store)) == n_committed
        assert opened(store).search("word2").ids == ["2"]
