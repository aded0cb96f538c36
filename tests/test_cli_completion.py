"""Completion of commands, options and their values by the shell."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from typing import get_args

import pytest
import typer

import softcosine as sc
from softcosine.cli.app import app
from softcosine.evaluate.datasets.grades import GRADES
from softcosine.evaluate.datasets.loading import KINDS
from softcosine.evaluate.tuning.search import RULES
from softcosine.index.rankings import TITLES
from softcosine.index.requests import By
from softcosine.index.search.server_query import SERVERS, SentWords
from softcosine.serve.keys import SCOPES
from softcosine.text.analyzer import languages


@pytest.fixture
def bash(tmp_path):
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    return _bash(tmp_path)


def _bash(tmp_path):
    """Run a script in bash whose home is empty, with the command ``softcosine`` of this Python."""
    command = tmp_path / "bin" / "softcosine"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m softcosine "$@"\n', "utf-8")
    command.chmod(0o755)
    path = os.pathsep.join([str(command.parent), os.environ["PATH"]])
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": path}

    def run(script: str) -> str:
        shell = ["bash", "--noprofile", "--norc", "-c", script]
        done = subprocess.run(shell, env=environment, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_an_installed_completion_completes_commands_options_and_values_in_bash(bash, tmp_path):
    sc.SoftIndex.create(tmp_path / "faq.index", plain=True)
    assert "bash completion installed" in bash("softcosine --install-completion; true")
    complete = (
        "source ~/.bashrc; COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        '_softcosine_completion softcosine; echo "${{COMPREPLY[@]}}"'
    )
    assert bash(complete.format("softcosine se")).split() == ["search", "serve", "server"]
    assert bash(complete.format("softcosine collection ba")).split() == ["batch"]
    assert bash(complete.format("softcosine search --mea")).split() == ["--meaning"]
    assert bash(complete.format("softcosine search faq")).split() == ["faq.index"]
    assert bash(complete.format("softcosine search bi")).split() == []  # bash completes files
    told = bash(complete.format("softcosine search faq.index tea --ranking soft_t"))
    assert told.split() == ["soft_tf_bm25"]


def test_the_script_is_registered_for_the_command_and_leaves_files_to_bash(bash):
    shown = bash("softcosine --show-completion; true")
    assert "complete -o default -F _softcosine_completion softcosine" in shown


def parameters():
    """The parameters of all commands whose values can be completed."""

    def walk(group, path):
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from walk(command, (*path, name))
                continue
            context = command.make_context(name, [], resilient_parsing=True)
            for one in context.command.params:
                if getattr(one, "_custom_shell_complete", None) is not None:
                    yield " ".join((*path, name)), one, context

    return list(walk(typer.main.get_command(app), ()))


def completed(command, name, incomplete):
    for own, one, context in parameters():
        if (own, one.name) == (command, name):
            return [item.value for item in one.shell_complete(context, incomplete)]
    raise AssertionError(f"{command} does not complete {name}")


@pytest.mark.parametrize(
    ("command", "name", "incomplete", "expected"),
    [
        ("search", "ranking", "soft_", ["soft_cosine", "soft_bm25", "soft_tf_bm25"]),
        ("search", "ask", "", ["words", "static", "encoder"]),
        ("index", "language", "ger", ["german"]),
        ("index", "stemmer", "no", ["norwegian", "none"]),
        ("admin encode", "encoder", "mini", ["minilm"]),
        ("add", "format", "js", ["jsonl", "json"]),
        ("add", "format", "x", []),
        ("server expand", "to", "e", ["elasticsearch"]),
        ("keys add", "scopes", "", ["search", "write", "admin"]),
        ("index", "source", "ed", ["edit-distance"]),
    ],
)
def test_values_are_completed(command, name, incomplete, expected):
    assert completed(command, name, incomplete) == expected


@pytest.mark.parametrize(
    ("command", "name", "table"),
    [
        ("dedupe", "by", By), ("server expand", "to", SERVERS),
        ("server search", "words", SentWords), ("keys add", "scopes", SCOPES),
        ("serve", "engine", ["ray"]),
        ("collection tune", "rule", RULES),
        ("evaluate", "grades", GRADES), ("evaluate", "kind", KINDS),
        ("search", "ranking", TITLES), ("index", "language", (*languages(), "none")),
    ],
)  # fmt: skip
def test_names_that_are_written_out_are_those_of_the_tables(command, name, table):
    names = get_args(table) or table
    assert completed(command, name, "") == list(names)


def test_no_completion_imports_a_heavy_module(tmp_path):
    sc.SoftIndex.create(tmp_path / "faq.index", plain=True)
    script = (
        inspect.getsource(parameters)
        + """
import sys
import typer
from softcosine.cli.app import app
n_values = 0
for command, one, context in parameters():
    n_values += len(one.shell_complete(context, ""))
heavy = {"numpy", "scipy", "numba", "starlette", "httpx", "onnxruntime"} & set(sys.modules)
assert n_values > 150, n_values
assert not heavy, heavy
assert not [name for name in sys.modules if name.startswith("softcosine.index.search")]
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr


def test_indexes_are_completed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("faq", "law"):
        sc.SoftIndex.create(tmp_path / f"{name}.index", plain=True)
    (tmp_path / "sub").mkdir()
    sc.SoftIndex.create(tmp_path / "sub" / "faq", plain=True)
    (tmp_path / "faq.jsonl").touch()
    assert completed("search", "index", "") == ["faq.index", "law.index"]
    assert completed("search", "index", "fa") == ["faq.index"]
    assert completed("admin check", "index", "sub/") == ["sub/faq"]
    assert completed("info", "index", f"{tmp_path}/l") == [f"{tmp_path}/law.index"]
    assert completed("search", "index", "http://host/") == []
    assert completed("search", "index", "nowhere/") == []
    assert completed("mcp", "indexes", "laws=la") == ["laws=law.index"]


LISTED = {
    "ask", "by", "format", "grades", "join", "kind", "method", "order", "rule", "scopes",
    "strategy", "to", "words",
}  # fmt: skip


def test_the_help_names_the_values_that_are_completed():
    for command, one, context in parameters():
        if one.name in LISTED:
            for item in one.shell_complete(context, ""):
                assert item.value in one.help, (command, one.name)
