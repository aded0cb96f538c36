"""``softcosine export``, and ``search --engine``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import need_engine
from softcosine.index.soft_index import SoftIndex

TEXTS = {
    "bike": "A flat tyre of a bicycle",
    "tea": "The tea is getting cold",
    "car": "Repair of cars and of a flat tyre",
    "dog": "My dog barks at the postman every morning",
    "none": "",
}
NAMES = ["faiss", "annoy", "hnswlib", "usearch"]


@pytest.fixture
def folder(tmp_path) -> Path:
    path = tmp_path / "a.index"
    index = SoftIndex.from_texts(TEXTS.values(), ids=TEXTS, ranking="soft_bm25", encoder=None)
    index.save(path)
    return path


def exported(run, folder, name, *arguments):
    need_engine(name)
    return run("export", folder, name, *arguments)


@pytest.mark.parametrize("name", NAMES)
def test_an_engine_is_filled_and_answers_as_the_index(run, folder, name):
    shown = " ".join(exported(run, folder, name).split())
    assert "5 documents of" in shown
    assert "by the route basis" in shown
    assert "Recall of the 10 best: 100.0%; with --rerank 100 100.0%" in shown
    assert f"--engine {name}" in shown
    query = ("search", folder, "bicycle repair", "--json")
    exact = json.loads(run(*query))
    found = json.loads(run(*query, "--engine", name, "--rerank", 100))
    assert found["hits"] == exact["hits"]
    near = json.loads(run(*query, "--engine", name, "--width", 50))
    assert [hit["id"] for hit in near["hits"]] == [hit["id"] for hit in exact["hits"]]
    for left, right in zip(near["hits"], exact["hits"], strict=True):
        assert left["score"] == pytest.approx(right["score"], rel=1e-5)


def test_the_summary_as_json_has_documented_keys(run, folder):
    record = json.loads(
        exported(
            run, folder, "faiss", "--factory", "HNSW16", "--route", "lsa", "--dimensions", 3,
            "--set", "construction=50", "--ranking", "soft_cosine", "--threads", 1, "--json",
        )
    )  # fmt: skip
    assert set(record) == {
        "index", "engine", "package", "settings", "route", "note", "dimensions", "documents",
        "ranking", "meaning", "vector_ranking", "exact", "bytes", "seconds", "recall",
        "recall_reranked", "path",
    }  # fmt: skip
    assert record["settings"]["factory"] == "HNSW16"
    assert record["settings"]["construction"] == 50
    assert (record["route"], record["dimensions"], record["exact"]) == ("lsa", 3, False)
    assert record["ranking"] == record["vector_ranking"] == "soft_cosine"
    assert record["meaning"] == 0
    assert 0 < record["recall"] <= record["recall_reranked"] == 1
    assert record["bytes"] > 0
    assert Path(record["path"]) == folder / "engines" / "faiss"
    shown = run("search", folder, "tyre", "--engine", "faiss", "--plan", "--explain")
    assert "Plan: faiss (approximate search of 3 dimensions, lsa, by soft cosine)" in " ".join(
        shown.split()
    )
    assert "soft cosine" in shown
    wrong = run(
        "search", folder, "tyre", "--engine", "faiss", "--ranking", "soft_bm25", code=2
    )  # fmt: skip
    assert "exported for soft_cosine; leave --ranking out" in wrong


def test_the_index_ranks_by_words_and_meaning_what_the_engine_finds(run, tmp_path):
    folder = tmp_path / "a.index"
    texts = [text for text in TEXTS.values() if text]
    SoftIndex.from_texts(texts, ranking="soft_tf_bm25", encoder="static").save(folder)
    shown = " ".join(exported(run, folder, "faiss").split())
    assert "finds 100 candidates by soft BM25, which the index ranks by BM25 of soft" in shown
    assert "frequencies and meaning. Recall of the 10 best: 100.0%; by the engine's own" in shown
    query = ("search", folder, "flat tyre", "--json", "--plan", "--explain")
    exact = json.loads(run(*query))
    found = json.loads(run(*query, "--engine", "faiss"))
    assert found["hits"] == exact["hits"]
    assert (found["ranking"], found["ask"], found["meaning"]) == ("soft_tf_bm25", "static", 10)
    assert "the best 100 scored exactly by BM25 of soft frequencies" in found["plan"]["reason"]
    near = json.loads(run(*query, "--engine", "faiss", "--rerank", 0))
    assert (near["ranking"], near["ask"], near["meaning"]) == ("soft_bm25", "words", 0)
    for hit in near["hits"]:
        parts = sum(part["contribution"] for part in hit["parts"])
        assert hit["score"] == pytest.approx(parts, rel=1e-5)
    exported(run, folder, "faiss", "--ranking", "soft_tf_bm25")
    found = json.loads(run(*query, "--engine", "faiss"))
    assert (found["ranking"], found["ask"], found["meaning"]) == ("soft_tf_bm25", "words", 0)
    assert found["hits"] == json.loads(run(*query, "--ask", "words"))["hits"]


def test_pages_and_queries_from_standard_input_are_answered(run, folder, monkeypatch):
    import io

    exported(run, folder, "faiss")
    whole = json.loads(run("search", folder, "flat tyre tea", "--json"))["hits"]
    query = ("search", folder, "flat tyre tea", "--engine", "faiss", "--rerank", 9, "--json")
    assert json.loads(run(*query, "-k", 1, "--page", 2))["hits"] == whole[1:2]
    raw = io.BufferedReader(io.BytesIO(b"tea\nbicycle\n"))  # type: ignore[arg-type]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw, encoding="utf-8"))
    lines = run("search", folder, "-", "--engine", "faiss", "--json").splitlines()
    assert [json.loads(line)["hits"][0]["id"] for line in lines] == ["tea", "bike"]


def test_a_changed_index_is_exported_again_or_followed(run, folder, tmp_path):
    exported(run, folder, "usearch", "--route", "lsa")
    (tmp_path / "more.jsonl").write_text('{"id": "new", "text": "a tea cup"}\n', encoding="utf-8")
    run("add", folder, tmp_path / "more.jsonl")
    stale = run("search", folder, "tea", "--engine", "usearch", code=1)
    assert "is stale" in stale
    assert "softcosine export INDEX usearch" in stale
    assert stale.count("\n") == 1
    shown = run("export", folder, "usearch", "--update")
    assert "Updated (" in shown
    found = json.loads(run("search", folder, "tea", "--engine", "usearch", "--json"))
    assert {hit["id"] for hit in found["hits"]} >= {"new", "tea"}
    record = json.loads(run("export", folder, "usearch", "--update", "--json"))
    assert (record["added"], record["deleted"], record["rebuilt"]) == (0, 0, False)
    run("delete", folder, "new")
    run("export", folder, "usearch")
    run("check", folder)
    found = json.loads(run("search", folder, "tea cup", "--engine", "usearch", "--json"))
    assert "new" not in {hit["id"] for hit in found["hits"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lucid",), "engine is 'lucid'; it must be one of annoy, faiss, hnswlib, usearch"),
        (("faiss", "--route", "svd"), "route is 'svd'"),
        (("faiss", "--factory", "Fl"), "Faiss cannot make 'Fl' of 4 vectors"),
        (("faiss", "--set", "depth=3"), "has no setting 'depth'; its settings are factory"),
        (("faiss", "--set", "depth"), "--set is 'depth'; write NAME=VALUE"),
        (("faiss", "--set", "width=3", "--set", "width=4"), "width is set twice"),
        (("faiss", "--width", 3, "--set", "width=4"), "width is set twice"),
        (("usearch", "--factory", "Flat"), "the engine usearch has no setting 'factory'"),
        (("faiss", "--ranking", "best"), "ranking is 'best'"),
        (("faiss", "--memory", "much"), "--memory is 'much'"),
        (("faiss", "--update", "--factory", "Flat"), "--update keeps the settings of the engine"),
    ],
)
def test_wrong_usage_is_told_in_a_line(run, folder, arguments, message):
    need_engine("faiss")
    need_engine("usearch")
    shown = run("export", folder, *arguments, code=2)
    assert message in shown
    assert shown.count("\n") == 1


def test_what_only_the_index_can_do_is_told(run, folder):
    exported(run, folder, "faiss")
    for arguments, message in (
        (("tea", "--where", "lang=en"), "--where, "),
        (("tea", "--exact-first"), " --exact-first, "),
        (("tea", "--fuzzy"), " --fuzzy, "),
        (("tea", "--fill"), " --fill, "),
        (("tea", "--mmr", 0.5), " --mmr, "),
        (("tea", "--sort", "lang"), " --sort, "),
        (("tea", "--facet", "lang"), " --facet, "),
        (("tea", "--meaning", 1), " --encoder and --first-stage are for the index's own search"),
        (("+tea",), "search the index itself"),
    ):
        assert message in run("search", folder, *arguments, "--engine", "faiss", code=2)
    assert "name it by --engine" in run("search", folder, "tea", "--rerank", 5, code=2)
    assert "name it by --engine" in run("search", folder, "tea", "--width", 5, code=2)


def test_an_engine_that_is_not_there_is_told(run, folder):
    shown = run("search", folder, "tea", "--engine", "hnswlib", code=1)
    assert "there is no engine hnswlib in" in shown
    assert "softcosine export INDEX hnswlib" in shown
    assert "there is no engine hnswlib in" in run("export", folder, "hnswlib", "--update", code=1)
    assert "engine is 'lucid'" in run("search", folder, "tea", "--engine", "lucid", code=2)


def test_a_missing_package_is_told_with_the_command(run, folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "annoy", None)
    shown = run("export", folder, "annoy", code=1)
    assert "run: pip install 'softcosine[annoy]'" in shown
    assert shown.count("\n") == 1
    assert not (folder / "engines").exists()


def test_values_are_numbers_or_words():
    from softcosine.cli.exporting import _value

    assert [_value(one) for one in ("3", "0.5", "True", "false", "f16")] == [
        3, 0.5, True, False, "f16",
    ]  # fmt: skip
