"""Indexes at URLs: what is fetched, kept and shared, and what goes wrong on the way."""

from __future__ import annotations

import errno
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("fsspec")

import fsspec

import softcosine as sc
from killing import ended
from object_storage import BUCKET, s3_server
from softcosine import _retries
from softcosine.errors import (
    AlreadyExistsError,
    CommitNotFoundError,
    CorruptIndexError,
    IndexFormatError,
    InvalidInputError,
    MissingDependencyError,
    ServerError,
)
from softcosine.index.directory import commit_cache
from softcosine.index.directory.backup import Uploader
from softcosine.storage import remote


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache; returns its folder of commits."""
    monkeypatch.setenv("SOFTCOSINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(_retries, "_FIRST_WAIT", 0.001)
    return tmp_path / "cache" / "commits"


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    with pytest.MonkeyPatch.context() as patch, s3_server(patch) as front:
        yield front


@pytest.fixture
def s3(server, cache):
    """moto's server, and the URL of an empty folder there."""
    server.reset()
    server.url = f"s3://{BUCKET}/{cache.parent.parent.name}"
    yield server
    server.reset()


@pytest.fixture(params=["memory", "file", "s3"])
def url(request, tmp_path, cache):
    """URLs of all protocols that need no network."""
    if request.param == "s3":
        yield request.getfixturevalue("s3").url
    elif request.param == "file":
        yield (tmp_path / "elsewhere").as_uri()
    else:
        yield f"memory://{tmp_path.name}"
        fsspec.filesystem("memory").store.clear()


TEXTS = {f"d{n}": f"green tea number {n} and a tyre of {n * 7}" for n in range(400)}


@pytest.fixture
def local(tmp_path):
    index = sc.SoftIndex.create(tmp_path / "local.index", plain=True)
    with index.writer(merge=None) as writer:
        writer.add_many(TEXTS, TEXTS.values())
    return index


def add(index, **documents):
    with index.writer(merge=None) as writer:
        writer.add_many(documents, documents.values())


def same(one, other, *queries):
    assert (one.commit, one.epoch, len(one)) == (other.commit, other.epoch, len(other))
    for query in ("tea 7", "tyre", "+number -3", *queries):
        found, right = (of.search(query, k=20, syntax=True) for of in (one, other))
        assert [(one.id, one.score, one.text) for one in found] == [
            (one.id, one.score, one.text) for one in right
        ]


def test_an_index_at_a_url_answers_as_the_one_that_was_copied_there(local, url, cache):
    made = local.backup(url)
    assert made.path == url
    files = [one for one in local.path.rglob("*") if one.name != "write.lock" and one.is_file()]
    assert made.n_bytes == sum(one.stat().st_size for one in files)
    index = sc.SoftIndex.open(url, verify=True)
    same(index, local)
    assert index.path.parent == cache
    assert not index.refresh()
    add(local, new="a kettle")
    local.backup(url, overwrite=True)
    assert index.refresh()
    same(index, local, "kettle")
    index.backup(cache.parent / "copied.index")
    same(sc.SoftIndex.open(cache.parent / "copied.index"), local)


def test_only_new_parts_of_a_new_commit_are_fetched(local, s3):
    local.backup(s3.url)
    s3.reset()
    index = sc.SoftIndex.open(s3.url)
    first = {one for one in s3.fetched if not one.endswith("manifest.json")}
    n_requests = len(s3.requests)
    assert {one for _, one, n in s3.requests if n == 0} == set()
    s3.reset()
    again = sc.SoftIndex.open(s3.url)  # the manifest alone
    assert len(s3.requests) == 1 < n_requests
    add(local, new="green tea")
    s3.reset()
    local.backup(s3.url, overwrite=True)
    s3.reset()
    assert index.refresh()
    segment = max(local.snapshot.segments, key=lambda one: -one.n_docs).part
    fetched = {one for one in s3.fetched if not one.endswith("manifest.json")}
    assert any(segment in one for one in fetched)
    assert not fetched & first
    assert again.search("new").ids == []
    same(index, local)


def test_a_replaced_commit_of_a_url_is_deleted_there(local, s3, cache):
    local.backup(s3.url)
    with pytest.raises(AlreadyExistsError, match="exists already; choose another URL"):
        local.backup(s3.url)
    with local.writer() as writer:
        writer.add("new", "tea")
        writer.merge()
    local.backup(s3.url, overwrite=True)
    there = fsspec.filesystem("s3").find(s3.url.removeprefix("s3://"))
    names = {Path(one).relative_to(f"{BUCKET}/{Path(s3.url).name}").as_posix() for one in there}
    here = {
        one.relative_to(local.path).as_posix() for one in local.path.rglob("*") if one.is_file()
    }
    assert names == here - {"write.lock"}


def test_a_copy_to_a_folder_that_is_killed_leaves_the_commit_before(local, tmp_path, cache):
    url = (tmp_path / "elsewhere").as_uri()
    local.backup(url)
    before = sc.SoftIndex.open(local.path)
    add(local, new="a kettle")

    def killed(source, target, *, follow_symlinks=True):
        content = Path(source).read_bytes()
        if Path(source).name == "manifest.json" and b'"generation"' in content:
            Path(target).write_bytes(content[: len(content) // 2])
            same(sc.SoftIndex.open(url), before)  # another reader at this moment
            raise KeyboardInterrupt
        Path(target).write_bytes(content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutil, "copyfile", killed)
        with pytest.raises(KeyboardInterrupt):
            local.backup(url, overwrite=True)
    same(sc.SoftIndex.open(url), before)
    local.backup(url, overwrite=True)
    same(sc.SoftIndex.open(url), local, "kettle")


def test_the_size_of_a_copy_is_that_of_its_commit(local, url, monkeypatch):
    size = sum(one.stat().st_size for one in local.path.rglob("*.*") if one.name != "write.lock")
    publish = Uploader.publish

    def overtaken(self, manifest, name="manifest.json"):
        with local.writer() as writer:
            writer.add("new", "a kettle")
            writer.merge()  # deletes the parts of the commit before
        return publish(self, manifest, name)

    with monkeypatch.context() as patch:
        patch.setattr(Uploader, "publish", overtaken)
        assert local.backup(url).n_bytes == size
    size = sum(one.stat().st_size for one in local.path.rglob("*.*") if one.name != "write.lock")
    for _ in range(2):  # the second copies nothing but the manifest
        assert local.backup(url, overwrite=True).n_bytes == size


def test_a_commit_that_is_deleted_while_room_is_made_is_left_out(
    local, tmp_path, cache, monkeypatch
):
    urls = []
    for number in range(2):
        add(local, **{f"new{number}": "a kettle"})
        urls.append((tmp_path / f"{number}.at").as_uri())
        local.backup(urls[-1])
    deleted = sc.SoftIndex.open(urls[0]).path
    glob = Path.glob

    def listed(path, pattern):
        found = list(glob(path, pattern))
        if path == cache and pattern == "[!.]*" and deleted in found and not deleted_at:
            deleted_at.append(len(found))
            shutil.rmtree(deleted)
        return iter(found)

    deleted_at = []
    make_room = commit_cache.CommitCache.make_room

    def watched(self, work):
        with monkeypatch.context() as patch:
            patch.setattr(Path, "glob", listed)
            make_room(self, work)

    monkeypatch.setattr(commit_cache.CommitCache, "make_room", watched)
    same(sc.SoftIndex.open(urls[1]), local)
    assert deleted_at


def test_nothing_is_written_to_a_url(local, url):
    local.backup(url)
    with pytest.raises(InvalidInputError, match="opened for reading; change the index in a folder"):
        sc.SoftIndex.open(url).writer()


def test_an_index_at_a_url_is_pickled_as_url_and_commit(local, s3):
    local.backup(s3.url)
    index = sc.SoftIndex.open(s3.url)
    sent = pickle.dumps(index)
    assert len(sent) < 1000
    same(pickle.loads(sent), index)
    add(local, new="tea")
    local.backup(s3.url, overwrite=True)
    with pytest.raises(CommitNotFoundError, match=f"{s3.url} no longer has the commit"):
        pickle.loads(sent)


def test_the_command_line_takes_urls(local, s3, run):
    run("admin", "backup", local.path, s3.url)
    found = json.loads(run("search", s3.url, "tea 7", "--json", "-k", "1").splitlines()[0])
    assert found["hits"][0]["id"] == local.search("tea 7").ids[0]
    assert json.loads(run("info", s3.url, "--json"))["documents"] == len(local)
    assert "is intact" in " ".join(run("admin", "check", s3.url).split())
    assert "there is no index at s3://bucket/none" in run("search", "s3://bucket/none", "x", code=1)


def test_a_damaged_copy_is_mended_as_the_check_advises(local, url, run):
    run("admin", "backup", local.path, url)
    system, path = system_of(url)
    system.rm(largest(url))
    said = run("admin", "check", url, code=1)
    assert f"Delete it there, and run 'softcosine admin backup FOLDER {url}'." in said
    system.rm(path, recursive=True)
    run("admin", "backup", local.path, url)
    assert "is intact" in " ".join(run("admin", "check", url).split())


def restated(url, **changes):
    """Write a manifest with other entries, signed if they have no checksum; it must be there."""
    system, path = system_of(url)
    manifest = json.loads(system.cat_file(f"{path}/manifest.json")) | changes
    manifest["checksum"] = changes.get("checksum") or remote_checksum(manifest)
    system.pipe_file(f"{path}/manifest.json", json.dumps(manifest).encode())


@pytest.mark.parametrize(
    ("changes", "error"),
    [({"version": 1}, IndexFormatError), ({"checksum": "0" * 64}, CorruptIndexError)],
)
def test_an_old_or_altered_copy_is_replaced_on_request(local, url, changes, error):
    local.backup(url)
    restated(url, **changes)
    with pytest.raises(error):
        local.backup(url)
    local.backup(url, overwrite=True)
    same(sc.SoftIndex.open(url), local)


@pytest.mark.parametrize("content", [b'{"format": "other", "version": 1}', b"[]", b"mine"])
def test_what_is_no_index_is_not_replaced(local, url, content):
    system, path = system_of(url)
    system.makedirs(path, exist_ok=True)
    system.pipe_file(f"{path}/manifest.json", content)
    with pytest.raises(IndexFormatError):
        local.backup(url, overwrite=True)
    assert system.cat_file(f"{path}/manifest.json") == content


def test_the_documents_of_the_copied_commit_are_counted(local, tmp_path, url, monkeypatch):
    with local.writer(merge=None) as writer:
        for number in range(3):
            writer.delete(f"d{number}")
    publish = Uploader.publish

    def overtaken(self, *arguments):
        add(local, new="a kettle")
        return publish(self, *arguments)

    assert local.backup(tmp_path / "copy").n_docs == 397
    monkeypatch.setattr(Uploader, "publish", overtaken)
    assert local.backup(url).n_docs == 397
    assert len(sc.SoftIndex.open(url)) == 397


def test_a_cut_connection_is_tried_again(local, s3, cache, monkeypatch):
    local.backup(s3.url)
    monkeypatch.setattr(remote, "_BLOCK", 4096)  # several requests a file
    s3.cut, s3.n_cuts = 1000, 6
    same(sc.SoftIndex.open(s3.url, verify=True), local)
    assert s3.n_cuts == 0


def test_a_server_that_is_down_is_named_and_leaves_nothing(local, s3, cache, monkeypatch):
    local.backup(s3.url)
    monkeypatch.setattr(remote, "_TIMEOUT", 5.0)
    s3.cut, s3.n_cuts = 1000, 10_000
    with pytest.raises(ServerError, match=rf"s3 at {s3.url}/.*\(5 attempts\)"):
        sc.SoftIndex.open(s3.url)
    assert [*cache.iterdir()] == []
    s3.n_cuts = 0
    same(sc.SoftIndex.open(s3.url), local)


def test_a_slow_server_has_a_time_limit(local, s3, cache, monkeypatch):
    local.backup(s3.url)
    monkeypatch.setattr(remote, "_TIMEOUT", 0.2)
    s3.delay = 0.5
    start = time.monotonic()
    with pytest.raises(ServerError, match="FSTimeoutError"):
        sc.SoftIndex.open(s3.url)
    assert time.monotonic() - start < 20


def test_refused_access_is_said(local, s3):
    local.backup(s3.url)
    s3.refused = True
    with pytest.raises(PermissionError, match="refuses access with the credentials"):
        sc.SoftIndex.open(s3.url)


def system_of(url):
    system, path = fsspec.core.url_to_fs(url)
    return system, path


def largest(url):
    """Path of the largest object of an index."""
    system, path = system_of(url)
    return max(system.find(path), key=lambda one: system.info(one)["size"])


def test_an_altered_object_is_found_and_leaves_nothing(local, url, cache):
    local.backup(url)
    system, _ = system_of(url)
    name = largest(url)
    content = bytearray(system.cat_file(name))
    content[len(content) // 2] ^= 1
    system.pipe_file(name, bytes(content))
    with pytest.raises(CorruptIndexError, match="another checksum than its manifest states"):
        sc.SoftIndex.open(url)
    assert [*cache.iterdir()] == []
    system.pipe_file(name, bytes(content[:-1]))
    with pytest.raises(CorruptIndexError, match=r"ends at byte [\d,]+, and [\d,]+ were written"):
        sc.SoftIndex.open(url)


def test_a_missing_object_is_named(local, url, cache):
    local.backup(url)
    system, path = system_of(url)
    name = largest(url)
    system.rm(name)
    with pytest.raises(CorruptIndexError, match=rf"{Path(name).name} is missing; delete the index"):
        sc.SoftIndex.open(url)
    assert [*cache.iterdir()] == []
    system.rm(f"{path}/manifest.json")
    with pytest.raises(
        FileNotFoundError, match=r"there is no index at .*: it has no manifest\.json"
    ):
        sc.SoftIndex.open(url)


def test_a_crafted_manifest_leads_nowhere(local, url, cache):
    local.backup(url)
    system, path = system_of(url)
    manifest = json.loads(system.cat_file(f"{path}/manifest.json"))
    manifest["parts"]["../../evil"] = next(iter(manifest["parts"].values()))
    manifest["checksum"] = remote_checksum(manifest)
    system.pipe_file(f"{path}/manifest.json", json.dumps(manifest).encode())
    with pytest.raises(CorruptIndexError, match="evil"):
        sc.SoftIndex.open(url)
    system.pipe_file(f"{path}/manifest.json", b'{"format": "other"}')
    with pytest.raises(IndexFormatError):
        sc.SoftIndex.open(url)


def remote_checksum(manifest):
    from softcosine.storage import checksum

    return checksum(manifest)


def test_a_commit_that_is_replaced_while_it_is_fetched_gives_the_new_one(local, s3, monkeypatch):
    local.backup(s3.url)
    part = commit_cache._Fetching._part
    changed = threading.Event()

    def slow(self, name, *rest):
        if not changed.is_set():
            changed.set()
            with local.writer() as writer:
                writer.add("new", "tea")
                writer.merge()
            local.backup(s3.url, overwrite=True)
        return part(self, name, *rest)

    monkeypatch.setattr(commit_cache._Fetching, "_part", slow)
    same(sc.SoftIndex.open(s3.url), local)


def test_the_oldest_commits_make_room_and_open_ones_stay(local, tmp_path, cache, monkeypatch):
    urls = []
    for number in range(3):
        index = sc.SoftIndex.create(tmp_path / f"{number}.index", plain=True)
        with index.writer() as writer:
            writer.add_many(TEXTS, [f"{text} {number}" for text in TEXTS.values()])
        urls.append((tmp_path / f"{number}.at").as_uri())
        size = index.backup(urls[-1]).n_bytes
    monkeypatch.setenv("SOFTCOSINE_CACHE_SIZE", str(int(2.2 * size)))
    opened = sc.SoftIndex.open(urls[0])
    second = sc.SoftIndex.open(urls[1]).path
    time.sleep(0.01)
    sc.SoftIndex.open(urls[0])
    assert second.is_dir()
    third = sc.SoftIndex.open(urls[2])  # the first is used, and newer
    assert not second.is_dir()
    assert opened.path.is_dir()
    with pytest.raises(OSError, match=r"do not fit into this cache.* set SOFTCOSINE_CACHE_SIZE to"):
        sc.SoftIndex.open(urls[1])
    assert {one.name for one in cache.iterdir()} == {opened.path.name, third.path.name}
    del third
    again = sc.SoftIndex.open(urls[1])
    assert again.search("tea 7").ids == opened.search("tea 7").ids
    monkeypatch.setenv("SOFTCOSINE_CACHE_SIZE", "much")
    with pytest.raises(InvalidInputError, match="give a size in bytes, or such as 500M"):
        sc.SoftIndex.open(urls[0])


def test_a_full_disk_is_named_and_leaves_nothing(local, s3, cache, monkeypatch):
    local.backup(s3.url)
    opened = Path.open

    class Full:
        def __init__(self, stream):
            self._stream = stream

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self._stream.close()

        def write(self, content):
            raise OSError(28, "No space left on device")

    def full(self, mode="r", *arguments, **options):
        stream = opened(self, mode, *arguments, **options)
        return Full(stream) if mode == "xb" else stream

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OSError, match="the disk is probably full"):
        sc.SoftIndex.open(s3.url)
    monkeypatch.undo()
    assert [*cache.iterdir()] == []


READER = """
import sys
import softcosine as sc

index = sc.SoftIndex.open(sys.argv[1])
print(index.commit, *index.search("tea 7").ids)
"""


def readers(url, n):
    return [
        subprocess.Popen([sys.executable, "-c", READER, url], stdout=subprocess.PIPE, text=True)
        for _ in range(n)
    ]


def test_two_processes_fill_one_cache_together_and_fetch_once(local, s3, cache):
    local.backup(s3.url)
    s3.reset()
    first, second = readers(s3.url, 2)
    with ended(first), ended(second):
        said = [one.communicate(timeout=120)[0].split() for one in (first, second)]
    assert said == [[local.commit, *local.search("tea 7").ids]] * 2
    data = [one for one in s3.fetched if not one.endswith("manifest.json")]
    assert len(data) == len(set(data))
    assert [one.name for one in cache.iterdir()] == [local.commit]


def test_a_killed_process_leaves_what_the_next_one_sweeps(local, s3, cache):
    local.backup(s3.url)
    s3.reset()
    s3.delay = 0.3
    (victim,) = readers(s3.url, 1)
    while not [*cache.glob(".*/parts/*/*.npys")] and victim.poll() is None:
        time.sleep(0.01)
    victim.kill()
    victim.communicate()
    s3.delay = 0.0
    assert [one.name for one in cache.iterdir()] == [f".{local.commit}"]
    same(sc.SoftIndex.open(s3.url, verify=True), local)
    assert [one.name for one in cache.iterdir()] == [local.commit]


def test_a_damaged_copy_is_fetched_again(local, url, cache):
    local.backup(url)
    copy = sc.SoftIndex.open(url).path
    next(copy.glob("parts/segment-*/*.npys")).unlink()
    same(sc.SoftIndex.open(url), local)


def test_a_damaged_copy_of_another_commit_does_not_matter(local, url, cache):
    local.backup(url)
    manifest = next(sc.SoftIndex.open(url).path.glob("parts/segment-*/manifest.json"))
    add(local, new="black tea")
    local.backup(url, overwrite=True)
    manifest.write_text("[]")
    same(sc.SoftIndex.open(url), local)


def test_a_cache_on_a_read_only_disk_is_read(local, url, cache, monkeypatch):
    def refuse(path):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    local.backup(url)
    sc.SoftIndex.open(url)
    monkeypatch.setattr(os, "utime", refuse)
    same(sc.SoftIndex.open(url), local)


def test_a_copy_that_is_deleted_while_it_is_open_is_fetched_again(local, url, cache, monkeypatch):
    monkeypatch.setattr(commit_cache, "_ABSENT", 0.2)
    local.backup(url)
    opened = sc.SoftIndex.open(url)
    shutil.rmtree(cache)
    again = sc.SoftIndex.open(url)
    same(again, local)
    assert opened.commit == again.commit


def test_threads_that_open_one_index_fetch_it_once(local, s3, cache):
    local.backup(s3.url)
    s3.reset()
    opened = []
    threads = [
        threading.Thread(target=lambda: opened.append(sc.SoftIndex.open(s3.url))) for _ in range(4)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(opened) == 4
    data = [one for one in s3.fetched if not one.endswith("manifest.json")]
    assert len(data) == len(set(data))


def test_a_commit_that_another_reader_opens_just_before_does_not_block(
    local, tmp_path, cache, monkeypatch
):
    url = (tmp_path / "elsewhere").as_uri()
    local.backup(url)
    lock, opened = commit_cache.FileLock, []

    def late(file, *, shared=False, timeout=None):
        if not shared and not opened:  # between the look at the cache and the lock for fetching
            opened.append(None)
            opened.append(sc.SoftIndex.open(url))
        return lock(file, shared=shared, timeout=timeout)

    monkeypatch.setattr(commit_cache, "FileLock", late)
    reader = threading.Thread(target=lambda: opened.append(sc.SoftIndex.open(url)), daemon=True)
    reader.start()
    reader.join(timeout=30)
    assert not reader.is_alive()
    same(opened[1], opened[2])


@pytest.mark.parametrize(
    ("url", "missing", "error", "message"),
    [
        ("s3://bucket/x", "fsspec.core", MissingDependencyError, r"softcosine\[shards\]"),
        ("s3://bucket/x", "s3fs", MissingDependencyError, r"s3fs.*softcosine\[s3\]"),
        ("gs://bucket/x", "gcsfs", MissingDependencyError, r"gcsfs.*softcosine\[gcs\]"),
        ("nothing://bucket/x", None, InvalidInputError, "such as s3://bucket/folder"),
    ],
)
def test_what_is_not_installed_is_said(cache, monkeypatch, url, missing, error, message):
    if missing == "fsspec.core":
        monkeypatch.setitem(sys.modules, "fsspec.asyn", None)
    if missing is not None:
        monkeypatch.setitem(sys.modules, missing, None)
        monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    with pytest.raises(error, match=message):
        sc.SoftIndex.open(url)


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("s3://bucket/x/", "s3://bucket/x"),
        (Path("s3://bucket/x"), "s3://bucket/x"),
        ("file:///tmp/x", "file:///tmp/x"),
        (Path("file:///tmp/x"), "file:///tmp/x"),
        ("C:/folder", None),
        ("folder/x", None),
        (3, None),
    ],
)
def test_a_url_is_known_from_a_path(path, url):
    assert remote.url_of(path) == url
