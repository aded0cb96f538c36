"""Completion of commands and options by the shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture
def bash(tmp_path):
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


def test_an_installed_completion_completes_commands_and_options_in_bash(bash):
    assert "bash completion installed" in bash("softcosine --install-completion; true")
    complete = (
        "source ~/.bashrc; COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        '_softcosine_completion softcosine; echo "${{COMPREPLY[@]}}"'
    )
    assert bash(complete.format("softcosine se")).split() == ["search", "serve"]
    assert bash(complete.format("softcosine similarity ne")).split() == ["neighbors"]
    assert bash(complete.format("softcosine search --fu")).split() == ["--fuzzy"]
    assert bash(complete.format("softcosine search faq")).split() == []  # bash completes files


def test_the_script_is_registered_for_the_command_and_leaves_files_to_bash(bash):
    shown = bash("softcosine --show-completion; true")
    assert "complete -o default -F _softcosine_completion softcosine" in shown
