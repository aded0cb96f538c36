"""An index's folder: a commit is one renaming, and no fault leaves anything between two commits."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from killing import ended, run_script
from softcosine.errors import (
    AlreadyExistsError,
    CorruptIndexError,
    IndexFormatError,
    IndexLockedError,
    InvalidInputError,
)
from softcosine.index.directory import lock as locks
from softcosine.index.directory import store_writer
from softcosine.index.directory.commit import VERSION
from softcosine.index.directory.lock import WriteLock
from softcosine.index.directory.store import Store
from softcosine.index.soft_index import SoftIndex
from softcosine.storage import folder as folders
from softcosine.storage import replacement, signed_manifest, write_folder, write_manifest

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows knows no signals and no such folders")


def note(text):
    return lambda path: path.write_text(text, encoding="utf-8")


def write(writer, number):
    """Two parts whose every number is `number`."""
    large = writer.write(
        "numbers", {"number": number}, {"a/large": np.full(140_000, number), "few": [number]}
    )
    small = writer.write("notes", {}, {}, {"deep/note.txt": note(f"{number}")})
    return {"number": number}, (large, small)


def commit(writer, number):
    made = write(writer, number)
    return writer.commit(*made)


def created(folder, number=0, **settings):
    return Store.create(folder, lambda writer: write(writer, number), **settings)


def whole(generation):
    """The number that all of a generation is made of; AssertionError if it is not all one."""
    numbers = {generation.settings["number"]}
    for part in generation.parts.values():
        if part.kind == "numbers":
            numbers |= {part.settings["number"], *part.array("few").tolist()}
            numbers |= set(part.array("a/large")[[0, 1000, -1]].tolist())
        else:
            numbers.add(int(part.file("deep/note.txt").read_text(encoding="utf-8")))
    assert len(numbers) == 1, numbers
    return numbers.pop()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "write.lock"
    }


def test_a_commit_is_seen_by_who_opens_afterwards(tmp_path):
    store = created(tmp_path / "x")
    assert (store.generation(), whole(store.read())) == (1, 0)
    with store.writing() as writer:
        for number in (1, 2):
            made = commit(writer, number)
            assert made.number == store.generation() == number + 1
            assert whole(made) == whole(store.read()) == number
            assert writer.base is made
    again = Store.open(tmp_path / "x")
    assert whole(again.read()) == 2
    again.read().verify()
    assert names(tmp_path / "x") == ["manifest.json", "parts", "write.lock"]
    assert names(tmp_path / "x" / "parts") == sorted(again.read().parts)
    assert names(tmp_path) == ["x"]


def test_parts_may_be_kept_and_are_not_opened_again(tmp_path):
    store = created(tmp_path / "x")
    old = store.read()
    with store.writing() as writer:
        more = writer.write("more", {}, {"a": np.arange(3)})
        assert writer.part(more).array("a").tolist() == [0, 1, 2]
        writer.commit({"number": 0}, [*old.parts, more])
    new = store.read(old)
    assert set(new.parts) == {*old.parts, more}
    assert all(new.parts[name] is part for name, part in old.parts.items())
    assert new.part(more).kind == "more"
    assert new.part(more).settings == {}
    with pytest.raises(CorruptIndexError, match="names no part 'other'"):
        new.part("other")


def test_what_is_not_committed_is_never_seen_and_swept_on_leaving(tmp_path):
    store = created(tmp_path / "x")
    before = tree(tmp_path)
    with store.writing() as writer:
        write(writer, 1)
        assert whole(Store.open(tmp_path / "x").read()) == 0
        assert len(names(tmp_path / "x" / "parts")) == 4
        writer.discard()
        assert len(names(tmp_path / "x" / "parts")) == 2
        write(writer, 1)
    assert tree(tmp_path) == before
    with pytest.raises(InvalidInputError, match="this writer is closed"):
        write(writer, 2)
    with pytest.raises(InvalidInputError, match="this writer is closed"):
        writer.commit({}, ())
    writer.close()


def test_what_a_dead_writer_left_is_swept_by_the_next(tmp_path):
    store = created(tmp_path / "x")
    before = tree(tmp_path)
    parts = tmp_path / "x" / "parts"
    shutil.copytree(next(parts.iterdir()), parts / "numbers-0123456789abcdef")
    (parts / "notes-0000000000000000").mkdir()
    (parts / "mine").mkdir()
    (parts / "mine" / "file").write_text("not of the index")
    (tmp_path / "x" / "manifest.json.new").write_text("{")
    assert whole(store.read()) == 0
    store.writing().close()
    assert (parts / "mine" / "file").is_file()
    shutil.rmtree(parts / "mine")
    assert tree(tmp_path) == before


def test_an_unreadable_manifest_sweeps_nothing(tmp_path):
    store = created(tmp_path / "x")
    writer = store.writing()
    (tmp_path / "x" / "manifest.json").unlink()
    before = tree(tmp_path)
    writer.close()
    assert tree(tmp_path) == before


def test_a_generation_stays_readable_after_its_parts_are_swept(tmp_path):
    store = created(tmp_path / "x")
    held = store.read()
    arrays = {
        name: part.array("a/large") for name, part in held.parts.items() if part.kind == "numbers"
    }
    with store.writing() as writer:
        for number in range(1, 4):
            commit(writer, number)
    if os.name != "nt":
        assert not set(names(tmp_path / "x" / "parts")) & set(held.parts)
    for array in arrays.values():
        assert not array.any()
    assert whole(store.read(held)) == 3


def test_a_reader_opens_anew_what_was_swept_while_it_opened(tmp_path):
    store = created(tmp_path / "x")
    tried = []

    def build(generation):
        tried.append(generation.number)
        if len(tried) < 3:
            with store.writing() as writer:
                commit(writer, len(tried))
        return whole(generation)

    assert store.opened(build) == 2
    assert tried == [1, 2, 3]

    def fail(generation):
        raise CorruptIndexError("it is")

    with pytest.raises(CorruptIndexError, match="it is"):
        store.opened(fail)


def _read_until(path, stop, met):
    store = Store.open(path)
    last, previous = 0, None
    while not stop.is_set():
        number, previous = store.opened(
            lambda generation: (whole(generation), generation), previous
        )
        assert number >= last
        last = number
    met.append(last)


def _commit_many(path, n):
    with Store.open(path).writing() as writer:
        for number in range(1, n + 1):
            commit(writer, number)


def test_readers_in_threads_and_processes_always_see_a_whole_generation(tmp_path):
    created(tmp_path / "x")
    stop, met = threading.Event(), []
    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(_read_until, tmp_path / "x", stop, met) for _ in range(3)]
        writer = multiprocessing.get_context("spawn").Process(
            target=_commit_many, args=(tmp_path / "x", 60)
        )
        writer.start()
        writer.join()
        stop.set()
        for reader in readers:
            reader.result()
    assert writer.exitcode == 0
    assert met == [60, 60, 60]


def test_creating_leaves_nothing_if_it_fails(tmp_path):
    def fail(writer):
        write(writer, 1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Store.create(tmp_path / "x", fail)
    assert names(tmp_path) == []
    created(tmp_path / "x")
    before = tree(tmp_path)
    with pytest.raises(ZeroDivisionError):
        Store.create(tmp_path / "x", fail, overwrite=True)
    with pytest.raises(AlreadyExistsError, match="or pass overwrite=True"):
        created(tmp_path / "x")
    assert tree(tmp_path) == before
    (tmp_path / "y").mkdir()
    with pytest.raises(AlreadyExistsError, match="is no softcosine index"):
        created(tmp_path / "y", overwrite=True)


def test_an_index_is_replaced_whole_and_its_number_goes_on(tmp_path):
    store = created(tmp_path / "x")
    held = store.read()
    created(tmp_path / "x", 7, overwrite=True)
    assert (store.generation(), whole(store.read(held))) == (2, 7)
    assert names(tmp_path) == ["x"]
    write_folder(tmp_path / "old", "index", {}, {"a": np.arange(3)})
    assert whole(created(tmp_path / "old", 1, overwrite=True).read()) == 1


def test_an_index_that_is_being_written_is_not_replaced(tmp_path):
    store = created(tmp_path / "x")
    with store.writing(), pytest.raises(IndexLockedError, match="at a time"):
        created(tmp_path / "x", 1, overwrite=True)
    assert whole(store.read()) == 0


def of_version(path, version):
    """An index of a format version, without any content."""
    path.mkdir()
    content = {"settings": {}, "files": {}}
    write_manifest(signed_manifest("index", version, content), path / "manifest.json")


def test_other_folders_and_versions_are_refused_with_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no index at"):
        Store.open(tmp_path / "x")
    with pytest.raises(IndexFormatError, match=r"it has no manifest\.json"):
        Store.open(tmp_path)
    with pytest.raises(IndexFormatError, match=r"it has no manifest\.json"):
        Store(tmp_path).writing()
    assert names(tmp_path) == []
    of_version(tmp_path / "new", VERSION + 1)
    with pytest.raises(IndexFormatError, match=r"version 4; .* version 3\. Install a newer"):
        Store.open(tmp_path / "new")
    of_version(tmp_path / "empty", VERSION)
    with pytest.raises(CorruptIndexError, match="lacks a part of an index"):
        Store(tmp_path / "empty").read()


@pytest.mark.parametrize("version", [1, 2])
def test_an_index_of_an_older_format_says_how_it_is_made_anew(tmp_path, version):
    of_version(tmp_path / "old", version)
    said = rf"old has format version {version}; .* version 3\. Index its documents anew "
    for open_it in (Store.open, SoftIndex.open, lambda path: Store(path).writing()):
        with pytest.raises(IndexFormatError, match=said + r"\(softcosine index FILES -o NEW\)"):
            open_it(tmp_path / "old")


def files_of(path):
    return sorted(p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())


def test_a_flipped_byte_in_any_file_is_named(tmp_path):
    store = created(tmp_path / "x")
    path = tmp_path / "x"
    assert len(files_of(path)) == 6
    for name in files_of(path):
        file = path / name
        content = file.read_bytes()
        for position in {0, len(content) // 2, len(content) - 2}:
            changed = bytearray(content)
            changed[position] ^= 1
            file.write_bytes(changed)
            with pytest.raises(IndexFormatError) as caught:
                store.read().verify()
            assert file.name in str(caught.value) or "holds a softcosine" in str(caught.value)
            assert str(file.parent) in str(caught.value)
        file.write_bytes(content)
    store.read().verify()


def test_a_file_cut_short_or_missing_is_refused_at_opening_by_name(tmp_path):
    store = created(tmp_path / "x")
    path = tmp_path / "x"
    for name in files_of(path):
        file = path / name
        content = file.read_bytes()
        for kept in (0, len(content) // 2, len(content) - 2):
            file.write_bytes(content[:kept])
            with pytest.raises(CorruptIndexError) as caught:
                store.read()
            assert str(file) in str(caught.value)
        file.unlink()
        with pytest.raises(IndexFormatError) as caught:
            store.read()
        assert file.name in str(caught.value)
        file.write_bytes(content)
    shutil.rmtree(next((path / "parts").iterdir()))
    with pytest.raises(CorruptIndexError, match="is missing; rebuild the index"):
        store.read()
    with pytest.raises(CorruptIndexError, match="is missing; rebuild the index"):
        store.writing()
    WriteLock(path).release()


def test_a_part_of_another_index_is_not_taken_for_its_own(tmp_path):
    store = created(tmp_path / "x")
    created(tmp_path / "y", 1)
    for name in store.read().parts:
        kind = name.partition("-")[0]
        other = next(p for p in (tmp_path / "y" / "parts").iterdir() if p.name.startswith(kind))
        shutil.rmtree(tmp_path / "x" / "parts" / name)
        shutil.copytree(other, tmp_path / "x" / "parts" / name)
        with pytest.raises(CorruptIndexError, match="is not the one that the index was committed"):
            store.read()


def test_names_that_lead_out_of_the_index_are_refused(tmp_path):
    store = created(tmp_path / "x")
    file = tmp_path / "x" / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["parts"]["../../other"] = {"kind": "numbers", "checksum": ""}
    manifest["checksum"] = folders.signed_manifest("index", 2, manifest)["checksum"]
    del manifest["checksum"]
    manifest = folders.signed_manifest("index", 2, manifest)
    file.write_text(json.dumps(manifest))
    with pytest.raises(CorruptIndexError, match="which is no name"):
        store.read()


def test_settings_that_json_cannot_hold_say_so_and_change_nothing(tmp_path):
    store = created(tmp_path / "x")
    before = tree(tmp_path)
    with store.writing() as writer:
        with pytest.raises(InvalidInputError, match="cannot be written as JSON"):
            writer.write("numbers", {"a": object()}, {})
        with pytest.raises(InvalidInputError, match="cannot be written as JSON"):
            writer.commit({"a": object()}, ())
    assert tree(tmp_path) == before


def error_of(action, *arguments):
    """The error of the system that an action ends with, or None."""
    try:
        action(*arguments)
    except OSError as error:
        return error
    return None


class Steps:
    """Fails the n-th of all calls that write, with an error of the system."""

    def __init__(self, patch, number):
        self.left = number
        self.patch = patch
        for place, name in (
            (np, "save"), (os, "fsync"), (Path, "mkdir"), (Path, "write_text"), (Path, "replace"),
        ):  # fmt: skip
            self.wrap(place, name)

    def wrap(self, place, name):
        real = getattr(place, name)

        def step(*arguments, **settings):
            self.left -= 1
            if self.left == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*arguments, **settings)

        self.patch.setattr(place, name, step)


def test_a_full_disk_at_any_step_leaves_the_old_generation_whole(tmp_path, monkeypatch):
    store = created(tmp_path / "x")
    number = 0
    while True:
        number += 1
        before = tree(tmp_path)
        old = store.generation()
        with monkeypatch.context() as patch, store.writing() as writer:
            steps = Steps(patch, number)
            error = error_of(commit, writer, number)
        store.read().verify()
        if steps.left > 0:
            assert error is None
            break
        assert error.errno == errno.ENOSPC
        assert "free space" in str(error)
        if store.generation() == old:
            assert tree(tmp_path) == before
        else:  # only to sync the folder failed, after the renaming
            assert whole(store.read()) == number
    assert number > 15
    assert whole(store.read()) == number


def test_a_commit_that_failed_may_be_tried_again(tmp_path, monkeypatch):
    store = created(tmp_path / "x")
    with store.writing() as writer:
        made = write(writer, 5)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "")))
            with pytest.raises(OSError, match=str(errno.EIO)):
                writer.commit(*made)
        assert names(tmp_path / "x") == ["manifest.json", "parts", "write.lock"]
        writer.commit(*made)
    assert whole(store.read()) == 5


def test_an_interruption_right_after_the_renaming_loses_nothing(tmp_path, monkeypatch):
    store = created(tmp_path / "x")
    replace = Path.replace

    def interrupted(path, target):
        replace(path, target)
        raise KeyboardInterrupt

    with store.writing() as writer:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", interrupted)
            with pytest.raises(KeyboardInterrupt):
                commit(writer, 3)
        assert whole(writer.base) == 3
    store.read().verify()
    assert whole(store.read()) == 3


def test_everything_is_on_disk_before_it_is_named(tmp_path, monkeypatch):
    store = created(tmp_path / "x")
    synced, at_renaming = set(), []
    sync, replace = folders.sync, Path.replace

    def syncing(path):
        synced.add(path)
        sync(path)

    def renaming(path, target):
        at_renaming.append(set(synced))
        synced.clear()
        return replace(path, target)

    with store.writing() as writer, monkeypatch.context() as patch:
        for module in (folders, store_writer):
            patch.setattr(module, "sync", syncing)
        patch.setattr(Path, "replace", renaming)
        generation = commit(writer, 1)
    (before,) = at_renaming
    path = tmp_path / "x"
    for part in generation.parts.values():
        assert {part.path, *part.path.rglob("*")} <= before
    assert {path / "parts", path / "manifest.json.new"} <= before
    assert synced == {path}


def test_a_second_writer_is_told_who_the_first_is(tmp_path):
    store = created(tmp_path / "x")
    with store.writing():
        with pytest.raises(IndexLockedError, match="another writer of this same process has the"):
            store.writing()
        start = time.monotonic()
        with pytest.raises(IndexLockedError, match=r"still after 0\.1 seconds"):
            Store.open(tmp_path / "x").writing(timeout=0.1)
        assert time.monotonic() - start >= 0.1
    with store.writing():
        pass


HOLDER = """
import sys
from softcosine.index.directory.store import Store
writer = Store.open(sys.argv[1]).writing()
print("held", flush=True)
sys.stdin.readline()
writer.close()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that has the index open for writing until it is spoken to."""
    created(tmp_path / "x")
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "x")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with ended(process):
        assert process.stdout.readline() == "held\n"
        yield process


def test_a_writer_in_another_process_is_named_and_its_death_frees_the_index(tmp_path, holder):
    store = Store.open(tmp_path / "x")
    with pytest.raises(IndexLockedError, match=f"a writer in process {holder.pid} on "):
        store.writing()
    holder.kill()
    holder.wait()
    with store.writing() as writer:
        commit(writer, 1)
    assert whole(store.read()) == 1


def test_waiting_for_a_writer_succeeds_when_it_ends(tmp_path, holder):
    store = Store.open(tmp_path / "x")
    timer = threading.Timer(0.1, lambda: (holder.stdin.write("\n"), holder.stdin.flush()))
    timer.start()
    with store.writing(timeout=None) as writer:
        commit(writer, 1)
    timer.join()
    assert whole(store.read()) == 1


@POSIX
def test_a_forked_process_holds_no_lock_and_keeps_none(tmp_path):
    script = f"""
import os, sys, time
from softcosine.errors import InvalidInputError
from softcosine.index.directory.lock import IndexLockedError
from softcosine.index.directory.store import Store
store = Store.open({str(tmp_path / "x")!r})
writer = store.writing()
part = writer.write("part", {{}}, {{}})
pid = os.fork()
if pid == 0:
    try:
        writer.commit({{}}, ())
    except InvalidInputError as error:
        assert "forked" in str(error)
    else:
        os._exit(1)
    writer.close()
    assert writer.part(part).path.is_dir()
    try:
        store.writing()
    except IndexLockedError:
        os._exit(0)
    os._exit(2)
assert os.waitpid(pid, 0)[1] == 0
pid = os.fork()
if pid == 0:
    time.sleep(60)
writer.close()
store.writing().close()
os.kill(pid, 9)
"""
    created(tmp_path / "x")
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges folders in one step")
def test_who_waits_for_an_index_that_is_replaced_locks_the_new_one(tmp_path):
    store = created(tmp_path / "x")
    created(tmp_path / "y", 4)
    first = WriteLock(tmp_path / "x")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.writing, None)
        time.sleep(0.05)
        assert replacement._exchange(tmp_path / "x", tmp_path / "y")
        first.release()
        with waiting.result() as writer:
            assert whole(writer.base) == 4
            with pytest.raises(IndexLockedError):
                store.writing()


@pytest.mark.parametrize("timeout", [-1, float("nan"), "1", True])
def test_a_timeout_is_a_number_of_seconds(tmp_path, timeout):
    store = created(tmp_path / "x")
    with pytest.raises(InvalidInputError, match="a finite number of at least 0"):
        store.writing(timeout)


def test_a_lock_file_that_says_nothing_is_no_trouble(tmp_path):
    lock = WriteLock(tmp_path)
    for text in ("", "{", '{"pid": "x", "host": 3}', "[]"):
        (tmp_path / "write.lock").write_text(text)
        with pytest.raises(IndexLockedError, match="another writer has the index"):
            WriteLock(tmp_path)
    lock.release()
    lock.release()


def test_the_seconds_of_waiting_count_anew_with_each_writer(tmp_path, monkeypatch):
    clock, holders = [0.0], iter(())
    monkeypatch.setattr(locks.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(locks.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + 4))

    def taken(file):
        holder = next(holders)
        file.write_text(holder)
        return None if holder else locked(file)

    locked = locks._locked
    monkeypatch.setattr(locks, "_locked", taken)
    holders = iter(["a", "a", "b", "b", "c", "c", ""])  # each for 8 seconds
    WriteLock(tmp_path, timeout=10).release()
    assert clock == [24.0]
    holders = iter(["a", "b", "b", "b", "b", ""])
    with pytest.raises(IndexLockedError, match="still after 10 seconds"):
        WriteLock(tmp_path, timeout=10)


def test_an_unforeseen_error_of_the_lock_is_passed_on(tmp_path, monkeypatch):
    def fail(descriptor, *, shared):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("softcosine._file_lock._lock_descriptor", fail)
    with pytest.raises(OSError, match="no locks available"):
        WriteLock(tmp_path)


@POSIX
def test_an_index_where_nothing_may_be_written_is_read_and_refuses_writing(tmp_path, monkeypatch):
    store = created(tmp_path / "x")
    places = [tmp_path / "x", *(tmp_path / "x").rglob("*")]
    for place in reversed(places):
        place.chmod(0o555 if place.is_dir() else 0o444)
    if os.geteuid() == 0:  # who may write anywhere, so the system's refusal is played
        real = os.open

        def refusing(path, flags, *mode):
            if flags & (os.O_RDWR | os.O_WRONLY | os.O_CREAT):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
            return real(path, flags, *mode)

        monkeypatch.setattr(os, "open", refusing)
    try:
        generation = Store.open(tmp_path / "x").read()
        generation.verify()
        assert whole(generation) == 0
        with pytest.raises(PermissionError, match="can be searched but not changed"):
            store.writing()
    finally:
        monkeypatch.undo()
        for place in places:
            place.chmod(0o777)


KILLED = """
import random, sys
from killing import Victims
from test_store import commit, whole
from softcosine.index.directory.store import Store

def write(say):
    with Store.open(path).writing() as writer:
        number = writer.base.settings["number"]
        say(number)
        while True:
            number += 1
            commit(writer, number)
            say(number)

path, rounds = sys.argv[1], int(sys.argv[2])
random.seed(rounds)
victims, last = Victims(write, usual=0.01), 0
for turn in range(rounds):
    reported = victims.killed(last)
    generation = Store.open(path).read()
    generation.verify()
    found = whole(generation)
    assert found in (reported, reported + 1), (found, reported)
    assert generation.number == found + 1
    last = found
print(last)
"""


@POSIX
def test_a_writer_killed_at_any_moment_leaves_the_last_commit_or_the_one_in_flight(tmp_path):
    created(tmp_path / "x")
    assert run_script(KILLED, tmp_path / "x", 200) > 20
    store = Store.open(tmp_path / "x")
    with store.writing() as writer:
        assert names(tmp_path / "x" / "parts") == sorted(writer.base.parts)
        assert names(tmp_path / "x") == ["manifest.json", "parts", "write.lock"]


def test_thousands_of_parts_need_no_more_files_than_a_process_may_have(tmp_path):
    with created(tmp_path / "x").writing() as writer:
        parts = [writer.write("one", {}, {"a": np.arange(n)}) for n in range(1500)]
        generation = writer.commit({}, parts)
    arrays = [generation.part(name).array("a") for name in parts]
    assert [len(array) for array in arrays] == list(range(1500))
