"""The study of learned similarities, on a few made-up texts: that it runs, and what it tells."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from conftest import JIT

pytest.importorskip("sklearn")
pytest.importorskip("ir_measures")

TOPICS = {
    "bikes": ["bike", "bicycle", "wheel", "brake", "tyre", "chain", "saddle", "pedal"],
    "drinks": ["tea", "coffee", "kettle", "cup", "sugar", "milk", "water", "spoon"],
}


@pytest.fixture
def folder(tmp_path):
    """Evaluation data in the formats of the real ones."""
    random = np.random.default_rng(0)

    def text(topic, n=4):
        return " ".join([*random.choice(TOPICS[topic], n), random.choice(["the", "a", "of"])])

    topics = list(TOPICS)
    labelled = [
        {"id": str(i), "label": topics[i % 2], "split": "test" if i % 3 == 0 else "train",
         "text": text(topics[i % 2])}
        for i in range(60)
    ]  # fmt: skip
    _write(tmp_path / "classification" / "tiny.jsonl.gz", map(json.dumps, labelled))
    collection = tmp_path / "retrieval" / "tiny"
    documents = [{"id": str(i), "title": "", "text": text(topics[i % 2], 6)} for i in range(30)]
    queries = [{"id": str(i), "text": text(topics[i % 2], 2)} for i in range(10)]
    _write(collection / "corpus.jsonl.gz", map(json.dumps, documents))
    _write(collection / "queries.jsonl.gz", map(json.dumps, queries))
    judged = [f"{q}\t{d}\t1" for q in range(10) for d in range(q % 2, 12, 2)]
    (collection / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]) + "\n")
    return tmp_path


def _write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


@pytest.mark.skipif(not JIT, reason="builds similarities of words, slow without the compiler")
def test_the_study_runs_and_writes_what_it_found(study, folder, tmp_path, capsys):
    out = tmp_path / "results"
    study("learned").main(
        ["--data", str(folder), "--out", str(out), "--parts", "classes,rankings", "--sets", "tiny",
         "--collections", "tiny", "--json"]
    )  # fmt: skip
    told = json.loads(capsys.readouterr().out)
    errors = {row["compared by"]: row["error %"] for row in told["classes"]["rows"]}
    assert errors["learned weights"] <= errors["cosine"] + 10
    assert list(errors)[-1] == "learned weights and pairs"
    ways = [row["S"] for row in told["rankings"]["rows"]]
    assert ways == ["I (BM25)", "given (default)", "exponent chosen", "terms", "pairs", "both"]
    assert json.loads((out / "learned.json").read_text())["classes"] == told["classes"]
    assert "| tiny | learned weights |" in (out / "learned.md").read_text(encoding="utf-8")
