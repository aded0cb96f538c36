"""Shards in actors of Ray: the same answers, and what happens when actors die."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import softcosine as sc
from conftest import need_ray
from killing import within
from sharded import QUERIES, documents_of, epoch, in_folders, one_index, seen, shard_of
from softcosine.cluster import ray_workers
from softcosine.errors import (
    CommitNotFoundError,
    IndexFormatError,
    InvalidInputError,
    MissingDependencyError,
    UnknownDocumentError,
)


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


def test_what_is_closed_after_ray_was_shut_down_does_not_start_it_again():
    ray = SimpleNamespace(is_initialized=lambda: False)
    ray_workers._end(ray, [SimpleNamespace(actors=("an actor",))])


def test_an_error_of_making_actors_is_kept(monkeypatch):
    def refuse(*_):
        raise RuntimeError("no room for an actor")

    actors = SimpleNamespace(options=lambda **_: SimpleNamespace(remote=refuse))
    ray = SimpleNamespace(
        is_initialized=lambda: True, remote=lambda _: actors,
        exceptions=SimpleNamespace(RayTaskError=ZeroDivisionError),
    )  # fmt: skip
    monkeypatch.setattr(ray_workers, "imported_ray", lambda: ray)
    with pytest.raises(RuntimeError, match="no room"):
        ray_workers.RayWorkers([None])


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    need_ray()
    documents = documents_of("static", np.random.default_rng(5), 30)
    path = tmp_path_factory.mktemp("ray") / "big.shards"
    folder = in_folders(epoch("static"), path, documents, 2, ["doc3"])
    one = one_index(epoch("static"), documents, ["doc3"])
    with sc.ShardedIndex.open(folder, engine="ray", replicas=2) as many:
        yield one, many, folder
    import ray

    ray.shutdown()


def check(one, many):
    for options in (
        {}, {"mmr": 0.5}, {"first_stage": 2}, {"sort": "n", "facets": ["tag"]},
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


def test_a_lost_answer_is_asked_for_again(opened, monkeypatch):
    import ray

    one, many, _ = opened
    lost, get = [ray.exceptions.ObjectLostError("", None, "")], ray.get

    def losing(answer):
        if lost:
            raise lost.pop()
        return get(answer)

    monkeypatch.setattr(ray, "get", losing)
    check(one, many)


SIGNALLED = """
import os, signal, sys, threading, time
import softcosine as sc
def orderly(*_):
    print("ended in order")
    sys.exit(7)
signal.signal(signal.SIGTERM, orderly)
index = None
def opening():
    global index
    sc.ShardedIndex.open(sys.argv[1], engine="ray").close()
    index = sc.ShardedIndex.open(sys.argv[1], engine="ray")
thread = threading.Thread(target=opening)
thread.start()
thread.join()
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(10)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
def test_a_process_ends_on_sigterm_as_without_ray(opened):
    *_, folder = opened
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED, folder], capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (7, ["ended in order"]), done.stderr


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


def killed(process):
    """Kill a process, and wait until it is gone."""
    os.kill(process, signal.SIGKILL)
    gone([process])


def gone(processes, seconds=30):
    """Wait until processes have ended."""
    end = time.monotonic() + seconds
    while left := [one for one in processes if Path(f"/proc/{one}").exists()]:
        assert time.monotonic() < end, left
        time.sleep(0.05)


@pytest.fixture
def changed(tmp_path, opened):
    """A folder of one shard, its documents, and what adds one more in a commit."""
    documents = documents_of("words", np.random.default_rng(6), 20)
    folder = in_folders(epoch("words"), tmp_path / "big.shards", documents, 1)

    def change():
        number = len(documents)
        documents.append((number, f"doc{number}", "green tea and a flat tyre", {"tag": "a"}))
        with sc.ShardedIndex.open(folder).writer() as writer:
            writer.add(*documents[-1][1:])
        return one_index(epoch("words"), documents)

    return folder, change


def test_an_index_is_refreshed_if_a_restarted_actor_lacks_its_commit(changed):
    folder, change = changed
    with sc.ShardedIndex.open(folder, engine="ray") as many:
        before = many.at_commit()
        change()
        assert "doc20" not in many.search("green tea").ids
        killed(process_of(many, 0, 0))
        one = change()
        for index in (many, before):
            with pytest.raises(CommitNotFoundError, match="no longer has") as caught:
                index.search("green tea")
            assert "call refresh()" in caught.value.__notes__[0]
        assert many.refresh()
        check(one, many)
        assert many.get(["doc21"]) == one.get(["doc21"])


def test_a_replica_with_an_earlier_commit_answers_until_nothing_uses_it(changed):
    folder, change = changed
    with sc.ShardedIndex.open(folder, engine="ray", replicas=2) as many:
        before, seen_before = many.at_commit(), seen(many.search("green tea"))
        processes = [process_of(many, 0, replica) for replica in (0, 1)]
        one = change()
        killed(processes[0])
        for _ in range(3):
            assert seen(before.search("green tea")) == seen_before
        assert many.refresh()
        check(one, many)
        assert seen(before.search("green tea")) == seen_before
        del before
        gc.collect()
        gone(processes)
        check(one, many)


def test_a_shard_whose_actors_are_not_restarted_is_missing_after_the_timeout(changed):
    import ray

    folder, _ = changed
    with sc.ShardedIndex.open(folder, engine="ray", timeout=1.0) as many, within(60):
        ray.kill(many._shards._workers.shards[0].actors[0])
        hits = many.search("green tea")
        assert (hits.ids, hits.missing_shards) == ([], ("shard-0000",))


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
def test_a_search_ends_if_the_index_is_closed_meanwhile(changed):
    folder, _ = changed
    many = sc.ShardedIndex.open(folder, engine="ray")
    os.kill(process_of(many, 0, 0), signal.SIGSTOP)
    with within(60), ThreadPoolExecutor(1) as pool:
        search = pool.submit(many.search, "green tea")
        time.sleep(0.5)
        many.close()
        with pytest.raises(InvalidInputError, match="this index is closed"):
            search.result()


def test_a_shard_of_another_epoch_is_refused(tmp_path, opened):
    documents = documents_of("words", np.random.default_rng(4), 5)
    folder = in_folders(epoch("words"), tmp_path / "big.shards", documents, 2)
    shutil.rmtree(folder / "shard-0001")
    shard_of(epoch("static"), folder / "shard-0001", numbered=True)
    with pytest.raises(IndexFormatError, match=r"shard-0001 .*would not fit"):
        sc.ShardedIndex.open(folder, engine="ray")
