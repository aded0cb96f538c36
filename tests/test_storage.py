"""Folders that are there whole or not at all, and every damage named."""

from __future__ import annotations

import errno
import json
import mmap
import os
import shutil
import signal
import stat
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crafted import array_at, npy, set_array, sign
from softcosine.errors import (
    AlreadyExistsError,
    CorruptIndexError,
    IndexFormatError,
    InvalidInputError,
)
from softcosine.storage import folder as folders
from softcosine.storage import manifest as manifests
from softcosine.storage import (
    naming_a_full_disk,
    open_folder,
    open_regular,
    replacement,
    write_folder,
    written_beside,
)

ARRAYS = {
    "numbers": np.arange(5),
    "deep/empty": np.empty(0, np.float32),
    "deep/table": np.eye(3),
}


def note(text="a note"):
    return lambda path: path.write_text(text, encoding="utf-8")


def written(folder, **changes):
    arguments = {
        "kind": "thing",
        "settings": {"name": "ein Name \ud800 \0 ☃", "n": 3, "list": [1, None, True, 0.1]},
        "arrays": ARRAYS,
        "files": {"notes/a.txt": note()},
    }
    write_folder(folder, **{**arguments, **changes})
    return folder


def tree(folder):
    """Every file below a folder and its bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_is_written_is_read(tmp_path):
    folder = open_folder(written(tmp_path / "x"), "thing")
    assert folder.settings == {
        "name": "ein Name \ud800 \0 ☃",
        "n": 3,
        "list": [1, None, True, 0.1],
    }
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(folder.array(name), array)
        assert folder.array(name).dtype == array.dtype
    assert sorted(folder.arrays("deep")) == ["empty", "table"]
    assert folder.arrays("nothing") == {}
    assert folder.file("notes/a.txt").read_text() == "a note"
    folder.verify()
    assert names(tmp_path) == ["x"]


@given(
    hnp.arrays(
        st.sampled_from(["i1", "u2", "i4", "f4", "f8", "?"]),
        hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3),
    )
)
def test_arrays_come_back_to_the_bit(example_folder, array):
    path = example_folder() / "x"
    write_folder(path, "thing", {}, {"a": array, "reversed": array[::-1]})
    folder = open_folder(path, "thing")
    folder.verify()
    assert folder.array("a").dtype == array.dtype
    assert folder.array("a").tobytes() == array.tobytes()
    assert folder.array("reversed").tobytes() == array[::-1].tobytes()


def test_writing_into_a_mapped_array_never_reaches_the_file(tmp_path):
    folder = open_folder(written(tmp_path / "x"), "thing")
    before = tree(tmp_path)
    folder.array("numbers")[:] = 9
    assert tree(tmp_path) == before
    assert folder.array("numbers").tolist() == [0, 1, 2, 3, 4]


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array.obj if isinstance(array, memoryview) else array, mmap.mmap)


def test_only_large_arrays_are_mapped_and_small_ones_keep_no_descriptor(tmp_path):
    large = np.arange(1 << 18)
    written(tmp_path / "x", arrays={"large/x": large, "small/x": np.arange(9)})
    folder = open_folder(tmp_path / "x", "thing")
    assert [is_mapped(folder.array(name)) for name in ("large/x", "small/x")] == [True, False]
    np.testing.assert_array_equal(folder.array("large/x"), large)


def test_other_versions_are_refused_with_what_to_do(tmp_path, monkeypatch):
    path = written(tmp_path / "x")
    for version, advice in ((1, "Install a newer"), (3, "Build it anew")):
        monkeypatch.setattr("softcosine.storage.folder.FORMAT_VERSION", version)
        with pytest.raises(
            IndexFormatError, match=rf"version 2; this .* reads version {version}\. {advice}"
        ):
            open_folder(path, "thing")


class FailsError(Exception):
    pass


def fail(*_arguments, **_settings):
    raise FailsError


FAILURES = {
    "the writer of a file": lambda patch: {"files": {"a": note(), "b": fail}},
    "an array of objects": lambda patch: {"arrays": {"a": np.array([{}], object)}},
    "settings that JSON cannot hold": lambda patch: {"settings": {"a": np.int64(1)}},
    "syncing": lambda patch: patch.setattr(folders, "sync", fail),
    "checksums": lambda patch: patch.setattr(folders, "sha256", fail),
    "saving an array": lambda patch: patch.setattr(np, "save", fail),
    "renaming": lambda patch: patch.setattr(Path, "rename", fail),
}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_write_leaves_all_as_it_was(tmp_path, monkeypatch, failure, overwrite):
    if overwrite:
        written(tmp_path / "x", settings={"old": True})
    before = tree(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(replacement, "_exchange", lambda *folders: False)
        changes = FAILURES[failure](patch) or {}
        with pytest.raises((FailsError, ValueError)):
            written(tmp_path / "x", overwrite=overwrite, **changes)
    assert tree(tmp_path) == before
    assert names(tmp_path) == (["x"] if overwrite else [])


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("step", [1, 2])
def test_an_interrupted_replacement_puts_the_old_one_back(tmp_path, monkeypatch, error, step):
    written(tmp_path / "x", settings={"old": True})
    before = tree(tmp_path)
    rename = Path.rename
    calls = []

    def renaming(path, target):
        calls.append(target)
        if len(calls) == step:
            raise error
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(replacement, "_exchange", lambda *folders: False)
        patch.setattr(Path, "rename", renaming)
        with pytest.raises(error):
            written(tmp_path / "x", overwrite=True)
    assert tree(tmp_path) == before
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("exchange", [replacement._exchange, lambda *folders: False])
def test_replacing_leaves_the_new_one_alone(tmp_path, monkeypatch, exchange):
    monkeypatch.setattr(replacement, "_exchange", exchange)
    for n in range(3):
        written(tmp_path / "x", settings={"n": n}, overwrite=True)
        assert open_folder(tmp_path / "x", "thing").settings == {"n": n}
        assert names(tmp_path) == ["x"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges folders in one step")
def test_a_reader_meets_the_old_one_or_the_new_one(tmp_path):
    written(tmp_path / "x", settings={"n": -1})
    done = threading.Event()
    met = []

    def read():
        while not done.is_set():
            manifest = json.loads((tmp_path / "x" / "manifest.json").read_text())
            met.append(manifest["settings"]["n"])

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        for n in range(50):
            written(tmp_path / "x", settings={"n": n}, overwrite=True)
        done.set()
        reading.result()
    assert met == sorted(met)
    assert names(tmp_path) == ["x"]


def test_settings_that_json_cannot_hold_say_so(tmp_path):
    with pytest.raises(InvalidInputError, match="settings of this thing cannot be written as JSON"):
        written(tmp_path / "x", settings={"a": object()})


def test_only_the_same_kind_of_thing_is_replaced_and_only_if_asked(tmp_path):
    written(tmp_path / "x")
    with pytest.raises(AlreadyExistsError, match="or pass overwrite=True"):
        written(tmp_path / "x")
    written(tmp_path / "x", settings={"new": True}, overwrite=True)
    assert open_folder(tmp_path / "x", "thing").settings == {"new": True}
    with pytest.raises(AlreadyExistsError, match="is no softcosine other, so it is not"):
        written(tmp_path / "x", kind="other", overwrite=True)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "manifest.json").write_text('{"format": "mine"}')
    (tmp_path / "listed").mkdir()
    (tmp_path / "listed" / "manifest.json").write_text("[]")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = tree(tmp_path)
    for name in ("file", "folder", "listed", "link"):
        for overwrite in (False, True):  # nobody is sent to ask for what is refused then
            with pytest.raises(
                AlreadyExistsError, match=f"{name} exists and is no softcosine thing"
            ):
                written(tmp_path / name, overwrite=overwrite)
    assert tree(tmp_path) == before


def test_a_folder_that_appears_meanwhile_is_not_replaced(tmp_path):
    def meanwhile(path):
        path.write_text("x")
        written(tmp_path / "x", settings={"first": True}, files={})

    with pytest.raises(AlreadyExistsError, match="exists already"):
        written(tmp_path / "x", files={"a": meanwhile})
    assert open_folder(tmp_path / "x", "thing").settings == {"first": True}
    assert names(tmp_path) == ["x"]


def test_the_parent_must_be_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="create it first"):
        written(tmp_path / "a" / "x")
    with pytest.raises(FileNotFoundError, match="there is no thing at"):
        open_folder(tmp_path / "a", "thing")


FILES = ["arrays.npys", "deep.npys", "notes/a.txt"]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(tmp_path, name):
    (written(tmp_path / "x") / name).unlink()
    with pytest.raises(CorruptIndexError, match=f"{name} is missing"):
        open_folder(tmp_path / "x", "thing")


def test_a_file_in_place_of_a_folder_is_named(tmp_path):
    written(tmp_path / "x")
    shutil.rmtree(tmp_path / "x" / "notes")
    (tmp_path / "x" / "notes").write_text("")
    with pytest.raises(CorruptIndexError, match="is no folder"):
        open_folder(tmp_path / "x", "thing")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("change", [lambda b: b[:-1], lambda b: b + b"\0", lambda b: b""])
def test_a_file_of_another_size_is_named(tmp_path, name, change):
    file = written(tmp_path / "x") / name
    size = file.stat().st_size
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(CorruptIndexError, match=rf"{name} has \d+ bytes; {size} were written"):
        open_folder(tmp_path / "x", "thing")


@pytest.mark.parametrize("name", FILES)
def test_verify_finds_every_flipped_byte(tmp_path, name):
    file = written(tmp_path / "x") / name
    content = file.read_bytes()
    folder = open_folder(tmp_path / "x", "thing")
    for position in {0, len(content) // 2, len(content) - 1}:
        changed = bytearray(content)
        changed[position] ^= 1
        file.write_bytes(changed)
        with pytest.raises(CorruptIndexError, match=f"{name} has changed since it was written"):
            folder.verify()
    file.unlink()
    with pytest.raises(CorruptIndexError, match=f"{name} cannot be read"):
        folder.verify()


@pytest.mark.parametrize("position", [0, 3, 6, 20, 40])
def test_an_array_with_a_broken_header_is_named(tmp_path, position):
    file, first, _ = array_at(written(tmp_path / "x"), "deep/table")
    content = bytearray(file.read_bytes())
    content[first - 128 + position] = 255
    file.write_bytes(content)
    with pytest.raises(CorruptIndexError, match=r"deep\.npys cannot be read as arrays"):
        open_folder(tmp_path / "x", "thing").array("deep/table")


def test_pickles_are_never_loaded(tmp_path):
    path = written(tmp_path / "x")
    set_array(path, "deep/table", npy(np.array([os.getcwd], object)))
    sign(path)
    with pytest.raises(CorruptIndexError, match=r"deep\.npys cannot be read as arrays"):
        open_folder(path, "thing").array("deep/table")


def test_a_file_that_the_manifest_does_not_name_is_not_read(tmp_path):
    folder = open_folder(written(tmp_path / "x"), "thing")
    with pytest.raises(CorruptIndexError, match=r"manifest\.json names no array other\."):
        folder.array("other")


def manifest_of(path):
    return json.loads((path / "manifest.json").read_text())


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "3", "{}", '{"format": "softcosine-thing"}', "\xff"]
)
def test_an_unreadable_manifest_is_named(tmp_path, text):
    (written(tmp_path / "x") / "manifest.json").write_text(text, encoding="latin-1")
    named = r"manifest\.json is not a readable manifest: .+\.$"
    with pytest.raises(CorruptIndexError, match=named) as caught:
        open_folder(tmp_path / "x", "thing")
    assert "Error" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["settings"].update(n=4),
        lambda m: m["files"].pop("arrays.npys"),
        lambda m: m["files"]["arrays.npys"].update(bytes=1),
        lambda m: m["files"]["arrays.npys"].update(sha256="0" * 64),
        lambda m: m.pop("checksum"),
        lambda m: m.update(checksum="0"),
        lambda m: m.update(more=1),
    ],
)
def test_an_altered_manifest_is_named(tmp_path, change):
    path = written(tmp_path / "x")
    manifest = manifest_of(path)
    change(manifest)
    (path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(CorruptIndexError, match=r"manifest\.json has changed since it was written"):
        open_folder(path, "thing")


def test_a_truncated_manifest_is_named(tmp_path):
    file = written(tmp_path / "x") / "manifest.json"
    content = file.read_bytes()
    for size in range(0, len(content) - 2, 7):
        file.write_bytes(content[:size])
        with pytest.raises(CorruptIndexError, match=r"manifest\.json"):
            open_folder(tmp_path / "x", "thing")


def test_other_kinds_versions_and_folders_are_refused(tmp_path):
    path = written(tmp_path / "x")
    with pytest.raises(IndexFormatError, match="holds a softcosine thing; a softcosine other was"):
        open_folder(path, "other")
    manifest = manifest_of(path)
    manifest["version"] = manifests.FORMAT_VERSION + 1
    manifest["checksum"] = manifests.checksum(manifest)
    (path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(IndexFormatError, match="has format version 3; this softcosine reads"):
        open_folder(path, "thing")
    (path / "manifest.json").unlink()
    for stranger in (path, tmp_path, path / "arrays.npys"):
        with pytest.raises(IndexFormatError, match=r"it has no manifest\.json"):
            open_folder(stranger, "thing")


def test_a_read_only_folder_is_opened(tmp_path):
    path = written(tmp_path / "x")
    for place in (*path.rglob("*"), path):
        place.chmod(stat.S_IREAD | (stat.S_IEXEC if place.is_dir() else 0))
    try:
        folder = open_folder(path, "thing")
        folder.verify()
        folder.array("numbers")[0] = 5
        assert folder.array("deep/table").sum() == 3
    finally:
        for place in (path, *path.rglob("*")):
            place.chmod(stat.S_IRWXU)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_writing_into_a_read_only_folder_fails_cleanly(tmp_path):
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked").chmod(stat.S_IREAD | stat.S_IEXEC)
    try:
        with pytest.raises(PermissionError):
            written(tmp_path / "locked" / "x")
        assert names(tmp_path / "locked") == []
    finally:
        (tmp_path / "locked").chmod(stat.S_IRWXU)


@pytest.mark.parametrize(
    "error", [OSError("8 requested and 3 written"), OSError(errno.ENOSPC, "No space left")]
)
def test_a_full_disk_is_named_with_the_target(tmp_path, monkeypatch, error):
    def full(*_arguments, **_settings):
        raise error

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="the disk is probably full; free space") as caught:
        written(tmp_path / "x")
    assert caught.value.filename == str(tmp_path / "x")
    assert names(tmp_path) == []


@pytest.mark.parametrize("error", [FileNotFoundError("no index here"), OSError("it was stopped")])
def test_an_error_without_a_number_does_not_blame_the_disk(tmp_path, error):
    with pytest.raises(type(error)) as caught, naming_a_full_disk(tmp_path):
        raise error
    assert caught.value is error


def test_an_error_of_the_temporary_name_names_the_target(tmp_path, monkeypatch):
    def refused(path, *_arguments, **_settings):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", refused)
        with pytest.raises(PermissionError) as caught:
            written(tmp_path / "x")
    assert caught.value.filename == str(tmp_path / "x")
    with pytest.raises(FileNotFoundError) as missing, written_beside(tmp_path / "no" / "y") as new:
        new.write_text("")
    assert missing.value.filename == str(tmp_path / "no" / "y")


def test_a_link_is_followed_and_stays(tmp_path):
    written(tmp_path / "x", settings={"n": 1})
    (tmp_path / "link").symlink_to("x")
    written(tmp_path / "link", settings={"n": 2}, overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert open_folder(tmp_path / "x", "thing").settings == {"n": 2}
    assert names(tmp_path) == ["link", "x"]


def test_the_folder_that_one_is_in_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(written(tmp_path / "x") / "notes")
    for path in ("..", tmp_path / "x"):
        with pytest.raises(AlreadyExistsError, match="is the folder that you are in"):
            written(path, overwrite=True)


def test_what_a_killed_writer_left_is_swept_and_a_living_one_left_alone(tmp_path):
    pytest.importorskip("fcntl")
    living, lock = replacement._new_folder(tmp_path / "x")
    for name in (".x.0123456789ab.tmp", ".y.0123456789ab.tmp", ".x.mine.tmp"):
        (tmp_path / name).mkdir()
    (tmp_path / ".x.ba9876543210.tmp" / "old").mkdir(parents=True)
    written(tmp_path / "x")
    assert names(tmp_path) == sorted(
        [living.name, ".x.ba9876543210.tmp", ".x.mine.tmp", ".y.0123456789ab.tmp", "x"]
    )
    os.close(lock)
    written(tmp_path / "x", overwrite=True)
    assert living.name not in names(tmp_path)


@pytest.mark.parametrize("content", ["a file", None])
def test_losing_a_race_for_a_name_says_so(tmp_path, content):
    work = tmp_path / "work"
    work.mkdir()
    if content is None:
        written(tmp_path / "x")
    else:
        (tmp_path / "x").write_text(content)
    with pytest.raises(AlreadyExistsError, match="by another process meanwhile"):
        replacement._rename_over(work, tmp_path / "x", overwrite=False)


def test_many_writers_of_one_name_leave_one_whole(tmp_path):
    def write(n):
        try:
            written(tmp_path / "x", settings={"n": n})
        except AlreadyExistsError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(16))) == 1
        assert names(tmp_path) == ["x"]
        list(pool.map(lambda n: written(tmp_path / "x", overwrite=True), range(8)))
    open_folder(tmp_path / "x", "thing").verify()
    assert names(tmp_path) == ["x"]


@pytest.mark.skipif(os.name == "nt", reason="no interval timer there")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # unclosed files
def test_an_interrupted_opening_closes_its_descriptor_once(tmp_path):
    def interrupt(*_):
        raise InterruptedError

    def open_until_interrupted():
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 8e-5))
        open_regular(file).close()
        time.sleep(1)

    file, random = tmp_path / "a", Random(1)
    file.write_text("x")
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(300):
            with pytest.raises(InterruptedError):  # not of a descriptor that was closed before
                open_until_interrupted()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
