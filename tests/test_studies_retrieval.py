"""A tiny case of the studies of retrieval and of sources still works."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import softcosine as sc


def encode(texts: Sequence[str]) -> NDArray[np.float64]:
    """Give unit vectors of which letters stand in a text."""
    rows = np.array([[text.count(letter) + 0.1 for letter in "abcdefghij"] for text in texts])
    return np.asarray(rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True)))


def write_collection(folder: Path, seed: int) -> None:
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    topics = [["tyre", "wheel", "bicycle", "brake"], ["moon", "sea", "tide", "wave"]]
    texts = [
        " ".join([*random.choice(topics[i % 2], 5), *random.choice(["report", "case", "year"], 2)])
        for i in range(24)
    ]
    for name, rows in {
        "corpus": texts,
        "queries": ["flat tyre brake", "sea wave", "bicycle"],
    }.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as lines:
            for i, text in enumerate(rows):
                lines.write(json.dumps({"id": f"{name}{i}", "title": "", "text": text}) + "\n")
    judged = [(q, d) for q, topic in enumerate((0, 1, 0)) for d in range(topic, 24, 5)]
    told = "".join(f"queries{q}\tcorpus{d}\t1\n" for q, d in judged)
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{told}", encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for seed, name in enumerate(("one", "two")):
        write_collection(tmp_path / "data" / "retrieval" / name, seed)
    return tmp_path / "data"


def test_retrieval(study: Callable[[str], Any], data: Path, tmp_path: Path) -> None:
    asked = ["--data", str(data), "--out", str(tmp_path), "--collections", "one,two"]
    results = study("retrieval").main(asked, encode=encode)
    taught = results["stemmed"]["systems"]["soft BM25, distilled S"]
    assert 0.0 < taught["mean"] <= 1.0
    assert set(results["stemmed"]["chosen"]["soft BM25, distilled S"]) == {"one", "two", "all"}
    assert json.loads((tmp_path / "retrieval.json").read_text("utf-8"))["stemmed"]["systems"]
    assert "## Not stemmed" in (tmp_path / "retrieval.md").read_text("utf-8")
    assert study("retrieval").main(asked, encode=encode) == results


def test_the_quick_measure_is_that_of_the_package(study: Callable[[str], Any], data: Path) -> None:
    sets = study("retrieval_sets")
    collection = sets.read(data, "one", encode)
    index = sc.SoftIndex.from_texts(collection.dataset.documents.texts, plain=True)
    words = study("retrieval").measured_words(
        collection, sc.Analyzer(), distilled=False, report=str
    )
    first = next(iter(words.values()))
    system = study("softcosine.evaluate.systems").from_spec("bm25:stemmer=none,k1=1.2,b=0.75")
    found = sets.figures_of(collection.dataset, system.fit(collection.dataset.documents))
    np.testing.assert_allclose(sets.ndcg_of(collection.dataset, first), found, atol=1e-9)
    assert len(index) == 24


def test_similarities(study: Callable[[str], Any], data: Path) -> None:
    sets, similarities = study("retrieval_sets"), study("similarities")
    collection = sets.read(data, "two", encode)
    fixed = {"English table": sc.EmbeddingSimilarity.english()}
    fixed |= dict.fromkeys(
        ("PPDB XL", "WordNet, path", "edit distance"), sc.EditDistanceSimilarity()
    )
    made = similarities.makers(fixed, encode=encode)
    for label in ("English table", "encoder's documents, distilled × 0.1", similarities.TAUGHT):
        for settings in ({}, similarities.WAYS["dominant"]):
            found = similarities.ranked(collection, made[label], settings)
            assert found.shape == (3,)
            assert (found <= 1.0).all()
