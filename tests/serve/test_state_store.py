"""What the processes of a server remember together."""

from __future__ import annotations

import errno
import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from killing import ended
from softcosine.errors import MalformedFileError
from softcosine.serve import state_store
from softcosine.serve.state_store import StateStore

STARTS = """
import sys
from pathlib import Path
from softcosine.serve.state_store import StateStore
store = StateStore(Path(sys.argv[1]))
store.put_task("done", {"state": "done"}, ended=True)
store.put_task("left", {"state": "running"}, ended=False)
print("started", flush=True)
sys.stdin.read()
"""
FAILED = {"state": "failed", "step": "the server ended"}


@pytest.fixture
def other(tmp_path):
    """Another process of the server, with a task that runs."""
    process = subprocess.Popen(
        [sys.executable, "-c", STARTS, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with ended(process):
        process.stdout.readline()
        yield process


def states(store):
    return [store.task(id) for id in ("own", "left", "done", "none")]


@pytest.mark.parametrize("restart", [False, True])
def test_a_task_fails_with_its_process_alone(tmp_path, other, restart):
    store = StateStore(tmp_path)
    store.put_task("own", {"state": "running"}, ended=False)
    running, done = {"state": "running"}, {"state": "done"}
    assert states(store) == [running, running, done, None]
    StateStore(tmp_path).start()  # of a second server of the same folder
    assert states(store) == [running, running, done, None]
    other.kill()
    other.wait()
    if restart:
        StateStore(tmp_path).start()
        assert len(list(tmp_path.glob("process-*"))) == 1
    assert states(store) == [running, FAILED, done, None]
    store.put_task("own", {"state": "done"}, ended=True)
    store.close()
    assert states(store) == [done, FAILED, done, None]
    assert [file.name for file in tmp_path.iterdir()] == ["state.sqlite3"]


def test_a_task_that_ends_just_before_its_process_has_its_result(tmp_path, monkeypatch):
    store, ends = StateStore(tmp_path), StateStore(tmp_path)
    ends.put_task("a", {"state": "running"}, ended=False)

    def ended(process):
        ends.put_task("a", {"state": "done"}, ended=True)
        ends.close()
        return False

    monkeypatch.setattr(store, "_runs", ended)
    assert store.task("a") == {"state": "done"}


def test_a_file_of_an_earlier_version_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(state_store, "_MOST_BYTES", 5000)
    result = {"result": "x" * 3000}
    with closing(sqlite3.connect(tmp_path / "state.sqlite3")) as connection, connection:
        connection.execute(
            "create table tasks"
            " (id text primary key, record text, ended integer, cancelled integer, since real)"
        )
        old = json.dumps(result), time.time()
        connection.execute("insert into tasks values ('old', ?, 1, 0, ?)", old)
    store = StateStore(tmp_path)
    assert store.task("old") == result
    store.put_task("new", {"result": ""}, ended=True)
    assert [store.task(id) for id in ("old", "new")] == [result, {"result": ""}]
    store.put_task("new", result, ended=True)
    assert [store.task(id) for id in ("old", "new")] == [None, result]
    store.close()


def test_the_oldest_results_make_room(tmp_path, monkeypatch):
    monkeypatch.setattr(state_store, "_MOST_BYTES", 5000)
    store = StateStore(tmp_path)
    store.put_task("runs", {"step": "x" * 9000}, ended=False)

    def kept(name, size):
        store.put_task(name, {"result": "x" * size}, ended=True)
        return [name for name in ("runs", "a", "b", "c", "d") if store.task(name) is not None]

    assert kept("a", 1000) == ["runs", "a"]
    assert kept("b", 3000) == ["runs", "a", "b"]
    assert kept("c", 1500) == ["runs", "b", "c"]
    assert kept("d", 9000) == ["runs", "d"]
    assert kept("a", 1000) == ["runs", "a"]
    store.close()


@pytest.mark.parametrize("content", [b"garbage" * 1000, b"SQLite format 3\0" + b"x" * 5000])
def test_a_garbage_file_is_named_with_what_to_do(tmp_path, content):
    (tmp_path / "state.sqlite3").write_bytes(content)
    with pytest.raises(MalformedFileError, match=r"state\.sqlite3: .*delete it"):
        StateStore(tmp_path).start()


def test_a_file_of_other_tables_is_named_with_what_to_do(tmp_path):
    with closing(sqlite3.connect(tmp_path / "state.sqlite3")) as connection, connection:
        connection.execute("create table tasks (x)")
    with pytest.raises(MalformedFileError, match="delete it"):
        StateStore(tmp_path).start()


def test_a_record_that_is_no_json_is_named_with_what_to_do(tmp_path):
    store = StateStore(tmp_path)
    store.put_task("a", {"state": "running"}, ended=False)
    with closing(sqlite3.connect(tmp_path / "state.sqlite3")) as connection, connection:
        connection.execute("update tasks set record = 'garbage'")
    with pytest.raises(MalformedFileError, match="delete it"):
        StateStore(tmp_path).start()
    store.close()


def test_a_full_file_is_a_full_disk(tmp_path, monkeypatch):
    store, full = StateStore(tmp_path), f"{state_store._SCHEMA}; pragma max_page_count = 1;"
    store.put_session("a", "key", time.time() + 1000)
    monkeypatch.setattr(state_store, "_SCHEMA", full)
    with pytest.raises(OSError, match="full") as caught:
        store.put_session("b", "x" * 100_000, time.time() + 1000)
    assert caught.value.errno == errno.ENOSPC
    assert store.session("a") == "key"
    assert store.session("b") is None
