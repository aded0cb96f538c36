"""Builds of shards that are killed, run out of disk, or meet another build."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from killing import ended, within
from softcosine.cluster import plan as plans
from softcosine.cluster.manifest import ShardsManifest
from softcosine.cluster.plan import ShardPlan
from softcosine.errors import (
    AlreadyExistsError,
    DuplicateIdError,
    IndexLockedError,
    InvalidInputError,
    MalformedFileError,
)
from softcosine.index.soft_index import SoftIndex

STEPS = ["counting words", "building shards"]
WORDS = ["tea", "tyre", "green", "flat", "car", "motor", "coffee", "bike"]


def six_files(folder):
    """Six files, so that there are six chunks."""
    paths = [folder / f"{number}.jsonl" for number in range(6)]
    for number, path in enumerate(paths):
        rows = [
            {"id": str(i), "text": " ".join(WORDS[j] for j in range(8) if (i * 7 + j) % 5 < 2)}
            for i in range(number * 50, number * 50 + 50)
        ]
        path.write_text("\n".join(map(json.dumps, rows)))
    return paths


@pytest.fixture
def inputs(tmp_path):
    return six_files(tmp_path)


def planned(inputs, **settings):
    return ShardPlan(inputs, **{"docs_per_shard": 50, "plain": True, **settings})


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    return facts_of(planned(six_files(folder)).build(folder / "expected.shards"))


def facts_of(folder):
    """What must not depend on how the build went, and that nothing else is in the folder."""
    manifest = ShardsManifest.read(folder)
    own = [one.folder for one in manifest.shards]
    names = {manifest.epoch_folder, "manifest.json", "write.lock", *own}
    assert {path.name for path in folder.iterdir()} == names
    shards = [SoftIndex.open(folder / one.folder, verify=True) for one in manifest.shards]
    return manifest.epoch, [
        (
            shard.epoch,
            list(shard.documents.all_ids()),
            [(hit.id, hit.score) for hit in shard.search("green tea", k=300)],
        )
        for shard in shards
    ]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.filterwarnings("ignore::UserWarning")  # joblib's, that a worker stopped
def test_tasks_of_a_killed_worker_are_run_again(inputs, expected, tmp_path, step):
    reusable = pytest.importorskip("joblib.externals.loky.reusable_executor")
    killed = []

    def kill(what, done, total):
        if what == step and done and not killed:
            killed.extend(list(reusable._executor._processes)[:1])
            os.kill(killed[0], signal.SIGKILL)

    with within(300):
        folder = planned(inputs).build(tmp_path / "all.shards", jobs=2, progress=kill)
    assert killed
    assert facts_of(folder) == expected


def test_a_build_stops_where_workers_are_killed_again_and_again(inputs, tmp_path, monkeypatch):
    pytest.importorskip("joblib")
    monkeypatch.setattr(plans, "tally", _end)
    with within(300), pytest.raises(plans.BrokenExecutor):
        planned(inputs).build(tmp_path / "all.shards", jobs=2)


def _end(*_):
    os._exit(1)


DRIVER = """
import os, signal, sys
from joblib import parallel_config
from softcosine.cluster.plan import ShardPlan
folder, step, jobs, *inputs = sys.argv[1:]
def progress(what, done, total):
    if what == step and done == 2:
        os.kill(os.getpid(), signal.SIGKILL)
plan = ShardPlan(inputs, docs_per_shard=50, plain=True)
with parallel_config("loky", idle_worker_timeout=2):  # else workers wait for 5 minutes
    plan.build(folder, jobs=int(jobs), progress=progress)
"""


def run(script, folder, *arguments):
    """Run a script in a process of its own; its exit status, and what it wrote."""
    log = folder.with_suffix(".log")
    with log.open("w") as file:  # workers that outlive the process would keep a pipe open
        done = subprocess.run(
            [sys.executable, "-c", script, *map(str, (folder, *arguments))],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False, timeout=300, stdout=file, stderr=file,
        )  # fmt: skip
    return done.returncode, log.read_text()


@pytest.mark.parametrize(("step", "jobs"), [*((step, 1) for step in STEPS), ("counting words", 2)])
def test_a_killed_build_continues_where_it_stopped(inputs, expected, tmp_path, step, jobs):
    folder = tmp_path / "all.shards"
    status, wrote = run(DRIVER, folder, step, jobs, *inputs)
    assert status == -signal.SIGKILL, wrote
    assert not (folder / "manifest.json").exists()
    before = {path: path.stat().st_mtime_ns for path in finished(folder)}
    assert before
    planned(inputs).build(folder)
    assert facts_of(folder) == expected
    for path, changed in before.items():
        if path.exists():  # a shard, which is not written again
            assert path.stat().st_mtime_ns == changed


def finished(folder):
    return [*folder.glob("work/tally-*/manifest.json"), *folder.glob("shard-*/manifest.json")]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_workers_of_a_command_end_with_it(inputs, expected, tmp_path, number):
    pytest.importorskip("joblib")
    folder = tmp_path / "all.shards"
    arguments = ["shards", "build", *inputs, "-o", folder, "--docs-per-shard", "50", "--plain"]
    process = subprocess.Popen(
        [sys.executable, "-m", "softcosine", *map(str, arguments), "--jobs", "2"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    with within(300), ended(process):
        while not finished(folder) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        wrote, _ = process.communicate(timeout=60)  # workers that outlive it keep the pipe open
    assert process.returncode == 128 + number, wrote
    planned(inputs).build(folder)
    assert facts_of(folder) == expected


FULL = """
import resource, signal, sys
from softcosine.cluster.plan import ShardPlan
folder, most, *inputs = sys.argv[1:]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
try:
    ShardPlan(inputs, docs_per_shard=50, plain=True).build(folder)
except OSError as error:
    print(error)
    sys.exit(7)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
@pytest.mark.parametrize("most", [200, 2_000, 8_000])
def test_after_a_full_disk_a_build_continues(inputs, expected, tmp_path, most):
    folder = tmp_path / "all.shards"
    status, wrote = run(FULL, folder, most, *inputs)
    assert status == 7, wrote
    assert not (folder / "manifest.json").exists()
    planned(inputs).build(folder)
    assert facts_of(folder) == expected


def test_a_second_build_into_the_folder_is_refused(inputs, tmp_path):
    folder = tmp_path / "all.shards"

    def again(what, done, total):
        if what == "counting words" and done == 1:
            with pytest.raises(IndexLockedError, match="another writer of this same process"):
                planned(inputs).build(folder)
            refused.append(what)

    refused = []
    planned(inputs).build(folder, progress=again)
    assert refused
    with pytest.raises(AlreadyExistsError, match="exists already"):
        planned(inputs).build(folder)


def test_what_a_build_left_that_was_killed_at_its_end_is_removed(inputs, expected, tmp_path):
    folder = planned(inputs).build(tmp_path / "all.shards")
    (folder / "work").mkdir()
    with pytest.raises(AlreadyExistsError, match="exists already"):
        planned(inputs).build(folder)
    assert facts_of(folder) == expected


def test_a_build_that_ended_before_its_manifest_keeps_its_epoch(
    inputs, expected, tmp_path, monkeypatch
):
    folder = tmp_path / "all.shards"
    with monkeypatch.context() as patched:
        patched.setattr(plans, "ShardsManifest", None)
        with pytest.raises(TypeError):
            planned(inputs).build(folder)
    assert list(folder.glob("epoch-*"))
    monkeypatch.setattr(plans, "found", None)
    planned(inputs).build(folder)
    assert facts_of(folder) == expected


def test_what_workers_of_a_killed_build_still_write_is_left_alone(inputs, expected, tmp_path):
    folder = tmp_path / "all.shards"
    unfinished = folder / "work" / "shard-0000.0123456789ab.tmp" / "parts"
    unfinished.mkdir(parents=True)
    kept = []
    planned(inputs).build(folder, progress=lambda *_: kept.append(unfinished.exists()))
    assert kept
    assert all(kept)
    assert facts_of(folder) == expected


@pytest.mark.parametrize("jobs", [None, 2])
@pytest.mark.parametrize("change", ["longer", "broken", "gone"])
def test_a_changed_input_is_noticed(inputs, tmp_path, monkeypatch, jobs, change):
    plan, folder, path = planned(inputs), tmp_path / "all.shards", inputs[3]
    texts = plans.ShardPlan._first_texts

    def changed(*arguments):
        found = texts(*arguments)
        if change == "longer":
            path.write_text(path.read_text() + '\n{"id": "new", "text": "tea"}')
        elif change == "broken":
            path.write_text("{" * path.stat().st_size)
        else:
            path.unlink()
        return found

    monkeypatch.setattr(plans.ShardPlan, "_first_texts", changed)
    error, match = InvalidInputError, rf"{path} has changed .* delete {folder} and build again"
    if change == "gone":
        error, match = FileNotFoundError, path.name
    with pytest.raises(error, match=match):
        plan.build(folder, jobs=jobs)


def test_a_changed_object_is_noticed(tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    url, texts = f"memory://{tmp_path.name}/all.jsonl", plans.ShardPlan._first_texts
    rows = [json.dumps({"id": str(number), "text": "green tea"}) for number in range(9)]

    def written(*arguments):
        with fsspec.open(url, "w") as file:
            file.write("\n".join(rows))
        return texts(*arguments) if arguments else None

    written()
    plan = planned([url])
    monkeypatch.setattr(plans.ShardPlan, "_first_texts", written)
    with pytest.raises(InvalidInputError, match=rf"{url} has changed while"):
        plan.build(tmp_path / "all.shards")


def test_a_build_of_other_settings_does_not_continue(inputs, expected, tmp_path):
    folder = tmp_path / "all.shards"

    def stop(what, done, total):
        if what == "merging counts":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        planned(inputs).build(folder, progress=stop)
    for other in (
        planned(inputs, docs_per_shard=60),
        planned(inputs, min_df=2),
        planned(inputs[1:]),
    ):
        with pytest.raises(InvalidInputError, match="other files or settings"):
            other.build(folder)
    Path(inputs[0]).touch()
    with pytest.raises(InvalidInputError, match="other files or settings"):
        planned(inputs).build(folder)


@pytest.mark.parametrize("name", ["notes.txt", "manifest.json"])
def test_another_folder_is_not_overwritten(inputs, tmp_path, name):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / name).write_text("mine")
    with pytest.raises(AlreadyExistsError):
        planned(inputs).build(folder)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        planned(inputs).build(tmp_path / "none" / "all.shards")


def test_duplicate_ids_are_an_error_with_both_places(inputs, tmp_path):
    with inputs[4].open("a") as file:
        file.write('\n{"id": "17", "text": "tea"}')
    with pytest.raises(DuplicateIdError, match=r"4.jsonl, line 51: the id '17' .*0.jsonl, line 18"):
        planned(inputs).build(tmp_path / "all.shards")


def test_errors_of_workers_are_those_of_one_process(inputs, tmp_path):
    pytest.importorskip("joblib")
    inputs[4].write_text('{"id": "a", "text": "tea"}\n{"id": "b"\n')
    plan = planned(inputs, language="none")  # else the language is decided first
    for jobs in (1, 2):
        with pytest.raises(MalformedFileError, match=r"4.jsonl, line 2: this is no JSON"):
            plan.build(tmp_path / "all.shards", jobs=jobs)


@pytest.mark.parametrize(
    ("row", "settings", "message"),
    [
        ({"text": "tea"}, {}, "there is no field 'id'"),
        ({"id": "x"}, {}, "there is no field 'text'"),
        ({"id": "x", "text": 5.5, "title": []}, {}, "a text was needed"),
        ({"id": "x", "text": ""}, {"text_fields": ["text", "body"]}, "no document has .* 'body'"),
    ],
)  # fmt: skip
def test_invalid_records_are_an_error_with_their_place(inputs, tmp_path, row, settings, message):
    with inputs[4].open("a") as file:
        file.write("\n" + json.dumps(row))
    with pytest.raises(InvalidInputError, match=message):
        planned(inputs, **settings).build(tmp_path / "all.shards")


def test_records_need_ids(tmp_path):
    (tmp_path / "all.jsonl").write_text('{"text": "tea"}\n')
    with pytest.raises(InvalidInputError, match="there is no id"):
        planned([tmp_path / "all.jsonl"]).build(tmp_path / "all.shards")
    (tmp_path / "none.jsonl").write_text("")
    with pytest.raises(InvalidInputError, match="no documents found"):
        planned([tmp_path / "none.jsonl"]).build(tmp_path / "none.shards")
