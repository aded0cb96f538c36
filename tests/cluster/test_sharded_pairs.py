"""Similar pairs and groups over shards: those of one index, to the bit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys

import numpy as np
import pytest

import softcosine as sc
from sharded import built, documents_of, epoch, in_folders
from softcosine.cluster import all_pairs
from softcosine.cluster.all_pairs import groups_of_shards, pairs_of_shards
from softcosine.cluster.sharded_writer import ShardedWriter
from softcosine.errors import InvalidInputError

WORDS = ["tea", "coffee", "mug", "kettle", "tyre", "wheel", "road", "bicycle", "flat", "puncture"]


def texts_of(seed, n):
    chosen = random.Random(seed)
    texts = [" ".join(chosen.choices(WORDS, k=chosen.randint(1, 6))) for _ in range(n)]
    return [*texts, *texts[:5], ""]


@pytest.mark.parametrize("by", ["words", "meaning", "both"])
@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_pairs_and_groups_are_those_of_one_index(tmp_path, by, n_shards):
    one = built(tmp_path / "x", texts_of(n_shards, 60), n_shards=n_shards)
    with ShardedWriter(tmp_path / "x") as writer, one.writer() as whole:
        for target in (writer, whole):
            target.add("d3", "tea and a kettle")
            target.delete("d7")
    options = {"min_similarity": 0.6, "by": by}
    found = list(pairs_of_shards(tmp_path / "x", **options))
    assert found == list(one.pairs(**options))
    assert len(found) > 20
    for method in ("components", "leaders"):
        groups = groups_of_shards(tmp_path / "x", method=method, **options)
        assert groups == one.dedupe(method=method, **options)


def test_the_least_similarity_is_reached_in_the_order_of_insertion(tmp_path):
    one = built(tmp_path / "x", texts_of(1, 80))
    scores = np.unique([pair.score for pair in one.pairs(min_similarity=0.3)])
    for least in scores[:: max(1, len(scores) // 20)].tolist():
        found = list(pairs_of_shards(tmp_path / "x", min_similarity=least))
        assert found == list(one.pairs(min_similarity=least))


def test_tasks_of_other_processes_leave_their_pairs_in_a_folder(tmp_path):
    one = built(tmp_path / "x", texts_of(2, 300))
    folder, seen = tmp_path / "pairs", []
    options = {"min_similarity": 0.8, "checkpoint": folder}
    expected = list(one.pairs(min_similarity=0.8))
    assert list(pairs_of_shards(tmp_path / "x", **options, jobs=2)) == expected
    files = sorted(folder.glob("panels-*.npz"))
    assert len(files) > 3
    times = [file.stat().st_mtime_ns for file in files]
    files.pop().unlink()  # as if a task had been killed
    found = pairs_of_shards(tmp_path / "x", **options, progress=lambda *done: seen.append(done))
    assert list(found) == expected
    assert [file.stat().st_mtime_ns for file in files] == times[:-1]
    assert seen[-1][0] == seen[-1][1] == 305 * 304 // 2
    with pytest.raises(InvalidInputError, match="other parameters"):
        list(pairs_of_shards(tmp_path / "x", min_similarity=0.7, checkpoint=folder))
    with pytest.raises(InvalidInputError, match="no checkpoint"):
        list(pairs_of_shards(tmp_path / "x", min_similarity=0.7, checkpoint=tmp_path / "x"))
    with pytest.raises(InvalidInputError, match="checkpoint=FOLDER"):
        list(pairs_of_shards(tmp_path / "x", min_similarity=0.7, jobs=2))
    with pytest.raises(InvalidInputError, match="which would list nearly every pair"):
        pairs_of_shards(tmp_path / "x", min_similarity=0)


@pytest.mark.parametrize("by", ["words", "meaning", "both"])
@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_the_nearest_of_each_are_those_of_one_index(tmp_path, by, n_shards):
    one = built(tmp_path / "x", texts_of(n_shards + 5, 150), n_shards=n_shards)
    with ShardedWriter(tmp_path / "x") as writer, one.writer() as whole:
        for target in (writer, whole):
            target.add("d3", "tea and a kettle")
            target.delete("d7")
    for k in (1, 2, 5, 12, 200):
        for least in (0.0, 0.4):
            options = {"k": k, "min_similarity": least, "by": by}
            found = list(pairs_of_shards(tmp_path / "x", **options))
            assert found == list(one.pairs(**options))
            assert len(found) > 100


def test_the_nearest_of_each_are_found_in_tasks_that_resume(tmp_path):
    one = built(tmp_path / "x", texts_of(2, 300))
    folder, seen = tmp_path / "pairs", []
    expected = list(one.pairs(k=4))
    with sc.ShardedIndex.open(tmp_path / "x") as index:
        assert list(index.pairs(k=4, checkpoint=folder, jobs=2)) == expected
        files = sorted(folder.glob("panels-*.npz"))
        assert len(files) > 3
        times = [file.stat().st_mtime_ns for file in files]
        files.pop().unlink()
        found = index.pairs(k=4, checkpoint=folder, progress=lambda *done: seen.append(done))
        assert list(found) == expected
        assert [file.stat().st_mtime_ns for file in files] == times[:-1]
        assert seen[-1][0] == seen[-1][1]
        with pytest.raises(InvalidInputError, match="other parameters"):
            list(index.pairs(k=3, checkpoint=folder))
        with pytest.raises(InvalidInputError, match="k is 0"):
            index.pairs(k=0)
        with pytest.raises(InvalidInputError, match="leave out ranking"):
            index.pairs(k=3, ranking="inner_product")


BAD = [
    ("pairs", {"min_similarity": 0}), ("pairs", {"min_similarity": "x"}),
    ("pairs", {"min_similarity": 1.5}), ("pairs", {"min_similarity": 0.5, "by": "sound"}),
    ("pairs", {"k": 0}), ("pairs", {"k": 2.5}), ("pairs", {"k": 3, "min_similarity": float("nan")}),
    ("pairs", {"k": 3, "by": "meaning", "min_similarity": 1.5}), ("pairs", {"k": 3, "threads": 0}),
    ("pairs", {"k": 3, "checkpoint": 5}), ("dedupe", {"min_similarity": -1}),
    ("dedupe", {"min_similarity": 2}), ("dedupe", {"method": "friends"}),
    ("dedupe", {"by": "sound"}), ("dedupe", {"threads": "all"}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "options"), BAD)
def test_bad_options_are_refused_at_once_as_by_one_index(tmp_path, monkeypatch, method, options):
    one = built(tmp_path / "x", texts_of(2, 20))
    monkeypatch.setattr(all_pairs, "_found", None)  # opens the documents and runs the tasks
    with sc.ShardedIndex.open(tmp_path / "x") as many:
        said = []
        for index in (one, many):
            with pytest.raises(InvalidInputError) as kept:
                getattr(index, method)(**options)
            said.append(str(kept.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("by", ["words", "meaning"])
def test_what_the_documents_lack_is_said_at_once(tmp_path, by):
    kind = "fields" if by == "words" else "words"
    in_folders(epoch(kind), tmp_path / "x", documents_of(kind, np.random.default_rng(1), 5), 2)
    with sc.ShardedIndex.open(tmp_path / "x") as many:
        for call in (lambda: many.pairs(k=1, by=by), lambda: many.dedupe(by=by)):
            with pytest.raises(InvalidInputError, match=r"has the fields|have no coordinates"):
                call()


KILLED = """
import sys
from softcosine.cluster import all_pairs
path, folder, k = sys.argv[1:]
write = all_pairs.np.savez
def announced(stream, **arrays):
    print("task", flush=True)
    write(stream, **arrays)
all_pairs.np.savez = announced
options = {"k": int(k)} if k != "0" else {"min_similarity": 0.5}
list(all_pairs.pairs_of_shards(all_pairs.Path(path), checkpoint=folder, **options))
"""


@pytest.mark.parametrize("k", [0, 3])
@pytest.mark.parametrize("n_tasks", [0, 2])
def test_a_killed_comparison_continues(tmp_path, k, n_tasks):
    one = built(tmp_path / "x", texts_of(3, 300))
    folder = tmp_path / "pairs"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "x"), str(folder), str(k)],
        stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    for _ in range(n_tasks + 1):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    left = {file: file.stat().st_mtime_ns for file in folder.glob("panels-*.npz")}
    assert len(left) >= n_tasks
    options = {"k": k} if k else {"min_similarity": 0.5}
    found = pairs_of_shards(tmp_path / "x", checkpoint=folder, **options)
    assert list(found) == list(one.pairs(**options))
    assert {file: file.stat().st_mtime_ns for file in left} == left
