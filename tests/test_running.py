"""How the tests themselves run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import ROOT, need_ray, required
from killing import ended


def test_what_may_not_be_skipped_is_named_and_a_name_that_is_none_is_an_error(monkeypatch):
    for given, names in (("", set()), ("data, engines,", {"data", "engines"})):
        monkeypatch.setenv("SOFTCOSINE_REQUIRE", given)
        assert required() == names
    monkeypatch.setenv("SOFTCOSINE_REQUIRE", "engines,date")
    with pytest.raises(pytest.UsageError, match=r"'date' is no name .* browser, data, engines"):
        required()


def test_ray_is_missing_silently_only_where_it_cannot_be(monkeypatch):
    monkeypatch.setenv("SOFTCOSINE_REQUIRE", "ray")
    with pytest.raises(pytest.fail.Exception, match="needs no_ray, which is not installed"):
        need_ray("no_ray")
    monkeypatch.setenv("SOFTCOSINE_REQUIRE", "data")
    with pytest.raises(pytest.skip.Exception, match="needs no_ray, which is not installed"):
        need_ray("no_ray")
    monkeypatch.setattr("sys.version_info", (3, 14, 0))
    with pytest.raises(pytest.skip.Exception, match=r"Python up to 3\.13"):
        need_ray()


def test_temporary_files_go_with_the_run():
    folder = Path(tempfile.gettempdir())
    assert folder.name.startswith("softcosine-")  # of the run, which deletes it
    for name in ("TMPDIR", "SOFTCOSINE_HOME"):
        assert Path(os.environ[name]).is_relative_to(folder)


def test_of_the_folders_of_examples_only_the_last_is_kept(example_folder):
    first = example_folder()
    (first / "x").write_text("tea")
    second = example_folder()
    assert [*second.parent.iterdir()] == [second]
    assert [*second.iterdir()] == []


@pytest.mark.skipif(os.name == "nt", reason="signals come otherwise there")
def test_children_can_be_interrupted_where_a_shell_lets_them_ignore_it():
    script = "import os, conftest; os.kill(os.getpid(), 2)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, stderr=subprocess.PIPE, check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )  # fmt: skip
    assert done.returncode == -signal.SIGINT, done.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals come otherwise there")
def test_a_child_that_outlives_its_time_is_killed():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with pytest.raises(subprocess.TimeoutExpired), ended(child):
        child.wait(0.01)
    assert child.returncode == -signal.SIGKILL


def test_kernels_are_cached_under_a_name_of_their_contents():
    cache = Path(os.environ["NUMBA_CACHE_DIR"])
    assert cache.parent.name == "kernels"
    assert len(cache.name) == 16
