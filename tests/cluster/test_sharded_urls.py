"""Sharded indexes at URLs: copies, readers of them, and what goes wrong on the way."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fsspec")

import fsspec

import softcosine as sc
from object_storage import BUCKET, s3_server
from sharded import QUERIES, documents_of, epoch, in_folders, one_index, seen
from softcosine import _retries
from softcosine.cluster import sharded_backup
from softcosine.errors import (
    AlreadyExistsError,
    CorruptIndexError,
    IndexFormatError,
    InvalidInputError,
)
from softcosine.index.directory.commit import NEW
from softcosine.storage import remote


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    with pytest.MonkeyPatch.context() as patch, s3_server(patch) as front:
        yield front


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTCOSINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(_retries, "_FIRST_WAIT", 0.001)
    return tmp_path / "cache" / "commits"


@pytest.fixture(params=["s3", "memory", "file"])
def url(request, tmp_path, cache):
    if request.param == "s3":
        front = request.getfixturevalue("server")
        front.reset()
        return f"s3://{BUCKET}/{tmp_path.name}/big.shards"
    if request.param == "file":
        return (tmp_path / "elsewhere" / "big.shards").as_uri()
    return f"memory://{tmp_path.name}/big.shards"


@pytest.fixture
def s3(server, tmp_path, cache):
    server.reset()
    server.url = f"s3://{BUCKET}/{tmp_path.name}/big.shards"
    return server


@pytest.fixture
def documents():
    return documents_of("static", np.random.default_rng(8), 30)


@pytest.fixture
def folder(tmp_path, documents):
    return in_folders(epoch("static"), tmp_path / "big.shards", documents, 3)


def check(one, many):
    for options in ({}, {"mmr": 0.5}, {"sort": "n", "facets": ["tag"]}):
        for own, other in zip(
            many.search_batch(QUERIES, **options), one.search_batch(QUERIES, **options), strict=True
        ):
            assert seen(own) == seen(other)
    assert seen(many.similar("doc1")) == seen(one.similar("doc1"))


def add(folder, documents, n=3):
    """Add documents to the folder and the list; return one index of all."""
    with sc.ShardedIndex.open(folder) as index, index.writer() as writer:
        for number in range(len(documents), len(documents) + n):
            documents.append((number, f"doc{number}", "green tea and a flat tyre", {"tag": "b"}))
            writer.add(*documents[-1][1:])
    return one_index(epoch("static"), documents)


def test_shards_at_a_url_answer_as_those_that_were_copied_there(folder, documents, url):
    with sc.ShardedIndex.open(folder) as local:
        made = local.backup(url)
        assert (made.path, made.commit) == (url, local.commit)
        with pytest.raises(AlreadyExistsError, match="exists already; choose another URL"):
            local.backup(url)
    with sc.ShardedIndex.open(url) as many:
        assert (many.path, many.commit) == (url, made.commit)
        check(one_index(epoch("static"), documents), many)
        assert not many.refresh()
        before = many.at_commit()
        one = add(folder, documents)
        sc.ShardedIndex.open(folder).backup(url, overwrite=True)
        assert many.refresh()
        check(one, many)
        assert "doc30" not in before.search("green tea", k=40).ids
        check(one, pickle.loads(pickle.dumps(many)))
        for work in (many.writer, many.dedupe):
            with pytest.raises(InvalidInputError, match=r"is opened for reading, and .* a folder"):
                work()


def test_parts_that_shards_share_are_fetched_once(folder, s3):
    made = sc.ShardedIndex.open(folder).backup(s3.url)
    s3.reset()
    with sc.ShardedIndex.open(s3.url):
        fetched = [one for one in s3.fetched if "/parts/space-" in one]
        assert fetched
        assert len(fetched) == len(set(fetched))
        assert len({one.split("/")[2] for one in fetched}) == 1
        assert sum(n for _, _, n in s3.requests) < made.n_bytes
    s3.reset()
    with sc.ShardedIndex.open(s3.url):  # the manifests alone
        assert len(s3.requests) == 5
    add(folder, [], 1)
    with sc.ShardedIndex.open(folder) as local:
        s3.reset()
        local.backup(s3.url, overwrite=True)
    assert not [path for method, path, _ in s3.requests if method == "PUT" and "/space-" in path]


@pytest.mark.parametrize("step", ["parts", "announced", "visible", "ended"])
def test_a_copy_that_ends_anywhere_leaves_one_commit_of_all_shards(
    folder, documents, url, monkeypatch, step
):
    sc.ShardedIndex.open(folder).backup(url)
    old = one_index(epoch("static"), documents)
    new = add(folder, documents, 9)

    class EndsError(Exception):
        pass

    owner, name, last = {
        "parts": (sharded_backup, "_uploaded", 1),
        "announced": (sharded_backup._Copy, "announce", 2),
        "visible": (sharded_backup.Uploader, "publish", None),
        "ended": (sharded_backup._Copy, "end", 2),
    }[step]
    made, n_calls = getattr(owner, name), []

    def ending(*arguments):
        n_calls.append(1)
        of_shards = last is None and arguments[0].remote.url == url
        if len(n_calls) == last or of_shards:
            raise EndsError
        return made(*arguments)

    with monkeypatch.context() as patch, sc.ShardedIndex.open(folder) as local:
        patch.setattr(owner, name, ending)
        with pytest.raises(EndsError):
            local.backup(url, overwrite=True)
    with sc.ShardedIndex.open(url) as many:
        check(new if step == "ended" else old, many)
    newest = add(folder, documents, 5)
    sc.ShardedIndex.open(folder).backup(url, overwrite=True)
    with sc.ShardedIndex.open(url) as many:
        check(newest, many)
    system, path = fsspec.core.url_to_fs(url)
    assert not [one for one in system.find(path) if one.endswith(NEW)]


def test_the_epoch_is_complete_when_a_copy_is_visible(folder, documents, url, monkeypatch):
    def cut(_):
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(sharded_backup._Copy, "end", cut)
        with pytest.raises(ConnectionError):
            sc.ShardedIndex.open(folder).backup(url)
    with sc.ShardedIndex.open(url) as many:
        check(one_index(epoch("static"), documents), many)


def test_a_deletion_whose_answer_is_lost_is_repeated(cache):
    folder = remote.RemoteFolder(f"memory://{cache.parent.name}")
    system, path = fsspec.core.url_to_fs(f"{folder.url}/x")
    system.pipe(path, b"x")
    deleted = type(system).rm

    def cut(*arguments, **options):
        deleted(*arguments, **options)
        raise ConnectionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(system), "rm", cut)
        folder.remove("x")
    assert not system.exists(path)


def test_readers_during_copies_see_one_commit_of_all_shards(folder, documents, s3, monkeypatch):
    """A reader opens the index before every upload of a copy."""
    sc.ShardedIndex.open(folder).backup(s3.url)
    known = {len(documents): seen(sc.ShardedIndex.open(folder).search("green tea", k=50))}
    upload, n_reads = remote.RemoteFolder.upload, []

    def reading(self, source, name):
        with sc.ShardedIndex.open(s3.url) as many:
            assert seen(many.search("green tea", k=50)) == known[len(many)]
        n_reads.append(1)
        upload(self, source, name)

    monkeypatch.setattr(remote.RemoteFolder, "upload", reading)
    for _ in range(2):
        add(folder, documents, 4)
        with sc.ShardedIndex.open(folder) as local:
            known[len(local)] = seen(local.search("green tea", k=50))
            local.backup(s3.url, overwrite=True)
    assert len(n_reads) > 10


def test_a_commit_during_a_copy_gives_the_new_one(folder, documents, url, monkeypatch):
    uploaded, n_calls, new = sharded_backup._uploaded, [], []

    def changing(*arguments):
        n_calls.append(1)
        if len(n_calls) == 1:
            new.append(add(folder, documents, 9))
        return uploaded(*arguments)

    monkeypatch.setattr(sharded_backup, "_uploaded", changing)
    sc.ShardedIndex.open(folder).backup(url)
    assert len(n_calls) == 2
    with sc.ShardedIndex.open(url) as many:
        check(new[0], many)


def objects(url, ending):
    system, path = fsspec.core.url_to_fs(url)
    return system, [one for one in system.find(path) if one.endswith(ending)]


def test_altered_and_missing_objects_are_named(folder, url, cache):
    sc.ShardedIndex.open(folder).backup(url)
    system, found = objects(url, "/shard-0001/manifest.json")
    manifest = system.cat(found[0])

    def fails(error, match):
        shutil.rmtree(cache.parent, ignore_errors=True)  # with the locks
        with pytest.raises(error, match=match):
            sc.ShardedIndex.open(url)
        assert not list(cache.glob(".*"))

    system.pipe(found[0], manifest.replace(b'"generation": ', b'"generation": 1'))
    fails(CorruptIndexError, r"shard-0001/manifest\.json has changed since it was written")
    system.pipe(found[0], system.cat(objects(url, "/shard-0000/manifest.json")[1][0]))
    fails(IndexFormatError, r"shard-0001 no longer has the commit .*would not fit")
    system.rm(found[0])
    fails(FileNotFoundError, r"there is no index at .*shard-0001")
    system.pipe(found[0], manifest)
    _, parts = objects(url, "")
    own = [one for one in parts if "/shard-0002/parts/segment-" in one and ".json" not in one]
    content = system.cat(own[0])
    system.pipe(own[0], content[:-1] + bytes([content[-1] ^ 1]))
    fails(CorruptIndexError, "shard-0002/parts/.* has another checksum than its manifest states")
    system.rm(own[0])
    fails(
        CorruptIndexError,
        "shard-0002/parts/.* is missing; delete the index there, and copy it anew",
    )
    system.pipe(own[0], content)
    sc.ShardedIndex.open(url).close()
    system.rm(objects(url, "big.shards/manifest.json")[1][0])
    fails(FileNotFoundError, r"there is no sharded index at .*big\.shards: it has no manifest")


@pytest.mark.parametrize("name", ["", "/shard-0001"])
@pytest.mark.parametrize(
    "altered", [(b'"version": ', b'"version": 10'), (b'"checksum": "', b'"checksum": "0')]
)
def test_an_old_or_altered_copy_is_replaced_on_request(folder, documents, url, name, altered):
    with sc.ShardedIndex.open(folder) as index:
        index.backup(url)
        system, found = objects(url, f"big.shards{name}/manifest.json")
        manifest = system.cat(found[0])
        for left in [found[0], *([f"{found[0]}.new"] if name else [])]:  # of a copy that ended
            system.pipe(left, manifest.replace(*altered))
        with pytest.raises((IndexFormatError, AlreadyExistsError)):
            index.backup(url)
        index.backup(url, overwrite=True)
    with sc.ShardedIndex.open(url) as many:
        check(one_index(epoch("static"), documents), many)
    assert not objects(url, NEW)[1]


def test_what_is_no_sharded_index_is_not_replaced(folder, url):
    system, path = fsspec.core.url_to_fs(url)
    system.makedirs(path, exist_ok=True)
    system.pipe(f"{path}/manifest.json", b'{"format": "softcosine-index", "version": 3}')
    with sc.ShardedIndex.open(folder) as index, pytest.raises(IndexFormatError, match="was needed"):
        index.backup(url, overwrite=True)


def test_commands_take_urls_of_sharded_indexes(folder, documents, s3, run):
    told = json.loads(run("admin", "backup", folder, s3.url, "--json"))
    assert (told["n_docs"], told["path"]) == (30, s3.url)
    assert "Copied 30 documents in" in run("admin", "backup", folder, s3.url, "--overwrite")
    told = json.loads(run("admin", "backup", s3.url, folder.parent / "back.shards", "--json"))
    assert (told["index"], told["path"]) == (s3.url, str(folder.parent / "back.shards"))
    answer = json.loads(run("search", s3.url, "green tea", "--json"))
    one = one_index(epoch("static"), documents)
    assert [hit["id"] for hit in answer["hits"]] == one.search("green tea").ids
    facts, local = (json.loads(run("info", path, "--json")) for path in (s3.url, folder))
    for name in ("documents", "shards", "epoch", "postings", "meaning"):
        assert facts[name] == local[name]
    assert local["bytes"] > 0


def test_a_server_serves_a_url(folder, documents, s3):
    testclient = pytest.importorskip("starlette.testclient")
    from softcosine.serve import ServeSettings, create_app

    sc.ShardedIndex.open(folder).backup(s3.url)
    one = one_index(epoch("static"), documents)
    with testclient.TestClient(create_app(ServeSettings(Path(s3.url)))) as client:
        answer = client.post("/v1/indexes/big.shards/search", json={"q": "green tea"}).json()
        assert [hit["id"] for hit in answer["hits"]] == one.search("green tea").ids
        assert client.get("/v1/indexes").status_code == 200
