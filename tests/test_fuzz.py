"""A bounded run of the fuzzer of index folders, and that it would notice what it looks for."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from pathlib import Path

import numpy as np
import pytest

from conftest import JIT

if not hasattr(os, "fork"):
    pytest.skip("the fuzzer forks", allow_module_level=True)

import fuzz_index
from written import tree

pytestmark = pytest.mark.skipif(not JIT, reason="kernels as plain Python take minutes")


def test_no_mutation_of_an_index_ends_its_reader():
    report = fuzz_index.fuzz(20, n_cases=300)
    assert not report.findings, "\n\n".join(map(str, report.findings))
    assert report.n_cases == 300
    # It gets past opening, and is refused there: both must be common.
    opened = report.outcomes["open answered"]
    assert 50 < opened < 250


def test_a_case_is_decided_by_its_seed_and_number(monkeypatch, tmp_path):
    (tmp_path / "bases").mkdir()
    bases = fuzz_index.made_bases(tmp_path / "bases")
    (tmp_path / "again").mkdir()
    make = fuzz_index.BASES["plain"]

    def while_kernels_are_compiled(path):
        uuid.uuid4()  # as Numba's cache does
        make(path)

    monkeypatch.setitem(fuzz_index.BASES, "plain", while_kernels_are_compiled)
    again = fuzz_index.made_bases(tmp_path / "again")

    assert tree(tmp_path / "bases") == tree(tmp_path / "again")
    for case in range(30):
        _, changes = fuzz_index._mutated(3, case, bases, tmp_path / f"a{case}")
        _, same = fuzz_index._mutated(3, case, again, tmp_path / f"b{case}")
        assert changes == same
        assert tree(tmp_path / f"a{case}") == tree(tmp_path / f"b{case}")


def test_folders_of_killed_runs_are_removed_and_those_of_running_ones_stay(monkeypatch, tmp_path):
    monkeypatch.setattr(fuzz_index, "_in_memory", lambda: str(tmp_path))
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with fuzz_index._scratch():
            os.write(writing, b"x")
            signal.pause()
    try:
        os.read(reading, 1)
        with fuzz_index._scratch():
            assert len(list(tmp_path.iterdir())) == 2
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    (left,) = tmp_path.iterdir()
    with fuzz_index._scratch() as own:
        assert [*tmp_path.iterdir()] == [own]
        assert own != left


FAULTS = {
    "SIGSEGV": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "MemoryError": lambda: np.empty(1 << 42),
    "RecursionError": lambda: RecursionError("too deep"),
    "IndexError": lambda: [][1],
    "ArithmeticError: a score is nan": lambda: fuzz_index._number(float("nan")),
    "it hung": lambda: signal.pause(),
}


@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")
def test_faults_are_findings_whose_folder_is_kept(monkeypatch, tmp_path, what):
    def act(*_, **__):
        error = FAULTS[what]()
        if isinstance(error, Exception):
            raise error

    monkeypatch.setattr(fuzz_index._Deeds, "verify", act)
    monkeypatch.setattr(fuzz_index, "warmed", lambda *_: None)
    monkeypatch.setattr(fuzz_index._Deeds, "handling", lambda self: [self.verify] * 3)
    act.__name__ = "verify"
    seconds = 5 if what == "it hung" else 60
    report = fuzz_index.fuzz(5, n_cases=2, case_seconds=seconds, keep=tmp_path / "kept")
    assert {finding.doing for finding in report.findings} == {"verify"}
    assert all(what in finding.what for finding in report.findings)
    assert {finding.case for finding in report.findings} == {0, 1}
    for finding in report.findings:
        assert finding.changes
        assert Path(finding.folder).is_dir()
    assert "changed:" in str(report.findings[0])
    assert "test_fuzz.py" in report.findings[0].trace or what.startswith("Arith")
