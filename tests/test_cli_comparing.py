"""``softcosine collection pairs`` and ``dedupe``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from softcosine.cli import progress
from softcosine.cli.app import main
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.text.vocabulary import Vocabulary

WORDS = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    rng = np.random.default_rng(5)
    made = {f"d{i}": " ".join(rng.choice(WORDS, 4)) for i in range(40)}
    return {**made, "again": made["d7"], "spaced id": made["d7"], "empty": ""}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, texts) -> Path:
    path = tmp_path_factory.mktemp("comparing") / "a.index"
    SoftIndex.from_texts(texts.values(), ids=texts, plain=True).save(path)
    return path


@pytest.mark.parametrize("command", ["collection pairs", "dedupe"])
def test_every_command_has_help_with_an_example(run, command):
    shown = run(*command.split(), "--help")
    assert f"    softcosine {command}" in shown
    assert "JSON: " in shown


def test_pairs_are_those_that_searches_for_similar_documents_find(run, folder, texts):
    index, number = SoftIndex.open(folder), {id: i for i, id in enumerate(texts)}
    expected = {
        (min(id, hit.id, key=number.get), max(id, hit.id, key=number.get)): hit.score
        for id in texts
        for hit in index.similar(id, k=100, min_score=0.7)
    }
    rows = [
        json.loads(line)
        for line in run("collection", "pairs", folder, "--min", 0.7, "--json").splitlines()
    ]
    assert set(rows[0]) == {"id", "other", "score"}
    found = {(row["id"], row["other"]): row["score"] for row in rows}
    assert len(found) == len(rows)
    assert found == pytest.approx(expected)
    lines = run("collection", "pairs", folder, "--min", 0.7, "--threads", 2).splitlines()
    assert [line.split("\t")[1:] for line in lines] == [[r["id"], r["other"]] for r in rows]
    assert "1.000\td7\tspaced id" in lines


def test_neighbors_of_every_document_have_ranks(run, folder, texts):
    rows = [
        json.loads(line)
        for line in run("collection", "pairs", folder, "-k", 2, "--json").splitlines()
    ]
    index = SoftIndex.open(folder)
    for id in texts:
        own = [row for row in rows if row["id"] == id]
        assert [row["rank"] for row in own] == [1, 2][: len(own)]
        scores = [hit.score for hit in index.similar(id, k=2)]
        assert [row["score"] for row in own] == pytest.approx(scores)
    few = run("collection", "pairs", folder, "-k", 2, "--min", "0.99").splitlines()
    assert 0 < len(few) < len(rows)


def test_finding_no_similar_documents_is_told_apart_from_the_list(run, tmp_path, capsys):
    path = tmp_path / "x"
    SoftIndex.from_texts(["ant bee", "ant cat", "dog"], plain=True).save(path)
    for command in (["collection", "pairs"], ["dedupe"]):
        with pytest.raises(SystemExit):
            main([*command, str(path), "--min", "0.95"])
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "no two documents have a similarity of at least 0.95." in captured.err
        with pytest.raises(SystemExit):
            main([*command, str(path), "--min", "0.95", "--json"])
        assert capsys.readouterr() == ("", "")


def test_similarities_that_no_soft_cosine_reaches_are_refused(run, folder, tmp_path):
    for command in (["collection", "pairs"], ["dedupe"]):
        message = run(*command, folder, "--min", 1.5, code=2)
        assert "is 1.5, and the soft cosines of this index are at most 1" in message
    assert run("collection", "pairs", folder, "--min", 1)
    S = np.array([[1, 0.9, 0.9], [0.9, 1, 0], [0.9, 0, 1]])  # indefinite
    matrix = TermSimilarityMatrix.from_matrix(S, Vocabulary(["ant", "bee", "cat"]), warn=False)
    path = tmp_path / "x"
    SoftIndex.from_texts(["ant bee", "ant cat"], plain=True).with_similarity(matrix).save(path)
    run("collection", "pairs", path, "--min", 1.5)


def test_near_duplicates_come_in_groups_with_their_texts(run, folder, texts):
    lines = run("dedupe", folder, "--min", 0.99).splitlines()
    text = texts["d7"]
    start = lines.index(f"d7  {text}")
    others = [f"  1.000  again  {text}", f"  1.000  spaced id  {text}"]
    assert lines[start + 1 : start + 3] == others
    groups = [json.loads(line) for line in run("dedupe", folder, "--json").splitlines()]
    assert {"id", "others"} == set(groups[0])
    assert {"id", "other", "score"} == set(groups[0]["others"][0])
    members = [[group["id"], *(one["other"] for one in group["others"])] for group in groups]
    grouped = [id for group in members for id in group]
    assert len(grouped) == len(set(grouped))


def test_groups_by_chains_hold_those_by_leaders(run, folder):
    def members(*arguments):
        lines = run("dedupe", folder, "--min", 0.75, "--json", *arguments).splitlines()
        groups = map(json.loads, lines)
        return [{one["id"], *(other["other"] for other in one["others"])} for one in groups]

    chains = members("--method", "components")
    for group in members():
        assert any(group <= chain for chain in chains)


def test_what_is_to_be_dropped_can_be_deleted(run, folder, tmp_path, texts):
    path = tmp_path / "b.index"
    SoftIndex.from_texts(texts.values(), ids=texts, plain=True).save(path)
    dropped = run("dedupe", path, "--min", 0.9, "--keep", "first")
    rows = run("dedupe", path, "--min", 0.9, "--keep", "first", "--json").splitlines()
    assert [json.loads(row)["other"] for row in rows] == dropped.splitlines()
    assert {"again", "spaced id"} <= set(dropped.splitlines())
    (tmp_path / "drop.txt").write_text(dropped)
    run("delete", path, "--from", tmp_path / "drop.txt")
    assert run("dedupe", path, "--min", 0.9, "--keep", "first") == ""
    index = SoftIndex.open(path)
    for left, right in combinations([id for id in texts if id in index], 2):
        assert set(texts[left].split()) != set(texts[right].split()) or left == "empty"


def test_an_id_with_a_line_break_is_in_no_list(run, tmp_path):
    path = tmp_path / "a.index"
    SoftIndex.from_texts(["red", "red"], ids=["a", "b\nc"], plain=True).save(path)
    assert "contains a line break" in run("dedupe", path, "--keep", "first", code=2)
    record = json.loads(run("dedupe", path, "--keep", "first", "--json"))
    assert record == {"id": "a", "other": "b\nc", "score": pytest.approx(1.0)}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["collection", "pairs", "INDEX"], 2, "which would list nearly every pair"),
        (["collection", "pairs", "INDEX", "--min", "0"], 2, "min_similarity is 0.0"),
        (["collection", "pairs", "INDEX", "-k", "0"], 2, "k is 0"),
        (["collection", "pairs", "INDEX", "-k", "1", "--threads", "0"], 2, "'--threads'"),
        (["collection", "pairs", "nowhere", "-k", "1"], 1, "there is no index at nowhere"),
        (["dedupe", "INDEX", "--method", "best"], 2, "method is 'best'"),
        (["dedupe", "INDEX", "--keep", "last"], 2, "--keep is 'last'"),
        (["dedupe", "INDEX", "--min", "nan"], 2, "min_similarity is nan"),
        (["dedupe", "nowhere"], 1, "there is no index at nowhere"),
    ],
)
def test_every_error_is_one_clear_line(
    run, folder, tmp_path, monkeypatch, arguments, code, message
):
    monkeypatch.chdir(tmp_path)
    arguments = [folder if argument == "INDEX" else argument for argument in arguments]
    shown = run(*arguments, code=code)
    assert message in shown
    assert shown.startswith("softcosine: ")
    assert shown.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_printed_while_progress_shows_stays_on_standard_output(
    folder, run, monkeypatch, capsys
):
    monkeypatch.setattr(progress, "_SLOW", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.Reporter() as report:
        report("comparing", 1, 2)
        sys.stdout.write("a row\n")
    captured = capsys.readouterr()
    assert captured.out == "a row\n"
    assert "a row" not in captured.err


@pytest.mark.skipif(os.name == "nt", reason="pipes break otherwise there")
@pytest.mark.parametrize("command", [["collection", "pairs"], ["dedupe"]])
def test_a_reader_that_leaves_early_is_no_error_message(folder, command):
    child = subprocess.Popen(
        [sys.executable, "-m", "softcosine", *command, str(folder), "--min", "0.01"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    with child.stderr:
        assert child.stderr.read() == b""
    assert child.wait() == 1
