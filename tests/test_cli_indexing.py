"""``softcosine index`` of documents that do not fit in memory, and of several fields."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer import index_writer
from softcosine.index.writer.index_writer import IndexWriter

WORDS = [
    "bicycle", "tyre", "puncture", "repair", "wheel", "tea", "coffee", "cup", "kettle", "water",
    "car", "engine", "motor", "road", "travel", "train", "station", "ticket", "music", "guitar",
    "piano", "song", "concert", "doctor", "illness", "fever", "hospital", "nurse",
]  # fmt: skip
FEW = "1M"  # so that texts of 16,384 characters are too many


def text_of(number: int) -> str:
    # Texts that are not ASCII are taken to need four bytes a character.
    return " ".join(np.random.default_rng(number).choice(WORDS, 8)) + "…"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with a file of too many documents."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(index_writer, "DECIDING_SIZE", 1 << 14)
    with Path("many.jsonl").open("w", encoding="utf-8") as file:
        for number in range(400):
            record = {"id": f"d{number}", "text": text_of(number), "n": number}
            file.write(json.dumps(record) + "\n")
    Path("synonyms.txt").write_text("tyre, hoop\ncup, mug\n")
    return tmp_path


def hits(path: str, query: str) -> list[tuple[str, float]]:
    found = SoftIndex.open(path).search(query, k=20)
    return [(hit.id, pytest.approx(hit.score, abs=1e-6)) for hit in found]


@pytest.mark.parametrize(
    "options",
    [
        ["--plain"],
        [],
        ["--source", "english"],
        ["--source", "english", "--source", "synonyms.txt", "--max-neighbors", 5],
        ["--plain", "--stemmer", "none", "--ranking", "soft_cosine"],
        ["--stop-words", "english", "--source", "english"],
        ["--plain", "--min-df", 120],
        ["--min-df", 0.3],
        ["--max-neighbors", 3],
        ["--source", "texts"],
        ["--source", "texts", "--source", "synonyms.txt", "--min-df", 120],
        ["--plain", "--field", "text", "--min-df", 120, "--positions"],
        ["--decisions", "pins.txt"],
    ],
)
def test_an_index_made_in_parts_answers_as_one_made_at_once(run, folder, options):
    Path("pins.txt").write_text("tea = puncture 0.25\n")
    run("index", "many.jsonl", "-o", "whole.index", *options)
    record = json.loads(
        run("index", "many.jsonl", "-o", "grown.index", "--memory", FEW, *options, "--json")
    )
    assert record["documents"] == 400
    whole = json.loads(run("info", "whole.index", "--json"))
    facts = json.loads(run("info", "grown.index", "--json"))
    assert facts["segments"] > 1
    for name in ("documents", "terms", "postings", "ranking", "counted", "analyzer"):
        assert facts[name] == whole[name]
    assert record["note"] == whole["note"]
    for query in ("tyre", "mug of tea", "ill with fever", "bicycle repair road"):
        assert hits("grown.index", query) == hits("whole.index", query)
    run("admin", "check", "grown.index")


@pytest.mark.parametrize(
    ("options", "stemmer", "left_out"),
    [
        (["--stop-words", "english"], "english", True),
        (["--stop-words", "english", "--stemmer", "none"], None, True),
        (["--stop-words", "none"], "english", False),
    ],
)
def test_stop_words_are_left_out_where_it_is_said(run, folder, options, stemmer, left_out):
    Path("two.jsonl").write_text(
        '{"text": "the tyres of the bicycle are flat"}\n{"text": "it is a cup of tea"}\n'
    )
    run("index", "two.jsonl", "-o", "two.index", *options)
    index = SoftIndex.open("two.index")
    assert index.analyzer.stemmer == stemmer
    assert ("of" not in index.vocabulary.terms) == left_out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--stop-words", "klingon"],
            "no list of stop words named 'klingon'",
        ),
    ],
)
def test_stop_words_that_cannot_be_are_told(run, folder, options, message):
    assert message in run("index", "many.jsonl", "-o", "no.index", *options, code=2)
    assert not Path("no.index").exists()


def test_fields_are_spaces_of_their_own_that_count_by_their_weights(run, folder):
    Path("two.jsonl").write_text(
        '{"title": "tea", "body": "a car and a road", "id": "a"}\n'
        '{"title": "car", "body": "a cup of tea", "id": "b"}\n'
    )
    for name, weights, first in (("a.index", (5, 1), "a"), ("b.index", (1, 5), "b")):
        fields = (f"title={weights[0]}", f"body={weights[1]}")
        run("index", "two.jsonl", "-o", name, "--field", fields[0], "--field", fields[1], "--plain")
        facts = json.loads(run("info", name, "--json"))
        assert facts["fields"] == [
            {"name": "title", "weight": weights[0]}, {"name": "body", "weight": weights[1]}
        ]  # fmt: skip
        assert SoftIndex.open(name).search("tea")[0].id == first
    assert "title (weight 1), body (weight 5)" in run("info", "b.index")


def test_places_of_words_find_phrases_without_texts(run, folder):
    Path("two.txt").write_text("a cup of green tea\ngreen cups for tea\n")
    run("index", "two.txt", "-o", "a.index", "--positions", "--no-texts", "--plain")
    found = json.loads(run("search", "a.index", '"green tea"', "--json"))["hits"]
    assert [(hit["id"], hit["text"]) for hit in found] == [("1", "")]
    facts = json.loads(run("info", "a.index", "--json"))
    assert facts["positions"]
    assert not facts["texts"]
    assert "no texts, positions" in run("info", "a.index")
    run("index", "two.txt", "-o", "b.index", "--no-texts", "--plain")
    assert "phrase" in run("search", "b.index", '"green tea"', code=2)


def test_common_words_are_left_out_and_a_note_is_kept(run, folder):
    Path("three.txt").write_text("tea and milk\ntea and a tyre\ntea for two\n")
    run("index", "three.txt", "-o", "a.index", "--plain", "--max-df", 0.5, "--note", "three lines")
    assert "tea" not in SoftIndex.open("a.index").vocabulary
    assert "three lines" in SoftIndex.open("a.index").note
    run("index", "three.txt", "-o", "b.index", "--plain", "--max-df", 3, "--no-positions")
    assert "tea" in SoftIndex.open("b.index").vocabulary
    assert "max_df is 1.5" in run("index", "three.txt", "-o", "c", "--max-df", 1.5, code=2)


def test_decisions_and_sources_of_texts_go_with_fields(run, folder):
    Path("pins.txt").write_text("tea = puncture 0.25\n")
    run(
        "index", "many.jsonl", "-o", "a.index", "--field", "text", "--decisions", "pins.txt",
        "--source", "texts", "--source", "synonyms.txt",
    )  # fmt: skip
    assert "pinned 0.25" in run("terms", "a.index", "tea", "--origins")
    note = json.loads(run("info", "a.index", "--json"))["note"]
    assert note.startswith("Similarities come from texts, synonyms.txt, joined by strongest.")


def test_files_are_read_as_they_are_indexed(run, folder, monkeypatch):
    added = []
    real = IndexWriter.add
    monkeypatch.setattr(
        IndexWriter, "add", lambda self, *given: (added.append(given[0]), real(self, *given))[1]
    )
    with Path("many.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "x"}\n')
    message = run("index", "many.jsonl", "-o", "a.index", "--plain", "--memory", FEW, code=2)
    assert "many.jsonl, line 401: there is no field 'text'" in message
    assert len(added) == 400
    assert sorted(path.name for path in folder.iterdir()) == ["many.jsonl", "synonyms.txt"]


@pytest.mark.parametrize("step", ["add", "commit"])
def test_an_interrupted_index_leaves_nothing(run, folder, monkeypatch, step):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(IndexWriter, step, interrupt)
    message = run("index", "many.jsonl", "-o", "a.index", "--memory", FEW, code=130)
    assert "interrupted" in message
    assert sorted(path.name for path in folder.iterdir()) == ["many.jsonl", "synonyms.txt"]


def test_a_failed_index_leaves_the_one_that_was_there(run, folder, monkeypatch):
    run("index", "many.jsonl", "-o", "a.index", "--plain")
    before = hits("a.index", "tea")

    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(IndexWriter, "commit", fail)
    options = ["-o", "a.index", "--plain", "--memory", FEW, "--overwrite"]
    assert "the disk is probably full" in run("index", "many.jsonl", *options, code=1)
    assert hits("a.index", "tea") == before
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    run("index", "many.jsonl", *options)
    assert hits("a.index", "tea") == before
    names = ["a.index", "many.jsonl", "synonyms.txt"]
    assert sorted(path.name for path in folder.iterdir()) == names


@pytest.mark.parametrize("options", [[], ["--positions"]])
def test_an_index_that_a_writer_has_open_is_not_replaced(run, folder, options):
    run("index", "many.jsonl", "-o", "a.index", "--plain")
    with SoftIndex.open("a.index").writer():
        message = run(
            "index", "many.jsonl", "-o", "a.index", "--plain", "--overwrite", *options, code=1
        )
    assert message.count("\n") == 1
    assert message.endswith("one at a time; try again when that writer has finished.\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memory", "1K"], "--memory is '1K'; give a size of at least 1M"),
        (["--field", "text", "--text", "text"], "--field excludes --text"),
        (["--plain", "--join", "first"], "--plain excludes --join"),
        (["--field", "text=0"], "the weight of field 'text' is 0; it must be a number"),
        (["--field", "=2"], "a field is called ''"),
        (["--field", "text=many"], "the weight of field 'text' is 'many'"),
        (["--field", "text", "--field", "text=2"], "--field names 'text' twice"),
        (["--field", "body"], "there is no field 'body'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_clear_line_and_leaves_nothing(run, folder, options, message):
    shown = run("index", "many.jsonl", "-o", "a.index", *options, code=2)
    assert message in shown
    assert shown.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["many.jsonl", "synonyms.txt"]


def test_a_corpus_of_beir_is_searched_by_its_titles_and_shows_them(run, folder):
    rows = [
        {"_id": "d1", "title": "Punctures", "text": "what to do about a flat wheel"},
        {"_id": "d2", "title": "", "text": "a kettle of water"},
        {"_id": "d3", "title": "Tea", "text": "Tea is a drink of leaves"},
    ]
    Path("corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("index", "corpus.jsonl", "-o", "beir.index", "--plain")
    (hit,) = json.loads(run("search", "beir.index", "punctures", "--json"))["hits"]
    assert (hit["id"], hit["title"], hit["metadata"]) == ("d1", "Punctures", {"title": "Punctures"})
    (untitled,) = json.loads(run("search", "beir.index", "kettle", "--json"))["hits"]
    assert untitled["title"] is None
    run("add", "beir.index", "corpus.jsonl")
    assert json.loads(run("search", "beir.index", "punctures", "--json"))["hits"] == [hit]
    run("index", "corpus.jsonl", "-o", "text.index", "--plain", "--text", "text")
    assert "Nothing found" in run("search", "text.index", "punctures")
    first, second = run("search", "text.index", "flat").splitlines()[:2]
    assert first.split()[2:] == ["d1", "Punctures"]
    assert second.strip() == "what to do about a flat wheel"
    # A passage that begins with the title shows it already.
    assert run("search", "beir.index", "leaves").count("Tea") == 1


def test_an_index_by_fields_shows_the_field_of_the_title(run, folder):
    Path("items.csv").write_text("id,title,body\na,Big cup,tea and water\n")
    run("index", "items.csv", "-o", "items.index", "--plain", "--field", "title", "--field", "body")
    (hit,) = json.loads(run("search", "items.index", "water", "--json"))["hits"]
    assert (hit["title"], hit["metadata"]) == ("Big cup", {})


def test_leaving_out_every_word_is_told(run, folder):
    summary = json.loads(run("index", "many.jsonl", "-o", "a", "--min-df", 1000, "--json"))
    assert summary["terms"] == 0
    told = "The index has no terms, so searches find nothing: the texts have no words"
    assert f"{told}, or --min-df, --stop-words or the settings leave them out." in summary["note"]
    Path("blank.jsonl").write_text('{"id": "a", "text": ""}\n')
    summary = json.loads(run("index", "blank.jsonl", "-o", "blank", "--json"))
    assert told in summary["note"]
    summary = json.loads(run("index", "many.jsonl", "-o", "b", "--min-df", 2, "--json"))
    assert "no terms" not in summary["note"]
