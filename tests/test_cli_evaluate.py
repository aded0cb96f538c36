"""``softcosine evaluate``."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from pathlib import Path

import pytest

from softcosine.evaluate.datasets import load
from softcosine.evaluate.evaluation import evaluate

DOCUMENTS = {
    "bike": ("Flat tyre", "How to mend a puncture of a bicycle tyre with a patch."),
    "tea": ("Green tea", "Boil water, wait a little, and pour it onto the leaves."),
    "car": ("Tire pressure", "Check the pressure of your car tires every month."),
    "cake": ("Apple cake", "Bake apples, sugar and flour in a hot oven."),
    "cat": ("A sick kitten", "Take the cat to a veterinarian when it does not eat."),
}
QUERIES = {"q1": "repair a bike wheel", "q2": "hot drink", "q3": "ill animal", "q4": "not judged"}
QRELS = "q1\tbike\t2\nq1\tcar\t1\nq2\ttea\t1\nq3\tcat\t1\n"


def write(path: Path, rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("sets") / "toy"
    made.mkdir()
    documents = [{"id": id, "title": a, "text": b} for id, (a, b) in DOCUMENTS.items()]
    write(made / "corpus.jsonl", documents)
    write(made / "queries.jsonl", [{"id": id, "text": text} for id, text in QUERIES.items()])
    (made / "qrels.tsv").write_text(QRELS, encoding="utf-8")
    return made


def test_the_command_has_help_with_examples(run):
    shown = run("evaluate", "--help")
    assert "    softcosine evaluate cranfield/" in shown
    assert "JSON: systems of NAME" in shown


def test_json_holds_the_values_by_system_and_measure(run, folder):
    told = json.loads(run("evaluate", folder, "--json", "--measures", "map,ndcg@10"))
    assert list(told["systems"]) == ["cosine", "bm25", "soft"]
    assert list(told["systems"]["soft"]) == ["map", "ndcg@10"]
    expected = evaluate(load(folder), ["cosine", "bm25", "soft"], measures=["map", "ndcg@10"])
    assert told["systems"] == expected.values
    assert told["systems"]["soft"]["map"] > told["systems"]["cosine"]["map"]
    assert told["intervals"] == expected.to_dict()["intervals"]
    assert told["notes"] == ["queries without a judgement are not scored: 1 of 4 (q4)"]


def test_the_table_marks_the_best_and_tells_intervals_and_seconds(run, folder):
    shown = run("evaluate", folder, "--compare", "cosine,soft", "--measures", "map")
    assert "seconds" in shown
    assert "*" in next(line for line in shown.splitlines() if line.startswith("soft "))
    assert "to cosine" in shown
    assert "95% interval" in shown
    assert "toy: 5 documents, 3 queries." in shown
    assert "queries without a judgement are not scored: 1 of 4" in shown


def test_systems_take_settings_and_are_listed(run, folder):
    shown = run("evaluate", "--systems").splitlines()
    assert any(line.startswith("bm25") and "softcosine[evaluate]" in line for line in shown)
    assert "k1=1.2" in run("evaluate", "--settings", "bm25")
    assert "there is no system 'magic'; choose" in run("evaluate", "--settings", "magic", code=2)
    told = json.loads(
        run("evaluate", folder, "--compare", "bm25:b=0.4,k1=0.9,cosine", "--json", "--seed", 1)
    )
    assert list(told["systems"]) == ["bm25:b=0.4,k1=0.9", "cosine"]  # as they were asked for
    assert (told["baseline"], told["random_state"]) == ("cosine", 1)
    alone = json.loads(run("evaluate", folder, "--compare", "bm25,soft", "--json"))
    assert alone["baseline"] == "bm25"
    chosen = json.loads(
        run("evaluate", folder, "--compare", "bm25,soft", "--baseline", "soft", "--json")
    )
    assert list(chosen["intervals"]) == ["bm25"]


def test_wins_and_losses_are_explained_by_pairs_of_words(run, folder):
    arguments = ("evaluate", folder, "--compare", "cosine,soft", "--differences", 2)
    shown = run(*arguments)
    assert "soft against cosine by ndcg@10: better" in shown
    assert "Largest wins:" in shown
    assert " ≈ " in shown  # pairs of word pieces
    words = run("evaluate", folder, "--compare", "cosine,soft:encoder=none", "--differences", 2)
    assert " ~ " in words
    assert " ≈ " not in words
    told = json.loads(run(*arguments, "--json"))["differences"]
    assert told["system"] == "soft"
    win = told["wins"][0]
    assert win["documents"][0]["about"] == "relevant"
    assert any(words[0] != words[1] for words in win["documents"][0]["parts"]["soft"])
    assert "needs a second system" in run(
        "evaluate", folder, "--compare", "cosine", "--differences", 1, code=2
    )


def test_pictures_and_reports_are_written_and_never_replaced_unasked(run, folder, tmp_path):
    pytest.importorskip("matplotlib")
    picture, report = tmp_path / "a.png", tmp_path / "a.md"
    arguments = ("evaluate", folder, "--compare", "cosine,bm25", "--measures", "map")
    files = ("--plot", picture, "--markdown", report, "--differences", 1)
    run(*arguments, *files)
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = report.read_text(encoding="utf-8")
    assert text.startswith("| system | map | seconds |\n|---|---:|---:|\n")
    assert "### bm25 against cosine by map" in text
    assert "pass --overwrite" in run(*arguments, "--plot", picture, code=1)
    assert "pass --overwrite" in run(*arguments, "--markdown", report, code=1)
    run(*arguments, *files, "--overwrite")
    missing = tmp_path / "no" / "a.md"
    assert "the folder" in run(*arguments, "--markdown", missing, code=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.md", "a.png"]


def test_trec_files_and_runs_are_compared(run, tmp_path):
    documents = "".join(
        f"<DOC><DOCNO>{id}</DOCNO><TITLE>{a}</TITLE><TEXT>{b}</TEXT></DOC>\n"
        for id, (a, b) in DOCUMENTS.items()
    )
    (tmp_path / "docs.trec.gz").write_bytes(gzip.compress(documents.encode()))
    (tmp_path / "topics").write_text(
        "".join(f"<top><num> Number: {id}\n<title> {q}\n</top>\n" for id, q in QUERIES.items())
    )
    (tmp_path / "judged").write_text("q1 0 bike 1\nq2 0 tea 1\nq3 0 cat 1\n")
    (tmp_path / "run.txt").write_text("q1 Q0 bike 1 3.0 me\nq2 Q0 tea 1 2.0 me\n")
    told = json.loads(
        run(
            "evaluate", "--documents", tmp_path / "docs.trec.gz", "--queries", tmp_path / "topics",
            "--qrels", tmp_path / "judged", "--run", f"mine={tmp_path / 'run.txt'}",
            "--compare", "cosine", "--measures", "map", "--json",
        )
    )  # fmt: skip
    assert told["systems"]["mine"] == {"map": pytest.approx(2 / 3)}
    assert list(told["seconds"]) == ["cosine"]
    assert "are needed together" in run("evaluate", "--documents", tmp_path / "judged", code=2)
    assert "a name and a file" in run("evaluate", tmp_path, "--run", "x", code=2)


def test_a_run_may_name_documents_that_are_not_there(run, folder, tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 elsewhere 1 3.0 me\nq1 Q0 bike 2 2.0 me\nq2 Q0 tea 1 2.0 me\n")
    told = run(
        "evaluate", folder, "--compare", "cosine", "--run", f"mine={path}", "--baseline", "mine",
        "--differences", 3,
    )  # fmt: skip
    assert "cosine against mine" in told
    assert "elsewhere" not in told


def test_runs_are_written_one_a_system_and_set_and_measured_again(run, folder, tmp_path):
    other = tmp_path / "o ther"
    shutil.copytree(folder, other)
    runs = tmp_path / "runs"
    systems = ("cosine", "bm25:b=0.4,k1=0.9")
    arguments = ("evaluate", folder, other, "--compare", ",".join(systems), "--measures", "map")
    told = json.loads(run(*arguments, "--write-runs", runs, "--json"))
    files = {path.name for path in runs.iterdir()}
    assert files == {
        f"{name}.{system}.run"
        for name in ("toy", "o ther")
        for system in ("cosine", "bm25%3Ab=0.4,k1=0.9")
    }
    again = json.loads(
        run(
            "evaluate", folder, "--compare", "soft", "--measures", "map", "--json",
            "--run", f"one={runs / 'toy.cosine.run'}",
            "--run", f"two={runs / 'toy.bm25%3Ab=0.4,k1=0.9.run'}",
        )
    )["systems"]  # fmt: skip
    first = told["datasets"]["toy"]["systems"]
    assert (again["one"], again["two"]) == (first[systems[0]], first[systems[1]])
    assert (runs / "toy.cosine.run").read_text().split()[1] == "Q0"
    (runs / "toy.cosine.run").write_text("mine")
    for name in ("toy.bm25%3Ab=0.4,k1=0.9.run", "o ther.cosine.run"):
        (runs / name).unlink()
    assert "pass --overwrite" in run(*arguments, "--write-runs", runs, code=1)
    assert (runs / "toy.cosine.run").read_text() == "mine"
    assert len(list(runs.iterdir())) == 2  # nothing was written beside it
    run(*arguments, "--write-runs", runs, "--overwrite")
    assert {path.name for path in runs.iterdir()} == files
    assert (runs / "toy.cosine.run").read_text() != "mine"


def test_runs_that_cannot_be_written_are_refused_before_any_work(run, folder, tmp_path):
    spaced = tmp_path / "spaced"
    shutil.copytree(folder, spaced)
    text = (spaced / "corpus.jsonl").read_text().replace('"cake"', '"apple cake"')
    (spaced / "corpus.jsonl").write_text(text)
    runs = tmp_path / "runs"
    arguments = ("--compare", "cosine", "--measures", "map")
    said = run("evaluate", spaced, *arguments, "--write-runs", runs, code=2)
    assert "a TREC run cannot hold 'apple cake', the id of a document" in said
    labels = write(
        tmp_path / "labels.jsonl", [{"label": "xy"[i % 2], "text": str(i)} for i in range(8)]
    )
    said = run("evaluate", labels, "--compare", "cosine", "--write-runs", runs, code=2)
    assert "labels has no queries" in said
    said = run("evaluate", folder, *arguments, "--write-runs", labels, code=1)
    assert "labels.jsonl already exists" in said
    assert not runs.exists()


def test_several_sets_are_followed_by_their_means(run, folder, tmp_path):
    other = shutil.copytree(folder, tmp_path / "other")
    (other / "qrels.tsv").write_text("q1\tcar\t1\nq2\tcake\t1\n", encoding="utf-8")
    arguments = ("evaluate", folder, other, "--compare", "cosine,soft", "--measures", "map")
    told = json.loads(run(*arguments, "--json"))
    assert list(told["datasets"]) == ["toy", "other"]
    for name in ("cosine", "soft"):
        each = [own["systems"][name]["map"] for own in told["datasets"].values()]
        assert told["systems"][name]["map"] == pytest.approx(sum(each) / 2)
    assert set(told["intervals"]["soft"]["map"]) == {"difference", "low", "high", "p"}
    report = tmp_path / "both.md"
    shown = run(*arguments, "--markdown", report)
    assert "Means over 2 data sets (toy, other), each counting the same:" in shown
    assert "## other" in report.read_text(encoding="utf-8")
    for more in (("--plot", tmp_path / "a.png"), ("--differences", 1)):
        assert "take one data set at a time" in run(*arguments, *more, code=2)
    assert "two data sets are called 'toy'" in run("evaluate", folder, folder, code=2)
    words = tmp_path / "words.txt"
    words.write_text("car\tautomobile\t9\ncar\ttea\t1\n")
    assert "toy, words have no measure in common" in run("evaluate", folder, words, code=2)


def test_the_test_part_is_scored_unless_another_is_asked_for(run, tmp_path):
    path = tmp_path / "questions.jsonl"
    rows = [
        {
            "split": split, "orgq_id": split, "relq_id": f"{split}{place}", "org_subject": "tyre",
            "org_body": "a puncture", "rel_subject": subject, "rel_body": "", "relevant": relevant,
        }
        for split in ("train", "dev", "test2016")
        for place, (subject, relevant) in enumerate((("tea", False), ("tyre", True)))
    ]  # fmt: skip
    write(path, rows)
    arguments = ("evaluate", path, "--compare", "cosine", "--json")
    told = json.loads(run(*arguments))
    assert told["dataset"] == "questions (test2016)"
    assert told["systems"] == {"cosine": {"map": 1.0, "mrr": 1.0, "ndcg@10": 1.0}}
    assert json.loads(run(*arguments, "--split", "dev"))["dataset"] == "questions (dev)"
    assert "no part 'x'; it has train, dev, test2016" in run(*arguments, "--split", "x", code=2)


def test_of_several_test_parts_all_are_scored(run, tmp_path):
    path = tmp_path / "questions.jsonl"
    write(path, [
        {"split": split, "orgq_id": split, "relq_id": f"{split} r", "org_subject": "tyre",
         "rel_subject": "tyre", "relevant": True}
        for split in ("train", "test2016", "Test2017")
    ])  # fmt: skip
    told = json.loads(run("evaluate", path, "--compare", "cosine", "--json"))
    assert (told["dataset"], told["n_units"]) == ("questions (test2016, Test2017)", 2)


def test_labels_and_pairs_have_their_own_measures(run, tmp_path):
    labeled = write(
        tmp_path / "labels.jsonl",
        [
            {"label": label, "text": text, "split": split}
            for split in ("train", "test")
            for label, text in (("x", "red car"), ("x", "fast car"), ("y", "hot tea"), ("y", "tea"))
        ],
    )
    told = json.loads(run("evaluate", labeled, "--compare", "cosine,soft", "--json"))
    assert told["systems"] == {name: {"error": 0.0, "macro_f1": 1.0} for name in ("cosine", "soft")}
    assert set(told["neighbors"]) == {"cosine", "soft"}
    words = tmp_path / "words.txt"
    words.write_text("car\tautomobile\t9\ncar\ttea\t1\ntea\tcoffee\t7\nred\tcar\t3\n")
    told = json.loads(run("evaluate", words, "--compare", "cosine,soft", "--json"))
    assert told["systems"]["soft"]["spearman"] > 0.5
    assert told["systems"]["cosine"] == {"pearson": 0.0, "spearman": 0.0}


def test_further_texts_are_learned_from(run, folder, tmp_path):
    lines = tmp_path / "more.txt"
    lines.write_text("tea tea tea\n" * 20, encoding="utf-8")
    arguments = ("evaluate", folder, "--compare", "cosine", "--json", "--measures", "map")
    told = json.loads(run(*arguments, "--background", lines))
    assert told["systems"].keys() == {"cosine"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give the data set, a folder or file"),
        (("nowhere",), "nowhere does not exist"),
        (("FOLDER", "--compare", "cosine,magic"), "there is no system 'magic'"),
        (("FOLDER", "--compare", "cosine,cosine"), "is named twice"),
        (("FOLDER", "--compare", ""), "no system was named"),
        (("FOLDER", "--measures", "nap"), "no measure 'nap' for toy"),
        (("FOLDER", "--baseline", "lsi"), "the baseline 'lsi' is not among"),
        (("FOLDER", "--qrels", "x"), "give the data set"),
        (("FOLDER", "--plot", "a.docx"), "a.docx"),
        (("FOLDER", "--kind", "novel"), "kind is 'novel'"),
        (("FOLDER", "--compare", "cosine", "--differences", 1), "needs a second system"),
        (("FOLDER", "--topic-fields", ","), "name what of a topic is asked: title, description"),
        (("FOLDER", "--topic-fields", "text"), "the field of a topic is 'text'"),
    ],
)
def test_wrong_usage_is_one_clear_line(run, folder, arguments, message):
    given = [folder if one == "FOLDER" else one for one in arguments]
    error = run("evaluate", *given, code=1 if arguments == ("nowhere",) else 2)
    assert message in error
    assert error.startswith("softcosine: ")
    assert len(error.splitlines()) == 1


def test_measuring_without_its_package_says_what_to_install(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    error = run("evaluate", folder, "--compare", "cosine", code=1)
    assert "pip install 'softcosine[evaluate]'" in error


@pytest.mark.data
def test_a_real_collection_from_beginning_to_end(run, data):
    told = json.loads(run("evaluate", data / "retrieval" / "adi", "--json", "--resamples", 500))
    assert told["systems"]["cosine"]["map"] == pytest.approx(0.41, abs=0.05)
    assert told["n_units"] == 35
