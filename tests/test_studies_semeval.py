"""Tiny cases of the studies of questions and of sentences still work, by a toy encoder."""

from __future__ import annotations

import gzip
import json
import sys

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("ir_measures")

THINGS = ("visa", "permit", "school", "doctor", "car", "flat")


@pytest.fixture
def study(study, monkeypatch):
    """The same, with an encoder and baselines that are quick."""

    def load(name):
        module = study(name)
        monkeypatch.setattr(module, "minilm", lambda report: encode)
        baselines = {"cosine": "cosine", "soft cosine, untuned": "soft_cosine"}
        monkeypatch.setattr(module, "BASELINES", baselines)
        return module

    return load


def encode(texts):
    """A permit is a visa; other things differ."""
    rows = np.array([[text.lower().count(thing) for thing in THINGS] for text in texts], float)
    rows[:, 0] += rows[:, 1]
    rows[:, 1] = 0.1
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def write_questions(folder):
    rows = []
    for number in range(12):
        split = ("train-part1", "train-part2", "dev", "test2016")[number % 4]
        thing = THINGS[number % 6]
        for place, other in enumerate(THINGS[:4], 1):
            wanted = other == thing or {other, thing} == {"visa", "permit"}
            rows.append({
                "split": split, "orgq_id": f"Q{number}", "relq_id": f"Q{number}_R{place}",
                "rank": place, "relevant": wanted, "label": "Relevant" if wanted else "Irrelevant",
                "org_subject": f"about a {thing}", "org_body": f"the {thing} number{number}",
                "rel_subject": f"my {other}", "rel_body": f"who sells a {other} in town",
            })  # fmt: skip
    folder.mkdir()
    with gzip.open(folder / "question_pairs.jsonl.gz", "wt") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    with gzip.open(folder / "forum_text.txt.gz", "wt") as lines:
        lines.writelines(f"i want the {thing} or the {thing} now\n" for thing in THINGS * 3)
        lines.write("about a visa. the visa number0\n")


def write_sentences(folder):
    folder.mkdir()
    for name, parts in {"stsb": ("train", "dev", "test"), "msrp": ("train", "val", "test")}.items():
        for part in parts:
            with gzip.open(folder / f"{name}_{part}.tsv.gz", "wt", encoding="utf-8") as lines:
                if name == "msrp":
                    lines.write("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n")
                for number in range(24):
                    one, other = THINGS[number % 6], THINGS[(number * number) % 6]
                    texts = f"a {one} is here\tthe {other} is there {number}"
                    same = int(one == other or {one, other} == {"visa", "permit"})
                    start = f"{same}\t1\t2\t" if name == "msrp" else f"{1.0 + 3.5 * same:.3f}\t"
                    lines.write(start + texts + "\n")


def test_questions_are_ranked_and_told(study, tmp_path, capsys):
    write_questions(tmp_path / "semeval")
    study("semeval").main(["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (
        json.loads((tmp_path / "out" / "semeval.json").read_text("utf-8")).items() >= told.items()
    )
    systems = told["systems"]
    assert {"cosine", "soft cosine, taught", "learned from soft cosines"} <= systems.keys()
    assert systems["soft cosine, taught"]["map, test2016"] >= systems["cosine"]["map, test2016"]
    page = (tmp_path / "out" / "semeval.md").read_text("utf-8")
    assert "| **soft cosine, taught** |" in page


def test_posts_that_ask_the_same_are_left_out(study, tmp_path):
    write_questions(tmp_path / "semeval")
    study("semeval")
    questions = sys.modules["question_pairs"].Questions.read(tmp_path / "semeval")
    assert not any("number" in post for post in questions.forum)
    assert questions.rank[:4].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert np.allclose(questions.among_rivals(questions.rank)[:4].sum(), 0.0)


def test_sentences_are_compared_and_told(study, tmp_path, capsys):
    write_sentences(tmp_path / "sentences")
    study("sentences").main(["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["stsb, test"]["systems"]["soft cosine, taught"]["pearson"] > 0.5
    assert set(told["msrp, test"]["systems"]["cosine"]) == {"auc", "accuracy", "f1"}
    assert "## STS Benchmark (24 test pairs)" in (tmp_path / "out" / "sentences.md").read_text()


def test_sentences_go_without_an_encoder_and_without_the_test(study, tmp_path, capsys):
    write_sentences(tmp_path / "sentences")
    study("sentences").main(["--data", str(tmp_path), "--without-encoder", "--without-test"])
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"stsb, dev", "msrp, val"}
    assert "soft cosine, taught" not in told["stsb, dev"]["systems"]
