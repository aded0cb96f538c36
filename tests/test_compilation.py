"""That kernels are compiled is logged, and said on a terminal, where it really happens."""

from __future__ import annotations

import importlib
import logging
import sys

import pytest

from conftest import JIT
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
    (tmp_path / "tiny_kernels.py").write_text(SOURCE)
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
    with announcing_compilation():  # standard error is no terminal here
        fresh()[0](1.0)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with announcing_compilation():
        fresh()[0](1.0)
    assert capsys.readouterr().err == ""
    with announcing_compilation():
        fresh()[1](1.0)
        fresh()[1](1.0)
    said = capsys.readouterr()
    assert (said.out, said.err.count("Compiling kernels, only once (about 10 s) ...")) == ("", 1)
    assert (logger.level, logger.handlers) == before
