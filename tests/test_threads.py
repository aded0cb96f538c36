"""Work on chunks in threads."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from softcosine import _threads as threads
from softcosine.errors import InvalidInputError


def test_after_an_error_chunks_that_wait_are_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTCOSINE_THREADS", "2")
    begun = []

    def work(start: int, stop: int) -> None:
        begun.append(start)
        if start == 0:
            raise KeyboardInterrupt
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        threads.for_each_chunk(work, 500, chunk=1)
    assert len(begun) < 100


@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_row_is_in_one_chunk(monkeypatch: pytest.MonkeyPatch, n_threads: int) -> None:
    monkeypatch.setenv("SOFTCOSINE_THREADS", str(n_threads))
    rows: list[int] = []
    threads.for_each_chunk(lambda start, stop: rows.extend(range(start, stop)), 23, chunk=5)
    assert sorted(rows) == list(range(23))


def test_the_nearest_number_of_threads_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "usable_cpus", lambda: 8)
    monkeypatch.delenv("SOFTCOSINE_THREADS", raising=False)
    assert threads.n_threads() == 8
    monkeypatch.setenv("SOFTCOSINE_THREADS", "3")
    assert threads.n_threads() == 3
    assert threads.n_threads(-2) == 7
    assert threads.n_threads(-20) == 1
    with threads.using_threads(2):
        assert threads.n_threads() == 2
        assert threads.n_threads(5) == 5
        with threads.using_threads(None):
            assert threads.n_threads() == 2
    assert threads.n_threads() == 3


@pytest.mark.parametrize("wrong", [0, 1.5, True, "2"])
def test_what_is_no_number_of_threads_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInputError, match=r"threads is .*; it must be a whole number"):
        threads.n_threads(wrong)


@pytest.mark.parametrize("text", ["0", "many"])
def test_a_wrong_variable_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SOFTCOSINE_THREADS", text)
    with pytest.raises(InvalidInputError, match=f"is .*{text}.*; it must be a whole number"):
        threads.n_threads()


def test_a_function_takes_threads() -> None:
    asked = threads.n_threads

    @threads.takes_threads
    def number(*, threads: int | None = None) -> int:
        return asked()

    assert number(threads=3) == 3


@pytest.mark.parametrize(
    ("line", "files", "quota"),
    [
        ("0::/", {"cpu.max": "max 100000"}, float("inf")),
        ("0::/", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "200000 100000"}, 2.0),
        ("0::/a/b", {"cpu.max": "100000 100000"}, 1.0),  # the path is not seen from inside
        (
            "4:cpu,cpuacct:/x\n2:memory:/x",
            {"cpu/x/cpu.cfs_quota_us": "50000", "cpu/x/cpu.cfs_period_us": "100000"},
            0.5,
        ),
        (
            "4:cpu,cpuacct:/x",  # without a link "cpu"
            {"cpu,cpuacct/cpu.cfs_quota_us": "300000", "cpu,cpuacct/cpu.cfs_period_us": "100000"},
            3.0,
        ),
        (
            "4:cpu:/",
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
            float("inf"),
        ),
        ("2:memory:/", {"cpu.max": "100000 100000"}, float("inf")),
    ],
)
def test_the_quota_of_control_groups_is_read(
    tmp_path: Path, line: str, files: dict[str, str], quota: float
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"{line}\n")
    for name, content in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{content}\n")
    assert threads._quota(tmp_path) == quota


def test_there_is_no_quota_where_there_are_no_control_groups(tmp_path: Path) -> None:
    assert threads._quota(tmp_path) == float("inf")


def test_the_affinity_of_the_moment_and_the_quota_limit_the_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOFTCOSINE_THREADS", raising=False)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/worker\n")
    (tmp_path / "sys/fs/cgroup/worker").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/worker/cpu.max").write_text("250000 100000\n")
    quota = threads._quota
    monkeypatch.setattr(threads, "_quota", lambda: quota(tmp_path))
    for cpus, usable in ((8, 3), (2, 2), (64, 3), (1, 1)):  # a scheduler may set it at any time
        monkeypatch.setattr("os.sched_getaffinity", lambda _, n=cpus: range(n), raising=False)
        assert threads.n_threads() == usable
        assert threads.n_threads(-2) == max(1, usable - 1)
