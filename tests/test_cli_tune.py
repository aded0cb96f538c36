"""``softcosine collection tune`` and ``softcosine index --settings``."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from softcosine.cli.app import main
from softcosine.evaluate.tuning.kept import KeptFigures
from softcosine.evaluate.tuning.settings import Settings
from softcosine.index.soft_index import SoftIndex
from toy_encoder import ToyEncoder
from toy_judged import judged_set, written

FAST = (
    "--folds", 3, "--budget", 8, "--rule", "mean", "--try", "ranking=soft_bm25",
    "--try", "exponent=2,4", "--try", "sources=none,english", "--try", "stop_words=none",
    "--try", "threshold=0.3", "--try", "scaling=definite", "--try", "max_neighbors=100",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with a small collection."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOFTCOSINE_HOME", str(tmp_path / "home"))
    written(tmp_path / "toy", judged_set(fields=True))
    return tmp_path


def test_settings_are_chosen_written_and_used(run, folder):
    told = run("collection", "tune", "toy", "-o", "tuned.json", "--report", "tuned.md", *FAST)
    assert "ndcg@10 of 13 queries in 3 folds" in told.replace("\n", " ")
    assert "index toy/corpus.jsonl -o toy.index" in told
    assert "--settings tuned.json" in told
    settings = Settings.load("tuned.json")
    assert "# Settings tuned on toy" in Path("tuned.md").read_text(encoding="utf-8")
    run("index", "toy/corpus.jsonl", "-o", "toy.index", "--settings", "tuned.json")
    made = SoftIndex.open("toy.index")
    assert made.ranking == settings.ranking
    assert made.weighting == settings.weighting
    assert (made.language, made.analyzer) == (settings.language, settings.analyzer)
    assert made.search("automobile").ids


def test_the_index_of_tune_is_that_of_its_settings(run, folder):
    run("collection", "tune", "toy", "-o", "tuned.json", "--index", "first.index", *FAST)
    run(
        "index", "toy/corpus.jsonl", "-o", "second.index", "--settings", "tuned.json", "--text",
        "title", "--text", "text",
    )  # fmt: skip
    first, second = SoftIndex.open("first.index"), SoftIndex.open("second.index")
    for query in ("automobile motor", "the movie actress", "dough"):
        one, other = first.search(query, k=30), second.search(query, k=30)
        assert [(hit.id, hit.score) for hit in one] == [(hit.id, hit.score) for hit in other]


def test_settings_with_fields_index_them_as_spaces_of_their_own(run, folder):
    settings = Settings(fields=(("title", 2.0), ("text", 1.0)))
    settings.changed(sources=("english",)).save("tuned.json")
    run("index", "toy/corpus.jsonl", "-o", "toy.index", "--settings", "tuned.json")
    made = SoftIndex.open("toy.index")
    assert [(field.name, field.weight) for field in made.fields] == [("title", 2.0), ("text", 1.0)]
    assert made.note.startswith("Similarities come from english.")
    error = run(
        "index", "toy/corpus.jsonl", "-o", "b.index", "--settings", "tuned.json", "--text", "title",
        code=2,
    )  # fmt: skip
    assert "has weights for the fields title, text" in error


def test_documents_are_added_to_an_index_made_by_settings(run, folder):
    Settings(language="english").save("tuned.json")
    run("index", "toy/corpus.jsonl", "-o", "toy.index", "--settings", "tuned.json")
    Path("more.jsonl").write_text('{"id": "new", "text": "a zeppelin over the harbour"}\n')
    run("add", "toy.index", "more.jsonl")
    assert SoftIndex.open("toy.index").search("airship").ids[:1] == ["new"]


def test_the_weight_of_meaning_is_chosen_and_used_by_the_index(run, folder, monkeypatch):
    encoder = ToyEncoder()
    monkeypatch.setattr(
        "softcosine.evaluate.systems.encoder.load_encoder", lambda *_, **__: encoder
    )
    monkeypatch.setattr("softcosine.encoders.loading.load_encoder", lambda *_, **__: encoder)
    meaning = ("--encoder", "toy", "--ask", "encoder", "--encoder-cache", "toy.cache")
    told = run(
        "collection", "tune", "toy", "-o", "tuned.json", "--index", "first.index",
        *FAST, *meaning, "--try",
        "meaning=40",
    ).replace("\n", " ")  # fmt: skip
    assert "Gain over BM25: " in told
    assert "Gain over the same settings without meaning: " in told
    n_read = len(encoder.texts)
    settings = Settings.load("tuned.json")
    assert (settings.encoder, settings.ask, settings.meaning) == ("toy", "encoder", 40.0)
    run(
        "index", "toy/corpus.jsonl", "-o", "second.index", "--settings", "tuned.json", *meaning[:2],
        *meaning[4:], "--text", "title", "--text", "text",
    )  # fmt: skip
    assert len(encoder.texts) == n_read
    first, second = SoftIndex.open("first.index"), SoftIndex.open("second.index")
    assert first.snapshot.n_encoded == second.snapshot.n_encoded == 24
    assert second.snapshot.settings.meaning_weights["soft_bm25"] == 40.0


def test_the_language_is_named_for_tuning_and_for_an_index_by_settings(run, folder):
    run(
        "collection", "tune", "toy", "-o", "tuned.json", "--language", "german", "--folds",
        3, "--budget", 3,
    )  # fmt: skip
    settings = Settings.load("tuned.json")
    assert (settings.language, settings.analyzer.stemmer) == ("german", "german")
    made = ("index", "toy/corpus.jsonl", "-o", "toy.index", "--settings", "tuned.json")
    run(*made)
    assert SoftIndex.open("toy.index").language == "german"
    run(*made, "--overwrite", "--language", "english")
    index = SoftIndex.open("toy.index")
    assert (index.language, index.analyzer.stemmer) == ("english", "english")


def test_the_outcome_as_json_is_the_same_whatever_the_test_part_says(run, folder):
    first = run("collection", "tune", "toy", "-o", "a.json", "--report", "a.md", *FAST, "--json")
    found = json.loads(first)
    assert found["queries"] == 13
    assert found["settings"] == Settings.load("a.json").to_dict()
    assert {"gain", "default", "chosen", "by_fold", "trials", "verdict", "commands"} <= set(found)
    tested = json.loads(run("collection", "tune", "toy", *FAST, "--json", "--test"))
    assert tested["test"]["queries"] == 5
    from softcosine.evaluate.datasets.loading import load
    from softcosine.evaluate.tuning.parts import parted

    dataset = load("toy")
    test = parted(dataset).test_queries
    changed = {**dataset.qrels, **{query: {"d00": 1, "d53": 2} for query in test}}
    Path("toy").rename("before")
    written(folder / "toy", replace(dataset, qrels=changed))
    again = run(
        "collection", "tune", "toy", "-o", "a.json", "--report", "b.md", "--overwrite",
        "--checkpoint", "b.kept",
        *FAST, "--json",
    )  # fmt: skip
    assert again == first
    assert Path("b.md").read_bytes() == Path("a.md").read_bytes()
    assert Path("b.kept").read_bytes() == Path(".a.json.figures").read_bytes()


def test_a_collection_is_named_by_its_three_parts_too(run, folder):
    parts = (
        "--documents", "toy/corpus.jsonl", "--queries", "toy/queries.jsonl", "--qrels",
        "toy/qrels.tsv",
    )  # fmt: skip
    whole, found = (
        json.loads(run("collection", "tune", *one, *FAST, "--json")) for one in (["toy"], parts)
    )
    commands, others = whole.pop("commands"), found.pop("commands")
    assert found == whole
    assert others[0] == commands[0]
    assert "evaluate --documents toy/corpus.jsonl --queries" in others[1]


def test_figures_are_kept_beside_the_output_or_among_the_users_data(run, folder):
    run("collection", "tune", "toy", "-o", "tuned.json", *FAST)
    assert Path(".tuned.json.figures").is_file()
    run("collection", "tune", "toy", *FAST)
    (kept,) = Path("home").iterdir()
    assert kept.name.startswith("tuning-")
    assert kept.read_bytes() == Path(".tuned.json.figures").read_bytes()


def test_settings_that_were_not_written_are_written_from_what_is_kept(run, folder, monkeypatch):
    told = run("collection", "tune", "toy", *FAST)
    assert "with -o tuned.json writes the settings" in told
    measured = []
    monkeypatch.setattr(KeptFigures, "put", lambda *one: measured.append(one))
    assert "writes the settings" not in run("collection", "tune", "toy", "-o", "tuned.json", *FAST)
    assert not measured
    assert Settings.load("tuned.json")


def test_a_home_that_cannot_be_written_to_keeps_nothing(run, folder, monkeypatch):
    Path("home").mkdir()
    monkeypatch.setattr("softcosine.evaluate.commands.tuning.os.access", lambda *given: False)
    assert "Tried " in run("collection", "tune", "toy", *FAST)
    assert not list(Path("home").iterdir())


def test_without_the_package_that_measures_nothing_is_begun(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    monkeypatch.setattr("softcosine.evaluate.tuning.tuning.Workbench", None)
    error = run("collection", "tune", "toy", *FAST, code=1)
    assert "pip install 'softcosine[evaluate]'" in error


def test_ctrl_c_gives_the_best_so_far(run, folder, monkeypatch, capsys):
    real, n_put = KeptFigures.put, []

    def put(self, settings, figures):
        if len(n_put) == 3:
            raise KeyboardInterrupt
        n_put.append(settings)
        real(self, settings, figures)

    monkeypatch.setattr(KeptFigures, "put", put)
    with pytest.raises(SystemExit) as stop:
        main(["collection", "tune", "toy", "-o", "tuned.json", *map(str, FAST)])
    assert stop.value.code == 130
    told = capsys.readouterr()
    assert "which takes minutes; figures are stored in .tuned.json.figures." in told.err
    assert "resumes from the figures in .tuned.json.figures." in told.out
    assert Settings.load("tuned.json")
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert len(Path(".tuned.json.figures").read_text().splitlines()) == 4
    assert "Interrupted" not in run(
        "collection", "tune", "toy", "-o", "tuned.json", "--overwrite", *FAST
    )


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["nowhere"], "nowhere does not exist", 1),
        (["toy", "--folds", 9], "13 labelled queries are left to choose on", 2),
        (["toy", "--test-split", "final"], "no part 'final': its queries have no parts", 2),
        (["toy", "--test-share", 2], "of at least 0 and below 1", 2),
        (["toy", "--test-share", 0, "--test"], "no queries were left for a test", 2),
        (["toy", "--measure", "ndcg"], "", 0),
        (["toy", "--measure", "NDCG@10"], "ndcg@10 of 13 queries", 0),
        (["toy", "-o", "a", "--report", "./a"], "-o and --report are both a; choose two paths", 2),
        (["toy", "-o", "a", "--checkpoint", "a"], "-o and --checkpoint are both a", 2),
        (["toy", "-o", "a", "--index", "a"], "-o and --index are both a", 2),
        (["toy", "--measure", "best"], "no measure 'best'", 2),
        (["toy", "--source", "nothing.txt"], "there is no file nothing.txt", 1),
        (["toy", "--try", "exponent"], "a setting and its values, such as exponent=2,4", 2),
        (["toy", "--try", "exponent=x"], "the value must be a number", 2),
        (["toy", "--try", "power=2"], "setting is 'power'", 2),
        (["toy", "--try", "fields=title:2"], "give each of these a weight", 2),
        (["toy", "--try", "k1=1", "--try", "k1=2"], "has 'k1' twice", 2),
        (["toy", "--rule", "best"], "rule is 'best'", 2),
        (["toy", "-o", "toy/corpus.jsonl"], "already exists", 1),
        (["toy", "-o", "no/tuned.json"], "does not exist", 1),
        (["toy", "--checkpoint", "toy/qrels.tsv"], "something other than figures", 1),
        (["pairs.tsv"], "without queries", 2),
        ([], "give the data set, a folder or file", 2),
        (["toy", "--qrels", "toy/qrels.tsv"], "give the data set, a folder or file", 2),
        (["--qrels", "toy/qrels.tsv"], "--documents, --queries and --qrels are needed together", 2),
    ],
)
def test_what_cannot_be_tuned_is_said_in_a_line(run, folder, arguments, message, code):
    Path("pairs.tsv").write_text("4.5\tA cat sat.\tThe cat was sitting.\n1\tA dog.\tA car.\n" * 3)
    told = run("collection", "tune", *arguments, *(FAST if code == 0 else ()), code=code)
    assert message in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--source", "english"], "--settings excludes --source"),
        (["--ranking", "soft_cosine", "--plain"], "excludes --plain and --ranking;"),
        (["--join", "first"], "excludes --join;"),
        (["--meaning", 3], "excludes --meaning;"),
    ],
)
def test_settings_exclude_what_they_say(run, folder, options, message):
    Settings().save("tuned.json")
    command = ("index", "toy/corpus.jsonl", "-o", "toy.index", "--settings", "tuned.json")
    assert message in run(*command, *options, code=2)
    assert not Path("toy.index").exists()


def test_an_index_needs_settings_that_can_be_read(run, folder):
    command = ("index", "toy/corpus.jsonl", "-o", "toy.index", "--settings")
    assert "there is no file none.json" in run(*command, "none.json", code=1)
    Path("bad.json").write_text("{}")
    assert "it holds no settings" in run(*command, "bad.json", code=2)
    Path("gone.csv").write_text("tyre,tire\n")
    Settings().changed(sources=("gone.csv",)).save("gone.json")
    Path("gone.csv").unlink()
    assert "there is no file gone.csv" in run(*command, "gone.json", code=1)
    Settings(fields=(("heading", 1.0),)).save("fields.json")
    assert "heading" in run(*command, "fields.json", code=2)
    assert not Path("toy.index").exists()
