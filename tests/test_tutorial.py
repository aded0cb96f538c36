"""The tutorials, followed step by step as a reader would, in an empty folder."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from conftest import need_multilingual
from softcosine.cli.app import main

PAGES = sorted((Path(__file__).resolve().parent.parent / "docs").glob("tutorial*.md"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NAMED = re.compile(r"`(\w+\.(?:csv|txt))`[^`]*\Z")  # before a block: the file to save it as


def follow_console(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    for step in re.split(r"^\$ softcosine ", block, flags=re.MULTILINE)[1:]:
        command, _, wanted = step.partition("\n")
        with pytest.raises(SystemExit) as end:
            main(shlex.split(command))
        output = capsys.readouterr()
        got = output.out + output.err
        assert end.value.code in (None, 0), got
        assert doctest.OutputChecker().check_output(wanted, got, FLAGS), f"$ {command}\n{got}"


def follow_python(block: str, names: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block, names, "tutorial", None, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, clear_globs=False)
    assert runner.summarize(verbose=False).failed == 0
    names.update(test.globs)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.usefixtures("automatic_encoder")
def test_a_tutorial_does_what_it_says(page, tmp_path, monkeypatch, capsys):
    if page.stem == "tutorial-german":
        need_multilingual()
    else:
        pytest.importorskip("softcosine_minilm")
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    before, *steps = re.split(r"^```", page.read_text("utf-8"), flags=re.MULTILINE)
    for fenced, after in zip(steps[::2], steps[1::2], strict=True):
        language, _, block = fenced.partition("\n")
        if language == "console":
            follow_console(block, capsys)
        elif language == "python":
            follow_python(block, names)
        elif language:
            Path(NAMED.search(before)[1]).write_text(block, "utf-8")
        before = after
