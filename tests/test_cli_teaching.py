"""``softcosine admin teach``, and ``--meaning-space`` of ``index`` and ``encode``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from softcosine.index.soft_index import SoftIndex
from softcosine.space.meaning_file import load_meaning, save_meaning
from softcosine.space.table_fitting import fit_meaning
from test_table_fitting import SMALL, Taught, fitted, sentences

LOADING = "softcosine.encoders.loading.load_encoder"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    known = {"toy": Taught(), "other": Taught("other")}
    for place in (LOADING, "softcosine.space.table_fitting.load_encoder"):
        monkeypatch.setattr(place, lambda model, **_: known.get(model, model))
    Path("texts.txt").write_text("\n".join(sentences(200)), "utf-8")
    Path("docs.txt").write_text("tea pot\nbread butter jam\nroof wall floor\n", "utf-8")
    return tmp_path


def taught(run, *others, output="toy.npz", **settings):
    return run(
        "admin", "teach", "--encoder", "toy", "--texts", "texts.txt", "-o", output,
        "--dimensions", 4, *others, **settings,
    )  # fmt: skip


def test_a_table_is_fitted_and_measured(run, folder):
    shown = " ".join(taught(run).split())
    assert "word pieces on" in shown
    assert "texts held out: mean cosine" in shown
    assert "--meaning-space toy.npz" in shown
    record = json.loads(taught(run, "--json", "--overwrite"))
    assert set(record) == {
        "file", "encoder", "dimensions", "pieces", "texts", "held_out", "mean_cosine", "recall",
        "bytes", "seconds",
    }  # fmt: skip
    distinct = len(set(sentences(200)))
    assert (record["held_out"], record["texts"]) == (distinct // 10, distinct - distinct // 10)
    assert 0 < record["recall"] <= 1
    assert load_meaning("toy.npz").dimensions == 4


def test_the_table_is_that_of_the_api(run, folder):
    texts = list(dict.fromkeys(sentences(200)))
    held = np.random.default_rng(0).permutation(len(texts))[: len(texts) // 10]
    rest = [text for i, text in enumerate(texts) if i not in set(held.tolist())]
    taught(run)
    assert load_meaning("toy.npz") == fit_meaning(Taught(), rest, dimensions=4)


def test_json_lines_are_read_and_encodings_cached(run, folder):
    Path("texts.txt").rename("lines.txt")
    lines = Path("lines.txt").read_text("utf-8").splitlines()
    records = [json.dumps({"id": str(i), "text": line}) for i, line in enumerate(lines)]
    Path("texts.txt").write_text("\n".join(records), "utf-8")
    others = ("--format", "jsonl", "--encoder-cache", "vectors")
    first = json.loads(taught(run, *others, "--json"))
    again = json.loads(taught(run, *others, "--json", output="again.npz"))
    assert first["texts"] == again["texts"]
    assert Path("again.npz").read_bytes() == Path("toy.npz").read_bytes()


def test_index_and_encode_use_the_table(run, folder):
    save_meaning(fitted(texts=sentences(400), dimensions=6, settings=SMALL), "toy.npz")
    run("index", "docs.txt", "-o", "a.index", "--encoder", "toy", "--meaning-space", "toy.npz")
    run("index", "docs.txt", "-o", "b.index", "--encoder", "static")
    run("admin", "encode", "b.index", "--encoder", "toy", "--meaning-space", "toy.npz")
    for path in ("a.index", "b.index"):
        opened = SoftIndex.open(path)
        assert opened.snapshot.meaning == load_meaning("toy.npz")
        hits = opened.search("kettle tea", ask="static")
        assert (hits.plan.ask, hits[0].text) == ("static", "tea pot")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dimensions", 5], "dimensions is 5; it must be even"),
        (["--dimensions", 8], "'toy' have 6; it must not be larger"),
        (["--texts", "none.txt"], "none.txt: No such file"),
        (["-o", "docs.txt"], "docs.txt already exists; pass --overwrite"),
        (["-o", "none/toy.npz"], "the folder none does not exist"),
        (["--dimensions", 300], "texts are too few for 300 dimensions"),
    ],
)
def test_bad_input_is_refused_before_a_file_is_written(run, folder, arguments, message):
    code = 2 if "--dimensions" in arguments else 1
    assert message in " ".join(taught(run, *arguments, code=code).split())
    assert not Path("toy.npz").exists()


def test_another_tokenizer_is_named(run, folder, monkeypatch):
    monkeypatch.setattr(Taught, "tokenizer", {"model": {"type": "WordLevel", "vocab": {}}})
    assert "the encoder 'toy': the tokenizer is of type WordLevel" in taught(run, code=2)


def test_a_table_of_another_encoder_is_refused(run, folder):
    taught(run)
    shown = run(
        "index", "docs.txt", "-o", "a.index", "--encoder", "other", "--meaning-space", "toy.npz",
        code=2,
    )  # fmt: skip
    assert "is of the encoder 'toy', and the encoder given is 'other'" in " ".join(shown.split())
    assert not Path("a.index").exists()


def test_a_table_needs_an_encoder(run, folder):
    taught(run)
    shown = run(
        "index",
        "docs.txt",
        "-o",
        "a.index",
        "--encoder",
        "none",
        "--meaning-space",
        "toy.npz",
        code=2,
    )
    assert "add --encoder minilm" in " ".join(shown.split())


def test_a_table_cut_short_is_refused(run, folder):
    taught(run)
    content = Path("toy.npz").read_bytes()
    Path("toy.npz").write_bytes(content[: len(content) // 2])
    shown = run(
        "index", "docs.txt", "-o", "a.index", "--encoder", "toy", "--meaning-space", "toy.npz",
        code=2,
    )  # fmt: skip
    assert "not a readable .npz archive" in " ".join(shown.split())


def test_the_same_space_by_its_path_changes_nothing(folder):
    save_meaning(fitted(), "toy.npz")
    index = SoftIndex.from_texts(
        ["tea pot", "roof"], encoder=Taught(), meaning_space=folder / "toy.npz"
    )
    with index.writer() as writer:
        assert writer.encode(Taught(), meaning_space="toy.npz") == 0
    assert index.snapshot.meaning == fitted()
