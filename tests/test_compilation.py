"""That kernels are compiled is logged, and said on a terminal, where it really happens."""

from __future__ import annotations

import errno
import importlib
import logging
import subprocess
import sys
import time
from contextlib import ExitStack
from uuid import uuid4

import pytest

from conftest import JIT
from killing import ended
from softcosine.cli.progress import announcing_compilation

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")

SOURCE = """
from softcosine.kernels.jit import kernel

@kernel("float64(float64)")
def doubled(x):
    return x + x

@kernel("float64(float64)")
def halved(x):
    return x / 2.0
"""


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Two kernels of a file that no cache knows, as a new process has them at every call."""
    (tmp_path / "tiny_kernels.py").write_text(f"# {uuid4()}: no earlier run's{SOURCE}")
    monkeypatch.syspath_prepend(tmp_path)

    def make():
        sys.modules.pop("tiny_kernels", None)
        module = importlib.import_module("tiny_kernels")
        return module.doubled, module.halved

    yield make
    sys.modules.pop("tiny_kernels", None)


def test_a_kernel_that_is_compiled_is_logged_and_one_from_the_cache_is_not(fresh, caplog):
    caplog.set_level(logging.INFO, "softcosine.kernels.jit")
    doubled, _ = fresh()
    assert not caplog.messages
    assert doubled(2.0) == doubled(1.0) + 2.0
    assert caplog.messages == ["compiling tiny_kernels.doubled"]
    doubled, halved = fresh()
    assert doubled(2.0) == 4.0
    assert caplog.messages == ["compiling tiny_kernels.doubled"]
    assert halved(2.0) == 1.0
    assert caplog.messages == ["compiling tiny_kernels.doubled", "compiling tiny_kernels.halved"]


def test_a_terminal_is_told_once_and_only_where_something_is_compiled(
    fresh, console, capsys, monkeypatch
):
    logger = logging.getLogger("softcosine.kernels.jit")
    before = (logger.level, list(logger.handlers))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    said = []
    for number in (0, 0, 1):  # three commands; the second finds its kernel in the cache
        with announcing_compilation():
            fresh()[number](1.0)
        said.append(capsys.readouterr())
    assert [one.out for one in said] == [""] * 3
    assert [one.err.count("Compiling kernels") for one in said] == [1, 0, 0]
    assert (logger.level, logger.handlers) == before


def test_nothing_is_said_of_compilation_where_standard_error_is_no_terminal(fresh, console, capsys):
    with announcing_compilation():
        fresh()[0](1.0)
    assert capsys.readouterr() == ("", "")


SHARED = """
from softcosine.kernels.jit import kernel

@kernel("float64(float64)")  # of several, each may be compiled by another process
def squared(x):
    return x * x
"""
WORKER = """
import logging, os, sys, tempfile, time
from pathlib import Path

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
from shared_kernel import squared

if "refused" in sys.argv:  # as in a folder that is only readable

    def refused(*_, **__):
        raise PermissionError(13, "nothing may be written here")

    tempfile.TemporaryFile = refused
Path(f"ready-{os.getpid()}").touch()
while not Path("go").exists():
    time.sleep(0.01)
assert squared(3) == 9 and squared(0.5) == 0.25
print("answered")
"""


@pytest.fixture
def workers(tmp_path, monkeypatch):
    """Run processes that use one kernel at the same moment; returns the lines that they print."""
    (tmp_path / "shared_kernel.py").write_text(SHARED)
    (tmp_path / "worker.py").write_text(WORKER)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))

    def run(n, *arguments):
        for file in ("go", *(path.name for path in tmp_path.glob("ready-*"))):
            (tmp_path / file).unlink(missing_ok=True)
        with ExitStack() as stack:
            started = [
                subprocess.Popen(
                    [sys.executable, "worker.py", *arguments],
                    cwd=tmp_path, stdout=subprocess.PIPE, text=True,
                )
                for _ in range(n)
            ]  # fmt: skip
            for one in started:
                stack.enter_context(ended(one))
            while len([*tmp_path.glob("ready-*")]) < n:
                assert all(one.poll() is None for one in started)
                time.sleep(0.01)
            (tmp_path / "go").touch()
            outputs = [one.communicate(timeout=120)[0] for one in started]
        lines = "\n".join(outputs).split("\n")
        assert lines.count("answered") == n
        return lines

    return run


def test_of_processes_that_start_together_one_compiles(workers):
    assert workers(4).count("compiling shared_kernel.squared") == 1
    assert workers(2).count("compiling shared_kernel.squared") == 0


def test_a_filled_cache_in_a_read_only_folder_is_used(workers, tmp_path):
    workers(1)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*")}
    assert "compiling shared_kernel.squared" not in workers(2, "refused")
    assert files == {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*")}


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_cache_is_filled_again(workers, tmp_path, suffix):
    workers(1)
    for file in (tmp_path / "cache").rglob(f"*.{suffix}"):
        file.write_bytes(file.read_bytes()[:20])
    lines = workers(2)
    assert lines.count("compiling shared_kernel.squared") == 1
    assert "compiling shared_kernel.squared" not in workers(1)


def test_a_kernel_answers_where_no_cache_that_was_chosen_can_be_written(fresh, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    assert fresh()[0](2.0) == 4.0
    monkeypatch.setattr("numba.core.config.CACHE_LOCATOR_CLASSES", "NoLocator")
    with pytest.raises(RuntimeError, match="NoLocator"):
        fresh()[0](2.0)


def test_a_kernel_answers_where_the_disk_of_its_cache_is_full(fresh, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    assert fresh()[0](2.0) == 4.0
