"""The image file and the systemd unit call the command as it is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from softcosine.cli.app import app

DEPLOY = Path(__file__).resolve().parent.parent.parent / "deploy"
IMAGE = (DEPLOY / "Containerfile").read_text("utf-8")
UNIT = (DEPLOY / "softcosine.service").read_text("utf-8")


@pytest.mark.parametrize(
    "command",
    [
        json.loads(re.search(r"^ENTRYPOINT (.*)$", IMAGE, re.MULTILINE)[1]),
        re.search(r"^ExecStart=(.*)$", UNIT, re.MULTILINE)[1].split(),
    ],
)
def test_the_command_has_these_options(command):
    help = CliRunner().invoke(app, ["serve", "--help"]).output
    assert command[0].endswith("softcosine")
    assert command[1] == "serve"
    for option in (word for word in command if word.startswith("--")):
        assert option in help


def test_systemd_takes_the_unit(tmp_path):
    checker = shutil.which("systemd-analyze")
    if checker is None:
        pytest.skip("systemd is not installed")
    unit = tmp_path / "softcosine.service"
    unit.write_text(UNIT.replace("/usr/local/bin/softcosine", shutil.which("true")))
    done = subprocess.run([checker, "verify", unit], capture_output=True, text=True, check=False)
    told = [line for line in done.stderr.splitlines() if "softcosine.service" in line]
    assert told == []
