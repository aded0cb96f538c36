"""Changes of a sharded index: all shards at once, or none."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
from collections import Counter

import pytest

from killing import Victims, within
from sharded import built
from softcosine.cluster.manifest import ShardsManifest, shard_folder
from softcosine.cluster.ownership import owners_of
from softcosine.cluster.sharded_index import ShardedIndex
from softcosine.cluster.sharded_writer import ShardedWriter
from softcosine.errors import (
    IndexLockedError,
    InvalidInputError,
    UnknownDocumentError,
)
from softcosine.index.directory import store_writer
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.soft_index import SoftIndex

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals")
TEXTS = ["green tea", "black tea", "a flat tyre", "a pot of tea", "tyre and wheel"]


def made(path, n_shards=3, n_docs=20):
    """A sharded index of small documents."""
    built(
        path, [TEXTS[number % len(TEXTS)] for number in range(n_docs)], n_shards=n_shards,
        metadata=[{"n": number} for number in range(n_docs)], plain=True, encoder=None,
    )  # fmt: skip
    return path


def opened(path):
    """The snapshots of the shards at the commit that the manifest names."""
    facts = ShardsManifest.read(path).shards
    snapshots = [FolderDirectory.open(path / one.folder, checksum=one.checksum)[0] for one in facts]
    assert [one.n_docs for one in snapshots] == [one.n_docs for one in facts]
    return snapshots


def found(path):
    """The ids of all documents by their insertion numbers."""
    numbers = {}
    for one in opened(path):
        own = one.documents.insertion_numbers(one.documents.numbers).tolist()
        numbers |= dict(zip(own, one.documents.all_ids(), strict=True))
    return {number: numbers[number] for number in sorted(numbers)}


@pytest.fixture
def path(tmp_path):
    return made(tmp_path / "x.shards")


def test_changes_of_all_shards_become_visible_together(path):
    before = found(path)
    assert list(before.items()) == [(number, f"d{number}") for number in range(20)]
    with ShardedWriter(path) as writer:
        for number in range(30, 40):
            writer.add(f"d{number}", "green tea")
        writer.add("d3", "black tea")
        writer.delete("d0")
        assert writer.delete(where={"n": {"in": [5, 6]}}) == 2
        assert writer.delete("x", missing_ok=True) == 0
        writer.update_metadata("d1", {"n": 100})
        with pytest.raises(UnknownDocumentError):
            writer.delete("x")
        assert found(path) == before
        with pytest.raises(IndexLockedError):
            ShardedWriter(path, timeout=0)
    after = found(path)
    gone = {"d0", "d3", "d5", "d6"}
    assert after == {n: id for n, id in before.items() if id not in gone} | {
        20 + n: f"d{30 + n}" for n in range(10)
    } | {30: "d3"}
    assert ShardsManifest.read(path).next_number == 31
    owners = {
        id: number for number, one in enumerate(opened(path)) for id in one.documents.all_ids()
    }
    assert list(owners.values()) == owners_of(owners, 3).tolist()


def test_a_writer_goes_on_after_a_commit_and_a_rollback(path):
    with ShardedWriter(path) as writer:
        writer.commit()  # nothing
        writer.add("a", "tea")
        writer.commit()
        writer.add("b", "tea")
        writer.rollback()
        writer.add("c", "tea")
        writer.commit()
        writer.merge()
    assert list(found(path).values())[20:] == ["a", "c"]
    assert all(len(one.segments) == 1 for one in opened(path))
    with pytest.raises(InvalidInputError, match="closed"):
        writer.add("d", "tea")


def test_an_index_opens_while_a_writer_commits(path, monkeypatch):
    real, n_opened = ShardedIndex._at, Counter()

    def slow(folder, manifest, options):
        n_opened["all"] += 1
        if n_opened["all"] < 3:
            with ShardedWriter(path) as writer:
                writer.add_many([f"{n_opened['all']}-{n}" for n in range(9)], ["tea"] * 9)
        return real(folder, manifest, options)

    monkeypatch.setattr(ShardedIndex, "_at", slow)
    assert len(ShardedIndex.open(path)) == 38
    assert n_opened["all"] == 3


def test_segments_are_merged_after_commits(path):
    for number in range(40):
        with ShardedWriter(path) as writer:
            writer.add(f"n{number}", "tea")
    assert len(found(path)) == 60
    assert max(len(one.segments) for one in opened(path)) < 12


@pytest.mark.parametrize("at", ["parts", "manifest", "rename"])
def test_one_shard_that_fails_leaves_the_others_as_they_were(path, monkeypatch, at):
    before, real = found(path), store_writer.write_manifest
    n_calls = Counter()

    def failing(manifest, file):
        n_calls["all"] += 1
        if n_calls["all"] == 2:
            raise OSError(28, "No space left on device")
        real(manifest, file)

    writer = ShardedWriter(path)
    for number in range(9):
        writer.add(f"n{number}", "tea")
    with monkeypatch.context() as patched:
        if at == "rename":
            # The commit stands: readers find the announced manifests.
            patched.setattr(
                store_writer,
                "patiently",
                lambda action: (_ for _ in ()).throw(OSError(5, "broken")),
            )
        elif at == "manifest":
            patched.setattr(store_writer, "write_manifest", failing)
        else:
            patched.setattr(
                store_writer, "sync", lambda *_: (_ for _ in ()).throw(OSError(28, "full"))
            )
        with pytest.raises(OSError, match=r"broken|space|full"):
            writer.commit()
        if at == "rename":
            assert len(found(path)) == 29
        else:
            assert found(path) == before
    writer.commit()
    assert len(found(path)) == 29
    writer.add("z", "tea")
    writer.commit()
    writer.close()
    assert len(found(path)) == 30
    assert not list(path.glob("shard-*/manifest.json.new"))


def test_an_error_after_a_commit_hides_no_other(path, monkeypatch):
    writer = ShardedWriter(path, on_commit=lambda: 1 / 0)
    writer.add("n", "tea")
    with pytest.raises(ZeroDivisionError):
        writer.commit()
    writer.add("m", "tea")
    monkeypatch.setattr(
        store_writer, "patiently", lambda _: (_ for _ in ()).throw(OSError(5, "broken"))
    )
    with pytest.raises(OSError, match="broken"):
        writer.commit()
    writer.close()


@pytest.mark.parametrize("wrong", [{"memory": "1"}, {"memory": 1}, {"merge": 3}, {"progress": 5}])
def test_invalid_options_are_refused_before_the_lock(path, wrong):
    with pytest.raises(InvalidInputError, match=f"{next(iter(wrong))} is"):
        ShardedWriter(path, **wrong)
    ShardedWriter(path, timeout=0, memory=None).close()


def test_what_a_crashed_writer_announced_is_renamed_by_the_next(path, monkeypatch):
    writer = ShardedWriter(path)
    for number in range(9):
        writer.add(f"n{number}", "tea")
    with monkeypatch.context() as patched:
        patched.setattr(
            store_writer, "patiently", lambda action: (_ for _ in ()).throw(OSError(5, "broken"))
        )
        with pytest.raises(OSError, match="broken"):
            writer.commit()
    shutil.copytree(path, path.with_name("crashed"))  # as a crash at this moment leaves it
    writer.close()
    crashed = path.with_name("crashed")
    assert len(list(crashed.glob("shard-*/manifest.json.new"))) == 3
    assert len(found(crashed)) == 29
    with ShardedWriter(crashed) as writer:
        for number in range(9):
            writer.add(f"m{number}", "tea")
    assert len(found(crashed)) == 38
    assert not list(crashed.glob("shard-*/manifest.json.new"))


def test_shards_keep_what_they_were_built_with(path):
    with ShardedIndex.open(path) as index, index.writer() as writer:
        for change in (
            lambda: writer.set_similarity(index.S),
            lambda: writer.set_weighting(index.weighting),
            lambda: writer.encode("static"),
            lambda: writer.commit(refresh=True),
        ):
            with pytest.raises(InvalidInputError, match="build them anew"):
                change()


def test_a_shard_is_not_changed_alone(path):
    index = SoftIndex.open(path / shard_folder(1))
    with pytest.raises(InvalidInputError, match=r"is a shard of .*; change that sharded index"):
        index.writer()


def test_killed_writers_leave_the_same_commit_in_all_shards(path):
    def write(say):
        last = ShardsManifest.read(path).next_number
        say(last)
        writer = ShardedWriter(path, merge=None)
        while True:
            for number in range(last, last + 12):
                writer.add(f"k{number}", "green tea")
            writer.commit()
            last += 12
            say(last)

    victims, last = Victims(write, usual=0.05), 20
    for _ in range(12):
        last = max(last, victims.killed(last))
        now = ShardsManifest.read(path).next_number
        assert now in (last, last + 12)
        assert list(found(path)) == list(range(now))
        last = now


def ended_at_one_of_two_commits(path, writer):
    """Whether the interrupted commit of a document of each shard stands; all shards agree."""
    writer.close()
    n_docs = len(found(path))
    assert n_docs in (20, 26)
    with ShardedWriter(path, timeout=0) as again:
        again.add("after", "green tea")
    assert len(found(path)) == n_docs + 1
    assert not list(path.glob("shard-*/manifest.json.new"))
    return n_docs == 26


def interrupt_main():
    """Send Ctrl-C to the main thread, so that it wakes where it waits."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def changed(path):
    """A writer with changes of all shards."""
    writer = ShardedWriter(path, merge=None)
    for number in range(6):
        writer.add(f"n{number}", "green tea")
    assert len(writer._writers) == 3
    return writer


@pytest.mark.parametrize("n_started", [1, 2, 3])
def test_an_interrupt_while_shards_start_to_commit_commits_nothing(path, monkeypatch, n_started):
    start, started = threading.Thread.start, []

    def interrupted(thread):
        start(thread)
        if threading.current_thread() is threading.main_thread():
            started.append(thread)
            if len(started) == n_started:
                raise KeyboardInterrupt

    writer = changed(path)
    with monkeypatch.context() as patched, within(30):
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.commit()
    assert ended_at_one_of_two_commits(path, writer) in (
        {False} if n_started < 3 else {True, False}
    )


@POSIX
def test_an_interrupt_while_the_commit_is_published_leaves_it_whole(path, monkeypatch):
    write, waiting = ShardsManifest.write, threading.Event()

    def interrupted(manifest, *arguments):
        written = write(manifest, *arguments)
        interrupt_main()
        waiting.wait(0.2)  # until the main thread waits to stop the shards
        return written

    writer, seen = changed(path), []
    writer._on_commit = lambda: seen.append(len(found(path)))
    with monkeypatch.context() as patched, within(30):
        patched.setattr(ShardsManifest, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.commit()
    assert seen == [26]
    assert ended_at_one_of_two_commits(path, writer)


@POSIX
def test_an_interrupt_at_any_moment_ends_a_commit_of_shards(tmp_path):
    made(tmp_path / "before.shards")
    standing, random_ = Counter(), random.Random(3)
    for turn in range(40):
        path = shutil.copytree(
            tmp_path / "before.shards", tmp_path / f"{turn}.shards", symlinks=True
        )
        writer = changed(path)
        timer = threading.Timer(random_.uniform(0, 0.06), interrupt_main)
        with within(30):
            try:
                timer.start()
                writer.commit()
                timer.join()
                time.sleep(0.01)  # until the interrupt comes
            except KeyboardInterrupt:
                timer.join()
        standing[ended_at_one_of_two_commits(path, writer)] += 1
    assert len(standing) == 2


@POSIX
def test_shards_that_prepare_a_commit_end_once_it_is_interrupted(path):
    """The others stop at their next step, not when they have prepared theirs."""
    writer, steps = changed(path), []
    began, stopped = threading.Event(), threading.Event()

    def progress(task, done, total):
        began.set()
        steps.append(task)
        stopped.wait(30)

    def interrupt():
        began.wait(30)
        interrupt_main()
        while (awaiting := writer._awaiting) and not awaiting.broken:
            time.sleep(0.001)
        stopped.set()

    writer._progress = progress
    thread = threading.Thread(target=interrupt)
    thread.start()
    with within(60), pytest.raises(KeyboardInterrupt):
        writer.commit()
    thread.join()
    assert len(steps) <= 3  # one of each shard
    assert not ended_at_one_of_two_commits(path, writer)
