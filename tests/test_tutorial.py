"""The tutorial, followed step by step as a reader would, in an empty folder."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from softcosine.cli.app import main

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tutorial.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FILES = {"csv": "faq.csv", "text": "synonyms.txt"}  # what the page asks the reader to save


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
    test = doctest.DocTestParser().get_doctest(block, names, "tutorial", str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, clear_globs=False)
    assert runner.summarize(verbose=False).failed == 0
    names.update(test.globs)


def test_the_tutorial_does_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert {language for language, _ in blocks} == {"csv", "text", "console", "python"}
    for language, block in blocks:
        if language == "console":
            follow_console(block, capsys)
        elif language == "python":
            follow_python(block, names)
        else:
            Path(FILES[language]).write_text(block, "utf-8")
