"""How the tests themselves run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from conftest import required


def test_what_may_not_be_skipped_is_named_and_a_name_that_is_none_is_an_error(monkeypatch):
    for given, names in (("", set()), ("data, engines,", {"data", "engines"})):
        monkeypatch.setenv("SOFTCOSINE_REQUIRE", given)
        assert required() == names
    monkeypatch.setenv("SOFTCOSINE_REQUIRE", "engines,date")
    with pytest.raises(pytest.UsageError, match=r"'date' is no name .* browser, data, engines"):
        required()


def test_temporary_files_go_with_the_run(tmp_path_factory):
    base = tmp_path_factory.getbasetemp()
    assert Path(tempfile.gettempdir()).is_relative_to(base)
    for name in ("TMPDIR", "SOFTCOSINE_HOME"):
        assert Path(os.environ[name]).is_relative_to(base)


def test_kernels_are_cached_under_a_name_of_their_contents():
    cache = Path(os.environ["NUMBA_CACHE_DIR"])
    assert cache.parent.name == "kernels"
    assert len(cache.name) == 16
