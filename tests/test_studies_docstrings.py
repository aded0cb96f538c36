"""The study of docstrings: what is asked and found, and that it runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ir_measures")


@pytest.fixture
def docstrings(study: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "stdlib_module_names", frozenset(("heapq", "shutil", "nowhere")))
    return study("docstrings")


def test_first_sentences_ask_for_the_rest(docstrings: Any) -> None:
    found = docstrings.collection()
    assert {id.partition(".")[0] for id in found.documents.ids} == {"heapq", "shutil"}
    position = found.documents.ids.index("shutil.copytree")
    asked = found.queries.texts[position]
    assert asked.startswith("Recursively copy a directory tree")
    assert asked not in found.documents.texts[position]
    assert found.qrels[found.queries.ids[position]] == {"shutil.copytree": 1}


def test_it_writes_a_page_and_its_numbers(
    docstrings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(docstrings, "WORDS", ("cosine", "soft:plain=true"))
    docstrings.main(["--out", str(tmp_path), "--without-encoder"])
    numbers = json.loads((tmp_path / "docstrings.json").read_text("utf-8"))
    assert 0.0 < numbers["systems"]["cosine"]["ndcg@10"] <= 1.0
    page = (tmp_path / "docstrings.md").read_text("utf-8")
    assert "| soft:plain=true |" in page
