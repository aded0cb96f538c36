"""That kernels are compiled is logged, and said on a terminal, where it really happens."""

from __future__ import annotations

import importlib.util
import logging

import pytest

from conftest import JIT
from softcosine.cli.progress import announcing_compilation
from softcosine.kernels.jit import kernel

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")

SOURCE = "def doubled(x):\n    return x + x\n\ndef halved(x):\n    return x / 2.0\n"


@pytest.fixture
def fresh(tmp_path):
    """Two kernels of a file that no cache knows, made anew by every call."""
    path = tmp_path / "tiny.py"
    path.write_text(SOURCE)

    def make():
        spec = importlib.util.spec_from_file_location("tiny", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        declare = kernel("float64(float64)")
        return declare(module.doubled), declare(module.halved)

    return make


def test_a_kernel_that_is_compiled_is_logged_and_one_from_the_cache_is_not(fresh, caplog):
    caplog.set_level(logging.INFO, "softcosine.kernels.jit")
    doubled, _ = fresh()
    assert not caplog.messages
    assert doubled(2.0) == doubled(1.0) + 2.0
    assert caplog.messages == ["compiling tiny.doubled"]
    doubled, halved = fresh()
    assert doubled(2.0) == 4.0
    assert caplog.messages == ["compiling tiny.doubled"]
    assert halved(2.0) == 1.0
    assert caplog.messages == ["compiling tiny.doubled", "compiling tiny.halved"]


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
        (fresh()[0])(1.0)
        kernel("int64(int64)")(fresh()[0].__wrapped__)(1)
    assert capsys.readouterr() == ("", "Compiling kernels, once (about 10 s) ...\n")
    assert (logger.level, logger.handlers) == before
