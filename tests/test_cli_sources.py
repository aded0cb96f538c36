"""``softcosine index --source``, ``--join`` and ``--decisions``."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest

from softcosine.index.soft_index import SoftIndex
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity

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
    """A folder with documents, vectors, synonyms and decisions; the working directory."""
    monkeypatch.chdir(tmp_path)
    lines = (json.dumps({"id": id, "text": text}) for id, text in TEXTS.items())
    (tmp_path / "docs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "vectors.txt").write_text("tea 1 0 0.5\ntyre 0.9 0.1 0.2\ncocoa 1 0.1 0.4\n")
    (tmp_path / "synonyms.txt").write_text("# comment\ntyre, tire, wheel\ncars, automobiles\n")
    (tmp_path / "pins.txt").write_text("tea = puncture 0.75\ncars ! automobiles\n")
    return tmp_path


def built(run, *arguments, documents="docs.jsonl", output="a.index"):
    """Return S of an index with these options."""
    run("index", documents, "-o", output, "--encoder", "none", *arguments)
    return SoftIndex.open(output).S


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom softcosine.cli.app import main\n"
        "try:\n    main(['index', '--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_index_has_several_sources(run, folder):
    S = built(run, "--source", "vectors.txt", "--source", "synonyms.txt", "--stemmer", "none")
    vectors = EmbeddingSimilarity.load("vectors.txt", threshold=0.3, exponent=4)
    assert S.similarity("tea", "tyre") == vectors.similarities(["tea"], ["tyre"])
    assert S.similarity("cars", "automobiles") == np.float32(0.8)
    assert S.neighbors("e1042") == []


def test_clicks_that_make_nothing_similar_are_told(run, folder):
    (folder / "pairs.tsv").write_text("tyre\ttire\ncar\tautomobile\n")
    shown = run("index", "docs.jsonl", "-o", "x", "--source", "clicks:pairs.tsv", code=2)
    assert "makes no two queries similar" in " ".join(shown.split())


def test_words_are_similar_that_stand_in_similar_texts(run, folder):
    texts = ["a flat tyre", "a flat wheel", "tyre repair", "wheel repair", "hot tea"] * 6
    lines = (json.dumps({"id": str(i), "text": text}) for i, text in enumerate(texts))
    (folder / "many.jsonl").write_text("\n".join(lines), encoding="utf-8")
    S = built(run, "--source", "snos", documents="many.jsonl")
    near = [word for word, _ in S.neighbors("tyre")]
    assert "wheel" in near  # they never stand together
    assert "hot" not in near


def test_sources_are_joined_as_is_said(run, folder):
    (folder / "more.csv").write_text("cars,automobiles,0.5\n")
    values = {}
    for join in ("strongest", "noisy-or", "first"):
        S = built(
            run, "--source", "more.csv", "--source", "synonyms.txt", "--join", join,
            "--stemmer", "none", output=join,
        )  # fmt: skip
        values[join] = S.similarity("cars", "automobiles")
    assert values == pytest.approx({"strongest": 0.8, "noisy-or": 0.9, "first": 0.5}, rel=1e-6)


def test_decisions_have_the_last_word(run, folder):
    S = built(run, "--source", "synonyms.txt", "--decisions", "pins.txt", "--stemmer", "none")
    assert S.similarity("tea", "puncture") == 0.75
    assert S.similarity("cars", "automobiles") == 0
    (folder / "pins.txt").write_text("tea is nice\n")
    message = run("index", "docs.jsonl", "-o", "x", "--decisions", "pins.txt", code=2)
    assert "pins.txt, line 1" in message


def test_neighbors_are_told_of_words_inside_and_outside(run, folder):
    built(run, "--source", "vectors.txt", "--source", "synonyms.txt")
    assert "tyre" in run("terms", "a.index", "tea")
    first, second = map(
        json.loads,
        run("terms", "a.index", "TEA", "cocoa", "--json", "-k", 1).splitlines(),
    )
    assert first["indexed"]
    assert first["neighbors"][0]["word"] == "tyre"
    assert not second["indexed"]
    assert second["neighbors"][0]["word"] == "tea"
    assert "vectors" in run("terms", "a.index", "cocoa", "--origins")
    (teas,) = run("terms", "a.index", "teas", "--json", "-k", 1).splitlines()
    assert json.loads(teas) == {**first, "word": "teas"}
    message = run("terms", "a.index", "xyzzyx", code=1)
    assert "no source has similar words for it" in message


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["wordnt"], 2, "the source 'wordnt' is not understood. A source is one of the names"),
        (["vectors:no.vec"], 1, "there is no file no.vec, which"),
        (["nowhere.vec"], 1, "there is no file nowhere.vec. A source is one of"),
        (["english", "--join", "best"], 2, "join is 'best'; it must be one of strongest"),
        (["english", "--min-df", "few"], 2, "min_df is 'few'"),
        (["english", "--stemmer", "klingon"], 2, "stemmer is 'klingon'"),
        (["english", "--decisions", "nowhere"], 1, "nowhere: No such file"),
        (["vectors:synonyms.txt"], 2, "synonyms.txt"),
        (["empty.txt"], 2, "empty.txt: it makes no two words similar; needed are lines such"),
        (["cut.txt.gz"], 2, "cut.txt.gz, line 2: the compressed file is cut short"),
        (["nan.txt"], 2, "nan.txt, line 1: 'nan' stands where a finite number is needed"),
    ],
)
def test_every_error_is_one_clear_line(run, folder, arguments, code, message):
    (folder / "empty.txt").touch()
    (folder / "nan.txt").write_text("tea 1 nan\n")
    (folder / "cut.txt.gz").write_bytes(gzip.compress(b"tea, cocoa\n")[:-9])
    before = sorted(folder.rglob("*"))
    shown = run("index", "docs.jsonl", "-o", "a.index", "--source", *arguments, code=code)
    assert message in shown
    assert shown.startswith("softcosine: ")
    assert shown.count("\n") == 1
    assert sorted(folder.rglob("*")) == before


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
