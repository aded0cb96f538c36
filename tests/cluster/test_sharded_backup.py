"""Copies of a sharded index in folders: one commit of all shards, whatever a writer does."""

from __future__ import annotations

import itertools
import os
import shutil

import numpy as np
import pytest

import softcosine as sc
from killing import Victims
from sharded import QUERIES, documents_of, epoch, in_folders, seen
from softcosine.cluster.manifest import ShardsManifest
from softcosine.cluster.sharded_backup import back_up_shards
from softcosine.cluster.sharded_writer import ShardedWriter
from softcosine.errors import (
    AlreadyExistsError,
    CorruptIndexError,
    IndexLockedError,
    InvalidInputError,
)
from written import tree


@pytest.fixture
def documents():
    return documents_of("static", np.random.default_rng(8), 30)


@pytest.fixture
def folder(tmp_path, documents):
    return in_folders(epoch("static"), tmp_path / "big.shards", documents, 3)


def files(folder):
    return {name: data for name, data in tree(folder).items() if not name.endswith("write.lock")}


def answers(path):
    with sc.ShardedIndex.open(path) as index:
        return index.commit, [seen(hits) for hits in index.search_batch(QUERIES, mmr=0.5)]


def change(folder, name="new"):
    with ShardedWriter(folder) as writer:
        for number in range(9):
            writer.add(f"{name}{number}", "green tea and a flat tyre")
        writer.merge()
        writer.commit()


@pytest.mark.parametrize("links", [False, True])
def test_a_copy_has_the_same_bytes_and_answers_alike(folder, tmp_path, links, documents):
    change(folder)
    with sc.ShardedIndex.open(folder) as index:
        made = index.backup(tmp_path / "copy", links=links)
        assert made.commit == index.commit
    copy, before = made.path, answers(folder)
    assert tree(copy) == files(folder)
    assert made.n_bytes == sum(map(len, tree(copy).values()))
    assert answers(copy) == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["big.shards", "copy"]
    (part,) = (folder / ShardsManifest.read(folder).epoch_folder / "parts").glob("space-*")
    of_all = {one.stat().st_ino for one in copy.glob(f"*/parts/{part.name}/*")}
    assert len(of_all) == len(list(part.iterdir()))  # S is stored once
    assert of_all.isdisjoint(one.stat().st_ino for one in part.iterdir()) != links
    change(copy, "other")  # it can be changed, and the first does not
    assert answers(folder) == before
    assert len(sc.ShardedIndex.open(copy)) == 48


def test_a_copy_replaces_an_earlier_one_at_once(folder, tmp_path):
    copy = tmp_path / "copy"
    with sc.ShardedIndex.open(folder) as index:
        index.backup(copy)
        old = sc.ShardedIndex.open(copy)
        change(folder)
        with pytest.raises(AlreadyExistsError, match="exists already; choose another name"):
            index.backup(copy)
        with ShardedWriter(copy), pytest.raises(IndexLockedError):
            index.backup(copy, overwrite=True)
        index.backup(copy, overwrite=True)
    assert tree(copy) == files(folder)
    assert old.search("tea", k=40).ids == old.search("tea", k=40).ids
    assert old.refresh()
    assert len(old) == 39


def test_what_cannot_be_copied_leaves_nothing(folder, tmp_path):
    with sc.ShardedIndex.open(folder) as index:
        for place in (folder, folder / "shard-0000" / "copy", tmp_path):
            with pytest.raises((InvalidInputError, AlreadyExistsError)):
                index.backup(place, overwrite=True)
        with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
            index.backup(tmp_path / "no" / "copy")
        (tmp_path / "other").mkdir()
        with pytest.raises(AlreadyExistsError, match="is no softcosine sharded index"):
            index.backup(tmp_path / "other", overwrite=True)
        file = next((folder / "shard-0001" / "parts").glob("segment-*/documents.sqlite"))
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
        with pytest.raises(CorruptIndexError, match=r"shard-0001.*documents\.sqlite has changed"):
            index.backup(tmp_path / "copy")
        assert sorted(one.name for one in tmp_path.iterdir()) == ["big.shards", "other"]
        index.backup(tmp_path / "copy", verify=False)


def test_a_missing_shard_is_named(folder, tmp_path):
    shutil.rmtree(folder / "shard-0001")
    with pytest.raises(FileNotFoundError, match=r"no index at .*shard-0001"):
        back_up_shards(folder, tmp_path / "copy", links=False, verify=True, overwrite=False)
    assert [path.name for path in tmp_path.iterdir()] == ["big.shards"]


def test_a_copy_from_a_url_can_be_changed(folder, tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    monkeypatch.setenv("SOFTCOSINE_CACHE", str(tmp_path / "cache"))
    url, copy = (tmp_path / "elsewhere").as_uri(), tmp_path / "copy"
    with sc.ShardedIndex.open(folder) as index:
        index.backup(url)
    with sc.ShardedIndex.open(url) as index:
        index.backup(copy)
        index.backup((tmp_path / "third").as_uri())
    assert tree(copy) == files(folder) == files(tmp_path / "third")
    change(copy)
    assert len(sc.ShardedIndex.open(copy)) == 39


@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize("at", [1, 12, 30])
def test_a_commit_during_a_copy_is_copied_whole(folder, tmp_path, monkeypatch, at, links):
    calls = itertools.count()

    def meddling(true):
        def act(*arguments, **settings):
            if next(calls) == at:
                change(folder)
            return true(*arguments, **settings)

        return act

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", meddling(shutil.copyfile))
        patch.setattr(os, "link", meddling(os.link))
        made = back_up_shards(folder, tmp_path / "copy", links=links, verify=True, overwrite=False)
    assert next(calls) > at
    assert len(ShardsManifest.read(folder).shards) == 3
    if made.commit == ShardsManifest.read(folder).checksum:
        assert tree(made.path) == files(folder)
    assert answers(made.path)[0] == made.commit
    epoch_folder = ShardsManifest.read(folder).epoch_folder
    assert {one.name for one in made.path.iterdir()} == {
        "manifest.json", epoch_folder, "shard-0000", "shard-0001", "shard-0002"
    }  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
def test_killed_copies_leave_the_old_copy_or_the_new_one(folder, tmp_path, documents):
    copy = tmp_path / "copy"

    def write(say):
        say(0)
        for number in itertools.count(1):
            change(folder, f"{os.getpid()}-{number}-")
            back_up_shards(folder, copy, links=False, verify=False, overwrite=True)
            say(number)

    back_up_shards(folder, copy, links=False, verify=True, overwrite=False)
    victims = Victims(write, usual=0.3)
    for _ in range(6):
        victims.killed(0)
        with sc.ShardedIndex.open(copy) as index:
            assert (len(index) - len(documents)) % 9 == 0
            assert index.get(["doc1"])[0].id == "doc1"
        back_up_shards(copy, tmp_path / "verified", links=True, verify=True, overwrite=True)
    back_up_shards(folder, copy, links=False, verify=True, overwrite=True)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["big.shards", "copy", "verified"]
