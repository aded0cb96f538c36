"""``softcosine similarity`` and ``softcosine index --similarity``."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys

import numpy as np
import pytest

from crafted import patch_array
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from softcosine.text.vocabulary import Vocabulary

TEXTS = {
    "bike": "A puncture in the tyre of a bicycle",
    "tea": "The tea is getting cold, E1042",
    "car": "Repair of cars and other automobiles",
    "bike2": "Bicycle tyres for sale; hot offers",
}


@pytest.fixture(autouse=True)
def _console(console, monkeypatch):
    """Every test has a console of its own, also where it does not use `run`."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with documents, vectors, synonyms, decisions and words; the working directory."""
    monkeypatch.chdir(tmp_path)
    lines = (json.dumps({"id": id, "text": text}) for id, text in TEXTS.items())
    (tmp_path / "docs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "vectors.txt").write_text("tea 1 0 0.5\ntyre 0.9 0.1 0.2\ncocoa 1 0.1 0.4\n")
    (tmp_path / "synonyms.txt").write_text("# comment\ntyre, tire, wheel\ncars, automobiles\n")
    (tmp_path / "pins.txt").write_text("tea = puncture 0.75\ncars ! automobiles\n")
    (tmp_path / "words.txt").write_text("Tyre\t3\ntyre\t1\nwheel\t9\n\nmoon\t2\n")
    return tmp_path


def built(run, *arguments, output="s.matrix"):
    run("similarity", "build", *arguments, "-o", output)
    return TermSimilarityMatrix.load(output, verify=True)


@pytest.mark.parametrize("command", ["build", "show", "set"])
def test_every_command_has_help_with_an_example(run, command):
    shown = run("similarity", command, "--help")
    assert f"    softcosine similarity {command}" in shown
    assert "JSON" in shown


def test_the_group_and_index_tell_of_each_other(run):
    shown = run("similarity", "--help")
    assert "    softcosine similarity build english synonyms.txt" in shown
    assert "index --similarity" in shown
    assert "--similarity MATRIX" in run("index", "--help")


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom softcosine.cli.app import main\n"
        "try:\n    main(['similarity', 'build', '--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_matrix_of_several_sources_is_built(run, folder):
    shown = run(
        "similarity", "build", "vectors.txt", "synonyms.txt", "--vocabulary", "docs.jsonl",
        "-o", "s.matrix", "--stemmer", "none",
    )  # fmt: skip
    assert "neighbours of 22 terms" in shown
    assert "similarity show s.matrix" in shown
    S = TermSimilarityMatrix.load("s.matrix", verify=True)
    vectors = EmbeddingSimilarity.load("vectors.txt", threshold=0.3, exponent=4)
    assert S.similarity("tea", "tyre") == vectors.similarities(["tea"], ["tyre"])
    assert S.similarity("cars", "automobiles") == np.float32(0.8)
    assert S.neighbors("e1042") == []
    settings = S.settings
    assert settings["recipe"]["sources"] == ["vectors.txt", "synonyms.txt"]
    assert settings["recipe"]["combine"] == "strongest"
    assert settings["vocabulary"] == ["docs.jsonl"]
    assert settings["analyzer"]["stemmer"] is None
    assert "EmbeddingSimilarity(3 words x 3" in settings["source"]
    assert "numpy" in settings["versions"]
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_similar_queries_are_learned_from_a_file_of_clicks(run, folder):
    (folder / "clicks.tsv").write_text("Low fares\tair\t2\ncheap flights\tair\t5\ntea\tpot\t1\n")
    (folder / "queries.txt").write_text("cheap flights\nlow fares\ntea\n")
    S = built(run, "clicks:clicks.tsv", "--words", "queries.txt")
    assert S.neighbors("cheap flights") == [("low fares", pytest.approx(1.0))]
    (told,) = run("terms", "s.matrix", "Cheap flights", "--json").splitlines()
    assert [one["word"] for one in json.loads(told)["neighbors"]] == ["low fares"]
    assert S.neighbors("tea") == []


def test_clicks_that_make_nothing_similar_are_told(run, folder):
    (folder / "pairs.tsv").write_text("tyre\ttire\ncar\tautomobile\n")
    (folder / "words.txt").write_text("tyre\ntire\n")
    asked = ("similarity", "build", "clicks:pairs.tsv", "--words", "words.txt", "-o", "s.matrix")
    assert "makes no two queries similar" in " ".join(run(*asked, code=2).split())


def test_words_are_similar_that_stand_in_similar_texts(run, folder):
    texts = ["a flat tyre", "a flat wheel", "tyre repair", "wheel repair", "hot tea"] * 6
    lines = (json.dumps({"id": str(i), "text": text}) for i, text in enumerate(texts))
    (folder / "many.jsonl").write_text("\n".join(lines), encoding="utf-8")
    S = built(run, "snos", "--vocabulary", "many.jsonl")
    near = [word for word, _ in S.neighbors("tyre")]
    assert "wheel" in near  # they never stand together
    assert "hot" not in near


def test_without_sources_the_defaults_of_an_index_are_taken(run, folder):
    shown = run("similarity", "build", "--vocabulary", "docs.jsonl", "-o", "s.matrix")
    assert "bundled English vectors" in shown
    S = TermSimilarityMatrix.load("s.matrix")
    run("index", "docs.jsonl", "-o", "plain.index", "--encoder", "none")
    run("index", "docs.jsonl", "-o", "with.index", "--similarity", "s.matrix")
    indexes = map(SoftIndex.open, ("plain.index", "with.index"))
    plain, given = (index.S.to_scipy() for index in indexes)
    assert plain.nnz - plain.shape[0] == S.statistics().n_neighbors
    assert (plain != given).nnz == 0
    plain = json.loads(run("search", "plain.index", "motorcar", "--json"))
    given = json.loads(run("search", "with.index", "motorcar", "--json"))
    assert [hit["id"] for hit in plain["hits"]] == [hit["id"] for hit in given["hits"]]
    assert [hit["score"] for hit in plain["hits"]] == [hit["score"] for hit in given["hits"]]


def test_the_summary_as_json_has_documented_keys(run, folder):
    record = json.loads(
        run(
            "similarity",
            "build",
            "only:synonyms.txt",
            "--vocabulary",
            "docs.jsonl",
            "-o",
            "s.matrix",
            "--json",
        )
    )
    shown = json.loads(run("similarity", "show", "s.matrix", "--json"))
    assert set(record) - set(shown) == {"seconds", "note", "list_use"}
    assert shown.items() <= record.items()
    assert record["settings"]["recipe"]["sources"] == ["only:synonyms.txt"]
    assert record["statistics"]["n_neighbors"] == 2
    assert record["list_use"]["n_entries"] == 4


def test_sources_are_joined_as_is_said(run, folder):
    (folder / "more.csv").write_text("cars,automobiles,0.5\n")
    values = {}
    for join in ("strongest", "noisy-or", "first"):
        S = built(
            run, "more.csv", "synonyms.txt", "--vocabulary", "docs.jsonl", "--join", join,
            "--stemmer", "none", output=f"{join}.matrix",
        )  # fmt: skip
        values[join] = S.similarity("cars", "automobiles")
    assert values == pytest.approx({"strongest": 0.8, "noisy-or": 0.9, "first": 0.5}, rel=1e-6)


def test_the_rules_of_assembly_are_options(run, folder):
    S = built(
        run, "vectors.txt", "--words", "words.txt", "--max-neighbors", 1, "--threshold", 0.5,
        "--exponent", 1,
    )  # fmt: skip
    assert S.settings["max_neighbors"] == 1
    assert "threshold=0.5, exponent=1" in S.settings["source"]


def test_a_word_list_gives_words(run, folder):
    S = built(run, "synonyms.txt", "--words", "words.txt")
    assert S.vocabulary.terms == ("moon", "tyre", "wheel")
    assert S.neighbors("tyre") == [("wheel", pytest.approx(0.8))]
    stemmed = built(
        run, "synonyms.txt", "--words", "words.txt", "--stemmer", "english", output="t.matrix"
    )
    assert stemmed.vocabulary.forms == (("moon",), ("tyre",), ("wheel",))
    (folder / "none.txt").write_text("...\n")
    message = run("similarity", "build", "english", "--words", "none.txt", "-o", "x", code=2)
    assert "none.txt: no words found" in message


def test_the_words_of_an_index_or_a_matrix_are_taken(run, folder):
    run("index", "docs.jsonl", "-o", "docs.index", "--plain", "--stemmer", "english")
    S = built(run, "texts", "synonyms.txt", "--vocabulary", "docs.index")
    assert "tyre" in S.vocabulary
    assert S.settings["analyzer"]["stemmer"] == "english"
    again = built(run, "synonyms.txt", "--vocabulary", "s.matrix", output="t.matrix")
    assert again.vocabulary == S.vocabulary
    assert again.settings["analyzer"] == S.settings["analyzer"]
    for more in (("--vocabulary", "docs.jsonl"), ("--stemmer", "none"), ("--min-df", 2)):
        message = run(
            "similarity", "build", "english", "--vocabulary", "s.matrix", *more, "-o", "x", code=2
        )
        assert "s.matrix already has a vocabulary" in message


def test_decisions_have_the_last_word(run, folder):
    S = built(
        run, "synonyms.txt", "--vocabulary", "docs.jsonl", "--decisions", "pins.txt",
        "--stemmer", "none",
    )  # fmt: skip
    assert S.similarity("tea", "puncture") == 0.75
    assert S.similarity("cars", "automobiles") == 0
    assert S.settings["recipe"]["overrides"][0] == "tea = puncture 0.75"
    (folder / "pins.txt").write_text("tea is nice\n")
    message = run(
        "similarity", "build", "english", "--vocabulary", "docs.jsonl", "--decisions", "pins.txt",
        "-o", "x", code=2,
    )  # fmt: skip
    assert "pins.txt, line 1" in message


def test_indefinite_matrices_are_named_and_repaired_on_request(run, folder):
    # a~b and b~c wholly, a~c not.
    (folder / "chain.csv").write_text("tea,puncture,1\npuncture,cars,1\n")
    # A table that is no person's list: its pairs are balanced.
    options = ("--vocabulary", "docs.jsonl", "--stemmer", "none", "-o", "s.matrix", "--overwrite")
    run("similarity", "build", "thesaurus:chain.csv", *options)
    assert "positive semidefinite, so no" in run("similarity", "show", "s.matrix")
    assert "balanced" in run("similarity", "show", "s.matrix")
    shown = " ".join(run("similarity", "build", "only:list:chain.csv", *options).split())
    assert "not positive semidefinite (an eigenvalue is -0.414)" in shown
    assert "--definite would multiply all similarities by 0.707" in shown
    shown = " ".join(run("similarity", "show", "s.matrix").split())
    assert "would multiply all similarities by 0.707" in shown
    record = json.loads(run("similarity", "show", "s.matrix", "--json"))
    assert record["statistics"]["smallest_eigenvalue"] == pytest.approx(1 - 2**0.5)
    shown = run("similarity", "build", "only:list:chain.csv", *options, "--definite")
    assert "multiplied by 0.706" in " ".join(shown.split())
    assert "positive semidefinite, so no" in run("similarity", "show", "s.matrix")
    for strategy, told in (("dominant", "strictly diagonally dominant"), ("rows", "asymmetric")):
        source = ThesaurusSimilarity.load("chain.csv")
        made = TermSimilarityMatrix.from_source(
            source, Vocabulary(["cars", "puncture", "tea"]), strategy=strategy, max_neighbors=1
        )
        made.save(f"{strategy}.matrix")
        assert told in run("similarity", "show", f"{strategy}.matrix")


def test_a_word_outside_has_the_same_neighbors_in_a_matrix_and_in_its_index(run, folder):
    words = ("tea", "tyre", "hot", "sale", "cars")
    pairs = [f"cocoa,{word},0.{n}" for n, word in enumerate(words, start=4)]
    (folder / "pairs.csv").write_text("\n".join(pairs) + "\n")
    built(run, "pairs.csv", "--vocabulary", "docs.jsonl", "--max-neighbors", 3)
    run("index", "docs.jsonl", "-o", "docs.index", "--similarity", "s.matrix")
    asked = ("cocoa", "-k", 50, "--json")
    told = json.loads(run("terms", "s.matrix", *asked))
    assert [one["word"] for one in told["neighbors"]] == ["cars", "sale", "hot"]
    assert told == json.loads(run("terms", "docs.index", *asked))


def test_show_finds_an_altered_file(run, folder):
    built(run, "synonyms.txt", "--vocabulary", "docs.jsonl")
    patch_array(folder / "s.matrix", "matrix/data")
    assert "matrix.npys has changed" in run("similarity", "show", "s.matrix", code=1)


def test_show_tells_facts(run, folder):
    built(run, "synonyms.txt", "--vocabulary", "docs.jsonl")
    shown = run("similarity", "show", "s.matrix")
    for part in ("terms", "synonyms.txt", "docs.jsonl"):
        assert part in shown
    record = json.loads(run("similarity", "show", "s.matrix", "--json"))
    assert set(record) == {"matrix", "bytes", "statistics", "settings"}


def test_neighbors_are_told_of_words_inside_and_outside(run, folder):
    built(run, "vectors.txt", "synonyms.txt", "--vocabulary", "docs.jsonl")
    assert "tyre" in run("terms", "s.matrix", "tea")
    first, second = map(
        json.loads,
        run("terms", "s.matrix", "TEA", "cocoa", "--json", "-k", 1).splitlines(),
    )
    assert first["indexed"]
    assert first["neighbors"][0]["word"] == "tyre"
    assert not second["indexed"]
    assert second["neighbors"][0]["word"] == "tea"
    assert "vectors" in run("terms", "s.matrix", "cocoa", "--origins")
    (teas,) = run("terms", "s.matrix", "teas", "--json", "-k", 1).splitlines()
    assert json.loads(teas) == {**first, "word": "teas"}
    message = run("terms", "s.matrix", "xyzzyx", code=1)
    assert "no source has similar words for it" in message
    TermSimilarityMatrix.load("s.matrix").save("bare.matrix")
    assert "not indexed" in run("terms", "bare.matrix", "cocoa", code=1)
    message = run("terms", "bare.matrix", "tea", "--origins", code=2)
    assert "no source of term similarity" in message


def test_an_index_takes_a_matrix_and_asks_its_sources_for_further_words(run, folder):
    built(run, "vectors.txt", "--vocabulary", "docs.jsonl", "--stemmer", "none")
    (folder / "more.jsonl").write_text('{"id": "drink", "text": "hot cocoa"}\n')
    shown = run("index", "docs.jsonl", "more.jsonl", "-o", "a.index", "--similarity", "s.matrix")
    assert "which has 22 of the 23 terms" in " ".join(shown.split())
    assert json.loads(run("info", "a.index", "--json"))["analyzer"]["stemmer"] is None
    record = json.loads(run("terms", "a.index", "cocoa", "--json"))
    assert record["neighbors"][0]["word"] == "tea"
    TermSimilarityMatrix.load("s.matrix").save("bare.matrix")
    shown = run("index", "docs.jsonl", "more.jsonl", "-o", "b.index", "--similarity", "bare.matrix")
    assert "the others have no similar words" in " ".join(shown.split())
    assert json.loads(run("terms", "b.index", "cocoa", "--json"))["neighbors"] == []
    assert "drink" in run("search", "b.index", "cocoa")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stemmer", "english"], "were not stemmed"),
        (["--plain"], "--similarity excludes --plain"),
        (["--source", "english"], "--similarity excludes --source"),
        (["--max-neighbors", "3"], "--similarity excludes --max-neighbors"),
    ],
)
def test_what_contradicts_a_matrix_is_refused(run, folder, arguments, message):
    built(run, "synonyms.txt", "--vocabulary", "docs.jsonl", "--stemmer", "none")
    shown = run(
        "index", "docs.jsonl", "-o", "a.index", "--similarity", "s.matrix", *arguments, code=2
    )
    assert message in shown
    assert not (folder / "a.index").exists()


def test_a_matrix_of_quite_other_words_is_refused(run, folder):
    (folder / "other.txt").write_text("zebra\ngnu\n")
    built(run, "english", "--words", "other.txt")
    shown = run("index", "docs.jsonl", "-o", "a.index", "--similarity", "s.matrix", code=2)
    assert "s.matrix has none of the 22 words" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["wordnt", "V"], 2, "the source 'wordnt' is not understood. A source is one of the names"),
        # Wrong names are found before documents are looked for.
        (["wordnt", "--vocabulary", "nowhere.txt"], 2, "the source 'wordnt' is not understood"),
        (["vectors:no.vec", "--vocabulary", "nowhere.txt"], 1, "there is no file no.vec, which"),
        (["V", "--join", "best"], 2, "join is 'best'"),
        (["english", "--words", "words.txt", "--min-df", "2"], 2, "--words is a list"),
        (["nowhere.vec", "V"], 1, "there is no file nowhere.vec. A source is one of"),
        (["english"], 2, "come from --vocabulary FILE"),
        (["english", "V", "--words", "words.txt"], 2, "give one of the two"),
        (["english", "V", "--join", "best"], 2, "join is 'best'; it must be one of strongest"),
        (["english", "V", "--min-df", "few"], 2, "min_df is 'few'"),
        (["english", "V", "--exponent", "-1"], 2, "exponent is -1"),
        (["edit-distance", "V", "--exponent", "2"], 2, "threshold and exponent are of vectors"),
        (["texts", "--words", "words.txt"], 2, "'texts' learns from texts, and there are none"),
        (["english", "V", "--stemmer", "klingon"], 2, "stemmer is 'klingon'"),
        (["english", "V", "--decisions", "nowhere"], 1, "nowhere: No such file"),
        (["vectors:synonyms.txt", "V"], 2, "synonyms.txt"),
        (["english", "--vocabulary", "nowhere.txt"], 1, "nowhere.txt: No such file"),
        (["english", "--vocabulary", "nowhere"], 1, "nowhere: No such file"),
        (["empty.txt", "V"], 2, "empty.txt: it makes no two words similar; needed are lines such"),
        (["cut.txt.gz", "V"], 2, "cut.txt.gz, line 2: the compressed file is cut short"),
        (["nan.txt", "V"], 2, "nan.txt, line 1: 'nan' stands where a finite number is needed"),
        (["english", "V", "-o", "no/where"], 1, "the folder no does not exist"),
        (["english", "V", "-o", "docs.jsonl"], 1, "docs.jsonl exists and is no softcosine matrix"),
    ],
)
def test_every_error_is_one_clear_line(run, folder, arguments, code, message):
    given = []
    for argument in arguments:
        given += ["--vocabulary", "docs.jsonl"] if argument == "V" else [argument]
    if "-o" not in given:
        given += ["-o", "s.matrix"]
    (folder / "empty.txt").touch()
    (folder / "nan.txt").write_text("tea 1 nan\n")
    (folder / "cut.txt.gz").write_bytes(gzip.compress(b"tea, cocoa\n")[:-9])
    before = sorted(folder.rglob("*"))
    shown = run("similarity", "build", *given, code=code)
    assert message in shown
    assert shown.startswith("softcosine: ")
    assert shown.count("\n") == 1
    assert sorted(folder.rglob("*")) == before


def test_documents_without_words_are_said_to_have_none(run, folder):
    (folder / "silent.jsonl").write_text('{"text": "!"}\n')
    shown = run("similarity", "build", "english", "--vocabulary", "silent.jsonl", "-o", "s.matrix")
    assert "The vocabulary is empty." in shown


def test_the_output_is_needed_and_not_overwritten_unasked(run, folder):
    message = run("similarity", "build", "english", "--vocabulary", "docs.jsonl", code=2)
    assert "Missing option '--output' / '-o'" in message
    built(run, "synonyms.txt", "--vocabulary", "docs.jsonl")
    message = run(
        "similarity", "build", "english", "--vocabulary", "docs.jsonl", "-o", "s.matrix", code=1
    )
    assert "exists already" in message
    assert TermSimilarityMatrix.load("s.matrix").settings["recipe"]["sources"] == ["synonyms.txt"]
    assert "there is no matrix at nowhere" in run("similarity", "show", "nowhere", code=1)


@pytest.mark.parametrize(
    ("content", "is_vectors"),
    [
        ("2 3\ntea 1 0 1\ntyre 1 1 0\n", True),
        ("\ntea 1e-3 -.5 1\n", True),
        ("new york 0.5 0.25\n", True),
        ("tea 1 nan\n", True),
        ("tea 1 2\ncocoa 1\nmilk 2 1\n", True),
        ("tea, cocoa\n", False),
        ("tea\tcocoa\t0.5\n", False),
        ("tea cocoa coffee\n", False),
        ("# 1 2 3\npc 3 => computer\n", False),
    ],
)
def test_files_are_told_apart_by_what_is_in_them(tmp_path, content, is_vectors):
    from softcosine.similarity.registry import kind_and_place

    for suffix, data in ((".txt", content.encode()), (".txt.gz", gzip.compress(content.encode()))):
        path = tmp_path / f"a{suffix}"
        path.write_bytes(data)
        assert kind_and_place(str(path)) == ("vectors" if is_vectors else "synonyms", str(path))


def test_endings_and_kinds_tell_what_a_source_is(tmp_path):
    from softcosine.similarity.registry import kind_and_place

    for name, kind in (("a.vec", "vectors"), ("a.npz", "vectors"), ("a.csv.gz", "synonyms")):
        (tmp_path / name).write_text("x")
        assert kind_and_place(str(tmp_path / name))[0] == kind
    assert kind_and_place(f"synonyms:{tmp_path}/a.vec") == ("synonyms", f"{tmp_path}/a.vec")
    assert kind_and_place("wordnet") == ("wordnet", "")
    (tmp_path / "wn").mkdir()
    assert kind_and_place(f"wordnet:{tmp_path}/wn") == ("wordnet", f"{tmp_path}/wn")
    (tmp_path / "wn" / "data.noun").write_text("")
    assert kind_and_place(str(tmp_path / "wn"))[0] == "wordnet"


def test_documents_may_come_from_standard_input(run, folder, monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(b"tea and cocoa\nthe tyre\n"))

    monkeypatch.setattr("sys.stdin", Stdin)
    S = built(run, "vectors.txt", "--vocabulary", "-", "--stemmer", "none")
    assert S.vocabulary.terms == ("and", "cocoa", "tea", "the", "tyre")
