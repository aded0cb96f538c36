"""Shards in actors of Ray: the same answers, and what happens when actors die."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time

import numpy as np
import pytest

import softcosine as sc
from conftest import need_ray
from sharded import QUERIES, documents_of, epoch, in_folders, one_index, seen
from softcosine.errors import IndexFormatError, MissingDependencyError, UnknownDocumentError


class TestWithoutRay:
    """What is said where Ray cannot be used."""

    @pytest.fixture
    def folder(self, tmp_path):
        documents = documents_of("words", np.random.default_rng(4), 3)
        return in_folders(epoch("words"), tmp_path / "big.shards", documents, 1)

    def test_missing(self, folder, monkeypatch):
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(MissingDependencyError, match=r"pip install 'softcosine\[ray\]'"):
            sc.ShardedIndex.open(folder, engine="ray")

    @pytest.mark.parametrize("version", ["1.13.0", "3.0.0", "2.3.1"])
    def test_of_an_unsupported_version(self, folder, monkeypatch, version):
        module = type(sys)("ray")
        module.__version__ = version
        monkeypatch.setitem(sys.modules, "ray", module)
        with pytest.raises(MissingDependencyError, match=rf"found is {version}.*ray>=2.30,<3"):
            sc.ShardedIndex.open(folder, engine="ray")


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    need_ray()
    documents = documents_of("static", np.random.default_rng(5), 30)
    path = tmp_path_factory.mktemp("ray") / "big.shards"
    folder = in_folders(epoch("static"), path, documents, 2, ["doc3"])
    one = one_index(epoch("static"), documents, ["doc3"])
    with sc.ShardedIndex.open(folder, engine="ray", replicas=2) as many:
        yield one, many, folder


def check(one, many):
    for options in (
        {}, {"mmr": 0.5}, {"exact_first": True, "first_stage": 2}, {"sort": "n", "facets": ["tag"]},
    ):  # fmt: skip
        for own, other in zip(
            many.search_batch(QUERIES, **options), one.search_batch(QUERIES, **options), strict=True
        ):
            assert seen(own) == seen(other)
            assert own.missing_shards == ()


def process_of(many, shard, replica):
    import ray

    actor = many._shards._workers.shards[shard].actors[replica]
    return ray.get(actor.process.remote())


def test_answers_equal_those_of_one_index(opened):
    one, many, _ = opened
    check(one, many)
    assert seen(many.similar("doc1")) == seen(one.similar("doc1"))
    assert many.explain("green tea", "doc1") == one.explain("green tea", "doc1")
    with pytest.raises(UnknownDocumentError):
        many.get(["nobody"])
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_a_replica_answers_for_a_killed_actor_which_is_started_again(opened):
    one, many, _ = opened
    killed = process_of(many, 0, 0)
    os.kill(killed, signal.SIGKILL)
    check(one, many)
    for _ in range(100):
        try:
            if process_of(many, 0, 0) != killed:
                break
        except Exception:  # while it starts
            time.sleep(0.1)
    else:
        pytest.fail("the actor was not started again")
    check(one, many)


def test_without_a_replica_a_search_waits_for_the_restart(opened):
    one, many, _ = opened
    for replica in (0, 1):
        os.kill(process_of(many, 1, replica), signal.SIGKILL)
    check(one, many)


def test_with_a_timeout_a_killed_shard_is_missing_and_comes_back(opened):
    one, _, folder = opened
    with sc.ShardedIndex.open(folder, engine="ray", timeout=1.0) as many:
        end = time.monotonic() + 60
        while many.search("green tea").missing_shards:  # the first loads kernels
            assert time.monotonic() < end
        os.kill(process_of(many, 1, 0), signal.SIGKILL)
        start = time.monotonic()
        hits = many.search("green tea")
        assert time.monotonic() - start < 5.0
        assert hits.missing_shards == ("shard-0001",)
        end = time.monotonic() + 60
        while many.search("green tea").missing_shards:
            assert time.monotonic() < end
            time.sleep(0.1)
        many._shards._timeout = 10.0
        check(one, many)


def test_a_shard_of_another_epoch_is_refused(tmp_path, opened):
    documents = documents_of("words", np.random.default_rng(4), 5)
    folder = in_folders(epoch("words"), tmp_path / "big.shards", documents, 2)
    shutil.rmtree(folder / "shard-0001")
    epoch("static").shard(folder / "shard-0001", numbered=True)
    with pytest.raises(IndexFormatError, match=r"shard-0001 .*would not fit"):
        sc.ShardedIndex.open(folder, engine="ray")
