"""``--encoder``, ``encode``, ``--ask`` and ``--meaning`` on the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from softcosine.encoders import loading
from softcosine.errors import MissingDependencyError
from softcosine.index.encoding import light_encoder
from softcosine.index.soft_index import SoftIndex
from toy_encoder import ToyEncoder, toy_space

TEXTS = {"bike": "a flat tyre", "moon": "the moon rises", "tea": "green tea", "blank": " "}


@pytest.fixture
def installed(monkeypatch) -> dict[str, ToyEncoder]:
    """The encoders that commands find by name; a test may remove some."""
    encoders = {"toy": ToyEncoder(), "other": ToyEncoder("other")}

    def load(model, **options):
        if not isinstance(model, str):
            return model
        if model not in encoders:
            raise MissingDependencyError("toys", "encoder", f"Encoding texts by {model!r}")
        return encoders[model]

    monkeypatch.setattr(loading, "load_encoder", load)
    monkeypatch.setattr(loading, "installed_encoder", encoders.get)
    light_encoder.cache_clear()
    yield encoders
    light_encoder.cache_clear()


@pytest.fixture
def source_file(tmp_path) -> Path:
    path = tmp_path / "docs.jsonl"
    lines = [json.dumps({"id": id, "text": text}) for id, text in TEXTS.items()]
    path.write_text("\n".join(lines), "utf-8")
    return path


@pytest.fixture
def folder(installed, tmp_path) -> Path:
    """An index with a query table."""
    words = [*" ".join(TEXTS.values()).split(), "luna"]
    path = tmp_path / "a.index"
    SoftIndex.from_texts(
        TEXTS.values(), ids=TEXTS, encoder=installed["toy"], meaning_space=toy_space(words),
        plain=True,
    ).save(path)  # fmt: skip
    return path


def ids(run, *arguments):
    return [hit["id"] for hit in json.loads(run(*arguments, "--json"))["hits"]]


def test_indexing_with_an_encoder_is_like_that_of_python(run, installed, source_file, tmp_path):
    path = tmp_path / "x.index"
    given = ("--encoder", "toy", "--meaning", 30, "--plain")
    shown = run("index", source_file, "-o", path, *given)
    assert "Encoded 3 documents by toy.\n" in shown
    record = json.loads(run("index", source_file, "-o", path, *given, "--overwrite", "--json"))
    assert record["meaning"] == {
        "encoder": "toy", "dimensions": 6, "query_table": False, "encoded": 3,
        "weights": {"soft_bm25": 30.0, "soft_cosine": 1.0, "expanded_cosine": 1.0},
    }  # fmt: skip
    made = SoftIndex.from_texts(
        TEXTS.values(), ids=TEXTS, encoder="toy", meaning=30, plain=True, language="english"
    )
    expected = [(hit.id, hit.score) for hit in made.search("green moon")]
    found = json.loads(run("search", path, "green moon", "--json"))
    assert [(hit["id"], hit["score"]) for hit in found["hits"]] == expected
    assert (found["ask"], found["meaning"]) == ("encoder", 30.0)


def test_streamed_documents_without_stored_texts_are_encoded(run, installed, monkeypatch, tmp_path):
    path = tmp_path / "x.index"
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"green tea\nthe moon\n")))
    )
    given = ("-", "-o", path, "--no-texts", "--encoder", "toy", "--memory", "1M", "--plain")
    assert json.loads(run("index", *given, "--json"))["meaning"]["encoded"] == 2
    assert "build it again by 'index --encoder'" in run("encode", path, code=2)


def test_encode_gives_an_index_coordinates(run, installed, source_file, tmp_path):
    path, cache = tmp_path / "x.index", tmp_path / "texts.cache"
    run("index", source_file, "-o", path, "--plain")
    assert "has no encoder yet" in run("encode", path, code=2)
    given = ("--encoder", "toy", "--encoder-cache", cache)
    shown = run("encode", path, *given, "--meaning", 20)
    assert "Encoded 3 documents by toy; the weight of meaning in soft_bm25 is 20, in " in shown
    assert "1 document without text: nothing to encode." in shown
    assert SoftIndex.open(path).snapshot.settings.meaning_weights["soft_bm25"] == 20
    assert sorted(installed["toy"].texts) == sorted(text for text in TEXTS.values() if text.strip())
    generation = SoftIndex.open(path).snapshot.generation
    assert "Nothing to encode: every text has coordinates by toy, in " in run("encode", path)
    assert SoftIndex.open(path).snapshot.generation == generation
    record = json.loads(run("encode", path, "--meaning", 10, "--json"))
    assert (record["new"], record["encoded"], record["weights"]["soft_bm25"]) == (0, 3, 10.0)
    # The cache serves another index.
    run("index", source_file, "-o", path, "--plain", "--overwrite", *given)
    assert len(installed["toy"].texts) == 3


def test_interrupted_encoding_leaves_the_index_and_keeps_the_cache(
    run, installed, source_file, tmp_path, monkeypatch
):
    path, cache = tmp_path / "x.index", tmp_path / "texts.cache"
    with source_file.open("a") as file:
        file.writelines(f'\n{{"id": "{n}", "text": "document {n}"}}' for n in range(300))
    run("index", source_file, "-o", path, "--plain")
    read, batches = installed["toy"].encode, []

    def interrupted(texts):
        batches.append(len(texts))
        if len(batches) == 2:
            raise KeyboardInterrupt
        return read(texts)

    monkeypatch.setattr(installed["toy"], "encode", interrupted, raising=False)
    given = ("--encoder", "toy", "--encoder-cache", cache)
    message = run("encode", path, *given, code=130)
    assert f"the same command resumes from the checkpoint in {cache}." in message
    assert SoftIndex.open(path).snapshot.meaning is None
    record = json.loads(run("encode", path, *given, "--json"))
    assert (record["new"], batches[0] + batches[2]) == (303, 303)


@pytest.mark.parametrize("ask", ["words", "static", "encoder"])
def test_searches_ask_in_three_ways(run, folder, ask):
    opened = SoftIndex.open(folder)
    asked = ("green moon", "--ask", ask, "--meaning", 5)
    found = json.loads(run("search", folder, *asked, "--explain", "--json"))
    expected = opened.search("green moon", ask=ask, meaning=5)
    assert [(hit["id"], hit["score"]) for hit in found["hits"]] == [
        (hit.id, hit.score) for hit in expected
    ]
    assert (found["ask"], found["meaning"]) == (ask, 0.0 if ask == "words" else 5.0)
    for hit in found["hits"]:
        total = sum(part["contribution"] for part in hit["parts"])
        assert total == pytest.approx(hit["score"], abs=1e-9)
    spaces = {part["space"] for hit in found["hits"] for part in hit["parts"]}
    assert spaces == ({"words"} if ask == "words" else {"words", "meaning"})


def test_scores_with_meaning_are_named_and_explained(run, folder):
    shown = run("search", folder, "green moon", "--explain", "--meaning", 5)
    assert "score: soft BM25 + 5 × cosine of meaning." in " ".join(shown.split())
    assert "≈ green" in shown
    assert "not installed" not in shown
    shown = run("explain", folder, "green moon", "moon", "--meaning", 5)
    assert "≈  (meaning)" in shown
    assert "Score: soft BM25 + 5 × cosine of meaning." in shown
    shown = run("search", folder, "green moon", "--meaning", 0)
    assert shown.endswith("score: soft BM25, no upper bound.\n")
    assert run("search", folder, "green moon", "--ask", "words").endswith("no upper bound.\n")
    shown = run("search", folder, "luna", "--ask", "static", "--min", 0.1)
    assert "Unknown words, which count by meaning alone: luna.\n" in shown


def test_similar_documents_by_words_and_meaning(run, folder):
    opened = SoftIndex.open(folder)
    for weight in (None, 0.0, 3.0):
        given = () if weight is None else ("--meaning", weight)
        found = json.loads(run("similar", folder, "moon", *given, "--json"))
        expected = opened.similar("moon", meaning=weight)
        assert [hit["score"] for hit in found["hits"]] == [hit.score for hit in expected]
        assert found["meaning"] == (1.0 if weight is None else weight)


def test_without_the_encoder_one_line_says_what_was_done(run, installed, folder, source_file):
    del installed["toy"]
    shown = run("search", folder, "green moon")
    way = "Searched through the query table, because the encoder toy is not installed; "
    assert way in " ".join(shown.split())
    assert json.loads(run("search", folder, "green moon", "--json"))["ask"] == "static"
    assert way in " ".join(run("explain", folder, "green moon", "moon").split())
    assert way not in " ".join(run("search", folder, "green moon", "--ask", "static").split())
    refused = " ".join(run("search", folder, "x", "--ask", "encoder", code=2).split())
    assert "the encoder 'toy' of this index is not known here (pass it" in refused
    source_file.write_text('{"id": "new", "text": "a new moon"}\n', "utf-8")
    shown = " ".join(run("add", folder, source_file).split())
    assert "2 documents without coordinates, because the encoder toy is not installed" in shown
    assert f"softcosine encode {folder}" in shown.replace(" /", " /")
    installed["toy"] = ToyEncoder()
    light_encoder.cache_clear()
    assert json.loads(run("encode", folder, "--json"))["new"] == 1
    source_file.write_text('{"id": "newer", "text": "the newest moon"}\n', "utf-8")
    assert json.loads(run("add", folder, source_file, "--json"))["note"] == ""
    assert SoftIndex.open(folder).snapshot.n_encoded == 5


def test_without_encoder_and_query_table_words_are_searched(run, installed, source_file, tmp_path):
    path = tmp_path / "x.index"
    run("index", source_file, "-o", path, "--plain", "--encoder", "toy")
    del installed["toy"]
    light_encoder.cache_clear()
    shown = " ".join(run("search", path, "green moon").split())
    assert "Searched by words alone, because the encoder toy is not installed; pass its" in shown
    assert "score: soft BM25, no upper bound" in shown
    assert "no query table for 'toy'" in run("search", path, "moon", "--ask", "static", code=2)


def test_info_names_the_encoder(run, folder):
    shown = " ".join(run("info", folder).split())
    assert "meaning toy, 6 dimensions; 3 of 4 documents encoded; weight 40 in soft_bm25," in shown
    assert json.loads(run("info", folder, "--json"))["meaning"]["query_table"] is True


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (("--ask", "wrods"), 2, "--ask is 'wrods'"),
        (("--meaning", -1), 2, "--meaning is -1.0; it must be a number from 0 to"),
        (("--meaning", "nan"), 2, "--meaning is nan"),
        (("--encoder", "other"), 2, "vectors of two models cannot be compared"),
        (("--encoder", "missing"), 1, "pip install 'softcosine[encoder]'"),
        (("--engine", "faiss", "--ask", "static"), 2, "leave --engine out"),
    ],
)
def test_impossible_searches_by_meaning_are_refused(run, folder, given, code, message):
    assert message in run("search", folder, "moon", *given, code=code)


def test_impossible_encodings_are_refused(run, installed, folder, source_file, tmp_path):
    plain, new = tmp_path / "plain.index", tmp_path / "new.index"
    run("index", source_file, "-o", plain, "--plain")
    for given in (("--ask", "static"), ("--meaning", 3), ("--encoder", "toy")):
        assert "softcosine encode" in run("search", plain, "moon", *given, code=2)
    making = ("index", source_file, "-o", new, "--plain")
    assert "add --encoder minilm" in run(*making, "--meaning", 3, code=2)
    assert "pip install" in run(*making, "--encoder", "missing", code=1)
    assert "meaning is -3.0" in run(*making, "--encoder", "toy", "--meaning", -3, code=2)
    given = ("--encoder", "toy", "--encoder-cache", source_file)
    assert "not a readable cache" in run(*making, *given, code=2)
    assert not new.exists()
    assert "two models" in run("encode", folder, "--encoder", "other", code=2)


def test_pictures_of_explanations_show_meaning(run, folder, tmp_path):
    from softcosine.plots import explanation_bars

    pytest.importorskip("matplotlib")
    run("explain", folder, "green moon", "moon", "--plot", tmp_path / "why.png")
    why = SoftIndex.open(folder).explain("green moon", "moon")
    bars = explanation_bars(why, max_parts=1)
    total = bars.parts[0].contribution + bars.rest_exact + bars.rest_near + bars.rest_meaning
    assert total == pytest.approx(why.score)


def test_a_cache_that_cannot_be_opened_is_named(run, installed, source_file, tmp_path):
    making = ("index", source_file, "-o", tmp_path / "x.index", "--encoder", "toy", "--plain")
    shown = " ".join(run(*making, "--encoder-cache", tmp_path, code=1).split())
    assert f"{tmp_path}: the cache cannot be used: unable to open database file." in shown
