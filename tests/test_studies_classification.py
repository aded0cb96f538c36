"""A tiny case of the study of classification still works."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TOPICS = {"travel": ["tyre", "wheel", "bicycle", "brake"], "sea": ["moon", "tide", "wave", "boat"]}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "classification").mkdir(parents=True)
    (folder / "vectors").mkdir()
    random, lines = np.random.default_rng(0), []
    for i in range(60):
        topic = list(TOPICS)[i % 2]
        own = [*random.choice(TOPICS[topic], 4), *random.choice(["report", "case", "year"], 3)]
        split = "train" if i < 40 else "test"
        lines.append({"id": str(i), "label": topic, "split": split, "text": " ".join(own)})
    with gzip.open(folder / "classification" / "r8.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    words = [word for topic in TOPICS.values() for word in topic]
    vectors = np.repeat(np.eye(2), 4, axis=0) + 0.1
    np.savez(folder / "vectors" / "potion_base_4m_int8.npz", words=words, v=vectors)
    return folder


def test_a_tiny_set_is_classified(
    study: Callable[[str], Any], tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--data", str(tiny), "--sets", "r8", "--rows", "soft,latent,learned"]
    asked += ["--kept", str(tmp_path / "kept.json"), "--out", str(tmp_path / "out")]
    assert study("classification").main([*asked, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["sets"]["r8"]
    assert len(rows) == 8
    assert all(row["error"] <= 10 for row in rows.values())
    assert rows["soft cosine, chosen"]["against cosine, chosen"]["low"] <= 0
    assert study("classification").main(asked) == 0  # from what was kept
    page = (tmp_path / "out" / "classification.md").read_text(encoding="utf-8")
    assert "soft cosine, chosen" in page
    assert "classification.json" in page


def test_an_unknown_set_is_told(study: Callable[[str], Any], tiny: Path) -> None:
    with pytest.raises(SystemExit, match="there is no set 'reuters'"):
        study("classification").main(["--data", str(tiny), "--sets", "reuters"])


def test_intervals_are_of_the_same_documents(study: Callable[[str], Any]) -> None:
    found = study("classification_page")
    left, right = {"0": {"wrong": [0, 1], "n": 4}}, {"0": {"wrong": [0], "n": 4}}
    assert found.interval(left, right).difference == pytest.approx(25)
    assert found.interval(left, {"2": {"wrong": [0], "n": 4}}) is None
    assert found.interval({"0": {"wrong": [], "n": 3}}, right) is None


def test_intervals_of_seeded_splits_draw_documents(study: Callable[[str], Any]) -> None:
    found = study("classification_page")
    splits = found.seeded_splits(10)
    always = int(splits[0].test[0])
    left = {
        str(i): {"wrong": np.flatnonzero(split.test == always).tolist(), "n": 3, "n_docs": 10}
        for i, split in enumerate(splits[:3])
    }
    right = {i: {**row, "wrong": []} for i, row in left.items()}
    tested = len(set(np.concatenate([split.test for split in splits[:3]]).tolist()))
    assert found.interval(left, right).difference == pytest.approx(100 / tested)
